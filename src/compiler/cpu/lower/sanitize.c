/*
 * The sanitizer's built-ins: one call of the device for all lanes that a check is about, with their
 * mask and an array of their values. A check that holds in all lanes costs a comparison and a
 * branch.
 */
#include <stddef.h>

#include "compiler/cpu/lower/lower.h"

static LLVMValueRef sanitizer_field(struct igv_emit *emit, size_t offset) {
    LLVMValueRef table =
        igv_group_field(emit, offsetof(struct ingot_cpu_group, sanitizer), emit->ptr);
    LLVMValueRef index = igv_u64(emit, offset);
    LLVMValueRef address = LLVMBuildGEP2(emit->builder, emit->i8, table, &index, 1, "");
    LLVMValueRef field = LLVMBuildLoad2(emit->builder, emit->ptr, address, "");
    igl_mark_invariant(emit, field);
    return field;
}

/* The values of all lanes as an array on the stack. */
static LLVMValueRef spill_all(struct igv_emit *emit, LLVMValueRef value) {
    LLVMValueRef array = igl_lane_array(emit, emit->i64);
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef index = igv_u32(emit, c * emit->lanes);
        LLVMValueRef to = LLVMBuildGEP2(emit->builder, emit->i64, array, &index, 1, "");
        LLVMSetAlignment(LLVMBuildStore(emit->builder, igv_vector(emit, value, c), to), 8);
    }
    return array;
}

struct device_call {
    size_t entry; /* in struct ingot_cpu_sanitizer */
    LLVMTypeRef result;
    LLVMValueRef mask, place;
    LLVMValueRef values[2];
    unsigned count;
};

static LLVMValueRef call_device(struct igv_emit *emit, const struct device_call *call) {
    LLVMTypeRef types[6] = {emit->ptr, emit->i32, emit->i32, emit->i32, emit->ptr, emit->ptr};
    LLVMValueRef args[6] = {emit->group, emit->simdgroup, call->mask,
                            igv_scalar(emit, call->place)};
    for (unsigned i = 0; i < call->count; i++) {
        args[4 + i] = spill_all(emit, call->values[i]);
    }
    LLVMTypeRef type = LLVMFunctionType(call->result, types, 4 + call->count, false);
    return LLVMBuildCall2(emit->builder, type, sanitizer_field(emit, call->entry), args,
                          4 + call->count, "");
}

/* The lanes of `mask` for which a varying i1 is false, as bits. */
static LLVMValueRef failing_lanes(struct igv_emit *emit, LLVMValueRef ok) {
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef all = igv_mask_bits(emit);
    if (igv_shape_of(emit, ok) == IGV_UNIFORM) {
        LLVMValueRef holds = LLVMBuildFreeze(b, igv_scalar(emit, ok), "");
        return LLVMBuildSelect(b, holds, igv_u32(emit, 0), all, "");
    }
    LLVMTypeRef narrow = LLVMIntTypeInContext(emit->context, emit->lanes);
    LLVMValueRef good = igv_u32(emit, 0);
    for (unsigned c = 0; c < emit->chunks; c++) {
        /* what an inactive lane has may be poison, which must not reach the others' bits */
        LLVMValueRef lanes = LLVMBuildFreeze(b, igv_vector(emit, ok, c), "");
        LLVMValueRef bits = LLVMBuildBitCast(b, lanes, narrow, "");
        bits = LLVMBuildZExt(b, bits, emit->i32, "");
        bits = LLVMBuildShl(b, bits, igv_u32(emit, c * emit->lanes), "");
        good = LLVMBuildOr(b, good, bits, "");
    }
    return LLVMBuildAnd(b, all, LLVMBuildNot(b, good, ""), "");
}

static LLVMBasicBlockRef new_block(struct igv_emit *emit) {
    return LLVMAppendBasicBlockInContext(emit->context, emit->function, "");
}

static void branch_where_any(struct igv_emit *emit, LLVMValueRef bits, LLVMBasicBlockRef some,
                             LLVMBasicBlockRef none) {
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef any = LLVMBuildICmp(b, LLVMIntNE, bits, igv_u32(emit, 0), "");
    LLVMBuildCondBr(b, any, some, none);
    LLVMPositionBuilderAtEnd(b, some);
}

void igl_san_expect(struct igv_emit *emit, LLVMValueRef call) {
    uint64_t ok = 0;
    if (igl_constant(igl_operand(call, 0), &ok) && ok) {
        return;
    }
    LLVMBasicBlockRef report = new_block(emit), after = new_block(emit);
    LLVMValueRef bits = failing_lanes(emit, igl_operand(call, 0));
    branch_where_any(emit, bits, report, after);
    call_device(emit, &(struct device_call){.entry = offsetof(struct ingot_cpu_sanitizer, report),
                                            .result = LLVMVoidTypeInContext(emit->context),
                                            .mask = bits,
                                            .place = igl_operand(call, 1),
                                            .values = {igl_operand(call, 2)},
                                            .count = 1});
    LLVMBuildBr(emit->builder, after);
    LLVMPositionBuilderAtEnd(emit->builder, after);
}

void igl_san_all(struct igv_emit *emit, LLVMValueRef call) {
    LLVMValueRef bits = failing_lanes(emit, igl_operand(call, 0));
    LLVMValueRef all = LLVMBuildICmp(emit->builder, LLVMIntEQ, bits, igv_u32(emit, 0), "");
    igl_define_uniform(emit, call, all);
}

/* Tells the device if any lane of `bits` is there. `first` is the number of the operand that is the
 * place. */
static void tell_device(struct igv_emit *emit, LLVMValueRef call, LLVMValueRef bits,
                        unsigned first) {
    LLVMBasicBlockRef tell = new_block(emit), after = new_block(emit);
    branch_where_any(emit, bits, tell, after);
    call_device(emit, &(struct device_call){
                          .entry = offsetof(struct ingot_cpu_sanitizer, tell),
                          .result = LLVMVoidTypeInContext(emit->context),
                          .mask = bits,
                          .place = igl_operand(call, first),
                          .values = {igl_operand(call, first + 1), igl_operand(call, first + 2)},
                          .count = 2});
    LLVMBuildBr(emit->builder, after);
    LLVMPositionBuilderAtEnd(emit->builder, after);
}

void igl_san_count(struct igv_emit *emit, LLVMValueRef call) {
    LLVMBasicBlockRef count = new_block(emit), after = new_block(emit);
    LLVMValueRef bits = igv_mask_bits(emit);
    branch_where_any(emit, bits, count, after);
    call_device(emit, &(struct device_call){.entry = offsetof(struct ingot_cpu_sanitizer, count),
                                            .result = LLVMVoidTypeInContext(emit->context),
                                            .mask = bits,
                                            .place = igl_operand(call, 0)});
    LLVMBuildBr(emit->builder, after);
    LLVMPositionBuilderAtEnd(emit->builder, after);
}

/* Where it is known of an argument, at the launch, that nobody writes to it, nothing is told. */
static LLVMValueRef watched_lanes(struct igv_emit *emit, uint64_t ordinal) {
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef bits = igv_mask_bits(emit);
    if (ordinal == UINT32_MAX || !emit->request->buffer_slots) {
        return bits;
    }
    LLVMValueRef table =
        sanitizer_field(emit, offsetof(struct ingot_cpu_sanitizer, buffer_watched));
    LLVMValueRef index = igv_u64(emit, emit->request->buffer_slots[ordinal]);
    LLVMValueRef address = LLVMBuildGEP2(b, emit->i8, table, &index, 1, "");
    LLVMValueRef watched = LLVMBuildLoad2(b, emit->i8, address, "");
    igl_mark_invariant(emit, watched);
    LLVMValueRef any = LLVMBuildICmp(b, LLVMIntNE, watched, LLVMConstNull(emit->i8), "");
    return LLVMBuildSelect(b, any, bits, igv_u32(emit, 0), "");
}

/* Lane 1's less lane 0's, of a value that grows evenly: LLVM makes a constant of it. */
static LLVMValueRef stride_of(struct igv_emit *emit, LLVMValueRef value) {
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef vector = igv_vector(emit, value, 0);
    LLVMValueRef first = LLVMBuildExtractElement(b, vector, igv_u32(emit, 0), "");
    LLVMValueRef second = LLVMBuildExtractElement(b, vector, igv_u32(emit, 1), "");
    return LLVMBuildSub(b, second, first, "");
}

void igl_san_access(struct igv_emit *emit, LLVMValueRef call) {
    enum { PLACE, ORDINAL, ADDRESS, VALUE, ARGS = 7 };
    LLVMBuilderRef b = emit->builder;
    uint64_t ordinal = UINT32_MAX, zero = 1;
    igl_constant(igl_operand(call, ORDINAL), &ordinal);
    LLVMValueRef address = igl_operand(call, ADDRESS), value = igl_operand(call, VALUE);
    bool has_value = !igl_constant(value, &zero) || zero;
    LLVMBasicBlockRef tell = new_block(emit), after = new_block(emit);
    LLVMValueRef bits = watched_lanes(emit, ordinal);
    branch_where_any(emit, bits, tell, after);
    enum igv_shape shape = igv_shape_of(emit, address);
    LLVMTypeRef types[ARGS] = {emit->ptr, emit->i32, emit->i32, emit->i32,
                               emit->i64, emit->i64, emit->ptr};
    LLVMValueRef args[ARGS] = {emit->group, emit->simdgroup, bits,
                               igv_scalar(emit, igl_operand(call, PLACE))};
    if (shape == IGV_VARYING) {
        args[4] = LLVMBuildPtrToInt(b, spill_all(emit, address), emit->i64, "");
        args[5] = igv_u64(emit, (uint64_t)INGOT_CPU_SCATTERED);
    } else {
        args[4] = igv_scalar(emit, address);
        args[5] = shape == IGV_LINEAR ? stride_of(emit, address) : igv_u64(emit, 0);
    }
    args[6] = has_value ? spill_all(emit, value) : LLVMConstNull(emit->ptr);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(emit->context), types, ARGS, false);
    LLVMBuildCall2(b, type, sanitizer_field(emit, offsetof(struct ingot_cpu_sanitizer, access)),
                   args, ARGS, "");
    LLVMBuildBr(b, after);
    LLVMPositionBuilderAtEnd(b, after);
}

void igl_san_tell(struct igv_emit *emit, LLVMValueRef call) {
    tell_device(emit, call, igv_mask_bits(emit), 0);
}

/* Which of the lanes the device says, as an i1 of each lane. */
static void define_answer(struct igv_emit *emit, LLVMValueRef call, LLVMValueRef answer) {
    LLVMBuilderRef b = emit->builder;
    LLVMTypeRef narrow = LLVMIntTypeInContext(emit->context, emit->lanes);
    struct igl_chunks result = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef part = LLVMBuildLShr(b, answer, igv_u32(emit, c * emit->lanes), "");
        part = LLVMBuildTrunc(b, part, narrow, "");
        result.chunk[c] = LLVMBuildBitCast(b, part, igv_vector_type(emit, emit->i1), "");
    }
    igl_define_chunks(emit, call, &result);
}

/* Lanes of `mask` that are not in the range where the place's lanes were found last. `first` is the
 * number of the operand that is the place; an address and a size follow. */
static LLVMValueRef lanes_elsewhere(struct igv_emit *emit, LLVMValueRef call, unsigned first) {
    LLVMBuilderRef b = emit->builder;
    uint64_t place = 0;
    igl_constant(igl_operand(call, first), &place);
    LLVMValueRef ranges =
        igv_group_field(emit, offsetof(struct ingot_cpu_group, ranges), emit->ptr);
    size_t at = offsetof(struct ingot_cpu_ranges, items) +
                place % INGOT_CPU_RANGES * sizeof(struct ingot_cpu_range);
    LLVMValueRef fields[3]; /* start, bytes, place */
    for (unsigned i = 0; i < 3; i++) {
        LLVMValueRef index = igv_u64(emit, at + i * sizeof(uint64_t));
        LLVMValueRef address = LLVMBuildGEP2(b, emit->i8, ranges, &index, 1, "");
        fields[i] = LLVMBuildLoad2(b, emit->i64, address, "");
    }
    LLVMValueRef is_own = LLVMBuildICmp(b, LLVMIntEQ, fields[2], igv_u64(emit, place + 1), "");
    LLVMValueRef bytes = LLVMBuildSelect(b, is_own, fields[1], igv_u64(emit, 0), "");
    LLVMTypeRef narrow = LLVMIntTypeInContext(emit->context, emit->lanes);
    LLVMValueRef good = igv_u32(emit, 0);
    LLVMValueRef starts = igv_splat(emit, fields[0]), lengths = igv_splat(emit, bytes);
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef address =
            LLVMBuildFreeze(b, igv_vector(emit, igl_operand(call, first + 1), c), "");
        LLVMValueRef size =
            LLVMBuildFreeze(b, igv_vector(emit, igl_operand(call, first + 2), c), "");
        LLVMValueRef offset = LLVMBuildSub(b, address, starts, "");
        LLVMValueRef last = LLVMBuildSub(b, lengths, size, "");
        LLVMValueRef in = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntULE, size, lengths, ""),
                                       LLVMBuildICmp(b, LLVMIntULE, offset, last, ""), "");
        LLVMValueRef bits = LLVMBuildZExt(b, LLVMBuildBitCast(b, in, narrow, ""), emit->i32, "");
        bits = LLVMBuildShl(b, bits, igv_u32(emit, c * emit->lanes), "");
        good = LLVMBuildOr(b, good, bits, "");
    }
    return LLVMBuildAnd(b, igv_mask_bits(emit), LLVMBuildNot(b, good, ""), "");
}

/* Asks the device about the lanes of `bits` if any of `unclear` is there; else the answer is
 * `known`. `first` is the number of the operand that is the place. */
static void ask_device(struct igv_emit *emit, LLVMValueRef call, LLVMValueRef bits,
                       LLVMValueRef unclear, LLVMValueRef known, unsigned first) {
    LLVMBuilderRef b = emit->builder;
    LLVMBasicBlockRef from = LLVMGetInsertBlock(b), ask = new_block(emit), after = new_block(emit);
    branch_where_any(emit, unclear, ask, after);
    LLVMValueRef said =
        call_device(emit, &(struct device_call){.entry = offsetof(struct ingot_cpu_sanitizer, ask),
                                                .result = emit->i32,
                                                .mask = bits,
                                                .place = igl_operand(call, first),
                                                .values = {igl_operand(call, first + 1),
                                                           igl_operand(call, first + 2)},
                                                .count = 2});
    LLVMBasicBlockRef end = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, after);
    LLVMPositionBuilderAtEnd(b, after);
    LLVMValueRef answer = LLVMBuildPhi(b, emit->i32, "");
    LLVMValueRef values[] = {said, known};
    LLVMBasicBlockRef blocks[] = {end, from};
    LLVMAddIncoming(answer, values, blocks, 2);
    define_answer(emit, call, answer);
}

void igl_san_ask(struct igv_emit *emit, LLVMValueRef call) {
    LLVMValueRef bits = igv_mask_bits(emit);
    ask_device(emit, call, bits, lanes_elsewhere(emit, call, 0), bits, 0);
}

/* The active lanes if the argument's buffer may not have been written whole; else none. */
static LLVMValueRef lanes_of_unwritten(struct igv_emit *emit, LLVMValueRef call) {
    LLVMBuilderRef b = emit->builder;
    uint64_t ordinal = INGOT_CPU_NO_SLOT;
    igl_constant(igl_operand(call, 0), &ordinal);
    const uint32_t *slots = emit->request->buffer_slots;
    uint64_t slot = ordinal == INGOT_CPU_NO_SLOT || !slots ? 0 : (uint64_t)slots[ordinal] + 1;
    LLVMValueRef table = sanitizer_field(emit, offsetof(struct ingot_cpu_sanitizer, unwritten));
    LLVMValueRef index = igv_u64(emit, slot);
    LLVMValueRef address = LLVMBuildGEP2(b, emit->i8, table, &index, 1, "");
    LLVMValueRef flag = LLVMBuildLoad2(b, emit->i8, address, "");
    igl_mark_invariant(emit, flag);
    LLVMValueRef none = LLVMBuildICmp(b, LLVMIntEQ, flag, LLVMConstNull(emit->i8), "");
    return LLVMBuildSelect(b, none, igv_u32(emit, 0), igv_mask_bits(emit), "");
}

/* Those of them that are not where the place's lanes last found everything written. */
static LLVMValueRef lanes_to_ask_of(struct igv_emit *emit, LLVMValueRef call, LLVMValueRef bits) {
    LLVMBuilderRef b = emit->builder;
    LLVMBasicBlockRef from = LLVMGetInsertBlock(b), look = new_block(emit), after = new_block(emit);
    branch_where_any(emit, bits, look, after);
    LLVMValueRef elsewhere = LLVMBuildAnd(b, bits, lanes_elsewhere(emit, call, 1), "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, after);
    LLVMPositionBuilderAtEnd(b, after);
    LLVMValueRef result = LLVMBuildPhi(b, emit->i32, "");
    LLVMValueRef values[] = {elsewhere, igv_u32(emit, 0)};
    LLVMBasicBlockRef blocks[] = {end, from};
    LLVMAddIncoming(result, values, blocks, 2);
    return result;
}

void igl_san_is_unwritten(struct igv_emit *emit, LLVMValueRef call) {
    LLVMValueRef bits = lanes_of_unwritten(emit, call);
    ask_device(emit, call, bits, lanes_to_ask_of(emit, call, bits), igv_u32(emit, 0), 1);
}

void igl_san_written(struct igv_emit *emit, LLVMValueRef call) {
    tell_device(emit, call, lanes_to_ask_of(emit, call, lanes_of_unwritten(emit, call)), 1);
}

void igl_san_distance(struct igv_emit *emit, LLVMValueRef call) {
    igl_define_uniform(emit, call, igv_u64(emit, INGOT_CPU_SHADOW_DISTANCE));
}

void igl_san_bound(struct igv_emit *emit, LLVMValueRef call) {
    uint64_t ordinal = 0, is_threadgroup = 0;
    igl_constant(igl_operand(call, 0), &ordinal);
    igl_constant(igl_operand(call, 1), &is_threadgroup);
    const uint32_t *slots =
        is_threadgroup ? emit->request->threadgroup_slots : emit->request->buffer_slots;
    LLVMValueRef table = sanitizer_field(
        emit, is_threadgroup ? offsetof(struct ingot_cpu_sanitizer, threadgroup_bytes)
                             : offsetof(struct ingot_cpu_sanitizer, buffer_bytes));
    LLVMValueRef index = igv_u64(emit, slots ? slots[ordinal] : 0);
    LLVMValueRef address = LLVMBuildGEP2(emit->builder, emit->i64, table, &index, 1, "");
    LLVMValueRef bytes = LLVMBuildLoad2(emit->builder, emit->i64, address, "");
    igl_mark_invariant(emit, bytes);
    igl_define_uniform(emit, call, bytes);
}
