#ifndef INGOT_METAL_MTL_BINARY_ARCHIVE_H
#define INGOT_METAL_MTL_BINARY_ARCHIVE_H
#import <Metal/MTLComputePipeline.h>

typedef NS_ENUM(NSUInteger, MTLBinaryArchiveError) {
    MTLBinaryArchiveErrorNone = 0,
    MTLBinaryArchiveErrorInvalidFile = 1,
    MTLBinaryArchiveErrorUnexpectedElement = 2,
    MTLBinaryArchiveErrorCompilationFailure = 3,
    MTLBinaryArchiveErrorInternalError = 4,
};
MTL_EXTERN NSString *const MTLBinaryArchiveDomain;

@interface MTLBinaryArchiveDescriptor : NSObject <NSCopying>
@property (nullable, copy) NSURL *url; /* nil: an empty one */
@end
@protocol MTLBinaryArchive <NSObject>
@property (nullable, copy) NSString *label;
@property (readonly) id<MTLDevice> device;
- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor *)descriptor error:(NSError **)error;
- (BOOL)addRenderPipelineFunctionsWithDescriptor:(MTLRenderPipelineDescriptor *)descriptor error:(NSError **)error;
- (BOOL)addFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor
                          library:(id<MTLLibrary>)library
                            error:(NSError **)error;
- (BOOL)serializeToURL:(NSURL *)url error:(NSError **)error;
@end
#endif
