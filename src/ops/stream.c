/* How large results must be to be stored past the caches. */
#include <string.h>

#include "base/last_cache.h"
#include "base/scalar.h"
#include "ops/stream.h"

uint32_t igo_past_caches(const struct igo_call *call, const ingot_tensor *result) {
    if (strcmp(igo_device_kind(call), "cpu") != 0) {
        return 0;
    }
    return (uint64_t)igo_count(result) > ig_last_cache_bytes() / ig_scalar_size(result->type);
}
