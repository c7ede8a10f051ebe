// Records for the host's indirect dispatches and draws, and the header that shared code asks for the platform.
// RUN: kernel=fill threads=1
// ARG 0: u32[3]
// ARG 1: u32[5]
// ARG 2: f16[6]
// ARG 3: u32[2]
// EXPECT 0: u32 [4 2 1]
// EXPECT 1: u32 [36 10 0 4294967295 7]
// EXPECT 2: f16 [1 2 3 4 5 6]
// EXPECT 3: u32 [12 1]
#include <metal_stdlib>
#include <TargetConditionals.h>
using namespace metal;

kernel void fill(device MTLDispatchThreadgroupsIndirectArguments &dispatch,
                 device MTLDrawIndexedPrimitivesIndirectArguments &draw,
                 device MTLQuadTessellationFactorsHalf *factors, device uint *sizes) {
    dispatch.threadgroupsPerGrid[0] = 4;
    dispatch.threadgroupsPerGrid[1] = 2;
    dispatch.threadgroupsPerGrid[2] = 1;
    draw.indexCount = 36;
    draw.instanceCount = 10;
    draw.indexStart = 0;
    draw.baseVertex = -1;
    draw.baseInstance = 7;
    for (int i = 0; i < 4; i++)
        factors[0].edgeTessellationFactor[i] = half(i + 1);
    factors[0].insideTessellationFactor[0] = 5;
    factors[0].insideTessellationFactor[1] = 6;
    sizes[0] = sizeof(metal::MTLDispatchThreadgroupsIndirectArguments);
    sizes[1] = TARGET_OS_MAC && !TARGET_OS_IPHONE;
}
