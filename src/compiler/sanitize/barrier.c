/*
 * barrier: every barrier is told to the device, which sees by the mask and by the order of arrivals
 * who misses one (src/runtime/sanitize/barrier.c).
 *
 * A place's detail is 1 for those of a SIMD-group, 2 for those of a threadgroup.
 */
#include "compiler/ir/builtins.h"
#include "compiler/sanitize/sanitize.h"

static bool is_barrier(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    return igi_is_call_of(instruction, IGI_barrier);
}

enum igc_result igs_check_barrier(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_barrier);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < list.count; i++) {
        uint32_t number;
        struct igs_place *place = igs_place_of(kernel, IG_SANITIZE_barrier, list.items[i], &number);
        if (!place) {
            return IGC_FAILED;
        }
        LLVMValueRef scope = LLVMGetOperand(list.items[i], 0);
        LLVMValueRef zero = igc_integer(kernel->i64, 0);
        place->place.detail =
            LLVMIsAConstantInt(scope) ? (uint32_t)LLVMConstIntGetZExtValue(scope) : 2;
        LLVMPositionBuilderBefore(kernel->builder, list.items[i]);
        igs_tell(kernel, number, zero, zero);
    }
    return IGC_CHANGED;
}
