// Lines that are read soon (prelude/ingot_builtins.h): nothing is to be seen of it, whatever the address,
// also where it differs between lanes or a part of them asks.
// RUN: kernel=sums threads=128,1,1 group=64,1,1
// ARG 0: u32[128] = i
// ARG 1: u32[128]
// EXPECT 1: u32[128] = i * 3 + idiv(i, 32)
#include <metal_stdlib>
using namespace metal;

kernel void sums(device const uint *in [[buffer(0)]],
                 device uint *out [[buffer(1)]],
                 uint i [[thread_position_in_grid]],
                 uint simd [[simdgroup_index_in_threadgroup]],
                 uint group [[threadgroup_position_in_grid]]) {
    __ingot_prefetch((device const char *)(in + 32 * simd));
    __ingot_prefetch((device const char *)(ulong(in[group]) * 4096));
    __ingot_prefetch((device const char *)(in + 7 * i));
    if (i % 3 == 1) {
        __ingot_prefetch((device const char *)in - (1ul << 40));
    }
    uint sum = simd + 2 * group;
    for (uint k = 0; k < 3; k++) {
        __ingot_prefetch((device const char *)(in + (k + 1) * 4096));
        sum += in[i];
    }
    out[i] = sum;
}
