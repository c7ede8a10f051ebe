/* Heaps, no-copy buffers, events, residency sets, libraries from data and files, logs, weak references, queues of
 * Grand Central Dispatch. With ARC. */
#import "check.h"
#include <mach/mach.h>
#include <sys/sysctl.h>

static const char *source =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void add(device atomic_uint *y [[buffer(0)]], constant uint &n [[buffer(1)]]) {\n"
    "  atomic_fetch_add_explicit(y, n, memory_order_relaxed); }\n";

static id<MTLDevice> device;
static id<MTLComputePipelineState> add;

static void encode_add(id<MTLCommandBuffer> buffer, id<MTLBuffer> target, uint32_t number, NSUInteger times) {
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    [encoder setComputePipelineState:add];
    [encoder setBuffer:target offset:0 atIndex:0];
    [encoder setBytes:&number length:4 atIndex:1];
    [encoder dispatchThreads:MTLSizeMake(times, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [encoder endEncoding];
}

static void test_heaps(id<MTLCommandQueue> queue) {
    MTLHeapDescriptor *descriptor = [MTLHeapDescriptor new];
    descriptor.size = 4096;
    descriptor.storageMode = MTLStorageModeShared;
    id<MTLHeap> heap = [device newHeapWithDescriptor:descriptor];
    CHECK(heap.size == 4096 && heap.usedSize == 0 && [heap maxAvailableSizeWithAlignment:256] == 4096);
    id<MTLBuffer> a = [heap newBufferWithLength:1000 options:0], b = [heap newBufferWithLength:2000 options:0];
    CHECK(a.heap == heap && a.heapOffset == 0 && b.heapOffset == 1024 && heap.usedSize == 3000);
    CHECK(b.gpuAddress == a.gpuAddress + 1024 && (char *)b.contents == (char *)a.contents + 1024);
    CHECK([heap newBufferWithLength:2000 options:0] == nil);
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    encode_add(buffer, b, 4, 10);
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK(*(uint32_t *)b.contents == 40);
    [b makeAliasable];
    id<MTLBuffer> c = [heap newBufferWithLength:2000 options:0];
    CHECK(c.heapOffset == b.heapOffset && b.isAliasable && *(uint32_t *)c.contents == 40);
    a = nil;
    CHECK(heap.usedSize == 2000 && [heap newBufferWithLength:1024 options:0].heapOffset == 0);
    THROWS([heap newBufferWithLength:64 options:MTLResourceStorageModePrivate], "storage mode 2 is asked for");
    descriptor.type = MTLHeapTypePlacement;
    heap = [device newHeapWithDescriptor:descriptor];
    a = [heap newBufferWithLength:512 options:0 offset:256];
    b = [heap newBufferWithLength:512 options:0 offset:512];
    CHECK(a.heapOffset == 256 && (char *)b.contents - (char *)a.contents == 256);
    CHECK([heap newBufferWithLength:512 options:0 offset:4000] == nil);
    THROWS([heap newBufferWithLength:64 options:0], "give an offset");
}

static void test_no_copy(id<MTLCommandQueue> queue) {
    void *memory = NULL;
    __block NSUInteger given_back = 0;
    CHECK(vm_allocate(mach_task_self(), (vm_address_t *)&memory, vm_page_size, VM_FLAGS_ANYWHERE) == KERN_SUCCESS);
    CHECK(((volatile char *)memory)[vm_page_size + 100] == 0); /* as a GPU reads past a buffer */
    @autoreleasepool {
        id<MTLBuffer> buffer = [device newBufferWithBytesNoCopy:memory
                                                         length:vm_page_size
                                                        options:0
                                                    deallocator:^(void *pointer, NSUInteger length) {
                                                      given_back = length;
                                                      vm_deallocate(mach_task_self(), (vm_address_t)pointer, length);
                                                    }];
        CHECK(buffer.contents == memory);
        id<MTLCommandBuffer> commands = [queue commandBuffer];
        encode_add(commands, buffer, 2, 5);
        [commands commit];
        buffer = nil; /* the command buffer keeps it */
        [commands waitUntilCompleted];
        CHECK(given_back || *(uint32_t *)memory == 10);
    }
    CHECK(given_back == vm_page_size);
}

/* GPUs read past the end of a buffer; what is read there is not used. */
static void test_past_the_end(id<MTLCommandQueue> queue) {
    NSError *error = nil;
    NSString *text = @"kernel void last(device const int *x [[buffer(0)]], device int *y [[buffer(1)]],"
                     @"  uint i [[thread_position_in_grid]]) { int v = x[i]; y[i] = i < 32768 ? v : 7; }";
    id<MTLLibrary> library = [device newLibraryWithSource:text options:nil error:&error];
    id<MTLComputePipelineState> last = check_pipeline(device, library, @"last");
    id<MTLBuffer> x = [device newBufferWithLength:131072 options:0];
    id<MTLBuffer> y = [device newBufferWithLength:140000 options:0];
    CHECK(x.length == 131072 && x.allocatedSize == 131072);
    ((int *)x.contents)[32767] = 5;
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    [encoder setComputePipelineState:last];
    [encoder setBuffer:x offset:0 atIndex:0];
    [encoder setBuffer:y offset:0 atIndex:1];
    [encoder dispatchThreads:MTLSizeMake(35000, 1, 1) threadsPerThreadgroup:MTLSizeMake(250, 1, 1)];
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK(buffer.error == nil && ((int *)y.contents)[32767] == 5 && ((int *)y.contents)[34999] == 7);
    THROWS([x didModifyRange:NSMakeRange(131072, 1)], "passes the end of the buffer, which has 131072 bytes");
}

static void test_events(id<MTLCommandQueue> queue) {
    id<MTLCommandQueue> other = [device newCommandQueue];
    id<MTLBuffer> target = [device newBufferWithLength:16 options:0];
    id<MTLEvent> between = [device newEvent];
    id<MTLSharedEvent> shared = [device newSharedEvent];
    /* the second queue waits for the first, which waits for the host */
    id<MTLCommandBuffer> late = [other commandBuffer], early = [queue commandBuffer];
    [late encodeWaitForEvent:between value:3];
    encode_add(late, target, 100, *(uint32_t *)target.contents + 1);
    [late commit];
    [early encodeWaitForEvent:shared value:1];
    encode_add(early, target, 1, 7);
    [early encodeSignalEvent:between value:3];
    [early encodeSignalEvent:shared value:2];
    [early commit];
    CHECK(![shared waitUntilSignaledValue:2 timeoutMS:20] && shared.signaledValue == 0);
    CHECK(*(uint32_t *)target.contents == 0 && late.status < MTLCommandBufferStatusCompleted);
    dispatch_semaphore_t told = dispatch_semaphore_create(0);
    __block uint64_t seen = 0;
    [shared notifyListener:[MTLSharedEventListener new]
                   atValue:2
                     block:^(id<MTLSharedEvent> event, uint64_t value) {
                       seen = event.signaledValue * 10 + value;
                       dispatch_semaphore_signal(told);
                     }];
    shared.signaledValue = 1;
    CHECK([shared waitUntilSignaledValue:2 timeoutMS:60000]);
    [late waitUntilCompleted];
    CHECK(*(uint32_t *)target.contents == 107);
    CHECK(dispatch_semaphore_wait(told, dispatch_time(DISPATCH_TIME_NOW, 60 * (int64_t)NSEC_PER_SEC)) == 0 && seen == 22);
    dispatch_release(told);
    THROWS((void)[(id<MTLSharedEvent>)between signaledValue], "the event is not shared");
}

/* A command buffer tells the host, then waits for the host's answer. */
static void test_answer(id<MTLCommandQueue> queue) {
    id<MTLBuffer> target = [device newBufferWithLength:16 options:0];
    id<MTLSharedEvent> question = [device newSharedEvent], answer = [device newSharedEvent];
    id<MTLCommandBuffer> asks = [queue commandBuffer];
    encode_add(asks, target, 1, 5);
    [asks encodeSignalEvent:question value:1];
    [asks encodeWaitForEvent:answer value:1];
    encode_add(asks, target, 1, 6);
    [asks commit];
    CHECK([question waitUntilSignaledValue:1 timeoutMS:30000]);
    CHECK(*(uint32_t *)target.contents == 5 && asks.status < MTLCommandBufferStatusCompleted);
    answer.signaledValue = 1;
    [asks waitUntilCompleted];
    CHECK(*(uint32_t *)target.contents == 11 && question.signaledValue == 1);
}

/* Many command buffers in flight, from several threads, on queues of their own. */
static void test_many(void) {
    id<MTLBuffer> target = [device newBufferWithLength:16 options:0];
    dispatch_apply(3, dispatch_get_global_queue(QOS_CLASS_DEFAULT, 0), ^(size_t index) {
      @autoreleasepool {
          id<MTLCommandQueue> queue = [device newCommandQueue];
          for (int i = 0; i < 40; i++) {
              id<MTLCommandBuffer> buffer = [queue commandBuffer];
              encode_add(buffer, target, 1, 2);
              if (index && i % 8 == 0) {
                  [buffer addCompletedHandler:^(id<MTLCommandBuffer> b) {
                    (void)b.status;
                  }];
              }
              [buffer commit];
              if (i == 39) {
                  [buffer waitUntilCompleted];
              }
          }
      }
    });
    CHECK(*(uint32_t *)target.contents == 240);
}

static void test_libraries(const char *archive) {
    NSError *error = nil;
    NSString *path = [NSString stringWithUTF8String:archive];
    id<MTLLibrary> library = [device newLibraryWithURL:[NSURL fileURLWithPath:path] error:&error];
    CHECK(library != nil && [[library functionNames] count] == 1);
    NSData *bytes = [NSData dataWithContentsOfFile:path];
    dispatch_data_t data = dispatch_data_create([bytes bytes], [bytes length], NULL, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    library = [device newLibraryWithData:data error:&error];
    dispatch_release(data);
    CHECK(library != nil && [library newFunctionWithName:@"scale"] != nil);
    MTLComputePipelineDescriptor *descriptor = [MTLComputePipelineDescriptor new];
    descriptor.computeFunction = [library newFunctionWithName:@"scale"];
    descriptor.label = @"a label";
    descriptor.maxTotalThreadsPerThreadgroup = 64;
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithDescriptor:descriptor
                                                                                 options:0
                                                                              reflection:NULL
                                                                                   error:&error];
    CHECK(pipeline.maxTotalThreadsPerThreadgroup == 64 && [pipeline.label isEqual:@"a label"]);
    MTLCompileOptions *options = [MTLCompileOptions new];
    options.preprocessorMacros = @{@"NAME" : @"by_macro", @"COUNT" : @3};
    options.languageVersion = MTLLanguageVersion3_1;
    library = [device newLibraryWithSource:@"kernel void NAME(device int *x) { x[0] = COUNT + __METAL_VERSION__; }"
                                   options:options
                                     error:&error];
    CHECK([[library functionNames] isEqual:@[ @"by_macro" ]]);
    dispatch_semaphore_t done = dispatch_semaphore_create(0);
    __block BOOL good = NO;
    [device newLibraryWithSource:@"kernel void later(device int *x) { x[0] = 1; }"
                         options:nil
               completionHandler:^(id<MTLLibrary> made, NSError *failure) {
                 good = [[made functionNames] isEqual:@[ @"later" ]] && failure == nil;
                 dispatch_semaphore_signal(done);
               }];
    dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
    CHECK(good);
    dispatch_release(done);
}

static void test_log(id<MTLCommandQueue> queue) {
    id<MTLLibrary> library = check_library(device, "#include <metal_stdlib>\n#include <metal_logging>\n"
                                                   "kernel void say(constant int &n [[buffer(0)]]) {\n"
                                                   "  metal::os_log_default.log(\"n is %d\", n); }\n");
    id<MTLComputePipelineState> say = check_pipeline(device, library, @"say");
    id<MTLLogState> state = [device newLogStateWithDescriptor:[MTLLogStateDescriptor new] error:NULL];
    __block NSString *heard = nil;
    [state addLogHandler:^(NSString *system, NSString *category, MTLLogLevel level, NSString *message) {
      heard = [message copy];
    }];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    int number = 42;
    [encoder setComputePipelineState:say];
    [encoder setBytes:&number length:4 atIndex:0];
    [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK(check_text(heard, "n is 42"));
}

static void test_runtime(void) {
    __weak id weak = nil, copy = nil;
    @autoreleasepool {
        NSObject *object = [NSObject new];
        weak = object;
        copy = weak;
        CHECK(weak == object && copy == object);
    }
    CHECK(weak == nil && copy == nil);
    __block int sum = 0;
    dispatch_queue_t queue = dispatch_queue_create("numbers", DISPATCH_QUEUE_SERIAL);
    for (int i = 1; i <= 100; i++) {
        dispatch_async(queue, ^{
          sum = sum * 3 % 1000 + i; /* in order, one at a time */
        });
    }
    dispatch_sync(queue, ^{
      sum = -sum;
    });
    int wanted = 0;
    for (int i = 1; i <= 100; i++) {
        wanted = wanted * 3 % 1000 + i;
    }
    CHECK(sum == -wanted);
    dispatch_release(queue);
    uint64_t memory = 0;
    size_t size = sizeof memory;
    CHECK(sysctlbyname("hw.memsize", &memory, &size, NULL, 0) == 0 && memory > 1 << 20);
    CHECK(sysctlbyname("hw.nothing", &memory, &size, NULL, 0) == -1);
}

/* As sources of others are given: a © under the name of ASCII. */
static void test_text(void) {
    NSString *utf8 = [NSString stringWithCString:"a \xc2\xa9 b" encoding:NSASCIIStringEncoding];
    CHECK([utf8 isEqual:@"a \u00a9 b"]);
    NSString *bytes = [[NSString alloc] initWithCString:"a \xa9 b" encoding:NSASCIIStringEncoding];
    CHECK([bytes isEqual:@"a \u00a9 b"]);
    CHECK([[NSString stringWithCString:"plain" encoding:NSASCIIStringEncoding] isEqual:@"plain"]);
    CHECK([NSString stringWithCString:"\xa9" encoding:NSUTF8StringEncoding] == nil);
}

int main(int count, char **arguments) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        id<MTLCommandQueue> queue = [device newCommandQueue];
        id<MTLLibrary> library = check_library(device, source);
        add = check_pipeline(device, library, @"add");
        test_text();
        test_heaps(queue);
        CHECK(device.hasUnifiedMemory == (device.location == MTLDeviceLocationBuiltIn));
        test_no_copy(queue);
        test_past_the_end(queue);
        test_events(queue);
        test_answer(queue);
        test_many();
        if (count > 1) {
            test_libraries(arguments[1]);
        }
        test_log(queue);
        test_runtime();
        id<MTLResidencySet> set = [device newResidencySetWithDescriptor:[MTLResidencySetDescriptor new] error:NULL];
        id<MTLBuffer> one = [device newBufferWithLength:64 options:0];
        [set addAllocation:one];
        [set commit];
        CHECK(set.allocationCount == 1 && set.allocatedSize == 64 && [set containsAllocation:one]);
    }
    return check_report();
}
