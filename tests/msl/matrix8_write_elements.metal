// Writing thread_elements(), also through a cast to a vector.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[64] = i
// EXPECT 0: f32[64] = i * 10 + 1
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *a [[buffer(0)]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, a, 8);
    m.thread_elements()[0] *= 10;
    m.thread_elements()[1] *= 10;
    thread float2 &e = reinterpret_cast<thread float2 &>(m.thread_elements());
    e += 1;
    simdgroup_store(m, a, 8);
}
