/* Programs as people write them: buffers, kernels, constants, order, handlers, blits, indirect dispatches. With ARC. */
#import "check.h"

static const char *source =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "constant uint factor [[function_constant(0)]];\n"
    "constant bool negate [[function_constant(1)]];\n"
    "constant bool has_bias = is_function_constant_defined(factor);\n"
    "kernel void saxpy(device float *y [[buffer(0)]], device const float *x [[buffer(1)]],\n"
    "                  constant float &a [[buffer(2)]], uint i [[thread_position_in_grid]]) { y[i] += a * x[i]; }\n"
    "kernel void times(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
    "  uint v = y[i] * (has_bias ? factor : 1); y[i] = negate ? -v : v; }\n"
    "kernel void total(device const uint *x [[buffer(0)]], device uint *sum [[buffer(1)]],\n"
    "                  threadgroup uint *part [[threadgroup(0)]], uint i [[thread_position_in_threadgroup]],\n"
    "                  uint n [[threads_per_threadgroup]]) {\n"
    "  part[i] = x[i]; threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "  if (i == 0) { uint s = 0; for (uint k = 0; k < n; k++) s += part[k]; sum[0] = s; } }\n"
    "kernel void sizes(device uint *y [[buffer(0)]]) { y[0] = 3; y[1] = 1; y[2] = 1; }\n"
    "kernel void count(device atomic_uint *y [[buffer(0)]]) { atomic_fetch_add_explicit(y, 1, memory_order_relaxed); }\n"
    "struct Table { device float *values; uint count; };\n"
    "struct Row { device uint *out [[id(3)]]; uint2 by; array<constant uint *, 2> in [[id(8)]]; half tail; };\n"
    "struct Nest { Table table; };\n"
    "kernel void rows(uint i [[thread_position_in_grid]], constant Row *row [[buffer(2)]]) {\n"
    "  row->out[i] = row->in[0][i] * row->by.x + row->in[1][i] * row->by.y + uint(row->tail); }\n"
    "kernel void nests(device float *out [[buffer(0)]], constant Nest &nest [[buffer(1)]]) {\n"
    "  out[0] = nest.table.values[0]; }\n"
    "kernel void unread(device uint *out [[buffer(0)]], constant long *never [[buffer(1)]]) { out[0] = 8; }\n"
    "kernel void loose(device float4 *out [[buffer(0)]], device float *in [[buffer(1)]], constant uint &row [[buffer(2)]],\n"
    "                  device uchar *bytes [[buffer(3)]], uint i [[thread_position_in_grid]]) {\n"
    "  threadgroup float shared[64]; shared[i] = in[i]; threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "  if (i >= 8) return;\n"
    "  float4 v = *(device float4 *)(in + i * row) + *(threadgroup float4 *)(shared + i);\n"
    "  uchar3 b = *(device uchar3 *)(bytes + 3 * i); half2 h = *(device half2 *)((device half *)(bytes + 96) + i);\n"
    "  out[i] = float4(v.xyz + float3(b), v.w + float(h.y));\n"
    "  *(device uchar2 *)(bytes + 128 + 2 * i + 1) = b.xy; }\n"
    "kernel void biased(device float *out [[buffer(0)]], device const float *bias [[buffer(1)]]) {\n"
    "  out[0] = 1 + (bias != nullptr ? bias[0] : 0); }\n"
    "kernel void through(device const Table &table [[buffer(0)]], device float *out [[buffer(1)]],\n"
    "                    uint i [[thread_position_in_grid]]) { if (i < table.count) out[i] = table.values[i] + 1; }\n";

static id<MTLDevice> device;
static id<MTLCommandQueue> queue;
static id<MTLLibrary> library;

static void run(void (^encode)(id<MTLComputeCommandEncoder> encoder)) {
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    encode(encoder);
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK(buffer.status == MTLCommandBufferStatusCompleted);
    CHECK(buffer.error == nil);
    if (buffer.error) {
        fprintf(stderr, "%s\n", [[buffer.error localizedDescription] UTF8String]);
    }
}

static void test_saxpy(void) {
    id<MTLComputePipelineState> pipeline = check_pipeline(device, library, @"saxpy");
    float ones[300];
    for (int i = 0; i < 300; i++) {
        ones[i] = 1;
    }
    id<MTLBuffer> x = [device newBufferWithLength:4000 options:MTLResourceStorageModeShared];
    id<MTLBuffer> y = [device newBufferWithBytes:ones length:sizeof ones options:MTLResourceStorageModeManaged];
    float *from = x.contents, *to = y.contents;
    const struct { float a, more; } given = {2, 99};
    for (int i = 0; i < 1000; i++) {
        from[i] = (float)i;
    }
    run(^(id<MTLComputeCommandEncoder> encoder) {
      [encoder setComputePipelineState:pipeline];
      [encoder setBuffer:y offset:0 atIndex:0];
      [encoder setBuffer:x offset:400 atIndex:1];
      [encoder setBytes:&given length:sizeof given atIndex:2]; /* more than the kernel reads */
      [encoder setBuffer:x offset:0 atIndex:30];             /* that the kernel lacks */
      [encoder setThreadgroupMemoryLength:1024 atIndex:0];   /* likewise */
      [encoder dispatchThreads:MTLSizeMake(300, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
      [encoder setBufferOffset:0 atIndex:1];                 /* bindings stay */
      [encoder dispatchThreadgroups:MTLSizeMake(2, 1, 1) threadsPerThreadgroup:MTLSizeMake(50, 1, 1)];
    });
    float before = to[0];
    run(^(id<MTLComputeCommandEncoder> encoder) {
      [encoder setComputePipelineState:pipeline];
      [encoder setBuffer:y offset:0 atIndex:0];
      [encoder setBuffer:x offset:0 atIndex:1];
      [encoder setBytes:NULL length:0 atIndex:2]; /* an empty array: zeros */
      [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    });
    CHECK(to[0] == before);
    CHECK(to[0] == 1 + 2 * 100 + 0 && to[99] == 1 + 2 * 199 + 2 * 99 && to[299] == 1 + 2 * 399);
    CHECK(x.length == 4000 && x.storageMode == MTLStorageModeShared && y.storageMode == MTLStorageModeManaged);
    CHECK(device.currentAllocatedSize >= 5200);
    CHECK(pipeline.threadExecutionWidth == 32 && pipeline.maxTotalThreadsPerThreadgroup >= 64);
}

static void test_constants(void) {
    NSError *error = nil;
    MTLFunctionConstantValues *values = [MTLFunctionConstantValues new];
    uint32_t factor = 5;
    bool negate = true;
    [values setConstantValue:&factor type:MTLDataTypeUInt atIndex:0];
    [values setConstantValue:&negate type:MTLDataTypeBool withName:@"negate"];
    [values setConstantValue:&factor type:MTLDataTypeUInt atIndex:77]; /* that the library lacks */
    id<MTLFunction> function = [library newFunctionWithName:@"times" constantValues:values error:&error];
    CHECK(function != nil && error == nil);
    CHECK([[function functionConstantsDictionary] count] == 2);
    MTLComputePipelineReflection *reflection = nil;
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function
                                                                               options:MTLPipelineOptionBindingInfo
                                                                            reflection:&reflection
                                                                                 error:&error];
    CHECK(pipeline != nil && [[reflection bindings] count] == 1);
    id<MTLBufferBinding> binding = (id<MTLBufferBinding>)[[reflection bindings] objectAtIndex:0];
    CHECK(reflection.bindings[0].index == binding.index); /* the headers say what is in a list */
    CHECK(binding.index == 0 && [binding.name isEqual:@"y"] && binding.bufferDataType == MTLDataTypeUInt);
    CHECK(binding.access == MTLBindingAccessReadWrite && binding.type == MTLBindingTypeBuffer);
    uint32_t numbers[4] = {1, 2, 3, 4};
    id<MTLBuffer> y = [device newBufferWithBytes:numbers length:16 options:0];
    run(^(id<MTLComputeCommandEncoder> encoder) {
      [encoder setComputePipelineState:pipeline];
      [encoder setBuffer:y offset:0 atIndex:0];
      [encoder dispatchThreads:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    });
    CHECK(((int *)y.contents)[3] == -20);
    MTLFunctionDescriptor *descriptor = [MTLFunctionDescriptor functionDescriptor];
    descriptor.name = @"times";
    descriptor.specializedName = @"times_5";
    descriptor.constantValues = values;
    CHECK([[[library newFunctionWithDescriptor:descriptor error:&error] name] isEqual:@"times_5"]);
    /* one that the kernel needs and was not given is zero, if any was */
    values = [MTLFunctionConstantValues new];
    [values setConstantValue:&factor type:MTLDataTypeUInt atIndex:0];
    function = [library newFunctionWithName:@"times" constantValues:values error:&error];
    id<MTLComputePipelineState> plain = [device newComputePipelineStateWithFunction:function error:&error];
    CHECK(plain != nil && error == nil);
    uint32_t before = ((uint32_t *)y.contents)[3];
    run(^(id<MTLComputeCommandEncoder> encoder) {
      [encoder setComputePipelineState:plain];
      [encoder setBuffer:y offset:0 atIndex:0];
      [encoder dispatchThreads:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    });
    CHECK(((uint32_t *)y.contents)[3] == 5 * before);
    function = [library newFunctionWithName:@"times"];
    CHECK([device newComputePipelineStateWithFunction:function error:&error] == nil);
    CHECK(check_text(error.localizedDescription, "negate"));
}

static void test_threadgroup_and_indirect(void) {
    id<MTLComputePipelineState> total = check_pipeline(device, library, @"total");
    id<MTLComputePipelineState> sizes = check_pipeline(device, library, @"sizes");
    id<MTLComputePipelineState> count = check_pipeline(device, library, @"count");
    uint32_t numbers[64];
    for (uint32_t i = 0; i < 64; i++) {
        numbers[i] = i;
    }
    id<MTLBuffer> x = [device newBufferWithBytes:numbers length:sizeof numbers options:0];
    id<MTLBuffer> sum = [device newBufferWithLength:64 options:0];
    id<MTLBuffer> grid = [device newBufferWithLength:64 options:MTLResourceStorageModePrivate];
    CHECK(grid.contents == NULL && grid.gpuAddress != 0);
    run(^(id<MTLComputeCommandEncoder> encoder) {
      [encoder setComputePipelineState:total];
      [encoder setBuffer:x offset:0 atIndex:0];
      [encoder setBuffer:sum offset:0 atIndex:1];
      [encoder setThreadgroupMemoryLength:256 atIndex:0];
      [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
      [encoder memoryBarrierWithScope:MTLBarrierScopeBuffers];
      [encoder setComputePipelineState:sizes]; /* the sizes are the card's work, read when it is done */
      [encoder setBuffer:grid offset:16 atIndex:0];
      [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
      [encoder setComputePipelineState:count];
      [encoder setBuffer:sum offset:4 atIndex:0];
      [encoder dispatchThreadgroupsWithIndirectBuffer:grid
                                 indirectBufferOffset:16
                                threadsPerThreadgroup:MTLSizeMake(10, 1, 1)];
      [encoder dispatchThreadgroups:MTLSizeMake(0, 1, 1) threadsPerThreadgroup:MTLSizeMake(10, 1, 1)];
    });
    CHECK(((uint32_t *)sum.contents)[0] == 2016);
    CHECK(((uint32_t *)sum.contents)[1] == 30);
}

static void test_addresses(void) {
    id<MTLComputePipelineState> through = check_pipeline(device, library, @"through");
    float values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    id<MTLBuffer> data = [device newBufferWithBytes:values length:sizeof values options:0];
    id<MTLBuffer> out = [device newBufferWithLength:32 options:0];
    MTLArgumentDescriptor *pointer = [MTLArgumentDescriptor argumentDescriptor];
    pointer.dataType = MTLDataTypePointer;
    MTLArgumentDescriptor *number = [MTLArgumentDescriptor argumentDescriptor];
    number.dataType = MTLDataTypeUInt;
    number.index = 1;
    id<MTLArgumentEncoder> arguments = [device newArgumentEncoderWithArguments:@[ number, pointer ]];
    CHECK(arguments.encodedLength == 16);
    id<MTLBuffer> table = [device newBufferWithLength:arguments.encodedLength options:0];
    [arguments setArgumentBuffer:table offset:0];
    [arguments setBuffer:data offset:8 atIndex:0];
    *(uint32_t *)[arguments constantDataAtIndex:1] = 6;
    CHECK(*(uint64_t *)table.contents == data.gpuAddress + 8);
    run(^(id<MTLComputeCommandEncoder> encoder) {
      [encoder setComputePipelineState:through];
      [encoder setBuffer:table offset:0 atIndex:0];
      [encoder setBuffer:out offset:0 atIndex:1];
      [encoder useResource:data usage:MTLResourceUsageRead];
      [encoder dispatchThreads:MTLSizeMake(8, 1, 1) threadsPerThreadgroup:MTLSizeMake(8, 1, 1)];
    });
    CHECK(((float *)out.contents)[0] == 3 && ((float *)out.contents)[5] == 8 && ((float *)out.contents)[6] == 0);
}

/* The layout of an argument buffer, from the function that reads it. */
static void test_function_encoder(void) {
    id<MTLFunction> function = [library newFunctionWithName:@"rows"];
    id<MTLArgumentEncoder> row = [function newArgumentEncoderWithBufferIndex:2];
    CHECK(row.encodedLength == 40);
    id<MTLBuffer> table = [device newBufferWithLength:48 options:0], out = [device newBufferWithLength:16 options:0];
    uint32_t values[] = {1, 2, 3, 4, 5};
    id<MTLBuffer> in = [device newBufferWithBytes:values length:sizeof values options:0];
    [row setArgumentBuffer:table offset:8];
    [row setBuffer:out offset:0 atIndex:3];
    [row setBuffer:in offset:0 atIndex:8];
    [row setBuffer:in offset:4 atIndex:9];
    const uint32_t by[] = {10, 100};
    memcpy([row constantDataAtIndex:4], by, sizeof by);
    *(uint16_t *)[row constantDataAtIndex:10] = 0x4000; /* 2 */
    run(^(id<MTLComputeCommandEncoder> encoder) {
      [encoder setComputePipelineState:check_pipeline(device, library, @"rows")];
      [encoder setBuffer:table offset:8 atIndex:2];
      [encoder dispatchThreads:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    });
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(((uint32_t *)out.contents)[i] == values[i] * 10 + values[i + 1] * 100 + 2);
    }
    THROWS([row setBuffer:in offset:0 atIndex:4], "index 4 is a constant, not a buffer");
    THROWS([row constantDataAtIndex:5], "no argument has index 5");
    THROWS((void)[function newArgumentEncoderWithBufferIndex:1], "no argument there points to a struct");
    THROWS((void)[[library newFunctionWithName:@"nests"] newArgumentEncoderWithBufferIndex:1],
           "member 0 of the struct behind argument 1 of kernel \"nests\" is no pointer");
}

/* What an earlier kernel had at the index of an argument that this one does not read. */
static void test_unread(void) {
    id<MTLBuffer> out = [device newBufferWithLength:16 options:0];
    const uint32_t other = 1;
    run(^(id<MTLComputeCommandEncoder> encoder) {
      [encoder setComputePipelineState:check_pipeline(device, library, @"unread")];
      [encoder setBuffer:out offset:0 atIndex:0];
      [encoder setBytes:&other length:sizeof other atIndex:1];
      [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    });
    CHECK(*(uint32_t *)out.contents == 8);
}

/* Apple's GPUs take vectors wherever their elements may be; ggml and torchao count on it. */
static void test_loose_alignment(void) {
    float in[64], want[8][4];
    unsigned char bytes[160] = {0};
    for (int i = 0; i < 64; i++) {
        in[i] = (float)(i * i);
        bytes[i] = (unsigned char)(200 - i);
    }
    for (int i = 0; i < 10; i++) { /* halves from 1 to 10: 0x3c00, 0x4000, … */
        const unsigned short halves[] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800, 0x4880, 0x4900};
        memcpy(bytes + 96 + 2 * i, halves + i, 2);
    }
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 4; k++) {
            want[i][k] = in[i * 5 + k] + in[i + k] + (k < 3 ? (float)bytes[3 * i + k] : (float)(i + 2));
        }
    }
    const uint32_t row = 5;
    id<MTLBuffer> out = [device newBufferWithLength:8 * 16 options:0];
    id<MTLBuffer> numbers = [device newBufferWithBytes:in length:sizeof in options:0];
    id<MTLBuffer> small = [device newBufferWithBytes:bytes length:sizeof bytes options:0];
    run(^(id<MTLComputeCommandEncoder> encoder) {
      [encoder setComputePipelineState:check_pipeline(device, library, @"loose")];
      [encoder setBuffer:out offset:0 atIndex:0];
      [encoder setBuffer:numbers offset:0 atIndex:1];
      [encoder setBytes:&row length:sizeof row atIndex:2];
      [encoder setBuffer:small offset:0 atIndex:3];
      [encoder dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
    });
    CHECK(!memcmp(out.contents, want, sizeof want));
    const unsigned char *stored = small.contents;
    CHECK(stored[128] == 0 && stored[129] == bytes[0] && stored[130] == bytes[1] && stored[143] == bytes[21]);
}

/* A buffer that was left out is null to a kernel that asks; programs say so that there is no bias. */
static void test_left_out(void) {
    id<MTLBuffer> out = [device newBufferWithLength:16 options:0];
    const float bias = 5;
    for (int i = 0; i < 2; i++) {
        run(^(id<MTLComputeCommandEncoder> encoder) {
          [encoder setComputePipelineState:check_pipeline(device, library, @"biased")];
          [encoder setBuffer:out offset:4 * i atIndex:0];
          if (i) {
              [encoder setBytes:&bias length:sizeof bias atIndex:1];
          }
          [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
        });
    }
    const float *x = out.contents;
    CHECK(x[0] == 1 && x[1] == 6);
}

/* @finally runs, and the object goes on. */
static void test_finally(void) {
    int order = 0;
    NSString *reason = nil;
    @try {
        @try {
            [NSException raise:@"Mine" format:@"on its way"];
        } @finally {
            order = 1;
        }
        order = 2;
    } @catch (NSException *exception) {
        reason = exception.reason;
    }
    CHECK(order == 1 && [reason isEqual:@"on its way"]);
}

static void test_order_and_handlers(void) {
    id<MTLComputePipelineState> pipeline = check_pipeline(device, library, @"saxpy");
    id<MTLBuffer> y = [device newBufferWithLength:64 options:0];
    float x = 1, a = 3;
    NSMutableArray *seen = [NSMutableArray array];
    id<MTLCommandBuffer> first = [queue commandBuffer], second = [queue commandBuffer];
    [first enqueue]; /* runs first, though it is committed last */
    CHECK(first.status == MTLCommandBufferStatusEnqueued);
    NSArray *both = @[ first, second ];
    for (NSUInteger i = 0; i < 2; i++) {
        id<MTLCommandBuffer> buffer = [both objectAtIndex:i];
        id<MTLComputeCommandEncoder> encoder =
            [buffer computeCommandEncoderWithDispatchType:i ? MTLDispatchTypeConcurrent : MTLDispatchTypeSerial];
        [encoder setComputePipelineState:pipeline];
        [encoder setBuffer:y offset:0 atIndex:0];
        [encoder setBytes:&x length:4 atIndex:1];
        [encoder setBytes:&a length:4 atIndex:2];
        [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
        [encoder endEncoding];
        [buffer addScheduledHandler:^(id<MTLCommandBuffer> b) {
          @synchronized(seen) {
              [seen addObject:b == first ? @"scheduled 0" : @"scheduled 1"];
          }
        }];
        [buffer addCompletedHandler:^(id<MTLCommandBuffer> b) {
          @synchronized(seen) {
              [seen addObject:b.status == MTLCommandBufferStatusCompleted ? (b == first ? @"done 0" : @"done 1") : @"?"];
          }
        }];
    }
    [second commit];
    CHECK(second.status == MTLCommandBufferStatusCommitted); /* waits for the other */
    [first commit];
    [second waitUntilCompleted];
    NSArray *wanted = @[ @"scheduled 0", @"done 0", @"scheduled 1", @"done 1" ];
    @synchronized(seen) {
        CHECK([seen isEqual:wanted]);
    }
    CHECK(*(float *)y.contents == 6);
    CHECK(first.GPUEndTime >= first.GPUStartTime && second.GPUStartTime >= first.GPUEndTime);
    CHECK(second.GPUStartTime > 0 && second.kernelStartTime > 0);
}

static void test_blits(void) {
    id<MTLBuffer> a = [device newBufferWithLength:64 options:0];
    id<MTLBuffer> b = [device newBufferWithLength:64 options:MTLResourceStorageModePrivate];
    id<MTLBuffer> c = [device newBufferWithLength:64 options:0];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
    [blit fillBuffer:a range:NSMakeRange(0, 32) value:7];
    [blit fillBuffer:a range:NSMakeRange(32, 500) value:9]; /* cut at the end */
    [blit copyFromBuffer:a sourceOffset:16 toBuffer:b destinationOffset:0 size:48];
    [blit copyFromBuffer:b sourceOffset:0 toBuffer:c destinationOffset:16 size:48];
    [blit synchronizeResource:c];
    [blit endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    const unsigned char *bytes = c.contents;
    CHECK(bytes[15] == 0 && bytes[16] == 7 && bytes[31] == 7 && bytes[32] == 9 && bytes[63] == 9);
}

int main(void) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        CHECK(device != nil && device == MTLCreateSystemDefaultDevice());
        CHECK([device supportsFamily:MTLGPUFamilyApple7] && ![device supportsFamily:MTLGPUFamilyMetal4]);
        CHECK([[[device architecture] name] hasPrefix:@"applegpu_g"]);
        queue = [device newCommandQueue];
        library = check_library(device, source);
        CHECK([[library functionNames] count] == 11 && [library newFunctionWithName:@"none"] == nil);
        test_saxpy();
        test_constants();
        test_threadgroup_and_indirect();
        test_addresses();
        test_function_encoder();
        test_unread();
        test_loose_alignment();
        test_left_out();
        test_finally();
        test_order_and_handlers();
        test_blits();
    }
    return check_report();
}
