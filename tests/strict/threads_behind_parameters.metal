#include <metal_stdlib>
using namespace metal;
kernel void k(device int *x [[buffer(0)]])
    [[max_total_threads_per_threadgroup(64)]] { // REFUSED: before a kernel only, not behind its parameters
    x[0] = 1;
}
