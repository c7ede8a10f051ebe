// Braces do not narrow, also in vectors.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], device int *n [[buffer(1)]]) {
    int y{x[0]}; // REFUSED: cannot be narrowed
    int2 v{x[0], x[1]}; // REFUSED: cannot be narrowed
    uint u[2] = {uint(n[0]), n[1]}; // REFUSED: cannot be narrowed
    int z{int(x[0])}, w = x[0];
    int2 q{n[0], n[1]};
    float4 f{1, 2, 3, x[0]};
    x[0] = y + v.x + z + w + q.x + f.x + u[0];
}
