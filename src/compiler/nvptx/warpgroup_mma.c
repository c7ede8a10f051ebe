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
 * kernel has to promise (__ingot_full_threadgroups) and the driver checks (.reqntid), or B is in
 * panels, which a kernel uses only where it has found that out. Others stay as they are.
 *
 * The instruction is asynchronous. It is waited for before anything looks at its sums, or may write
 * what it reads: before barriers, and at the end of the block or, in loops whose sums only go
 * round, of the block's next iteration.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/warpgroup_mma.h"

enum {
    SIMDGROUPS = 4,
    LANES = 32,
    MAX_TILES = 32, /* of B, side by side: 256 columns */
    LINE = 128,     /* bytes */
    TILE_LINE = 16, /* of a tile */
    LINE_TILES = LINE / TILE_LINE,
    LINES = 8 * LINE, /* of a tile's rows; their permutation repeats after as many */
    MAX_DISTANCE = 1 << 18,
    MIN_TILES = 4, /* fewer are not worth it */
    MAX_DEPTH = 24,
    MAX_BLOCKS = 256,
};

/* One long product. */
struct part {
    LLVMValueRef call;
    LLVMValueRef left[2 * IGP_WARPGROUP_LEFT]; /* elements */
    struct igp_tile right[2];                  /* one above the other */
    bool deep;                                 /* lines of B are along k */
    struct part *next;                         /* of the same group, in the order of the block */
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
    int64_t step;     /* of A: from a SIMD-group to the next; 0: it is in registers */
    uint32_t threads; /* that the threadgroup has exactly; of B only */
};

static bool is_long_product(LLVMValueRef in) {
    return igi_is_call_of(in, IGI_nv_mma) && igi_name_of(in).words & IGI_MMA_K16;
}

bool igp_is_warpgroup_product(LLVMValueRef in) {
    return igi_is_call_of(in, IGI_nv_wgmma);
}

bool igp_is_warpgroup_order(LLVMValueRef in) {
    return igi_family_of(in) == IGI_FAMILY_NV_WGMMA_ORDER;
}

bool igp_has_left_in_memory(LLVMValueRef product) {
    return LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(product, 0))) == LLVMPointerTypeKind;
}

bool igp_is_register_product(LLVMValueRef in) {
    return is_long_product(in) || (igp_is_warpgroup_product(in) && !igp_has_left_in_memory(in));
}

unsigned igp_warpgroup_product_places(LLVMValueRef product, LLVMValueRef *places) {
    unsigned count = 0;
    if (igp_has_left_in_memory(product)) {
        places[count++] = LLVMGetOperand(product, 0);
    }
    places[count++] = LLVMGetOperand(product, IGP_WARPGROUP_LEFT);
    return count;
}

static ingot_status no_memory(struct igc_kernel *k) {
    return ig_fail(k->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's tiles");
}

/* ---- finding them ---- */
static bool find_part(struct igc_kernel *k, LLVMValueRef call, struct part *part) {
    *part = (struct part){.call = call};
    for (unsigned i = 0; i < IGP_WARPGROUP_LEFT; i++) {
        if (!igp_find_elements(LLVMGetOperand(call, i), &part->left[2 * i])) {
            return false;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef word = LLVMGetOperand(call, IGP_WARPGROUP_LEFT + i);
        const bool turned = igi_is_call_of(word, IGI_nv_turn);
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

static bool add_part(struct igc_kernel *k, struct group **groups, const struct part *part) {
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
bool igp_is_copy(LLVMValueRef in) {
    return igi_intrinsic_flags_of(in) & IGI_I_COPIES;
}

/* Nothing from a load to a place in the same block writes memory. */
static bool is_quiet(LLVMValueRef load, LLVMValueRef place) {
    igi_each_before(in, load, place) {
        if (igp_is_copy(in)) {
            return false;
        }
    }
    return igp_no_writes(load, place);
}

bool igp_can_sink(LLVMValueRef in) {
    if (!LLVMIsAInsertElementInst(in)) {
        return false;
    }
    igi_each_use(use, in) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsAPHINode(user) &&
            LLVMGetInstructionParent(user) == LLVMGetInstructionParent(in) && !igp_can_sink(user)) {
            return false;
        }
    }
    return true;
}

/* Only single sums are looked at, and none before `place` by anything that has to be there. */
static bool is_free_until(LLVMValueRef call, LLVMValueRef place) {
    igi_each_use(use, call) {
        LLVMValueRef sum = LLVMGetUser(use);
        if (!LLVMIsAExtractValueInst(sum)) {
            return false;
        }
        igi_each_use(at, sum) {
            LLVMValueRef user = LLVMGetUser(at);
            if (!LLVMIsAPHINode(user) &&
                LLVMGetInstructionParent(user) == LLVMGetInstructionParent(place) &&
                igp_is_before(user, place) && !igp_can_sink(user)) {
                return false;
            }
        }
    }
    return true;
}

/* What can be at the end of the block goes there, in order. */
static void sink_all(struct igc_kernel *k, LLVMBasicBlockRef block) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    LLVMValueRef first_moved = NULL;
    igi_each_in_block_safe(in, block) {
        if (in == end || in == first_moved) {
            break;
        }
        if (igp_can_sink(in)) {
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

/* Places that are being looked at, and how many threads a threadgroup has that gets there. */
struct seen {
    LLVMValueRef phis[MAX_DEPTH];
    unsigned count;
    uint32_t threads;
};

/* A panel is asked for with the number of threads; of arguments the kernel has to promise it. */
static uint32_t threads_at(const struct igc_kernel *k, LLVMValueRef object) {
    const struct igc_reflection *r = k->reflection;
    if (igi_is_call_of(object, IGI_panel) && LLVMIsAConstantInt(LLVMGetOperand(object, 0)) &&
        LLVMIsAConstantInt(LLVMGetOperand(object, 1))) {
        return LLVMConstIntGetZExtValue(LLVMGetOperand(object, 0)) % LINES
                   ? 0
                   : (uint32_t)LLVMConstIntGetZExtValue(LLVMGetOperand(object, 1));
    }
    return igi_is_call_of(object, IGI_arg_threadgroup) && r->full_threadgroups ? r->max_threads : 0;
}

/* A place that begins at a multiple of 1024 bytes: the entry point makes sure of arguments. */
static bool is_aligned(struct igc_kernel *k, LLVMValueRef pointer, struct seen *seen) {
    int64_t offset;
    pointer = igp_base_of(k, pointer, &offset);
    if (offset % LINES) {
        return false;
    }
    const uint32_t threads = threads_at(k, pointer);
    if (threads && (!seen->threads || seen->threads == threads)) {
        seen->threads = threads;
        return threads % (SIMDGROUPS * LANES) == 0;
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
        good = is_aligned(k, LLVMGetIncomingValue(pointer, i), seen);
    }
    return good;
}

/* And is it the same in all threads? */
static bool is_common(struct igc_kernel *k, const struct igv_analysis *flow, LLVMValueRef pointer,
                      uint32_t *threads) {
    struct seen seen = {.count = 0};
    const bool good = is_aligned(k, pointer, &seen) && !igv_varies(flow, pointer);
    *threads = seen.threads;
    return good;
}

/* May a step of k begin there, in bytes from a multiple of 1024? With the first line of eight, and
 * on lines along k with any two tiles of the line. */
static bool is_start(bool deep, uint64_t offset) {
    return offset % LINES < (deep ? LINE : 1) && offset % (2 * TILE_LINE) == 0;
}

/* Sorts the parts by their columns; false if their tiles do not lie as they have to. */
static bool find_right(struct igc_kernel *k, const struct igv_analysis *flow, struct part **parts,
                       unsigned count, struct place *right) {
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
    return count >= MIN_TILES && right->near > 0 && right->near < MAX_DISTANCE && right->far > 0 &&
           right->far < MAX_DISTANCE && right->near % LINES == 0 &&
           (right->deep || right->far % LINES == 0) && right->offset >= 0 &&
           is_start(right->deep, (uint64_t)right->offset) &&
           is_common(k, flow, right->base, &right->threads);
}

/* A walk from a product back to barriers. */
struct walk {
    LLVMBasicBlockRef seen[MAX_BLOCKS];
    bool open[MAX_BLOCKS]; /* those on the way that is being walked */
    unsigned count;
    LLVMValueRef places[2]; /* that the product reads */
    unsigned place_count;
    bool wrote, cycled; /* to other places; it has gone in a circle */
};

static bool walk_back(struct walk *walk, LLVMBasicBlockRef block, LLVMValueRef in);

/* Goes on to the blocks before one. */
static bool walk_on(struct walk *walk, LLVMBasicBlockRef block) {
    bool good = block != LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(block));
    igi_each_use(use, LLVMBasicBlockAsValue(block)) {
        LLVMValueRef end = LLVMGetUser(use);
        if (!good || !LLVMIsATerminatorInst(end)) {
            continue; /* a phi names the block it comes from */
        }
        LLVMBasicBlockRef before = LLVMGetInstructionParent(end);
        bool known = false;
        for (unsigned i = 0; i < walk->count; i++) {
            known |= walk->seen[i] == before;
            walk->cycled |= walk->seen[i] == before && walk->open[i];
        }
        good = known || walk_back(walk, before, end);
    }
    return good;
}

static bool walk_back(struct walk *walk, LLVMBasicBlockRef block, LLVMValueRef in) {
    if (walk->count == MAX_BLOCKS) {
        return false;
    }
    const unsigned own = walk->count++;
    walk->seen[own] = block;
    walk->open[own] = true;
    for (in = LLVMGetPreviousInstruction(in); in; in = LLVMGetPreviousInstruction(in)) {
        if (igp_is_group_barrier(in)) {
            walk->open[own] = false;
            return true;
        }
        LLVMValueRef to = igp_written(in);
        for (unsigned i = 0; to && i < walk->place_count; i++) {
            walk->wrote = true;
            if (!igp_other_objects(to, walk->places[i])) {
                return false;
            }
        }
        if (igp_may_write(in)) {
            return false;
        }
    }
    const bool good = walk_on(walk, block);
    walk->open[own] = false;
    return good;
}

/* Is there a barrier of the threadgroup before a product on all ways to it, and is nothing of what
 * it reads written after that? It was written before the barrier then, at which it is made visible
 * to the matrix units. */
static bool is_behind_barrier(const struct place *left, const struct place *right,
                              LLVMValueRef product) {
    struct walk walk = {.places = {right->base, left->base}, .place_count = left->step ? 2 : 1};
    return walk_back(&walk, LLVMGetInstructionParent(product), product) &&
           !(walk.wrote && walk.cycled); /* places are those of one iteration */
}

/* Can the group be one product, where its last part is? */
static bool can_join(const struct igv_analysis *flow, const struct group *group,
                     struct part **parts) {
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
    return !igv_is_divergent(flow, LLVMGetInstructionParent(place));
}

/* ---- A in threadgroup memory ---- */
/* A number that depends on the SIMD-group's index only, for one of them. */
static bool value_for(LLVMValueRef value, uint64_t simd, uint64_t *number, unsigned depth) {
    uint64_t a, b = 0;
    if (LLVMIsAConstantInt(value)) {
        *number = LLVMConstIntGetZExtValue(value);
        return true;
    }
    if (igi_is_call_of(value, IGI_simdgroup_index_in_threadgroup)) {
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
static bool offset_for(struct igc_kernel *k, LLVMValueRef pointer, uint64_t simd, uint64_t *offset,
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
static bool is_stepped(struct igc_kernel *k, const struct place *left, uint32_t threads) {
    LLVMValueRef object;
    for (uint64_t simd = 0; simd < threads / LANES; simd++) {
        uint64_t offset, first;
        if (!offset_for(k, left->base, simd / SIMDGROUPS * SIMDGROUPS, &first, &object) ||
            !offset_for(k, left->base, simd, &offset, &object) ||
            offset - first != simd % SIMDGROUPS * (uint64_t)left->step ||
            !is_start(left->deep, first + (uint64_t)left->offset)) {
            return false;
        }
    }
    return true;
}

/* Finds A in threadgroup memory if all of a product is loaded from there, as it has to lie. */
static bool find_left(struct igc_kernel *k, const struct igv_analysis *flow,
                      const struct part *part, uint32_t threads, struct place *left) {
    struct igp_tile tiles[IGP_WARPGROUP_LEFT];
    for (unsigned i = 0; i < IGP_WARPGROUP_LEFT; i++) {
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
           is_stepped(k, left, threads) && offset_for(k, left->base, 0, &offset, &object) &&
           is_common(k, flow, object, &left->threads) && left->threads == threads;
}

/* ---- code ---- */
/* What a descriptor says beside the address: distances, and that pieces are permuted. */
static LLVMValueRef shape_of(struct igc_kernel *k, const struct place *place) {
    return LLVMConstInt(LLVMInt64TypeInContext(k->context),
                        (uint64_t)(place->far / TILE_LINE) << 16 |
                            (uint64_t)(place->near / TILE_LINE) << 32 | UINT64_C(1) << 62,
                        false);
}

static ingot_status build_product(struct igc_kernel *k, struct part *const *parts, unsigned count,
                                  const struct place *left, const struct place *right,
                                  LLVMValueRef place) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(k->context);
    LLVMValueRef args[IGP_WARPGROUP_FIRST + MAX_TILES * IGP_WARPGROUP_SUMS];
    const bool half = igi_name_of(place).words & IGI_MMA_F16;
    const struct igi_name name = {.builtin = IGI_nv_wgmma,
                                  .words = (half ? IGI_WGMMA_F16 : IGI_WGMMA_BF16) |
                                           (left->step == 0 ? IGI_WGMMA_REGISTERS
                                            : left->deep    ? 0
                                                            : IGI_WGMMA_M) |
                                           (right->deep ? 0 : IGI_WGMMA_N),
                                  .numbers = {count}};
    for (unsigned i = 0; i < IGP_WARPGROUP_LEFT; i++) {
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
    for (unsigned i = 0; i < count * IGP_WARPGROUP_SUMS; i++) {
        args[IGP_WARPGROUP_FIRST + i] =
            LLVMGetOperand(parts[i / IGP_WARPGROUP_SUMS]->call, 6 + i % IGP_WARPGROUP_SUMS);
    }
    LLVMPositionBuilderBefore(k->builder, place);
    LLVMValueRef all =
        igp_call_for_sums(k, name, args, IGP_WARPGROUP_FIRST + count * IGP_WARPGROUP_SUMS,
                          count * IGP_WARPGROUP_SUMS);
    LLVMValueRef sums[MAX_TILES * IGP_WARPGROUP_SUMS];
    for (unsigned i = 0; i < count * IGP_WARPGROUP_SUMS; i++) {
        sums[i] = LLVMBuildExtractValue(k->builder, all, i, "");
    }
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef call = parts[i]->call;
        igi_while_used(use, call) {
            LLVMValueRef sum = LLVMGetUser(use);
            igi_replace(sum, sums[i * IGP_WARPGROUP_SUMS + LLVMGetIndices(sum)[0]]);
        }
        LLVMInstructionEraseFromParent(call);
    }
    igp_facts(k)->uses_warpgroup_mma = true;
    return INGOT_OK;
}

static ingot_status join(struct igc_kernel *k, const struct igv_analysis *flow, void *context) {
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
        struct place left = {0}, right;
        if (!can_join(flow, group, parts) || !find_right(k, flow, parts, group->count, &right)) {
            continue;
        }
        if (!find_left(k, flow, group->last, right.threads, &left)) {
            left.step = 0;
        }
        if (!is_behind_barrier(&left, &right, group->last->call)) {
            continue;
        }
        sink_all(k, LLVMGetInstructionParent(group->last->call));
        status = build_product(k, parts, group->count, &left, &right, group->last->call);
    }
    return status ? status : igp_order_warpgroup_products(k);
}

enum igc_result igp_join_simdgroups(struct igc_kernel *k) {
    const bool can_join = igp_target(k)->has_warpgroup_mma &&
                          (k->reflection->full_threadgroups || igp_panel_bytes(k)) &&
                          igp_can_swizzle(k);
    return can_join ? igc_result_of(igp_with_flow(k, IGV_AMONG_THREADS, join, NULL))
                    : IGC_UNCHANGED;
}
