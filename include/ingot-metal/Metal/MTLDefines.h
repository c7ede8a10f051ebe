/* What every header of Metal begins with. */
#ifndef INGOT_METAL_MTL_DEFINES_H
#define INGOT_METAL_MTL_DEFINES_H

#import <Foundation/Foundation.h>

#ifdef __cplusplus
#define MTL_EXTERN extern "C" __attribute__((visibility("default")))
#else
#define MTL_EXTERN extern __attribute__((visibility("default")))
#endif
#define MTL_EXPORT __attribute__((visibility("default")))
#define MTL_INLINE static inline

@protocol MTLDevice, MTLBuffer, MTLTexture, MTLHeap, MTLLibrary, MTLFunction, MTLCommandQueue, MTLCommandBuffer,
    MTLCommandEncoder, MTLComputeCommandEncoder, MTLBlitCommandEncoder, MTLComputePipelineState, MTLEvent, MTLSharedEvent,
    MTLFence, MTLResidencySet, MTLArgumentEncoder, MTLLogState, MTLLogContainer, MTLCaptureScope, MTLSamplerState,
    MTLIndirectCommandBuffer, MTLBinaryArchive, MTLDynamicLibrary, MTLVisibleFunctionTable,
    MTLIntersectionFunctionTable, MTLAccelerationStructure, MTLCounterSampleBuffer, MTLCounterSet,
    MTLRenderPipelineState, MTLDepthStencilState, MTLRasterizationRateMap, MTLIOCommandQueue, MTLFunctionHandle;
@class MTLCompileOptions, MTLFunctionConstantValues, MTLFunctionDescriptor, MTLComputePipelineDescriptor,
    MTLHeapDescriptor, MTLTextureDescriptor, MTLSamplerDescriptor, MTLResidencySetDescriptor, MTLLogStateDescriptor,
    MTLCommandQueueDescriptor, MTLCommandBufferDescriptor, MTLComputePassDescriptor, MTLBlitPassDescriptor,
    MTLSharedEventListener, MTLSharedEventHandle, MTLComputePipelineReflection, MTLArgumentDescriptor, MTLArchitecture,
    MTLIndirectCommandBufferDescriptor, MTLBinaryArchiveDescriptor, MTLCounterSampleBufferDescriptor,
    MTLLinkedFunctions, MTLAttributeDescriptorArray, MTLStageInputOutputDescriptor, MTLPipelineBufferDescriptorArray,
    MTLRenderPipelineDescriptor, MTLSharedTextureHandle, MTLVertexDescriptor;
#endif
