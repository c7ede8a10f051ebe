/*
 * Where a value that nobody wrote, or that no lane gave, is a finding: where it is stored to a
 * buffer, decides a branch, or says where memory is accessed or which lane is read.
 */
#include "compiler/sanitize/shadow.h"

/* The value that the runtime gets is the shadow: it names where the value came from. */
static void check_one(struct igs_shadows *shadows, LLVMValueRef instruction, LLVMValueRef good,
                      LLVMValueRef shadow, enum ig_sanitize_kind kind, enum igs_use use,
                      const struct igs_access *access) {
    struct igc_kernel *kernel = shadows->kernel;
    uint32_t number;
    struct igs_place *place = igs_place_of(kernel, kind, instruction, &number);
    if (!place) {
        return;
    }
    if (access) {
        struct igs_root root = igs_find_root(kernel, access->pointer);
        igs_describe_access(kernel, place, access, &root);
    }
    place->place.detail = use;
    igs_expect(kernel, good, number, LLVMBuildZExt(kernel->builder, shadow, kernel->i64, ""));
}

void igs_check_use(struct igs_shadows *shadows, LLVMValueRef instruction, LLVMValueRef shadow,
                   unsigned may, enum igs_use use, const struct igs_access *access) {
    LLVMBuilderRef b = shadows->kernel->builder;
    LLVMTypeRef word = shadows->kernel->i32;
    shadow = igs_any_element(shadows, shadow);
    if (LLVMIsNull(shadow)) {
        return;
    }
    LLVMValueRef mark = igc_integer(word, INGOT_CPU_NEVER_WRITTEN);
    LLVMValueRef zero = igc_integer(word, 0);
    if (may & IGS_MAY_UNWRITTEN) {
        LLVMValueRef good = LLVMBuildICmp(b, LLVMIntULT, shadow, mark, "");
        check_one(shadows, instruction, good, shadow, IG_SANITIZE_uninitialised, use, access);
    }
    if (may & IGS_MAY_NO_LANE) {
        LLVMValueRef good = LLVMBuildICmp(b, LLVMIntEQ, shadow, zero, "");
        if (may & IGS_MAY_UNWRITTEN) {
            LLVMValueRef other = LLVMBuildICmp(b, LLVMIntUGE, shadow, mark, "");
            good = LLVMBuildOr(b, good, other, "");
        }
        check_one(shadows, instruction, good, shadow, IG_SANITIZE_lanes, use, access);
    }
}
