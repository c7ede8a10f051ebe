/*
 * Operands and results of built-ins, whatever shape the analysis found for them.
 *
 * Requires the operand and result helpers of emit.h. Does not look at what an instruction is.
 */
#include "compiler/cpu/lower/lower.h"

LLVMValueRef igl_operand(LLVMValueRef call, unsigned index) {
    return LLVMGetOperand(call, index);
}

bool igl_constant(LLVMValueRef value, uint64_t *number) {
    if (!LLVMIsAConstantInt(value)) {
        return false;
    }
    *number = LLVMConstIntGetZExtValue(value);
    return true;
}

LLVMValueRef igl_uniform(struct igv_emit *emit, LLVMValueRef value) {
    if (igv_shape_of(emit, value) == IGV_UNIFORM) {
        return igv_scalar(emit, value);
    }
    if (igv_mask_is_full(emit)) {
        return LLVMBuildExtractElement(emit->builder, igv_vector(emit, value, 0), igv_u32(emit, 0),
                                       "");
    }
    LLVMValueRef args[] = {igv_mask_bits(emit), LLVMConstInt(emit->i1, 0, false)};
    LLVMValueRef first = igl_call(emit, "llvm.cttz", emit->i32, args, 2);
    first = LLVMBuildAnd(emit->builder, first, igv_u32(emit, IGL_WIDTH - 1), "");
    return igv_extract(emit, value, first);
}

struct igl_chunks igl_vectors(struct igv_emit *emit, LLVMValueRef value) {
    struct igl_chunks result = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        result.chunk[c] = igv_vector(emit, value, c);
    }
    return result;
}

void igl_define_uniform(struct igv_emit *emit, LLVMValueRef instruction, LLVMValueRef scalar) {
    if (igv_shape_of(emit, instruction) == IGV_UNIFORM) {
        igv_define_scalar(emit, instruction, scalar);
        return;
    }
    LLVMValueRef vector = igv_splat(emit, scalar);
    for (unsigned c = 0; c < emit->chunks; c++) {
        igv_define_vector(emit, instruction, c, vector);
    }
}

void igl_define_chunks(struct igv_emit *emit, LLVMValueRef instruction,
                       const struct igl_chunks *result) {
    if (igv_shape_of(emit, instruction) == IGV_UNIFORM) {
        igv_define_scalar(
            emit, instruction,
            LLVMBuildExtractElement(emit->builder, result->chunk[0], igv_u32(emit, 0), ""));
        return;
    }
    for (unsigned c = 0; c < emit->chunks; c++) {
        igv_define_vector(emit, instruction, c, result->chunk[c]);
    }
}

void igl_compiler_fence(struct igv_emit *emit) {
    LLVMBuildFence(emit->builder, LLVMAtomicOrderingSequentiallyConsistent, true, "");
}

LLVMValueRef igl_call(struct igv_emit *emit, const char *intrinsic, LLVMTypeRef type,
                      LLVMValueRef *args, unsigned arg_count) {
    return igv_intrinsic(emit, intrinsic, &type, 1, args, arg_count);
}

LLVMValueRef igl_lane_array(struct igv_emit *emit, LLVMTypeRef scalar) {
    return igv_entry_alloca(emit, LLVMArrayType2(scalar, IGL_WIDTH), 64);
}

static LLVMValueRef lane_array_element(struct igv_emit *emit, LLVMValueRef array,
                                       LLVMTypeRef scalar, LLVMValueRef lane) {
    return LLVMBuildGEP2(emit->builder, scalar, array, &lane, 1, "");
}

void igl_lane_array_store(struct igv_emit *emit, LLVMValueRef array, LLVMTypeRef scalar,
                          LLVMValueRef lane, LLVMValueRef value) {
    LLVMBuildStore(emit->builder, value, lane_array_element(emit, array, scalar, lane));
}

void igl_define_from_lane_array(struct igv_emit *emit, LLVMValueRef instruction, LLVMValueRef array,
                                LLVMTypeRef scalar) {
    struct igl_chunks result = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef from = lane_array_element(emit, array, scalar, igv_u32(emit, c * emit->lanes));
        result.chunk[c] = LLVMBuildLoad2(emit->builder, igv_vector_type(emit, scalar), from, "");
        LLVMSetAlignment(result.chunk[c], LLVMABIAlignmentOfType(emit->layout, scalar));
    }
    igl_define_chunks(emit, instruction, &result);
}

struct igl_spilled igl_spill(struct igv_emit *emit, LLVMValueRef value) {
    struct igl_spilled spilled = {NULL, NULL, NULL};
    if (igv_shape_of(emit, value) == IGV_UNIFORM) {
        spilled.scalar = igv_scalar(emit, value);
        spilled.type = LLVMTypeOf(spilled.scalar);
        return spilled;
    }
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef vector = igv_vector(emit, value, c);
        if (c == 0) {
            spilled.type = LLVMGetElementType(LLVMTypeOf(vector));
            spilled.array = igl_lane_array(emit, spilled.type);
        }
        LLVMValueRef to =
            lane_array_element(emit, spilled.array, spilled.type, igv_u32(emit, c * emit->lanes));
        LLVMSetAlignment(LLVMBuildStore(emit->builder, vector, to),
                         LLVMABIAlignmentOfType(emit->layout, spilled.type));
    }
    return spilled;
}

LLVMValueRef igl_lane(struct igv_emit *emit, const struct igl_spilled *value, LLVMValueRef lane) {
    if (value->scalar) {
        return value->scalar;
    }
    return LLVMBuildLoad2(emit->builder, value->type,
                          lane_array_element(emit, value->array, value->type, lane), "");
}

void igl_mark_invariant(struct igv_emit *emit, LLVMValueRef load) {
    LLVMValueRef empty =
        LLVMMetadataAsValue(emit->context, LLVMMDNodeInContext2(emit->context, NULL, 0));
    LLVMSetMetadata(load, LLVMGetMDKindIDInContext(emit->context, "invariant.load", 14), empty);
}
