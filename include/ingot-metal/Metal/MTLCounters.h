#ifndef INGOT_METAL_MTL_COUNTERS_H
#define INGOT_METAL_MTL_COUNTERS_H
#import <Metal/MTLResource.h>

typedef NSString *MTLCommonCounter;
typedef NSString *MTLCommonCounterSet;
MTL_EXTERN MTLCommonCounter const MTLCommonCounterTimestamp;
MTL_EXTERN MTLCommonCounterSet const MTLCommonCounterSetTimestamp;
/* The only set: nanoseconds of the clock that sampleTimestamps:gpuTimestamp: tells. */
typedef struct { uint64_t timestamp; } MTLCounterResultTimestamp;
#define MTLCounterErrorValue ((uint64_t)~0ULL)
#define MTLCounterDontSample ((NSUInteger)-1)

typedef NS_ENUM(NSInteger, MTLCounterSampleBufferError) {
    MTLCounterSampleBufferErrorOutOfMemory = 0,
    MTLCounterSampleBufferErrorInvalid = 1,
    MTLCounterSampleBufferErrorInternal = 2,
};
MTL_EXTERN NSString *const MTLCounterErrorDomain;

@protocol MTLCounter <NSObject>
@property (readonly, copy) NSString *name;
@end
@protocol MTLCounterSet <NSObject>
@property (readonly, copy) NSString *name;
@property (readonly, copy) NSArray<id<MTLCounter>> *counters;
@end
@interface MTLCounterSampleBufferDescriptor : NSObject <NSCopying>
@property (nullable, strong) id<MTLCounterSet> counterSet;
@property (nullable, copy) NSString *label;
@property MTLStorageMode storageMode;
@property NSUInteger sampleCount;
@end
@protocol MTLCounterSampleBuffer <NSObject>
@property (readonly) id<MTLDevice> device;
@property (readonly) NSString *label;
@property (readonly) NSUInteger sampleCount;
- (nullable NSData *)resolveCounterRange:(NSRange)range;
@end

/* Where an encoder's start and end are sampled. */
@interface MTLComputePassSampleBufferAttachmentDescriptor : NSObject <NSCopying>
@property (nullable, strong) id<MTLCounterSampleBuffer> sampleBuffer;
@property NSUInteger startOfEncoderSampleIndex, endOfEncoderSampleIndex; /* 0, 0 */
@end
@interface MTLComputePassSampleBufferAttachmentDescriptorArray : NSObject
- (MTLComputePassSampleBufferAttachmentDescriptor *)objectAtIndexedSubscript:(NSUInteger)index;
- (void)setObject:(nullable MTLComputePassSampleBufferAttachmentDescriptor *)attachment
    atIndexedSubscript:(NSUInteger)index;
@end
@interface MTLBlitPassSampleBufferAttachmentDescriptor : MTLComputePassSampleBufferAttachmentDescriptor
@end
@interface MTLBlitPassSampleBufferAttachmentDescriptorArray : MTLComputePassSampleBufferAttachmentDescriptorArray
- (MTLBlitPassSampleBufferAttachmentDescriptor *)objectAtIndexedSubscript:(NSUInteger)index;
@end
#endif
