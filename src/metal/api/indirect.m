/*
 * Indirect command buffers: dispatches that are kept, and encoded again and again.
 *
 * What the commands are is taken when they are encoded (executeCommandsInBuffer:withRange:), not when the command
 * buffer runs. They run in order, so barriers have nothing to do.
 *
 * Not there: commands that kernels write, ranges from a buffer, copies and resets by a blit encoder.
 */
#import "metal/api/objects.h"

@implementation MTLIndirectCommandBufferDescriptor
@synthesize commandTypes = _commandTypes, inheritPipelineState = _inheritPipelineState,
            inheritBuffers = _inheritBuffers, maxVertexBufferBindCount = _maxVertexBufferBindCount,
            maxFragmentBufferBindCount = _maxFragmentBufferBindCount,
            maxKernelBufferBindCount = _maxKernelBufferBindCount,
            maxKernelThreadgroupMemoryBindCount = _maxKernelThreadgroupMemoryBindCount,
            supportRayTracing = _supportRayTracing, supportDynamicAttributeStride = _supportDynamicAttributeStride;
- (instancetype)init {
    if ((self = [super init])) {
        _inheritPipelineState = _inheritBuffers = YES;
        _maxKernelBufferBindCount = _maxKernelThreadgroupMemoryBindCount = IM_BUFFERS;
    }
    return self;
}
- (id)copyWithZone:(NSZone *)zone {
    MTLIndirectCommandBufferDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_commandTypes = _commandTypes;
    copy->_inheritPipelineState = _inheritPipelineState;
    copy->_inheritBuffers = _inheritBuffers;
    copy->_maxVertexBufferBindCount = _maxVertexBufferBindCount;
    copy->_maxFragmentBufferBindCount = _maxFragmentBufferBindCount;
    copy->_maxKernelBufferBindCount = _maxKernelBufferBindCount;
    copy->_maxKernelThreadgroupMemoryBindCount = _maxKernelThreadgroupMemoryBindCount;
    copy->_supportRayTracing = _supportRayTracing;
    copy->_supportDynamicAttributeStride = _supportDynamicAttributeStride;
    return copy;
}
@end

struct kept_command {
    IngotPipeline *pipeline;
    struct im_binding *bindings; /* IM_BUFFERS; NULL: none was set */
    uint32_t threadgroup_lengths[IM_THREADGROUP_BUFFERS];
    MTLSize grid, group;
    MTLIndirectCommandType kind; /* 0: no dispatch */
};

@interface IngotIndirectCommandBuffer : IngotObject <MTLIndirectCommandBuffer> {
@public
    IngotDevice *owner;
    MTLIndirectCommandBufferDescriptor *descriptor;
    MTLResourceOptions options;
    struct kept_command *commands;
    NSUInteger count;
}
@end

/* A command by its index; the buffer is what holds its state. */
@interface IngotIndirectComputeCommand : IngotObject <MTLIndirectComputeCommand> {
@public
    IngotIndirectCommandBuffer *owner;
    NSUInteger index;
}
@end

static void clear_command(struct kept_command *command) {
    for (int i = 0; command->bindings && i < IM_BUFFERS; i++) {
        ingot_buffer_release(command->bindings[i].buffer);
    }
    free(command->bindings);
    [command->pipeline release];
    *command = (struct kept_command){0};
}

@implementation IngotIndirectComputeCommand
- (void)dealloc {
    [owner release];
    [super dealloc];
}
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
    struct kept_command *command = &owner->commands[index];
    if (owner->descriptor.inheritPipelineState) {
        IM_RAISE(self, @"the buffer's descriptor has inheritPipelineState: its commands have no pipeline of their own");
    }
    IngotPipeline *given = im_check_pipeline(self, _cmd, state, owner->owner);
    if (!given->supportsIndirect) {
        IM_RAISE(self, @"the pipeline of kernel \"%s\" was made without supportIndirectCommandBuffers",
                 given->pipeline.info.name);
    }
    [given retain];
    [command->pipeline release];
    command->pipeline = given;
}
- (void)setKernelBuffer:(id<MTLBuffer>)object offset:(NSUInteger)offset atIndex:(NSUInteger)at {
    struct kept_command *command = &owner->commands[index];
    NSUInteger limit = MIN(owner->descriptor.maxKernelBufferBindCount, (NSUInteger)IM_BUFFERS);
    if (owner->descriptor.inheritBuffers) {
        IM_RAISE(self, @"the buffer's descriptor has inheritBuffers: its commands have no buffers of their own");
    }
    if (at >= limit) {
        IM_RAISE(self, @"index %lu is not below %lu (maxKernelBufferBindCount)", (unsigned long)at,
                 (unsigned long)limit);
    }
    ingot_buffer *buffer = im_check_buffer(self, _cmd, object, owner->owner)->buffer;
    if (offset > ingot_buffer_length(buffer)) {
        IM_RAISE(self, @"offset %lu passes the end of the buffer at index %lu, which has %lu bytes",
                 (unsigned long)offset, (unsigned long)at, (unsigned long)ingot_buffer_length(buffer));
    }
    if (!command->bindings) {
        command->bindings = calloc(IM_BUFFERS, sizeof *command->bindings);
        if (!command->bindings) {
            IM_RAISE(self, @"no memory");
        }
    }
    ingot_buffer_retain(buffer);
    ingot_buffer_release(command->bindings[at].buffer);
    command->bindings[at] = (struct im_binding){.buffer = buffer, .offset = offset};
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)at {
    if (at >= IM_THREADGROUP_BUFFERS || length > UINT32_MAX) {
        IM_RAISE(self, @"%lu bytes at index %lu: indices are below %d", (unsigned long)length, (unsigned long)at,
                 IM_THREADGROUP_BUFFERS);
    }
    owner->commands[index].threadgroup_lengths[at] = (uint32_t)length;
}
- (void)dispatch:(MTLSize)grid group:(MTLSize)group kind:(MTLIndirectCommandType)kind for:(SEL)selector {
    if (!(owner->descriptor.commandTypes & kind)) {
        im_raise(self, selector, @"the buffer's descriptor does not have this type of command (commandTypes is %lu)",
                 (unsigned long)owner->descriptor.commandTypes);
    }
    struct kept_command *command = &owner->commands[index];
    command->grid = grid;
    command->group = group;
    command->kind = kind;
}
- (void)concurrentDispatchThreadgroups:(MTLSize)grid threadsPerThreadgroup:(MTLSize)group {
    [self dispatch:grid group:group kind:MTLIndirectCommandTypeConcurrentDispatch for:_cmd];
}
- (void)concurrentDispatchThreads:(MTLSize)grid threadsPerThreadgroup:(MTLSize)group {
    [self dispatch:grid group:group kind:MTLIndirectCommandTypeConcurrentDispatchThreads for:_cmd];
}
- (void)setBarrier {
}
- (void)clearBarrier {
}
- (void)setImageblockWidth:(NSUInteger)width height:(NSUInteger)height {
    IM_RAISE(self, @"ingot does not have this (%lu × %lu)", (unsigned long)width, (unsigned long)height);
}
- (void)setStageInRegion:(MTLRegion)region {
    (void)region;
    IM_RAISE(self, @"ingot does not have this");
}
- (void)reset {
    clear_command(&owner->commands[index]);
}
@end

@implementation IngotIndirectCommandBuffer
- (void)dealloc {
    for (NSUInteger i = 0; i < count; i++) {
        clear_command(&commands[i]);
    }
    free(commands);
    [descriptor release];
    [owner release];
    [super dealloc];
}
- (id<MTLDevice>)device {
    return (id<MTLDevice>)owner;
}
- (NSUInteger)size {
    return count;
}
- (NSUInteger)allocatedSize {
    return count * sizeof *commands;
}
- (MTLResourceOptions)resourceOptions {
    return options;
}
- (MTLStorageMode)storageMode {
    return (options & MTLResourceStorageModeMask) >> MTLResourceStorageModeShift;
}
- (MTLCPUCacheMode)cpuCacheMode {
    return (options & MTLResourceCPUCacheModeMask) >> MTLResourceCPUCacheModeShift;
}
- (MTLHazardTrackingMode)hazardTrackingMode {
    NSUInteger mode = (options & MTLResourceHazardTrackingModeMask) >> MTLResourceHazardTrackingModeShift;
    return mode ? mode : MTLHazardTrackingModeTracked;
}
- (id<MTLHeap>)heap {
    return nil;
}
- (NSUInteger)heapOffset {
    return 0;
}
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state {
    (void)state;
    return MTLPurgeableStateNonVolatile;
}
- (void)makeAliasable { /* which is for resources of heaps */
}
- (BOOL)isAliasable {
    return NO;
}
- (void)checkRange:(NSRange)range for:(SEL)selector of:(id)caller {
    if (range.location > count || range.length > count - range.location) {
        im_raise(caller, selector, @"commands %lu to %lu of a buffer of %lu", (unsigned long)range.location,
                 (unsigned long)(range.location + range.length), (unsigned long)count);
    }
}
- (void)resetWithRange:(NSRange)range {
    [self checkRange:range for:_cmd of:self];
    for (NSUInteger i = 0; i < range.length; i++) {
        clear_command(&commands[range.location + i]);
    }
}
- (id)indirectComputeCommandAtIndex:(NSUInteger)index {
    if (index >= count) {
        IM_RAISE(self, @"index %lu is not below %lu", (unsigned long)index, (unsigned long)count);
    }
    IngotIndirectComputeCommand *command = [[IngotIndirectComputeCommand alloc] init];
    command->owner = [self retain];
    command->index = index;
    return [command autorelease];
}
@end

id im_new_indirect_command_buffer(IngotDevice *device, MTLIndirectCommandBufferDescriptor *descriptor, NSUInteger count,
                                  MTLResourceOptions options) {
    IngotIndirectCommandBuffer *buffer = [[IngotIndirectCommandBuffer alloc] init];
    buffer->commands = calloc(count, sizeof *buffer->commands);
    if (!buffer->commands) {
        [buffer release];
        return nil;
    }
    buffer->owner = [device retain];
    buffer->descriptor = [descriptor copy];
    buffer->options = options;
    buffer->count = count;
    return buffer;
}

/* ---- their execution ---- */

static void execute(IngotComputeEncoder *self, SEL selector, IngotIndirectCommandBuffer *buffer, NSUInteger at) {
    static const struct im_binding none[IM_BUFFERS];
    const struct kept_command *command = &buffer->commands[at];
    IngotPipeline *pipeline = buffer->descriptor.inheritPipelineState ? self->pipeline : command->pipeline;
    if (!command->kind) {
        return;
    }
    if (!pipeline) {
        im_raise(self, selector, @"command %lu has no pipeline", (unsigned long)at);
    }
    struct im_dispatch dispatch = {
        .in_threads = command->kind == MTLIndirectCommandTypeConcurrentDispatchThreads,
        .bindings = buffer->descriptor.inheritBuffers ? self->bindings : command->bindings ? command->bindings : none,
        .threadgroup_lengths = command->threadgroup_lengths,
    };
    im_encode_dispatch(self, selector, pipeline, &dispatch, command->grid, command->group);
}

@implementation IngotComputeEncoder (Indirect)
- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)object withRange:(NSRange)range {
    IM_ENTER(commandBuffer);
    if (hasEnded) {
        IM_RAISE(self, @"endEncoding was called before");
    }
    if (![(id)object isKindOfClass:[IngotIndirectCommandBuffer class]]) {
        IM_RAISE(self, @"an indirect command buffer is needed, not %@", object ? (id)[(id)object class] : @"nil");
    }
    IngotIndirectCommandBuffer *buffer = (IngotIndirectCommandBuffer *)object;
    if (buffer->owner != commandBuffer->owner->owner) {
        IM_RAISE(self, @"the indirect command buffer belongs to device \"%s\", the encoder to device \"%s\"",
                 buffer->owner->info.name, commandBuffer->owner->owner->info.name);
    }
    [buffer checkRange:range for:_cmd of:self];
    for (NSUInteger i = 0; i < range.length; i++) {
        execute(self, _cmd, buffer, range.location + i);
    }
}
@end
@implementation IngotBlitEncoder (Indirect)
- (void)optimizeIndirectCommandBuffer:(id)buffer withRange:(NSRange)range {
    [self needOpen:_cmd];
    if (![buffer isKindOfClass:[IngotIndirectCommandBuffer class]]) {
        IM_RAISE(self, @"an indirect command buffer is needed, not %@", buffer ? (id)[buffer class] : @"nil");
    }
    [(IngotIndirectCommandBuffer *)buffer checkRange:range for:_cmd of:self];
}
@end
