// References may be __restrict, as translators of SPIR-V write them, and volatile.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32 [1 2 3 4]
// ARG 1: f32 = 10
// ARG 2: f32[4]
// EXPECT 2: f32 [11 12 13 14]
#include <metal_stdlib>
using namespace metal;

struct Four {
    float x[4];
};
struct Scalar {
    float x;
};
kernel void k(const device Four &__restrict in [[buffer(0)]], constant Scalar &__restrict by [[buffer(1)]],
              volatile device Four &__restrict out [[buffer(2)]], uint3 id [[thread_position_in_grid]]) {
    out.x[id.x] = in.x[id.x] + by.x;
}
