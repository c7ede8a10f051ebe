/* Indices that are out of range, as an error before the launch where the host can see them. */
#include "python/torch/operator_call.h"

int64_t argument_count_out_of_range(const struct operator_call *call, const ingot_tensor *indices,
                                    int64_t end, const int64_t *skip, int64_t *first) {
    if (call->status || !indices->buffer || call->device_type != torch.device_cpu()) {
        return 0;
    }
    const bool wide = indices->type == INGOT_SCALAR_I64;
    const char *memory = ingot_buffer_contents(indices->buffer);
    if (!memory || (!wide && indices->type != INGOT_SCALAR_I32)) {
        return 0;
    }
    const int64_t *longs = (const int64_t *)(const void *)(memory + indices->offset);
    const int32_t *ints = (const int32_t *)(const void *)(memory + indices->offset);
    const int64_t aside = skip ? *skip : end > 0 ? 0 : INT64_MIN;
    int64_t count = 1, outside = 0;
    uint64_t signs = 0; /* the highest bit: of an index below 0 or above the last */
    const uint64_t most = (uint64_t)end - 1;
    for (uint32_t i = 0; i < indices->rank; i++) {
        count *= indices->shape[i];
    }
    for (int64_t i = 0; i < count && wide; i++) {
        signs |= (uint64_t)longs[i] | (most - (uint64_t)longs[i]);
    }
    for (int64_t i = 0; i < count && !wide; i++) {
        signs |= (uint64_t)(int64_t)ints[i] | (most - (uint64_t)(int64_t)ints[i]);
    }
    if (!(signs >> 63)) {
        return 0;
    }
    for (int64_t i = 0; i < count && wide; i++) {
        outside += ((uint64_t)longs[i] >= (uint64_t)end) & (longs[i] != aside);
    }
    for (int64_t i = 0; i < count && !wide; i++) {
        outside += ((uint64_t)(int64_t)ints[i] >= (uint64_t)end) & (ints[i] != aside);
    }
    for (int64_t i = 0; i < count && outside; i++) {
        *first = wide ? longs[i] : ints[i];
        if ((uint64_t)*first >= (uint64_t)end && *first != aside) {
            break;
        }
    }
    return outside;
}
