// Threadgroup variables that are pointers, and arrays of them.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64]
// EXPECT 0: i32[64] = 3 * (63 - i)
//
// RUN: kernel=assigned threads=64 group=64
// ARG 0: i32[64]
// EXPECT 0: i32[64] = i < 2 ? 40 + i : 7
#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;
using namespace simd;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup int tile[64];
    threadgroup int *threadgroup tab[64];
    device int *threadgroup p;
    tile[i] = int(i) * 3;
    tab[i] = &tile[63 - i];
    if (i == 0) {
        p = x;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    p[i] = *tab[i];
}

struct pair {
    int a, b;
};
kernel void assigned(device int *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    device const vec<int, 2> *threadgroup vectors, *threadgroup others;
    device pair *threadgroup pairs = (device pair *)x;
    threadgroup int *volatile threadgroup unread;
    x[i] = 7;
    threadgroup_barrier(mem_flags::mem_device);
    if (i == 0) {
        vectors = (device const int2 *)x;
        others = vectors;
        unread = nullptr;
        pairs->a = 40; // FINDS: race
        pairs->b = 41;
    }
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    if (i < 2) {
        x[i] = (*others)[i];
    }
}
