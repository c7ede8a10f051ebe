#ifndef INGOT_METAL_MTL_INDIRECT_COMMAND_BUFFER_H
#define INGOT_METAL_MTL_INDIRECT_COMMAND_BUFFER_H
#import <Metal/MTLComputePipeline.h>

typedef NS_OPTIONS(NSUInteger, MTLIndirectCommandType) {
    MTLIndirectCommandTypeDraw = 1 << 0,
    MTLIndirectCommandTypeDrawIndexed = 1 << 1,
    MTLIndirectCommandTypeDrawPatches = 1 << 2,
    MTLIndirectCommandTypeDrawIndexedPatches = 1 << 3,
    MTLIndirectCommandTypeConcurrentDispatch = 1 << 5,
    MTLIndirectCommandTypeConcurrentDispatchThreads = 1 << 6,
    MTLIndirectCommandTypeDrawMeshThreadgroups = 1 << 7,
    MTLIndirectCommandTypeDrawMeshThreads = 1 << 8,
};
typedef struct { uint32_t location, length; } MTLIndirectCommandBufferExecutionRange;

@interface MTLIndirectCommandBufferDescriptor : NSObject <NSCopying>
@property MTLIndirectCommandType commandTypes;
@property BOOL inheritPipelineState, inheritBuffers; /* YES, YES */
@property NSUInteger maxVertexBufferBindCount, maxFragmentBufferBindCount, maxKernelBufferBindCount,
    maxKernelThreadgroupMemoryBindCount;
@property BOOL supportRayTracing, supportDynamicAttributeStride;
@end

@protocol MTLIndirectComputeCommand <NSObject>
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state;
- (void)setKernelBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)concurrentDispatchThreadgroups:(MTLSize)threadgroupsPerGrid threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup;
- (void)concurrentDispatchThreads:(MTLSize)threadsPerGrid threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup;
- (void)setBarrier;
- (void)clearBarrier;
- (void)setImageblockWidth:(NSUInteger)width height:(NSUInteger)height;
- (void)setStageInRegion:(MTLRegion)region;
- (void)reset;
@end

@protocol MTLIndirectRenderCommand;
@protocol MTLIndirectCommandBuffer <MTLResource>
@property (readonly) NSUInteger size;
@property (readonly) MTLResourceID gpuResourceID;
- (void)resetWithRange:(NSRange)range;
- (id<MTLIndirectComputeCommand>)indirectComputeCommandAtIndex:(NSUInteger)commandIndex;
- (id<MTLIndirectRenderCommand>)indirectRenderCommandAtIndex:(NSUInteger)commandIndex;
@end
#endif
