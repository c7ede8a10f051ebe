// y = a * x + y: the smallest useful kernel.
#include <metal_stdlib>
using namespace metal;

kernel void saxpy(constant float &a [[buffer(0)]],
                  device const float *x [[buffer(1)]],
                  device float *y [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
    y[i] = a * x[i] + y[i];
}
