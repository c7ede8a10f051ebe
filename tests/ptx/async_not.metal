// Copies that stay as they are: somebody looks before a barrier, at what was copied, at what was
// loaded or at both buffers in one, or changes the source.
// NEVER: cp\.async
// WANT: st\.shared\.v4
#include <metal_stdlib>
using namespace metal;

kernel void async_not(device const float4 *x, device float4 *y, device float4 *z,
                      constant uint &half_of, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float4 read_back[64], used[64], source[64], one[128];
    read_back[t] = x[t];
    float4 sum = read_back[t ^ half_of];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float4 value = x[64 + t];
    used[t] = value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    source[t] = y[t];
    y[63 - t] = sum + value + used[63 - t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    one[half_of + t] = x[128 + t];
    sum += one[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    z[t] = sum + source[63 - t] + one[63 - t];
}
