/*
 * lanes, the part that needs no shadows: operations on simdgroup_matrix that not all lanes of the
 * SIMD-group reach, because threads are missing or went another way.
 *
 * What reads lanes that are inactive is found where its value is used (uninitialised.c).
 */
#include "compiler/ir/builtins.h"
#include "compiler/sanitize/sanitize.h"

/* A tile's two elements are two calls, of which one is checked. */
static bool is_first(LLVMValueRef call, unsigned operand) {
    LLVMValueRef which = LLVMGetOperand(call, operand);
    return !LLVMIsAConstantInt(which) || LLVMIsNull(which);
}

static bool is_checked(struct igc_kernel *kernel, LLVMValueRef in) {
    (void)kernel;
    if (!LLVMIsACallInst(in)) {
        return false;
    }
    switch (igi_family_of(in)) {
    case IGI_FAMILY_MATRIX_PRODUCT:
        return is_first(in, 5);
    case IGI_FAMILY_LOAD_DEVICE:
    case IGI_FAMILY_LOAD_THREADGROUP:
        return is_first(in, 3);
    case IGI_FAMILY_STORE_DEVICE:
    case IGI_FAMILY_STORE_THREADGROUP:
        return true;
    default:
        return false;
    }
}

enum igc_result igs_check_lanes(struct igc_kernel *kernel) {
    LLVMBuilderRef b = kernel->builder;
    struct igc_list list = igc_collect(kernel, is_checked);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < list.count; i++) {
        uint32_t number;
        struct igs_place *place = igs_place_of(kernel, IG_SANITIZE_lanes, list.items[i], &number);
        if (!place) {
            return IGC_FAILED;
        }
        place->place.message = "an operation on a simdgroup_matrix that only some lanes reach";
        LLVMPositionBuilderBefore(b, list.items[i]);
        LLVMValueRef yes = igc_integer(kernel->i1, 1);
        LLVMValueRef active = igs_call(kernel, IGI_simd_ballot, &yes, 1);
        LLVMValueRef all = LLVMConstAllOnes(kernel->i32);
        igs_expect(kernel, LLVMBuildICmp(b, LLVMIntEQ, active, all, ""), number,
                   LLVMBuildZExt(b, active, kernel->i64, ""));
    }
    return IGC_CHANGED;
}
