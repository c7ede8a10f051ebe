/*
 * The classes behind Metal's protocols. Written with manual reference counting.
 *
 * Instance variables are public to this folder. Objects that hold an object of libingot release it with
 * themselves; commands that run keep what they use alive on their own.
 */
#ifndef INGOT_METAL_API_OBJECTS_H
#define INGOT_METAL_API_OBJECTS_H

#import <Metal/Metal.h>

#include "metal/core/core.h"

/* Throws: "-[MTLBuffer contents]: …". `what` is the object or class that was called. */
#define IM_RAISE(what, ...) im_raise((what), _cmd, __VA_ARGS__)
/* Throws where an array of so many items is at NULL. */
#define IM_NEED_LIST(what, list, count)                                                            \
    do {                                                                                           \
        if ((count) && !(list)) {                                                                  \
            IM_RAISE(what, @"%lu " #list " at NULL", (unsigned long)(count));                      \
        }                                                                                          \
    } while (0)
void im_raise(id what, SEL selector, NSString *format, ...) __attribute__((noreturn))
NS_FORMAT_FUNCTION(3, 4);
/* Sets *error, where there is one, to the calling thread's message of libingot. */
void im_set_error(NSError **error, NSString *domain, NSInteger code, const char *message);

/* One call at a time is let into a command buffer and its encoders: a program whose threads race on them gets calls in
 * some order, or exceptions, and no broken memory. Until the end of the block, exceptions included. */
#define IM_ENTER(buffer)                                                                           \
    pthread_mutex_t *im_entered __attribute__((cleanup(im_leave), unused)) = &(buffer)->lock;      \
    pthread_mutex_lock(im_entered)
static inline void im_leave(pthread_mutex_t **entered) {
    pthread_mutex_unlock(*entered);
}

/* What all of them have: a label, and a clear exception for what is not there. */
@interface IngotObject : NSObject
@property (copy) NSString *label;
/* The protocol's name, for messages. */
+ (NSString *)metalName;
@end

@interface IngotDevice : IngotObject <MTLDevice> {
@public
    ingot_device *device;
    ingot_device_info info;
    atomic_uint_fast64_t allocated;
    NSUInteger index;
}
@property BOOL shouldMaximizeConcurrentCompilation;
@end

@interface IngotBuffer : IngotObject <MTLBuffer> {
@public
    IngotDevice *owner;
    ingot_buffer *buffer;
    MTLResourceOptions options;
    id<MTLHeap> heap;
    NSUInteger heapOffset;
    BOOL isAliasable;
}
/* Takes the buffer; nil without memory. */
- (instancetype)initWithDevice:(IngotDevice *)device
                        buffer:(ingot_buffer *)buffer
                       options:(MTLResourceOptions)options;
- (NSUInteger)length;
- (void *)contents;
- (MTLGPUAddress)gpuAddress;
@end

@interface IngotLibrary : IngotObject <MTLLibrary> {
@public
    IngotDevice *owner;
    ingot_library *library;
}
- (instancetype)initWithDevice:(IngotDevice *)device library:(ingot_library *)library;
@end

@interface MTLFunctionConstantValues ()
/* The values that `library` has constants for; malloc'ed, and valid while the object is not changed. */
- (ingot_constant *)valuesFor:(ingot_library *)library count:(size_t *)count;
@end

@interface IngotFunction : IngotObject <MTLFunction> {
@public
    IngotLibrary *library;
    NSString *kernel;
    NSString *shownName;
    MTLFunctionConstantValues *constants;
}
@end

@class IngotCounterSampleBuffer;
enum { IM_ATTACHMENTS = 4 }; /* of a pass: where its times go */

@interface IngotPipeline : IngotObject <MTLComputePipelineState> {
@public
    IngotDevice *owner;
    struct im_pipeline pipeline;
    NSUInteger maxThreads;
    BOOL supportsIndirect;
}
/* Takes the kernel. */
- (instancetype)initWithDevice:(IngotDevice *)device kernel:(ingot_kernel *)kernel;
- (MTLComputePipelineReflection *)newReflection NS_RETURNS_RETAINED;
@end

@interface IngotEvent : IngotObject <MTLSharedEvent> {
@public
    IngotDevice *owner;
    struct im_timeline *timeline;
    BOOL isShared;
}
- (instancetype)initWithDevice:(IngotDevice *)device isShared:(BOOL)isShared;
@end

@interface IngotCommandQueue : IngotObject <MTLCommandQueue> {
@public
    IngotDevice *owner;
    struct im_queue *queue;
    id logState;
}
- (instancetype)initWithDevice:(IngotDevice *)device;
@end

@class IngotEncoder;

@interface IngotCommandBuffer : IngotObject <MTLCommandBuffer> {
@public
    struct im_work work;
    pthread_mutex_t lock; /* recursive; IM_ENTER */
    IngotCommandQueue *owner;
    IngotEncoder *encoder; /* that is open; not retained */
    NSMutableArray *scheduledHandlers, *completedHandlers, *encoderLabels;
    NSError *failure;
    id logState;
    MTLCommandBufferErrorOption errorOptions;
    BOOL retainsReferences;
    BOOL hasLostEncoder; /* one was released without endEncoding */
}
/* Was anything encoded, or is an encoder open? For those who decide whether a commit is worth it. */
- (BOOL)ingotHasWork;
- (instancetype)initWithQueue:(IngotCommandQueue *)queue descriptor:(MTLCommandBufferDescriptor *)descriptor;
- (id<MTLDevice>)device;
@end

/* The part of an encoder that all kinds have. */
@interface IngotEncoder : IngotObject {
@public
    IngotCommandBuffer *commandBuffer;
    BOOL hasEnded;
    struct {
        IngotCounterSampleBuffer *buffer;
        NSUInteger index;
    } ends[IM_ATTACHMENTS]; /* what endEncoding samples */
    int endCount;
}
- (instancetype)initWithCommandBuffer:(IngotCommandBuffer *)commandBuffer;
- (void)needOpen:(SEL)selector;
@end
@interface IngotEncoder (Counters)
/* The start, and at endEncoding the end. */
- (void)sampleInto:(MTLComputePassSampleBufferAttachmentDescriptorArray *)attachments for:(SEL)selector;
- (void)sampleEnd:(SEL)selector;
@end
@interface MTLComputePassSampleBufferAttachmentDescriptorArray ()
- (void)copyTo:(MTLComputePassSampleBufferAttachmentDescriptorArray *)other;
@end

@interface IngotComputeEncoder : IngotEncoder <MTLComputeCommandEncoder> {
@public
    IngotPipeline *pipeline;
    MTLDispatchType kind;
    struct im_binding bindings[IM_BUFFERS];
    uint32_t threadgroupLengths[IM_THREADGROUP_BUFFERS];
}
@end

@interface IngotBlitEncoder : IngotEncoder <MTLBlitCommandEncoder>
@end

/* ---- for devices ---- */
/* The same object for the same name; NULL: the default one. nil where it cannot be opened. */
IngotDevice *im_device_named(const char *name);
id im_new_heap(IngotDevice *device, MTLHeapDescriptor *descriptor);
id im_new_fence(IngotDevice *device);
id im_new_residency_set(IngotDevice *device, MTLResidencySetDescriptor *descriptor);
id im_new_log_state(MTLLogStateDescriptor *descriptor);
id im_new_argument_encoder(IngotDevice *device, NSArray *arguments);
id im_new_indirect_command_buffer(IngotDevice *device, MTLIndirectCommandBufferDescriptor *descriptor, NSUInteger count,
                                  MTLResourceOptions options);
id im_new_counter_sample_buffer(IngotDevice *device, MTLCounterSampleBufferDescriptor *descriptor, NSError **error);
NSArray *im_counter_sets(void);
id im_new_binary_archive(IngotDevice *device, MTLBinaryArchiveDescriptor *descriptor, NSError **error);
/* A kernel that one of the archives holds, retained; NULL: none does. */
ingot_kernel *im_archived_kernel(NSArray *archives, IngotDevice *device, ingot_library *library,
                                 const ingot_kernel_desc *desc);
/* Bytes of a constant's value. */
size_t im_constant_size(const ingot_constant_info *info);
/* A buffer of `length` bytes in the memory that the options ask for; NULL and libingot's message. */
ingot_buffer *im_allocate(IngotDevice *device, NSUInteger length, MTLResourceOptions options);

/* The object as one of ours, of that device; throws otherwise. nil is an error too. */
IngotBuffer *im_check_buffer(id what, SEL selector, id buffer, IngotDevice *device);
IngotPipeline *im_check_pipeline(id what, SEL selector, id pipeline, IngotDevice *device);
/* Records a dispatch, whose bindings and kind of grid are set, after the checks that each one needs. */
void im_encode_dispatch(IngotComputeEncoder *encoder, SEL selector, IngotPipeline *pipeline,
                        struct im_dispatch *dispatch, MTLSize grid, MTLSize group);

@interface MTLCompileOptions (Chosen)
- (BOOL)isFastMathAskedFor;
@end

#endif
