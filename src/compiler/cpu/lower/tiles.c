/*
 * Finds the tiles of simdgroup_matrix in a vectorised function, and which of their products are
 * emitted together.
 *
 * Requires: the calls of tiles.h, slots turned into SSA form. Provides: a function without such
 * calls. Registers that travel together (the operands of a call, phis of them, casts and
 * arithmetic with one number) are one tile, which is kept in rows: accumulators never pass
 * through the lanes' layout unless the kernel looks at thread_elements(). With vectors of 16, rows
 * of two tiles side by side share vectors.
 * Does not: move a product over a store or over a use of an earlier one.
 */
#include <string.h>

#include <llvm-c/Transforms/PassBuilder.h>

#include "compiler/cpu/lower/tiles.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"

/* ---- what the calls and their operands are ------------------------------------------------- */
static bool is_load(LLVMValueRef instruction) {
    return igi_family_of(instruction) == IGI_FAMILY_TILE_LOAD;
}

static bool is_multiply(LLVMValueRef instruction) {
    return igi_family_of(instruction) == IGI_FAMILY_TILE_MULTIPLY;
}

static bool is_store(LLVMValueRef instruction) {
    return igi_family_of(instruction) == IGI_FAMILY_TILE_STORE;
}

static struct igt_tile *add_tile(struct igt_pass *pass, enum igt_kind kind, LLVMValueRef key,
                                 LLVMTypeRef element) {
    struct igt_tile *tile = ig_arena_alloc(&pass->arena, sizeof *tile);
    if (!tile) {
        pass->failed = true;
        return NULL;
    }
    size_t bucket = (size_t)((uintptr_t)key / 16 % IGT_BUCKETS);
    *tile = (struct igt_tile){.kind = kind, .element = element, .hash_next = pass->buckets[bucket]};
    pass->buckets[bucket] = tile;
    *pass->last_tile = tile;
    pass->last_tile = &tile->next;
    return tile;
}

static struct igt_tile *known_tile(const struct igt_pass *pass, LLVMValueRef key) {
    return pass->buckets[(uintptr_t)key / 16 % IGT_BUCKETS];
}

struct igt_tile *igt_tile_of_call(struct igt_pass *pass, LLVMValueRef call) {
    for (struct igt_tile *t = known_tile(pass, call); t; t = t->hash_next) {
        if (t->call == call) {
            return t;
        }
    }
    bool product = is_multiply(call);
    LLVMTypeRef registers = LLVMStructGetTypeAtIndex(LLVMTypeOf(call), 0);
    struct igt_tile *tile =
        add_tile(pass, product ? IGT_PRODUCT : IGT_LOADED, call, LLVMGetElementType(registers));
    if (!tile) {
        return NULL;
    }
    tile->call = call;
    for (unsigned o = 0; product && o < 3; o++) {
        LLVMValueRef operands[IGT_MAX_REGISTERS];
        for (unsigned i = 0; i < pass->registers; i++) {
            operands[i] = LLVMGetOperand(call, o * pass->registers + i);
        }
        if (!(tile->operands[o] = igt_tile_of(pass, operands))) {
            return NULL;
        }
    }
    return tile;
}

/* The call whose results these are, in order, or NULL. */
static LLVMValueRef call_of(const struct igt_pass *pass, const LLVMValueRef *registers) {
    LLVMValueRef call = NULL;
    for (unsigned i = 0; i < pass->registers; i++) {
        if (!LLVMIsAExtractValueInst(registers[i]) || LLVMGetIndices(registers[i])[0] != i) {
            return NULL;
        }
        LLVMValueRef from = LLVMGetOperand(registers[i], 0);
        if (i && from != call) {
            return NULL;
        }
        call = from;
    }
    return is_multiply(call) || is_load(call) ? call : NULL;
}

/* One number in all elements of all registers? */
static bool is_fill(const struct igt_pass *pass, const LLVMValueRef *registers) {
    LLVMValueRef first = registers[0];
    for (unsigned i = 1; i < pass->registers; i++) {
        if (registers[i] != first) {
            return false;
        }
    }
    if (LLVMIsAShuffleVectorInst(first)) {
        LLVMValueRef inserted = LLVMGetOperand(first, 0);
        for (unsigned i = 0; i < LLVMGetNumMaskElements(first); i++) {
            if (LLVMGetMaskValue(first, i) != 0) {
                return false;
            }
        }
        return LLVMIsAInsertElementInst(inserted) &&
               LLVMIsAConstantInt(LLVMGetOperand(inserted, 2)) &&
               LLVMConstIntGetZExtValue(LLVMGetOperand(inserted, 2)) == 0;
    }
    if (!LLVMIsConstant(first)) {
        return false;
    }
    LLVMValueRef number = LLVMGetAggregateElement(first, 0);
    for (unsigned i = 1; number && i < pass->emit.lanes; i++) {
        if (LLVMGetAggregateElement(first, i) != number) {
            return false;
        }
    }
    return number != NULL;
}

static bool are_phis(const struct igt_pass *pass, const LLVMValueRef *registers) {
    for (unsigned i = 0; i < pass->registers; i++) {
        if (!LLVMIsAPHINode(registers[i]) ||
            LLVMGetInstructionParent(registers[i]) != LLVMGetInstructionParent(registers[0])) {
            return false;
        }
    }
    return true;
}

/* Casts and arithmetic that mean the same on any number of elements. */
static bool is_operation(LLVMValueRef value) {
    if (!LLVMIsAInstruction(value)) {
        return false;
    }
    if (LLVMIsABinaryOperator(value) || LLVMGetInstructionOpcode(value) == LLVMFNeg) {
        return true;
    }
    return LLVMIsACastInst(value) &&
           LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(value, 0))) == LLVMVectorTypeKind &&
           LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(value, 0))) ==
               LLVMGetVectorSize(LLVMTypeOf(value));
}

static bool are_one_operation(const struct igt_pass *pass, const LLVMValueRef *registers) {
    for (unsigned i = 0; i < pass->registers; i++) {
        if (!is_operation(registers[i]) ||
            LLVMGetInstructionOpcode(registers[i]) != LLVMGetInstructionOpcode(registers[0]) ||
            LLVMTypeOf(registers[i]) != LLVMTypeOf(registers[0]) ||
            LLVMTypeOf(LLVMGetOperand(registers[i], 0)) !=
                LLVMTypeOf(LLVMGetOperand(registers[0], 0))) {
            return false;
        }
    }
    return true;
}

/* The operands' tiles; false if one is not better than the lanes. */
static bool find_operands(struct igt_pass *pass, const LLVMValueRef *registers,
                          struct igt_tile *operands[IGT_MAX_OPERANDS]) {
    bool fills = true;
    for (int o = 0; o < LLVMGetNumOperands(registers[0]); o++) {
        LLVMValueRef parts[IGT_MAX_REGISTERS];
        for (unsigned i = 0; i < pass->registers; i++) {
            parts[i] = LLVMGetOperand(registers[i], (unsigned)o);
        }
        operands[o] = igt_tile_of(pass, parts);
        if (!operands[o] || operands[o]->kind == IGT_LANES) {
            return false;
        }
        fills &= operands[o]->kind == IGT_FILL;
    }
    return !fills;
}

static void find_incoming(struct igt_pass *pass, struct igt_tile *phi) {
    unsigned count = LLVMCountIncoming(phi->registers[0]);
    struct igt_tile **incoming = ig_arena_array(&pass->arena, count, sizeof(struct igt_tile *));
    phi->incoming = incoming;
    pass->failed |= !incoming;
    for (unsigned n = 0; incoming && n < count; n++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi->registers[0], n);
        LLVMValueRef values[IGT_MAX_REGISTERS];
        for (unsigned i = 0; i < pass->registers; i++) {
            unsigned same = 0; /* phis of one block need not list their blocks in one order */
            while (LLVMGetIncomingBlock(phi->registers[i], same) != from) {
                same++;
            }
            values[i] = LLVMGetIncomingValue(phi->registers[i], same);
        }
        incoming[n] = igt_tile_of(pass, values);
    }
}

static bool has_registers(const struct igt_pass *pass, const struct igt_tile *tile,
                          const LLVMValueRef *registers) {
    for (unsigned i = 0; i < pass->registers; i++) {
        if (tile->registers[i] != registers[i]) {
            return false;
        }
    }
    return true;
}

struct igt_tile *igt_tile_of(struct igt_pass *pass, const LLVMValueRef *registers) {
    LLVMValueRef call = call_of(pass, registers);
    if (call) {
        return igt_tile_of_call(pass, call);
    }
    for (struct igt_tile *t = known_tile(pass, registers[0]); t; t = t->hash_next) {
        if (!t->call && has_registers(pass, t, registers)) {
            return t;
        }
    }
    struct igt_tile *operands[IGT_MAX_OPERANDS] = {NULL};
    enum igt_kind kind = IGT_LANES;
    if (is_fill(pass, registers)) {
        kind = IGT_FILL;
    } else if (are_phis(pass, registers)) {
        kind = IGT_PHI;
    } else if (are_one_operation(pass, registers) && find_operands(pass, registers, operands)) {
        kind = IGT_OPERATION;
    }
    struct igt_tile *tile =
        add_tile(pass, kind, registers[0], LLVMGetElementType(LLVMTypeOf(registers[0])));
    if (!tile) {
        return NULL;
    }
    memcpy(tile->registers, registers, pass->registers * sizeof *registers);
    memcpy(tile->operands, operands, sizeof operands);
    if (kind == IGT_PHI) {
        find_incoming(pass, tile);
    }
    return pass->failed ? NULL : tile;
}

/* ---- tiles side by side in memory ------------------------------------------------------------ */
struct igt_tile *igt_under_casts(struct igt_tile *tile) {
    while (tile->kind == IGT_OPERATION &&
           LLVMGetInstructionOpcode(tile->registers[0]) == LLVMBitCast) {
        tile = tile->operands[0];
    }
    return tile;
}

struct igt_tile *igt_loaded(struct igt_tile *tile) {
    tile = igt_under_casts(tile);
    return tile->kind == IGT_LOADED ? tile : NULL;
}

struct address {
    LLVMValueRef base, index; /* base + index * scale + offset, in bytes */
    uint64_t scale, offset;
};

static bool constant_number(LLVMValueRef value, uint64_t *number) {
    if (!LLVMIsAConstantInt(value)) {
        return false;
    }
    *number = (uint64_t)LLVMConstIntGetSExtValue(value);
    return true;
}

/* Follows constant steps, and one index that is not constant, down to the base. */
static struct address address_of(const struct igt_pass *pass, LLVMValueRef pointer) {
    struct address address = {.base = pointer};
    uint64_t number;
    while (LLVMIsAGetElementPtrInst(address.base) && LLVMGetNumOperands(address.base) == 2) {
        LLVMValueRef index = LLVMGetOperand(address.base, 1);
        uint64_t scale =
            LLVMABISizeOfType(pass->emit.layout, LLVMGetGEPSourceElementType(address.base));
        if (!constant_number(index, &number)) {
            if (address.index) {
                break;
            }
            address.scale = scale;
            while (LLVMGetTypeKind(LLVMTypeOf(index)) == LLVMIntegerTypeKind &&
                   LLVMGetIntTypeWidth(LLVMTypeOf(index)) == 64 && LLVMIsAInstruction(index) &&
                   LLVMGetInstructionOpcode(index) == LLVMAdd &&
                   constant_number(LLVMGetOperand(index, 1), &number)) {
                address.offset += scale * number;
                index = LLVMGetOperand(index, 0);
            }
            address.index = index;
        } else {
            address.offset += scale * number;
        }
        address.base = LLVMGetOperand(address.base, 0);
    }
    return address;
}

bool igt_calls_are_apart(const struct igt_pass *pass, LLVMValueRef left, LLVMValueRef right,
                         uint64_t bytes) {
    if (LLVMGetCalledValue(left) != LLVMGetCalledValue(right) ||
        LLVMGetOperand(left, 1) != LLVMGetOperand(right, 1) ||
        LLVMGetOperand(left, 2) != LLVMGetOperand(right, 2) ||
        !LLVMIsNull(LLVMGetOperand(left, 2))) {
        return false;
    }
    struct address a = address_of(pass, LLVMGetOperand(left, 0));
    struct address b = address_of(pass, LLVMGetOperand(right, 0));
    return a.base == b.base && a.index == b.index && a.scale == b.scale &&
           b.offset - a.offset == bytes;
}

bool igt_is_beside(const struct igt_pass *pass, struct igt_tile *left, struct igt_tile *right) {
    left = igt_loaded(left);
    right = igt_loaded(right);
    return left && right && left->element == right->element && !igt_is_paired(left) &&
           !igt_is_paired(right) &&
           igt_calls_are_apart(pass, left->call, right->call,
                               IGT_SIDE * LLVMABISizeOfType(pass->emit.layout, left->element));
}

/* ---- products that are emitted together ------------------------------------------------------ */
/* May memory that tiles were loaded from be another after it? */
bool igt_may_write(LLVMValueRef instruction) {
    if (LLVMIsAStoreInst(instruction) || LLVMIsAAtomicRMWInst(instruction) ||
        LLVMIsAAtomicCmpXchgInst(instruction)) {
        return true;
    }
    if (LLVMIsAFenceInst(instruction)) { /* others may write; not while this SIMD-group runs */
        return !LLVMIsAtomicSingleThread(instruction);
    }
    if (!LLVMIsACallInst(instruction) || is_load(instruction) || is_multiply(instruction)) {
        return false;
    }
    if (!igi_is_intrinsic(instruction)) {
        return true;
    }
    switch (igi_intrinsic_of(instruction)) {
    case IGI_LLVM_masked_store:
    case IGI_LLVM_masked_scatter:
    case IGI_LLVM_masked_compressstore:
        return true;
    default:
        return igi_intrinsic_flags_of(instruction) & IGI_I_COPIES;
    }
}

LLVMBasicBlockRef igt_only_predecessor(LLVMBasicBlockRef block) {
    LLVMBasicBlockRef from = NULL;
    igi_each_use(use, LLVMBasicBlockAsValue(block)) {
        LLVMValueRef user = LLVMGetUser(use);
        LLVMBasicBlockRef there =
            LLVMIsATerminatorInst(user) ? LLVMGetInstructionParent(user) : NULL;
        if (!there || (from && there != from)) {
            return NULL;
        }
        from = there;
    }
    return from;
}

enum { MAX_READERS = 8 * IGT_MAX_MEMBERS };

struct finding {
    struct igt_group *group;
    struct igt_tile *members[IGT_MAX_MEMBERS];
    unsigned count;
    LLVMValueRef readers[MAX_READERS]; /* of members, between them: they go behind the group */
    unsigned reader_count, reader_limit;
};

static bool is_member(const struct finding *finding, const struct igt_tile *tile) {
    return tile->kind == IGT_PRODUCT && tile->group == finding->group;
}

static bool is_reader(const struct finding *finding, LLVMValueRef value) {
    for (unsigned i = finding->reader_count; i-- > 0;) {
        if (finding->readers[i] == value) {
            return true;
        }
    }
    return false;
}

/* Does it read what a member gives, other than as a tile? */
static bool reads_member(struct igt_pass *pass, const struct finding *finding,
                         LLVMValueRef instruction) {
    const struct igt_tile *product =
        is_multiply(instruction) ? igt_tile_of_call(pass, instruction) : NULL;
    for (int i = 0; i < LLVMGetNumOperands(instruction); i++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);
        if (!LLVMIsAInstruction(operand)) {
            continue;
        }
        if (is_reader(finding, operand)) {
            return true;
        }
        if (!LLVMIsAExtractValueInst(operand)) {
            continue;
        }
        if (product && product->operands[(unsigned)i / pass->registers]->kind != IGT_LANES) {
            continue;
        }
        LLVMValueRef call = LLVMGetOperand(operand, 0);
        if (is_multiply(call) && is_member(finding, igt_tile_of_call(pass, call))) {
            return true;
        }
    }
    return false;
}

/* A product joins if of the members it needs at most the last of a chain, to add to. */
static bool joins(const struct finding *finding, const struct igt_tile *tile) {
    const struct igt_tile *added = tile->operands[2];
    return finding->count < IGT_MAX_MEMBERS && !tile->group &&
           !is_member(finding, tile->operands[0]) && !is_member(finding, tile->operands[1]) &&
           !(is_member(finding, added) && added->extended);
}

static void add_member(struct finding *finding, struct igt_tile *tile) {
    if (is_member(finding, tile->operands[2])) {
        tile->operands[2]->extended = tile;
    }
    tile->group = finding->group;
    finding->members[finding->count++] = tile;
    finding->reader_limit = finding->reader_count;
    LLVMValueRef after = LLVMGetNextInstruction(tile->call);
    while (LLVMIsAExtractValueInst(after)) {
        after = LLVMGetNextInstruction(after);
    }
    finding->group->after = after;
}

static void find_members(struct igt_pass *pass, struct finding *finding, LLVMValueRef first) {
    igi_each_from(i, first) {
        if (pass->failed) {
            return;
        }
        if (LLVMIsAExtractValueInst(i)) {
            continue;
        }
        bool reads = reads_member(pass, finding, i);
        if (is_multiply(i)) {
            struct igt_tile *tile = igt_tile_of_call(pass, i);
            if (!tile || reads || !joins(finding, tile)) {
                return;
            }
            add_member(finding, tile);
        } else if (reads && is_operation(i) && finding->reader_count < MAX_READERS) {
            finding->readers[finding->reader_count++] = i;
        } else if (reads || igt_may_write(i)) {
            return;
        }
    }
}

/* Puts what reads members behind all of them. */
static void move_readers(struct igt_pass *pass, struct finding *finding) {
    LLVMPositionBuilderBefore(pass->emit.builder, finding->group->after);
    for (unsigned i = 0; i < finding->reader_limit; i++) {
        LLVMInstructionRemoveFromParent(finding->readers[i]);
        LLVMInsertIntoBuilder(pass->emit.builder, finding->readers[i]);
    }
    if (finding->reader_limit) {
        finding->group->after = finding->readers[0];
    }
}

/* Loads before the group that nothing was written after. */
static void find_steady_loads(struct igt_pass *pass, const struct igt_group *group) {
    LLVMValueRef i = LLVMGetPreviousInstruction(group->after);
    for (; i && !igt_may_write(i); i = LLVMGetPreviousInstruction(i)) {
        struct igt_tile *tile = is_load(i) ? igt_tile_of_call(pass, i) : NULL;
        if (tile) {
            tile->steady_for = group->number;
        }
    }
}

/* ---- the group as a grid of chains ----------------------------------------------------------- */
static bool same_side(const struct igt_tile *a, const struct igt_tile *b, unsigned side) {
    while (a && b && a->operands[side] == b->operands[side]) {
        a = a->extended;
        b = b->extended;
    }
    return !a && !b;
}

struct igt_tile *igt_chain_at(const struct igt_group *group, unsigned row, unsigned column) {
    for (unsigned c = 0; c < group->chain_count; c++) {
        if (group->rows[c] == row && group->columns[c] == column) {
            return group->chains[c];
        }
    }
    return NULL;
}

static void find_chains(struct igt_group *group, const struct finding *finding) {
    unsigned column_count = 0;
    for (unsigned m = 0; m < finding->count; m++) {
        struct igt_tile *tile = finding->members[m];
        if (is_member(finding, tile->operands[2])) {
            continue; /* not the first of its chain */
        }
        unsigned row = group->row_count, column = column_count;
        for (unsigned c = group->chain_count; c-- > 0;) {
            if (same_side(group->chains[c], tile, 0)) {
                row = group->rows[c];
            }
            if (same_side(group->chains[c], tile, 1)) {
                column = group->columns[c];
            }
        }
        if (igt_chain_at(group, row, column)) {
            row = group->row_count; /* the same product of another sum */
        }
        group->row_count += row == group->row_count;
        column_count += column == column_count;
        group->chains[group->chain_count] = tile;
        group->rows[group->chain_count] = row;
        group->columns[group->chain_count++] = column;
    }
    group->unit_count = column_count; /* until they are paired */
}

static bool find_group(struct igt_pass *pass, LLVMValueRef first) {
    struct finding finding = {.group = ig_arena_alloc(&pass->arena, sizeof(struct igt_group))};
    struct igt_group *group = finding.group;
    if (!group) {
        return false;
    }
    *group = (struct igt_group){.number = ++pass->group_count};
    find_members(pass, &finding, first);
    if (pass->failed || !finding.count) {
        return false;
    }
    group->chains = ig_arena_array(&pass->arena, finding.count, sizeof(struct igt_tile *));
    group->rows = ig_arena_array(&pass->arena, finding.count, sizeof *group->rows);
    group->columns = ig_arena_array(&pass->arena, finding.count, sizeof *group->columns);
    group->units = ig_arena_array(&pass->arena, finding.count, sizeof *group->units);
    if (!group->chains || !group->rows || !group->columns || !group->units) {
        return false;
    }
    *pass->last_group = group;
    pass->last_group = &group->next;
    move_readers(pass, &finding);
    find_steady_loads(pass, group);
    find_chains(group, &finding);
    const struct igv_target *target = pass->emit.request->target;
    group->pairs = target->bfloat_pairs && igt_is_of_bfloat(pass, group);
    group->bytes = target->arm_matrices && igt_is_of_bytes(pass, group);
    group->squares = group->bytes || (target->arm_matrices && igt_is_of_bfloat(pass, group));
    group->halves = target->arm_matrices && !group->squares && igt_is_of_half(pass, group);
    igt_pair_columns(pass, group);
    group->units_of_cpu = igt_can_use_units(pass, group);
    return true;
}

/* ---- the function ---------------------------------------------------------------------------- */
static bool find_all(struct igt_pass *pass) {
    LLVMValueRef function = pass->emit.function;
    igi_each_instruction(i, function) {
        if (is_multiply(i)) {
            struct igt_tile *tile = igt_tile_of_call(pass, i);
            if (!tile || (!tile->group && !find_group(pass, i))) {
                return false;
            }
        } else if (is_load(i)) {
            if (!igt_tile_of_call(pass, i)) {
                return false;
            }
        } else if (is_store(i)) {
            LLVMValueRef registers[IGT_MAX_REGISTERS];
            for (unsigned r = 0; r < pass->registers; r++) {
                registers[r] = LLVMGetOperand(i, 3 + r);
            }
            if (!igt_tile_of(pass, registers)) {
                return false;
            }
        }
    }
    if (pass->emit.lanes >= 2 * IGT_SIDE) {
        igt_find_phi_partners(pass);
    }
    return !pass->failed;
}

/* Operands of what is no longer looked at must not keep anything alive. */
static void drop_operands(LLVMValueRef user, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(user, i);
        LLVMSetOperand(user, i, LLVMGetPoison(LLVMTypeOf(operand)));
    }
}

static void emit_calls(struct igt_pass *pass) {
    LLVMValueRef function = pass->emit.function;
    for (struct igt_group *g = pass->first_group; g; g = g->next) {
        igt_emit_group(pass, g);
    }
    igi_each_instruction(i, function) {
        if (is_store(i)) {
            igt_emit_store(pass, i);
        }
    }
    igt_fill_phis(pass);
}

static void erase_stores(LLVMValueRef function) {
    igi_each_instruction_safe(i, function) {
        if (is_store(i)) {
            LLVMInstructionEraseFromParent(i);
        }
    }
}

/* The first instruction from which on the tile's value may be used. */
static LLVMValueRef first_use_place(const struct igt_tile *tile) {
    if (tile->kind == IGT_PRODUCT) {
        return LLVMGetNextInstruction(tile->group->last);
    }
    if (tile->kind == IGT_LOADED) {
        LLVMValueRef part = LLVMGetNextInstruction(tile->call); /* rows may stand before it */
        while (!LLVMIsAExtractValueInst(part)) {
            part = LLVMGetNextInstruction(part);
        }
        return part;
    }
    return igi_first_non_phi(LLVMGetInstructionParent(tile->registers[0]));
}

static void give_lanes(struct igt_pass *pass, struct igt_tile *tile, LLVMValueRef reader,
                       unsigned index) {
    if (!LLVMGetFirstUse(reader)) {
        return;
    }
    igt_place_before(pass, first_use_place(tile));
    LLVMReplaceAllUsesWith(reader, igt_lanes(pass, tile, index));
}

/* What still reads a tile's registers gets them in the lanes' layout. The calls and phis are then
 * dead, and left for LLVM to sweep. */
static void replace_registers(struct igt_pass *pass) {
    bool changed = true;
    for (struct igt_tile *t = pass->first_tile; t; t = t->next) {
        if (t->kind == IGT_PRODUCT) {
            drop_operands(t->call, LLVMGetNumArgOperands(t->call));
        }
        for (unsigned i = 0; t->kind == IGT_PHI && i < pass->registers; i++) {
            drop_operands(t->registers[i], LLVMCountIncoming(t->registers[i]));
        }
    }
    while (changed) {
        changed = false;
        for (struct igt_tile *t = pass->first_tile; t; t = t->next) {
            for (unsigned i = 0; t->kind == IGT_OPERATION && i < pass->registers; i++) {
                LLVMValueRef value = t->registers[i];
                if (LLVMGetFirstUse(value) || LLVMIsPoison(LLVMGetOperand(value, 0))) {
                    continue;
                }
                drop_operands(value, (unsigned)LLVMGetNumOperands(value));
                changed = true;
            }
        }
    }
    for (struct igt_tile *t = pass->first_tile; t; t = t->next) {
        for (unsigned i = 0; t->kind == IGT_PHI && i < pass->registers; i++) {
            give_lanes(pass, t, t->registers[i], i);
        }
        if (t->kind != IGT_LOADED && t->kind != IGT_PRODUCT) {
            continue;
        }
        igi_each_use(use, t->call) {
            give_lanes(pass, t, LLVMGetUser(use), LLVMGetIndices(LLVMGetUser(use))[0]);
        }
    }
}

static bool has_tiles(LLVMValueRef function) {
    igi_each_instruction(i, function) {
        if (is_multiply(i) || is_load(i) || is_store(i)) {
            return true;
        }
    }
    return false;
}

static bool lower_function(struct igt_pass *pass) {
    pass->last_tile = &pass->first_tile;
    pass->last_group = &pass->first_group;
    if (!find_all(pass)) {
        return false;
    }
    igt_keep_sums(pass);
    igt_find_square_phis(pass);
    igt_make_phis(pass);
    emit_calls(pass);
    erase_stores(pass->emit.function);
    replace_registers(pass);
    return true;
}

static void set_types(struct igv_emit *emit) {
    emit->i1 = LLVMInt1TypeInContext(emit->context);
    emit->i8 = LLVMInt8TypeInContext(emit->context);
    emit->i16 = LLVMInt16TypeInContext(emit->context);
    emit->i32 = LLVMInt32TypeInContext(emit->context);
    emit->i64 = LLVMInt64TypeInContext(emit->context);
    emit->f16 = LLVMHalfTypeInContext(emit->context);
    emit->f32 = LLVMFloatTypeInContext(emit->context);
    emit->ptr = LLVMPointerTypeInContext(emit->context, 0);
}

static ingot_status run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine,
                               const char *pipeline, struct ig_error *error) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure = LLVMRunPasses(module, pipeline, machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!failure) {
        return INGOT_OK;
    }
    char *message = LLVMGetErrorMessage(failure);
    ig_fail(error, INGOT_COMPILE_ERROR, "LLVM cannot run the passes %s: %s", pipeline, message);
    LLVMDisposeErrorMessage(message);
    return INGOT_COMPILE_ERROR;
}

ingot_status igv_lower_tiles(LLVMModuleRef module, LLVMTargetMachineRef machine,
                             const struct igv_target *target, bool *uses_units,
                             struct ig_error *error) {
    bool any = false, good = true;
    igi_each_function(f, module) {
        any = any || has_tiles(f);
    }
    if (!any) {
        return INGOT_OK;
    }
    ingot_status status =
        run_passes(module, machine, "function(sroa<preserve-cfg>,early-cse<memssa>)", error);
    if (status) {
        return status;
    }
    LLVMContextRef context = LLVMGetModuleContext(module);
    struct igv_request request = {.module = module, .target = target};
    igi_each_function(f, module) {
        if (!good || !has_tiles(f)) {
            continue;
        }
        struct igt_pass pass = {.emit = {.context = context,
                                         .module = module,
                                         .builder = LLVMCreateBuilderInContext(context),
                                         .layout = LLVMGetModuleDataLayout(module),
                                         .function = f,
                                         .request = &request,
                                         .lanes = target->lanes,
                                         .chunks = target->chunks},
                                .registers = 2 * target->chunks};
        set_types(&pass.emit);
        good = lower_function(&pass);
        *uses_units |= pass.uses_units;
        LLVMDisposeBuilder(pass.emit.builder);
        ig_arena_free(&pass.arena);
    }
    if (!good) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "memory ran out while matrix tiles were placed");
    }
    return run_passes(module, machine, "function(adce)", error);
}
