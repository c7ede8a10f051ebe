/*
 * Products of four SIMD-groups by one instruction (wgmma, cards of compute capability 9.0).
 *
 * Four SIMD-groups with consecutive indices that multiply 16 rows each by the same tiles in
 * threadgroup memory say what wgmma.mma_async does: SIMD-group w of the four has rows 16 w to
 * 16 w + 15 of A, in registers as mma.m16n8k16 has them or in threadgroup memory, and of the sums.
 * B, and A there, are described by where they lie: lines of 128 bytes, eight of which are one after
 * the other, whose pieces of 16 bytes are permuted as swizzle.c does it in such kernels.
 *
 * So this looks for long products (nv.mma.k16.*) of one block with the same A, whose tiles of B lie
 * like that. It is right where all threads of the threadgroup get to the block together, the
 * address of B is the same in all of them, and they are whole fours of SIMD-groups, which the
 * kernel has to promise (__ingot_full_threadgroups) and the driver checks (.reqntid). Others stay
 * as they are.
 *
 * The instruction is asynchronous. It is waited for before anything looks at its sums, or may write
 * what it reads: before barriers, and at the end of the block or, in loops whose sums only go
 * round, of the block's next iteration.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/nvptx/nvptx.h"

enum {
    SIMDGROUPS = 4,
    LANES = 32,
    MAX_TILES = 32, /* of B, side by side: 256 columns */
    LINE = 128,     /* bytes */
    TILE_LINE = 16, /* of a tile */
    LINE_TILES = LINE / TILE_LINE,
    LINES = 8 * LINE, /* of a tile's rows; their permutation repeats after as many */
    A_OPERANDS = 4,   /* of nv.mma.k16.* and nv.wgmma.* */
    SUMS = 4,         /* of a lane, for each tile of B */
    FIRST_SUM = 7,    /* of the operands of nv.wgmma.*: A, then the place of B in three */
    MAX_SUMS = 256,
    MAX_DISTANCE = 1 << 18,
    MAX_DEPTH = 24,
};

/* One long product. */
struct part {
    LLVMValueRef call;
    LLVMValueRef left[2 * A_OPERANDS]; /* elements */
    struct igp_tile right[2];          /* one above the other */
    bool deep;                         /* lines of B are along k */
    struct part *next;                 /* of the same group, in the order of the block */
};

/* Long products with the same A. */
struct group {
    struct part *first, *last;
    unsigned count;
    struct group *next;
};

/* An operand in threadgroup memory, as a descriptor says it. */
struct place {
    LLVMValueRef base;
    int64_t offset;
    int64_t far, near; /* from 64 columns to the next where lines are along them; from eight lines
                          to the next */
    bool deep;
    int64_t step; /* of A: from a SIMD-group to the next; 0: it is in registers */
};

static bool is_long_product(LLVMValueRef in) {
    return !strncmp(igp_callee(in), "nv.mma.k16.", 11);
}

bool igp_is_quad_product(LLVMValueRef in) {
    return !strncmp(igp_callee(in), "nv.wgmma.", 9);
}

bool igp_is_quad_order(LLVMValueRef in) {
    return !strncmp(igp_callee(in), "nv.quads.", 9);
}

static bool has_left_in_memory(LLVMValueRef product) {
    return LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(product, 0))) == LLVMPointerTypeKind;
}

bool igp_is_register_product(LLVMValueRef in) {
    return is_long_product(in) || (igp_is_quad_product(in) && !has_left_in_memory(in));
}

unsigned igp_quad_places(LLVMValueRef product, LLVMValueRef *places) {
    unsigned count = 0;
    if (has_left_in_memory(product)) {
        places[count++] = LLVMGetOperand(product, 0);
    }
    places[count++] = LLVMGetOperand(product, A_OPERANDS);
    return count;
}

static ingot_status no_memory(struct igp_kernel *k) {
    return ig_fail(k->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's tiles");
}

/* ---- finding them ---- */
static bool find_part(struct igp_kernel *k, LLVMValueRef call, struct part *part) {
    *part = (struct part){.call = call};
    for (unsigned i = 0; i < A_OPERANDS; i++) {
        if (!igp_find_elements(LLVMGetOperand(call, i), &part->left[2 * i])) {
            return false;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef word = LLVMGetOperand(call, A_OPERANDS + i);
        const bool turned = !strcmp(igp_callee(word), "nv.turn");
        struct igp_tile *tile = &part->right[i];
        if (!igp_find_tile(k, turned ? LLVMGetOperand(word, 0) : word, tile) ||
            tile->stride != LINE || tile->base != part->right[0].base ||
            LLVMGetInstructionParent(tile->load[0]) != LLVMGetInstructionParent(call) ||
            LLVMGetInstructionParent(tile->load[1]) != LLVMGetInstructionParent(call)) {
            return false;
        }
        const bool deep = turned == tile->transposed;
        if (i && deep != part->deep) {
            return false;
        }
        part->deep = deep;
    }
    return part->right[1].offset - part->right[0].offset == (part->deep ? TILE_LINE : LINES);
}

static bool belongs(const struct group *group, const struct part *part) {
    const struct part *first = group->first;
    return group->count < MAX_TILES && !memcmp(first->left, part->left, sizeof first->left) &&
           first->right[0].base == part->right[0].base && first->deep == part->deep &&
           LLVMGetCalledValue(first->call) == LLVMGetCalledValue(part->call) &&
           LLVMGetInstructionParent(first->call) == LLVMGetInstructionParent(part->call);
}

static bool add_part(struct igp_kernel *k, struct group **groups, const struct part *part) {
    struct part *copy = ig_arena_alloc(k->arena, sizeof *copy);
    struct group *group = *groups, **end = groups;
    while (group && !belongs(group, part)) {
        end = &group->next;
        group = group->next;
    }
    if (!group) {
        group = ig_arena_alloc(k->arena, sizeof *group);
        if (group) {
            *group = (struct group){NULL, NULL, 0, NULL};
            *end = group;
        }
    }
    if (!copy || !group) {
        return false;
    }
    *copy = *part;
    *(group->last ? &group->last->next : &group->first) = copy;
    group->last = copy;
    group->count++;
    return true;
}

/* ---- is it right? ---- */
static bool is_copy(LLVMValueRef in) {
    return !strncmp(igp_callee(in), "llvm.mem", 8);
}

/* Nothing from a load to a place in the same block writes memory. */
static bool is_quiet(LLVMValueRef load, LLVMValueRef place) {
    for (LLVMValueRef in = load; in && in != place; in = LLVMGetNextInstruction(in)) {
        if (is_copy(in)) {
            return false;
        }
    }
    return igp_no_writes(load, place);
}

/* Can an instruction be at the end of its block? Sums are put into vectors that go on to others. */
static bool can_sink(LLVMValueRef in) {
    bool good = LLVMIsAInsertElementInst(in) != NULL;
    for (LLVMUseRef use = LLVMGetFirstUse(in); good && use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        good = LLVMIsAPHINode(user) ||
               LLVMGetInstructionParent(user) != LLVMGetInstructionParent(in) || can_sink(user);
    }
    return good;
}

/* Only single sums are looked at, and none before `place` by anything that has to be there. */
static bool is_free_until(LLVMValueRef call, LLVMValueRef place) {
    for (LLVMUseRef use = LLVMGetFirstUse(call); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef sum = LLVMGetUser(use);
        if (!LLVMIsAExtractValueInst(sum)) {
            return false;
        }
        for (LLVMUseRef at = LLVMGetFirstUse(sum); at; at = LLVMGetNextUse(at)) {
            LLVMValueRef user = LLVMGetUser(at);
            if (!LLVMIsAPHINode(user) &&
                LLVMGetInstructionParent(user) == LLVMGetInstructionParent(place) &&
                igp_is_before(user, place) && !can_sink(user)) {
                return false;
            }
        }
    }
    return true;
}

/* What can be at the end of the block goes there, in order. */
static void sink_all(struct igp_kernel *k, LLVMBasicBlockRef block) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block), next;
    LLVMValueRef first_moved = NULL;
    for (LLVMValueRef in = LLVMGetFirstInstruction(block); in != end && in != first_moved;
         in = next) {
        next = LLVMGetNextInstruction(in);
        if (can_sink(in)) {
            LLVMInstructionRemoveFromParent(in);
            LLVMPositionBuilderBefore(k->builder, end);
            LLVMInsertIntoBuilder(k->builder, in);
            first_moved = first_moved ? first_moved : in;
        }
    }
}

static int by_place(const void *a, const void *b) {
    const struct part *const *x = a, *const *y = b;
    const int64_t one = (*x)->right[0].offset, other = (*y)->right[0].offset;
    return one < other ? -1 : one > other;
}

/* Places that are being looked at. */
struct seen {
    LLVMValueRef phis[MAX_DEPTH];
    unsigned count;
};

/* A place that begins at a multiple of 1024 bytes: the entry point makes sure of arguments. */
static bool is_aligned(LLVMValueRef pointer, struct seen *seen) {
    if (!strcmp(igp_callee(pointer), "__ingot_arg_threadgroup")) {
        return true;
    }
    for (unsigned i = 0; i < seen->count; i++) {
        if (seen->phis[i] == pointer) {
            return true;
        }
    }
    if (!LLVMIsAPHINode(pointer) || seen->count == MAX_DEPTH) {
        return false;
    }
    seen->phis[seen->count++] = pointer;
    bool good = true;
    for (unsigned i = 0; good && i < LLVMCountIncoming(pointer); i++) {
        good = is_aligned(LLVMGetIncomingValue(pointer, i), seen);
    }
    return good;
}

/* And is it the same in all threads? */
static bool is_common(const struct igp_flow *flow, LLVMValueRef pointer) {
    struct seen seen = {.count = 0};
    return is_aligned(pointer, &seen) && !igp_varies(flow, pointer);
}

/* Sorts the parts by their columns; false if their tiles do not lie as they have to. */
static bool find_right(const struct igp_flow *flow, struct part **parts, unsigned count,
                       struct place *right) {
    qsort(parts, count, sizeof *parts, by_place);
    const struct igp_tile *first = &parts[0]->right[0];
    *right = (struct place){
        .base = first->base, .offset = first->offset, .deep = parts[0]->deep, .near = LINES};
    if (right->deep) {
        right->near = count > 1 ? parts[1]->right[0].offset - first->offset : LINES;
        right->far = TILE_LINE;
    } else {
        right->far =
            count > LINE_TILES ? parts[LINE_TILES]->right[0].offset - first->offset : LINES;
    }
    for (unsigned i = 0; i < count; i++) {
        const int64_t at = right->deep ? i * right->near
                                       : i / LINE_TILES * right->far + i % LINE_TILES * TILE_LINE;
        if (parts[i]->right[0].offset - first->offset != at) {
            return false;
        }
    }
    return count % LINE_TILES == 0 && right->near > 0 && right->near < MAX_DISTANCE &&
           right->far > 0 && right->far < MAX_DISTANCE && right->near % LINES == 0 &&
           (right->deep ? right->offset % (2 * TILE_LINE)
                        : right->far % LINES + right->offset % LINES) == 0 &&
           right->offset >= 0 && is_common(flow, right->base);
}

/* Can the group be one product, where its last part is? */
static bool can_join(const struct igp_flow *flow, const struct group *group, struct part **parts) {
    LLVMValueRef place = group->last->call;
    unsigned count = 0;
    for (struct part *part = group->first; part; part = part->next) {
        parts[count++] = part;
        if (!is_free_until(part->call, place)) {
            return false;
        }
        for (unsigned i = 0; i < 4; i++) {
            if (!is_quiet(part->right[i / 2].load[i % 2], place)) {
                return false;
            }
        }
    }
    return !igp_is_divergent(flow, LLVMGetInstructionParent(place));
}

/* ---- A in threadgroup memory ---- */
/* A number that depends on the SIMD-group's index only, for one of them. */
static bool value_for(LLVMValueRef value, uint64_t simd, uint64_t *number, unsigned depth) {
    uint64_t a, b = 0;
    if (LLVMIsAConstantInt(value)) {
        *number = LLVMConstIntGetZExtValue(value);
        return true;
    }
    if (!strcmp(igp_callee(value), "__ingot_simdgroup_index_in_threadgroup")) {
        *number = simd;
        return true;
    }
    const bool is_cast = LLVMIsAZExtInst(value) != NULL;
    if (depth > MAX_DEPTH || (!is_cast && !LLVMIsABinaryOperator(value)) ||
        !value_for(LLVMGetOperand(value, 0), simd, &a, depth + 1) ||
        (!is_cast && !value_for(LLVMGetOperand(value, 1), simd, &b, depth + 1))) {
        return false;
    }
    const unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(value));
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMZExt:
        *number = a;
        return true;
    case LLVMAdd:
        *number = a + b;
        break;
    case LLVMMul:
        *number = a * b;
        break;
    case LLVMShl:
        *number = b < bits ? a << b : 0;
        break;
    case LLVMLShr:
        *number = b < bits ? a >> b : 0;
        break;
    case LLVMAnd:
        *number = a & b;
        break;
    case LLVMOr:
        *number = a | b;
        break;
    case LLVMUDiv:
        *number = b ? a / b : 0;
        break;
    case LLVMURem:
        *number = b ? a % b : 0;
        break;
    default:
        return false;
    }
    *number &= bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
    return true;
}

/* Bytes from the object that a pointer is reckoned from, which is given. */
static bool offset_for(struct igp_kernel *k, LLVMValueRef pointer, uint64_t simd, uint64_t *offset,
                       LLVMValueRef *object) {
    *offset = 0;
    while (igp_is_element(pointer)) {
        uint64_t number;
        if (LLVMGetNumOperands(pointer) != 2 ||
            !value_for(LLVMGetOperand(pointer, 1), simd, &number, 0)) {
            return false;
        }
        *offset += number * LLVMABISizeOfType(LLVMGetModuleDataLayout(k->module),
                                              LLVMGetGEPSourceElementType(pointer));
        pointer = LLVMGetOperand(pointer, 0);
    }
    *object = pointer;
    return true;
}

/* Are the four SIMD-groups' rows one after the other, in all fours? */
static bool is_stepped(struct igp_kernel *k, const struct place *left) {
    LLVMValueRef object;
    for (uint64_t simd = 0; simd < k->reflection->max_threads / LANES; simd++) {
        uint64_t offset, first;
        if (!offset_for(k, left->base, simd / SIMDGROUPS * SIMDGROUPS, &first, &object) ||
            !offset_for(k, left->base, simd, &offset, &object) ||
            offset - first != simd % SIMDGROUPS * (uint64_t)left->step ||
            (first + (uint64_t)left->offset) % (left->deep ? 2 * TILE_LINE : LINES)) {
            return false;
        }
    }
    return true;
}

/* Finds A in threadgroup memory if all of a product is loaded from there, as it has to lie. */
static bool find_left(struct igp_kernel *k, const struct igp_flow *flow, const struct part *part,
                      struct place *left) {
    struct igp_tile tiles[A_OPERANDS];
    for (unsigned i = 0; i < A_OPERANDS; i++) {
        if (!igp_find_tile(k, LLVMGetOperand(part->call, i), &tiles[i]) ||
            tiles[i].stride != LINE || tiles[i].base != tiles[0].base ||
            tiles[i].transposed != tiles[0].transposed) {
            return false;
        }
        for (unsigned e = 0; e < 2; e++) {
            if (LLVMGetInstructionParent(tiles[i].load[e]) !=
                    LLVMGetInstructionParent(part->call) ||
                !is_quiet(tiles[i].load[e], part->call)) {
                return false;
            }
        }
    }
    const int64_t down = tiles[1].offset - tiles[0].offset,
                  along = tiles[2].offset - tiles[0].offset;
    *left = (struct place){.base = tiles[0].base,
                           .offset = tiles[0].offset,
                           .far = LINES,
                           .near = LINES,
                           .deep = !tiles[0].transposed};
    left->step = left->deep ? 2 * LINES : 2 * TILE_LINE;
    LLVMValueRef object;
    uint64_t offset;
    return tiles[3].offset - tiles[0].offset == down + along &&
           down == (left->deep ? LINES : TILE_LINE) && along == (left->deep ? TILE_LINE : LINES) &&
           is_stepped(k, left) && offset_for(k, left->base, 0, &offset, &object) &&
           is_common(flow, object);
}

/* ---- code ---- */
/* A call of any number of operands that gives `sums` floats. */
static LLVMValueRef call_for_sums(struct igp_kernel *k, const char *name, LLVMValueRef *args,
                                  unsigned count, unsigned sums) {
    LLVMTypeRef types[FIRST_SUM + MAX_SUMS], floats[MAX_SUMS];
    for (unsigned i = 0; i < count; i++) {
        types[i] = LLVMTypeOf(args[i]);
    }
    for (unsigned i = 0; i < sums; i++) {
        floats[i] = LLVMFloatTypeInContext(k->context);
    }
    LLVMTypeRef result = sums ? LLVMStructTypeInContext(k->context, floats, sums, false)
                              : LLVMVoidTypeInContext(k->context);
    LLVMTypeRef type = LLVMFunctionType(result, types, count, false);
    return LLVMBuildCall2(k->builder, type, igp_declare(k, name, type, false), args, count, "");
}

/* What a descriptor says beside the address: distances, and that pieces are permuted. */
static LLVMValueRef shape_of(struct igp_kernel *k, const struct place *place) {
    return LLVMConstInt(LLVMInt64TypeInContext(k->context),
                        (uint64_t)(place->far / TILE_LINE) << 16 |
                            (uint64_t)(place->near / TILE_LINE) << 32 | UINT64_C(1) << 62,
                        false);
}

static ingot_status build_product(struct igp_kernel *k, struct part *const *parts, unsigned count,
                                  const struct place *left, const struct place *right,
                                  LLVMValueRef place) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(k->context);
    LLVMValueRef args[FIRST_SUM + MAX_TILES * SUMS];
    const char *name =
        ig_arena_printf(k->arena, "nv.wgmma.%s.%s.%s.%u", strrchr(igp_callee(place), '.') + 1,
                        left->step == 0 ? "registers"
                        : left->deep    ? "k"
                                        : "m",
                        right->deep ? "k" : "n", count);
    if (!name) {
        return no_memory(k);
    }
    for (unsigned i = 0; i < A_OPERANDS; i++) {
        args[i] = LLVMGetOperand(place, i);
    }
    if (left->step) {
        args[0] = left->base;
        args[1] = LLVMConstInt(i32, (uint64_t)left->offset, true);
        args[2] = LLVMConstInt(i32, (uint64_t)left->step, false);
        args[3] = shape_of(k, left);
    }
    args[4] = right->base;
    args[5] = LLVMConstInt(i32, (uint64_t)right->offset, true);
    args[6] = shape_of(k, right);
    for (unsigned i = 0; i < count * SUMS; i++) {
        args[FIRST_SUM + i] = LLVMGetOperand(parts[i / SUMS]->call, 6 + i % SUMS);
    }
    LLVMPositionBuilderBefore(k->builder, place);
    LLVMValueRef all = call_for_sums(k, name, args, FIRST_SUM + count * SUMS, count * SUMS);
    LLVMValueRef sums[MAX_TILES * SUMS];
    for (unsigned i = 0; i < count * SUMS; i++) {
        sums[i] = LLVMBuildExtractValue(k->builder, all, i, "");
    }
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef call = parts[i]->call;
        for (LLVMUseRef use = LLVMGetFirstUse(call); use; use = LLVMGetFirstUse(call)) {
            LLVMValueRef sum = LLVMGetUser(use);
            igp_replace(sum, sums[i * SUMS + LLVMGetIndices(sum)[0]]);
        }
        LLVMInstructionEraseFromParent(call);
    }
    k->has_quads = true;
    return INGOT_OK;
}

/* ---- waiting ---- */
/* Products of a block that are under way together. */
struct run {
    LLVMValueRef calls[2 * MAX_TILES];
    unsigned count;
    LLVMValueRef fence; /* the last one before a product */
};

static bool is_of_run(const struct run *run, LLVMValueRef value) {
    for (unsigned i = run->count; i-- > 0;) {
        if (run->calls[i] == value) {
            return true;
        }
    }
    return false;
}

static bool is_sum_of_run(const struct run *run, LLVMValueRef value) {
    return LLVMIsAExtractValueInst(value) && is_of_run(run, LLVMGetOperand(value, 0));
}

/* Has an instruction to wait for the products: does it look at their sums, wait for others, or
 * perhaps write what they read? */
static bool ends_run(const struct run *run, LLVMValueRef in) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(in);
    if (igp_is_wait(in) || LLVMIsATerminatorInst(in) || opcode == LLVMAtomicRMW ||
        opcode == LLVMAtomicCmpXchg || opcode == LLVMFence) {
        return true;
    }
    if (opcode == LLVMCall && !igp_has_no_memory(in) && !igp_is_quad_product(in) && !is_copy(in) &&
        strncmp(igp_callee(in), "__ingot_simdgroup_load_", 23)) {
        return true;
    }
    if (opcode == LLVMStore || is_copy(in)) {
        LLVMValueRef to = LLVMGetOperand(in, opcode == LLVMStore);
        for (unsigned i = 0; i < run->count; i++) {
            LLVMValueRef places[2];
            unsigned count = igp_quad_places(run->calls[i], places);
            while (count-- > 0) {
                if (!igp_other_objects(to, places[count])) {
                    return true;
                }
            }
        }
    }
    const int count =
        igp_is_quad_product(in) ? (int)A_OPERANDS : LLVMGetNumOperands(in); /* sums go on */
    for (int i = 0; i < count && !LLVMIsAExtractValueInst(in); i++) {
        if (is_sum_of_run(run, LLVMGetOperand(in, (unsigned)i))) {
            return true;
        }
    }
    return false;
}

static bool is_used_outside(const struct run *run, LLVMValueRef sum) {
    for (LLVMUseRef use = LLVMGetFirstUse(sum); use; use = LLVMGetNextUse(use)) {
        if (!is_of_run(run, LLVMGetUser(use))) {
            return true;
        }
    }
    return false;
}

/* Others than the run's products take `now` for `sum`. */
static void replace_outside(const struct run *run, LLVMValueRef wait, LLVMValueRef sum,
                            LLVMValueRef now) {
    LLVMUseRef next;
    for (LLVMUseRef use = LLVMGetFirstUse(sum); use; use = next) {
        LLVMValueRef user = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (user == wait || is_of_run(run, user)) {
            continue;
        }
        for (int i = 0; i < LLVMGetNumOperands(user); i++) {
            if (LLVMGetOperand(user, (unsigned)i) == sum) {
                LLVMSetOperand(user, (unsigned)i, now);
                next = LLVMGetFirstUse(sum); /* uses have changed */
            }
        }
    }
}

/* Sums that others want go through the call that waits. */
static ingot_status build_wait(struct igp_kernel *k, struct run *run, LLVMValueRef place) {
    LLVMValueRef sums[MAX_SUMS];
    unsigned count = 0;
    for (unsigned i = 0; i < run->count; i++) {
        for (LLVMUseRef use = LLVMGetFirstUse(run->calls[i]); use; use = LLVMGetNextUse(use)) {
            LLVMValueRef sum = LLVMGetUser(use);
            if (is_used_outside(run, sum) && count < MAX_SUMS) {
                sums[count++] = sum;
            }
        }
    }
    const char *name = ig_arena_printf(k->arena, "nv.quads.wait.%u", count);
    if (!name) {
        return no_memory(k);
    }
    LLVMPositionBuilderBefore(k->builder, place);
    LLVMValueRef wait = call_for_sums(k, name, sums, count, count);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef now = LLVMBuildExtractValue(k->builder, wait, i, "");
        replace_outside(run, wait, sums[i], now);
    }
    run->count = 0;
    return INGOT_OK;
}

/* ---- waiting one iteration later ---- */
/* Do sums only go on to other products, perhaps of the next iteration? */
static bool goes_to_products(LLVMValueRef value, struct seen *seen) {
    for (unsigned i = 0; i < seen->count; i++) {
        if (seen->phis[i] == value) {
            return true;
        }
    }
    if (LLVMIsAPHINode(value)) {
        if (seen->count == MAX_DEPTH) {
            return false;
        }
        seen->phis[seen->count++] = value;
    }
    for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        const bool passes_on = LLVMIsAPHINode(user) || LLVMIsAInsertElementInst(user) ||
                               LLVMIsAExtractElementInst(user);
        if (!igp_is_quad_product(user) && !(passes_on && goes_to_products(user, seen))) {
            return false;
        }
    }
    return true;
}

/* Where an instruction writes threadgroup memory; NULL if it does not. */
static LLVMValueRef written(LLVMValueRef in) {
    LLVMValueRef to = LLVMIsAStoreInst(in) ? LLVMGetOperand(in, 1)
                      : is_copy(in)        ? LLVMGetOperand(in, 0)
                                           : NULL;
    return to && LLVMGetPointerAddressSpace(LLVMTypeOf(to)) == INGOT_SPACE_THREADGROUP ? to : NULL;
}

/* Is the first of a loop's accesses behind a barrier of the threadgroup? */
static bool begins_with_barrier(LLVMBasicBlockRef block) {
    enum { SIMDGROUP = 1 };
    for (LLVMValueRef in = LLVMGetFirstInstruction(block); in; in = LLVMGetNextInstruction(in)) {
        if (igp_is_wait(in) && LLVMIsACallInst(in)) {
            LLVMValueRef scope = LLVMGetOperand(in, 0);
            return LLVMIsAConstantInt(scope) && LLVMConstIntGetZExtValue(scope) != SIMDGROUP;
        }
        if (written(in) || (LLVMIsACallInst(in) && !igp_has_no_memory(in))) {
            return false;
        }
    }
    return false;
}

/* Is what is written there neither in this iteration of a loop of one block nor in the next what a
 * product of this one reads at `place`? */
static bool stays_apart(LLVMValueRef to, LLVMValueRef place, LLVMBasicBlockRef block) {
    while (igp_is_element(to)) {
        to = LLVMGetOperand(to, 0);
    }
    if (!igp_other_objects(to, place)) {
        return false;
    }
    if (!LLVMIsAInstruction(to) || LLVMGetInstructionParent(to) != block) {
        return true; /* always the same object */
    }
    for (unsigned i = 0; LLVMIsAPHINode(to) && i < LLVMCountIncoming(to); i++) {
        if (LLVMGetIncomingBlock(to, i) == block) {
            return igp_other_objects(LLVMGetIncomingValue(to, i), place);
        }
    }
    return false;
}

/* A loop of one block, with a barrier first, whose sums only go round: products may be under way
 * until those of the next iteration have been begun. All threads have waited for them then before
 * the barrier of the iteration after that, so that until then nobody may write what they read. */
static bool can_delay(const struct run *run, LLVMBasicBlockRef block) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    bool loops = false;
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++) {
        loops |= LLVMGetSuccessor(end, i) == block;
    }
    if (!loops || !begins_with_barrier(block)) {
        return false;
    }
    for (LLVMValueRef in = LLVMGetFirstInstruction(block); in; in = LLVMGetNextInstruction(in)) {
        LLVMValueRef to = written(in), places[2];
        for (unsigned i = 0; i < run->count; i++) {
            unsigned count = igp_quad_places(run->calls[i], places);
            while (to && count-- > 0) {
                if (!stays_apart(to, places[count], block)) {
                    return false;
                }
            }
        }
        if (igp_is_quad_order(in) && strcmp(igp_callee(in), "nv.quads.fence")) {
            return false; /* some were waited for already */
        }
    }
    for (unsigned i = 0; i < run->count; i++) {
        for (LLVMUseRef use = LLVMGetFirstUse(run->calls[i]); use; use = LLVMGetNextUse(use)) {
            struct seen seen = {.count = 0};
            if (!goes_to_products(LLVMGetUser(use), &seen)) {
                return false;
            }
        }
    }
    return true;
}

/* A block on the way from one to another, which has phis. */
static LLVMBasicBlockRef split_way(struct igp_kernel *k, LLVMBasicBlockRef from,
                                   LLVMBasicBlockRef to) {
    LLVMBasicBlockRef between = LLVMInsertBasicBlockInContext(k->context, to, "");
    LLVMPositionBuilderAtEnd(k->builder, between);
    LLVMBuildBr(k->builder, to);
    for (LLVMValueRef old = LLVMGetFirstInstruction(to), next; LLVMIsAPHINode(old); old = next) {
        next = LLVMGetNextInstruction(old);
        LLVMPositionBuilderBefore(k->builder, old);
        LLVMValueRef phi = LLVMBuildPhi(k->builder, LLVMTypeOf(old), "");
        for (unsigned i = 0; i < LLVMCountIncoming(old); i++) {
            LLVMValueRef value = LLVMGetIncomingValue(old, i);
            LLVMBasicBlockRef block = LLVMGetIncomingBlock(old, i);
            LLVMAddIncoming(phi, &value, block == from ? &between : &block, 1);
        }
        igp_replace(old, phi);
    }
    return between;
}

/* Waits for what the iteration before has begun and, on the ways out of the loop, for all: sums
 * meet others there only when they are done. */
static void build_delayed_wait(struct igp_kernel *k, LLVMBasicBlockRef block) {
    LLVMTypeRef nothing = LLVMVoidTypeInContext(k->context);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    LLVMPositionBuilderBefore(k->builder, end);
    igp_call(k, "nv.quads.wait_before", nothing, NULL, 0, false);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++) {
        LLVMBasicBlockRef next = LLVMGetSuccessor(end, i);
        if (next != block) {
            LLVMBasicBlockRef between = split_way(k, block, next);
            LLVMSetSuccessor(end, i, between);
            LLVMPositionBuilderBefore(k->builder, LLVMGetFirstInstruction(between));
            igp_call(k, "nv.quads.wait_all", nothing, NULL, 0, false);
        }
    }
}

/* Registers of A that were written since the last fence need another one. */
static bool needs_fence(const struct run *run, LLVMValueRef product) {
    for (unsigned i = 0; i < A_OPERANDS && run->count && !has_left_in_memory(product); i++) {
        LLVMValueRef elements[2];
        if (!igp_find_elements(LLVMGetOperand(product, i), elements) ||
            !igp_is_before(elements[0], run->fence) || !igp_is_before(elements[1], run->fence)) {
            return true;
        }
    }
    return !run->count;
}

static ingot_status order_block(struct igp_kernel *k, LLVMBasicBlockRef block) {
    struct run run = {.count = 0};
    LLVMTypeRef nothing = LLVMVoidTypeInContext(k->context);
    ingot_status status = INGOT_OK;
    for (LLVMValueRef in = LLVMGetFirstInstruction(block); in && !status;
         in = LLVMGetNextInstruction(in)) {
        if (run.count && (LLVMIsATerminatorInst(in) || can_sink(in)) && can_delay(&run, block)) {
            build_delayed_wait(k, block);
            run.count = 0;
        } else if (run.count && ends_run(&run, in)) {
            status = build_wait(k, &run, in);
        }
        if (!igp_is_quad_product(in)) {
            continue;
        }
        if (!status && run.count == sizeof run.calls / sizeof *run.calls) {
            status = build_wait(k, &run, in);
        }
        if (needs_fence(&run, in)) {
            LLVMPositionBuilderBefore(k->builder, in);
            run.fence = igp_call(k, "nv.quads.fence", nothing, NULL, 0, false);
        }
        run.calls[run.count++] = in;
    }
    return status;
}

static ingot_status join(struct igp_kernel *k, const struct igp_flow *flow, void *context) {
    struct part *parts[MAX_TILES], part;
    LLVMValueRef *calls = igp_collect(k, is_long_product);
    struct group *groups = NULL;
    (void)context;
    if (!calls) {
        return no_memory(k);
    }
    for (size_t i = 0; calls[i]; i++) {
        if (find_part(k, calls[i], &part) && !add_part(k, &groups, &part)) {
            return no_memory(k);
        }
    }
    ingot_status status = INGOT_OK;
    for (struct group *group = groups; group && !status; group = group->next) {
        struct place left, right;
        if (!can_join(flow, group, parts) || !find_right(flow, parts, group->count, &right)) {
            continue;
        }
        if (!find_left(k, flow, group->last, &left)) {
            left.step = 0;
        }
        sink_all(k, LLVMGetInstructionParent(group->last->call));
        status = build_product(k, parts, group->count, &left, &right, group->last->call);
    }
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(k->body); b && !status;
         b = LLVMGetNextBasicBlock(b)) {
        status = order_block(k, b);
    }
    return status;
}

ingot_status igp_join_simdgroups(struct igp_kernel *k) {
    const struct igc_reflection *r = k->reflection;
    return k->quads && r->full_threadgroups && r->max_threads % (SIMDGROUPS * LANES) == 0 &&
                   igp_can_swizzle(k)
               ? igp_with_flow_among(k, IGP_AMONG_THREADS, join, NULL)
               : INGOT_OK;
}

/* ---- the functions, as LLVM IR ---- */
#define COMMIT "wgmma.commit_group.sync.aligned;\\0A\\09"
#define WAIT   COMMIT "wgmma.wait_group.sync.aligned 0;"

/* Those without operands and results. */
static const struct {
    const char *name, *code;
} orders[] = {{"nv.quads.fence", "wgmma.fence.sync.aligned;"},
              {"nv.quads.wait.0", WAIT}, /* nobody wants a sum */
              {"nv.quads.wait_before", COMMIT "wgmma.wait_group.sync.aligned 1;"},
              {"nv.quads.wait_all", "wgmma.wait_group.sync.aligned 0;"}};

static void write_list(struct ig_text *out, unsigned count, const char *item) {
    for (unsigned i = 0; i < count; i++) {
        ig_text_puts(out, i ? ", " : "");
        ig_text_puts(out, item);
    }
}

static void write_numbers(struct ig_text *out, unsigned count, const char *before,
                          const char *between) {
    for (unsigned i = 0; i < count; i++) {
        ig_text_printf(out, "%s%s%u", i ? between : "", before, i);
    }
}

/* `count` floats that are operands and results. */
static void write_constraints(struct ig_text *out, unsigned count, const char *others) {
    for (unsigned i = 0; i < count; i++) {
        ig_text_puts(out, "=f,");
    }
    ig_text_puts(out, others);
    for (unsigned i = 0; i < count; i++) {
        ig_text_printf(out, "%u,", i);
    }
    ig_text_puts(out, "~{memory}");
}

static void write_wait(const char *name, struct ig_text *out) {
    const unsigned count = (unsigned)strtoul(strrchr(name, '.') + 1, NULL, 10);
    ig_text_puts(out, "define internal {");
    write_list(out, count, "float");
    ig_text_printf(out, "} @%s(", name);
    write_numbers(out, count, "float %s", ", ");
    ig_text_puts(out, ") convergent alwaysinline nounwind {\n  %r = call {");
    write_list(out, count, "float");
    ig_text_puts(out, "} asm sideeffect \"" WAIT "\", \"");
    write_constraints(out, count, "");
    ig_text_puts(out, "\"(");
    write_numbers(out, count, "float %s", ", ");
    ig_text_puts(out, ") convergent\n  ret {");
    write_list(out, count, "float");
    ig_text_puts(out, "} %r\n}\n");
}

/* The descriptor of what is at %NAME and `at` bytes behind it. */
static void write_descriptor(struct ig_text *out, const char *name) {
    ig_text_printf(out,
                   "  %%%s.start = ptrtoint ptr addrspace(3) %%%s to i32\n"
                   "  %%%s.place = add i32 %%%s.start, %%%s.at\n"
                   "  %%%s.line = lshr i32 %%%s.place, 4\n"
                   "  %%%s.low = and i32 %%%s.line, 16383\n"
                   "  %%%s.wide = zext i32 %%%s.low to i64\n"
                   "  %%%s.all = or i64 %%%s.wide, %%%s.shape\n",
                   name, name, name, name, name, name, name, name, name, name, name, name, name,
                   name);
}

/* nv.wgmma.TYPE.LEFT.RIGHT.TILES; LEFT: "registers", or what lines of A are along, "k" or "m";
 * RIGHT: the same of B, "k" or "n". */
static void write_product(const char *name, struct ig_text *out) {
    const char *type = strstr(name, ".f16.") ? "f16" : "bf16";
    const unsigned tiles = (unsigned)strtoul(strrchr(name, '.') + 1, NULL, 10);
    const unsigned count = tiles * SUMS;
    const bool registers = strstr(name, ".registers.") != NULL;
    ig_text_puts(out, "define internal {");
    write_list(out, count, "float");
    ig_text_printf(out, "} @%s(%s, ptr addrspace(3) %%b, i32 %%b.at, i64 %%b.shape, ", name,
                   registers ? "i32 %a0, i32 %a1, i32 %a2, i32 %a3"
                             : "ptr addrspace(3) %a.own, i32 %a.at, i32 %step, i64 %a.shape");
    write_numbers(out, count, "float %s", ", ");
    ig_text_puts(out, ") convergent alwaysinline nounwind {\n");
    write_descriptor(out, "b");
    if (!registers) {
        ig_text_puts(out, "  %t = call i32 @nv.t()\n"
                          "  %simd = lshr i32 %t, 5\n"
                          "  %which = and i32 %simd, 3\n"
                          "  %before = mul i32 %which, %step\n"
                          "  %back = sub i32 0, %before\n"
                          "  %a = getelementptr i8, ptr addrspace(3) %a.own, i32 %back\n");
        write_descriptor(out, "a");
    }
    ig_text_puts(out, "  %r = call {");
    write_list(out, count, "float");
    ig_text_printf(out,
                   "} asm sideeffect \"{ .reg .pred p; setp.ne.b32 p, 1, 0; "
                   "wgmma.mma_async.sync.aligned.m64n%uk16.f32.%s.%s {",
                   8 * tiles, type, type);
    write_numbers(out, count, "$", ", ");
    const int right_turned = strstr(name, ".n.") != NULL;
    if (registers) {
        ig_text_printf(out, "}, {$%u, $%u, $%u, $%u}, $%u, p, 1, 1, %d; }\", \"", count, count + 1,
                       count + 2, count + 3, count + 4, right_turned);
    } else {
        ig_text_printf(out, "}, $%u, $%u, p, 1, 1, %d, %d; }\", \"", count, count + 1,
                       strstr(name, ".m.") != NULL, right_turned);
    }
    write_constraints(out, count, registers ? "r,r,r,r,l," : "l,l,");
    ig_text_printf(out, "\"(%s, i64 %%b.all, ",
                   registers ? "i32 %a0, i32 %a1, i32 %a2, i32 %a3" : "i64 %a.all");
    write_numbers(out, count, "float %s", ", ");
    ig_text_puts(out, ") convergent\n  ret {");
    write_list(out, count, "float");
    ig_text_puts(out, "} %r\n}\n");
}

void igp_write_quad_function(const char *name, struct ig_text *out) {
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (!strcmp(name, orders[i].name)) {
            ig_text_printf(out,
                           "define internal void @%s() convergent alwaysinline nounwind {\n"
                           "  call void asm sideeffect \"%s\", \"~{memory}\"() convergent\n"
                           "  ret void\n}\n",
                           name, orders[i].code);
            return;
        }
    }
    if (!strncmp(name, "nv.quads.wait.", 14)) {
        write_wait(name, out);
    } else {
        write_product(name, out);
    }
}
