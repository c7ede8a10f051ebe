/*
 * Products of tiles of bfloat by the matrix units of a CPU (AMX): tdpbf16ps adds to 16 by 16 sums
 * what 16 rows of 32 of k make with 16 columns.
 *
 * Sums of two by two tiles are a register; so are two rows of four tiles of the left side, and
 * four of two of the right side. A left side that lies as lines in memory is loaded from there.
 * The hardware wants two rows of the right side interleaved: so it may lie in memory
 * (tile_load_pairs); otherwise it is laid out so on the stack. Sums that go through a loop of one
 * block stay in registers (igt_keep_sums); others are on the stack between two groups.
 *
 * Of the 8 registers up to four have sums, the others operands. All are of 16 lines of 64 bytes:
 * the device configures the thread (INGOT_CPU_KERNEL_MATRIX_UNITS).
 *
 * Requires groups of pairs with columns two by two (tiles_pairs.c, tiles_partners.c).
 */
#include <string.h>

#include "compiler/cpu/lower/tiles.h"
#include "compiler/ir/walk.h"

enum {
    LINES = 16, /* of a register */
    SUMS = 4,   /* registers with sums, from 0 on */
    REGISTERS = 8,
    STEPS = 4, /* of k, in tiles, of a product */
    OPERAND_TILES = 8,
    BATCH = 8, /* products of k that are laid out before they are made */
    BATCH_ROOMS = 5,
    MOST_BEFORE = 2000, /* instructions that are looked at */
};

/* Some sums of a group, as registers. */
struct block {
    struct igt_group *group;
    unsigned first_row, rows, first_column, columns;
};

/* Where a register is loaded from: its first line, and bytes from one to the next. */
struct lines {
    LLVMValueRef address, stride;
};

/* ---- the group ------------------------------------------------------------------------------- */
static unsigned length_of(const struct igt_tile *chain) {
    unsigned length = 0;
    for (; chain; chain = chain->extended) {
        length++;
    }
    return length;
}

static struct igt_tile *step_of(struct igt_tile *chain, unsigned step) {
    while (step--) {
        chain = chain->extended;
    }
    return chain;
}

static struct igt_tile *last_of(struct igt_tile *chain) {
    while (chain->extended) {
        chain = chain->extended;
    }
    return chain;
}

/* Are all users of a value, of the parts of it and of casts of those, this one? */
static bool only_used_by(LLVMValueRef value, LLVMValueRef user) {
    igi_each_use(use, value) {
        LLVMValueRef by = LLVMGetUser(use);
        const bool passes_on = LLVMIsAExtractValueInst(by) || LLVMIsACastInst(by);
        if (by != user && !(passes_on && only_used_by(by, user))) {
            return false;
        }
    }
    return true;
}

static bool is_chain_of_sums(const struct igt_tile *chain) {
    for (; chain->extended; chain = chain->extended) {
        if (!only_used_by(chain->call, chain->extended->call)) {
            return false;
        }
    }
    return true;
}

bool igt_can_use_units(const struct igt_pass *pass, const struct igt_group *group) {
    const struct igv_target *target = pass->emit.request->target;
    if (!target->matrix_units || !group->pairs || pass->emit.lanes < 2 * IGT_SIDE ||
        !LLVMGetNamedGlobal(pass->emit.module, INGOT_CPU_KERNEL_SYMBOL) || group->row_count % 2 ||
        group->chain_count != group->row_count * group->unit_count * 2) {
        return false;
    }
    for (unsigned u = 0; u < group->unit_count; u++) {
        if (group->units[u][1] == IGT_NO_COLUMN) {
            return false;
        }
    }
    const unsigned length = length_of(group->chains[0]);
    for (unsigned c = 0; c < group->chain_count; c++) {
        if (length_of(group->chains[c]) != length || !is_chain_of_sums(group->chains[c])) {
            return false;
        }
    }
    return length % STEPS == 0;
}

/* The next block behind `block`; false: there is none. */
static bool next_block(struct block *block) {
    const struct igt_group *group = block->group;
    const unsigned rows = group->row_count / 2, columns = group->unit_count;
    block->first_column += block->columns;
    if (!block->rows || block->first_column == columns) {
        block->first_row += block->rows;
        block->first_column = 0;
    }
    if (block->first_row == rows) {
        return false;
    }
    const unsigned rows_left = rows - block->first_row,
                   columns_left = columns - block->first_column;
    const unsigned most_rows = columns == 1 ? SUMS : rows == 1 ? 1 : 2;
    block->rows = rows_left < most_rows ? rows_left : most_rows;
    const unsigned most_columns = SUMS / (block->rows < 2 ? 1 : block->rows == 2 ? 2 : SUMS);
    block->columns = columns_left < most_columns ? columns_left : most_columns;
    return true;
}

/* The first product of each sum of a register: two rows by two columns. */
static void chains_of(const struct block *block, unsigned row, unsigned column,
                      struct igt_tile *chains[2][2]) {
    const unsigned *columns = block->group->units[block->first_column + column];
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned j = 0; j < 2; j++) {
            chains[i][j] = igt_chain_at(block->group, 2 * (block->first_row + row) + i, columns[j]);
        }
    }
}

/* ---- instructions ---------------------------------------------------------------------------- */
static LLVMValueRef number_of(const struct igt_pass *pass, unsigned reg) {
    return LLVMConstInt(pass->emit.i8, reg, false);
}

static void load_register(struct igt_pass *pass, unsigned reg, struct lines from) {
    LLVMValueRef args[] = {number_of(pass, reg), from.address, from.stride};
    igv_intrinsic(&pass->emit, "llvm.x86.tileloadd64", NULL, 0, args, 3);
}

static void store_register(struct igt_pass *pass, unsigned reg, struct lines to) {
    LLVMValueRef args[] = {number_of(pass, reg), to.address, to.stride};
    igv_intrinsic(&pass->emit, "llvm.x86.tilestored64", NULL, 0, args, 3);
}

static void clear_register(struct igt_pass *pass, unsigned reg) {
    LLVMValueRef args[] = {number_of(pass, reg)};
    igv_intrinsic(&pass->emit, "llvm.x86.tilezero", NULL, 0, args, 1);
}

static void multiply(struct igt_pass *pass, unsigned sum, unsigned left, unsigned right) {
    LLVMValueRef args[] = {number_of(pass, sum), number_of(pass, left), number_of(pass, right)};
    igv_intrinsic(&pass->emit, "llvm.x86.tdpbf16ps", NULL, 0, args, 3);
}

/* One of these, of any group? `name`: how it begins. */
static bool is_of_units(LLVMValueRef instruction, const char *name) {
    size_t length = 0;
    LLVMValueRef callee = LLVMIsACallInst(instruction) ? LLVMGetCalledValue(instruction) : NULL;
    return callee && LLVMIsAFunction(callee) &&
           !strncmp(LLVMGetValueName2(callee, &length), name, strlen(name));
}

/* ---- the stack ------------------------------------------------------------------------------- */
static struct lines room(struct igt_pass *pass, unsigned number) {
    struct igv_emit *emit = &pass->emit;
    if (!pass->rooms[number]) {
        LLVMBuilderRef builder = LLVMCreateBuilderInContext(emit->context);
        LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(emit->function);
        LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(entry));
        LLVMTypeRef type = LLVMArrayType2(emit->i8, LINES * IGT_LINE_BYTES);
        pass->rooms[number] = LLVMBuildAlloca(builder, type, "");
        LLVMSetAlignment(pass->rooms[number], IGT_LINE_BYTES);
        LLVMDisposeBuilder(builder);
    }
    return (struct lines){pass->rooms[number], igv_u64(emit, IGT_LINE_BYTES)};
}

static LLVMValueRef line_of(struct igt_pass *pass, struct lines place, unsigned line) {
    LLVMValueRef index = igv_u64(&pass->emit, (uint64_t)line * IGT_LINE_BYTES);
    return LLVMBuildGEP2(pass->emit.builder, pass->emit.i8, place.address, &index, 1, "");
}

static void put_line(struct igt_pass *pass, struct lines place, unsigned line,
                     LLVMValueRef vector) {
    LLVMValueRef store = LLVMBuildStore(pass->emit.builder, vector, line_of(pass, place, line));
    LLVMSetAlignment(store, IGT_LINE_BYTES);
}

/* ---- operands -------------------------------------------------------------------------------- */
enum form { AS_LINES, TURNED, PAIRED };

/* How far a tile of an operand is from the first: lines, and bytes in a line. */
struct distance {
    unsigned lines, bytes;
};

static bool has_form(const struct igt_tile *load, enum form form) {
    return load && igt_is_paired(load) == (form == PAIRED) &&
           igt_is_transposed(load) == (form == TURNED);
}

/* Is the tile of a call (a load or a store of elements of so many bytes) as far as that from the
 * tile of another, with lines as far apart? */
static bool is_at(const struct igt_pass *pass, LLVMValueRef call, LLVMValueRef first,
                  struct distance distance, unsigned bytes) {
    LLVMValueRef stride = LLVMGetOperand(first, 1);
    struct igt_sum rest = igt_sum_of(pass, LLVMGetOperand(call, 0));
    const struct igt_sum from = igt_sum_of(pass, LLVMGetOperand(first, 0));
    const struct igt_sum step = igt_sum_of(pass, stride);
    igt_sum_add(&rest, &from, -1);
    igt_sum_add(&rest, &step, -(int64_t)bytes * distance.lines);
    igt_sum_add_number(&rest, -(int64_t)distance.bytes);
    return LLVMGetOperand(call, 1) == stride && igt_sum_is_zero(&rest);
}

static struct lines lines_of(struct igt_pass *pass, LLVMValueRef call, unsigned bytes) {
    LLVMValueRef stride = LLVMGetOperand(call, 1);
    return (struct lines){LLVMGetOperand(call, 0), LLVMBuildMul(pass->emit.builder, stride,
                                                                igv_u64(&pass->emit, bytes), "")};
}

/* Are the tiles parts of one matrix in memory, at these distances, and still there? */
static bool lie_together(struct igt_pass *pass, struct igt_tile *const tiles[OPERAND_TILES],
                         const struct distance distances[OPERAND_TILES], enum form form,
                         struct lines *lines) {
    for (unsigned i = 0; i < OPERAND_TILES; i++) {
        const struct igt_tile *tile = igt_loaded(tiles[i]);
        if (!tile || !has_form(tile, form) || tile->steady_for != pass->current_group ||
            !is_at(pass, tile->call, igt_loaded(tiles[0])->call, distances[i], 2)) {
            return false;
        }
    }
    *lines = lines_of(pass, igt_loaded(tiles[0])->call, 2);
    return true;
}

/* The left side of a register: two rows of tiles by four of k. */
static void left_tiles(const struct igt_pass *pass, const struct block *block, unsigned row,
                       unsigned k, struct igt_tile *tiles[OPERAND_TILES],
                       struct distance distances[OPERAND_TILES]) {
    struct igt_tile *chains[2][2];
    chains_of(block, row, 0, chains);
    for (unsigned i = 0; i < OPERAND_TILES; i++) {
        const unsigned down = i / STEPS, along = i % STEPS;
        tiles[i] = igt_narrow(pass, step_of(chains[down][0], STEPS * k + along)->operands[0]);
        distances[i] = (struct distance){down * IGT_SIDE, along * 2 * IGT_SIDE};
    }
}

/* The right side: four of k by two columns of tiles, as the hardware wants it or with columns as
 * lines. */
static void right_tiles(const struct igt_pass *pass, const struct block *block, unsigned column,
                        unsigned k, enum form form, struct igt_tile *tiles[OPERAND_TILES],
                        struct distance distances[OPERAND_TILES]) {
    struct igt_tile *chains[2][2];
    chains_of(block, 0, column, chains);
    for (unsigned i = 0; i < OPERAND_TILES; i++) {
        const unsigned across = i / STEPS, along = i % STEPS;
        tiles[i] = igt_narrow(pass, step_of(chains[0][across], STEPS * k + along)->operands[1]);
        distances[i] = form == PAIRED
                           ? (struct distance){along * IGT_SIDE / 2, across * 4 * IGT_SIDE}
                           : (struct distance){across * IGT_SIDE, along * 2 * IGT_SIDE};
    }
}

static struct lines left_of(struct igt_pass *pass, const struct block *block, unsigned row,
                            unsigned k, unsigned number) {
    struct igt_tile *tiles[OPERAND_TILES];
    struct distance distances[OPERAND_TILES];
    struct lines lines;
    left_tiles(pass, block, row, k, tiles, distances);
    if (lie_together(pass, tiles, distances, AS_LINES, &lines)) {
        return lines;
    }
    lines = room(pass, number);
    for (unsigned line = 0; line < LINES; line++) {
        LLVMValueRef parts[STEPS];
        for (unsigned i = 0; i < STEPS; i++) {
            parts[i] =
                igt_unit_row(pass, tiles[line / IGT_SIDE * STEPS + i], NULL, line % IGT_SIDE);
        }
        LLVMValueRef low = igl_join(&pass->emit, parts[0], parts[1]);
        put_line(pass, lines, line,
                 igl_join(&pass->emit, low, igl_join(&pass->emit, parts[2], parts[3])));
    }
    return lines;
}

/* 16 vectors of 16 words, by four rounds of exchanging halves, quarters, … */
static void turn_words(struct igt_pass *pass, LLVMValueRef rows[LINES]) {
    struct igv_emit *emit = &pass->emit;
    for (unsigned distance = LINES / 2; distance; distance /= 2) {
        LLVMValueRef low[LINES], high[LINES];
        for (unsigned i = 0; i < LINES; i++) {
            low[i] = igv_u32(emit, i & distance ? LINES + i - distance : i);
            high[i] = igv_u32(emit, i & distance ? LINES + i : i + distance);
        }
        for (unsigned r = 0; r < LINES; r++) {
            if (r & distance) {
                continue;
            }
            LLVMValueRef a = rows[r], b = rows[r + distance];
            rows[r] = LLVMBuildShuffleVector(emit->builder, a, b, LLVMConstVector(low, LINES), "");
            rows[r + distance] =
                LLVMBuildShuffleVector(emit->builder, a, b, LLVMConstVector(high, LINES), "");
        }
    }
}

/* Columns that are lines in memory: two of k are a word. */
static void put_turned(struct igt_pass *pass, struct lines from, struct lines to) {
    LLVMBuilderRef builder = pass->emit.builder;
    LLVMTypeRef type = LLVMVectorType(pass->emit.i32, LINES);
    LLVMValueRef rows[LINES];
    for (unsigned line = 0; line < LINES; line++) {
        LLVMValueRef offset = LLVMBuildMul(builder, from.stride, igv_u64(&pass->emit, line), "");
        LLVMValueRef place = LLVMBuildGEP2(builder, pass->emit.i8, from.address, &offset, 1, "");
        rows[line] = LLVMBuildLoad2(builder, type, place, "");
        LLVMSetAlignment(rows[line], 2);
    }
    turn_words(pass, rows);
    for (unsigned line = 0; line < LINES; line++) {
        put_line(pass, to, line, rows[line]);
    }
}

static struct lines right_of(struct igt_pass *pass, const struct block *block, unsigned column,
                             unsigned k, unsigned number) {
    struct igt_tile *tiles[OPERAND_TILES], *chains[2][2];
    struct distance distances[OPERAND_TILES];
    struct lines lines;
    right_tiles(pass, block, column, k, PAIRED, tiles, distances);
    if (lie_together(pass, tiles, distances, PAIRED, &lines)) {
        return lines;
    }
    struct lines to = room(pass, number);
    right_tiles(pass, block, column, k, TURNED, tiles, distances);
    if (lie_together(pass, tiles, distances, TURNED, &lines)) {
        put_turned(pass, lines, to);
        return to;
    }
    chains_of(block, 0, column, chains);
    for (unsigned line = 0; line < LINES; line++) {
        const unsigned step = STEPS * k + line / (IGT_SIDE / 2);
        put_line(pass, to, line,
                 igt_pair_right(pass, step_of(chains[0][0], step)->operands[1],
                                step_of(chains[0][1], step)->operands[1],
                                line % (IGT_SIDE / 2) * 2));
    }
    return to;
}

/* ---- products -------------------------------------------------------------------------------- */
static unsigned left_register(const struct block *block, unsigned row) {
    return block->columns == 1 ? SUMS + 1 + row % (REGISTERS - SUMS - 1) : SUMS + row;
}

static unsigned right_register(const struct block *block, unsigned column) {
    return block->columns == 1 ? SUMS
           : block->rows == 1  ? SUMS + 1 + column % (REGISTERS - SUMS - 1)
                               : SUMS + 2 + column;
}

static void multiply_block(struct igt_pass *pass, const struct block *block) {
    const unsigned all = length_of(block->group->chains[0]) / STEPS;
    for (unsigned first = 0; first < all; first += BATCH) {
        struct lines left[BATCH][SUMS], right[BATCH][SUMS];
        const unsigned count = all - first < BATCH ? all - first : BATCH;
        for (unsigned k = 0; k < count; k++) {
            const unsigned number = 2 * SUMS + k * BATCH_ROOMS;
            for (unsigned r = 0; r < block->rows; r++) {
                left[k][r] = left_of(pass, block, r, first + k, number + r);
            }
            for (unsigned c = 0; c < block->columns; c++) {
                right[k][c] = right_of(pass, block, c, first + k, number + block->rows + c);
            }
        }
        for (unsigned k = 0; k < count; k++) {
            for (unsigned r = 0; r < block->rows; r++) {
                for (unsigned c = 0; c < block->columns; c++) {
                    if (r == 0) {
                        load_register(pass, right_register(block, c), right[k][c]);
                    }
                    if (c == 0) {
                        load_register(pass, left_register(block, r), left[k][r]);
                    }
                    multiply(pass, r * block->columns + c, left_register(block, r),
                             right_register(block, c));
                }
            }
        }
    }
}

static bool is_zero(const struct igt_tile *tile) {
    return tile->kind == IGT_FILL && LLVMIsConstant(tile->registers[0]) &&
           LLVMIsNull(tile->registers[0]);
}

/* What a chain adds to: where it adds to phis of a loop, what comes into that. */
static struct igt_tile *added_to(const struct igt_group *group, const struct igt_tile *first) {
    unsigned n = 0;
    if (!group->before_loop) {
        return first->operands[2];
    }
    const struct igt_tile *added = igt_under_casts(first->operands[2]);
    while (LLVMGetIncomingBlock(added->registers[0], n) != group->before_loop) {
        n++;
    }
    return added->incoming[n];
}

/* Does memory still hold what was loaded, where the products begin? */
static bool is_still_there(const struct igt_group *group, const struct igt_tile *load) {
    if (!group->before_loop) {
        return load->steady_for == group->number;
    }
    LLVMValueRef i = LLVMGetBasicBlockTerminator(group->before_loop);
    for (unsigned n = 0; n < MOST_BEFORE && i != load->call; n++) {
        LLVMValueRef before = LLVMGetPreviousInstruction(i);
        if (!before) {
            LLVMBasicBlockRef from = igt_only_predecessor(LLVMGetInstructionParent(i));
            before = from ? LLVMGetBasicBlockTerminator(from) : NULL;
        }
        if (!before || igt_may_write(before) || is_of_units(before, "llvm.x86.tilestore")) {
            return false;
        }
        i = before;
    }
    return i == load->call;
}

/* Sums that are in memory as a register has them. */
static bool load_sums(struct igt_pass *pass, const struct igt_group *group, unsigned reg,
                      struct igt_tile *const added[2][2]) {
    for (unsigned i = 0; i < 4; i++) {
        const struct igt_tile *tile = igt_loaded(added[i / 2][i % 2]);
        const struct distance distance = {i / 2 * IGT_SIDE, i % 2 * 4 * IGT_SIDE};
        if (!tile || tile->element == pass->emit.i16 || !has_form(tile, AS_LINES) ||
            !is_still_there(group, tile) ||
            !is_at(pass, tile->call, igt_loaded(added[0][0])->call, distance, 4)) {
            return false;
        }
    }
    load_register(pass, reg, lines_of(pass, igt_loaded(added[0][0])->call, 4));
    return true;
}

static void begin_block(struct igt_pass *pass, const struct block *block) {
    for (unsigned i = 0; i < block->rows * block->columns; i++) {
        struct igt_tile *chains[2][2], *added[2][2];
        bool zero = true;
        chains_of(block, i / block->columns, i % block->columns, chains);
        for (unsigned j = 0; j < 4; j++) {
            added[j / 2][j % 2] = added_to(block->group, chains[j / 2][j % 2]);
            zero &= is_zero(added[j / 2][j % 2]);
        }
        if (zero) {
            clear_register(pass, i);
            continue;
        }
        if (load_sums(pass, block->group, i, added)) {
            continue;
        }
        struct lines home = room(pass, i);
        for (unsigned line = 0; line < LINES; line++) {
            struct igt_tile **pair = added[line / IGT_SIDE];
            put_line(pass, home, line, igt_unit_row(pass, pair[0], pair[1], line % IGT_SIDE));
        }
        load_register(pass, i, home);
    }
}

/* Is a store of tiles all that happens to a sum, beside going round its loop? */
static bool find_store(LLVMValueRef value, const struct igt_group *group, LLVMValueRef *store) {
    igi_each_use(use, value) {
        LLVMValueRef by = LLVMGetUser(use);
        if (LLVMIsAExtractValueInst(by) || LLVMIsACastInst(by)) {
            if (!find_store(by, group, store)) {
                return false;
            }
            continue;
        }
        if (group->before_loop && LLVMIsAPHINode(by) &&
            LLVMGetInstructionParent(by) == LLVMGetInstructionParent(group->chains[0]->call)) {
            continue;
        }
        if (!igi_is_call_of(by, IGI_tile_store_b32) || (*store && *store != by)) {
            return false;
        }
        *store = by;
    }
    return true;
}

/* The one of them that comes last, from `i` on. */
static LLVMValueRef last_store_of(LLVMValueRef i, unsigned count, const LLVMValueRef *stores) {
    LLVMValueRef last = NULL;
    for (unsigned found = 0; found < count;) {
        for (unsigned s = 0; s < count; s++) {
            if (stores[s] == i) {
                last = i;
                found++;
            }
        }
        i = LLVMIsATerminatorInst(i) ? LLVMGetFirstInstruction(LLVMGetSuccessor(i, 0))
                                     : LLVMGetNextInstruction(i);
    }
    return last;
}

/* Does nothing but stores of these products touch memory from `i` to the last of their stores? */
static bool are_next(LLVMValueRef i, unsigned count, const LLVMValueRef *stores) {
    unsigned found = 0;
    for (unsigned n = 0; n < MOST_BEFORE && found < count; n++) {
        bool is_one = false;
        for (unsigned s = 0; s < count; s++) {
            is_one |= stores[s] == i;
        }
        found += is_one;
        if (!is_one && (LLVMIsALoadInst(i) || igt_may_write(i) || is_of_units(i, "llvm.x86.t") ||
                        (LLVMIsACallInst(i) && !igi_is_intrinsic(i)))) {
            return false;
        }
        if (LLVMIsATerminatorInst(i)) {
            LLVMBasicBlockRef block = LLVMGetInstructionParent(i);
            if (!LLVMIsABranchInst(i) || LLVMIsConditional(i) ||
                igt_only_predecessor(LLVMGetSuccessor(i, 0)) != block) {
                return false;
            }
            i = LLVMGetFirstInstruction(LLVMGetSuccessor(i, 0));
        } else {
            i = LLVMGetNextInstruction(i);
        }
    }
    return found == count;
}

/* Sums that only go to memory, side by side, go there from the registers. */
static bool store_sums(struct igt_pass *pass, const struct block *block, LLVMValueRef place) {
    LLVMValueRef stores[4 * SUMS], moved[SUMS];
    struct igt_tile *last[4 * SUMS];
    const unsigned count = block->rows * block->columns * 4;
    for (unsigned i = 0; i < count; i++) {
        struct igt_tile *chains[2][2];
        const unsigned row = i / 4 / block->columns, column = i / 4 % block->columns;
        chains_of(block, row, column, chains);
        last[i] = last_of(chains[i / 2 % 2][i % 2]);
        stores[i] = NULL;
        if (!find_store(last[i]->call, block->group, &stores[i])) {
            return false;
        }
        const struct distance distance = {(2 * row + i / 2 % 2) * IGT_SIDE,
                                          (2 * column + i % 2) * 4 * IGT_SIDE};
        LLVMValueRef stride = stores[i] ? LLVMGetOperand(stores[i], 1) : NULL;
        if (!stride || !LLVMIsAConstantInt(stride) ||
            LLVMConstIntGetZExtValue(stride) < 2 * IGT_SIDE * block->columns ||
            !LLVMIsNull(LLVMGetOperand(stores[i], 2)) ||
            !is_at(pass, stores[i], stores[0], distance, 4)) {
            return false;
        }
    }
    if (!are_next(place, count, stores)) {
        return false;
    }
    for (unsigned i = 0; i < count; i += 4) { /* addresses are made where the stores are */
        moved[i / 4] = stores[i];
    }
    for (unsigned i = 0; i < count; i++) {
        last[i]->stored_by = stores[i];
    }
    igt_place_before(pass, last_store_of(place, count, stores));
    for (unsigned i = 0; i < count / 4; i++) {
        store_register(pass, i, lines_of(pass, moved[i], 4));
    }
    return true;
}

/* The sums become the rows of the last products. */
static void end_block(struct igt_pass *pass, const struct block *block) {
    struct igv_emit *emit = &pass->emit;
    LLVMTypeRef type = LLVMVectorType(emit->f32, LINES);
    LLVMValueRef place = block->group->before_loop ? igi_first_non_phi(block->group->behind_loop)
                                                   : block->group->after;
    if (store_sums(pass, block, place)) {
        return;
    }
    for (unsigned i = 0; i < block->rows * block->columns; i++) {
        store_register(pass, i, room(pass, SUMS + i));
    }
    for (unsigned i = 0; i < block->rows * block->columns; i++) {
        struct igt_tile *chains[2][2];
        struct lines home = room(pass, SUMS + i);
        chains_of(block, i / block->columns, i % block->columns, chains);
        for (unsigned line = 0; line < LINES; line++) {
            struct igt_tile *left = last_of(chains[line / IGT_SIDE][0]);
            struct igt_tile *right = last_of(chains[line / IGT_SIDE][1]);
            const unsigned row = line % IGT_SIDE;
            LLVMValueRef sums = LLVMBuildLoad2(emit->builder, type, line_of(pass, home, line), "");
            LLVMSetAlignment(sums, IGT_LINE_BYTES);
            if (left->partner == right && left->half == 0) {
                left->rows[row] = sums;
            } else {
                left->rows[row] = igl_part(emit, sums, 0, IGT_SIDE);
                right->rows[row] = igl_part(emit, sums, IGT_SIDE, IGT_SIDE);
            }
        }
    }
}

void igt_emit_on_units(struct igt_pass *pass, struct igt_group *group) {
    struct block block = {.group = group};
    pass->uses_units = true;
    while (next_block(&block)) {
        if (group->before_loop) {
            igt_place_before(pass, LLVMGetBasicBlockTerminator(group->before_loop));
            pass->current_group = 0;
        }
        begin_block(pass, &block);
        igt_place_before(pass, group->after);
        pass->current_group = group->number;
        multiply_block(pass, &block);
        if (group->before_loop) {
            igt_place_before(pass, igi_first_non_phi(group->behind_loop));
        }
        end_block(pass, &block);
    }
    LLVMValueRef behind = group->before_loop ? igi_first_non_phi(group->behind_loop) : group->after;
    group->last = LLVMGetPreviousInstruction(behind);
}

/* ---- sums that stay in registers through a loop ---------------------------------------------- */
/* Does it only lead to `loop`, from there? The vectoriser gives edges blocks of their own. */
static bool is_edge_of(LLVMBasicBlockRef block, LLVMBasicBlockRef loop) {
    LLVMValueRef branch = LLVMGetFirstInstruction(block);
    return LLVMIsABranchInst(branch) && !LLVMIsConditional(branch) &&
           LLVMGetSuccessor(branch, 0) == loop && igt_only_predecessor(block) == loop;
}

/* Where a loop of one block, and of the edge back to it, goes on; or NULL. */
static LLVMBasicBlockRef behind(LLVMBasicBlockRef loop, LLVMBasicBlockRef *latch) {
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(loop);
    if (!LLVMIsABranchInst(branch) || !LLVMIsConditional(branch)) {
        return NULL;
    }
    for (unsigned i = 0; i < 2; i++) {
        LLVMBasicBlockRef back = LLVMGetSuccessor(branch, i);
        LLVMBasicBlockRef next = LLVMGetSuccessor(branch, 1 - i);
        if ((back == loop || is_edge_of(back, loop)) && next != back &&
            igt_only_predecessor(next) == loop) {
            *latch = back;
            return next;
        }
    }
    return NULL;
}

/* Nothing else in the block uses the units: calls may lead to other fibers. */
static bool has_units_alone(const struct igt_pass *pass, const struct igt_group *group,
                            LLVMBasicBlockRef loop) {
    for (const struct igt_group *g = pass->first_group; g; g = g->next) {
        if (g != group && g->units_of_cpu && LLVMGetInstructionParent(g->chains[0]->call) == loop) {
            return false;
        }
    }
    igi_each_in_block(i, loop) {
        if (LLVMIsACallInst(i) && !igi_is_intrinsic(i) &&
            !LLVMIsAInlineAsm(LLVMGetCalledValue(i)) && igi_family_of(i) != IGI_FAMILY_TILE_LOAD &&
            igi_family_of(i) != IGI_FAMILY_TILE_MULTIPLY &&
            igi_family_of(i) != IGI_FAMILY_TILE_STORE) {
            return false;
        }
    }
    return true;
}

/* Is a value of the loop only read behind it, by the phis of a tile, and by casts of which the same
 * is true? */
static bool is_read_behind(const struct igt_pass *pass, LLVMValueRef value,
                           const struct igt_tile *phi, LLVMBasicBlockRef next) {
    LLVMBasicBlockRef loop = LLVMGetInstructionParent(phi->registers[0]);
    igi_each_use(use, value) {
        LLVMValueRef by = LLVMGetUser(use);
        LLVMBasicBlockRef there = LLVMGetInstructionParent(by);
        bool good = there != loop && !(there == next && LLVMIsAPHINode(by));
        for (unsigned i = 0; !good && i < pass->registers; i++) {
            good = by == phi->registers[i];
        }
        if (!good && there == loop && LLVMIsACastInst(by)) {
            good = is_read_behind(pass, by, phi, next);
        }
        if (!good) {
            return false;
        }
    }
    return true;
}

/* Puts those casts behind the loop. */
static void move_casts(struct igt_pass *pass, LLVMValueRef value, LLVMBasicBlockRef loop) {
    bool moved = true;
    while (moved) {
        moved = false;
        igi_each_use(use, value) {
            LLVMValueRef by = LLVMGetUser(use);
            if (LLVMIsACastInst(by) && LLVMGetInstructionParent(by) == loop) {
                for (struct igt_group *g = pass->first_group; g; g = g->next) {
                    g->after = g->after == by ? LLVMGetNextInstruction(by) : g->after;
                }
                LLVMInstructionRemoveFromParent(by);
                LLVMInsertIntoBuilder(pass->emit.builder, by);
                move_casts(pass, by, loop);
                moved = true;
                break;
            }
        }
    }
}

/* Does a sum go round the loop and nowhere else inside it? */
static bool goes_round(const struct igt_pass *pass, struct igt_tile *first, LLVMBasicBlockRef latch,
                       LLVMBasicBlockRef next, LLVMBasicBlockRef *before) {
    LLVMBasicBlockRef loop = LLVMGetInstructionParent(first->call);
    const struct igt_tile *phi = igt_under_casts(first->operands[2]), *last = last_of(first);
    if (phi->kind != IGT_PHI || LLVMGetInstructionParent(phi->registers[0]) != loop ||
        LLVMCountIncoming(phi->registers[0]) != 2) {
        return false;
    }
    for (unsigned n = 0; n < 2; n++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi->registers[0], n);
        if (from == latch) {
            if (igt_under_casts(phi->incoming[n]) != last) {
                return false;
            }
        } else if (*before && from != *before) {
            return false;
        } else {
            *before = from;
        }
    }
    for (unsigned i = 0; i < pass->registers; i++) {
        if (!only_used_by(phi->registers[i], first->call)) {
            return false;
        }
    }
    igi_each_use(use, last->call) {
        if (!is_read_behind(pass, LLVMGetUser(use), phi, next)) {
            return false;
        }
    }
    return *before != NULL;
}

static void keep_sums(struct igt_pass *pass, struct igt_group *group) {
    struct block block = {.group = group};
    LLVMBasicBlockRef loop = LLVMGetInstructionParent(group->chains[0]->call), before = NULL;
    LLVMBasicBlockRef latch = NULL, next = behind(loop, &latch);
    if (!next || !has_units_alone(pass, group, loop) || !next_block(&block) ||
        block.rows * block.columns * 4 != group->chain_count) {
        return;
    }
    for (unsigned c = 0; c < group->chain_count; c++) {
        if (!goes_round(pass, group->chains[c], latch, next, &before)) {
            return;
        }
    }
    LLVMPositionBuilderBefore(pass->emit.builder, igi_first_non_phi(next));
    for (unsigned c = 0; c < group->chain_count; c++) {
        igt_under_casts(group->chains[c]->operands[2])->is_kept = true;
        igi_each_use(use, last_of(group->chains[c])->call) {
            move_casts(pass, LLVMGetUser(use), loop);
        }
    }
    group->before_loop = before;
    group->behind_loop = next;
}

void igt_keep_sums(struct igt_pass *pass) {
    for (struct igt_group *g = pass->first_group; g; g = g->next) {
        if (g->units_of_cpu) {
            keep_sums(pass, g);
        }
    }
}
