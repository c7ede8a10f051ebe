// What is loaded through such a pointer leaves the caches last; narrow loads say nothing.
// WANT: createpolicy\.fractional\.L2::evict_last
// WANT: ld\.global\.L1::evict_last\.L2::cache_hint\.v4\.b32
// WANT: ld\.global\.L1::evict_last\.L2::cache_hint\.v2\.b32
// WANT: ld\.global\.u16
// NEVER: //.staying
#include <metal_stdlib>
using namespace metal;

kernel void sums(device const char *in [[buffer(0)]],
                 device uint4 *out [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    device const char *staying = __ingot_staying(in);
    out[2 * i] = ((device const uint4 *)staying)[i];
    uint2 two = ((device const uint2 *)staying)[i];
    *(device uint2 *)(out + 2 * i + 1) = two + ((device const ushort *)staying)[i];
}
