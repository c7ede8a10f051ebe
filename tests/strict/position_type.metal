#include <metal_stdlib>
using namespace metal;
kernel void k(device int *x [[buffer(0)]], int i [[thread_position_in_grid]]) { // REFUSED: as ushort or uint
    x[i] = i;
}
