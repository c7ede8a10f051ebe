/* MTLEvent, MTLSharedEvent and its listeners: a timeline of the core each. */
#import "metal/api/objects.h"

@implementation MTLSharedEventListener {
    dispatch_queue_t _queue;
}
+ (MTLSharedEventListener *)sharedListener {
    static MTLSharedEventListener *shared;
    static dispatch_once_t once;
    dispatch_once(&once, ^{
      shared = [[MTLSharedEventListener alloc] init];
    });
    return shared;
}
- (instancetype)init {
    dispatch_queue_t queue = dispatch_queue_create("MTLSharedEventListener", DISPATCH_QUEUE_SERIAL);
    self = [self initWithDispatchQueue:queue];
    dispatch_release(queue);
    return self;
}
- (instancetype)initWithDispatchQueue:(dispatch_queue_t)queue {
    if (!queue) {
        IM_RAISE(self, @"the queue is NULL");
    }
    if ((self = [super init])) {
        dispatch_retain(queue);
        _queue = queue;
    }
    return self;
}
- (dispatch_queue_t)dispatchQueue {
    return _queue;
}
- (void)dealloc {
    dispatch_release(_queue);
    [super dealloc];
}
@end

@implementation IngotEvent
- (instancetype)initWithDevice:(IngotDevice *)device isShared:(BOOL)shared {
    if ((self = [super init])) {
        owner = [device retain];
        isShared = shared;
        timeline = im_timeline_create();
        if (!timeline) {
            [self release];
            return nil;
        }
    }
    return self;
}
- (void)dealloc {
    im_timeline_release(timeline);
    [owner release];
    [super dealloc];
}
- (id<MTLDevice>)device {
    return (id<MTLDevice>)owner;
}
- (void)needShared:(SEL)selector {
    if (!isShared) {
        im_raise(self, selector, @"the event is not shared: only the device sees its value");
    }
}
- (uint64_t)signaledValue {
    [self needShared:_cmd];
    return im_timeline_value(timeline);
}
- (void)setSignaledValue:(uint64_t)value {
    [self needShared:_cmd];
    im_timeline_set(timeline, value);
}
- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds {
    [self needShared:_cmd];
    return im_timeline_wait(timeline, value, (double)milliseconds * 1e-3);
}

struct notification {
    IngotEvent *event;
    dispatch_queue_t queue;
    MTLSharedEventNotificationBlock block;
};

static void notify(void *context, uint64_t value) {
    struct notification *one = context;
    IngotEvent *event = one->event;
    MTLSharedEventNotificationBlock block = one->block;
    dispatch_async(one->queue, ^{
      block((id<MTLSharedEvent>)event, value);
    });
    dispatch_release(one->queue);
    [event release];
    [block release];
    free(one);
}

- (void)notifyListener:(MTLSharedEventListener *)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block {
    [self needShared:_cmd];
    if (!listener || !block) {
        IM_RAISE(self, @"the %@ is nil", listener ? @"block" : @"listener");
    }
    struct notification *one = malloc(sizeof *one);
    if (!one) {
        IM_RAISE(self, @"no memory");
    }
    dispatch_retain([listener dispatchQueue]);
    *one = (struct notification){[self retain], [listener dispatchQueue], [block copy]};
    if (!im_timeline_notify(timeline, value, notify, one)) {
        IM_RAISE(self, @"no memory");
    }
}
+ (NSString *)metalName {
    return @"MTLSharedEvent";
}
@end
