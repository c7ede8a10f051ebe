/*
 * Indices of arrays that lie in something larger: a[i][j] with j behind its line, s.member[i]
 * behind the member, v[i] behind a vector's components. The address is in the variable all the
 * same.
 *
 * Looks at what was written as a subscript: getelementptr of an array type, from the access inwards
 * until something was added to a pointer. Does not look at accesses of more than an element
 * (*(device float4 *)&a[i][j]), nor at arrays of one or no element: more follows those on purpose.
 */
#include "compiler/sanitize/sanitize.h"

enum { MOST_STEPS = 16 };

static bool is_into_object(LLVMValueRef pointer) {
    if (!LLVMIsAGetElementPtrInst(pointer) || LLVMGetNumOperands(pointer) < 3) {
        return false;
    }
    LLVMValueRef first = LLVMGetOperand(pointer, 1);
    return LLVMIsAConstantInt(first) && LLVMIsNull(first);
}

/* Known to be one of so many? */
static bool is_small(LLVMValueRef index, uint64_t count) {
    return LLVMIsAConstantInt(index) && LLVMConstIntGetZExtValue(index) < count;
}

/* The subscripts of one getelementptr; false: the access is of more than an element. */
static bool subscripts_of(struct igc_kernel *kernel, LLVMValueRef pointer, bool is_innermost,
                          const struct igs_access *access, struct igs_subscripts *found) {
    LLVMTypeRef type = LLVMGetGEPSourceElementType(pointer);
    unsigned count = (unsigned)LLVMGetNumOperands(pointer);
    for (unsigned i = 2; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(pointer, i);
        if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            type = LLVMStructGetTypeAtIndex(type, (unsigned)LLVMConstIntGetZExtValue(index));
            continue;
        }
        bool is_array = LLVMGetTypeKind(type) == LLVMArrayTypeKind;
        uint64_t length = is_array ? LLVMGetArrayLength2(type) : 0;
        uint64_t size = LLVMABISizeOfType(kernel->layout, type);
        type = LLVMGetElementType(type);
        if (is_innermost && i + 1 == count &&
            access->bytes > LLVMABISizeOfType(kernel->layout, type)) {
            return false;
        }
        if (length > 1 && !is_small(index, length) && found->count < IGS_MOST_SUBSCRIPTS) {
            found->items[found->count++] = (struct igs_subscript){index, length, size};
        }
    }
    return true;
}

void igs_find_subscripts(struct igc_kernel *kernel, const struct igs_access *access,
                         struct igs_subscripts *found) {
    *found = (struct igs_subscripts){0};
    LLVMValueRef pointer = access->pointer;
    for (unsigned i = 0; access->bytes && !access->is_tile && i < MOST_STEPS; i++) {
        if (!is_into_object(pointer) || !subscripts_of(kernel, pointer, i == 0, access, found)) {
            break;
        }
        pointer = LLVMGetOperand(pointer, 0);
    }
    struct igs_root root = igs_find_root(kernel, pointer);
    if (found->count == 1 && pointer == root.base && found->items[0].bytes == root.bytes) {
        found->count = 0; /* of the whole variable, whose size is compared anyhow */
    }
}
