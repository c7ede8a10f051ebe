// A kernel is no member and not static, and its name and its parameters' names are no keywords.
#include <metal_stdlib>
using namespace metal;
static kernel void wrong(device float *x [[buffer(0)]]) { x[0] = 1; } // REFUSED: no static kernel
static float helper(float a) { return a; }
struct holder {
    kernel void member(device float *x [[buffer(0)]]) { x[0] = 1; } // REFUSED: no kernel that is a member
};
kernel void k(device float *x [[buffer(0)]], bool b [[thread_position_in_grid]]) { // REFUSED: as ushort or uint
    int kernel = 1; // REFUSED: as a keyword
    uint fragment = 2; // REFUSED: as a keyword
    int kernels = 3;
    x[0] = helper(kernel + fragment + kernels) + b;
}
