/*
 * Tiles of simdgroup_matrix as rows: a vector of 8 per row, or of 16 that two tiles share.
 *
 * A product of tiles is a product of rows: for each k, row k of B times the elements of A's column
 * k, each broadcast, added to the rows of the sum. Blocks of sums that fit the registers are
 * finished one after the other. A's elements are broadcast from memory: from where the tile was
 * loaded if it is still there, otherwise from a copy on the stack. B's rows are vectors of memory
 * as they lie there.
 */
#include <llvm-c/DebugInfo.h>

#include "compiler/cpu/lower/tiles.h"
#include "compiler/cpu/prepare/prepare.h"

void igt_place_before(struct igt_pass *pass, LLVMValueRef instruction) {
    LLVMPositionBuilderBefore(pass->emit.builder, instruction);
    LLVMSetCurrentDebugLocation2(pass->emit.builder, LLVMInstructionGetDebugLoc(instruction));
}

static LLVMValueRef shuffle(struct igt_pass *pass, LLVMValueRef a, LLVMValueRef b,
                            const unsigned *indices, unsigned count) {
    LLVMValueRef mask[2 * IGT_SIDE];
    for (unsigned i = 0; i < count; i++) {
        mask[i] = igv_u32(&pass->emit, indices[i]);
    }
    return LLVMBuildShuffleVector(pass->emit.builder, a, b, LLVMConstVector(mask, count), "");
}

/* ---- memory ---------------------------------------------------------------------------------- */
LLVMValueRef igt_element_address(struct igt_pass *pass, LLVMValueRef call, LLVMTypeRef element,
                                 unsigned line, unsigned offset) {
    LLVMBuilderRef builder = pass->emit.builder;
    LLVMValueRef address = LLVMGetOperand(call, 0), index = LLVMGetOperand(call, 1);
    if (line) {
        index = LLVMBuildMul(builder, index, igv_u64(&pass->emit, line), "");
        address = LLVMBuildGEP2(builder, element, address, &index, 1, "");
    }
    if (offset) {
        index = igv_u64(&pass->emit, offset);
        address = LLVMBuildGEP2(builder, element, address, &index, 1, "");
    }
    return address;
}

LLVMValueRef igt_load_line(struct igt_pass *pass, const struct igt_tile *tile, unsigned line,
                           unsigned count) {
    LLVMValueRef load =
        LLVMBuildLoad2(pass->emit.builder, LLVMVectorType(tile->element, count),
                       igt_element_address(pass, tile->call, tile->element, line, 0), "");
    LLVMSetAlignment(load, LLVMABIAlignmentOfType(pass->emit.layout, tile->element));
    return load;
}

/* 8 vectors of 8, by three rounds of exchanging halves, quarters and neighbours. */
static void transpose(struct igt_pass *pass, LLVMValueRef rows[IGT_SIDE]) {
    for (unsigned distance = IGT_SIDE / 2; distance; distance /= 2) {
        for (unsigned r = 0; r < IGT_SIDE; r++) {
            if (r & distance) {
                continue;
            }
            unsigned low[IGT_SIDE], high[IGT_SIDE];
            for (unsigned i = 0; i < IGT_SIDE; i++) {
                low[i] = i & distance ? IGT_SIDE + i - distance : i;
                high[i] = i & distance ? IGT_SIDE + i : i + distance;
            }
            LLVMValueRef a = rows[r], b = rows[r + distance];
            rows[r] = shuffle(pass, a, b, low, IGT_SIDE);
            rows[r + distance] = shuffle(pass, a, b, high, IGT_SIDE);
        }
    }
}

bool igt_is_paired(const struct igt_tile *load) {
    return igi_is_call_of(load->call, IGI_tile_load_pairs);
}

/* Rows that lie two by two: every other element of a line. */
static void load_paired_rows(struct igt_pass *pass, struct igt_tile *tile) {
    for (unsigned r = 0; r < IGT_SIDE; r++) {
        unsigned indices[IGT_SIDE];
        for (unsigned i = 0; i < IGT_SIDE; i++) {
            indices[i] = 2 * i + r % 2;
        }
        LLVMValueRef line = igt_load_line(pass, tile, r / 2, 2 * IGT_SIDE);
        tile->rows[r] = shuffle(pass, line, LLVMGetPoison(LLVMTypeOf(line)), indices, IGT_SIDE);
    }
}

static void load_rows(struct igt_pass *pass, struct igt_tile *tile) {
    if (igt_is_paired(tile)) {
        load_paired_rows(pass, tile);
    } else {
        for (unsigned r = 0; r < IGT_SIDE; r++) {
            tile->rows[r] = igt_load_line(pass, tile, r, IGT_SIDE);
        }
    }
    if (!LLVMIsNull(LLVMGetOperand(tile->call, 2))) {
        transpose(pass, tile->rows);
    }
}

/* The rows of a load, made where it stands. */
static void load_rows_in_place(struct igt_pass *pass, struct igt_tile *tile) {
    LLVMBuilderRef builder = pass->emit.builder;
    if (tile->rows[0]) {
        return;
    }
    pass->emit.builder = LLVMCreateBuilderInContext(pass->emit.context);
    igt_place_before(pass, LLVMGetNextInstruction(tile->call));
    load_rows(pass, tile);
    LLVMDisposeBuilder(pass->emit.builder);
    pass->emit.builder = builder;
}

bool igt_is_steady(const struct igt_pass *pass, const struct igt_tile *tile) {
    return tile->kind == IGT_LOADED && pass->current_group &&
           tile->steady_for == pass->current_group && !igt_is_paired(tile);
}

bool igt_is_transposed(const struct igt_tile *load) {
    return !LLVMIsNull(LLVMGetOperand(load->call, 2));
}

/* ---- rows ------------------------------------------------------------------------------------ */
LLVMValueRef igt_filled(struct igt_pass *pass, const struct igt_tile *tile, unsigned width) {
    LLVMValueRef vector = tile->registers[0];
    if (LLVMIsConstant(vector)) {
        LLVMValueRef elements[2 * IGT_SIDE];
        for (unsigned i = 0; i < width; i++) {
            elements[i] = LLVMGetAggregateElement(vector, 0);
        }
        return LLVMConstVector(elements, width);
    }
    unsigned zeros[2 * IGT_SIDE] = {0};
    return shuffle(pass, vector, LLVMGetPoison(LLVMTypeOf(vector)), zeros, width);
}

/* Two rows at a time where registers are that wide. */
static LLVMValueRef row_of_lanes(struct igt_pass *pass, const LLVMValueRef *registers,
                                 unsigned row) {
    struct igl_pick picks[2 * IGT_SIDE];
    unsigned together = pass->emit.lanes >= 2 * IGT_SIDE ? 2 : 1;
    unsigned first = row / together * together;
    for (unsigned i = 0; i < together * IGT_SIDE; i++) {
        picks[i] = igt_pick_at(&pass->emit, first + i / IGT_SIDE, i % IGT_SIDE);
    }
    LLVMValueRef rows =
        igl_permute(&pass->emit, registers, pass->emit.lanes, picks, together * IGT_SIDE);
    return igl_part(&pass->emit, rows, (row - first) * IGT_SIDE, IGT_SIDE);
}

LLVMValueRef igt_operate(struct igt_pass *pass, const struct igt_tile *tile, LLVMValueRef *operands,
                         unsigned width) {
    LLVMBuilderRef builder = pass->emit.builder;
    LLVMValueRef like = tile->registers[0], result;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(like);
    if (LLVMIsACastInst(like)) {
        return LLVMBuildCast(builder, opcode, operands[0], LLVMVectorType(tile->element, width),
                             "");
    }
    if (opcode == LLVMFNeg) {
        result = LLVMBuildFNeg(builder, operands[0], "");
    } else {
        result = LLVMBuildBinOp(builder, opcode, operands[0], operands[1], "");
    }
    if (LLVMIsAInstruction(result) && LLVMCanValueUseFastMathFlags(like)) {
        LLVMSetFastMathFlags(result, LLVMGetFastMathFlags(like));
    }
    return result;
}

void igt_need_group(struct igt_pass *pass, const struct igt_tile *tile) {
    if (tile->kind == IGT_PRODUCT && !tile->group->emitted) {
        igt_emit_group(pass, tile->group);
    }
}

static LLVMValueRef row_of(struct igt_pass *pass, struct igt_tile *tile, unsigned row) {
    switch (tile->kind) {
    case IGT_FILL:
        return igt_filled(pass, tile, IGT_SIDE);
    case IGT_LOADED:
        if (igt_is_steady(pass, tile) && !igt_is_transposed(tile)) {
            return igt_load_line(pass, tile, row, IGT_SIDE);
        }
        load_rows_in_place(pass, tile);
        return tile->rows[row];
    case IGT_PRODUCT:
    case IGT_PHI: {
        igt_need_group(pass, tile);
        if (!tile->partner) {
            return tile->in_squares ? igt_row_of_squares(pass, tile, row) : tile->rows[row];
        }
        struct igt_tile *first = tile->half ? tile->partner : tile;
        return igl_part(&pass->emit, first->rows[row], tile->half * IGT_SIDE, IGT_SIDE);
    }
    case IGT_OPERATION: {
        LLVMValueRef operands[IGT_MAX_OPERANDS];
        for (int o = 0; o < LLVMGetNumOperands(tile->registers[0]); o++) {
            operands[o] = row_of(pass, tile->operands[o], row);
        }
        return igt_operate(pass, tile, operands, IGT_SIDE);
    }
    default:
        return row_of_lanes(pass, tile->registers, row);
    }
}

static bool same_operation(const struct igt_tile *a, const struct igt_tile *b) {
    return a->kind == IGT_OPERATION && b->kind == IGT_OPERATION && a->element == b->element &&
           LLVMGetInstructionOpcode(a->registers[0]) == LLVMGetInstructionOpcode(b->registers[0]) &&
           a->operands[0]->element == b->operands[0]->element;
}

/* A row of two tiles side by side. */
static LLVMValueRef wide_row_of(struct igt_pass *pass, struct igt_tile *left,
                                struct igt_tile *right, unsigned row) {
    if (left->partner == right && left->half == 0 &&
        (left->kind == IGT_PHI || left->kind == IGT_PRODUCT)) {
        igt_need_group(pass, left);
        return left->rows[row];
    }
    if (left->kind == IGT_FILL && right->kind == IGT_FILL &&
        left->registers[0] == right->registers[0]) {
        return igt_filled(pass, left, 2 * IGT_SIDE);
    }
    if (igt_is_steady(pass, left) && igt_is_steady(pass, right) &&
        igt_is_beside(pass, left, right)) {
        return igt_load_line(pass, left, row, 2 * IGT_SIDE);
    }
    if (same_operation(left, right)) {
        LLVMValueRef operands[IGT_MAX_OPERANDS];
        for (int o = 0; o < LLVMGetNumOperands(left->registers[0]); o++) {
            operands[o] = wide_row_of(pass, left->operands[o], right->operands[o], row);
        }
        return igt_operate(pass, left, operands, 2 * IGT_SIDE);
    }
    LLVMValueRef a = row_of(pass, left, row);
    return igl_join(&pass->emit, a, row_of(pass, right, row));
}

/* ---- phis and the lanes ---------------------------------------------------------------------- */
void igt_make_phis(struct igt_pass *pass) {
    for (struct igt_tile *t = pass->first_tile; t; t = t->next) {
        if (t->kind != IGT_PHI || t->is_kept || (t->partner && t->half)) {
            continue;
        }
        LLVMTypeRef type = LLVMVectorType(t->element, t->partner ? 2 * IGT_SIDE : IGT_SIDE);
        igt_place_before(pass, t->registers[0]);
        for (unsigned r = 0; r < IGT_SIDE; r++) {
            t->rows[r] = LLVMBuildPhi(pass->emit.builder, type, "");
        }
    }
}

static struct igt_tile *incoming_from(const struct igt_tile *phi, LLVMBasicBlockRef block) {
    unsigned n = 0;
    while (LLVMGetIncomingBlock(phi->registers[0], n) != block) {
        n++;
    }
    return phi->incoming[n];
}

void igt_fill_phis(struct igt_pass *pass) {
    for (struct igt_tile *t = pass->first_tile; t; t = t->next) {
        if (t->kind != IGT_PHI || t->is_kept || (t->partner && t->half)) {
            continue;
        }
        for (unsigned n = 0; n < LLVMCountIncoming(t->registers[0]); n++) {
            LLVMBasicBlockRef from = LLVMGetIncomingBlock(t->registers[0], n);
            LLVMValueRef earlier = igv_earlier_incoming(t->rows[0], from);
            igt_place_before(pass, LLVMGetBasicBlockTerminator(from));
            for (unsigned r = 0; r < IGT_SIDE; r++) {
                LLVMValueRef value = earlier         ? igv_earlier_incoming(t->rows[r], from)
                                     : t->in_squares ? igt_square_pair(pass, t->incoming[n], r)
                                     : t->partner    ? wide_row_of(pass, t->incoming[n],
                                                                   incoming_from(t->partner, from), r)
                                                     : row_of(pass, t->incoming[n], r);
                LLVMAddIncoming(t->rows[r], &value, &from, 1);
            }
        }
    }
}

LLVMValueRef igt_lanes(struct igt_pass *pass, struct igt_tile *tile, unsigned index) {
    const struct igv_emit *emit = &pass->emit;
    unsigned which = index / emit->chunks, chunk = index % emit->chunks;
    unsigned together = emit->lanes >= 2 * IGT_SIDE ? 2 : 1;
    unsigned needed[IGT_SIDE], count = 0;
    struct igl_pick picks[IGL_WIDTH];
    LLVMValueRef sources[IGT_SIDE];
    for (unsigned i = 0; i < emit->lanes; i++) {
        unsigned row = igt_row_of(chunk * emit->lanes + i), n = 0;
        while (n < count && needed[n] != row) {
            n++;
        }
        if (n == count) {
            needed[count++] = row;
        }
        picks[i] = (struct igl_pick){
            (uint16_t)(n / together),
            (uint16_t)(n % together * IGT_SIDE + igt_column_of(chunk * emit->lanes + i, which))};
    }
    for (unsigned n = 0; n < count; n += together) {
        LLVMValueRef row = row_of(pass, tile, needed[n]);
        if (together == 2) {
            row =
                igl_join(&pass->emit, row, n + 1 < count ? row_of(pass, tile, needed[n + 1]) : row);
        }
        sources[n / together] = row;
    }
    return igl_permute(&pass->emit, sources, together * IGT_SIDE, picks, emit->lanes);
}

/* ---- products -------------------------------------------------------------------------------- */
enum { MAX_UNITS = 3, MAX_ROW_TILES = 3, MAX_STEPS = IGT_MAX_MEMBERS };

/* A block of sums: some row tiles, some of their rows, some columns (two tiles wide or one). */
struct block {
    struct igt_group *group;
    unsigned first_row, row_count; /* of tiles */
    unsigned first_unit, unit_count;
    unsigned from, to; /* rows of each tile */
};

/* The sums of one row tile in one unit: the tiles of the current step. */
struct cell {
    struct igt_tile *left, *right; /* right: NULL if there is only one */
    LLVMValueRef sums[IGT_SIDE];
};

static LLVMValueRef broadcast(struct igt_pass *pass, LLVMValueRef scalar, unsigned width) {
    unsigned zeros[2 * IGT_SIDE] = {0};
    LLVMValueRef nothing = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(scalar), width));
    LLVMValueRef one =
        LLVMBuildInsertElement(pass->emit.builder, nothing, scalar, igv_u64(&pass->emit, 0), "");
    return shuffle(pass, one, nothing, zeros, width);
}

static LLVMValueRef entry_array(struct igt_pass *pass) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(pass->emit.context);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(pass->emit.function);
    LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(entry));
    LLVMTypeRef type = LLVMArrayType2(pass->emit.f32, IGT_SIDE * IGT_SIDE);
    LLVMValueRef array = LLVMBuildAlloca(builder, type, "");
    LLVMSetAlignment(array, 64);
    LLVMDisposeBuilder(builder);
    return array;
}

/* The copy's address is hidden from LLVM, which would otherwise keep it in registers and make
 * permutations of the broadcasts. */
static LLVMValueRef copy_rows(struct igt_pass *pass, struct igt_tile *tile) {
    struct igv_emit *emit = &pass->emit;
    LLVMValueRef memory = entry_array(pass);
    LLVMTypeRef type = LLVMFunctionType(emit->ptr, &emit->ptr, 1, false);
    LLVMValueRef hide =
        LLVMGetInlineAsm(type, "", 0, "=r,0", 4, false, false, LLVMInlineAsmDialectATT, false);
    memory = LLVMBuildCall2(emit->builder, type, hide, &memory, 1, "");
    for (unsigned r = 0; r < IGT_SIDE; r++) {
        LLVMValueRef index = igv_u64(emit, r * IGT_SIDE);
        LLVMValueRef place = LLVMBuildGEP2(emit->builder, tile->element, memory, &index, 1, "");
        LLVMValueRef store = LLVMBuildStore(emit->builder, row_of(pass, tile, r), place);
        LLVMSetAlignment(store, tile->element == emit->i16 ? 16 : 32);
    }
    return memory;
}

/* Memory from which the elements of a left side can be read one by one: where the tile was loaded
 * from if it is still there, or else a copy. */
static const struct igt_tile *steady_load(const struct igt_pass *pass, struct igt_tile *tile) {
    const struct igt_tile *load = igt_loaded(tile);
    return load && igt_is_steady(pass, load) ? load : NULL;
}

static void copy_left_sides(struct igt_pass *pass, const struct igt_group *group) {
    for (unsigned c = 0; c < group->chain_count; c++) {
        for (struct igt_tile *step = group->chains[c]; step; step = step->extended) {
            struct igt_tile *left =
                group->pairs ? igt_narrow(pass, step->operands[0]) : step->operands[0];
            bool there =
                group->pairs ? !igt_pair_needs_copy(pass, left) : steady_load(pass, left) != NULL;
            if (there || left->copied_for == group->number) {
                continue;
            }
            left->copy = copy_rows(pass, left);
            left->copied_for = group->number;
        }
    }
}

static LLVMValueRef left_element(struct igt_pass *pass, struct igt_tile *left, unsigned row,
                                 unsigned k) {
    struct igv_emit *emit = &pass->emit;
    const struct igt_tile *load = steady_load(pass, left);
    LLVMValueRef address;
    if (load) {
        bool turned = igt_is_transposed(load);
        address =
            igt_element_address(pass, load->call, emit->f32, turned ? k : row, turned ? row : k);
    } else {
        LLVMValueRef index = igv_u64(emit, row * IGT_SIDE + k);
        address = LLVMBuildGEP2(emit->builder, emit->f32, left->copy, &index, 1, "");
    }
    LLVMValueRef element = LLVMBuildLoad2(emit->builder, emit->f32, address, "");
    LLVMSetAlignment(element, 4);
    return element;
}

LLVMValueRef igt_unit_row(struct igt_pass *pass, struct igt_tile *left, struct igt_tile *right,
                          unsigned row) {
    return right ? wide_row_of(pass, left, right, row) : row_of(pass, left, row);
}

/* Row k of the right side that a cell multiplies by; cells of one unit mostly share it. */
struct right_row {
    const struct igt_tile *left, *right;
    LLVMValueRef row;
};

static LLVMValueRef right_row_of(struct igt_pass *pass, const struct cell *cell,
                                 struct right_row *known, unsigned k) {
    struct igt_tile *left = cell->left->operands[1];
    struct igt_tile *right = cell->right ? cell->right->operands[1] : NULL;
    if (!known->row || known->left != left || known->right != right) {
        const struct igt_group *group = cell->left->group;
        *known = (struct right_row){left, right,
                                    group->pairs    ? igt_pair_right(pass, left, right, k)
                                    : group->halves ? igt_half_right(pass, left, k)
                                                    : igt_unit_row(pass, left, right, k)};
    }
    return known->row;
}

/* Of a row of the left side element k; with pairs, the next too; of halves, a vector of it. */
static LLVMValueRef left_side(struct igt_pass *pass, const struct igt_tile *tile, unsigned row,
                              unsigned k) {
    struct igt_tile *left = tile->operands[0];
    return tile->group->pairs    ? igt_pair_left(pass, left, row, k)
           : tile->group->halves ? igt_half_left(pass, left, row, k)
                                 : left_element(pass, left, row, k);
}

static LLVMValueRef product(struct igt_pass *pass, const struct igt_group *group, LLVMValueRef left,
                            LLVMValueRef right, LLVMValueRef sum) {
    if (group->halves) {
        return igt_half_product(pass, left, right, sum);
    }
    left = broadcast(pass, left, LLVMGetVectorSize(LLVMTypeOf(sum)));
    LLVMValueRef args[] = {left, right, sum};
    return group->pairs ? igt_pair_product(pass, left, right, sum)
                        : igl_call(&pass->emit, "llvm.fma", LLVMTypeOf(sum), args, 3);
}

static void add_products(struct igt_pass *pass, const struct block *block, struct cell *cells,
                         unsigned k) {
    unsigned units = block->unit_count;
    struct right_row rights[MAX_UNITS] = {{NULL, NULL, NULL}};
    for (unsigned n = 0; n < block->row_count * (block->to - block->from); n++) {
        unsigned row = block->from + n % (block->to - block->from);
        LLVMValueRef element = NULL;
        for (unsigned u = 0; u < units; u++) {
            struct cell *cell = &cells[n / (block->to - block->from) * units + u];
            if (!cell->left) {
                continue;
            }
            LLVMValueRef right = right_row_of(pass, cell, &rights[u], k);
            if (!element) {
                element = left_side(pass, cell->left, row, k);
            }
            cell->sums[row] = product(pass, block->group, element, right, cell->sums[row]);
        }
    }
}

/* Keeps the sums as the product's rows. */
static void keep_sums(struct igt_pass *pass, const struct block *block, struct cell *cell) {
    for (unsigned row = block->from; row < block->to; row++) {
        LLVMValueRef sum = cell->sums[row];
        if (!cell->right) {
            cell->left->rows[row] = sum;
        } else if (cell->left->partner == cell->right && cell->left->half == 0) {
            cell->left->rows[row] = sum;
        } else {
            cell->left->rows[row] = igl_part(&pass->emit, sum, 0, IGT_SIDE);
            cell->right->rows[row] = igl_part(&pass->emit, sum, IGT_SIDE, IGT_SIDE);
        }
    }
}

static bool start_cells(struct igt_pass *pass, const struct block *block, struct cell *cells) {
    bool any = false;
    for (unsigned n = 0; n < block->row_count * block->unit_count; n++) {
        unsigned row = block->first_row + n / block->unit_count;
        const unsigned *columns = block->group->units[block->first_unit + n % block->unit_count];
        struct igt_tile *left = igt_chain_at(block->group, row, columns[0]);
        struct igt_tile *right =
            columns[1] == IGT_NO_COLUMN ? NULL : igt_chain_at(block->group, row, columns[1]);
        cells[n] = (struct cell){.left = left ? left : right, .right = left ? right : NULL};
        any |= cells[n].left != NULL;
        for (unsigned r = block->from; cells[n].left && r < block->to; r++) {
            cells[n].sums[r] = igt_unit_row(pass, cells[n].left->operands[2],
                                            cells[n].right ? cells[n].right->operands[2] : NULL, r);
        }
    }
    return any;
}

static void emit_block(struct igt_pass *pass, const struct block *block) {
    struct cell cells[MAX_ROW_TILES * MAX_UNITS];
    unsigned count = block->row_count * block->unit_count;
    bool any = start_cells(pass, block, cells);
    while (any) {
        for (unsigned k = 0; k < IGT_SIDE; k += block->group->pairs ? 2 : 1) {
            add_products(pass, block, cells, k);
        }
        any = false;
        for (unsigned n = 0; n < count; n++) {
            struct cell *cell = &cells[n];
            if (!cell->left) {
                continue;
            }
            keep_sums(pass, block, cell);
            cell->left = cell->left->extended;
            cell->right = cell->right ? cell->right->extended : NULL;
            any |= cell->left != NULL;
        }
    }
}

/* As many sums as the registers hold beside a row of each right side and an element: 24 of 32
 * with AVX-512, 12 of 16 with AVX2. */
static void emit_blocks(struct igt_pass *pass, struct igt_group *group) {
    bool many = pass->emit.lanes >= 2 * IGT_SIDE;
    unsigned parts = (group->unit_count + MAX_UNITS - 1) / MAX_UNITS;
    unsigned rows_at_once = many && group->unit_count == 1 ? MAX_ROW_TILES : 1;
    for (unsigned row = 0; row < group->row_count; row += rows_at_once) {
        for (unsigned p = 0; p < parts; p++) {
            struct block block = {.group = group, .first_row = row, .to = IGT_SIDE};
            block.row_count =
                group->row_count - row < rows_at_once ? group->row_count - row : rows_at_once;
            block.first_unit = group->unit_count * p / parts;
            block.unit_count = group->unit_count * (p + 1) / parts - block.first_unit;
            unsigned height = many || block.unit_count == 1 ? IGT_SIDE : IGT_SIDE / 2;
            for (block.from = 0; block.from < IGT_SIDE; block.from += height) {
                block.to = block.from + height;
                emit_block(pass, &block);
                igl_compiler_fence(&pass->emit); /* or LLVM keeps B's rows for the next block */
            }
        }
    }
}

void igt_emit_group(struct igt_pass *pass, struct igt_group *group) {
    if (group->emitted) {
        return;
    }
    LLVMBuilderRef builder = pass->emit.builder;
    unsigned current = pass->current_group;
    LLVMValueRef operands = pass->operands;
    pass->emit.builder = LLVMCreateBuilderInContext(pass->emit.context);
    igt_place_before(pass, group->after);
    pass->current_group = group->number;
    group->emitted = true;
    if (group->units_of_cpu) {
        igt_emit_on_units(pass, group);
    } else if (group->bytes) {
        igt_emit_bytes(pass, group);
        group->last = LLVMGetPreviousInstruction(group->after);
    } else if (group->squares) {
        igt_emit_squares(pass, group);
        group->last = LLVMGetPreviousInstruction(group->after);
    } else {
        if (!group->halves) {
            copy_left_sides(pass, group);
        }
        emit_blocks(pass, group);
        group->last = LLVMGetPreviousInstruction(group->after);
    }
    LLVMDisposeBuilder(pass->emit.builder);
    pass->emit.builder = builder;
    pass->current_group = current;
    pass->operands = operands;
}

/* ---- stores ---------------------------------------------------------------------------------- */
static struct igt_tile *stored_tile(struct igt_pass *pass, LLVMValueRef call) {
    LLVMValueRef registers[IGT_MAX_REGISTERS];
    for (unsigned i = 0; i < pass->registers; i++) {
        registers[i] = LLVMGetOperand(call, 3 + i);
    }
    return igt_tile_of(pass, registers);
}

/* Are rows of both halves of the same vectors? */
static bool share_vectors(const struct igt_tile *left, const struct igt_tile *right) {
    if (left->kind == IGT_PHI || left->kind == IGT_PRODUCT) {
        return left->partner == right && left->half == 0;
    }
    if (left->kind == IGT_FILL) {
        return right->kind == IGT_FILL && left->registers[0] == right->registers[0];
    }
    if (!same_operation(left, right)) {
        return false;
    }
    for (int o = 0; o < LLVMGetNumOperands(left->registers[0]); o++) {
        if (!share_vectors(left->operands[o], right->operands[o])) {
            return false;
        }
    }
    return true;
}

/* Of 16 bits, where halves would be converted apart: the next store, if what it stores lies beside
 * this and shares its vectors, and nothing between looks at memory; or NULL. */
static LLVMValueRef store_beside(struct igt_pass *pass, LLVMValueRef call, struct igt_tile *tile) {
    LLVMValueRef next = tile->element == pass->emit.i16 ? LLVMGetNextInstruction(call) : NULL;
    while (next && !LLVMIsACallInst(next) && !LLVMIsALoadInst(next) && !LLVMIsAStoreInst(next) &&
           !LLVMIsATerminatorInst(next) && !LLVMIsAFenceInst(next)) {
        next = LLVMGetNextInstruction(next);
    }
    if (!next || igi_family_of(next) != IGI_FAMILY_TILE_STORE ||
        !igt_calls_are_apart(pass, call, next,
                             IGT_SIDE * LLVMABISizeOfType(pass->emit.layout, tile->element))) {
        return NULL;
    }
    struct igt_tile *right = stored_tile(pass, next);
    return right && right->element == tile->element && share_vectors(tile, right) &&
                   !igt_under_casts(right)->stored_by
               ? next
               : NULL;
}

static void store_rows(struct igt_pass *pass, LLVMValueRef call, LLVMTypeRef element,
                       LLVMValueRef *rows) {
    for (unsigned r = 0; r < IGT_SIDE; r++) {
        LLVMValueRef place = igt_element_address(pass, call, element, r, 0);
        LLVMValueRef store = LLVMBuildStore(pass->emit.builder, rows[r], place);
        LLVMSetAlignment(store, LLVMABIAlignmentOfType(pass->emit.layout, element));
    }
}

void igt_emit_store(struct igt_pass *pass, LLVMValueRef call) {
    LLVMValueRef rows[IGT_SIDE];
    struct igt_tile *tile = stored_tile(pass, call);
    if (!tile || igt_under_casts(tile)->stored_by == call || call == pass->stored_with) {
        return;
    }
    LLVMValueRef second = store_beside(pass, call, tile);
    if (second) {
        struct igt_tile *right = stored_tile(pass, second);
        igt_place_before(pass, second);
        for (unsigned r = 0; r < IGT_SIDE; r++) {
            rows[r] = wide_row_of(pass, tile, right, r);
        }
        store_rows(pass, call, tile->element, rows);
        pass->stored_with = second;
        return;
    }
    igt_place_before(pass, call);
    for (unsigned r = 0; r < IGT_SIDE; r++) {
        rows[r] = row_of(pass, tile, r);
    }
    if (!LLVMIsNull(LLVMGetOperand(call, 2))) {
        transpose(pass, rows);
    }
    store_rows(pass, call, tile->element, rows);
}
