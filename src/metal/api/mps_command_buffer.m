/*
 * MPSCommandBuffer: stands for a command buffer, and after commitAndContinue for the queue's next one. All that is
 * asked of it goes to the one below.
 */
#import "metal/api/objects.h"

#import <MetalPerformanceShaders/MetalPerformanceShaders.h>

@implementation MPSCommandBuffer {
    id<MTLCommandBuffer> _below;
}
+ (instancetype)commandBufferWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer {
    return [[[self alloc] initWithCommandBuffer:commandBuffer] autorelease];
}
+ (instancetype)commandBufferFromCommandQueue:(id<MTLCommandQueue>)commandQueue {
    return [self commandBufferWithCommandBuffer:[commandQueue commandBuffer]];
}
- (instancetype)initWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer {
    if (!commandBuffer) {
        IM_RAISE(self, @"the command buffer is nil");
    }
    if ((self = [super init])) {
        _below = [commandBuffer retain];
    }
    return self;
}
- (void)dealloc {
    [_below release];
    [super dealloc];
}
- (id<MTLCommandBuffer>)commandBuffer {
    return _below;
}
- (id<MTLCommandBuffer>)rootCommandBuffer {
    return _below;
}
- (void)commitAndContinue {
    id<MTLCommandBuffer> committed = _below;
    [committed commit];
    _below = [[[committed commandQueue] commandBuffer] retain];
    [committed release];
}
- (void)prefetchHeapForWorkloadSize:(size_t)size {
    (void)size; /* memory is taken when it is needed */
}

- (id<MTLDevice>)device {
    return [_below device];
}
- (id<MTLCommandQueue>)commandQueue {
    return [_below commandQueue];
}
- (BOOL)retainedReferences {
    return [_below retainedReferences];
}
- (MTLCommandBufferErrorOption)errorOptions {
    return [_below errorOptions];
}
- (NSString *)label {
    return [_below label];
}
- (void)setLabel:(NSString *)label {
    [_below setLabel:label];
}
- (CFTimeInterval)kernelStartTime {
    return [_below kernelStartTime];
}
- (CFTimeInterval)kernelEndTime {
    return [_below kernelEndTime];
}
- (CFTimeInterval)GPUStartTime {
    return [_below GPUStartTime];
}
- (CFTimeInterval)GPUEndTime {
    return [_below GPUEndTime];
}
- (id<MTLLogContainer>)logs {
    return [_below logs];
}
- (MTLCommandBufferStatus)status {
    return [_below status];
}
- (NSError *)error {
    return [_below error];
}
- (void)enqueue {
    [_below enqueue];
}
- (void)commit {
    [_below commit];
}
- (void)addScheduledHandler:(MTLCommandBufferHandler)block {
    [_below addScheduledHandler:block];
}
- (void)addCompletedHandler:(MTLCommandBufferHandler)block {
    [_below addCompletedHandler:block];
}
- (void)waitUntilScheduled {
    [_below waitUntilScheduled];
}
- (void)waitUntilCompleted {
    [_below waitUntilCompleted];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
    return [_below computeCommandEncoder];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)dispatchType {
    return [_below computeCommandEncoderWithDispatchType:dispatchType];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDescriptor:(MTLComputePassDescriptor *)descriptor {
    return [_below computeCommandEncoderWithDescriptor:descriptor];
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoder {
    return [_below blitCommandEncoder];
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoderWithDescriptor:(MTLBlitPassDescriptor *)descriptor {
    return [_below blitCommandEncoderWithDescriptor:descriptor];
}
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value {
    [_below encodeWaitForEvent:event value:value];
}
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value {
    [_below encodeSignalEvent:event value:value];
}
- (void)useResidencySet:(id<MTLResidencySet>)set {
    [_below useResidencySet:set];
}
- (void)useResidencySets:(const id<MTLResidencySet> *)sets count:(NSUInteger)count {
    [_below useResidencySets:sets count:count];
}
- (void)pushDebugGroup:(NSString *)string {
    [_below pushDebugGroup:string];
}
- (void)popDebugGroup {
    [_below popDebugGroup];
}
@end
