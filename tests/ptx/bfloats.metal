// A bfloat in the upper half of a word is a float once the lower half is cleared.
// WANT: and\.b32 .*-65536
#include <metal_stdlib>
using namespace metal;

kernel void widen(device const uint2 *x, device float4 *y, uint i [[thread_position_in_grid]]) {
    y[i] = float4(as_type<bfloat4>(x[i]));
}
