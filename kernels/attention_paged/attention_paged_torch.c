/* attention over a paged cache for PyTorch, and the operators that write to the cache. */
#include "python/torch/operators.h"

ingot_status torch_op_attention_paged(struct operator_call *call) {
    const ingot_tensor *q = argument_tensor(call, 0, LAYOUT_LAST);
    const ingot_tensor *values = argument_tensor(call, 2, LAYOUT_DENSE);
    const ingot_attention_paged_desc desc = {
        .q = q,
        .key_cache = argument_tensor(call, 1, LAYOUT_DENSE),
        .value_cache = values,
        .block_table = argument_tensor(call, 3, LAYOUT_DENSE | AS_I32),
        .lengths = argument_tensor(call, 4, LAYOUT_DENSE | AS_I32),
        .slopes = argument_optional_tensor(call, 5, LAYOUT_DENSE | AS_F32),
        .out = output_with_last(call, 0, q, tensor_extent(values, -1)),
        .scale = (float)argument_float(call, 6),
        .window = argument_u32(call, 7),
        .max_length = argument_u32(call, 8)};
    return OPERATOR_RUN(call, ingot_op_attention_paged, &desc);
}

ingot_status torch_op_cache_write_(struct operator_call *call) {
    const ingot_cache_write_desc desc = {
        .key = argument_tensor(call, 0, LAYOUT_LAST),
        .value = argument_tensor(call, 1, LAYOUT_LAST),
        .slots = argument_tensor(call, 2, LAYOUT_DENSE),
        .key_cache = argument_written_tensor(call, 3, LAYOUT_DENSE),
        .value_cache = argument_written_tensor(call, 4, LAYOUT_DENSE)};
    return OPERATOR_RUN(call, ingot_op_cache_write, &desc);
}

/* pairs is [count, 2]: from which block to which. The numbers are read by the host. */
ingot_status torch_op_cache_copy_(struct operator_call *call) {
    ingot_cache_copy_desc desc = {.key_cache = argument_written_tensor(call, 0, LAYOUT_DENSE),
                                  .value_cache = argument_written_tensor(call, 1, LAYOUT_DENSE)};
    const void *numbers = NULL;
    const ingot_tensor *pairs = argument_on_host(call, 2, &numbers);
    if (!call->status &&
        (pairs->rank != 2 || pairs->shape[1] != 2 || pairs->type != INGOT_SCALAR_I64)) {
        operator_call_fail(
            call, INGOT_INVALID_ARGUMENT,
            "pairs has %u dimensions, the last of extent %lld; it must be int64 [count, 2]",
            pairs->rank, (long long)tensor_extent(pairs, -1));
    }
    desc.pairs = numbers;
    desc.pair_count = call->status ? 0 : (size_t)pairs->shape[0];
    return OPERATOR_RUN(call, ingot_op_cache_copy, &desc);
}
