// Enumerations, unions and bit tricks.
// RUN: kernel=k threads=1 group=1
// ARG 0: u32[3]
// EXPECT 0: u32 [3 1065353216 7]
#include <metal_stdlib>
using namespace metal;

enum class Mode : uint { a = 1, b = 3 };
enum { seven = 7 };
union Both {
    float f;
    uint u;
};
kernel void k(device uint *x [[buffer(0)]]) {
    Both both;
    both.f = 1;
    x[0] = uint(Mode::b);
    x[1] = both.u;
    x[2] = seven;
}
