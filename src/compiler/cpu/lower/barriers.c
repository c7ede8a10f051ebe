/*
 * Barriers and fences, the condition of edges that only hold code in its loop, the end of a
 * recursion, and traps.
 *
 * The lanes of a SIMD-group run in lockstep and in program order, and the SIMD-groups of a
 * threadgroup on one thread, so that within a threadgroup it is enough to keep LLVM from
 * moving memory operations. Other threadgroups may run on other threads: fences of device
 * scope are real.
 */
#include <stddef.h>
#include <stdio.h>

#include "compiler/cpu/lower/lower.h"

enum {
    SCOPE_SIMDGROUP = 1,     /* __ingot_barrier */
    FENCE_ORDER_RELAXED = 0, /* __ingot_fence, as metal::memory_order */
    FENCE_ORDER_ACQ_REL = 4,
    FENCE_SCOPE_DEVICE = 2, /* as metal::thread_scope */
    FENCE_SCOPE_SYSTEM = 3,
};

void igl_barrier(struct igv_emit *emit, LLVMValueRef call) {
    uint64_t scope;
    igl_compiler_fence(emit);
    if (igl_constant(igl_operand(call, 0), &scope) && scope == SCOPE_SIMDGROUP) {
        return;
    }
    LLVMValueRef args[] = {emit->simdgroup, igv_mask_bits(emit)};
    igv_call_service(emit, offsetof(struct ingot_cpu_services, barrier),
                     LLVMVoidTypeInContext(emit->context), args, 2);
}

void igl_fence(struct igv_emit *emit, LLVMValueRef call) {
    uint64_t order = FENCE_ORDER_ACQ_REL + 1, scope = FENCE_SCOPE_DEVICE;
    igl_constant(igl_operand(call, 1), &order);
    igl_constant(igl_operand(call, 2), &scope);
    if ((scope != FENCE_SCOPE_DEVICE && scope != FENCE_SCOPE_SYSTEM) ||
        order == FENCE_ORDER_RELAXED) {
        igl_compiler_fence(emit);
        return;
    }
    LLVMBuildFence(emit->builder,
                   order <= FENCE_ORDER_ACQ_REL ? LLVMAtomicOrderingAcquireRelease
                                                : LLVMAtomicOrderingSequentiallyConsistent,
                   false, "");
}

void igl_never(struct igv_emit *emit, LLVMValueRef call) {
    igv_define_scalar(emit, call, LLVMConstInt(emit->i1, 0, false));
}

static void end_launch(struct igv_emit *emit, const char *reason) {
    LLVMValueRef text = LLVMBuildGlobalStringPtr(emit->builder, reason, "");
    igv_call_service(emit, offsetof(struct ingot_cpu_services, trap),
                     LLVMVoidTypeInContext(emit->context), &text, 1);
}

void igl_trap(struct igv_emit *emit, LLVMValueRef call) {
    (void)call;
    end_launch(emit, INGOT_CPU_TRAPPED);
}

void igl_too_deep(struct igv_emit *emit, LLVMValueRef call) {
    uint64_t levels = 0;
    char reason[160];
    igl_constant(igl_operand(call, 0), &levels);
    snprintf(reason, sizeof reason,
             "a function called itself more than %u levels deep; Metal has no recursion, and this "
             "compiler unrolls it as far as that",
             (unsigned)levels);
    end_launch(emit, reason);
}
