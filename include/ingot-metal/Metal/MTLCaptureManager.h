#ifndef INGOT_METAL_MTL_CAPTURE_MANAGER_H
#define INGOT_METAL_MTL_CAPTURE_MANAGER_H
#import <Metal/MTLTypes.h>

typedef NS_ENUM(NSInteger, MTLCaptureError) {
    MTLCaptureErrorNotSupported = 1,
    MTLCaptureErrorAlreadyCapturing = 2,
    MTLCaptureErrorInvalidDescriptor = 3,
};
typedef NS_ENUM(NSInteger, MTLCaptureDestination) {
    MTLCaptureDestinationDeveloperTools = 1,
    MTLCaptureDestinationGPUTraceDocument = 2,
};
MTL_EXTERN NSString *const MTLCaptureErrorDomain;
@interface MTLCaptureDescriptor : NSObject <NSCopying>
@property (nullable, strong) id captureObject;
@property MTLCaptureDestination destination;
@property (nullable, copy) NSURL *outputURL;
@end
@protocol MTLCaptureScope <NSObject>
@property (nullable, copy) NSString *label;
@property (readonly) id<MTLDevice> device;
- (void)beginScope;
- (void)endScope;
@end
/* Nothing can be captured: startCapture says so, and why. */
@interface MTLCaptureManager : NSObject
+ (MTLCaptureManager *)sharedCaptureManager;
@property (nullable, strong) id<MTLCaptureScope> defaultCaptureScope;
@property (readonly) BOOL isCapturing;
- (id<MTLCaptureScope>)newCaptureScopeWithDevice:(id<MTLDevice>)device NS_RETURNS_RETAINED;
- (id<MTLCaptureScope>)newCaptureScopeWithCommandQueue:(id<MTLCommandQueue>)commandQueue NS_RETURNS_RETAINED;
- (BOOL)supportsDestination:(MTLCaptureDestination)destination;
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor *)descriptor error:(NSError **)error;
- (void)startCaptureWithDevice:(id<MTLDevice>)device;
- (void)startCaptureWithCommandQueue:(id<MTLCommandQueue>)commandQueue;
- (void)stopCapture;
@end
#endif
