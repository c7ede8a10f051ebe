/* What the operators with quantised weights share. */
#ifndef INGOT_QUANTISE_TORCH_H
#define INGOT_QUANTISE_TORCH_H

#include "python/torch/operator_call.h"

/* The arguments from `packed` on: packed, scales, biases, bits, group. */
static inline ingot_quantised quantised_weights(struct operator_call *call, uint32_t packed) {
    return (ingot_quantised){.packed = argument_tensor(call, packed, LAYOUT_DENSE),
                             .scales = argument_tensor(call, packed + 1, LAYOUT_DENSE),
                             .biases = argument_optional_tensor(call, packed + 2, LAYOUT_DENSE),
                             .bits = argument_u32(call, packed + 3),
                             .group = argument_u32(call, packed + 4)};
}

#endif
