/*
 * What a Mac's validation stops a program for is an exception here: its text says which call, and what was wrong.
 * Errors of kernels are errors of their command buffer alone. Without ARC.
 */
#import "check.h"
#include <pthread.h>

static const char *source =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void mark(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = i + 1; }\n"
    "kernel void wild(device uint *out [[buffer(0)]], constant ulong &at [[buffer(1)]]) {\n"
    "  *(device uint *)(at) = out[0]; }\n";

static id<MTLDevice> device;
static id<MTLCommandQueue> queue;
static id<MTLBuffer> data;
static id<MTLComputePipelineState> mark;

static void test_devices(void) {
    THROWS([(id)device newTextureWithDescriptor:nil], "-[MTLDevice newTextureWithDescriptor:]: ingot does not have this");
    THROWS([(id)device performSelector:@selector(stringByAppendingString:)],
           "-[MTLDevice stringByAppendingString:]: ingot does not have this");
    THROWS([device newBufferWithLength:0 options:0], "-[MTLDevice newBufferWithLength:options:]: a buffer of 0 bytes");
    CHECK([device newBufferWithLength:(NSUInteger)1 << 60 options:0] == nil);
    CHECK(![device respondsToSelector:@selector(newTextureWithDescriptor:)]);
    NSError *error = nil;
    CHECK([device newLibraryWithSource:@"kernel void broken(" options:nil error:&error] == nil);
    CHECK([error code] == MTLLibraryErrorCompileFailure && [[error domain] isEqual:MTLLibraryErrorDomain]);
    CHECK(check_text([error localizedDescription], "error"));
    error = nil;
    CHECK([device newLibraryWithFile:@"/nowhere/none.metallib" error:&error] == nil);
    CHECK(error != nil && check_text([error localizedDescription], "/nowhere/none.metallib"));
    THROWS([device newComputePipelineStateWithFunction:nil error:NULL], "a function is needed, not nil");
    THROWS([device newLibraryWithSource:nil options:nil error:NULL], "the source is nil");
    CHECK(![[MTLCaptureManager sharedCaptureManager] startCaptureWithDescriptor:nil error:&error]);
    CHECK([error code] == MTLCaptureErrorNotSupported);
}

static void test_encoders(void) {
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    THROWS([buffer waitUntilCompleted], "-[MTLCommandBuffer waitUntilCompleted]: the command buffer was not committed");
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    MTLSize one = MTLSizeMake(1, 1, 1);
    THROWS([encoder dispatchThreads:one threadsPerThreadgroup:one],
           "-[MTLComputeCommandEncoder dispatchThreads:threadsPerThreadgroup:]: no pipeline was set");
    THROWS([encoder setComputePipelineState:nil], "a pipeline is needed, not nil");
    THROWS([encoder setComputePipelineState:(id)data], "a pipeline is needed, not IngotBuffer");
    THROWS([encoder setBuffer:(id)mark offset:0 atIndex:0], "a buffer is needed");
    THROWS([encoder setBuffer:data offset:0 atIndex:31], "index 31 is not below 31");
    THROWS([encoder setBuffer:data offset:500 atIndex:0], "offset 500 passes the end of the buffer at index 0");
    THROWS([encoder setBufferOffset:4 atIndex:9], "there is no buffer at index 9");
    THROWS([encoder setBytes:"" length:5000 atIndex:0], "5000 bytes");
    THROWS([encoder setBytes:NULL length:4 atIndex:0], "4 bytes at");
    THROWS([encoder setBuffers:NULL offsets:NULL withRange:NSMakeRange(0, 2)], "2 buffers at NULL");
    THROWS([encoder setBuffers:&data offsets:NULL withRange:NSMakeRange(0, 1)], "1 offsets at NULL");
    THROWS([encoder useResources:NULL count:3 usage:MTLResourceUsageRead], "3 resources at NULL");
    THROWS([encoder memoryBarrierWithResources:NULL count:3], "3 resources at NULL");
    THROWS([encoder useResource:nil usage:MTLResourceUsageRead], "the resource is nil");
    [encoder setComputePipelineState:mark];
    THROWS([encoder dispatchThreads:one threadsPerThreadgroup:MTLSizeMake(4096, 1, 1)], "kernel \"mark\" takes 1 to");
    THROWS([encoder dispatchThreads:one threadsPerThreadgroup:MTLSizeMake(0, 1, 1)], "threadgroup of 0");
    THROWS([encoder dispatchThreads:MTLSizeMake((NSUInteger)1 << 40, 1, 1) threadsPerThreadgroup:one], "too large");
    THROWS([encoder dispatchThreadgroupsWithIndirectBuffer:data indirectBufferOffset:126 threadsPerThreadgroup:one],
           "12 bytes at offset 126");
    THROWS([buffer blitCommandEncoder], "-[MTLCommandBuffer blitCommandEncoder]: an encoder is open");
    THROWS([buffer commit], "-[MTLCommandBuffer commit]: an encoder is open");
    [encoder endEncoding];
    THROWS([encoder endEncoding], "-[MTLComputeCommandEncoder endEncoding]: endEncoding was called before");
    THROWS([encoder setBuffer:data offset:0 atIndex:0], "endEncoding was called before");
    id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
    THROWS([blit fillBuffer:nil range:NSMakeRange(0, 1) value:0],
           "-[MTLBlitCommandEncoder fillBuffer:range:value:]: the buffer is nil");
    THROWS([blit copyFromBuffer:data sourceOffset:0 toBuffer:data destinationOffset:120 size:20],
           "20 bytes from offset 0 of a buffer of 128 bytes to offset 120 of one of 128 bytes");
    [blit endEncoding];
    THROWS([buffer encodeSignalEvent:(id)data value:1], "an event is needed, not IngotBuffer");
    THROWS([buffer addCompletedHandler:nil], "the block is nil");
    [buffer commit];
    THROWS([buffer commit], "-[MTLCommandBuffer commit]: the command buffer was committed before");
    THROWS([buffer computeCommandEncoder], "committed before");
    [buffer waitUntilCompleted];
    CHECK([buffer status] == MTLCommandBufferStatusCompleted);
}

static void test_heaps_and_structs(void) {
    MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
    [descriptor setSize:65536];
    [descriptor setType:MTLHeapTypePlacement];
    [descriptor setStorageMode:MTLStorageModeShared];
    id<MTLHeap> heap = [device newHeapWithDescriptor:descriptor];
    THROWS([heap newBufferWithLength:256 options:MTLResourceStorageModePrivate offset:0],
           "-[MTLHeap newBufferWithLength:options:offset:]: storage mode 2 is asked for, the heap's is 0");
    CHECK([heap newBufferWithLength:256 options:0 offset:65536 - 128] == nil);
    [heap release];
    id<MTLLibrary> library = check_library(device, "struct S { device float *p; device float *q[2]; };\n"
                                                   "kernel void k(device S &s [[buffer(0)]]) { s.p[0] = s.q[1][0]; }\n");
    id<MTLFunction> function = [library newFunctionWithName:@"k"];
    id<MTLArgumentEncoder> encoder = [function newArgumentEncoderWithBufferIndex:0];
    [encoder setArgumentBuffer:data offset:0];
    THROWS([encoder setBuffer:data offset:129 atIndex:0],
           "-[MTLArgumentEncoder setBuffer:offset:atIndex:]: offset 129 passes the end of the buffer at index 0");
    THROWS([encoder setBuffers:NULL offsets:NULL withRange:NSMakeRange(1, 2)], "2 buffers at NULL");
    [encoder release];
    [function release];
    [library release];
    id<MTLResidencySet> set =
        [device newResidencySetWithDescriptor:[[[MTLResidencySetDescriptor alloc] init] autorelease] error:nil];
    THROWS([set addAllocations:NULL count:2], "-[MTLResidencySet addAllocations:count:]: 2 resources at NULL");
    [set release];
    MTLTimestamp now = 0;
    THROWS([device sampleTimestamps:&now gpuTimestamp:NULL], "a timestamp has no place");
}

/* Sizes that wrap around, objects of another kind, handlers that are nil. */
static void test_sizes_and_kinds(void) {
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    [encoder setComputePipelineState:mark];
    /* whose product is 512 in 64 bits */
    THROWS([encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(391299928, 261448, 180312)],
           "a threadgroup of 391299928 × 261448 × 180312 threads");
    [encoder endEncoding];
    MTLArgumentDescriptor *argument = [MTLArgumentDescriptor argumentDescriptor];
    [argument setDataType:MTLDataTypePointer];
    [argument setArrayLength:(NSUInteger)1 << 61];
    THROWS([device newArgumentEncoderWithArguments:[NSArray arrayWithObject:argument]],
           "-[MTLDevice newArgumentEncoderWithArguments:]: index 0: arrays of 2305843009213693952");
    [argument setArrayLength:2];
    id<MTLArgumentEncoder> arguments = [device newArgumentEncoderWithArguments:[NSArray arrayWithObject:argument]];
    THROWS([arguments setArgumentBuffer:data startOffset:0 arrayElement:(NSUInteger)1 << 60],
           "-[MTLArgumentEncoder setArgumentBuffer:startOffset:arrayElement:]: element 1152921504606846976");
    [arguments release];
    MTLCounterSampleBufferDescriptor *samples = [[[MTLCounterSampleBufferDescriptor alloc] init] autorelease];
    [samples setCounterSet:[[device counterSets] objectAtIndex:0]];
    [samples setSampleCount:(NSUInteger)1 << 61];
    NSError *error = nil;
    CHECK([device newCounterSampleBufferWithDescriptor:samples error:&error] == nil && error != nil);
    MTLComputePassDescriptor *pass = [MTLComputePassDescriptor computePassDescriptor];
    [[[pass sampleBufferAttachments] objectAtIndexedSubscript:0] setSampleBuffer:(id)data];
    THROWS([buffer computeCommandEncoderWithDescriptor:pass], "a counter sample buffer is needed, not IngotBuffer");
    THROWS([device newBufferWithBytesNoCopy:(void *)16384 length:65536 options:0 deallocator:nil],
           "65536 bytes at 0x4000 are not memory of the program");
    THROWS([device newLibraryWithSource:@"" options:nil completionHandler:nil],
           "-[MTLDevice newLibraryWithSource:options:completionHandler:]: the handler is nil");
    THROWS([device newComputePipelineStateWithFunction:nil
                                     completionHandler:^(id<MTLComputePipelineState> made, NSError *why) {
                                       CHECK(made || why);
                                     }],
           "-[MTLDevice newComputePipelineStateWithFunction:completionHandler:]: a function is needed, not nil");
    THROWS([[MTLSharedEventListener alloc] initWithDispatchQueue:NULL], "the queue is NULL");
}

/* Threads that race on one command buffer get exceptions, or commands in some order. */
static void *race(void *context) {
    id<MTLCommandBuffer> buffer = context;
    @autoreleasepool {
        for (int i = 0; i < 300; i++) {
            @try {
                id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
                [encoder setComputePipelineState:mark];
                [encoder setBytes:&i length:sizeof i atIndex:1];
                [encoder setBuffer:data offset:0 atIndex:0];
                [encoder dispatchThreads:MTLSizeMake(32, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
                [encoder endEncoding];
            } @catch (NSException *expected) {
                continue;
            }
        }
    }
    return NULL;
}

static void test_races(void) {
    id<MTLCommandBuffer> buffer = [[queue commandBuffer] retain];
    pthread_t threads[3];
    memset([data contents], 0, 128);
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, race, buffer);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK([buffer status] == MTLCommandBufferStatusCompleted && ((uint32_t *)[data contents])[31] == 32);
    [buffer release];
}

/* Where there is a GPU, real or simulated, there are two devices: the card and the CPU. */
static void test_other_device(void) {
    NSArray *all = MTLCopyAllDevices();
    CHECK([all count] >= 1 && [all objectAtIndex:0] == (id)device);
    for (id<MTLDevice> other in all) {
        if (other == device) {
            continue;
        }
        char text[80];
        snprintf(text, sizeof text, "belongs to device \"%s\"", [[other name] UTF8String] + strlen("ingot "));
        id<MTLBuffer> foreign = [other newBufferWithLength:64 options:0];
        id<MTLCommandBuffer> buffer = [queue commandBuffer];
        id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
        THROWS([encoder setBuffer:foreign offset:0 atIndex:0], text);
        [encoder endEncoding];
        id<MTLLibrary> library = check_library(other, source);
        id<MTLFunction> function = [library newFunctionWithName:@"mark"];
        THROWS([device newComputePipelineStateWithFunction:function error:NULL], text);
        [function release];
        [library release];
        [foreign release];
    }
    [all release];
}

/* Encodes `pipeline` on the buffer; with nil buffer the argument is missing. */
static void encode(id<MTLCommandBuffer> buffer, id<MTLComputePipelineState> pipeline, id<MTLBuffer> out, uint64_t at) {
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    [encoder setLabel:@"the encoder"];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:out offset:0 atIndex:0];
    [encoder setBytes:&at length:sizeof at atIndex:1];
    [encoder dispatchThreads:MTLSizeMake(32, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [encoder endEncoding];
}

static void test_errors(BOOL hasFaults) {
    MTLCommandBufferDescriptor *descriptor = [[MTLCommandBufferDescriptor alloc] init];
    [descriptor setErrorOptions:MTLCommandBufferErrorOptionEncoderExecutionStatus];
    id<MTLCommandBuffer> missing = [queue commandBufferWithDescriptor:descriptor], after = [queue commandBuffer];
    __block NSInteger told = 0;
    [missing addCompletedHandler:^(id<MTLCommandBuffer> b) {
      told = [[b error] code];
    }];
    encode(missing, mark, nil, 0);
    memset([data contents], 0, 128);
    encode(after, mark, data, 0);
    [missing commit];
    [after commit];
    [after waitUntilCompleted];
    CHECK([missing status] == MTLCommandBufferStatusError && told == MTLCommandBufferErrorInvalidResource);
    CHECK(check_text([[missing error] localizedDescription], "argument 0 \"out\""));
    NSArray *infos = [[[missing error] userInfo] objectForKey:MTLCommandBufferEncoderInfoErrorKey];
    CHECK([infos count] == 1 && [[[infos objectAtIndex:0] label] isEqual:@"the encoder"]);
    CHECK([[infos objectAtIndex:0] errorState] == MTLCommandEncoderErrorStateFaulted);
    /* the one behind is not touched by it */
    CHECK([after status] == MTLCommandBufferStatusCompleted && [after error] == nil);
    CHECK(((uint32_t *)[data contents])[31] == 32);
    if (hasFaults) {
        id<MTLLibrary> library = check_library(device, source);
        id<MTLComputePipelineState> wild = check_pipeline(device, library, @"wild");
        id<MTLCommandBuffer> fault = [queue commandBuffer], next = [queue commandBuffer];
        memset([data contents], 0, 128);
        encode(fault, wild, data, 64);
        encode(next, mark, data, 0);
        [fault commit];
        [next commit];
        [next waitUntilCompleted];
        CHECK([fault status] == MTLCommandBufferStatusError && [[fault error] code] == MTLCommandBufferErrorPageFault);
        CHECK(check_text([[fault error] localizedDescription], "\"wild\""));
        CHECK([next status] == MTLCommandBufferStatusCompleted && ((uint32_t *)[data contents])[31] == 32);
        [wild release];
        [library release];
    }
    [descriptor release];
}

int main(int count, char **arguments) {
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    device = MTLCreateSystemDefaultDevice();
    queue = [device newCommandQueue];
    data = [device newBufferWithLength:128 options:0];
    id<MTLLibrary> library = check_library(device, source);
    mark = check_pipeline(device, library, @"mark");
    test_devices();
    test_encoders();
    test_heaps_and_structs();
    test_sizes_and_kinds();
    test_races();
    test_other_device();
    /* a wild address ends a card's context, and ASan takes the fault for its own */
    test_errors(count > 1 && !strcmp(arguments[1], "faults"));
    [mark release];
    [library release];
    [data release];
    [queue release];
    [device release];
    [pool release];
    return check_report();
}
