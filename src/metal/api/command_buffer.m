/* Command queues and command buffers: a queue and a work of the core each, with handlers and errors. */
#import "metal/api/objects.h"

#include <objc/runtime.h>
#include <stddef.h>

NSString *const MTLCommandBufferErrorDomain = @"MTLCommandBufferErrorDomain";
NSString *const MTLCommandBufferEncoderInfoErrorKey = @"MTLCommandBufferEncoderInfoErrorKey";

@implementation MTLCommandBufferDescriptor
@synthesize retainedReferences = _retainedReferences, errorOptions = _errorOptions, logState = _logState;
- (instancetype)init {
    if ((self = [super init])) {
        _retainedReferences = YES;
    }
    return self;
}
- (id)copyWithZone:(NSZone *)zone {
    MTLCommandBufferDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_retainedReferences = _retainedReferences;
    copy->_errorOptions = _errorOptions;
    [copy setLogState:_logState];
    return copy;
}
- (void)dealloc {
    [_logState release];
    [super dealloc];
}
@end

@implementation MTLCommandQueueDescriptor
@synthesize maxCommandBufferCount = _maxCommandBufferCount, logState = _logState;
- (instancetype)init {
    if ((self = [super init])) {
        _maxCommandBufferCount = 64;
    }
    return self;
}
- (id)copyWithZone:(NSZone *)zone {
    MTLCommandQueueDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_maxCommandBufferCount = _maxCommandBufferCount;
    [copy setLogState:_logState];
    return copy;
}
- (void)dealloc {
    [_logState release];
    [super dealloc];
}
@end

@implementation MTLComputePassDescriptor {
    MTLComputePassSampleBufferAttachmentDescriptorArray *_attachments;
}
@synthesize dispatchType = _dispatchType;
+ (MTLComputePassDescriptor *)computePassDescriptor {
    return [[[self alloc] init] autorelease];
}
- (MTLComputePassSampleBufferAttachmentDescriptorArray *)sampleBufferAttachments {
    if (!_attachments) {
        _attachments = [[MTLComputePassSampleBufferAttachmentDescriptorArray alloc] init];
    }
    return _attachments;
}
- (id)copyWithZone:(NSZone *)zone {
    MTLComputePassDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_dispatchType = _dispatchType;
    [_attachments copyTo:[copy sampleBufferAttachments]];
    return copy;
}
- (void)dealloc {
    [_attachments release];
    [super dealloc];
}
@end

@implementation MTLBlitPassDescriptor {
    MTLBlitPassSampleBufferAttachmentDescriptorArray *_attachments;
}
+ (MTLBlitPassDescriptor *)blitPassDescriptor {
    return [[[self alloc] init] autorelease];
}
- (MTLBlitPassSampleBufferAttachmentDescriptorArray *)sampleBufferAttachments {
    if (!_attachments) {
        _attachments = [[MTLBlitPassSampleBufferAttachmentDescriptorArray alloc] init];
    }
    return _attachments;
}
- (id)copyWithZone:(NSZone *)zone {
    MTLBlitPassDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [_attachments copyTo:[copy sampleBufferAttachments]];
    return copy;
}
- (void)dealloc {
    [_attachments release];
    [super dealloc];
}
@end

@implementation IngotCommandQueue
- (instancetype)initWithDevice:(IngotDevice *)device {
    if ((self = [super init])) {
        owner = [device retain];
        queue = im_queue_create(device->device);
        if (!queue) {
            [self release];
            return nil;
        }
    }
    return self;
}
- (void)dealloc {
    im_queue_release(queue);
    [logState release];
    [owner release];
    [super dealloc];
}
- (id<MTLDevice>)device {
    return (id<MTLDevice>)owner;
}
- (id)commandBuffer {
    return [[[IngotCommandBuffer alloc] initWithQueue:self descriptor:nil] autorelease];
}
- (id)commandBufferWithUnretainedReferences {
    IngotCommandBuffer *buffer = [[IngotCommandBuffer alloc] initWithQueue:self descriptor:nil];
    buffer->retainsReferences = NO;
    return [buffer autorelease];
}
- (id)commandBufferWithDescriptor:(MTLCommandBufferDescriptor *)descriptor {
    return [[[IngotCommandBuffer alloc] initWithQueue:self descriptor:descriptor] autorelease];
}
- (void)insertDebugCaptureBoundary {
}
- (void)addResidencySet:(id)set {
    (void)set;
}
- (void)addResidencySets:(const id<MTLResidencySet> *)sets count:(NSUInteger)count {
    (void)sets;
    (void)count;
}
- (void)removeResidencySet:(id)set {
    (void)set;
}
- (void)removeResidencySets:(const id<MTLResidencySet> *)sets count:(NSUInteger)count {
    (void)sets;
    (void)count;
}
@end

/* ---- command buffers ---- */

@interface IngotEncoderInfo : NSObject <MTLCommandBufferEncoderInfo> {
@public
    NSString *_label;
    MTLCommandEncoderErrorState _state;
}
@end
@implementation IngotEncoderInfo
- (NSString *)label {
    return _label;
}
- (NSArray *)debugSignposts {
    return [NSArray array];
}
- (MTLCommandEncoderErrorState)errorState {
    return _state;
}
- (void)dealloc {
    [_label release];
    [super dealloc];
}
@end

static IngotCommandBuffer *buffer_of(struct im_work *work) {
    extern ptrdiff_t im_work_offset(void);
    return (IngotCommandBuffer *)((char *)work - im_work_offset());
}

ptrdiff_t im_work_offset(void);
ptrdiff_t im_work_offset(void) {
    static ptrdiff_t offset;
    if (!offset) {
        offset = ivar_getOffset(class_getInstanceVariable([IngotCommandBuffer class], "work"));
    }
    return offset;
}

static MTLCommandBufferError error_code(ingot_status status) {
    switch (status) {
    case INGOT_TIMEOUT:
        return MTLCommandBufferErrorTimeout;
    case INGOT_KERNEL_FAULT:
        return MTLCommandBufferErrorPageFault;
    case INGOT_OUT_OF_MEMORY:
        return MTLCommandBufferErrorOutOfMemory;
    case INGOT_LAUNCH_ERROR:
    case INGOT_INVALID_ARGUMENT:
        return MTLCommandBufferErrorInvalidResource;
    case INGOT_DEVICE_LOST:
        return MTLCommandBufferErrorDeviceRemoved;
    default:
        return MTLCommandBufferErrorInternal;
    }
}

/* What a handler throws has nobody to catch it, and ends the program, as on a Mac; it is told where it came from. */
static void call_handlers(NSArray *handlers, IngotCommandBuffer *buffer, SEL selector) {
    @autoreleasepool {
        for (MTLCommandBufferHandler handler in handlers) {
            @try {
                handler((id<MTLCommandBuffer>)buffer);
            } @catch (NSException *thrown) {
                im_raise(buffer, selector, @"the block threw %@: %@", [thrown name], [thrown reason]);
            }
        }
    }
}

static void scheduled(struct im_work *work) {
    call_handlers(buffer_of(work)->scheduledHandlers, buffer_of(work), @selector(addScheduledHandler:));
}

static void completed(struct im_work *work) {
    call_handlers(buffer_of(work)->completedHandlers, buffer_of(work), @selector(addCompletedHandler:));
}

static void released(struct im_work *work) {
    @autoreleasepool {
        IngotCommandBuffer *buffer = buffer_of(work);
        [buffer->scheduledHandlers release];
        [buffer->completedHandlers release];
        buffer->scheduledHandlers = buffer->completedHandlers = nil;
        [buffer release];
    }
}

@implementation IngotCommandBuffer
- (instancetype)initWithQueue:(IngotCommandQueue *)queue descriptor:(MTLCommandBufferDescriptor *)descriptor {
    if ((self = [super init])) {
        pthread_mutexattr_t recursive;
        pthread_mutexattr_init(&recursive);
        pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
        pthread_mutex_init(&lock, &recursive);
        pthread_mutexattr_destroy(&recursive);
        owner = [queue retain];
        work.queue = queue->queue;
        work.scheduled = scheduled;
        work.completed = completed;
        work.released = released;
        logState = [[descriptor logState] retain];
        retainsReferences = descriptor ? [descriptor retainedReferences] : YES;
        errorOptions = descriptor ? [descriptor errorOptions] : MTLCommandBufferErrorOptionNone;
    }
    return self;
}
- (void)dealloc {
    im_commands_clear(&work.commands);
    free(work.message);
    ingot_event_release(work.start);
    ingot_event_release(work.end);
    [scheduledHandlers release];
    [completedHandlers release];
    [encoderLabels release];
    [failure release];
    [logState release];
    [owner release];
    pthread_mutex_destroy(&lock);
    [super dealloc];
}
- (id<MTLDevice>)device {
    return (id<MTLDevice>)owner->owner;
}
- (id<MTLCommandQueue>)commandQueue {
    return (id<MTLCommandQueue>)owner;
}
- (BOOL)retainedReferences {
    return retainsReferences;
}
- (MTLCommandBufferErrorOption)errorOptions {
    return errorOptions;
}
- (MTLCommandBufferStatus)status {
    return (MTLCommandBufferStatus)im_work_state(&work);
}
- (id)logs {
    return nil;
}

/* Throws unless the command buffer can still be added to. */
- (void)needOpen:(SEL)selector {
    if (atomic_load(&work.state) >= IM_COMMITTED) {
        im_raise(self, selector, @"the command buffer was committed before");
    }
}
- (void)needNoEncoder:(SEL)selector {
    [self needOpen:selector];
    if (encoder) {
        im_raise(self, selector, @"an encoder is open (%@): endEncoding was not called", encoder);
    }
}

- (BOOL)ingotHasWork {
    IM_ENTER(self);
    return encoder || hasLostEncoder || work.commands.first || scheduledHandlers || completedHandlers;
}

- (void)enqueue {
    IM_ENTER(self);
    [self needOpen:_cmd];
    [self retain];
    if (!im_work_enqueue(&work)) {
        [self release];
        IM_RAISE(self, @"the command buffer was enqueued before");
    }
}
- (void)commitOnce {
    IM_ENTER(self);
    [self needNoEncoder:@selector(commit)];
    if (hasLostEncoder) {
        im_raise(self, @selector(commit), @"an encoder of the command buffer was released without endEncoding");
    }
    if (atomic_load(&work.state) == IM_NOT_ENQUEUED) {
        [self retain]; /* until `released` */
    }
    work.has_listeners = scheduledHandlers || completedHandlers;
    im_work_commit(&work);
}
- (void)commit {
    [self retain]; /* it may be done, and released, before the lock is given back */
    @try {
        [self commitOnce];
    } @finally {
        [self release];
    }
}
- (void)addScheduledHandler:(MTLCommandBufferHandler)block {
    [self add:block to:&scheduledHandlers for:_cmd];
}
- (void)addCompletedHandler:(MTLCommandBufferHandler)block {
    [self add:block to:&completedHandlers for:_cmd];
}
- (void)add:(MTLCommandBufferHandler)block to:(NSMutableArray **)handlers for:(SEL)selector {
    IM_ENTER(self);
    [self needOpen:selector];
    if (!block) {
        im_raise(self, selector, @"the block is nil");
    }
    if (!*handlers) {
        *handlers = [[NSMutableArray alloc] init];
    }
    id copy = [block copy];
    [*handlers addObject:copy];
    [copy release];
}
- (void)needCommitted:(SEL)selector {
    if (atomic_load(&work.state) < IM_COMMITTED) {
        im_raise(self, selector, @"the command buffer was not committed: it would wait for ever");
    }
}
- (void)waitUntilScheduled {
    [self needCommitted:_cmd];
    im_work_wait(&work, IM_SCHEDULED);
}
- (void)waitUntilCompleted {
    [self needCommitted:_cmd];
    im_work_wait(&work, IM_COMPLETED);
}

- (NSArray *)encoderInfos {
    NSMutableArray *infos = [NSMutableArray array];
    for (NSString *label in encoderLabels) {
        IngotEncoderInfo *info = [[IngotEncoderInfo alloc] init];
        info->_label = [label copy];
        info->_state = [encoderLabels count] == 1 ? MTLCommandEncoderErrorStateFaulted
                                                  : MTLCommandEncoderErrorStateAffected;
        [infos addObject:info];
        [info release];
    }
    return infos;
}
- (NSError *)error {
    if (im_work_state(&work) != IM_FAILED) {
        return nil;
    }
    @synchronized(self) {
        if (!failure) {
            NSMutableDictionary *about = [NSMutableDictionary dictionary];
            NSString *text = [NSString stringWithFormat:@"%s: %s", ingot_status_name(work.status),
                                                        work.message ? work.message : ""];
            [about setObject:text forKey:NSLocalizedDescriptionKey];
            if (errorOptions & MTLCommandBufferErrorOptionEncoderExecutionStatus) {
                [about setObject:[self encoderInfos] forKey:MTLCommandBufferEncoderInfoErrorKey];
            }
            failure = [[NSError alloc] initWithDomain:MTLCommandBufferErrorDomain
                                                 code:(NSInteger)error_code(work.status)
                                             userInfo:about];
        }
    }
    return failure;
}

- (CFTimeInterval)GPUStartTime {
    double start = 0, end = 0;
    if (im_work_state(&work) >= IM_COMPLETED) {
        im_work_times(&work, &start, &end);
    }
    return start;
}
- (CFTimeInterval)GPUEndTime {
    double start = 0, end = 0;
    if (im_work_state(&work) >= IM_COMPLETED) {
        im_work_times(&work, &start, &end);
    }
    return end;
}
- (CFTimeInterval)kernelStartTime {
    return atomic_load(&work.state) >= IM_COMMITTED ? work.committed_at : 0;
}
- (CFTimeInterval)kernelEndTime {
    return atomic_load(&work.state) >= IM_SCHEDULED ? work.scheduled_at : 0;
}

/* ---- encoders ---- */

- (id)open:(Class)class for:(SEL)selector {
    IM_ENTER(self);
    [self needNoEncoder:selector];
    IngotEncoder *opened = [[class alloc] initWithCommandBuffer:self];
    encoder = opened;
    return [opened autorelease];
}
- (id)computeCommandEncoder {
    return [self open:[IngotComputeEncoder class] for:_cmd];
}
- (id)computeCommandEncoderWithDispatchType:(MTLDispatchType)dispatchType {
    IngotComputeEncoder *opened = [self open:[IngotComputeEncoder class] for:_cmd];
    opened->kind = dispatchType;
    return opened;
}
- (id)computeCommandEncoderWithDescriptor:(MTLComputePassDescriptor *)descriptor {
    IngotComputeEncoder *opened = [self open:[IngotComputeEncoder class] for:_cmd];
    opened->kind = [descriptor dispatchType];
    [opened sampleInto:[descriptor sampleBufferAttachments] for:_cmd];
    return opened;
}
- (id)blitCommandEncoder {
    return [self open:[IngotBlitEncoder class] for:_cmd];
}
- (id)blitCommandEncoderWithDescriptor:(MTLBlitPassDescriptor *)descriptor {
    IngotBlitEncoder *opened = [self open:[IngotBlitEncoder class] for:_cmd];
    [opened sampleInto:[descriptor sampleBufferAttachments] for:_cmd];
    return opened;
}
- (void)event:(id)object value:(uint64_t)value isSignal:(BOOL)isSignal for:(SEL)selector {
    IM_ENTER(self);
    [self needNoEncoder:selector];
    if (![object isKindOfClass:[IngotEvent class]]) {
        im_raise(self, selector, @"an event is needed, not %@", object ? (id)[object class] : @"nil");
    }
    IngotEvent *event = object;
    if (!event->isShared && event->owner != owner->owner) {
        im_raise(self, selector, @"the event belongs to device \"%s\", the command buffer to device \"%s\"",
                 event->owner->info.name, owner->owner->info.name);
    }
    if (!im_commands_event(&work.commands, event->timeline, value, isSignal, event->isShared)) {
        im_raise(self, selector, @"no memory");
    }
}
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value {
    [self event:event value:value isSignal:YES for:_cmd];
}
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value {
    [self event:event value:value isSignal:NO for:_cmd];
}
- (void)useResidencySet:(id)set {
    (void)set;
}
- (void)useResidencySets:(const id<MTLResidencySet> *)sets count:(NSUInteger)count {
    (void)sets;
    (void)count;
}
- (void)pushDebugGroup:(NSString *)string {
    (void)string;
}
- (void)popDebugGroup {
}
@end
