/*
 * Edges that are never taken, on __ingot_never, hold code in the loop that it stands in
 * (middle/loop_exits.c). Where all lanes leave the loop together they are taken away. Where lanes
 * leave in different iterations another such edge keeps the hardware from letting them meet at the
 * code before the loop's end.
 *
 * Requires: igv_find_uniform's view of the kernel as it is; for new edges LCSSA form.
 */
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

ingot_status igp_with_flow(struct igc_kernel *kernel, enum igv_scope scope, igp_flow_fn *act,
                           void *context) {
    struct ig_arena arena = {0};
    struct igv_analysis flow;
    ingot_status status = igv_find_uniform(&arena, kernel->function, scope, &flow, kernel->error);
    status = status ? status : act(kernel, &flow, context);
    ig_arena_free(&arena);
    return status;
}

/* Edges that hold code in its loop matter only where lanes leave the loop at different times. */
bool igp_is_never(LLVMValueRef in) {
    return igi_is_call_of(in, IGI_never);
}

static ingot_status release(struct igc_kernel *kernel, const struct igv_analysis *flow,
                            void *context) {
    (void)context;
    LLVMValueRef *calls = igp_collect(kernel, igp_is_never);
    for (LLVMValueRef *call = calls; call && *call; call++) {
        if (!igv_is_divergent(flow, LLVMGetInstructionParent(*call))) {
            igi_replace(*call, LLVMConstNull(LLVMTypeOf(*call)));
            igp_facts(kernel)->released = true;
        }
    }
    return calls ? INGOT_OK
                 : ig_fail(kernel->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's loops");
}

/* ---- loops that end in code for the lanes that leave together ---- */
struct opening {
    LLVMBasicBlockRef head, out; /* of the loop; where the edge that holds the code does not go */
};

/* The edge of a branch on __ingot_never whose block post-dominates the loop's head. */
static bool needs_opening(const struct igv_analysis *flow, LLVMValueRef never,
                          struct opening *opening) {
    LLVMUseRef use = LLVMGetFirstUse(never);
    LLVMValueRef branch = use ? LLVMGetUser(use) : NULL;
    if (!branch || LLVMGetNextUse(use) || !LLVMIsABranchInst(branch) ||
        !LLVMIsConditional(branch)) {
        return false;
    }
    unsigned at = igv_block_of(flow, LLVMGetInstructionParent(branch));
    unsigned head = igv_block_of(flow, LLVMGetSuccessor(branch, 0));
    *opening = (struct opening){LLVMGetSuccessor(branch, 0), LLVMGetSuccessor(branch, 1)};
    return head != at && opening->head != opening->out && igv_post_dominates(flow, at, head);
}

/* Hardware lets lanes meet at the immediate post-dominator of a branch. Code at the end of a loop
 * through which all lanes leave would be that place, though each lane belongs to the iteration in
 * which it leaves. An edge from the head out of the loop, never taken either, makes the place
 * behind the loop the post-dominator. Requires LCSSA form. */
static ingot_status open_loops(struct igc_kernel *kernel, const struct igv_analysis *flow,
                               void *context) {
    (void)context;
    LLVMValueRef *calls = igp_collect(kernel, igp_is_never);
    size_t count = 0, found = 0;
    while (calls && calls[count]) {
        count++;
    }
    struct opening *openings =
        calls ? ig_arena_array(kernel->arena, count + 1, sizeof *openings) : NULL;
    if (!openings) {
        return ig_fail(kernel->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's loops");
    }
    for (size_t i = 0; i < count; i++) {
        found += needs_opening(flow, calls[i], &openings[found]);
    }
    for (size_t i = 0; i < found; i++) {
        LLVMValueRef first = igi_first_non_phi(openings[i].head);
        LLVMBasicBlockRef block = igi_split_before(kernel->builder, first);
        LLVMValueRef never =
            igp_call(kernel, igi_plain(IGI_never), LLVMInt1TypeInContext(kernel->context), NULL, 0);
        LLVMBuildCondBr(kernel->builder, never, openings[i].out, openings[i].head);
        igi_each_phi(phi, openings[i].out) {
            LLVMValueRef nothing = LLVMGetPoison(LLVMTypeOf(phi));
            LLVMAddIncoming(phi, &nothing, &block, 1);
        }
    }
    return INGOT_OK;
}

enum igc_result igp_release_loops(struct igc_kernel *kernel) {
    return igc_result_of(igp_with_flow(kernel, IGV_AMONG_LANES, release, NULL));
}

bool igp_has_pinned_exits(const struct igc_kernel *kernel) {
    igi_each_instruction(in, kernel->function) {
        if (igp_is_never(in)) {
            return true;
        }
    }
    return false;
}

enum igc_result igp_open_loops(struct igc_kernel *kernel) {
    return igc_result_of(igp_with_flow(kernel, IGV_AMONG_LANES, open_loops, NULL));
}
