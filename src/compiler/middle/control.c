/*
 * The ends of the kernel: `unreachable` becomes a return, and every loop gets a way out, so that
 * post-dominators exist. The way out of an endless loop is never taken.
 */
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
struct numbered {
    LLVMBasicBlockRef block;
    unsigned number;
};

struct reach {
    LLVMBasicBlockRef *blocks;
    struct numbered *order; /* by address */
    bool *leaves;           /* can reach a return */
    bool *reached;          /* from the entry */
    unsigned count;
};

static int by_address(const void *a, const void *b) {
    const struct numbered *x = a, *y = b;
    return (uintptr_t)x->block < (uintptr_t)y->block ? -1 : x->block != y->block;
}

static unsigned number_of(const struct reach *reach, LLVMBasicBlockRef block) {
    const struct numbered key = {.block = block};
    const struct numbered *found =
        bsearch(&key, reach->order, reach->count, sizeof key, by_address);
    return found ? found->number : 0;
}

static bool ends_in_return(LLVMBasicBlockRef block) {
    return LLVMGetInstructionOpcode(LLVMGetBasicBlockTerminator(block)) == LLVMRet;
}

/* Spreads what is known of block i: from its successors, and to them. */
static bool spread(struct reach *reach, unsigned i) {
    LLVMValueRef terminator = LLVMGetBasicBlockTerminator(reach->blocks[i]);
    bool changed = false;
    for (unsigned s = 0; s < LLVMGetNumSuccessors(terminator); s++) {
        unsigned to = number_of(reach, LLVMGetSuccessor(terminator, s));
        if (reach->leaves[to] && !reach->leaves[i]) {
            reach->leaves[i] = changed = true;
        }
        if (reach->reached[i] && !reach->reached[to]) {
            reach->reached[to] = changed = true;
        }
    }
    return changed;
}

/* There and back: most edges lead to later blocks. */
static void find_leaving(struct reach *reach) {
    bool changed = true;
    reach->reached[0] = true;
    for (unsigned i = 0; i < reach->count; i++) {
        reach->leaves[i] = ends_in_return(reach->blocks[i]);
    }
    while (changed) {
        changed = false;
        for (unsigned i = 0; i < reach->count; i++) {
            changed |= spread(reach, i);
        }
        for (unsigned i = reach->count; i-- > 0;) {
            changed |= spread(reach, i);
        }
    }
}

static bool reach_create(struct igc_kernel *kernel, struct reach *reach) {
    reach->count = LLVMCountBasicBlocks(kernel->function);
    reach->blocks = ig_arena_array(kernel->arena, reach->count + 1u, sizeof *reach->blocks);
    reach->leaves = ig_arena_array(kernel->arena, reach->count + 1u, sizeof(bool));
    reach->reached = ig_arena_array(kernel->arena, reach->count + 1u, sizeof(bool));
    reach->order = ig_arena_array(kernel->arena, reach->count + 1u, sizeof *reach->order);
    if (!reach->blocks || !reach->leaves || !reach->reached || !reach->order) {
        return false;
    }
    LLVMGetBasicBlocks(kernel->function, reach->blocks);
    for (unsigned i = 0; i < reach->count; i++) {
        reach->order[i] = (struct numbered){reach->blocks[i], i};
    }
    qsort(reach->order, reach->count, sizeof *reach->order, by_address);
    return true;
}

/* The return, made if no path has one. */
static LLVMBasicBlockRef exit_block(struct igc_kernel *kernel, const struct reach *reach) {
    for (unsigned i = 0; i < reach->count; i++) {
        if (ends_in_return(reach->blocks[i])) {
            return reach->blocks[i];
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
    for (unsigned i = reach->count; i-- > 0;) {
        LLVMValueRef terminator = LLVMGetBasicBlockTerminator(reach->blocks[i]);
        if (reach->reached[i] && !reach->leaves[i] && LLVMGetNumSuccessors(terminator) == 1) {
            return terminator;
        }
    }
    return NULL;
}

static bool is_endless(const struct reach *reach) {
    for (unsigned i = 0; i < reach->count; i++) {
        if (reach->reached[i] && !reach->leaves[i]) {
            return true;
        }
    }
    return false;
}

enum igc_result igc_leave_endless_loops(struct igc_kernel *kernel) {
    for (bool split = false;;) {
        struct reach reach;
        if (!reach_create(kernel, &reach)) {
            return igc_result_of(igc_out_of_memory(kernel));
        }
        find_leaving(&reach);
        if (!is_endless(&reach)) {
            return split ? IGC_CHANGED : IGC_UNCHANGED;
        }
        if (!split) {
            split = true;
            ingot_status status = igc_run_llvm(kernel, "function(break-crit-edges)");
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
