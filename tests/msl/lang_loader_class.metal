// A class template with methods, members and static constants, as matrix kernels use them.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[32]
// EXPECT 1: f32[32] = (31 - i) + (63 - i)
#include <metal_stdlib>
using namespace metal;

template <typename T, short N> struct Loader {
    static constant constexpr short width = N;
    device const T *source;
    threadgroup T *target;
    const short lane;
    Loader(device const T *s, threadgroup T *t, ushort l) : source(s + l), target(t + l), lane(l) {}
    void load() const { *target = *source; }
    void next() { source += width; }
};
kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], ushort lane [[thread_index_in_threadgroup]]) {
    threadgroup float tile[32];
    Loader<float, 32> loader(x, tile, lane);
    float sum = 0;
    for (int r = 0; r < 2; r++) {
        loader.load();
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += tile[31 - lane];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        loader.next();
    }
    y[lane] = sum;
}
