// A kernel may be called main, and be a template.
// RUN: kernel=main threads=4 group=4
// ARG 0: i32[4]
// EXPECT 0: i32[4] = i + 1
// RUN: kernel=main_of_float threads=4 group=4
// ARG 0: f32[4]
// EXPECT 0: f32[4] = i + 0.5
#include <metal_stdlib>
using namespace metal;

kernel void main(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] = int(i) + 1;
}

namespace other {
template <typename T>
kernel void main(device T *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] = T(i) + T(0.5);
}
template [[host_name("main_of_float")]] kernel void main<float>(device float *, uint);
} // namespace other
