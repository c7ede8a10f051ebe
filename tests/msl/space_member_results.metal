// References and pointers that members return keep the address space of their object.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[40] = i * 3
// ARG 1: f32[8]
// EXPECT 1: f32 [21 7 12 9 64 10 5 2]
#include <metal_stdlib>
using namespace metal;

template <typename T, size_t N> struct Numbers {
    T elements[N];
    thread T &operator[](size_t i) thread { return elements[i]; }
    constexpr const thread T &operator[](size_t i) const thread { return elements[i]; }
    device T &operator[](size_t i) device { return elements[i]; }
    constexpr const device T &operator[](size_t i) const device { return elements[i]; }
    constexpr const constant T &operator[](size_t i) const constant { return elements[i]; }
    threadgroup T &operator[](size_t i) threadgroup { return elements[i]; }
    constexpr const threadgroup T &operator[](size_t i) const threadgroup { return elements[i]; }
    threadgroup T *past(int n) threadgroup { return elements + n; }
};

constant Numbers<float, 3> table = {{1.5, 2.0, 2.5}};

float space_of(const device float *p) { return *p; }
float space_of(const threadgroup float *p) { return *p + 1; }
float space_of(const constant float *p) { return *p + 2; }
float space_of(const thread float *p) { return *p + 3; }
threadgroup float *choose(bool first, threadgroup Numbers<float, 64> &a) {
    return first ? &a[6] : nullptr;
}
float second(const threadgroup Numbers<float, 64> &a) { return space_of(&a[2]); }

kernel void k(device Numbers<float, 40> &in [[buffer(0)]], device float *out [[buffer(1)]],
              uint i [[thread_position_in_grid]]) {
    threadgroup Numbers<float, 64> shared;
    threadgroup array<float, 64> others;
    shared[i] = i;
    shared[i + 32] = i;
    others[2 * i] = 2;
    others[2 * i + 1] = 4;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 tile;
    simdgroup_load(tile, &others[0], 8);
    Numbers<float, 2> own;
    own[0] = 6;
    simdgroup_multiply_accumulate(tile, tile, tile, make_filled_simdgroup_matrix<float, 8, 8>(0));
    simdgroup_store(tile, &shared[0], 8);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float product = shared[0]; // 8 terms of 2*2 or 4*2
    threadgroup_barrier(mem_flags::mem_threadgroup);
    shared[i] = i;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) {
        out[0] = space_of(&in[7]);
        out[1] = *choose(true, shared) + 1;
        out[2] = space_of(shared.past(11));
        out[3] = space_of(&own[0]);
        out[4] = product + 16;
        out[5] = *reinterpret_cast<threadgroup float *>(&shared[10]);
        out[6] = second(shared) + space_of(&others.front()) - 1;
        out[7] = space_of(&table[2]) - space_of(&table[0]) + table[0] - 0.5;
    }
}
