#ifndef INGOT_METAL_MTL_EVENT_H
#define INGOT_METAL_MTL_EVENT_H
#import <Metal/MTLTypes.h>

@protocol MTLEvent <NSObject>
@property (nullable, readonly) id<MTLDevice> device;
@property (nullable, copy) NSString *label;
@end

@interface MTLSharedEventListener : NSObject
+ (MTLSharedEventListener *)sharedListener;
- (instancetype)init;
- (instancetype)initWithDispatchQueue:(dispatch_queue_t)dispatchQueue;
@property (readonly) dispatch_queue_t dispatchQueue;
@end

typedef void (^MTLSharedEventNotificationBlock)(id<MTLSharedEvent> event, uint64_t value);

@protocol MTLSharedEvent <MTLEvent>
@property (readwrite) uint64_t signaledValue;
- (void)notifyListener:(MTLSharedEventListener *)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block;
- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds;
- (MTLSharedEventHandle *)newSharedEventHandle NS_RETURNS_RETAINED;
@end
#endif
