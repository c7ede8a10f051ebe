#ifndef INGOT_METAL_MTL_COMPUTE_PIPELINE_H
#define INGOT_METAL_MTL_COMPUTE_PIPELINE_H
#import <Metal/MTLLibrary.h>

typedef NS_OPTIONS(NSUInteger, MTLPipelineOption) {
    MTLPipelineOptionNone = 0,
    MTLPipelineOptionArgumentInfo = 1 << 0,
    MTLPipelineOptionBindingInfo = 1 << 0,
    MTLPipelineOptionBufferTypeInfo = 1 << 1,
    MTLPipelineOptionFailOnBinaryArchiveMiss = 1 << 2,
};
typedef NS_ENUM(NSUInteger, MTLMutability) {
    MTLMutabilityDefault = 0,
    MTLMutabilityMutable = 1,
    MTLMutabilityImmutable = 2,
};

@interface MTLPipelineBufferDescriptor : NSObject <NSCopying>
@property MTLMutability mutability;
@end
@interface MTLPipelineBufferDescriptorArray : NSObject
- (MTLPipelineBufferDescriptor *)objectAtIndexedSubscript:(NSUInteger)index;
- (void)setObject:(nullable MTLPipelineBufferDescriptor *)buffer atIndexedSubscript:(NSUInteger)index;
@end

@interface MTLComputePipelineReflection : NSObject
@property (readonly) NSArray<id<MTLBinding>> *bindings;
@property (readonly) NSArray<MTLArgument *> *arguments;
@end
typedef MTLComputePipelineReflection *MTLAutoreleasedComputePipelineReflection;

@interface MTLComputePipelineDescriptor : NSObject <NSCopying>
@property (nullable, copy) NSString *label;
@property (nullable, strong) id<MTLFunction> computeFunction;
@property BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth;
@property NSUInteger maxTotalThreadsPerThreadgroup, maxCallStackDepth;
@property BOOL supportIndirectCommandBuffers, supportAddingBinaryFunctions;
@property (readonly) MTLPipelineBufferDescriptorArray *buffers;
@property (nullable, copy) NSArray<id<MTLDynamicLibrary>> *preloadedLibraries, *insertLibraries;
@property (nullable, copy) NSArray<id<MTLBinaryArchive>> *binaryArchives;
@property (nullable, copy) MTLLinkedFunctions *linkedFunctions;
@property MTLSize requiredThreadsPerThreadgroup;
- (void)reset;
@end

@protocol MTLComputePipelineState <MTLAllocation>
@property (nullable, readonly) NSString *label;
@property (readonly) id<MTLDevice> device;
@property (readonly) NSUInteger maxTotalThreadsPerThreadgroup, threadExecutionWidth, staticThreadgroupMemoryLength;
@property (readonly) BOOL supportIndirectCommandBuffers;
@property (readonly) MTLSize requiredThreadsPerThreadgroup;
@property (readonly) MTLResourceID gpuResourceID;
- (NSUInteger)imageblockMemoryLengthForDimensions:(MTLSize)dimensions;
@end
#endif
