// Sums that are loaded from memory, and stored there again, around each step of a loop.
#include <metal_stdlib>
using namespace metal;

template <typename T>
kernel void add_products(device const T *a, device const T *b, device T *sums, constant uint &steps,
                         uint group [[simdgroup_index_in_threadgroup]]) {
    for (uint step = 0; step < steps; step++) {
        simdgroup_matrix<T, 8, 8> sum[2];
        for (uint n = 0; n < 2; n++)
            simdgroup_load(sum[n], sums + 16 * group + 8 * n, 32);
        for (uint k = 0; k < 2; k++) {
            simdgroup_matrix<T, 8, 8> left;
            simdgroup_load(left, a + 8 * k, 16);
            for (uint n = 0; n < 2; n++) {
                simdgroup_matrix<T, 8, 8> right;
                simdgroup_load(right, b + 8 * 32 * k + 16 * group + 8 * n, 32);
                simdgroup_multiply_accumulate(sum[n], left, right, sum[n]);
            }
        }
        for (uint n = 0; n < 2; n++)
            simdgroup_store(sum[n], sums + 16 * group + 8 * n, 32);
        threadgroup_barrier(mem_flags::mem_device);
    }
}

template [[host_name("in_float")]] kernel void add_products<float>(device const float *, device const float *,
                                                                   device float *, constant uint &, uint);
template [[host_name("in_half")]] kernel void add_products<half>(device const half *, device const half *,
                                                                 device half *, constant uint &, uint);
template [[host_name("in_bfloat")]] kernel void add_products<bfloat>(device const bfloat *, device const bfloat *,
                                                                     device bfloat *, constant uint &, uint);

// The numbers are small and whole: every sum is exact in every type.
// RUN: kernel=in_float threads=64 group=64
// ARG 0: f32[128] = i % 3 - 1
// ARG 1: f32[512] = i * 7 % 5 - 2
// ARG 2: f32[256] = i % 4
// ARG 3: u32 = 3
// EXPECT 2: f32[256] = i % 4 + 3 * sum(k, 0, 16, ((idiv(i, 32) * 16 + k) % 3 - 1) * ((k * 32 + i % 32) * 7 % 5 - 2))
// RUN: kernel=in_half threads=64 group=64
// ARG 0: f16[128] = i % 3 - 1
// ARG 1: f16[512] = i * 7 % 5 - 2
// ARG 2: f16[256] = i % 4
// ARG 3: u32 = 3
// EXPECT 2: f16[256] = i % 4 + 3 * sum(k, 0, 16, ((idiv(i, 32) * 16 + k) % 3 - 1) * ((k * 32 + i % 32) * 7 % 5 - 2))
// RUN: kernel=in_bfloat threads=64 group=64
// ARG 0: bf16[128] = i % 3 - 1
// ARG 1: bf16[512] = i * 7 % 5 - 2
// ARG 2: bf16[256] = i % 4
// ARG 3: u32 = 3
// EXPECT 2: bf16[256] = i % 4 + 3 * sum(k, 0, 16, ((idiv(i, 32) * 16 + k) % 3 - 1) * ((k * 32 + i % 32) * 7 % 5 - 2))
