// What bench/gpu_launch.c launches: next to nothing.
#include <metal_stdlib>
using namespace metal;

kernel void touch(device uint *out [[buffer(0)]], constant uint &count [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
    if (i < count)
        out[i] = i;
}

// Reads what other threadgroups of the dispatch before wrote.
kernel void follow(device const uint *before [[buffer(0)]], device uint *after [[buffer(1)]],
                   constant uint &count [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    after[i] = before[(i * 7919u + 4099u) % count] + 1u;
}
