/*
 * Addresses: getelementptr in scalar and vector form, and taking pointers apart.
 *
 * Interleaved private arrays keep granule k of all 32 lanes side by side, so byte offsets into
 * them are multiplied by 32.
 */
#include "compiler/cpu/vectorise/state.h"

static unsigned granule_of(struct igv_emit *emit, LLVMValueRef pointer) {
    struct igv_value *known = igv_lookup(emit, pointer);
    return known ? known->private_granule : 0;
}

/* Byte offset of the indices of a gep; scalar or one chunk of lanes. */
static LLVMValueRef byte_offset(struct igv_emit *emit, LLVMValueRef gep, bool vector,
                                unsigned chunk, uint64_t factor) {
    LLVMBuilderRef b = emit->builder;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    LLVMTypeRef wide = vector ? igv_vector_type(emit, emit->i64) : emit->i64;
    LLVMValueRef total = LLVMConstNull(wide);
    unsigned count = (unsigned)LLVMGetNumOperands(gep);
    for (unsigned i = 1; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(gep, i), part;
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
            uint64_t offset = LLVMOffsetOfElement(emit->layout, type, field) * factor;
            part = igv_u64(emit, offset);
            part = vector ? igv_splat(emit, part) : part;
            type = LLVMStructGetTypeAtIndex(type, field);
        } else {
            if (i > 1) {
                type = LLVMGetElementType(type);
            }
            LLVMValueRef x = vector ? igv_vector(emit, index, chunk) : igv_scalar(emit, index);
            x = LLVMBuildIntCast2(b, x, wide, 1, "");
            LLVMValueRef size = igv_u64(emit, LLVMABISizeOfType(emit->layout, type) * factor);
            part = LLVMBuildMul(b, x, vector ? igv_splat(emit, size) : size, "");
        }
        total = LLVMBuildAdd(b, total, part, "");
    }
    return total;
}

LLVMValueRef igv_emit_gep_scalar(struct igv_emit *emit, LLVMValueRef gep) {
    LLVMValueRef base = igv_scalar(emit, LLVMGetOperand(gep, 0));
    if (granule_of(emit, gep)) {
        LLVMValueRef offset = byte_offset(emit, gep, false, 0, INGOT_SIMD_WIDTH);
        return LLVMBuildGEP2(emit->builder, emit->i8, base, &offset, 1, "");
    }
    LLVMValueRef indices[16];
    unsigned count = (unsigned)LLVMGetNumOperands(gep) - 1;
    if (count > 16) {
        LLVMValueRef offset = byte_offset(emit, gep, false, 0, 1);
        return LLVMBuildGEP2(emit->builder, emit->i8, base, &offset, 1, "");
    }
    for (unsigned i = 0; i < count; i++) {
        indices[i] = igv_scalar(emit, LLVMGetOperand(gep, i + 1));
    }
    return LLVMBuildGEP2(emit->builder, LLVMGetGEPSourceElementType(gep), base, indices, count, "");
}

LLVMValueRef igv_emit_gep_vector(struct igv_emit *emit, LLVMValueRef gep, unsigned chunk) {
    LLVMValueRef pointer = LLVMGetOperand(gep, 0);
    bool uniform = igv_exact_shape(emit, pointer, NULL) == IGV_V_UNIFORM;
    LLVMValueRef base = uniform ? igv_scalar(emit, pointer) : igv_vector(emit, pointer, chunk);
    unsigned count = (unsigned)LLVMGetNumOperands(gep) - 1;
    if (granule_of(emit, gep) || count > 16) {
        uint64_t factor = granule_of(emit, gep) ? INGOT_SIMD_WIDTH : 1;
        LLVMValueRef offset = byte_offset(emit, gep, true, chunk, factor);
        return LLVMBuildGEP2(emit->builder, emit->i8, base, &offset, 1, "");
    }
    LLVMValueRef indices[16];
    bool any_vector = !uniform;
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(gep, i + 1);
        bool same = igv_exact_shape(emit, index, NULL) == IGV_V_UNIFORM;
        indices[i] = same ? igv_scalar(emit, index) : igv_vector(emit, index, chunk);
        any_vector |= !same;
    }
    LLVMValueRef result =
        LLVMBuildGEP2(emit->builder, LLVMGetGEPSourceElementType(gep), base, indices, count, "");
    return any_vector ? result : igv_splat(emit, result);
}

/* x + c or x | c (disjoint) → x, c */
static LLVMValueRef split_constant(LLVMValueRef index, long *constant) {
    *constant = 0;
    if (!LLVMIsAInstruction(index)) {
        return index;
    }
    LLVMOpcode opcode = LLVMGetInstructionOpcode(index);
    bool sum = opcode == LLVMAdd || (opcode == LLVMOr && LLVMGetIsDisjoint(index));
    if (!sum || !LLVMIsAConstantInt(LLVMGetOperand(index, 1))) {
        return index;
    }
    *constant = LLVMConstIntGetSExtValue(LLVMGetOperand(index, 1));
    return LLVMGetOperand(index, 0);
}

static bool constant_offset(LLVMTargetDataRef layout, LLVMValueRef gep, long *offset) {
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    unsigned count = (unsigned)LLVMGetNumOperands(gep);
    long total = 0;
    for (unsigned i = 1; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(gep, i);
        if (!LLVMIsAConstantInt(index)) {
            return false;
        }
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
            total += (long)LLVMOffsetOfElement(layout, type, field);
            type = LLVMStructGetTypeAtIndex(type, field);
            continue;
        }
        if (i > 1) {
            type = LLVMGetElementType(type);
        }
        total += LLVMConstIntGetSExtValue(index) * (long)LLVMABISizeOfType(layout, type);
    }
    *offset = total;
    return true;
}

struct igv_address igv_split_pointer(LLVMTargetDataRef layout, LLVMValueRef pointer) {
    struct igv_address address = {pointer, NULL, 0, 0};
    while (LLVMIsAInstruction(address.base) &&
           LLVMGetInstructionOpcode(address.base) == LLVMGetElementPtr) {
        LLVMValueRef gep = address.base;
        long offset;
        if (constant_offset(layout, gep, &offset)) {
            address.offset += offset;
            address.base = LLVMGetOperand(gep, 0);
            continue;
        }
        if (LLVMGetNumOperands(gep) != 2) {
            break;
        }
        long constant, scale = (long)LLVMABISizeOfType(layout, LLVMGetGEPSourceElementType(gep));
        LLVMValueRef index = LLVMGetOperand(gep, 1);
        LLVMOpcode opcode = LLVMIsAInstruction(index) ? LLVMGetInstructionOpcode(index) : LLVMRet;
        /* zext (x | c): the sum cannot carry, so the constant may leave the extension */
        if (opcode == LLVMZExt) {
            LLVMValueRef inner = LLVMGetOperand(index, 0);
            if (LLVMIsAInstruction(inner) && LLVMGetInstructionOpcode(inner) == LLVMOr) {
                address.index = split_constant(inner, &constant);
            } else {
                address.index = inner, constant = 0;
            }
        } else {
            address.index = split_constant(index, &constant);
        }
        address.scale = scale;
        address.offset += constant * scale;
        address.base = LLVMGetOperand(gep, 0);
        break;
    }
    return address;
}
