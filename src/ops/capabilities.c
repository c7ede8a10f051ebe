/* What the device of a call can do, for the host code of operations. */
#include "base/scalar.h"
#include "ops/ops.h"

static const struct ig_capabilities *of(const struct igo_call *call) {
    return &call->ops->device->capabilities;
}

const ingot_device_info *igo_device_info(const struct igo_call *call) {
    return &call->ops->info;
}

uint32_t igo_threadgroup_memory(const struct igo_call *call) {
    return of(call)->max_threadgroup_memory;
}

uint64_t igo_batch_scratch_bytes(const struct igo_call *call) {
    return of(call)->batch_scratch_bytes;
}

bool igo_has_concurrent_simdgroups(const struct igo_call *call) {
    return of(call)->has_concurrent_simdgroups;
}

bool igo_has_fast_reciprocal_root(const struct igo_call *call) {
    return of(call)->has_fast_reciprocal_root;
}

bool igo_stores_past_caches(const struct igo_call *call, const ingot_tensor *result) {
    return of(call)->has_nontemporal_stores &&
           (uint64_t)igo_count(result) > of(call)->cache_bytes / ig_scalar_size(result->type);
}
