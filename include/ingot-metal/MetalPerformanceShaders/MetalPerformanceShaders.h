/*
 * The part of MetalPerformanceShaders that extensions of PyTorch name: command buffers that go on after a
 * commit are there (src/metal/api/mps_command_buffer.m). Kernels, arrays and matrices are declared only, so that
 * headers which mention them compile: a program that makes one does not link.
 */
#ifndef INGOT_METAL_PERFORMANCE_SHADERS_H
#define INGOT_METAL_PERFORMANCE_SHADERS_H
#ifdef __OBJC__
#import <Metal/Metal.h>

typedef NS_ENUM(uint32_t, MPSDataType) {
    MPSDataTypeInvalid = 0,
    MPSDataTypeFloatBit = 0x10000000,
    MPSDataTypeAlternateEncodingBit = 0x80000000,
    MPSDataTypeFloat16 = MPSDataTypeFloatBit | 16,
    MPSDataTypeFloat32 = MPSDataTypeFloatBit | 32,
    MPSDataTypeBFloat16 = MPSDataTypeAlternateEncodingBit | MPSDataTypeFloat16,
    MPSDataTypeComplexBit = 0x01000000,
    MPSDataTypeComplexFloat16 = MPSDataTypeFloatBit | MPSDataTypeComplexBit | 16,
    MPSDataTypeComplexFloat32 = MPSDataTypeFloatBit | MPSDataTypeComplexBit | 32,
    MPSDataTypeSignedBit = 0x20000000,
    MPSDataTypeInt8 = MPSDataTypeSignedBit | 8,
    MPSDataTypeInt16 = MPSDataTypeSignedBit | 16,
    MPSDataTypeInt32 = MPSDataTypeSignedBit | 32,
    MPSDataTypeInt64 = MPSDataTypeSignedBit | 64,
    MPSDataTypeUInt8 = 8,
    MPSDataTypeUInt16 = 16,
    MPSDataTypeUInt32 = 32,
    MPSDataTypeUInt64 = 64,
    MPSDataTypeNormalizedBit = 0x40000000,
    MPSDataTypeBool = MPSDataTypeAlternateEncodingBit | 8,
};
typedef NSArray<NSNumber *> MPSShape;

/* A command buffer that stands for one of Metal's, and after commitAndContinue for the next of the queue. */
@interface MPSCommandBuffer : NSObject <MTLCommandBuffer>
@property (readonly, retain) id<MTLCommandBuffer> commandBuffer;
@property (readonly, retain) id<MTLCommandBuffer> rootCommandBuffer;
+ (instancetype)commandBufferWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer;
+ (instancetype)commandBufferFromCommandQueue:(id<MTLCommandQueue>)commandQueue;
- (instancetype)initWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer;
- (void)commitAndContinue;
- (void)prefetchHeapForWorkloadSize:(size_t)size;
@end

@interface MPSKernel : NSObject
@property (copy, nullable) NSString *label;
@property (readonly, retain) id<MTLDevice> device;
- (instancetype)initWithDevice:(id<MTLDevice>)device;
@end
@interface MPSNDArrayDescriptor : NSObject
@end
@interface MPSNDArray : NSObject
@end
@interface MPSVector : NSObject
@end
@interface MPSVectorDescriptor : NSObject
@end
@interface MPSMatrix : NSObject
@end
@interface MPSMatrixDescriptor : NSObject
@end
#endif
#endif
