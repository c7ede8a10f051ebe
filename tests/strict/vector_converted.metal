// Vectors convert by their constructors only.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int4 n = int4(i);
    x[i] = n; // ERROR: no viable overloaded '='
}
