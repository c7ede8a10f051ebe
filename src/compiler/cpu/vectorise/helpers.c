/* Small pieces of IR that the emission and the lowerings of built-ins share. */
#include "compiler/cpu/vectorise/state.h"

LLVMValueRef igv_u32(struct igv_emit *emit, uint32_t value) {
    return LLVMConstInt(emit->i32, value, 0);
}

LLVMValueRef igv_u64(struct igv_emit *emit, uint64_t value) {
    return LLVMConstInt(emit->i64, value, 0);
}

LLVMTypeRef igv_vector_type(struct igv_emit *emit, LLVMTypeRef scalar) {
    return LLVMVectorType(scalar, emit->lanes);
}

LLVMValueRef igv_splat(struct igv_emit *emit, LLVMValueRef scalar) {
    LLVMTypeRef type = igv_vector_type(emit, LLVMTypeOf(scalar));
    LLVMValueRef poison = LLVMGetPoison(type);
    if (LLVMIsUndef(scalar) || LLVMIsPoison(scalar)) {
        return poison;
    }
    if (LLVMIsConstant(scalar)) {
        LLVMValueRef elements[32];
        for (unsigned i = 0; i < emit->lanes; i++) {
            elements[i] = scalar;
        }
        return LLVMConstVector(elements, emit->lanes);
    }
    LLVMValueRef one = LLVMBuildInsertElement(emit->builder, poison, scalar, igv_u64(emit, 0), "");
    LLVMValueRef zeros = LLVMConstNull(igv_vector_type(emit, emit->i32));
    return LLVMBuildShuffleVector(emit->builder, one, poison, zeros, "");
}

LLVMValueRef igv_iota(struct igv_emit *emit, LLVMTypeRef scalar, long base, long stride,
                      unsigned chunk) {
    LLVMValueRef elements[32];
    for (unsigned i = 0; i < emit->lanes; i++) {
        long lane = (long)(chunk * emit->lanes + i);
        unsigned long value = (unsigned long)base + (unsigned long)stride * (unsigned long)lane;
        unsigned width = LLVMGetIntTypeWidth(scalar);
        if (width < 64) {
            value &= (1ul << width) - 1;
        }
        elements[i] = LLVMConstInt(scalar, value, 0);
    }
    return LLVMConstVector(elements, emit->lanes);
}

static LLVMValueRef shuffle_range(struct igv_emit *emit, LLVMValueRef left, LLVMValueRef right,
                                  unsigned first, unsigned count) {
    LLVMValueRef indices[64];
    for (unsigned i = 0; i < count; i++) {
        indices[i] = igv_u32(emit, first + i);
    }
    return LLVMBuildShuffleVector(emit->builder, left, right, LLVMConstVector(indices, count), "");
}

LLVMValueRef igv_concat(struct igv_emit *emit, const LLVMValueRef *chunks) {
    LLVMValueRef parts[IGV_MAX_CHUNKS];
    unsigned count = emit->chunks, width = emit->lanes;
    for (unsigned i = 0; i < count; i++) {
        parts[i] = chunks[i];
    }
    while (count > 1) {
        width *= 2;
        for (unsigned i = 0; i < count / 2; i++) {
            parts[i] = shuffle_range(emit, parts[2 * i], parts[2 * i + 1], 0, width);
        }
        count /= 2;
    }
    return parts[0];
}

LLVMValueRef igv_slice(struct igv_emit *emit, LLVMValueRef vector32, unsigned chunk) {
    LLVMValueRef poison = LLVMGetPoison(LLVMTypeOf(vector32));
    return shuffle_range(emit, vector32, poison, chunk * emit->lanes, emit->lanes);
}

LLVMValueRef igv_intrinsic(struct igv_emit *emit, const char *name, LLVMTypeRef *types,
                           unsigned type_count, LLVMValueRef *args, unsigned arg_count) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(emit->module, id, types, type_count);
    LLVMTypeRef type = LLVMIntrinsicGetType(emit->context, id, types, type_count);
    return LLVMBuildCall2(emit->builder, type, function, args, arg_count, "");
}

LLVMValueRef igv_offset(struct igv_emit *emit, LLVMValueRef pointer, long bytes) {
    if (bytes == 0) {
        return pointer;
    }
    LLVMValueRef offset = LLVMConstInt(emit->i64, (unsigned long)bytes, 1);
    return LLVMBuildGEP2(emit->builder, emit->i8, pointer, &offset, 1, "");
}

static void mark_invariant(struct igv_emit *emit, LLVMValueRef load) {
    unsigned kind = LLVMGetMDKindIDInContext(emit->context, "invariant.load", 14);
    LLVMValueRef empty =
        LLVMMetadataAsValue(emit->context, LLVMMDNodeInContext2(emit->context, NULL, 0));
    LLVMSetMetadata(load, kind, empty);
}

LLVMValueRef igv_group_field(struct igv_emit *emit, size_t offset, LLVMTypeRef type) {
    LLVMValueRef address = igv_offset(emit, emit->group, (long)offset);
    LLVMValueRef load = LLVMBuildLoad2(emit->builder, type, address, "");
    mark_invariant(emit, load);
    return load;
}

LLVMValueRef igv_call_service(struct igv_emit *emit, size_t offset, LLVMTypeRef result,
                              LLVMValueRef *args, unsigned arg_count) {
    LLVMValueRef all[8] = {emit->group};
    LLVMTypeRef types[8] = {emit->ptr};
    for (unsigned i = 0; i < arg_count && i < 7; i++) {
        all[i + 1] = args[i];
        types[i + 1] = LLVMTypeOf(args[i]);
    }
    LLVMValueRef services =
        igv_group_field(emit, offsetof(struct ingot_cpu_group, services), emit->ptr);
    LLVMValueRef entry =
        LLVMBuildLoad2(emit->builder, emit->ptr, igv_offset(emit, services, (long)offset), "");
    mark_invariant(emit, entry);
    LLVMTypeRef type = LLVMFunctionType(result, types, arg_count + 1, 0);
    return LLVMBuildCall2(emit->builder, type, entry, all, arg_count + 1, "");
}

LLVMValueRef igv_entry_alloca(struct igv_emit *emit, LLVMTypeRef type, unsigned align) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(emit->context);
    LLVMValueRef first = LLVMGetFirstInstruction(emit->state->entry);
    if (first) {
        LLVMPositionBuilderBefore(builder, first);
    } else {
        LLVMPositionBuilderAtEnd(builder, emit->state->entry);
    }
    LLVMValueRef result = LLVMBuildAlloca(builder, type, "");
    if (align) {
        LLVMSetAlignment(result, align);
    }
    LLVMDisposeBuilder(builder);
    return result;
}

LLVMValueRef igv_frame(struct igv_emit *emit) {
    if (!emit->frame) {
        uint64_t lanes = (uint64_t)emit->lanes * emit->chunks;
        LLVMTypeRef type = LLVMArrayType2(emit->i32, emit->request->kept->words * lanes);
        emit->frame = igv_entry_alloca(emit, type, 64);
        emit->state->private_bytes += LLVMABISizeOfType(emit->layout, type);
    }
    return emit->frame;
}

LLVMValueRef igv_callers_frame(struct igv_emit *emit) {
    return LLVMGetParam(emit->function, 3);
}

/* while (bits) { lane = cttz(bits); body; bits &= bits - 1; } */
void igv_for_each_lane(struct igv_emit *emit,
                       void (*body)(struct igv_emit *emit, LLVMValueRef lane, void *data),
                       void *data) {
    LLVMValueRef slot = igv_entry_alloca(emit, emit->i32, 0);
    LLVMBuildStore(emit->builder, igv_mask_bits(emit), slot);
    LLVMBasicBlockRef head = igv_append_block(emit, "lane.head");
    LLVMBasicBlockRef work = igv_append_block(emit, "lane.work");
    LLVMBasicBlockRef done = igv_append_block(emit, "lane.done");
    LLVMBuildBr(emit->builder, head);

    LLVMPositionBuilderAtEnd(emit->builder, head);
    LLVMValueRef bits = LLVMBuildLoad2(emit->builder, emit->i32, slot, "");
    LLVMValueRef left = LLVMBuildICmp(emit->builder, LLVMIntNE, bits, LLVMConstNull(emit->i32), "");
    LLVMBuildCondBr(emit->builder, left, work, done);

    LLVMPositionBuilderAtEnd(emit->builder, work);
    LLVMValueRef args[] = {bits, LLVMConstInt(emit->i1, 1, 0)};
    LLVMValueRef lane = igv_intrinsic(emit, "llvm.cttz", &emit->i32, 1, args, 2);
    body(emit, lane, data);
    LLVMValueRef less = LLVMBuildSub(emit->builder, bits, igv_u32(emit, 1), "");
    LLVMBuildStore(emit->builder, LLVMBuildAnd(emit->builder, bits, less, ""), slot);
    LLVMBuildBr(emit->builder, head);

    LLVMPositionBuilderAtEnd(emit->builder, done);
}

LLVMValueRef igv_extract(struct igv_emit *emit, LLVMValueRef value, LLVMValueRef lane) {
    struct igv_value *known = igv_lookup(emit, value);
    if (!known || known->shape == IGV_V_UNIFORM) {
        return igv_scalar(emit, value);
    }
    LLVMTypeRef type = igv_mapped_type(emit, LLVMTypeOf(value));
    LLVMTypeRef memory = type == emit->i1 ? emit->i8 : type;
    LLVMValueRef array = igv_entry_alloca(emit, LLVMArrayType(memory, INGOT_SIMD_WIDTH), 64);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef vector = igv_vector(emit, value, chunk);
        if (type == emit->i1) {
            vector = LLVMBuildZExt(emit->builder, vector, igv_vector_type(emit, memory), "");
        }
        LLVMValueRef index = igv_u32(emit, chunk * emit->lanes);
        LLVMValueRef place = LLVMBuildGEP2(emit->builder, memory, array, &index, 1, "");
        LLVMSetAlignment(LLVMBuildStore(emit->builder, vector, place),
                         (unsigned)LLVMABISizeOfType(emit->layout, memory));
    }
    LLVMValueRef place = LLVMBuildGEP2(emit->builder, memory, array, &lane, 1, "");
    LLVMValueRef element = LLVMBuildLoad2(emit->builder, memory, place, "");
    return type == emit->i1 ? LLVMBuildTrunc(emit->builder, element, emit->i1, "") : element;
}
