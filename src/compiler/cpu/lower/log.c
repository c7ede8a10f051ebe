/*
 * __ingot_log: one call of the device's log service per active lane, in ascending order.
 *
 * Requires the argument slots of a thread to lie contiguously in its private memory.
 */
#include <stddef.h>

#include "compiler/cpu/lower/lower.h"

static void log_lane(struct igv_emit *emit, LLVMValueRef lane, void *data) {
    const struct igl_spilled *operands = data;
    LLVMValueRef args[4];
    for (unsigned i = 0; i < 4; i++) {
        args[i] = igl_lane(emit, &operands[i], lane);
    }
    igv_call_service(emit, offsetof(struct ingot_cpu_services, log),
                     LLVMVoidTypeInContext(emit->context), args, 4);
}

void igl_log(struct igv_emit *emit, LLVMValueRef call) {
    struct igl_spilled operands[4];
    for (unsigned i = 0; i < 4; i++) {
        operands[i] = igl_spill(emit, igl_operand(call, i));
    }
    igv_for_each_lane(emit, log_lane, operands);
}
