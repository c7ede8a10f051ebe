/*
 * The ends of the kernel: `unreachable` becomes a return, and every loop gets a way out, so that
 * post-dominators exist. The way out of an endless loop is never taken.
 */
#include "compiler/ir/graph.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

static bool is_unreachable(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    return LLVMGetInstructionOpcode(instruction) == LLVMUnreachable;
}

enum igc_result igc_return_at_unreachable(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_unreachable);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(kernel->function));
    if (LLVMGetTypeKind(type) != LLVMVoidTypeKind) {
        return igc_result_of(ig_fail(kernel->error, INGOT_COMPILE_ERROR,
                                     "the kernel returns a value; kernels return void"));
    }
    for (size_t i = 0; i < list.count; i++) {
        LLVMPositionBuilderBefore(kernel->builder, list.items[i]);
        LLVMBuildRetVoid(kernel->builder);
        LLVMInstructionEraseFromParent(list.items[i]);
    }
    return list.count ? IGC_CHANGED : IGC_UNCHANGED;
}

/* ---- endless loops ------------------------------------------------------------------------- */
struct reach {
    struct igi_graph graph;
    unsigned *idom;  /* IGI_NONE: control does not get there from the entry, */
    unsigned *ipdom; /* or from there to a return */
};

static bool ends_in_return(LLVMBasicBlockRef block) {
    return LLVMGetInstructionOpcode(LLVMGetBasicBlockTerminator(block)) == LLVMRet;
}

static ingot_status find_reach(struct igc_kernel *kernel, struct reach *reach) {
    ingot_status status =
        igi_graph_build(kernel->arena, kernel->function, &reach->graph, kernel->error);
    if (status) {
        return status;
    }
    reach->idom = ig_arena_array(kernel->arena, reach->graph.count + 1u, sizeof *reach->idom);
    reach->ipdom = ig_arena_array(kernel->arena, reach->graph.count + 1u, sizeof *reach->ipdom);
    if (!reach->idom || !reach->ipdom) {
        return igc_out_of_memory(kernel);
    }
    status = igi_dominators(&reach->graph, reach->idom, kernel->error);
    return status ? status : igi_post_dominators(&reach->graph, reach->ipdom, kernel->error);
}

static bool is_endless_at(const struct reach *reach, unsigned block) {
    return reach->idom[block] != IGI_NONE && reach->ipdom[block] == IGI_NONE;
}

/* The return, made if no path has one. */
static LLVMBasicBlockRef exit_block(struct igc_kernel *kernel, const struct reach *reach) {
    for (unsigned i = 0; i < reach->graph.count; i++) {
        if (ends_in_return(reach->graph.blocks[i])) {
            return reach->graph.blocks[i];
        }
    }
    LLVMBasicBlockRef block =
        LLVMAppendBasicBlockInContext(kernel->context, kernel->function, "never");
    LLVMPositionBuilderAtEnd(kernel->builder, block);
    LLVMBuildRetVoid(kernel->builder);
    return block;
}

static void add_way_out(struct igc_kernel *kernel, LLVMValueRef branch, LLVMBasicBlockRef exit) {
    LLVMBasicBlockRef block = LLVMGetInstructionParent(branch);
    LLVMBasicBlockRef target = LLVMGetSuccessor(branch, 0);
    LLVMPositionBuilderBefore(kernel->builder, branch);
    LLVMBuildCondBr(kernel->builder, LLVMConstInt(kernel->i1, 0, false), exit, target);
    LLVMInstructionEraseFromParent(branch);
    igi_each_phi(i, exit) {
        LLVMValueRef none = LLVMGetPoison(LLVMTypeOf(i));
        LLVMAddIncoming(i, &none, &block, 1);
    }
}

/* An edge that stays in the endless part, in a block of its own. */
static LLVMValueRef endless_branch(const struct reach *reach) {
    for (unsigned i = reach->graph.count; i-- > 0;) {
        LLVMValueRef terminator = LLVMGetBasicBlockTerminator(reach->graph.blocks[i]);
        if (is_endless_at(reach, i) && LLVMGetNumSuccessors(terminator) == 1) {
            return terminator;
        }
    }
    return NULL;
}

static bool is_endless(const struct reach *reach) {
    for (unsigned i = 0; i < reach->graph.count; i++) {
        if (is_endless_at(reach, i)) {
            return true;
        }
    }
    return false;
}

enum igc_result igc_leave_endless_loops(struct igc_kernel *kernel) {
    for (bool split = false;;) {
        struct reach reach;
        ingot_status status = find_reach(kernel, &reach);
        if (status) {
            return igc_result_of(status);
        }
        if (!is_endless(&reach)) {
            return split ? IGC_CHANGED : IGC_UNCHANGED;
        }
        if (!split) {
            split = true;
            status = igc_run_llvm(kernel, "function(break-crit-edges)");
            if (status) {
                return igc_result_of(status);
            }
            continue;
        }
        LLVMValueRef branch = endless_branch(&reach);
        if (!branch) {
            return igc_result_of(ig_fail(kernel->error, INGOT_COMPILE_ERROR,
                                         "the kernel has a loop that no path leaves"));
        }
        add_way_out(kernel, branch, exit_block(kernel, &reach));
    }
}
