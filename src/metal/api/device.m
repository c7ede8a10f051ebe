/*
 * Devices: one object per device of libingot, the same for each call. To programs it is an Apple GPU of a
 * family that $INGOT_METAL_FAMILY names: apple7, apple8 or apple9 (the default), with +metal4 behind it
 * where Metal 4 is to be there too.
 */
#import "metal/api/objects.h"

#include <sys/mman.h>
#include <unistd.h>

enum { APPLE_FIRST = MTLGPUFamilyApple1, DEFAULT_FAMILY = 9, FIRST_FAMILY = 7, LAST_FAMILY = 9 };

struct family {
    int apple; /* 7 for Apple 7 */
    BOOL isMetal4;
};

static struct family family(void) {
    struct family found = {DEFAULT_FAMILY, NO};
    const char *text = getenv("INGOT_METAL_FAMILY");
    if (text && *text) {
        int apple = 0;
        if (sscanf(text, "apple%d", &apple) == 1 && apple >= FIRST_FAMILY && apple <= LAST_FAMILY) {
            found.apple = apple;
        } else {
            fprintf(stderr, "ingot: INGOT_METAL_FAMILY is \"%s\"; apple7, apple8 and apple9 are there\n", text);
        }
        found.isMetal4 = strstr(text, "+metal4") != NULL;
    }
    return found;
}

@implementation MTLArchitecture {
@public
    NSString *_name;
}
- (NSString *)name {
    return _name;
}
- (id)copyWithZone:(NSZone *)zone {
    (void)zone;
    return [self retain];
}
- (void)dealloc {
    [_name release];
    [super dealloc];
}
@end

@implementation IngotDevice
@synthesize shouldMaximizeConcurrentCompilation = _shouldMaximizeConcurrentCompilation;

- (void)dealloc {
    ingot_device_release(device);
    [super dealloc];
}
- (NSString *)name {
    return [NSString stringWithFormat:@"ingot %s", info.name];
}
- (uint64_t)registryID {
    return 0x696e676f74 + index;
}
- (MTLArchitecture *)architecture {
    MTLArchitecture *architecture = [[[MTLArchitecture alloc] init] autorelease];
    /* Apple 7 is the generation of M1, which Apple calls g13. */
    architecture->_name = [[NSString alloc] initWithFormat:@"applegpu_g%ds", family().apple + 6];
    return architecture;
}
- (MTLSize)maxThreadsPerThreadgroup {
    return MTLSizeMake(info.max_threads_per_threadgroup, info.max_threads_per_threadgroup,
                       info.max_threads_per_threadgroup);
}
- (BOOL)isLowPower {
    return NO;
}
- (BOOL)isHeadless {
    return YES;
}
- (BOOL)isRemovable {
    return NO;
}
- (BOOL)hasUnifiedMemory {
    return info.unified_memory; /* shared buffers have contents on every device; a card reads them over the bus */
}
- (uint64_t)recommendedMaxWorkingSetSize {
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t limit = memory / 4 * 3;
    return info.unified_memory || info.max_buffer_length > limit ? limit : info.max_buffer_length;
}
- (uint64_t)maxTransferRate {
    return 0;
}
- (MTLDeviceLocation)location {
    return info.unified_memory ? MTLDeviceLocationBuiltIn : MTLDeviceLocationSlot;
}
- (NSUInteger)locationNumber {
    return index;
}
- (uint64_t)peerGroupID {
    return 0;
}
- (uint32_t)peerIndex {
    return 0;
}
- (uint32_t)peerCount {
    return 0;
}
- (NSUInteger)maxBufferLength {
    return info.max_buffer_length;
}
- (NSUInteger)maxThreadgroupMemoryLength {
    return info.max_threadgroup_memory;
}
- (NSUInteger)currentAllocatedSize {
    return atomic_load(&allocated);
}
- (NSUInteger)maxArgumentBufferSamplerCount {
    return 0;
}
- (NSUInteger)sparseTileSizeInBytes {
    return 16384;
}
- (MTLArgumentBuffersTier)argumentBuffersSupport {
    return MTLArgumentBuffersTier2;
}
- (MTLReadWriteTextureTier)readWriteTextureSupport {
    return MTLReadWriteTextureTierNone;
}
#define IS_NOT_THERE(name)                                                                         \
    -(BOOL)name {                                                                                  \
        return NO;                                                                                 \
    }
IS_NOT_THERE(supportsRaytracing)
IS_NOT_THERE(supportsFunctionPointers)
IS_NOT_THERE(supportsDynamicLibraries)
IS_NOT_THERE(supportsShaderBarycentricCoordinates)
IS_NOT_THERE(supports32BitFloatFiltering)
IS_NOT_THERE(supports32BitMSAA)
IS_NOT_THERE(supportsQueryTextureLOD)
IS_NOT_THERE(supportsBCTextureCompression)
IS_NOT_THERE(supportsPullModelInterpolation)
IS_NOT_THERE(supportsPrimitiveMotionBlur)
IS_NOT_THERE(supportsRenderDynamicLibraries)
IS_NOT_THERE(supportsFunctionPointersFromRender)
IS_NOT_THERE(supportsRaytracingFromRender)
IS_NOT_THERE(isDepth24Stencil8PixelFormatSupported)
IS_NOT_THERE(areRasterOrderGroupsSupported)
IS_NOT_THERE(areProgrammableSamplePositionsSupported)
- (NSArray *)counterSets {
    return im_counter_sets();
}
- (NSUInteger)maximumConcurrentCompilationTaskCount {
    return (NSUInteger)sysconf(_SC_NPROCESSORS_ONLN);
}
- (BOOL)supportsFamily:(MTLGPUFamily)wanted {
    struct family own = family();
    if (wanted >= MTLGPUFamilyApple1 && wanted <= MTLGPUFamilyApple10) {
        return wanted - APPLE_FIRST + 1 <= own.apple;
    }
    switch (wanted) {
    case MTLGPUFamilyCommon1:
    case MTLGPUFamilyCommon2:
    case MTLGPUFamilyCommon3:
    case MTLGPUFamilyMac1:
    case MTLGPUFamilyMac2:
    case MTLGPUFamilyMetal3:
        return YES;
    case MTLGPUFamilyMetal4:
        return own.isMetal4;
    default:
        return NO;
    }
}
- (BOOL)supportsFeatureSet:(MTLFeatureSet)set {
    return set >= MTLFeatureSet_macOS_GPUFamily1_v1 && set <= MTLFeatureSet_macOS_GPUFamily2_v1;
}
- (BOOL)supportsCounterSampling:(MTLCounterSamplingPoint)point {
    return point == MTLCounterSamplingPointAtStageBoundary; /* as Apple's GPUs */
}
- (BOOL)supportsTextureSampleCount:(NSUInteger)count {
    (void)count;
    return NO;
}
- (void)sampleTimestamps:(MTLTimestamp *)cpu gpuTimestamp:(MTLTimestamp *)gpu {
    if (!cpu || !gpu) {
        IM_RAISE(self, @"a timestamp has no place: the pointers are %p and %p", (void *)cpu, (void *)gpu);
    }
    *cpu = *gpu = (MTLTimestamp)(im_now() * 1e9);
}

/* ---- queues, events and the like ---- */

- (id)newCommandQueue {
    return [[IngotCommandQueue alloc] initWithDevice:self];
}
- (id)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count {
    if (!count) {
        IM_RAISE(self, @"the count is 0");
    }
    return [[IngotCommandQueue alloc] initWithDevice:self];
}
- (id)newCommandQueueWithDescriptor:(MTLCommandQueueDescriptor *)descriptor {
    IngotCommandQueue *queue = [self newCommandQueueWithMaxCommandBufferCount:[descriptor maxCommandBufferCount]];
    if (queue) {
        queue->logState = [(id)[descriptor logState] retain];
    }
    return queue;
}
- (id)newFence {
    return im_new_fence(self);
}
- (id)newEvent {
    return [[IngotEvent alloc] initWithDevice:self isShared:NO];
}
- (id)newSharedEvent {
    return [[IngotEvent alloc] initWithDevice:self isShared:YES];
}
- (id)newResidencySetWithDescriptor:(MTLResidencySetDescriptor *)descriptor error:(NSError **)error {
    if (error) {
        *error = nil;
    }
    return im_new_residency_set(self, descriptor);
}
- (id)newLogStateWithDescriptor:(MTLLogStateDescriptor *)descriptor error:(NSError **)error {
    if (error) {
        *error = nil;
    }
    return im_new_log_state(descriptor);
}
- (id)newIndirectCommandBufferWithDescriptor:(MTLIndirectCommandBufferDescriptor *)descriptor
                             maxCommandCount:(NSUInteger)count
                                     options:(MTLResourceOptions)options {
    enum { COMPUTE = MTLIndirectCommandTypeConcurrentDispatch | MTLIndirectCommandTypeConcurrentDispatchThreads };
    if (!descriptor || !count) {
        IM_RAISE(self, @"the descriptor is nil, or the count is 0");
    }
    if ([descriptor commandTypes] & ~(MTLIndirectCommandType)COMPUTE) {
        IM_RAISE(self, @"commandTypes is %lu: ingot has dispatches alone (%d)", (unsigned long)[descriptor commandTypes],
                 COMPUTE);
    }
    return im_new_indirect_command_buffer(self, descriptor, count, options);
}
- (id)newCounterSampleBufferWithDescriptor:(MTLCounterSampleBufferDescriptor *)descriptor error:(NSError **)error {
    return im_new_counter_sample_buffer(self, descriptor, error);
}
- (id)newBinaryArchiveWithDescriptor:(MTLBinaryArchiveDescriptor *)descriptor error:(NSError **)error {
    return im_new_binary_archive(self, descriptor, error);
}
- (id)newArgumentEncoderWithArguments:(NSArray *)arguments {
    return im_new_argument_encoder(self, arguments);
}

/* ---- buffers ---- */

static BOOL check_length(IngotDevice *self, SEL selector, NSUInteger length) {
    if (length == 0) {
        im_raise(self, selector, @"a buffer of 0 bytes is not possible");
    }
    return length <= self->info.max_buffer_length;
}

- (id)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
    ingot_buffer *buffer = check_length(self, _cmd, length) ? im_allocate(self, length, options) : NULL;
    return buffer ? [[IngotBuffer alloc] initWithDevice:self buffer:buffer options:options] : nil;
}
- (id)newBufferWithBytes:(const void *)bytes length:(NSUInteger)length options:(MTLResourceOptions)options {
    if (!bytes) {
        IM_RAISE(self, @"the pointer is NULL");
    }
    IngotBuffer *buffer = [self newBufferWithLength:length options:options];
    void *contents = buffer ? ingot_buffer_contents(buffer->buffer) : NULL;
    if (contents) {
        memcpy(contents, bytes, length);
    } else if (buffer) {
        ingot_stream *stream = NULL;
        ingot_status status = ingot_stream_create(device, &stream);
        if (status == INGOT_OK) {
            status = ingot_stream_upload(stream, buffer->buffer, 0, bytes, length);
            ingot_stream_release(stream);
        }
        if (status != INGOT_OK) {
            [buffer release];
            return nil;
        }
    }
    return buffer;
}

struct lent_memory {
    void *pointer;
    NSUInteger length;
    MTLBufferDeallocator deallocator;
};

static void give_memory_back(void *context) {
    struct lent_memory *lent = context;
    @autoreleasepool {
        lent->deallocator(lent->pointer, lent->length);
        [lent->deallocator release];
    }
    free(lent);
}

/* Is all of it mapped, but for what a length that was rounded up to a Mac's pages has too much? */
static BOOL is_memory(const void *pointer, NSUInteger length) {
    enum { PAGE = 16 << 10 };
    const uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1, start = (uintptr_t)pointer & ~mask;
    const NSUInteger sure = length > PAGE ? length - PAGE : 1;
    uintptr_t end;
    return !__builtin_add_overflow((uintptr_t)pointer, length, &end) &&
           msync((void *)start, (uintptr_t)pointer - start + sure, MS_ASYNC) == 0;
}

- (id)newBufferWithBytesNoCopy:(void *)pointer
                        length:(NSUInteger)length
                       options:(MTLResourceOptions)options
                   deallocator:(MTLBufferDeallocator)deallocator {
    if (!pointer) {
        IM_RAISE(self, @"the pointer is NULL");
    }
    if (!check_length(self, _cmd, length)) {
        return nil;
    }
    if (!is_memory(pointer, length)) {
        IM_RAISE(self, @"%lu bytes at %p are not memory of the program", (unsigned long)length, pointer);
    }
    struct lent_memory *lent = NULL;
    if (deallocator) {
        lent = malloc(sizeof *lent);
        if (!lent) {
            return nil;
        }
        *lent = (struct lent_memory){pointer, length, [deallocator copy]};
    }
    ingot_buffer *buffer = NULL;
    if (ingot_buffer_wrap_host(device, pointer, length, lent ? give_memory_back : NULL, lent, &buffer) != INGOT_OK) {
        if (lent) {
            [lent->deallocator release];
            free(lent);
        }
        return nil;
    }
    return [[IngotBuffer alloc] initWithDevice:self buffer:buffer options:options];
}
- (id)newHeapWithDescriptor:(MTLHeapDescriptor *)descriptor {
    if (!descriptor || ![descriptor size]) {
        IM_RAISE(self, @"the descriptor is nil, or its size is 0");
    }
    return im_new_heap(self, descriptor);
}
- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
    (void)options;
    return (MTLSizeAndAlign){length, 256};
}

/* ---- libraries ---- */

static id library_or_error(IngotDevice *self, ingot_status status, ingot_library *library, NSError **error) {
    if (error) {
        *error = nil;
    }
    if (status == INGOT_OK) {
        return [[IngotLibrary alloc] initWithDevice:self library:library];
    }
    MTLLibraryError code = MTLLibraryErrorInternal;
    if (status == INGOT_COMPILE_ERROR) {
        code = MTLLibraryErrorCompileFailure;
    } else if (status == INGOT_NOT_FOUND || status == INGOT_IO_ERROR) {
        code = MTLLibraryErrorFileNotFound;
    } else if (status == INGOT_UNSUPPORTED || status == INGOT_BAD_ARCHIVE) {
        code = MTLLibraryErrorUnsupported;
    }
    im_set_error(error, MTLLibraryErrorDomain, (NSInteger)code, ingot_error_message());
    return nil;
}

- (id)newLibraryWithSource:(NSString *)source options:(MTLCompileOptions *)options error:(NSError **)error {
    if (!source) {
        IM_RAISE(self, @"the source is nil");
    }
    NSDictionary *macros = [options preprocessorMacros];
    ingot_define *defines = calloc([macros count] + 1, sizeof *defines);
    size_t count = 0;
    for (id name in macros) {
        defines[count++] = (ingot_define){[[name description] UTF8String],
                                          [[[macros objectForKey:name] description] UTF8String]};
    }
    MTLLanguageVersion version = [options languageVersion];
    ingot_source_desc desc = {
        .source = [source UTF8String],
        .defines = defines,
        .define_count = count,
        .msl_version = (uint32_t)((version >> 16) * 100 + (version & 0xffff) * 10),
        .fast_math = [options isFastMathAskedFor],
    };
    ingot_library *library = NULL;
    ingot_status status = ingot_library_create_from_source(device, &desc, &library);
    id result = library_or_error(self, status, library, error);
    free(defines);
    return result;
}
/* Throws what the call without a handler would: on the thread of a handler nobody could catch it. */
static void need_handler(IngotDevice *self, SEL selector, id handler) {
    if (!handler) {
        im_raise(self, selector, @"the handler is nil");
    }
}

- (void)newLibraryWithSource:(NSString *)source
                     options:(MTLCompileOptions *)options
           completionHandler:(MTLNewLibraryCompletionHandler)handler {
    need_handler(self, _cmd, handler);
    if (!source) {
        IM_RAISE(self, @"the source is nil");
    }
    dispatch_async(dispatch_get_global_queue(QOS_CLASS_DEFAULT, 0), ^{
      @autoreleasepool {
          NSError *error = nil;
          id library = [[self newLibraryWithSource:source options:options error:&error] autorelease];
          handler(library, error);
      }
    });
}
- (id)newLibraryWithFile:(NSString *)path error:(NSError **)error {
    if (!path) {
        IM_RAISE(self, @"the path is nil");
    }
    ingot_library *library = NULL;
    ingot_status status = ingot_library_create_from_archive(device, [path fileSystemRepresentation], &library);
    return library_or_error(self, status, library, error);
}
- (id)newLibraryWithURL:(NSURL *)url error:(NSError **)error {
    if (![url isFileURL]) {
        IM_RAISE(self, @"%@ is not the URL of a file", url);
    }
    return [self newLibraryWithFile:[url path] error:error];
}
- (id)newLibraryWithData:(dispatch_data_t)data error:(NSError **)error {
    const void *bytes = NULL;
    size_t size = 0;
    if (!data) {
        IM_RAISE(self, @"the data is nil");
    }
    dispatch_data_t map = dispatch_data_create_map(data, &bytes, &size);
    ingot_library *library = NULL;
    ingot_status status = ingot_library_create_from_memory(device, bytes, size, &library);
    dispatch_release(map);
    return library_or_error(self, status, library, error);
}
/* A program that is not in a bundle has its resources beside it on a Mac; GNUstep looks for them in a folder Resources
 * with the program's name. */
static NSString *folder_of_program(void) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return [[NSString stringWithUTF8String:path] stringByDeletingLastPathComponent];
}

- (id)newDefaultLibraryWithBundle:(NSBundle *)bundle error:(NSError **)error {
    NSMutableArray *places = [NSMutableArray array];
    if ([bundle resourcePath]) {
        [places addObject:[bundle resourcePath]];
    }
    if ([bundle bundlePath]) {
        [places addObject:[bundle bundlePath]];
    }
    if (bundle == [NSBundle mainBundle] && folder_of_program()) {
        [places addObject:folder_of_program()];
    }
    for (NSString *place in places) {
        for (NSString *name in @[ @"default.metallib", @"default.ingot" ]) {
            NSString *path = [place stringByAppendingPathComponent:name];
            if ([[NSFileManager defaultManager] fileExistsAtPath:path]) {
                return [self newLibraryWithFile:path error:error];
            }
        }
    }
    NSString *text = [NSString
        stringWithFormat:@"no default.metallib and no default.ingot in %@", [places componentsJoinedByString:@", "]];
    im_set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorFileNotFound, [text UTF8String]);
    return nil;
}
- (id)newDefaultLibrary {
    return [self newDefaultLibraryWithBundle:[NSBundle mainBundle] error:NULL];
}

/* ---- pipelines ---- */

/* Metal takes a part of the values, and what a kernel needs besides is zero then: for a kernel that was refused for
 * want of a constant. NULL: that does not help; libingot's message says why. */
static ingot_kernel *make_with_zeros(ingot_library *library, ingot_library *own, const ingot_kernel_desc *desc) {
    static const uint8_t zeros[64];
    size_t count = ingot_library_constant_count(own), used = desc->constant_count;
    ingot_constant *values = calloc(used + count, sizeof *values);
    ingot_kernel *kernel = NULL;
    BOOL isWanting = strstr(ingot_error_message(), "needs function constant") != NULL;
    for (size_t i = 0; values && i < used; i++) {
        values[i] = desc->constants[i];
    }
    for (size_t i = 0; values && i < count; i++) {
        ingot_constant_info info;
        BOOL isMissing = ingot_library_constant_info(own, i, &info) == INGOT_OK && info.required;
        for (size_t j = 0; isMissing && j < desc->constant_count; j++) {
            isMissing = desc->constants[j].index != info.index;
        }
        if (isMissing) {
            values[used++] = (ingot_constant){.index = info.index, .bytes = zeros, .size = im_constant_size(&info)};
        }
    }
    if (values && isWanting && used > desc->constant_count) {
        ingot_kernel_desc filled = {.name = desc->name, .constants = values, .constant_count = used};
        ingot_kernel_create(library, &filled, &kernel);
    }
    free(values);
    return kernel;
}

static ingot_kernel *make_kernel(IngotDevice *self, IngotFunction *function, NSArray *archives,
                                 MTLPipelineOption options, NSError **error) {
    const char *name = [function->kernel UTF8String];
    ingot_library *own = NULL;
    ingot_kernel *kernel = NULL;
    ingot_kernel_desc desc = {.name = name};
    ingot_constant *constants = NULL;
    ingot_status status = INGOT_OK;
    if (function->constants) {
        status = ingot_library_of_kernel(function->library->library, name, &own);
        constants = status == INGOT_OK ? [function->constants valuesFor:own count:&desc.constant_count] : NULL;
        desc.constants = constants;
    }
    if (status == INGOT_OK && [archives count]) {
        kernel = im_archived_kernel(archives, self, function->library->library, &desc);
    }
    BOOL isMiss = !kernel && options & MTLPipelineOptionFailOnBinaryArchiveMiss;
    if (status == INGOT_OK && !kernel && !isMiss) {
        status = ingot_kernel_create(function->library->library, &desc, &kernel);
    }
    if (status == INGOT_COMPILE_ERROR && desc.constant_count) {
        kernel = make_with_zeros(function->library->library, own, &desc);
    }
    if (isMiss) {
        NSString *text = [NSString stringWithFormat:@"function %@ is in none of the %lu binary archives", function->shownName,
                                                    (unsigned long)[archives count]];
        im_set_error(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorCompilationFailure, [text UTF8String]);
    } else if (!kernel) {
        im_set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, ingot_error_message());
    }
    free(constants);
    ingot_library_release(own);
    return kernel;
}

static void check_function(IngotDevice *self, SEL selector, id object) {
    if (![object isKindOfClass:[IngotFunction class]]) {
        im_raise(self, selector, @"a function is needed, not %@", object ? (id)[object class] : @"nil");
    }
    IngotFunction *function = object;
    if (function->library->owner != self) {
        im_raise(self, selector, @"function %@ belongs to device \"%s\", not to \"%s\"", function->shownName,
                 function->library->owner->info.name, self->info.name);
    }
}
static void check_descriptor(IngotDevice *self, SEL selector, MTLComputePipelineDescriptor *descriptor) {
    MTLLinkedFunctions *linked = [descriptor linkedFunctions];
    if ([[linked functions] count] || [[linked privateFunctions] count] || [[linked binaryFunctions] count]) {
        im_raise(self, selector, @"linked functions are not there: ingot has no function pointers");
    }
    check_function(self, selector, [descriptor computeFunction]);
}

- (IngotPipeline *)pipeline:(IngotFunction *)function
                   archives:(NSArray *)archives
                    options:(MTLPipelineOption)options
                      error:(NSError **)error
                        for:(SEL)selector NS_RETURNS_RETAINED {
    check_function(self, selector, function);
    if (error) {
        *error = nil;
    }
    ingot_kernel *kernel = make_kernel(self, function, archives, options, error);
    return kernel ? [[IngotPipeline alloc] initWithDevice:self kernel:kernel] : nil;
}
- (IngotPipeline *)pipeline:(IngotFunction *)function error:(NSError **)error for:(SEL)selector NS_RETURNS_RETAINED {
    return [self pipeline:function archives:nil options:MTLPipelineOptionNone error:error for:selector];
}
- (id)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError **)error {
    IngotPipeline *pipeline = [self pipeline:(IngotFunction *)function error:error for:_cmd];
    [pipeline setLabel:[(id)function label]];
    return pipeline;
}
- (id)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                  options:(MTLPipelineOption)options
                               reflection:(MTLComputePipelineReflection **)reflection
                                    error:(NSError **)error {
    (void)options;
    IngotPipeline *pipeline = [self pipeline:(IngotFunction *)function error:error for:_cmd];
    if (reflection) {
        *reflection = [[pipeline newReflection] autorelease];
    }
    return pipeline;
}
- (id)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                    options:(MTLPipelineOption)options
                                 reflection:(MTLComputePipelineReflection **)reflection
                                      error:(NSError **)error {
    check_descriptor(self, _cmd, descriptor);
    IngotPipeline *pipeline = [self pipeline:(IngotFunction *)[descriptor computeFunction]
                                    archives:[descriptor binaryArchives]
                                     options:options
                                       error:error
                                         for:_cmd];
    if (pipeline) {
        NSUInteger wanted = [descriptor maxTotalThreadsPerThreadgroup];
        pipeline->maxThreads = wanted && wanted < pipeline->maxThreads ? wanted : pipeline->maxThreads;
        pipeline->supportsIndirect = [descriptor supportIndirectCommandBuffers];
        [pipeline setLabel:[descriptor label]];
    }
    if (reflection) {
        *reflection = [[pipeline newReflection] autorelease];
    }
    return pipeline;
}
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                          completionHandler:(MTLNewComputePipelineStateCompletionHandler)handler {
    need_handler(self, _cmd, handler);
    check_function(self, _cmd, function);
    dispatch_async(dispatch_get_global_queue(QOS_CLASS_DEFAULT, 0), ^{
      @autoreleasepool {
          NSError *error = nil;
          id pipeline = [[self newComputePipelineStateWithFunction:function error:&error] autorelease];
          handler(pipeline, error);
      }
    });
}
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                    options:(MTLPipelineOption)options
                          completionHandler:(MTLNewComputePipelineStateWithReflectionCompletionHandler)handler {
    need_handler(self, _cmd, handler);
    check_function(self, _cmd, function);
    dispatch_async(dispatch_get_global_queue(QOS_CLASS_DEFAULT, 0), ^{
      @autoreleasepool {
          NSError *error = nil;
          MTLComputePipelineReflection *reflection = nil;
          id pipeline = [[self newComputePipelineStateWithFunction:function
                                                           options:options
                                                        reflection:&reflection
                                                             error:&error] autorelease];
          handler(pipeline, reflection, error);
      }
    });
}
- (void)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                      options:(MTLPipelineOption)options
                            completionHandler:(MTLNewComputePipelineStateWithReflectionCompletionHandler)handler {
    need_handler(self, _cmd, handler);
    check_descriptor(self, _cmd, descriptor);
    dispatch_async(dispatch_get_global_queue(QOS_CLASS_DEFAULT, 0), ^{
      @autoreleasepool {
          NSError *error = nil;
          MTLComputePipelineReflection *reflection = nil;
          id pipeline = [[self newComputePipelineStateWithDescriptor:descriptor
                                                             options:options
                                                          reflection:&reflection
                                                               error:&error] autorelease];
          handler(pipeline, reflection, error);
      }
    });
}
@end
