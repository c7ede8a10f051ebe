#ifndef INGOT_METAL_MTL_DEVICE_H
#define INGOT_METAL_MTL_DEVICE_H
#import <Metal/MTLCommandBuffer.h>
#import <Metal/MTLBinaryArchive.h>
#import <Metal/MTLComputePipeline.h>
#import <Metal/MTLIndirectCommandBuffer.h>
#import <Metal/MTLLogState.h>

typedef NS_ENUM(NSInteger, MTLGPUFamily) {
    MTLGPUFamilyApple1 = 1001, MTLGPUFamilyApple2 = 1002, MTLGPUFamilyApple3 = 1003, MTLGPUFamilyApple4 = 1004,
    MTLGPUFamilyApple5 = 1005, MTLGPUFamilyApple6 = 1006, MTLGPUFamilyApple7 = 1007, MTLGPUFamilyApple8 = 1008,
    MTLGPUFamilyApple9 = 1009, MTLGPUFamilyApple10 = 1010,
    MTLGPUFamilyMac1 = 2001, MTLGPUFamilyMac2 = 2002,
    MTLGPUFamilyCommon1 = 3001, MTLGPUFamilyCommon2 = 3002, MTLGPUFamilyCommon3 = 3003,
    MTLGPUFamilyMacCatalyst1 = 4001, MTLGPUFamilyMacCatalyst2 = 4002,
    MTLGPUFamilyMetal3 = 5001, MTLGPUFamilyMetal4 = 5002,
};
typedef NS_ENUM(NSUInteger, MTLFeatureSet) {
    MTLFeatureSet_macOS_GPUFamily1_v1 = 10000,
    MTLFeatureSet_macOS_GPUFamily1_v3 = 10003,
    MTLFeatureSet_macOS_GPUFamily2_v1 = 10005,
};
typedef NS_ENUM(NSUInteger, MTLDeviceLocation) {
    MTLDeviceLocationBuiltIn = 0,
    MTLDeviceLocationSlot = 1,
    MTLDeviceLocationExternal = 2,
    MTLDeviceLocationUnspecified = NSUIntegerMax,
};
typedef NS_ENUM(NSUInteger, MTLArgumentBuffersTier) { MTLArgumentBuffersTier1 = 0, MTLArgumentBuffersTier2 = 1 };
typedef NS_ENUM(NSUInteger, MTLReadWriteTextureTier) {
    MTLReadWriteTextureTierNone = 0,
    MTLReadWriteTextureTier1 = 1,
    MTLReadWriteTextureTier2 = 2,
};
typedef NS_ENUM(NSUInteger, MTLCounterSamplingPoint) {
    MTLCounterSamplingPointAtStageBoundary = 0,
    MTLCounterSamplingPointAtDrawBoundary = 1,
    MTLCounterSamplingPointAtDispatchBoundary = 2,
    MTLCounterSamplingPointAtTileDispatchBoundary = 3,
    MTLCounterSamplingPointAtBlitBoundary = 4,
};
typedef uint64_t MTLTimestamp;

@interface MTLArchitecture : NSObject <NSCopying>
@property (readonly) NSString *name;
@end

typedef void (^MTLNewLibraryCompletionHandler)(id<MTLLibrary> library, NSError *error);
typedef void (^MTLNewComputePipelineStateCompletionHandler)(id<MTLComputePipelineState> state, NSError *error);
typedef void (^MTLNewComputePipelineStateWithReflectionCompletionHandler)(
    id<MTLComputePipelineState> state, MTLComputePipelineReflection *reflection, NSError *error);
typedef NSString *MTLDeviceNotificationName;
typedef void (^MTLDeviceNotificationHandler)(id<MTLDevice> device, MTLDeviceNotificationName name);
typedef void (^MTLBufferDeallocator)(void *pointer, NSUInteger length);

@protocol MTLDevice <NSObject>
@property (readonly) NSString *name;
@property (readonly) uint64_t registryID;
@property (readonly) MTLArchitecture *architecture;
@property (readonly) MTLSize maxThreadsPerThreadgroup;
@property (readonly, getter=isLowPower) BOOL lowPower;
@property (readonly, getter=isHeadless) BOOL headless;
@property (readonly, getter=isRemovable) BOOL removable;
@property (readonly) BOOL hasUnifiedMemory;
@property (readonly) uint64_t recommendedMaxWorkingSetSize, maxTransferRate;
@property (readonly) MTLDeviceLocation location;
@property (readonly) NSUInteger locationNumber;
@property (readonly) uint64_t peerGroupID;
@property (readonly) uint32_t peerIndex, peerCount;
@property (readonly) NSUInteger maxBufferLength, maxThreadgroupMemoryLength, currentAllocatedSize;
@property (readonly) NSUInteger maxArgumentBufferSamplerCount;
@property (readonly) NSUInteger sparseTileSizeInBytes;
@property (readonly) MTLArgumentBuffersTier argumentBuffersSupport;
@property (readonly) MTLReadWriteTextureTier readWriteTextureSupport;
@property (readonly) BOOL supportsRaytracing, supportsFunctionPointers, supportsDynamicLibraries,
    supportsShaderBarycentricCoordinates, supports32BitFloatFiltering, supports32BitMSAA, supportsQueryTextureLOD,
    supportsBCTextureCompression, supportsPullModelInterpolation, supportsPrimitiveMotionBlur,
    supportsRenderDynamicLibraries, supportsFunctionPointersFromRender, supportsRaytracingFromRender;
@property (readonly, getter=isDepth24Stencil8PixelFormatSupported) BOOL depth24Stencil8PixelFormatSupported;
@property (readonly, getter=areRasterOrderGroupsSupported) BOOL rasterOrderGroupsSupported;
@property (readonly, getter=areProgrammableSamplePositionsSupported) BOOL programmableSamplePositionsSupported;
@property (nullable, readonly) NSArray<id<MTLCounterSet>> *counterSets;
@property BOOL shouldMaximizeConcurrentCompilation;
@property (readonly) NSUInteger maximumConcurrentCompilationTaskCount;
- (BOOL)supportsFamily:(MTLGPUFamily)family;
- (BOOL)supportsFeatureSet:(MTLFeatureSet)featureSet;
- (BOOL)supportsCounterSampling:(MTLCounterSamplingPoint)point;
- (BOOL)supportsTextureSampleCount:(NSUInteger)count;
- (void)sampleTimestamps:(MTLTimestamp *)cpuTimestamp gpuTimestamp:(MTLTimestamp *)gpuTimestamp;

- (nullable id<MTLCommandQueue>)newCommandQueue NS_RETURNS_RETAINED;
- (nullable id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count NS_RETURNS_RETAINED;
- (nullable id<MTLCommandQueue>)newCommandQueueWithDescriptor:(MTLCommandQueueDescriptor *)descriptor NS_RETURNS_RETAINED;

- (nullable id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options NS_RETURNS_RETAINED;
- (nullable id<MTLBuffer>)newBufferWithBytes:(const void *)pointer
                                      length:(NSUInteger)length
                                     options:(MTLResourceOptions)options NS_RETURNS_RETAINED;
- (nullable id<MTLBuffer>)newBufferWithBytesNoCopy:(void *)pointer
                                            length:(NSUInteger)length
                                           options:(MTLResourceOptions)options
                                       deallocator:(nullable MTLBufferDeallocator)deallocator NS_RETURNS_RETAINED;
- (nullable id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor *)descriptor NS_RETURNS_RETAINED;
- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (nullable id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor *)descriptor NS_RETURNS_RETAINED;
- (nullable id<MTLSamplerState>)newSamplerStateWithDescriptor:(MTLSamplerDescriptor *)descriptor NS_RETURNS_RETAINED;
- (nullable id<MTLFence>)newFence NS_RETURNS_RETAINED;
- (nullable id<MTLEvent>)newEvent NS_RETURNS_RETAINED;
- (nullable id<MTLSharedEvent>)newSharedEvent NS_RETURNS_RETAINED;
- (nullable id<MTLResidencySet>)newResidencySetWithDescriptor:(MTLResidencySetDescriptor *)descriptor
                                                        error:(NSError **)error NS_RETURNS_RETAINED;
- (nullable id<MTLLogState>)newLogStateWithDescriptor:(MTLLogStateDescriptor *)descriptor
                                                error:(NSError **)error NS_RETURNS_RETAINED;
- (nullable id<MTLIndirectCommandBuffer>)newIndirectCommandBufferWithDescriptor:(MTLIndirectCommandBufferDescriptor *)descriptor
                                                                maxCommandCount:(NSUInteger)maxCount
                                                                        options:(MTLResourceOptions)options NS_RETURNS_RETAINED;
- (nullable id<MTLCounterSampleBuffer>)newCounterSampleBufferWithDescriptor:(MTLCounterSampleBufferDescriptor *)descriptor
                                                                      error:(NSError **)error NS_RETURNS_RETAINED;
- (nullable id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:(MTLBinaryArchiveDescriptor *)descriptor
                                                          error:(NSError **)error NS_RETURNS_RETAINED;
- (nullable id<MTLArgumentEncoder>)newArgumentEncoderWithArguments:(NSArray<MTLArgumentDescriptor *> *)arguments
    NS_RETURNS_RETAINED;

- (nullable id<MTLLibrary>)newDefaultLibrary NS_RETURNS_RETAINED;
- (nullable id<MTLLibrary>)newDefaultLibraryWithBundle:(NSBundle *)bundle error:(NSError **)error NS_RETURNS_RETAINED;
- (nullable id<MTLLibrary>)newLibraryWithFile:(NSString *)path error:(NSError **)error NS_RETURNS_RETAINED;
- (nullable id<MTLLibrary>)newLibraryWithURL:(NSURL *)url error:(NSError **)error NS_RETURNS_RETAINED;
- (nullable id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError **)error NS_RETURNS_RETAINED;
- (nullable id<MTLLibrary>)newLibraryWithSource:(NSString *)source
                                        options:(nullable MTLCompileOptions *)options
                                          error:(NSError **)error NS_RETURNS_RETAINED;
- (void)newLibraryWithSource:(NSString *)source
                     options:(nullable MTLCompileOptions *)options
           completionHandler:(MTLNewLibraryCompletionHandler)completionHandler;

- (nullable id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                                                      error:(NSError **)error NS_RETURNS_RETAINED;
- (nullable id<MTLComputePipelineState>)
    newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                options:(MTLPipelineOption)options
                             reflection:(MTLComputePipelineReflection **)reflection
                                  error:(NSError **)error NS_RETURNS_RETAINED;
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                          completionHandler:(MTLNewComputePipelineStateCompletionHandler)completionHandler;
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                    options:(MTLPipelineOption)options
                          completionHandler:(MTLNewComputePipelineStateWithReflectionCompletionHandler)completionHandler;
- (nullable id<MTLComputePipelineState>)
    newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                  options:(MTLPipelineOption)options
                               reflection:(MTLComputePipelineReflection **)reflection
                                    error:(NSError **)error NS_RETURNS_RETAINED;
- (void)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                      options:(MTLPipelineOption)options
                            completionHandler:(MTLNewComputePipelineStateWithReflectionCompletionHandler)completionHandler;
@end

MTL_EXTERN id<MTLDevice> MTLCreateSystemDefaultDevice(void) NS_RETURNS_RETAINED;
MTL_EXTERN NSArray<id<MTLDevice>> *MTLCopyAllDevices(void) NS_RETURNS_RETAINED;
MTL_EXTERN NSArray<id<MTLDevice>> *MTLCopyAllDevicesWithObserver(id *observer, MTLDeviceNotificationHandler handler)
    NS_RETURNS_RETAINED;
MTL_EXTERN void MTLRemoveDeviceObserver(id observer);
MTL_EXTERN MTLDeviceNotificationName const MTLDeviceWasAddedNotification;
MTL_EXTERN MTLDeviceNotificationName const MTLDeviceRemovalRequestedNotification;
MTL_EXTERN MTLDeviceNotificationName const MTLDeviceWasRemovedNotification;
#endif
