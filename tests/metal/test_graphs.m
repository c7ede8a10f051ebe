/*
 * Work that is kept: indirect command buffers, binary archives, and times of encoders. With ARC.
 */
#import "check.h"

static const char *source =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "constant uint by [[function_constant(0)]];\n"
    "kernel void add(device uint *x [[buffer(0)]], device const uint *y [[buffer(1)]],\n"
    "                uint i [[thread_position_in_grid]]) { x[i] += y[i]; }\n"
    "kernel void twice(device uint *x [[buffer(0)]], threadgroup uint *kept [[threadgroup(0)]],\n"
    "                  uint i [[thread_position_in_grid]], uint lane [[thread_index_in_threadgroup]]) {\n"
    "  kept[lane] = x[i]; x[i] = 2 * kept[lane]; }\n"
    "kernel void scale(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= by; }\n";

static id<MTLDevice> device;
static id<MTLCommandQueue> queue;
static id<MTLLibrary> library;

static id<MTLComputePipelineState> indirect_pipeline(NSString *name) {
    MTLComputePipelineDescriptor *descriptor = [[MTLComputePipelineDescriptor alloc] init];
    descriptor.computeFunction = [library newFunctionWithName:name];
    descriptor.supportIndirectCommandBuffers = YES;
    return [device newComputePipelineStateWithDescriptor:descriptor options:0 reflection:NULL error:NULL];
}

static id<MTLBuffer> numbers(uint32_t first, uint32_t step) {
    id<MTLBuffer> buffer = [device newBufferWithLength:64 * 4 options:0];
    for (uint32_t i = 0; i < 64; i++) {
        ((uint32_t *)buffer.contents)[i] = first + i * step;
    }
    return buffer;
}

static void run(void (^encode)(id<MTLComputeCommandEncoder> encoder)) {
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    encode(encoder);
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    CHECK(commands.status == MTLCommandBufferStatusCompleted);
}

static void test_indirect(void) {
    id<MTLComputePipelineState> add = indirect_pipeline(@"add"), twice = indirect_pipeline(@"twice");
    id<MTLBuffer> x = numbers(1, 0), y = numbers(0, 1);
    MTLIndirectCommandBufferDescriptor *descriptor = [[MTLIndirectCommandBufferDescriptor alloc] init];
    CHECK(descriptor.inheritBuffers && descriptor.inheritPipelineState);
    descriptor.commandTypes =
        MTLIndirectCommandTypeConcurrentDispatch | MTLIndirectCommandTypeConcurrentDispatchThreads;
    descriptor.inheritBuffers = descriptor.inheritPipelineState = NO;
    descriptor.maxKernelBufferBindCount = 2;
    id<MTLIndirectCommandBuffer> graph = [device newIndirectCommandBufferWithDescriptor:descriptor
                                                                        maxCommandCount:4
                                                                                options:0];
    CHECK(graph.size == 4 && graph.device == device);
    MTLSize all = MTLSizeMake(64, 1, 1), group = MTLSizeMake(32, 1, 1);
    id<MTLIndirectComputeCommand> command = [graph indirectComputeCommandAtIndex:0];
    [command setComputePipelineState:add];
    [command setKernelBuffer:x offset:0 atIndex:0];
    [command setKernelBuffer:y offset:0 atIndex:1];
    [command concurrentDispatchThreads:all threadsPerThreadgroup:group];
    [command setBarrier];
    THROWS([command setKernelBuffer:x offset:0 atIndex:2],
           "-[MTLIndirectComputeCommand setKernelBuffer:offset:atIndex:]: index 2 is not below 2");
    THROWS([command setKernelBuffer:x offset:300 atIndex:0], "offset 300 passes the end");
    THROWS([command setComputePipelineState:check_pipeline(device, library, @"add")], "supportIndirectCommandBuffers");
    command = [graph indirectComputeCommandAtIndex:2]; /* 1 and 3 stay empty */
    [command setComputePipelineState:twice];
    [command setKernelBuffer:x offset:0 atIndex:0];
    [command setThreadgroupMemoryLength:128 atIndex:0];
    [command concurrentDispatchThreadgroups:MTLSizeMake(2, 1, 1) threadsPerThreadgroup:group];
    for (int round = 0; round < 2; round++) {
        run(^(id<MTLComputeCommandEncoder> encoder) {
          const id<MTLResource> used[] = {x, y};
          [encoder useResources:used count:2 usage:MTLResourceUsageRead | MTLResourceUsageWrite];
          [encoder executeCommandsInBuffer:graph withRange:NSMakeRange(0, 4)];
        });
    }
    BOOL good = YES; /* ((1 + i) * 2 + i) * 2 */
    for (uint32_t i = 0; i < 64; i++) {
        good = good && ((uint32_t *)x.contents)[i] == 4 + 6 * i;
    }
    CHECK(good);
    [graph resetWithRange:NSMakeRange(2, 1)];
    run(^(id<MTLComputeCommandEncoder> encoder) {
      [encoder executeCommandsInBuffer:graph withRange:NSMakeRange(1, 3)];
      THROWS([encoder executeCommandsInBuffer:graph withRange:NSMakeRange(3, 2)], "commands 3 to 5 of a buffer of 4");
      THROWS([encoder executeCommandsInBuffer:(id)x withRange:NSMakeRange(0, 1)], "an indirect command buffer is needed");
      THROWS([encoder executeCommandsInBuffer:graph indirectBuffer:x indirectBufferOffset:0], "ingot does not have this");
    });
    CHECK(((uint32_t *)x.contents)[63] == 4 + 6 * 63);
    THROWS([graph indirectComputeCommandAtIndex:4], "index 4 is not below 4");
    THROWS([graph indirectRenderCommandAtIndex:0], "-[MTLIndirectCommandBuffer indirectRenderCommandAtIndex:]: ingot");
    /* what the encoder has */
    descriptor.inheritBuffers = descriptor.inheritPipelineState = YES;
    descriptor.commandTypes = MTLIndirectCommandTypeConcurrentDispatch;
    id<MTLIndirectCommandBuffer> plain = [device newIndirectCommandBufferWithDescriptor:descriptor
                                                                        maxCommandCount:1
                                                                                options:0];
    command = [plain indirectComputeCommandAtIndex:0];
    [command concurrentDispatchThreadgroups:MTLSizeMake(2, 1, 1) threadsPerThreadgroup:group];
    THROWS([command concurrentDispatchThreads:all threadsPerThreadgroup:group], "commandTypes is 32");
    THROWS([command setComputePipelineState:add], "inheritPipelineState");
    run(^(id<MTLComputeCommandEncoder> encoder) {
      THROWS([encoder executeCommandsInBuffer:plain withRange:NSMakeRange(0, 1)], "command 0 has no pipeline");
      [encoder setComputePipelineState:add];
      [encoder setBuffer:x offset:0 atIndex:0];
      [encoder setBuffer:y offset:0 atIndex:1];
      [encoder executeCommandsInBuffer:plain withRange:NSMakeRange(0, 1)];
    });
    CHECK(((uint32_t *)x.contents)[63] == 4 + 7 * 63);
    descriptor.commandTypes = MTLIndirectCommandTypeDraw;
    THROWS([device newIndirectCommandBufferWithDescriptor:descriptor maxCommandCount:1 options:0], "dispatches alone");
}

static void test_times(void) {
    id<MTLCounterSet> set = device.counterSets.firstObject;
    CHECK([set.name isEqual:MTLCommonCounterSetTimestamp] && set.counters.count == 1);
    CHECK([[(id<MTLCounter>)set.counters[0] name] isEqual:MTLCommonCounterTimestamp]);
    CHECK([device supportsCounterSampling:MTLCounterSamplingPointAtStageBoundary] &&
          ![device supportsCounterSampling:MTLCounterSamplingPointAtDispatchBoundary]);
    MTLCounterSampleBufferDescriptor *descriptor = [[MTLCounterSampleBufferDescriptor alloc] init];
    NSError *error = nil;
    CHECK([device newCounterSampleBufferWithDescriptor:descriptor error:&error] == nil && error != nil);
    descriptor.counterSet = set;
    descriptor.sampleCount = 5;
    id<MTLCounterSampleBuffer> samples = [device newCounterSampleBufferWithDescriptor:descriptor error:&error];
    CHECK(samples.sampleCount == 5 && error == nil);
    MTLTimestamp before = 0, after = 0, gpu = 0;
    [device sampleTimestamps:&before gpuTimestamp:&gpu];
    id<MTLBuffer> x = numbers(1, 1), times = [device newBufferWithLength:40 options:0];
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    MTLComputePassDescriptor *pass = [MTLComputePassDescriptor computePassDescriptor];
    pass.sampleBufferAttachments[0].sampleBuffer = samples;
    pass.sampleBufferAttachments[0].startOfEncoderSampleIndex = 0;
    pass.sampleBufferAttachments[0].endOfEncoderSampleIndex = 1;
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoderWithDescriptor:[pass copy]];
    [encoder setComputePipelineState:check_pipeline(device, library, @"add")];
    [encoder setBuffer:x offset:0 atIndex:0];
    [encoder setBuffer:x offset:0 atIndex:1];
    [encoder dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    THROWS([encoder sampleCountersInBuffer:samples atSampleIndex:0 withBarrier:NO], "start and end of encoders alone");
    [encoder endEncoding];
    MTLBlitPassDescriptor *blits = [MTLBlitPassDescriptor blitPassDescriptor];
    blits.sampleBufferAttachments[0].sampleBuffer = samples;
    blits.sampleBufferAttachments[0].startOfEncoderSampleIndex = MTLCounterDontSample;
    blits.sampleBufferAttachments[0].endOfEncoderSampleIndex = 2;
    id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoderWithDescriptor:blits];
    [blit fillBuffer:x range:NSMakeRange(0, 4) value:0];
    [blit endEncoding];
    blit = [commands blitCommandEncoder];
    [blit resolveCounters:samples inRange:NSMakeRange(0, 4) destinationBuffer:times destinationOffset:8];
    THROWS([blit resolveCounters:samples inRange:NSMakeRange(3, 3) destinationBuffer:times destinationOffset:0],
           "samples 3 to 6 of a buffer of 5");
    THROWS([blit resolveCounters:samples inRange:NSMakeRange(0, 4) destinationBuffer:times destinationOffset:16],
           "32 bytes to offset 16");
    [blit endEncoding];
    pass.sampleBufferAttachments[0].endOfEncoderSampleIndex = 9;
    [commands commit];
    [commands waitUntilCompleted];
    CHECK(commands.status == MTLCommandBufferStatusCompleted);
    [device sampleTimestamps:&after gpuTimestamp:&gpu];
    const MTLCounterResultTimestamp *t = [samples resolveCounterRange:NSMakeRange(0, 4)].bytes;
    /* The simulated card's clock goes by a millisecond for each launch, whatever the host's does meanwhile. */
    const char *name = getenv("INGOT_DEVICE");
    const uint64_t apart = name && !strcmp(name, "cuda") ? 2000000 : 0;
    CHECK(before <= t[0].timestamp + apart && t[2].timestamp <= after + apart);
    CHECK(t[0].timestamp <= t[1].timestamp && t[1].timestamp <= t[2].timestamp);
    CHECK(t[3].timestamp == MTLCounterErrorValue);
    CHECK(!memcmp((char *)times.contents + 8, t, 32));
    id<MTLCommandBuffer> wrong = [queue commandBuffer];
    THROWS([wrong computeCommandEncoderWithDescriptor:pass], "samples 9 to 10 of a buffer of 5");
}

static MTLComputePipelineDescriptor *scale_by(uint32_t by) {
    MTLFunctionConstantValues *values = [[MTLFunctionConstantValues alloc] init];
    [values setConstantValue:&by type:MTLDataTypeUInt atIndex:0];
    MTLComputePipelineDescriptor *descriptor = [[MTLComputePipelineDescriptor alloc] init];
    descriptor.computeFunction = [library newFunctionWithName:@"scale" constantValues:values error:NULL];
    return descriptor;
}

static void test_archives(NSURL *url) {
    NSError *error = nil;
    id<MTLBinaryArchive> archive =
        [device newBinaryArchiveWithDescriptor:[[MTLBinaryArchiveDescriptor alloc] init] error:&error];
    CHECK(archive != nil && error == nil && archive.device == device);
    CHECK([archive addComputePipelineFunctionsWithDescriptor:scale_by(3) error:&error] && error == nil);
    CHECK([archive serializeToURL:url error:&error] && error == nil);
    MTLBinaryArchiveDescriptor *stored = [[MTLBinaryArchiveDescriptor alloc] init];
    stored.url = url;
    id<MTLBinaryArchive> loaded = [device newBinaryArchiveWithDescriptor:stored error:&error];
    CHECK(loaded != nil && error == nil);
    MTLComputePipelineDescriptor *by3 = scale_by(3), *by4 = scale_by(4);
    by3.binaryArchives = by4.binaryArchives = @[ loaded ];
    id<MTLComputePipelineState> pipeline =
        [device newComputePipelineStateWithDescriptor:by3
                                              options:MTLPipelineOptionFailOnBinaryArchiveMiss
                                           reflection:NULL
                                                error:&error];
    CHECK(pipeline != nil && error == nil);
    id<MTLBuffer> x = numbers(1, 1);
    run(^(id<MTLComputeCommandEncoder> encoder) {
      [encoder setComputePipelineState:pipeline];
      [encoder setBuffer:x offset:0 atIndex:0];
      [encoder dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    });
    CHECK(((uint32_t *)x.contents)[63] == 3 * 64);
    /* another constant is not in it: an error where that was asked for, else it is compiled */
    CHECK([device newComputePipelineStateWithDescriptor:by4
                                                options:MTLPipelineOptionFailOnBinaryArchiveMiss
                                             reflection:NULL
                                                  error:&error] == nil);
    CHECK([error.domain isEqual:MTLBinaryArchiveDomain] &&
          check_text(error.localizedDescription, "function scale is in none of the 1 binary archives"));
    CHECK([device newComputePipelineStateWithDescriptor:by4 options:0 reflection:NULL error:&error] != nil);
    THROWS([archive addComputePipelineFunctionsWithDescriptor:nil error:NULL], "a function is needed, not nil");
    THROWS([archive addFunctionWithDescriptor:[MTLFunctionDescriptor functionDescriptor] library:library error:NULL],
           "-[MTLBinaryArchive addFunctionWithDescriptor:library:error:]: ingot does not have this");
    /* files that are none */
    NSData *whole = [NSData dataWithContentsOfURL:url];
    [[whole subdataWithRange:NSMakeRange(0, whole.length - 1)] writeToURL:url atomically:YES];
    CHECK([device newBinaryArchiveWithDescriptor:stored error:&error] == nil);
    CHECK(error.code == MTLBinaryArchiveErrorInvalidFile && check_text(error.localizedDescription, "is damaged"));
    [[NSFileManager defaultManager] removeItemAtPath:url.path error:NULL];
    CHECK([device newBinaryArchiveWithDescriptor:stored error:&error] == nil);
    CHECK(check_text(error.localizedDescription, "cannot be read"));
    stored.url = [NSURL fileURLWithPath:@"/nowhere/none"];
    CHECK(![archive serializeToURL:stored.url error:&error]);
    CHECK(check_text(error.localizedDescription, "/nowhere/none cannot be written"));
}

int main(void) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        library = check_library(device, source);
        test_indirect();
        test_times();
        NSString *name = [NSString stringWithFormat:@"ingot-test-graphs-%d", [[NSProcessInfo processInfo] processIdentifier]];
        test_archives([NSURL fileURLWithPath:[NSTemporaryDirectory() stringByAppendingPathComponent:name]]);
    }
    return check_report();
}
