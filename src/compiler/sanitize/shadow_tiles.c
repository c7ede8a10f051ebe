/*
 * Shadows of simdgroup_load and simdgroup_store: in threadgroup memory they are loaded and stored
 * as tiles themselves; those of buffers are asked for element by element.
 */
#include "compiler/ir/builtins.h"
#include "compiler/sanitize/shadow.h"

static LLVMValueRef number(struct igs_shadows *shadows, uint64_t value) {
    return igc_integer(shadows->kernel->i64, value);
}

/* The address of this lane's element. */
static LLVMValueRef element_address(struct igs_shadows *shadows, LLVMValueRef call, unsigned which,
                                    uint64_t bytes) {
    struct igc_kernel *kernel = shadows->kernel;
    LLVMValueRef lane = igs_call(kernel, IGI_thread_index_in_simdgroup, NULL, 0);
    lane = LLVMBuildZExt(kernel->builder, lane, kernel->i64, "");
    LLVMValueRef index = igs_tile_index(kernel, call, lane, number(shadows, which));
    LLVMTypeRef element = LLVMIntTypeInContext(kernel->context, (unsigned)bytes * 8);
    return LLVMBuildGEP2(kernel->builder, element, LLVMGetOperand(call, 0), &index, 1, "");
}

static bool is_device(LLVMValueRef call) {
    enum igi_family family = igi_family_of(call);
    return family == IGI_FAMILY_LOAD_DEVICE || family == IGI_FAMILY_STORE_DEVICE;
}

static struct igs_access access_of(struct igs_shadows *shadows, LLVMValueRef call) {
    struct igs_access access = igs_access_of(shadows->kernel, call);
    igs_check_address(shadows, &access);
    access.size = number(shadows, access.alignment); /* of one element */
    return access;
}

/* Where the shadow of a tile in threadgroup memory is. A tile out of bounds is elsewhere, and what
 * is there is its own shadow. */
static LLVMValueRef shadow_pointer(struct igs_shadows *shadows, LLVMValueRef call) {
    LLVMValueRef pointer = LLVMGetOperand(call, 0);
    if (igs_is_elsewhere(pointer)) {
        return pointer;
    }
    LLVMValueRef other = LLVMIsASelectInst(pointer) ? LLVMGetOperand(pointer, 2) : NULL;
    if (!other || !igs_is_elsewhere(other)) {
        return igs_shadow_pointer(shadows, pointer, call);
    }
    LLVMValueRef inside = igs_shadow_pointer(shadows, LLVMGetOperand(pointer, 1), call);
    return LLVMBuildSelect(shadows->kernel->builder, LLVMGetOperand(pointer, 0), inside, other, "");
}

void igs_shadow_tile_load(struct igs_shadows *shadows, LLVMValueRef call) {
    struct igc_kernel *kernel = shadows->kernel;
    LLVMBuilderRef b = kernel->builder;
    struct igs_access access = access_of(shadows, call);
    unsigned may = igs_may_be(shadows, call);
    if (!may) {
        return;
    }
    uint32_t origin = igs_origin_of(shadows, call, &access);
    if (is_device(call)) {
        LLVMValueRef which = LLVMGetOperand(call, 3);
        unsigned index = LLVMIsAConstantInt(which) ? (unsigned)LLVMConstIntGetZExtValue(which) : 0;
        LLVMValueRef at = element_address(shadows, call, index, access.alignment);
        LLVMValueRef is = igs_is_unwritten(shadows, &access, at, origin);
        igs_set_shadow(shadows, call,
                       LLVMBuildSelect(b, is, igs_source(shadows, origin, may),
                                       igc_integer(kernel->i32, 0), ""));
        return;
    }
    LLVMValueRef args[4] = {shadow_pointer(shadows, call)};
    for (unsigned i = 1; i < 4; i++) {
        args[i] = LLVMGetOperand(call, i);
    }
    LLVMValueRef bytes = igs_call(kernel, igi_builtin_of(call), args, 4);
    igs_set_shadow(shadows, call, igs_from_bytes(shadows, bytes, origin, may));
}

void igs_shadow_tile_store(struct igs_shadows *shadows, LLVMValueRef call) {
    struct igc_kernel *kernel = shadows->kernel;
    struct igs_access access = access_of(shadows, call);
    LLVMValueRef value[2] = {LLVMGetOperand(call, 3), LLVMGetOperand(call, 4)};
    if (is_device(call)) {
        uint32_t origin = igs_origin_of(shadows, call, &access);
        for (unsigned i = 0; i < 2; i++) {
            igs_check_use(shadows, call, igs_shadow_of(shadows, value[i]),
                          igs_may_be(shadows, value[i]), IGS_USE_STORE, &access);
            if (shadows->asked & IGS_MAY_UNWRITTEN) {
                LLVMValueRef at = element_address(shadows, call, i, access.alignment);
                igs_is_written(shadows, &access, at, origin);
            }
        }
        return;
    }
    if (!shadows->threadgroup) {
        return;
    }
    LLVMValueRef args[5] = {shadow_pointer(shadows, call), LLVMGetOperand(call, 1),
                            LLVMGetOperand(call, 2)};
    LLVMTypeRef form = LLVMIntTypeInContext(kernel->context, access.alignment * 8);
    for (unsigned i = 0; i < 2; i++) {
        args[3 + i] =
            igs_to_bytes(shadows, igs_shadow_of(shadows, value[i]), form, shadows->threadgroup);
    }
    igs_call(kernel, igi_builtin_of(call), args, 5);
}
