/*
 * The records that the host side of Metal reads back from buffers: what indirect dispatches and
 * draws take, and tessellation factors. Kernels fill them in.
 */
#pragma once
#include "ingot_types.h"

namespace metal {
struct MTLDispatchThreadgroupsIndirectArguments {
    uint threadgroupsPerGrid[3];
};
struct MTLDispatchThreadsIndirectArguments {
    uint threadsPerGrid[3], threadsPerThreadgroup[3];
};
struct MTLStageInRegionIndirectArguments {
    uint stageInOrigin[3], stageInSize[3];
};
struct MTLDrawPrimitivesIndirectArguments {
    uint vertexCount, instanceCount, vertexStart, baseInstance;
};
struct MTLDrawIndexedPrimitivesIndirectArguments {
    uint indexCount, instanceCount, indexStart;
    int baseVertex;
    uint baseInstance;
};
struct MTLDrawPatchIndirectArguments {
    uint patchCount, instanceCount, patchStart, baseInstance;
};
struct MTLQuadTessellationFactorsHalf {
    half edgeTessellationFactor[4], insideTessellationFactor[2];
};
struct MTLTriangleTessellationFactorsHalf {
    half edgeTessellationFactor[3], insideTessellationFactor;
};
} // namespace metal
