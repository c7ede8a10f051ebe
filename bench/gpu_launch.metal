// What bench/gpu_launch.c launches: next to nothing.
#include <metal_stdlib>
using namespace metal;

kernel void touch(device uint *out [[buffer(0)]], constant uint &count [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
    if (i < count)
        out[i] = i;
}
