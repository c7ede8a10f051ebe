/*
 * Every method that the headers declare is there, or throws an exception that names it: an object of each protocol is
 * asked for all of them. What is not there is listed below, so that a method which goes missing is seen. Without ARC.
 */
#import "check.h"
#include <objc/runtime.h>

/* "PROTOCOL method" of what is declared and not there. */
static const char *absent[] = {
    "MTLBinaryArchive addFunctionWithDescriptor:library:error:",
    "MTLBinaryArchive addRenderPipelineFunctionsWithDescriptor:error:",
    "MTLBlitCommandEncoder copyIndirectCommandBuffer:sourceRange:destination:destinationIndex:",
    "MTLBlitCommandEncoder optimizeContentsForGPUAccess:",
    "MTLBlitCommandEncoder resetCommandsInBuffer:withRange:",
    "MTLBuffer newTextureWithDescriptor:offset:bytesPerRow:",
    "MTLComputeCommandEncoder executeCommandsInBuffer:indirectBuffer:indirectBufferOffset:",
    "MTLComputeCommandEncoder setSamplerState:atIndex:",
    "MTLComputeCommandEncoder setTexture:atIndex:",
    "MTLComputePipelineState gpuResourceID",
    "MTLComputePipelineState imageblockMemoryLengthForDimensions:",
    "MTLDevice newSamplerStateWithDescriptor:",
    "MTLDevice newTextureWithDescriptor:",
    "MTLIndirectCommandBuffer gpuResourceID",
    "MTLIndirectCommandBuffer indirectRenderCommandAtIndex:",
    "MTLSharedEvent newSharedEventHandle",
};
static BOOL seen[sizeof absent / sizeof *absent];
static int methods;

static BOOL is_listed(const char *protocol, const char *method) {
    char line[256];
    snprintf(line, sizeof line, "%s %s", protocol, method);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        if (!strcmp(absent[i], line)) {
            seen[i] = YES;
            return YES;
        }
    }
    fprintf(stderr, "    \"%s\",\n", line);
    return NO;
}

/* The methods of one protocol, and of those that it takes over. */
static void ask(id object, Protocol *protocol) {
    const char *name = protocol_getName(protocol);
    unsigned count = 0;
    struct objc_method_description *list = protocol_copyMethodDescriptionList(protocol, YES, YES, &count);
    for (unsigned i = 0; i < count; i++) {
        const char *method = sel_getName(list[i].name);
        methods++;
        if (![object respondsToSelector:sel_registerName(method)]) {
            CHECK(is_listed(name, method));
            THROWS([object performSelector:sel_registerName(method)], method);
        }
    }
    free(list);
    Protocol **parents = protocol_copyProtocolList(protocol, &count);
    for (unsigned i = 0; i < count; i++) {
        if (strncmp(protocol_getName(parents[i]), "MTL", 3) == 0) {
            ask(object, parents[i]);
        }
    }
    free(parents);
}

static void ask_of(id object, Protocol *protocol) {
    const int before = methods;
    CHECK(object != nil);
    CHECK([object conformsToProtocol:protocol]);
    ask(object, protocol);
    CHECK(methods > before); /* the protocol's list was read */
}

static const char *source = "kernel void mark(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) "
                            "{ out[i] = i + 1; }\n";

/* What is asked of encoders, which have to be ended. */
static void ask_encoders(id<MTLCommandQueue> queue) {
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    ask_of(buffer, @protocol(MTLCommandBuffer));
    id<MTLComputeCommandEncoder> compute = [buffer computeCommandEncoder];
    ask_of(compute, @protocol(MTLComputeCommandEncoder));
    [compute endEncoding];
    id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
    ask_of(blit, @protocol(MTLBlitCommandEncoder));
    [blit endEncoding];
}

static void ask_device(id<MTLDevice> device) {
    NSError *error = nil;
    ask_of(device, @protocol(MTLDevice));
    ask_of([device newBufferWithLength:16 options:0], @protocol(MTLBuffer));
    ask_of([device newFence], @protocol(MTLFence));
    ask_of([device newEvent], @protocol(MTLEvent));
    ask_of([device newSharedEvent], @protocol(MTLSharedEvent));
    MTLHeapDescriptor *heap = [[MTLHeapDescriptor alloc] init];
    [heap setSize:65536];
    ask_of([device newHeapWithDescriptor:heap], @protocol(MTLHeap));
    ask_of([device newResidencySetWithDescriptor:[[MTLResidencySetDescriptor alloc] init] error:&error],
           @protocol(MTLResidencySet));
    ask_of([device newLogStateWithDescriptor:[[MTLLogStateDescriptor alloc] init] error:&error],
           @protocol(MTLLogState));
    ask_of([device newBinaryArchiveWithDescriptor:[[MTLBinaryArchiveDescriptor alloc] init] error:&error],
           @protocol(MTLBinaryArchive));
    MTLIndirectCommandBufferDescriptor *indirect = [[MTLIndirectCommandBufferDescriptor alloc] init];
    [indirect setCommandTypes:MTLIndirectCommandTypeConcurrentDispatch];
    [indirect setMaxKernelBufferBindCount:2];
    id<MTLIndirectCommandBuffer> commands = [device newIndirectCommandBufferWithDescriptor:indirect
                                                                           maxCommandCount:1
                                                                                   options:0];
    ask_of(commands, @protocol(MTLIndirectCommandBuffer));
    ask_of([commands indirectComputeCommandAtIndex:0], @protocol(MTLIndirectComputeCommand));
    MTLCounterSampleBufferDescriptor *samples = [[MTLCounterSampleBufferDescriptor alloc] init];
    [samples setCounterSet:[[device counterSets] objectAtIndex:0]];
    [samples setSampleCount:2];
    ask_of([device newCounterSampleBufferWithDescriptor:samples error:&error], @protocol(MTLCounterSampleBuffer));
    ask_of([[device counterSets] objectAtIndex:0], @protocol(MTLCounterSet));
    MTLArgumentDescriptor *argument = [MTLArgumentDescriptor argumentDescriptor];
    [argument setDataType:MTLDataTypePointer];
    ask_of([device newArgumentEncoderWithArguments:[NSArray arrayWithObject:argument]], @protocol(MTLArgumentEncoder));
}

int main(void) {
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    ask_device(device);
    id<MTLLibrary> library = check_library(device, source);
    ask_of(library, @protocol(MTLLibrary));
    ask_of([library newFunctionWithName:@"mark"], @protocol(MTLFunction));
    ask_of(check_pipeline(device, library, @"mark"), @protocol(MTLComputePipelineState));
    id<MTLCommandQueue> queue = [device newCommandQueue];
    ask_of(queue, @protocol(MTLCommandQueue));
    ask_encoders(queue);
    ask_of([[MTLCaptureManager sharedCaptureManager] newCaptureScopeWithDevice:device], @protocol(MTLCaptureScope));
    CHECK(![(id)device conformsToProtocol:@protocol(MTLBuffer)]);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        if (!seen[i]) {
            fprintf(stderr, "it is there, or is not declared: %s\n", absent[i]);
        }
        CHECK(seen[i]);
    }
    printf("%d methods were asked for\n", methods);
    [pool release];
    return check_report();
}
