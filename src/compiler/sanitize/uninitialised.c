/*
 * uninitialised, and what of lanes goes by way of values: shadows for everything that is reached by
 * a value that nobody wrote or that no lane gave, and checks where such a value is used.
 *
 * Requires the marks of what was not written (marks.c), which become zero here, and pointers in
 * registers. Comes behind bounds, so that the shadow of an access runs only where the access does.
 */
#include <llvm-c/DebugInfo.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/edit.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/shadow.h"

/* ---- marks ---- */

static bool is_mark(struct igc_kernel *kernel, LLVMValueRef in) {
    (void)kernel;
    return LLVMIsACallInst(in) &&
           (igi_is_call_of(in, IGI_san_unwritten) || igi_is_call_of(in, IGI_san_keep));
}

static void replace_marks(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_mark);
    for (size_t i = 0; i < list.count; i++) {
        if (igi_is_call_of(list.items[i], IGI_san_keep)) {
            LLVMInstructionEraseFromParent(list.items[i]);
            continue;
        }
        igi_replace(list.items[i], LLVMConstNull(LLVMTypeOf(list.items[i])));
    }
}

/* ---- shadows ---- */

static void shadow_mark(struct igs_shadows *shadows, LLVMValueRef call) {
    uint32_t place = (uint32_t)LLVMConstIntGetZExtValue(LLVMGetOperand(call, 0));
    LLVMValueRef source = igs_source(shadows, place, IGS_MAY_UNWRITTEN);
    igs_set_shadow(shadows, call, igs_spread(shadows, source, LLVMTypeOf(call)));
}

static void shadow_call(struct igs_shadows *shadows, LLVMValueRef call) {
    if (igi_is_intrinsic(call)) {
        unsigned flags = igi_intrinsic_flags_of(call);
        if (flags & IGI_I_COPIES) {
            igs_shadow_copy(shadows, call);
        } else if (igs_may_be(shadows, call)) {
            igs_shadow_arithmetic(shadows, call);
        }
        return;
    }
    switch (igi_family_of(call)) {
    case IGI_FAMILY_SANITIZE:
        if (igs_may_be(shadows, call)) {
            shadow_mark(shadows, call);
        }
        return;
    case IGI_FAMILY_SHUFFLE:
    case IGI_FAMILY_VOTE:
    case IGI_FAMILY_REDUCTION:
    case IGI_FAMILY_PREFIX:
    case IGI_FAMILY_MATRIX_PRODUCT:
        if (igs_may_be(shadows, call)) {
            igs_shadow_lanes(shadows, call);
        }
        return;
    case IGI_FAMILY_LOAD_DEVICE:
    case IGI_FAMILY_LOAD_THREADGROUP:
        igs_shadow_tile_load(shadows, call);
        return;
    case IGI_FAMILY_STORE_DEVICE:
    case IGI_FAMILY_STORE_THREADGROUP:
        igs_shadow_tile_store(shadows, call);
        return;
    case IGI_FAMILY_CACHE:
        if (igs_is_access(shadows->kernel, call)) {
            igs_shadow_store(shadows, call);
        }
        return;
    case IGI_NO_FAMILY:
        if (igs_may_be(shadows, call)) {
            igs_shadow_arithmetic(shadows, call);
        }
        return;
    default:
        return;
    }
}

/* The shadow of a condition, as far as values take it on, into the decision's variable. */
static void decide(struct igs_shadows *shadows, LLVMValueRef branch, struct igs_decision *decision,
                   LLVMValueRef shadow, bool is_users) {
    struct igc_kernel *kernel = shadows->kernel;
    LLVMBuilderRef b = kernel->builder;
    unsigned block = igi_graph_number(&shadows->graph, LLVMGetInstructionParent(branch));
    if (is_users && igs_may_be(shadows, LLVMGetCondition(branch)) & IGS_MAY_UNWRITTEN) {
        LLVMValueRef mark = igc_integer(kernel->i32, INGOT_CPU_NEVER_WRITTEN);
        LLVMValueRef is = LLVMBuildICmp(b, LLVMIntULT, shadow, mark, "");
        shadow = LLVMBuildSelect(b, is, shadow, igc_integer(kernel->i32, 0), "");
    }
    LLVMValueRef slot = igs_decision_slot(shadows, decision, branch);
    if (decision->branch != block) {
        LLVMValueRef before = LLVMBuildLoad2(b, kernel->i32, slot, "");
        shadow = igs_larger(shadows, before, shadow);
    }
    LLVMBuildStore(b, shadow, slot);
}

/* A branch of the user's is a use; one that only chooses values hands on what no lane gave. What
 * the prelude branches on is handed on as it is. */
static void shadow_branch(struct igs_shadows *shadows, LLVMValueRef branch,
                          LLVMValueRef condition) {
    unsigned may = igs_may_be(shadows, condition);
    LLVMValueRef shadow = igs_shadow_of(shadows, condition);
    if (may && igs_is_guard(shadows->kernel, branch)) {
        LLVMValueRef guarded = LLVMGetFirstInstruction(LLVMGetSuccessor(branch, 0));
        may &= igs_used_in_address(shadows, guarded);
        igs_check_use(shadows, branch, shadow, may, IGS_USE_ADDRESS, NULL);
        return;
    }
    bool is_users = igs_is_users(shadows->kernel, branch);
    unsigned taken = LLVMIsABranchInst(branch) ? igs_taken_on(shadows, branch) : 0;
    struct igs_decision *decision = taken ? igs_decision_of(shadows, branch) : NULL;
    if (is_users && may) {
        igs_check_use(shadows, branch, shadow, decision ? may & ~taken : may, IGS_USE_BRANCH, NULL);
    }
    unsigned block = igi_graph_number(&shadows->graph, LLVMGetInstructionParent(branch));
    if (decision) {
        decide(shadows, branch, decision, shadow, is_users);
    } else if (shadows->own[block] &&
               shadows->own[block]->may) { /* it begins with a part that is good */
        LLVMBuildStore(shadows->kernel->builder, igc_integer(shadows->kernel->i32, 0),
                       igs_decision_slot(shadows, shadows->own[block], branch));
    }
}

static void shadow_instruction(struct igs_shadows *shadows, LLVMValueRef in) {
    LLVMPositionBuilderBefore(shadows->kernel->builder, in);
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMLoad:
        igs_shadow_load(shadows, in);
        return;
    case LLVMStore:
        igs_shadow_store(shadows, in);
        return;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        igs_shadow_atomic(shadows, in);
        return;
    case LLVMCall:
        shadow_call(shadows, in);
        return;
    case LLVMBr:
        if (LLVMIsConditional(in)) {
            shadow_branch(shadows, in, LLVMGetCondition(in));
        }
        return;
    case LLVMSwitch:
        shadow_branch(shadows, in, LLVMGetOperand(in, 0));
        return;
    default:
        if (igs_may_be(shadows, in)) {
            igs_shadow_arithmetic(shadows, in);
        }
        return;
    }
}

static void start_phi(struct igs_shadows *shadows, LLVMValueRef phi) {
    if (igs_may_be(shadows, phi)) {
        LLVMPositionBuilderBefore(shadows->kernel->builder, phi);
        LLVMTypeRef type = igs_shadow_type(shadows, LLVMTypeOf(phi));
        igs_set_shadow(shadows, phi, LLVMBuildPhi(shadows->kernel->builder, type, ""));
    }
}

/* What the phi's value is as bad as when control comes from there. */
static LLVMValueRef incoming(struct igs_shadows *shadows, LLVMValueRef phi, unsigned i,
                             unsigned block) {
    LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
    unsigned number = igi_graph_number(&shadows->graph, from);
    LLVMValueRef shadow = igs_shadow_of(shadows, LLVMGetIncomingValue(phi, i));
    LLVMPositionBuilderBefore(shadows->kernel->builder, LLVMGetBasicBlockTerminator(from));
    for (const struct igs_decided *d = shadows->decided[block]; d; d = d->next) {
        if (d->decision->may &&
            (d->decision->branch == number || igs_is_between(d->decision, number))) {
            LLVMValueRef before = LLVMGetBasicBlockTerminator(from);
            LLVMValueRef slot = igs_decision_slot(shadows, d->decision, before);
            LLVMValueRef decided =
                LLVMBuildLoad2(shadows->kernel->builder, shadows->kernel->i32, slot, "");
            decided = igs_spread(shadows, decided, LLVMTypeOf(phi));
            shadow = igs_larger(shadows, shadow, decided);
        }
    }
    return shadow;
}

static void finish_phi(struct igs_shadows *shadows, LLVMValueRef phi, unsigned block) {
    if (!igs_may_be(shadows, phi)) {
        return;
    }
    LLVMValueRef own = igs_shadow_of(shadows, phi);
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
        LLVMValueRef shadow = igi_graph_number(&shadows->graph, from) == IGI_NONE
                                  ? LLVMConstNull(LLVMTypeOf(own))
                                  : incoming(shadows, phi, i, block);
        LLVMAddIncoming(own, &shadow, &from, 1);
    }
}

/* The instructions of a block as they are now: what is added is not gone through. */
static bool shadow_blocks(struct igs_shadows *shadows) {
    struct igc_kernel *kernel = shadows->kernel;
    unsigned count = shadows->graph.count, total = 0, next = 0;
    unsigned *ends = ig_arena_array(kernel->arena, count + 1, sizeof *ends);
    for (unsigned block = 0; block < count; block++) {
        total += igi_block_length(shadows->graph.blocks[block]);
    }
    LLVMValueRef *all = ig_arena_array(kernel->arena, total + 1, sizeof *all);
    if (!all || !ends) {
        return false;
    }
    for (unsigned block = 0; block < count; block++) {
        igi_each_in_block(in, shadows->graph.blocks[block]) {
            all[next++] = in;
        }
        ends[block] = next;
    }
    for (unsigned i = 0; i < next; i++) {
        if (LLVMIsAPHINode(all[i])) {
            start_phi(shadows, all[i]);
        }
    }
    for (unsigned i = 0; i < next; i++) {
        if (!LLVMIsAPHINode(all[i])) {
            shadow_instruction(shadows, all[i]);
        }
    }
    for (unsigned block = 0, i = 0; block < count; block++) {
        for (; i < ends[block]; i++) {
            if (LLVMIsAPHINode(all[i])) {
                finish_phi(shadows, all[i], block);
            }
        }
    }
    return true;
}

static ingot_status build_graph(struct igs_shadows *shadows) {
    struct igc_kernel *kernel = shadows->kernel;
    struct igi_graph *graph = &shadows->graph;
    ingot_status status = igi_graph_build(kernel->arena, kernel->function, graph, kernel->error);
    if (status) {
        return status;
    }
    unsigned *order = ig_arena_array(kernel->arena, graph->count + 1, sizeof *order);
    unsigned reached = order ? igi_reverse_post_order(graph, order) : 0;
    if (!reached) {
        return igc_out_of_memory(kernel);
    }
    status = igi_graph_renumber(graph, order, reached, kernel->error);
    size_t room = (size_t)graph->count + 1;
    shadows->idom = ig_arena_array(kernel->arena, room, sizeof *shadows->idom);
    shadows->ipdom = ig_arena_array(kernel->arena, room, sizeof *shadows->ipdom);
    shadows->decided = ig_arena_array(kernel->arena, room, sizeof(struct igs_decided *));
    shadows->own = ig_arena_array(kernel->arena, room, sizeof(struct igs_decision *));
    shadows->is_looked_at = ig_arena_array(kernel->arena, room, sizeof(bool));
    if (!shadows->idom || !shadows->ipdom || !shadows->decided || !shadows->own ||
        !shadows->is_looked_at) {
        return igc_out_of_memory(kernel);
    }
    status = status ? status : igi_dominators(graph, shadows->idom, kernel->error);
    return status ? status : igi_post_dominators(graph, shadows->ipdom, kernel->error);
}

enum igc_result igs_check_shadows(struct igc_kernel *kernel) {
    struct igs_shadows *shadows = ig_arena_alloc(kernel->arena, sizeof *shadows);
    if (!shadows) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    *shadows = (struct igs_shadows){
        .kernel = kernel,
        .asked = (igs_wants(kernel, IG_SANITIZE_uninitialised) ? IGS_MAY_UNWRITTEN : 0u) |
                 (igs_wants(kernel, IG_SANITIZE_lanes) ? IGS_MAY_NO_LANE : 0u)};
    igi_map_start(&shadows->numbers, kernel->arena, 1024);
    igi_map_start(&shadows->memories, kernel->arena, 256);
    igi_map_start(&shadows->variable_numbers, kernel->arena, 64);
    igi_map_start(&shadows->pointer_numbers, kernel->arena, 16);
    if (build_graph(shadows)) {
        return IGC_FAILED;
    }
    if (!igs_find_reach(shadows) || !shadow_blocks(shadows)) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    replace_marks(kernel);
    return kernel->error->status ? IGC_FAILED : IGC_CHANGED;
}
