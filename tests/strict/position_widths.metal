#include <metal_stdlib>
using namespace metal;
kernel void k(device int *x [[buffer(0)]], uint2 a [[thread_position_in_grid]],
              uint b [[threads_per_grid]]) { // REFUSED: to be all scalars, or all vectors of one length
    x[a.x] = b;
}
