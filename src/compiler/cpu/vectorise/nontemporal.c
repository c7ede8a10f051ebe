/*
 * __ingot_stream_b32 and _b16: stores of results that are too large for the caches.
 *
 * Lanes side by side, all active and at an aligned address are stored past the caches (which saves
 * reading the lines first) when the kernel's third operand says so at run time; whatever else is an
 * ordinary store. Who waits for the kernel must order such stores: the device has a fence at the
 * end of kernels with INGOT_CPU_KERNEL_NONTEMPORAL.
 *
 * __ingot_prefetch: a line that is read soon.
 */
#include "compiler/cpu/vectorise/state.h"

static void store_past_caches(struct igv_emit *emit, LLVMValueRef value, LLVMValueRef base,
                              unsigned bytes) {
    LLVMValueRef one = igv_u32(emit, 1);
    LLVMValueRef node = LLVMMDNodeInContext(emit->context, &one, 1);
    unsigned kind = LLVMGetMDKindIDInContext(emit->context, "nontemporal", 11);
    emit->state->streams = true;
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef place = igv_offset(emit, base, (long)(chunk * bytes));
        LLVMValueRef store = LLVMBuildStore(emit->builder, igv_vector(emit, value, chunk), place);
        LLVMSetAlignment(store, bytes);
        LLVMSetMetadata(store, kind, node);
    }
}

/* i1: the flag is set, the address aligned to a vector and every lane active. */
static LLVMValueRef may_stream(struct igv_emit *emit, LLVMValueRef flag, LLVMValueRef base,
                               unsigned bytes) {
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef wanted = LLVMBuildICmp(b, LLVMIntNE, flag, igv_u32(emit, 0), "");
    LLVMValueRef address = LLVMBuildPtrToInt(b, base, emit->i64, "");
    LLVMValueRef odd = LLVMBuildAnd(b, address, igv_u64(emit, bytes - 1), "");
    LLVMValueRef aligned = LLVMBuildICmp(b, LLVMIntEQ, odd, igv_u64(emit, 0), "");
    LLVMValueRef both = LLVMBuildAnd(b, wanted, aligned, "");
    if (igv_mask_is_full(emit)) {
        return both;
    }
    LLVMValueRef all = LLVMBuildICmp(b, LLVMIntEQ, igv_mask_bits(emit), igv_u32(emit, ~0u), "");
    return LLVMBuildAnd(b, both, all, "");
}

static void store_side_by_side(struct igv_emit *emit, LLVMValueRef value, LLVMValueRef pointer,
                               LLVMValueRef flag, unsigned size) {
    unsigned bytes = size * emit->lanes;
    LLVMValueRef base = igv_scalar(emit, pointer);
    LLVMBasicBlockRef past = igv_append_block(emit, "stream.past");
    LLVMBasicBlockRef plain = igv_append_block(emit, "stream.plain");
    LLVMBasicBlockRef join = igv_append_block(emit, "stream.done");
    LLVMBuildCondBr(emit->builder, may_stream(emit, flag, base, bytes), past, plain);
    LLVMPositionBuilderAtEnd(emit->builder, past);
    store_past_caches(emit, value, base, bytes);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, plain);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        igv_masked_store(emit, igv_vector(emit, value, chunk),
                         igv_offset(emit, base, (long)(chunk * bytes)), size, chunk);
    }
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, join);
}

static void store_anywhere(struct igv_emit *emit, LLVMValueRef value, LLVMValueRef pointer,
                           unsigned size) {
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        igv_scatter(emit, igv_vector(emit, value, chunk), igv_vector(emit, pointer, chunk), size,
                    chunk);
    }
}

void igv_emit_stream(struct igv_emit *emit, LLVMValueRef call) {
    LLVMValueRef value = LLVMGetOperand(call, 0), pointer = LLVMGetOperand(call, 1);
    LLVMValueRef flag = LLVMGetOperand(call, 2);
    unsigned size = (unsigned)LLVMStoreSizeOfType(emit->layout, LLVMTypeOf(value));
    long stride = 0;
    enum igv_value_shape shape = igv_exact_shape(emit, pointer, &stride);
    bool side_by_side = stride == (long)size && igv_shape_of(emit, flag) == IGV_UNIFORM;
    if (side_by_side && shape == IGV_V_LINEAR) {
        store_side_by_side(emit, value, pointer, igv_scalar(emit, flag), size);
        return;
    }
    if (!side_by_side || shape != IGV_V_CHECKED) {
        store_anywhere(emit, value, pointer, size);
        return;
    }
    LLVMBasicBlockRef fast = igv_append_block(emit, "stream.linear");
    LLVMBasicBlockRef slow = igv_append_block(emit, "stream.wraps");
    LLVMBasicBlockRef join = igv_append_block(emit, "stream.both");
    LLVMBuildCondBr(emit->builder, igv_wraps(emit, pointer), slow, fast);
    LLVMPositionBuilderAtEnd(emit->builder, fast);
    store_side_by_side(emit, value, pointer, igv_scalar(emit, flag), size);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, slow);
    store_anywhere(emit, value, pointer, size);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, join);
}

void igv_emit_prefetch(struct igv_emit *emit, LLVMValueRef call) {
    LLVMValueRef pointer = LLVMGetOperand(call, 0);
    if (igv_shape_of(emit, pointer) != IGV_UNIFORM) {
        return;
    }
    enum { READ = 0, KEEP_IN_ALL_CACHES = 3, DATA = 1 };
    LLVMValueRef operands[] = {igv_scalar(emit, pointer), igv_u32(emit, READ),
                               igv_u32(emit, KEEP_IN_ALL_CACHES), igv_u32(emit, DATA)};
    LLVMTypeRef type = LLVMTypeOf(operands[0]);
    igv_intrinsic(emit, "llvm.prefetch", &type, 1, operands, 4);
}

void igv_emit_nothing(struct igv_emit *emit, LLVMValueRef call) {
    (void)emit, (void)call;
}
