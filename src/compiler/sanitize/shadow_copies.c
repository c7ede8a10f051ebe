/* Shadows of copies: memcpy, memmove and memset, between private, threadgroup and device memory. */
#include "compiler/ir/builtins.h"
#include "compiler/sanitize/shadow.h"

enum { MOST_CHECKED = 256 };

static void set_all(struct igs_shadows *shadows, LLVMValueRef at, LLVMValueRef byte,
                    const struct igs_access *to) {
    if (at) {
        LLVMBuildMemSet(shadows->kernel->builder, at, byte, to->size, to->alignment);
    }
}

/* Is any of the bytes bad? As a value's shadow. Only of so many, and a constant number. */
static LLVMValueRef any_byte(struct igs_shadows *shadows, const struct igs_access *from,
                             LLVMValueRef at, uint32_t origin, unsigned may) {
    struct igc_kernel *kernel = shadows->kernel;
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef any = igc_integer(kernel->i64, 0);
    uint64_t bytes = from->bytes <= MOST_CHECKED ? from->bytes : 0;
    for (uint64_t done = 0; done < bytes;) {
        uint64_t size = bytes - done >= 8 ? 8 : bytes - done >= 4 ? 4 : bytes - done >= 2 ? 2 : 1;
        LLVMTypeRef type = LLVMIntTypeInContext(kernel->context, (unsigned)size * 8);
        LLVMValueRef part = LLVMBuildLoad2(b, type, igc_byte_offset(kernel, at, done), "");
        LLVMSetAlignment(part, 1);
        any = LLVMBuildOr(b, any, LLVMBuildZExt(b, part, kernel->i64, ""), "");
        done += size;
    }
    return igs_from_bytes(shadows, any, origin, may);
}

/* To a buffer: a use, and what is there is written. */
static void to_buffer(struct igs_shadows *shadows, const struct igs_access *to, LLVMValueRef shadow,
                      unsigned may) {
    if (shadow && may) {
        igs_check_use(shadows, to->instruction, shadow, may, IGS_USE_STORE, to);
    }
    if (shadows->asked & IGS_MAY_UNWRITTEN) {
        igs_is_written(shadows, to, to->pointer, igs_origin_of(shadows, to->instruction, to));
    }
}

static void copy(struct igs_shadows *shadows, const struct igs_access *from,
                 const struct igs_access *to) {
    struct igc_kernel *kernel = shadows->kernel;
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef call = to->instruction, zero = igc_integer(kernel->i8, 0);
    unsigned from_memory = igs_memory_of(shadows, from->pointer);
    unsigned to_memory = igs_memory_of(shadows, to->pointer);
    unsigned from_may = igs_memory_may_be(shadows, from_memory);
    unsigned to_may = igs_memory_may_be(shadows, to_memory);
    bool to_device = to_memory == IGS_MEMORY_DEVICE;
    LLVMValueRef target = NULL, source = NULL;
    if (!to_device && to_may) {
        target = igs_shadow_pointer(shadows, to->pointer, call);
    }
    if (from_memory == IGS_MEMORY_DEVICE && from_may && (target || to_device)) {
        uint32_t origin = igs_origin_of(shadows, call, from);
        LLVMValueRef is = igs_is_unwritten(shadows, from, from->pointer, origin);
        if (to_device) {
            LLVMValueRef shadow = LLVMBuildSelect(b, is, igs_source(shadows, origin, from_may),
                                                  igc_integer(kernel->i32, 0), "");
            to_buffer(shadows, to, shadow, from_may);
        } else {
            set_all(shadows, target, LLVMBuildZExt(b, is, kernel->i8, ""), to);
        }
        return;
    }
    if (from_may) {
        source = igs_shadow_pointer(shadows, from->pointer, call);
    }
    if (to_device) {
        uint32_t origin = source ? igs_origin_of(shadows, call, from) : 0;
        LLVMValueRef shadow = source ? any_byte(shadows, from, source, origin, from_may) : NULL;
        to_buffer(shadows, to, shadow, from_may);
    } else if (target && source) {
        if (igi_intrinsic_of(call) == IGI_LLVM_memmove) {
            LLVMBuildMemMove(b, target, to->alignment, source, from->alignment, to->size);
        } else {
            LLVMBuildMemCpy(b, target, to->alignment, source, from->alignment, to->size);
        }
    } else {
        set_all(shadows, target, zero, to);
    }
}

void igs_shadow_copy(struct igs_shadows *shadows, LLVMValueRef call) {
    struct igs_access accesses[IGS_MOST_ACCESSES];
    unsigned count = igs_accesses_of(shadows->kernel, call, accesses);
    for (unsigned i = 0; i < count; i++) {
        igs_check_address(shadows, &accesses[i]);
    }
    if (count == 2) {
        copy(shadows, &accesses[0], &accesses[1]);
        return;
    }
    const struct igs_access *to = &accesses[0];
    unsigned memory = igs_memory_of(shadows, to->pointer);
    LLVMValueRef value = LLVMGetOperand(call, 1);
    if (memory == IGS_MEMORY_DEVICE) {
        to_buffer(shadows, to, igs_shadow_of(shadows, value), igs_may_be(shadows, value));
    } else if (igs_memory_may_be(shadows, memory)) {
        LLVMValueRef byte = igs_to_bytes(shadows, igs_shadow_of(shadows, value),
                                         shadows->kernel->i8, igs_memory_may_be(shadows, memory));
        set_all(shadows, igs_shadow_pointer(shadows, to->pointer, call), byte, to);
    }
}
