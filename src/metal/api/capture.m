/* Captures: there is nothing that could show one, so starting one is refused, with the reason. */
#import "metal/api/objects.h"

NSString *const MTLCaptureErrorDomain = @"MTLCaptureErrorDomain";

@implementation MTLCaptureDescriptor
@synthesize captureObject = _captureObject, destination = _destination, outputURL = _outputURL;
- (id)copyWithZone:(NSZone *)zone {
    MTLCaptureDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setCaptureObject:_captureObject];
    [copy setOutputURL:_outputURL];
    copy->_destination = _destination;
    return copy;
}
- (void)dealloc {
    [_captureObject release];
    [_outputURL release];
    [super dealloc];
}
@end

@interface IngotCaptureScope : IngotObject <MTLCaptureScope> {
@public
    id owner;
}
@end
@implementation IngotCaptureScope
- (id<MTLDevice>)device {
    return owner;
}
- (void)beginScope {
}
- (void)endScope {
}
- (void)dealloc {
    [owner release];
    [super dealloc];
}
@end

@implementation MTLCaptureManager
@synthesize defaultCaptureScope = _defaultCaptureScope;
+ (MTLCaptureManager *)sharedCaptureManager {
    static MTLCaptureManager *shared;
    static dispatch_once_t once;
    dispatch_once(&once, ^{
      shared = [[MTLCaptureManager alloc] init];
    });
    return shared;
}
- (BOOL)isCapturing {
    return NO;
}
- (id)newCaptureScopeWithDevice:(id<MTLDevice>)device {
    IngotCaptureScope *scope = [[IngotCaptureScope alloc] init];
    scope->owner = [(id)device retain];
    return scope;
}
- (id)newCaptureScopeWithCommandQueue:(id<MTLCommandQueue>)queue {
    return [self newCaptureScopeWithDevice:[queue device]];
}
- (BOOL)supportsDestination:(MTLCaptureDestination)destination {
    (void)destination;
    return NO;
}
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor *)descriptor error:(NSError **)error {
    (void)descriptor;
    im_set_error(error, MTLCaptureErrorDomain, MTLCaptureErrorNotSupported,
                 "ingot does not capture: there are no GPU traces on this system");
    return NO;
}
- (void)startCaptureWithDevice:(id<MTLDevice>)device {
    (void)device;
    IM_RAISE(self, @"ingot does not capture: there are no GPU traces on this system");
}
- (void)startCaptureWithCommandQueue:(id<MTLCommandQueue>)queue {
    (void)queue;
    IM_RAISE(self, @"ingot does not capture: there are no GPU traces on this system");
}
- (void)stopCapture {
}
- (void)dealloc {
    [_defaultCaptureScope release];
    [super dealloc];
}
@end
