/*
 * memcpy, memmove and memset as loads and stores of elements, so that private arrays can be
 * interleaved and copies of device memory vectorise like any other access.
 *
 * Short copies of known length are written out, long ones and those of unknown length become
 * loops. The element is as wide as the alignment, the length and the types behind the pointers
 * allow.
 */
#include "compiler/cpu/prepare/prepare.h"
#include "compiler/ir/builtins.h"

#include <string.h>

#define MAX_WRITTEN_OUT 64u /* elements */
#define WIDEST_UNKNOWN  4u  /* bytes, when nothing tells the element type */

struct copy {
    LLVMValueRef call, to, from, value; /* from: copies; value: memset's byte */
    LLVMValueRef length;
    bool overlaps; /* memmove */
    unsigned width;
};

static bool is_copy(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    return igi_intrinsic_flags_of(instruction) & IGI_I_COPIES;
}

/* The smallest scalar in a type. */
static uint64_t smallest_leaf(LLVMTargetDataRef layout, LLVMTypeRef type) {
    uint64_t least = 8;
    switch (LLVMGetTypeKind(type)) {
    case LLVMStructTypeKind:
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++) {
            uint64_t leaf = smallest_leaf(layout, LLVMStructGetTypeAtIndex(type, i));
            least = leaf < least ? leaf : least;
        }
        return least;
    case LLVMArrayTypeKind:
    case LLVMVectorTypeKind:
        return smallest_leaf(layout, LLVMGetElementType(type));
    default:
        return LLVMStoreSizeOfType(layout, type);
    }
}

/* The type that lies at a pointer, as far as the code that makes the pointer tells. */
struct place {
    LLVMTypeRef type; /* NULL: not known */
    uint64_t offset;  /* of the pointer in it */
};

static LLVMTypeRef indexed_type(LLVMValueRef gep) {
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    for (int i = 2; i < LLVMGetNumOperands(gep); i++) {
        LLVMValueRef index = LLVMGetOperand(gep, (unsigned)i);
        bool field = LLVMGetTypeKind(type) == LLVMStructTypeKind;
        type = field ? LLVMStructGetTypeAtIndex(type, (unsigned)LLVMConstIntGetZExtValue(index))
                     : LLVMGetElementType(type);
    }
    return type;
}

static struct place place_of(LLVMValueRef pointer) {
    bool constant = LLVMIsAConstantExpr(pointer) != NULL;
    if (LLVMIsAAllocaInst(pointer)) {
        return (struct place){LLVMGetAllocatedType(pointer), 0};
    }
    if (LLVMIsAGlobalVariable(pointer)) {
        return (struct place){LLVMGlobalGetValueType(pointer), 0};
    }
    if (LLVMIsAAddrSpaceCastInst(pointer) ||
        (constant && LLVMGetConstOpcode(pointer) == LLVMAddrSpaceCast)) {
        return place_of(LLVMGetOperand(pointer, 0));
    }
    if (!LLVMIsAGetElementPtrInst(pointer) &&
        !(constant && LLVMGetConstOpcode(pointer) == LLVMGetElementPtr)) {
        return (struct place){NULL, 0};
    }
    LLVMTypeRef type = LLVMGetGEPSourceElementType(pointer);
    LLVMValueRef index = LLVMGetOperand(pointer, 1);
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) != 8) {
        return (struct place){indexed_type(pointer), 0};
    }
    struct place base = place_of(LLVMGetOperand(pointer, 0));
    if (!LLVMIsAConstantInt(index) || LLVMConstIntGetSExtValue(index) < 0) {
        return (struct place){NULL, 0};
    }
    base.offset += LLVMConstIntGetZExtValue(index);
    return base;
}

/* The size of the scalar that begins at the offset; 0: none does. Past the end, the type is
 * taken to repeat. */
static uint64_t scalar_at(LLVMTargetDataRef layout, LLVMTypeRef type, uint64_t offset) {
    uint64_t size = LLVMABISizeOfType(layout, type);
    if (!size) {
        return 0;
    }
    offset %= size;
    switch (LLVMGetTypeKind(type)) {
    case LLVMStructTypeKind: {
        unsigned field = LLVMElementAtOffset(layout, type, offset);
        uint64_t start = LLVMOffsetOfElement(layout, type, field);
        LLVMTypeRef member = LLVMStructGetTypeAtIndex(type, field);
        return offset - start < LLVMABISizeOfType(layout, member)
                   ? scalar_at(layout, member, offset - start)
                   : 0;
    }
    case LLVMArrayTypeKind:
    case LLVMVectorTypeKind: {
        LLVMTypeRef element = LLVMGetElementType(type);
        uint64_t each = LLVMStoreSizeOfType(layout, element);
        bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
        if (vector && offset >= each * LLVMGetVectorSize(type)) {
            return 0;
        }
        return scalar_at(layout, element,
                         offset % (vector ? each : LLVMABISizeOfType(layout, element)));
    }
    default:
        return offset ? 0 : LLVMStoreSizeOfType(layout, type);
    }
}

static uint64_t widest_for(struct igc_kernel *kernel, LLVMValueRef pointer) {
    struct place place = place_of(pointer);
    return place.type ? smallest_leaf(kernel->layout, place.type) : WIDEST_UNKNOWN;
}

static unsigned align_of_operand(LLVMValueRef call, unsigned operand) {
    unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
    LLVMAttributeRef attribute = LLVMGetCallSiteEnumAttribute(call, operand + 1, kind);
    return attribute ? (unsigned)LLVMGetEnumAttributeValue(attribute) : 1;
}

static unsigned width_for(struct igc_kernel *kernel, const struct copy *copy) {
    uint64_t width = 8,
             limits[4] = {align_of_operand(copy->call, 0), widest_for(kernel, copy->to), 8, 8};
    if (copy->from) {
        limits[2] = align_of_operand(copy->call, 1);
        limits[3] = widest_for(kernel, copy->from);
    }
    for (int i = 0; i < 4; i++) {
        if (limits[i] < width) {
            width = limits[i];
        }
    }
    if (!LLVMIsAConstantInt(copy->length)) {
        return 1;
    }
    while (width & (width - 1)) {
        width &= width - 1;
    }
    return width ? (unsigned)width : 1;
}

/* memset's byte in every byte of the type. */
static LLVMValueRef repeated(struct igc_kernel *kernel, LLVMValueRef byte, LLVMTypeRef type) {
    LLVMValueRef wide = LLVMBuildZExt(kernel->builder, byte, type, "");
    return LLVMBuildMul(kernel->builder, wide, igc_integer(type, UINT64_C(0x0101010101010101)), "");
}

static LLVMValueRef load_element(struct igc_kernel *kernel, const struct copy *copy,
                                 LLVMTypeRef type, LLVMValueRef pointer) {
    if (!copy->from) {
        return repeated(kernel, copy->value, type);
    }
    LLVMValueRef load = LLVMBuildLoad2(kernel->builder, type, pointer, "");
    LLVMSetAlignment(load, LLVMGetIntTypeWidth(type) / 8);
    return load;
}

static void store_element(struct igc_kernel *kernel, LLVMValueRef value, LLVMValueRef pointer) {
    LLVMValueRef store = LLVMBuildStore(kernel->builder, value, pointer);
    LLVMSetAlignment(store, LLVMGetIntTypeWidth(LLVMTypeOf(value)) / 8);
}

/* How wide the element at offset `at` may be; `before` is the width of the one before it, which
 * padding continues. */
static unsigned width_at(struct igc_kernel *kernel, const struct copy *copy, uint64_t at,
                         uint64_t length, unsigned before) {
    struct place to = place_of(copy->to);
    struct place from = copy->from ? place_of(copy->from) : (struct place){NULL, 0};
    uint64_t a = to.type ? scalar_at(kernel->layout, to.type, to.offset + at) : 0;
    uint64_t b = from.type ? scalar_at(kernel->layout, from.type, from.offset + at) : 0;
    uint64_t width = a && b ? (a < b ? a : b) : a + b;
    unsigned align_to = align_of_operand(copy->call, 0);
    unsigned align_from = copy->from ? align_of_operand(copy->call, 1) : align_to;
    if (!width) {
        width = before;
    }
    if (width > 8) {
        width = 8;
    }
    while (width & (width - 1)) {
        width &= width - 1;
    }
    while (width > 1 &&
           (width > align_to || width > align_from || at % width || width > length - at)) {
        width /= 2;
    }
    return (unsigned)width;
}

/* Element by element; false when there are too many. All loads first: the two sides may
 * overlap. */
static bool write_out(struct igc_kernel *kernel, const struct copy *copy, uint64_t start,
                      uint64_t length) {
    LLVMValueRef values[MAX_WRITTEN_OUT];
    uint64_t offsets[MAX_WRITTEN_OUT];
    unsigned widths[MAX_WRITTEN_OUT], width = WIDEST_UNKNOWN;
    size_t count = 0;
    for (uint64_t at = start; at < length; at += width) {
        if (count == MAX_WRITTEN_OUT) {
            return false;
        }
        width = width_at(kernel, copy, at, length, width);
        offsets[count] = at;
        widths[count++] = width;
    }
    for (size_t i = 0; i < count; i++) {
        LLVMTypeRef type = LLVMIntTypeInContext(kernel->context, widths[i] * 8);
        LLVMValueRef from = copy->from ? igc_byte_offset(kernel, copy->from, offsets[i]) : NULL;
        values[i] = load_element(kernel, copy, type, from);
    }
    for (size_t i = 0; i < count; i++) {
        store_element(kernel, values[i], igc_byte_offset(kernel, copy->to, offsets[i]));
    }
    return true;
}

/* for (i = 0; i < count; i++) to[i] = from[i]; backwards when that is what an overlap needs. */
static void write_loop(struct igc_kernel *kernel, const struct copy *copy, LLVMValueRef count) {
    LLVMBuilderRef builder = kernel->builder;
    LLVMTypeRef type = LLVMIntTypeInContext(kernel->context, copy->width * 8);
    LLVMBasicBlockRef tail = LLVMGetInstructionParent(copy->call);
    LLVMBasicBlockRef head = igi_split_before(kernel->builder, copy->call);
    LLVMBasicBlockRef body = LLVMInsertBasicBlockInContext(kernel->context, tail, "copy");
    LLVMPositionBuilderAtEnd(builder, head);
    LLVMValueRef zero = igc_integer(kernel->i64, 0), one = igc_integer(kernel->i64, 1);
    LLVMValueRef some = LLVMBuildICmp(builder, LLVMIntNE, count, zero, "");
    LLVMValueRef backwards = NULL;
    if (copy->overlaps) {
        LLVMValueRef to = LLVMBuildPtrToInt(builder, copy->to, kernel->i64, "");
        LLVMValueRef from = LLVMBuildPtrToInt(builder, copy->from, kernel->i64, "");
        backwards = LLVMBuildICmp(builder, LLVMIntUGT, to, from, "");
    }
    LLVMBuildCondBr(builder, some, body, tail);
    LLVMPositionBuilderAtEnd(builder, body);
    LLVMValueRef step = LLVMBuildPhi(builder, kernel->i64, ""), index = step;
    LLVMValueRef next = LLVMBuildNUWAdd(builder, step, one, "");
    if (backwards) {
        index =
            LLVMBuildSelect(builder, backwards, LLVMBuildSub(builder, count, next, ""), step, "");
    }
    LLVMValueRef from = copy->from ? LLVMBuildGEP2(builder, type, copy->from, &index, 1, "") : NULL;
    LLVMValueRef value = load_element(kernel, copy, type, from);
    store_element(kernel, value, LLVMBuildGEP2(builder, type, copy->to, &index, 1, ""));
    LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntULT, next, count, ""), body, tail);
    LLVMValueRef values[2] = {zero, next};
    LLVMBasicBlockRef blocks[2] = {head, body};
    LLVMAddIncoming(step, values, blocks, 2);
}

static void expand(struct igc_kernel *kernel, LLVMValueRef call) {
    enum igi_intrinsic intrinsic = igi_intrinsic_of(call);
    bool set = intrinsic == IGI_LLVM_memset || intrinsic == IGI_LLVM_memset_inline;
    struct copy copy = {.call = call,
                        .to = LLVMGetOperand(call, 0),
                        .from = set ? NULL : LLVMGetOperand(call, 1),
                        .value = set ? LLVMGetOperand(call, 1) : NULL,
                        .length = LLVMGetOperand(call, 2),
                        .overlaps = intrinsic == IGI_LLVM_memmove};
    copy.width = width_for(kernel, &copy);
    LLVMPositionBuilderBefore(kernel->builder, call);
    if (!LLVMIsAConstantInt(copy.length)) {
        LLVMValueRef count =
            LLVMBuildIntCast2(kernel->builder, copy.length, kernel->i64, false, "");
        write_loop(kernel, &copy, count);
    } else {
        uint64_t length = LLVMConstIntGetZExtValue(copy.length);
        if (!write_out(kernel, &copy, 0, length)) {
            if (copy.overlaps && length % copy.width) {
                copy.width = 1; /* one loop then does all of it */
            }
            write_loop(kernel, &copy, igc_integer(kernel->i64, length / copy.width));
            LLVMPositionBuilderBefore(kernel->builder, call);
            write_out(kernel, &copy, length / copy.width * copy.width, length);
        }
    }
    LLVMInstructionEraseFromParent(call);
}

enum igc_result igv_prepare_copies(struct igc_kernel *kernel) {
    struct igc_list calls = igc_collect(kernel, is_copy);
    if (calls.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < calls.count; i++) {
        expand(kernel, calls.items[i]);
    }
    return calls.count ? IGC_CHANGED : IGC_UNCHANGED;
}
