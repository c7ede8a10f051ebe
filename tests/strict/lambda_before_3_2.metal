// Lambdas came with Metal 3.2.
#include <metal_stdlib>
using namespace metal;
// OPTIONS: --msl-version 3.1
kernel void k(device float *x [[buffer(0)]]) {
    auto twice = [](float y) { return 2 * y; }; // REFUSED: lambdas from Metal 3.2 on
    float z[2] = {x[0], x[1]};
    x[0] = twice(z[1]);
}
