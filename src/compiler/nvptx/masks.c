/*
 * Which lanes are active at a call, as a value of the program. Neither LLVM nor ptxas promises
 * where lanes meet again, so operations between lanes name the lanes that they want, and the
 * hardware waits for those. The lanes of a block are, as in the vectoriser, all that get to it in
 * one iteration of its loop: a block that rejoins the flow of a dominator has that one's mask; the
 * target of a branch that depends on the lane has what a vote on the condition gives; a loop's head
 * has whoever goes on. Votes are taken only on the way to calls that need them.
 *
 * Blocks that several such branches lead to without being where all meet have no mask of these
 * kinds (the later cases of a switch that is fallen into, what follows a nested break). Then the
 * whole kernel is brought into structured form first, in which there are none.
 *
 * Edges on __ingot_never hold code in its loop; other than that they do not exist here.
 */
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/nvptx/nvptx.h"

/* Masks by number: that of the kernel's entry, that of each way out of a block, that of each loop's
 * current iteration. */
enum { ENTRY = 0, FIRST_EDGE = 1 };

/* The scope of __ingot_barrier that is no more than a SIMD-group. */
enum { SIMDGROUP_SCOPE = 1 };

struct masks {
    struct igc_kernel *kernel;
    const struct igv_analysis *flow;
    struct igv_analysis analysis; /* blocks and loops, without edges on __ingot_never */
    unsigned *mask;               /* by block: a number, or IGV_NONE */
    bool *seen;                   /* by block: scratch */
    unsigned *list;
    unsigned count;      /* of masks */
    bool *needed;        /* by mask */
    LLVMValueRef *slots; /* by mask: where it is kept */
    bool unknown;        /* a mask that is needed has no number */
};

/* ---- the flow of one iteration ---- */
static LLVMValueRef end_of(const struct masks *masks, unsigned block) {
    return LLVMGetBasicBlockTerminator(masks->analysis.blocks[block].block);
}

static void drop_never(struct masks *masks) {
    for (unsigned b = 0; b < masks->analysis.block_count; b++) {
        struct igv_block *block = &masks->analysis.blocks[b];
        if (block->successor_count == 2 && igp_is_never(LLVMGetCondition(end_of(masks, b)))) {
            block->successors++;
            block->successor_count = 1;
        }
    }
}

static ingot_status find_flow(struct masks *masks) {
    struct igc_kernel *kernel = masks->kernel;
    ingot_status status =
        igv_control_find(kernel->arena, kernel->function, &masks->analysis, kernel->error);
    if (status) {
        return status;
    }
    drop_never(masks);
    return igv_control_update(kernel->arena, &masks->analysis, kernel->error);
}

/* ---- which mask a block has ---- */
static unsigned loop_mask(const struct masks *masks, unsigned loop) {
    return FIRST_EDGE + 2 * masks->analysis.block_count + loop;
}

static bool is_reached(const struct masks *masks, unsigned block) {
    return masks->analysis.blocks[block].idom != IGV_NONE;
}

/* The block that alone leads to this one, or IGV_NONE. */
static unsigned only_predecessor(const struct masks *masks, unsigned b) {
    const struct igv_block *block = &masks->analysis.blocks[b];
    unsigned found = IGV_NONE;
    for (unsigned p = 0; p < block->predecessor_count; p++) {
        unsigned from = block->predecessors[p];
        if (is_reached(masks, from)) {
            if (found != IGV_NONE) {
                return IGV_NONE;
            }
            found = from;
        }
    }
    return found;
}

/* That of the lanes that go from a block to its successor `to`. */
static unsigned edge_mask(const struct masks *masks, unsigned block, unsigned to) {
    const struct igv_block *from = &masks->analysis.blocks[block];
    if (from->successor_count < 2 || masks->mask[block] == IGV_NONE ||
        !igv_branch_varies(masks->flow, from->block)) {
        return masks->mask[block];
    }
    return FIRST_EDGE + 2 * block + (from->successors[1] == to);
}

/* All lanes that are at `above`, which dominates `block`, take the same way to it or past it. */
static bool goes_together(struct masks *masks, unsigned above, unsigned block) {
    unsigned count = 0;
    memset(masks->seen, 0, masks->analysis.block_count * sizeof *masks->seen);
    masks->seen[block] = true;
    masks->list[count++] = block;
    while (count) {
        const struct igv_block *at = &masks->analysis.blocks[masks->list[--count]];
        for (unsigned p = 0; p < at->predecessor_count; p++) {
            unsigned from = at->predecessors[p];
            if (!is_reached(masks, from)) {
                continue;
            }
            if (igv_branch_varies(masks->flow, masks->analysis.blocks[from].block)) {
                return false;
            }
            if (from != above && !masks->seen[from]) {
                masks->seen[from] = true;
                masks->list[count++] = from;
            }
        }
    }
    return true;
}

static unsigned mask_of(struct masks *masks, unsigned b) {
    const struct igv_analysis *analysis = &masks->analysis;
    const struct igv_block *block = &analysis->blocks[b];
    if (igv_is_header(analysis, b)) {
        return loop_mask(masks, block->loop);
    }
    if (!b || !is_reached(masks, b)) {
        return ENTRY; /* where no lane gets, any mask will do */
    }
    unsigned above = block->idom;
    while (analysis->blocks[above].loop != block->loop && above) {
        above = analysis->blocks[above].idom;
    }
    if (analysis->blocks[above].loop != block->loop) {
        return IGV_NONE;
    }
    if (igv_rejoins(analysis, above, b) || goes_together(masks, above, b)) {
        return masks->mask[above];
    }
    unsigned from = only_predecessor(masks, b);
    return from != IGV_NONE && analysis->blocks[from].loop == block->loop
               ? edge_mask(masks, from, b)
               : IGV_NONE;
}

static ingot_status find_masks(struct masks *masks) {
    struct ig_arena *arena = masks->kernel->arena;
    unsigned blocks = masks->analysis.block_count;
    masks->count = loop_mask(masks, masks->analysis.loop_count);
    masks->mask = ig_arena_array(arena, blocks, sizeof *masks->mask);
    masks->seen = ig_arena_array(arena, blocks, sizeof *masks->seen);
    masks->list = ig_arena_array(arena, blocks, sizeof *masks->list);
    masks->needed = ig_arena_array(arena, masks->count, sizeof *masks->needed);
    masks->slots = ig_arena_array(arena, masks->count, sizeof(LLVMValueRef));
    if (!masks->mask || !masks->seen || !masks->list || !masks->needed || !masks->slots) {
        return igi_out_of_memory(masks->kernel->error);
    }
    for (unsigned b = 0; b < blocks; b++) {
        masks->mask[b] = mask_of(masks, b);
    }
    return INGOT_OK;
}

/* ---- which masks are needed ---- */
static void need(struct masks *masks, unsigned mask) {
    if (mask == IGV_NONE) {
        masks->unknown = true;
    } else {
        masks->needed[mask] = true;
    }
}

/* The mask of a loop's next iteration; IGV_NONE if there is none. */
static unsigned next_mask(const struct masks *masks, unsigned loop) {
    const struct igv_loop *l = &masks->analysis.loops[loop];
    return edge_mask(masks, l->latch, l->header);
}

/* What the masks that are needed are made from, until nothing is new. */
static void need_sources(struct masks *masks) {
    unsigned blocks = masks->analysis.block_count;
    for (unsigned before = 0, total = 1; before != total && !masks->unknown;) {
        before = total;
        total = 1;
        for (unsigned m = masks->count; m-- > FIRST_EDGE && !masks->unknown;) {
            unsigned edge = m - FIRST_EDGE, loop = edge - 2 * blocks;
            if (!masks->needed[m]) {
                continue;
            }
            total++;
            if (edge < 2 * blocks) {
                need(masks, masks->mask[edge / 2]);
                continue;
            }
            need(masks, masks->mask[masks->analysis.loops[loop].preheader]);
            if (is_reached(masks, masks->analysis.loops[loop].latch)) {
                need(masks, next_mask(masks, loop));
            }
        }
    }
}

/* ---- the code ---- */
static LLVMTypeRef word(const struct masks *masks) {
    return LLVMInt32TypeInContext(masks->kernel->context);
}

static LLVMValueRef get(struct masks *masks, unsigned mask) {
    return LLVMBuildLoad2(masks->kernel->builder, word(masks), masks->slots[mask], "");
}

static void put(struct masks *masks, unsigned mask, LLVMValueRef value) {
    LLVMBuildStore(masks->kernel->builder, value, masks->slots[mask]);
}

static LLVMValueRef vote(struct masks *masks, LLVMValueRef among, LLVMValueRef condition) {
    LLVMValueRef args[] = {among, condition};
    return igp_call(masks->kernel, igi_plain(IGI_nv_vote), word(masks), args, 2);
}

static void make_slots(struct masks *masks) {
    LLVMBuilderRef builder = masks->kernel->builder;
    LLVMTypeRef i1 = LLVMInt1TypeInContext(masks->kernel->context);
    LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(masks->analysis.blocks[0].block));
    for (unsigned m = 0; m < masks->count; m++) {
        if (masks->needed[m]) {
            masks->slots[m] = LLVMBuildAlloca(builder, word(masks), "");
        }
    }
    if (masks->needed[ENTRY]) {
        put(masks, ENTRY, vote(masks, LLVMConstAllOnes(word(masks)), LLVMConstInt(i1, 1, false)));
    }
}

static void write_edges(struct masks *masks, unsigned block) {
    LLVMBuilderRef builder = masks->kernel->builder;
    unsigned yes = FIRST_EDGE + 2 * block, no = yes + 1;
    if (!masks->needed[yes] && !masks->needed[no]) {
        return;
    }
    LLVMPositionBuilderBefore(builder, end_of(masks, block));
    LLVMValueRef here = get(masks, masks->mask[block]);
    LLVMValueRef taken = vote(masks, here, LLVMGetCondition(end_of(masks, block)));
    if (masks->needed[yes]) {
        put(masks, yes, taken);
    }
    if (masks->needed[no]) {
        put(masks, no, LLVMBuildXor(builder, here, taken, ""));
    }
}

static void write_loop(struct masks *masks, unsigned loop) {
    const struct igv_loop *l = &masks->analysis.loops[loop];
    unsigned mask = loop_mask(masks, loop);
    if (!masks->needed[mask]) {
        return;
    }
    LLVMPositionBuilderBefore(masks->kernel->builder, end_of(masks, l->preheader));
    put(masks, mask, get(masks, masks->mask[l->preheader]));
    unsigned next = next_mask(masks, loop);
    if (next != mask && is_reached(masks, l->latch)) {
        LLVMPositionBuilderBefore(masks->kernel->builder, end_of(masks, l->latch));
        put(masks, mask, get(masks, next));
    }
}

static void write_masks(struct masks *masks) {
    make_slots(masks);
    for (unsigned b = 0; b < masks->analysis.block_count; b++) {
        write_edges(masks, b);
    }
    for (unsigned l = 0; l < masks->analysis.loop_count; l++) {
        write_loop(masks, l);
    }
}

/* ---- the calls ---- */
static unsigned number_of(const struct masks *masks, LLVMBasicBlockRef block) {
    return igv_block_of(&masks->analysis, block);
}

static bool is_lane_call(LLVMValueRef in) {
    return igi_uses_lanes(igi_facts_of(in));
}

/* A barrier of the threadgroup that need not notice who is missing waits whatever the mask. */
static bool looks_at_mask(LLVMValueRef call) {
    LLVMValueRef scope = LLVMGetOperand(call, 0);
    return !igi_is_call_of(call, IGI_barrier) || !LLVMIsAConstantInt(scope) ||
           LLVMConstIntGetZExtValue(scope) == SIMDGROUP_SCOPE;
}

static ingot_status no_memory(struct igc_kernel *kernel) {
    return ig_fail(kernel->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's calls");
}

/* CALL.SUFFIX, with the mask as a last argument if there is one. */
static ingot_status rename_call(struct igc_kernel *kernel, LLVMValueRef call,
                                enum igi_lane_words suffix, LLVMValueRef mask) {
    enum { MOST = 8 };
    LLVMValueRef args[MOST];
    LLVMTypeRef types[MOST], old = LLVMGlobalGetValueType(LLVMGetCalledValue(call));
    unsigned count = LLVMGetNumArgOperands(call);
    struct igi_name name = igi_with_words(igi_builtin_of(call), suffix);
    if (count >= MOST) {
        return no_memory(kernel);
    }
    for (unsigned i = 0; i < count; i++) {
        args[i] = LLVMGetOperand(call, i);
        types[i] = LLVMTypeOf(args[i]);
    }
    if (!mask) {
        LLVMSetOperand(call, count, igp_declare(kernel, name, old));
        return INGOT_OK;
    }
    args[count] = mask;
    types[count] = LLVMTypeOf(mask);
    LLVMTypeRef type = LLVMFunctionType(LLVMGetReturnType(old), types, count + 1, false);
    LLVMPositionBuilderBefore(kernel->builder, call);
    igi_replace(call, LLVMBuildCall2(kernel->builder, type, igp_declare(kernel, name, type), args,
                                     count + 1, ""));
    return INGOT_OK;
}

static ingot_status rename_calls(struct masks *masks, LLVMValueRef *calls) {
    ingot_status status = INGOT_OK;
    LLVMValueRef none = LLVMConstNull(word(masks));
    for (LLVMValueRef *call = calls; *call && !status; call++) {
        LLVMBasicBlockRef block = LLVMGetInstructionParent(*call);
        if (!igv_is_divergent(masks->flow, block)) {
            status = rename_call(masks->kernel, *call, IGI_ALL, NULL);
            continue;
        }
        LLVMPositionBuilderBefore(masks->kernel->builder, *call);
        LLVMValueRef mask =
            looks_at_mask(*call) ? get(masks, masks->mask[number_of(masks, block)]) : none;
        status = rename_call(masks->kernel, *call, IGI_SOME, mask);
    }
    return status;
}

static bool needs_masks(const struct igv_analysis *flow, LLVMValueRef call) {
    return igv_is_divergent(flow, LLVMGetInstructionParent(call)) && looks_at_mask(call);
}

static ingot_status mark_lanes(struct igc_kernel *kernel, const struct igv_analysis *flow,
                               void *result) {
    struct masks *masks = result;
    *masks = (struct masks){.kernel = kernel, .flow = flow};
    LLVMValueRef *calls = igp_collect(kernel, is_lane_call);
    if (!calls) {
        return no_memory(kernel);
    }
    ingot_status status = find_flow(masks);
    if (!status) {
        status = find_masks(masks);
    }
    if (status) {
        return status;
    }
    for (LLVMValueRef *call = calls; *call; call++) {
        if (needs_masks(flow, *call)) {
            need(masks, masks->mask[number_of(masks, LLVMGetInstructionParent(*call))]);
        }
    }
    need_sources(masks);
    if (masks->unknown) {
        return INGOT_OK;
    }
    write_masks(masks);
    return rename_calls(masks, calls);
}

/* Where all lanes get to every call together there is nothing to find out. */
static ingot_status mark_all(struct igc_kernel *kernel, const struct igv_analysis *flow,
                             void *result) {
    bool *some = result;
    LLVMValueRef *calls = igp_collect(kernel, is_lane_call);
    for (LLVMValueRef *call = calls; call && *call; call++) {
        *some |= needs_masks(flow, *call);
    }
    ingot_status status = calls ? INGOT_OK : no_memory(kernel);
    for (LLVMValueRef *call = calls; !status && !*some && *call; call++) {
        bool divergent = igv_is_divergent(flow, LLVMGetInstructionParent(*call));
        LLVMValueRef none = LLVMConstNull(LLVMInt32TypeInContext(kernel->context));
        status =
            rename_call(kernel, *call, divergent ? IGI_SOME : IGI_ALL, divergent ? none : NULL);
    }
    return status;
}

enum igc_result igp_mark_lanes(struct igc_kernel *kernel) {
    return igc_result_of(
        igp_with_flow(kernel, IGV_AMONG_LANES, mark_all, &igp_facts(kernel)->needs_masks));
}

enum igc_result igp_make_masks(struct igc_kernel *kernel) {
    struct masks masks;
    if (igp_with_flow(kernel, IGV_AMONG_LANES, mark_lanes, &masks)) {
        return IGC_FAILED;
    }
    igp_facts(kernel)->has_masks = !masks.unknown;
    if (masks.unknown && kernel->round) {
        ig_fail(kernel->error, INGOT_COMPILE_ERROR,
                "which lanes are active at the kernel's SIMD-group operations cannot be "
                "told from its control flow");
        return IGC_FAILED;
    }
    return IGC_CHANGED;
}
