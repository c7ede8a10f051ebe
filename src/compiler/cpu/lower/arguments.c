/*
 * Addresses of a kernel's arguments: buffers by slot, threadgroup memory by offset.
 *
 * The driver numbers the slots (igv_request.buffer_slots and threadgroup_slots, by ordinal).
 */
#include <stddef.h>

#include "compiler/cpu/lower/lower.h"

static LLVMValueRef invariant_load(struct igv_emit *emit, LLVMTypeRef type, size_t table_offset,
                                   uint32_t slot, LLVMTypeRef element) {
    LLVMValueRef table = igv_group_field(emit, table_offset, emit->ptr);
    LLVMValueRef index = igv_u64(emit, slot);
    LLVMValueRef address = LLVMBuildGEP2(emit->builder, element, table, &index, 1, "");
    LLVMValueRef load = LLVMBuildLoad2(emit->builder, type, address, "");
    igl_mark_invariant(emit, load);
    return load;
}

/* The slot of the parameter that the call names; false, and an error, if it names none. */
static bool slot_of(struct igv_emit *emit, LLVMValueRef call, const uint32_t *slots,
                    const char *kind, uint32_t *slot) {
    uint64_t ordinal;
    if (!slots || !igl_constant(igl_operand(call, 0), &ordinal)) {
        ig_fail(emit->error, INGOT_COMPILE_ERROR,
                "the address of a %s argument is asked for by a number that is not a constant",
                kind);
        igl_define_uniform(emit, call, LLVMConstNull(emit->ptr));
        return false;
    }
    *slot = slots[ordinal];
    return true;
}

void igl_arg_buffer(struct igv_emit *emit, LLVMValueRef call) {
    uint32_t slot;
    if (!slot_of(emit, call, emit->request->buffer_slots, "buffer", &slot)) {
        return;
    }
    igl_define_uniform(emit, call,
                       invariant_load(emit, emit->ptr, offsetof(struct ingot_cpu_group, buffers),
                                      slot, emit->ptr));
}

void igl_arg_threadgroup(struct igv_emit *emit, LLVMValueRef call) {
    uint32_t slot;
    if (!slot_of(emit, call, emit->request->threadgroup_slots, "threadgroup", &slot)) {
        return;
    }
    LLVMValueRef offset = invariant_load(
        emit, emit->i32, offsetof(struct ingot_cpu_group, threadgroup_offsets), slot, emit->i32);
    offset = LLVMBuildZExt(emit->builder, offset, emit->i64, "");
    LLVMValueRef memory =
        igv_group_field(emit, offsetof(struct ingot_cpu_group, threadgroup_memory), emit->ptr);
    igl_define_uniform(emit, call, LLVMBuildGEP2(emit->builder, emit->i8, memory, &offset, 1, ""));
}
