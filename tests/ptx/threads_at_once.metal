// How many threads fit a core at once bounds their registers.
// WANT: \.maxnreg 32
#include <metal_stdlib>
using namespace metal;

kernel void scale(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    __ingot_threads_at_once(2048);
    x[i] *= 2;
}
