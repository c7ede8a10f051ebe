/*
 * Encoders. They check what Metal's validation checks, and throw where a Mac would stop the program; then
 * they record commands. Work of one command buffer runs in the order of its commands, also where it may
 * run concurrently, so barriers and fences have nothing to do.
 */
#import "metal/api/objects.h"

#include <objc/runtime.h>

enum { MAX_BYTES = 4096 };

@implementation IngotEncoder
- (instancetype)initWithCommandBuffer:(IngotCommandBuffer *)buffer {
    if ((self = [super init])) {
        commandBuffer = [buffer retain];
    }
    return self;
}
- (void)dealloc {
    if (!hasEnded) {
        IM_ENTER(commandBuffer);
        commandBuffer->hasLostEncoder = YES; /* its commit throws */
        commandBuffer->encoder = nil;
    }
    for (int i = 0; i < endCount; i++) {
        [(id)ends[i].buffer release];
    }
    [commandBuffer release];
    [super dealloc];
}
- (id<MTLDevice>)device {
    return [commandBuffer device];
}
- (void)needOpen:(SEL)selector {
    if (hasEnded) {
        im_raise(self, selector, @"endEncoding was called before");
    }
}
- (void)endEncoding {
    IM_ENTER(commandBuffer);
    [self needOpen:_cmd];
    [self sampleEnd:_cmd];
    hasEnded = YES;
    commandBuffer->encoder = nil;
    if (commandBuffer->errorOptions & MTLCommandBufferErrorOptionEncoderExecutionStatus) {
        if (!commandBuffer->encoderLabels) {
            commandBuffer->encoderLabels = [[NSMutableArray alloc] init];
        }
        [commandBuffer->encoderLabels addObject:[self label] ? [self label] : @""];
    }
}
- (void)insertDebugSignpost:(NSString *)string {
    (void)string;
}
- (void)pushDebugGroup:(NSString *)string {
    (void)string;
}
- (void)popDebugGroup {
}
- (void)updateFence:(id)fence {
    [self needOpen:_cmd];
    if (!fence) {
        IM_RAISE(self, @"the fence is nil");
    }
}
- (void)waitForFence:(id)fence {
    [self needOpen:_cmd];
    if (!fence) {
        IM_RAISE(self, @"the fence is nil");
    }
}
@end

/* ---- compute ---- */

@implementation IngotComputeEncoder
- (void)dealloc {
    for (int i = 0; i < IM_BUFFERS; i++) {
        ingot_buffer_release(bindings[i].buffer);
        free(bindings[i].bytes);
    }
    [pipeline release];
    [super dealloc];
}
- (MTLDispatchType)dispatchType {
    return kind;
}

static struct im_binding *binding_at(IngotComputeEncoder *self, SEL selector, NSUInteger index) {
    if (self->hasEnded) {
        im_raise(self, selector, @"endEncoding was called before");
    }
    if (index >= IM_BUFFERS) {
        im_raise(self, selector, @"index %lu is not below %d", (unsigned long)index, IM_BUFFERS);
    }
    return &self->bindings[index];
}

static void bind_buffer(IngotComputeEncoder *self, SEL selector, id object, NSUInteger offset, NSUInteger index) {
    IM_ENTER(self->commandBuffer);
    struct im_binding *binding = binding_at(self, selector, index);
    ingot_buffer *buffer = NULL;
    if (object) {
        IngotBuffer *checked = im_check_buffer(self, selector, object, self->commandBuffer->owner->owner);
        buffer = checked->buffer;
        if (offset > ingot_buffer_length(buffer)) {
            im_raise(self, selector, @"offset %lu passes the end of the buffer at index %lu, which has %lu bytes",
                     (unsigned long)offset, (unsigned long)index, (unsigned long)ingot_buffer_length(buffer));
        }
        ingot_buffer_retain(buffer);
    }
    ingot_buffer_release(binding->buffer);
    binding->buffer = buffer;
    binding->offset = offset;
    binding->size = 0;
}

- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
    IM_ENTER(commandBuffer);
    [self needOpen:_cmd];
    IngotPipeline *given = im_check_pipeline(self, _cmd, state, commandBuffer->owner->owner);
    [given retain];
    [pipeline release];
    pipeline = given;
}
- (void)setBytes:(const void *)bytes length:(NSUInteger)length atIndex:(NSUInteger)index {
    IM_ENTER(commandBuffer);
    struct im_binding *binding = binding_at(self, _cmd, index);
    static const uint64_t nothing[2];
    if (length == 0) { /* an empty array, which the kernel does not read */
        bytes = nothing;
        length = sizeof nothing;
    }
    if (!bytes || length > MAX_BYTES) {
        IM_RAISE(self, @"%lu bytes at %p for index %lu: at most %d bytes are possible", (unsigned long)length, bytes,
                 (unsigned long)index, MAX_BYTES);
    }
    if (binding->capacity < length) {
        void *grown = realloc(binding->bytes, length);
        if (!grown) {
            IM_RAISE(self, @"no memory for %lu bytes", (unsigned long)length);
        }
        binding->bytes = grown;
        binding->capacity = (uint32_t)length;
    }
    memcpy(binding->bytes, bytes, length);
    binding->size = (uint32_t)length;
    ingot_buffer_release(binding->buffer);
    binding->buffer = NULL;
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
    bind_buffer(self, _cmd, buffer, offset, index);
}
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index {
    IM_ENTER(commandBuffer);
    struct im_binding *binding = binding_at(self, _cmd, index);
    if (!binding->buffer) {
        IM_RAISE(self, @"there is no buffer at index %lu", (unsigned long)index);
    }
    if (offset > ingot_buffer_length(binding->buffer)) {
        IM_RAISE(self, @"offset %lu passes the end of the buffer at index %lu, which has %lu bytes",
                 (unsigned long)offset, (unsigned long)index, (unsigned long)ingot_buffer_length(binding->buffer));
    }
    binding->offset = offset;
}
- (void)setBuffers:(const id<MTLBuffer> *)buffers offsets:(const NSUInteger *)offsets withRange:(NSRange)range {
    [self needOpen:_cmd];
    IM_NEED_LIST(self, buffers, range.length);
    IM_NEED_LIST(self, offsets, range.length);
    for (NSUInteger i = 0; i < range.length; i++) {
        bind_buffer(self, _cmd, buffers[i], offsets[i], range.location + i);
    }
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
    IM_ENTER(commandBuffer);
    [self needOpen:_cmd];
    if (index >= IM_THREADGROUP_BUFFERS || length > UINT32_MAX) {
        IM_RAISE(self, @"%lu bytes at index %lu: indices are below %d", (unsigned long)length, (unsigned long)index,
                 IM_THREADGROUP_BUFFERS);
    }
    threadgroupLengths[index] = (uint32_t)length;
}

static void take_size(IngotComputeEncoder *self, SEL selector, MTLSize size, uint32_t result[3]) {
    if (size.width > UINT32_MAX || size.height > UINT32_MAX || size.depth > UINT32_MAX) {
        im_raise(self, selector, @"a size of %lu × %lu × %lu is too large", (unsigned long)size.width,
                 (unsigned long)size.height, (unsigned long)size.depth);
    }
    result[0] = (uint32_t)size.width;
    result[1] = (uint32_t)size.height;
    result[2] = (uint32_t)size.depth;
}

void im_encode_dispatch(IngotComputeEncoder *self, SEL selector, IngotPipeline *pipeline,
                        struct im_dispatch *dispatch, MTLSize grid, MTLSize group) {
    IM_ENTER(self->commandBuffer);
    if (self->hasEnded) {
        im_raise(self, selector, @"endEncoding was called before");
    }
    if (!pipeline) {
        im_raise(self, selector, @"no pipeline was set");
    }
    take_size(self, selector, grid, dispatch->grid);
    take_size(self, selector, group, dispatch->group);
    NSUInteger threads = group.width * group.height;
    BOOL isTooLarge = __builtin_mul_overflow(threads, group.depth, &threads) || threads > pipeline->maxThreads;
    if (threads == 0 || isTooLarge) {
        im_raise(self, selector, @"a threadgroup of %lu × %lu × %lu threads: kernel \"%s\" takes 1 to %lu threads",
                 (unsigned long)group.width, (unsigned long)group.height, (unsigned long)group.depth,
                 pipeline->pipeline.info.name, (unsigned long)pipeline->maxThreads);
    }
    dispatch->pipeline = &pipeline->pipeline;
    BOOL isEmpty = !dispatch->indirect && (!dispatch->grid[0] || !dispatch->grid[1] || !dispatch->grid[2]);
    if (!isEmpty && !im_commands_dispatch(&self->commandBuffer->work.commands, dispatch)) {
        im_raise(self, selector, @"no memory");
    }
}

/* With what the encoder has bound. */
static void record(IngotComputeEncoder *self, SEL selector, struct im_dispatch *dispatch, MTLSize grid, MTLSize group) {
    IM_ENTER(self->commandBuffer); /* the pipeline is this one until the dispatch is recorded */
    dispatch->bindings = self->bindings;
    dispatch->threadgroup_lengths = self->threadgroupLengths;
    im_encode_dispatch(self, selector, self->pipeline, dispatch, grid, group);
}

- (void)dispatchThreadgroups:(MTLSize)grid threadsPerThreadgroup:(MTLSize)group {
    struct im_dispatch dispatch = {0};
    record(self, _cmd, &dispatch, grid, group);
}
- (void)dispatchThreads:(MTLSize)grid threadsPerThreadgroup:(MTLSize)group {
    struct im_dispatch dispatch = {.in_threads = true};
    record(self, _cmd, &dispatch, grid, group);
}
- (void)dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)object
                          indirectBufferOffset:(NSUInteger)offset
                         threadsPerThreadgroup:(MTLSize)group {
    IngotBuffer *buffer = im_check_buffer(self, _cmd, object, commandBuffer->owner->owner);
    uint64_t length = ingot_buffer_length(buffer->buffer);
    if (offset % 4 || length < 12 || offset > length - 12) {
        IM_RAISE(self, @"12 bytes at offset %lu, which must be a multiple of 4, of a buffer of %llu bytes",
                 (unsigned long)offset, (unsigned long long)length);
    }
    struct im_dispatch dispatch = {.indirect = buffer->buffer, .indirect_offset = offset};
    record(self, _cmd, &dispatch, MTLSizeMake(0, 0, 0), group);
}
- (void)useResource:(id)resource usage:(MTLResourceUsage)usage {
    (void)usage;
    [self needOpen:_cmd];
    if (!resource) {
        IM_RAISE(self, @"the resource is nil");
    }
}
- (void)useResources:(const id<MTLResource> *)resources count:(NSUInteger)count usage:(MTLResourceUsage)usage {
    IM_NEED_LIST(self, resources, count);
    (void)resources;
    (void)count;
    (void)usage;
    [self needOpen:_cmd];
}
- (void)useHeap:(id)heap {
    [self needOpen:_cmd];
    if (!heap) {
        IM_RAISE(self, @"the heap is nil");
    }
}
- (void)useHeaps:(const id<MTLHeap> *)heaps count:(NSUInteger)count {
    IM_NEED_LIST(self, heaps, count);
    (void)heaps;
    (void)count;
    [self needOpen:_cmd];
}
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope {
    (void)scope;
    [self needOpen:_cmd];
}
- (void)memoryBarrierWithResources:(const id<MTLResource> *)resources count:(NSUInteger)count {
    IM_NEED_LIST(self, resources, count);
    (void)resources;
    (void)count;
    [self needOpen:_cmd];
}
+ (NSString *)metalName {
    return @"MTLComputeCommandEncoder";
}
@end

/* ---- blits ---- */

@implementation IngotBlitEncoder
/* Ranges that pass a buffer's end are cut there, as Metal does without validation. */
- (void)fillBuffer:(id<MTLBuffer>)object range:(NSRange)range value:(uint8_t)value {
    IM_ENTER(commandBuffer);
    [self needOpen:_cmd];
    ingot_buffer *buffer = im_check_buffer(self, _cmd, object, commandBuffer->owner->owner)->buffer;
    uint64_t length = ingot_buffer_length(buffer);
    if (range.location > length) {
        IM_RAISE(self, @"offset %lu passes the end of the buffer, which has %llu bytes",
                 (unsigned long)range.location, (unsigned long long)length);
    }
    uint64_t count = range.length > length - range.location ? length - range.location : range.length;
    if (count && !im_commands_fill(&commandBuffer->work.commands, buffer, range.location, count, value)) {
        IM_RAISE(self, @"no memory");
    }
}
- (void)copyFromBuffer:(id<MTLBuffer>)from
          sourceOffset:(NSUInteger)fromOffset
              toBuffer:(id<MTLBuffer>)to
     destinationOffset:(NSUInteger)toOffset
                  size:(NSUInteger)size {
    IM_ENTER(commandBuffer);
    [self needOpen:_cmd];
    ingot_buffer *source = im_check_buffer(self, _cmd, from, commandBuffer->owner->owner)->buffer;
    ingot_buffer *target = im_check_buffer(self, _cmd, to, commandBuffer->owner->owner)->buffer;
    uint64_t sourceLength = ingot_buffer_length(source), targetLength = ingot_buffer_length(target);
    if (fromOffset > sourceLength || size > sourceLength - fromOffset || toOffset > targetLength ||
        size > targetLength - toOffset) {
        IM_RAISE(self, @"%lu bytes from offset %lu of a buffer of %llu bytes to offset %lu of one of %llu bytes",
                 (unsigned long)size, (unsigned long)fromOffset, (unsigned long long)sourceLength,
                 (unsigned long)toOffset, (unsigned long long)targetLength);
    }
    if (size && !im_commands_copy(&commandBuffer->work.commands, source, fromOffset, target, toOffset, size)) {
        IM_RAISE(self, @"no memory");
    }
}
- (void)synchronizeResource:(id)resource {
    [self needOpen:_cmd];
    if (!resource) {
        IM_RAISE(self, @"the resource is nil");
    }
}
+ (NSString *)metalName {
    return @"MTLBlitCommandEncoder";
}
@end
