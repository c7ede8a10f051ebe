/*
 * The Metal device's only Objective-C: bridge.h on Metal's API. Written for manual reference
 * counting, and for Apple's Foundation and GNUstep's alike. Every entry has an autorelease pool and
 * turns exceptions into messages.
 */
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "runtime/metal/bridge.h"

static void say(char **message, NSString *text) {
    const char *bytes = [text UTF8String];
    if (message && !*message) {
        *message = strdup(bytes ? bytes : "Metal gave no reason");
    }
}

static void say_error(char **message, NSError *error, NSString *what) {
    NSString *reason = error ? [error localizedDescription] : nil;
    say(message, reason ? [NSString stringWithFormat:@"%@: %@", what, reason] : what);
}

static void say_exception(char **message, NSException *exception) {
    say(message, [exception reason] ? [exception reason] : [exception name]);
}

/* Runs the statements in a pool; an exception becomes the message. */
#define GUARDED(message, ...)                                                                      \
    @autoreleasepool {                                                                             \
        @try {                                                                                     \
            __VA_ARGS__                                                                            \
        } @catch (NSException * exception) {                                                       \
            say_exception(message, exception);                                                     \
        }                                                                                          \
    }

static NSString *text_of(const char *bytes, size_t length) {
    return [[[NSString alloc] initWithBytes:bytes length:length encoding:NSUTF8StringEncoding] autorelease];
}

/* ---- devices ---- */

/* An Apple machine has one GPU. */
static size_t device_count(void) {
    size_t count = 0;
    GUARDED(NULL, { count = [MTLCreateSystemDefaultDevice() autorelease] ? 1 : 0; })
    return count;
}

static void describe_device(id<MTLDevice> device, struct ig_metal_device_info *info) {
    static const struct {
        MTLGPUFamily family;
        const char *name;
    } families[] = {{MTLGPUFamilyApple9, "apple9"}, {MTLGPUFamilyApple8, "apple8"}, {MTLGPUFamilyApple7, "apple7"}};
    memset(info, 0, sizeof *info);
    strncpy(info->name, [[device name] UTF8String], sizeof info->name - 1);
    for (size_t i = 0; i < sizeof families / sizeof *families && !*info->family; i++) {
        if ([device supportsFamily:families[i].family]) {
            strncpy(info->family, families[i].name, sizeof info->family - 1);
        }
    }
    info->max_threads_per_threadgroup = (uint32_t)[device maxThreadsPerThreadgroup].width;
    info->max_threadgroup_memory = (uint32_t)[device maxThreadgroupMemoryLength];
    info->max_buffer_length = [device maxBufferLength];
    info->working_set = [device recommendedMaxWorkingSetSize];
    info->has_unified_memory = [device hasUnifiedMemory];
}

static void *device_open(size_t index, struct ig_metal_device_info *info, char **message) {
    id<MTLDevice> device = nil;
    GUARDED(message, {
        device = index ? nil : MTLCreateSystemDefaultDevice();
        if (device) {
            describe_device(device, info);
        } else {
            say(message, [NSString stringWithFormat:@"Metal has no device number %lu", (unsigned long)index]);
        }
    })
    return device;
}

static void release(void *object) {
    GUARDED(NULL, { [(id)object release]; })
}

static void (*log_function)(int level, const char *text);

static void set_log_function(void (*message)(int level, const char *text)) {
    log_function = message;
}

static id<MTLLogState> log_state;

static void make_log_state(id<MTLDevice> device) {
    MTLLogStateDescriptor *descriptor = [[[MTLLogStateDescriptor alloc] init] autorelease];
    [descriptor setLevel:MTLLogLevelDebug];
    [descriptor setBufferSize:1 << 20];
    log_state = [device newLogStateWithDescriptor:descriptor error:NULL];
    [log_state addLogHandler:^(NSString *subsystem, NSString *category, MTLLogLevel level, NSString *message) {
      (void)subsystem;
      (void)category;
      log_function((int)level, [message UTF8String]);
    }];
}

/* Where messages of kernels go, of all queues; nil before macOS 15, and where nobody asks. */
static id<MTLLogState> log_state_of(id<MTLDevice> device) {
    static dispatch_once_t once;
    if (log_function && NSClassFromString(@"MTLLogStateDescriptor")) {
        dispatch_once(&once, ^{
          make_log_state(device);
        });
    }
    return log_state;
}

/* ---- code ---- */

static void *library_from_source(void *device, const char *source, size_t length,
                                 const struct ig_metal_compile_options *options, char **message) {
    id<MTLLibrary> library = nil;
    GUARDED(message, {
        MTLCompileOptions *chosen = [[[MTLCompileOptions alloc] init] autorelease];
        NSError *error = nil;
        [chosen setFastMathEnabled:options->fast_math];
        if (memmem(source, length, "os_log", 6) && [chosen respondsToSelector:@selector(setEnableLogging:)]) {
            [chosen setEnableLogging:YES];
        }
        if (options->msl_version) { /* 310 is (3 << 16) + 1 */
            const uint32_t version = options->msl_version;
            [chosen setLanguageVersion:(MTLLanguageVersion)((version / 100 << 16) + version / 10 % 10)];
        }
        NSString *text = text_of(source, length);
        if (!text) {
            say(message, @"the source is not UTF-8");
        } else {
            library = [(id<MTLDevice>)device newLibraryWithSource:text options:chosen error:&error];
        }
        if (text && !library) { /* what the compiler says, as it is */
            say(message, error ? [error localizedDescription] : @"Metal's compiler gave no library and no reason");
        }
    })
    return library;
}

static void *library_from_data(void *device, const void *bytes, size_t size, char **message) {
    id<MTLLibrary> library = nil;
    GUARDED(message, {
        NSError *error = nil;
        dispatch_data_t data = dispatch_data_create(bytes, size, NULL, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
        library = [(id<MTLDevice>)device newLibraryWithData:data error:&error];
        dispatch_release(data);
        if (!library) {
            say_error(message, error, @"Metal does not take the compiled library");
        }
    })
    return library;
}

static bool list_constants(id<MTLFunction> function, void *context,
                           bool (*constant)(void *, const struct ig_metal_constant *)) {
    NSDictionary *constants = [function functionConstantsDictionary];
    for (NSString *name in constants) {
        MTLFunctionConstant *value = [constants objectForKey:name];
        const struct ig_metal_constant one = {.name = [name UTF8String],
                                              .index = (uint32_t)[value index],
                                              .data_type = (uint32_t)[value type],
                                              .required = [value required]};
        if (!constant(context, &one)) {
            return false;
        }
    }
    return true;
}

static bool library_list(void *object, void *context, bool (*kernel)(void *, const char *name),
                         bool (*constant)(void *, const struct ig_metal_constant *)) {
    bool good = true;
    GUARDED(NULL, {
        id<MTLLibrary> library = object;
        for (NSString *name in [library functionNames]) {
            id<MTLFunction> function = [[library newFunctionWithName:name] autorelease];
            if (!function || [function functionType] != MTLFunctionTypeKernel) {
                continue;
            }
            good = good && kernel(context, [name UTF8String]) && list_constants(function, context, constant);
        }
    })
    return good;
}

/* The function with values, whose types are those that it declares. */
static id<MTLFunction> specialise(id<MTLLibrary> library, NSString *name, const struct ig_metal_value *values,
                                  size_t count, char **message) {
    id<MTLFunction> plain = [[library newFunctionWithName:name] autorelease];
    NSError *error = nil;
    if (!plain) {
        say(message, [NSString stringWithFormat:@"the library has no kernel \"%@\"", name]);
        return nil;
    }
    NSDictionary *constants = [plain functionConstantsDictionary];
    if (![constants count]) {
        return plain;
    }
    MTLFunctionConstantValues *set = [[[MTLFunctionConstantValues alloc] init] autorelease];
    for (NSString *key in constants) {
        MTLFunctionConstant *constant = [constants objectForKey:key];
        for (size_t i = 0; i < count; i++) {
            if (values[i].index == [constant index]) {
                [set setConstantValue:values[i].bytes type:[constant type] atIndex:values[i].index];
            }
        }
    }
    id<MTLFunction> function = [[library newFunctionWithName:name constantValues:set error:&error] autorelease];
    if (!function) {
        say_error(message, error, [NSString stringWithFormat:@"kernel \"%@\" with these constants", name]);
    }
    return function;
}

static bool list_bindings(MTLComputePipelineReflection *reflection, void *context,
                          bool (*binding)(void *, const struct ig_metal_binding *)) {
    for (id<MTLBinding> one in [reflection bindings]) {
        struct ig_metal_binding found = {.name = [[one name] UTF8String],
                                         .index = (uint32_t)[one index],
                                         .is_used = [one isUsed],
                                         .is_writable = [one access] != MTLBindingAccessReadOnly};
        if ([one type] == MTLBindingTypeBuffer) {
            id<MTLBufferBinding> buffer = (id<MTLBufferBinding>)one;
            found.size = [buffer bufferDataSize];
            found.alignment = [buffer bufferAlignment];
            found.data_type = (uint32_t)[buffer bufferDataType];
        } else if ([one type] == MTLBindingTypeThreadgroupMemory) {
            id<MTLThreadgroupBinding> memory = (id<MTLThreadgroupBinding>)one;
            found.is_threadgroup = true;
            found.size = [memory threadgroupMemoryDataSize];
            found.alignment = [memory threadgroupMemoryAlignment];
        } else {
            continue; /* textures: what binds them is not there either */
        }
        if (!binding(context, &found)) {
            return false;
        }
    }
    return true;
}

/* ---- pipelines, and what Metal keeps of them ---- */

/* Metal's archives are files. A name for one that is there, and empty; nil: none can be made. */
static NSURL *file_of_binary(void) {
    NSString *pattern = [NSTemporaryDirectory() stringByAppendingPathComponent:@"ingot-binary-XXXXXX"];
    char *path = strdup([pattern fileSystemRepresentation]);
    int file = path ? mkstemp(path) : -1;
    NSURL *url = file >= 0 ? [NSURL fileURLWithPath:[NSString stringWithUTF8String:path]] : nil;
    if (file >= 0) {
        close(file);
    }
    free(path);
    return url;
}

static id<MTLBinaryArchive> binary_archive(id<MTLDevice> device, NSURL *url) {
    MTLBinaryArchiveDescriptor *descriptor = [[[MTLBinaryArchiveDescriptor alloc] init] autorelease];
    [descriptor setUrl:url];
    return [[device newBinaryArchiveWithDescriptor:descriptor error:NULL] autorelease];
}

/* What was kept, or nil: Metal takes none of another system or GPU. */
static id<MTLBinaryArchive> open_binary(id<MTLDevice> device, const struct ig_metal_binary *binary) {
    NSURL *url = binary->bytes ? file_of_binary() : nil;
    NSData *bytes = [NSData dataWithBytesNoCopy:(void *)binary->bytes length:binary->size freeWhenDone:NO];
    id<MTLBinaryArchive> archive = nil;
    if (url && [bytes writeToURL:url atomically:NO]) {
        archive = binary_archive(device, url);
    }
    if (url) {
        unlink([[url path] fileSystemRepresentation]);
    }
    return archive;
}

static void save_binary(id<MTLDevice> device, MTLComputePipelineDescriptor *descriptor, struct ig_metal_binary *binary) {
    id<MTLBinaryArchive> archive = binary_archive(device, nil);
    NSURL *url = archive ? file_of_binary() : nil;
    if (url && [archive addComputePipelineFunctionsWithDescriptor:descriptor error:NULL] &&
        [archive serializeToURL:url error:NULL]) {
        NSData *data = [NSData dataWithContentsOfURL:url];
        binary->made = [data length] ? malloc([data length]) : NULL;
        if (binary->made) {
            memcpy(binary->made, [data bytes], [data length]);
            binary->made_size = [data length];
        }
    }
    if (url) {
        unlink([[url path] fileSystemRepresentation]);
    }
}

/* From what was kept, or compiled. */
static id<MTLComputePipelineState> make_pipeline(id<MTLDevice> device, MTLComputePipelineDescriptor *descriptor,
                                                 struct ig_metal_binary *binary,
                                                 MTLComputePipelineReflection **reflection, NSError **error) {
    const MTLPipelineOption options =
        reflection ? MTLPipelineOptionBindingInfo | MTLPipelineOptionBufferTypeInfo : MTLPipelineOptionNone;
    id<MTLBinaryArchive> kept = binary ? open_binary(device, binary) : nil;
    if (kept) {
        [descriptor setBinaryArchives:@[ kept ]];
        id<MTLComputePipelineState> pipeline =
            [device newComputePipelineStateWithDescriptor:descriptor
                                                  options:options | MTLPipelineOptionFailOnBinaryArchiveMiss
                                               reflection:reflection
                                                    error:error];
        [descriptor setBinaryArchives:nil];
        if (pipeline) {
            return pipeline;
        }
    }
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithDescriptor:descriptor
                                                                                 options:options
                                                                              reflection:reflection
                                                                                   error:error];
    if (pipeline && binary) {
        save_binary(device, descriptor, binary);
    }
    return pipeline;
}

static void *pipeline_make(void *library, const char *kernel, const struct ig_metal_value *values, size_t value_count,
                           struct ig_metal_binary *binary, struct ig_metal_pipeline_info *info, void *context,
                           bool (*binding)(void *, const struct ig_metal_binding *), char **message) {
    id<MTLComputePipelineState> pipeline = nil;
    GUARDED(message, {
        NSError *error = nil;
        MTLComputePipelineReflection *reflection = nil;
        NSString *name = text_of(kernel, strlen(kernel));
        id<MTLFunction> function = specialise((id<MTLLibrary>)library, name, values, value_count, message);
        if (function) {
            MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
            [descriptor setComputeFunction:function];
            [descriptor setLabel:name];
            pipeline = make_pipeline([(id<MTLLibrary>)library device], descriptor, binary,
                                     binding ? &reflection : NULL, &error);
            if (!pipeline) {
                say_error(message, error, [NSString stringWithFormat:@"kernel \"%@\" has no pipeline", name]);
            }
        }
        if (pipeline) {
            info->max_threads = (uint32_t)[pipeline maxTotalThreadsPerThreadgroup];
            info->simd_width = (uint32_t)[pipeline threadExecutionWidth];
            info->static_threadgroup_bytes = (uint32_t)[pipeline staticThreadgroupMemoryLength];
        }
        if (pipeline && binding && !list_bindings(reflection, context, binding)) {
            say(message, @"no memory for the arguments");
            [pipeline release];
            pipeline = nil;
        }
    })
    return pipeline;
}

/* ---- memory ---- */

enum { PAGED = 1 << 20 };

/* Pages of the system, which are zero and cost nothing until they are touched; nil where Metal does not take them. */
static id<MTLBuffer> buffer_of_pages(id<MTLDevice> device, uint64_t length) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = (length + page - 1) / page * page;
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (pages == MAP_FAILED) {
        return nil;
    }
    id<MTLBuffer> buffer = [device newBufferWithBytesNoCopy:pages
                                                     length:(NSUInteger)size
                                                    options:MTLResourceStorageModeShared
                                                deallocator:^(void *memory, NSUInteger bytes) {
                                                  munmap(memory, bytes);
                                                }];
    if (!buffer) {
        munmap(pages, size);
    }
    return buffer;
}

static void *buffer_make(void *device, uint64_t length, bool is_shared, char **message) {
    id<MTLBuffer> buffer = nil;
    GUARDED(message, {
        BOOL isPaged = is_shared && length >= PAGED;
        buffer = isPaged ? buffer_of_pages((id<MTLDevice>)device, length) : nil;
        if (!buffer) {
            buffer = [(id<MTLDevice>)device
                newBufferWithLength:(NSUInteger)length
                            options:is_shared ? MTLResourceStorageModeShared : MTLResourceStorageModePrivate];
            if ([buffer contents]) {
                memset([buffer contents], 0, length);
            }
        }
        if (!buffer) {
            say(message, [NSString stringWithFormat:@"Metal has no memory for %llu bytes", (unsigned long long)length]);
        }
    })
    return buffer;
}

static void *buffer_wrap(void *device, void *pages, uint64_t length, char **message) {
    id<MTLBuffer> buffer = nil;
    GUARDED(message, {
        buffer = [(id<MTLDevice>)device newBufferWithBytesNoCopy:pages
                                                          length:(NSUInteger)length
                                                         options:MTLResourceStorageModeShared
                                                     deallocator:nil];
        if (!buffer) {
            say(message, [NSString stringWithFormat:@"Metal does not take %llu bytes of memory at %p without a copy",
                                                    (unsigned long long)length, pages]);
        }
    })
    return buffer;
}

static void *buffer_adopt(void *device, void *object, uint64_t *length, char **message) {
    id<MTLBuffer> buffer = nil;
    GUARDED(message, {
        id<MTLDevice> own = [(id<MTLBuffer>)object device];
        if ([own registryID] != [(id<MTLDevice>)device registryID]) {
            say(message, [NSString stringWithFormat:@"it is a buffer of another device, \"%@\"", [own name]]);
        } else {
            buffer = [(id<MTLBuffer>)object retain];
            *length = [buffer length];
        }
    })
    return buffer;
}

static void *buffer_contents(void *buffer) {
    void *contents = NULL;
    GUARDED(NULL, { contents = [(id<MTLBuffer>)buffer contents]; })
    return contents;
}

static uint64_t buffer_address(void *buffer) {
    uint64_t address = 0;
    GUARDED(NULL, { address = [(id<MTLBuffer>)buffer gpuAddress]; })
    return address;
}

/* ---- work ---- */

/* A command buffer with the encoder that is open in it. */
@interface IngotCommand : NSObject {
@public
    id<MTLCommandBuffer> buffer;
    id<MTLComputeCommandEncoder> compute;
    id<MTLBlitCommandEncoder> blit;
    NSMutableArray *kernels; /* names, for messages */
}
@end
@implementation IngotCommand
- (void)dealloc {
    [compute endEncoding];
    [blit endEncoding];
    [compute release];
    [blit release];
    [buffer release];
    [kernels release];
    [super dealloc];
}
- (void)endEncoding {
    [compute endEncoding];
    [blit endEncoding];
    [compute release];
    [blit release];
    compute = nil;
    blit = nil;
}
@end

static void *queue_make(void *device, char **message) {
    id<MTLCommandQueue> queue = nil;
    GUARDED(message, {
        MTLCommandQueueDescriptor *descriptor = [[[MTLCommandQueueDescriptor alloc] init] autorelease];
        id<MTLLogState> state = log_state_of((id<MTLDevice>)device);
        if (state) {
            [descriptor setLogState:state];
        }
        queue = [(id<MTLDevice>)device newCommandQueueWithDescriptor:descriptor];
        if (!queue) {
            say(message, @"Metal has no further command queue");
        }
    })
    return queue;
}

static void *command_make(void *queue, char **message) {
    IngotCommand *command = nil;
    GUARDED(message, {
        MTLCommandBufferDescriptor *descriptor = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
        [descriptor setErrorOptions:MTLCommandBufferErrorOptionEncoderExecutionStatus];
        id<MTLCommandBuffer> buffer = [(id<MTLCommandQueue>)queue commandBufferWithDescriptor:descriptor];
        if (!buffer) {
            say(message, @"Metal has no further command buffer");
        } else {
            command = [[IngotCommand alloc] init];
            command->buffer = [buffer retain];
            command->kernels = [[NSMutableArray alloc] init];
        }
    })
    return command;
}

static void *command_adopt(void *command_buffer, char **message) {
    IngotCommand *command = nil;
    GUARDED(message, {
        if (!command_buffer) {
            say(message, @"the other library has no command buffer");
        } else {
            command = [[IngotCommand alloc] init];
            command->buffer = [(id<MTLCommandBuffer>)command_buffer retain];
            command->kernels = [[NSMutableArray alloc] init];
        }
    })
    return command;
}

static bool command_end(void *object, char **message) {
    bool good = false;
    GUARDED(message, {
        [(IngotCommand *)object endEncoding];
        good = true;
    })
    return good;
}

static id<MTLComputeCommandEncoder> compute_encoder(IngotCommand *command) {
    if (!command->compute) {
        [command endEncoding];
        command->compute = [[command->buffer computeCommandEncoder] retain];
    }
    return command->compute;
}

static id<MTLBlitCommandEncoder> blit_encoder(IngotCommand *command) {
    if (!command->blit) {
        [command endEncoding];
        command->blit = [[command->buffer blitCommandEncoder] retain];
    }
    return command->blit;
}

static void bind_argument(id<MTLComputeCommandEncoder> encoder, const struct ig_metal_argument *argument, NSUInteger index) {
    if (argument->buffer) {
        [encoder setBuffer:(id<MTLBuffer>)argument->buffer offset:(NSUInteger)argument->offset atIndex:index];
    } else if (argument->bytes && argument->size <= IG_METAL_BYTES) {
        [encoder setBytes:argument->bytes length:argument->size atIndex:index];
    } else if (argument->bytes) {
        id<MTLBuffer> copy = [[encoder device] newBufferWithBytes:argument->bytes
                                                           length:argument->size
                                                          options:MTLResourceStorageModeShared];
        [encoder setBuffer:copy offset:0 atIndex:index];
        [copy release];
    }
}

static bool command_dispatch(void *object, const struct ig_metal_dispatch *dispatch, char **message) {
    bool good = false;
    GUARDED(message, {
        IngotCommand *command = object;
        id<MTLComputeCommandEncoder> encoder = compute_encoder(command);
        const MTLSize threads = {dispatch->threads[0], dispatch->threads[1], dispatch->threads[2]};
        const MTLSize group = {dispatch->group[0], dispatch->group[1], dispatch->group[2]};
        NSString *name = [NSString stringWithUTF8String:dispatch->name];
        [encoder pushDebugGroup:name];
        [encoder setComputePipelineState:(id<MTLComputePipelineState>)dispatch->pipeline];
        for (uint32_t i = 0; i < dispatch->argument_count; i++) {
            bind_argument(encoder, &dispatch->arguments[i], i);
        }
        for (uint32_t i = 0; i < dispatch->threadgroup_length_count; i++) {
            if (dispatch->threadgroup_lengths[i]) { /* Metal wants multiples of 16 */
                [encoder setThreadgroupMemoryLength:(dispatch->threadgroup_lengths[i] + 15u) / 16 * 16 atIndex:i];
            }
        }
        [encoder dispatchThreads:threads threadsPerThreadgroup:group];
        [encoder popDebugGroup];
        [command->kernels addObject:name];
        good = true;
    })
    return good;
}

static bool command_copy(void *object, void *source, uint64_t source_offset, void *destination,
                         uint64_t destination_offset, uint64_t length, char **message) {
    bool good = false;
    GUARDED(message, {
        [blit_encoder(object) copyFromBuffer:(id<MTLBuffer>)source
                                sourceOffset:(NSUInteger)source_offset
                                    toBuffer:(id<MTLBuffer>)destination
                           destinationOffset:(NSUInteger)destination_offset
                                        size:(NSUInteger)length];
        good = true;
    })
    return good;
}

static bool command_fill(void *object, void *buffer, uint64_t offset, uint64_t length, uint8_t value, char **message) {
    bool good = false;
    GUARDED(message, {
        [blit_encoder(object) fillBuffer:(id<MTLBuffer>)buffer
                                   range:NSMakeRange((NSUInteger)offset, (NSUInteger)length)
                                   value:value];
        good = true;
    })
    return good;
}

static bool command_signal(void *object, void *event, uint64_t value, char **message) {
    bool good = false;
    GUARDED(message, {
        IngotCommand *command = object;
        [command endEncoding];
        [command->buffer encodeSignalEvent:(id<MTLEvent>)event value:value];
        good = true;
    })
    return good;
}

static bool command_wait_for(void *object, void *event, uint64_t value, char **message) {
    bool good = false;
    GUARDED(message, {
        IngotCommand *command = object;
        [command endEncoding];
        [command->buffer encodeWaitForEvent:(id<MTLEvent>)event value:value];
        good = true;
    })
    return good;
}

static bool command_commit(void *object, char **message) {
    bool good = false;
    GUARDED(message, {
        IngotCommand *command = object;
        [command endEncoding];
        [command->buffer commit];
        good = true;
    })
    return good;
}

static void command_wait(void *object) {
    GUARDED(NULL, { [((IngotCommand *)object)->buffer waitUntilCompleted]; })
}

/* GPU times are those of the clock that does not count sleep on a Mac. */
static double monotonic(double time) {
#ifdef __APPLE__
    return time + 1e-9 * ((double)clock_gettime_nsec_np(CLOCK_MONOTONIC) - (double)clock_gettime_nsec_np(CLOCK_UPTIME_RAW));
#else
    return time;
#endif
}

static enum ig_metal_outcome outcome_of(NSError *error) {
    if (![[error domain] isEqualToString:MTLCommandBufferErrorDomain]) {
        return IG_METAL_FAULT;
    }
    switch ([error code]) {
    case MTLCommandBufferErrorTimeout:
        return IG_METAL_TIMEOUT;
    case MTLCommandBufferErrorOutOfMemory:
        return IG_METAL_NO_MEMORY;
    case MTLCommandBufferErrorAccessRevoked:
    case MTLCommandBufferErrorNotPermitted:
    case MTLCommandBufferErrorDeviceRemoved:
        return IG_METAL_LOST;
    default:
        return IG_METAL_FAULT;
    }
}

/* The kernels that ran in the command buffer, each once: one of them failed. */
static NSString *names_of(IngotCommand *command) {
    NSMutableArray *names = [NSMutableArray array];
    for (NSString *name in command->kernels) {
        if (![names containsObject:name] && [names count] < 8) {
            [names addObject:[NSString stringWithFormat:@"\"%@\"", name]];
        }
    }
    return [names componentsJoinedByString:@", "];
}

static enum ig_metal_outcome command_outcome(void *object, double *end, char **message) {
    enum ig_metal_outcome outcome = IG_METAL_LOST;
    GUARDED(message, {
        IngotCommand *command = object;
        const MTLCommandBufferStatus status = [command->buffer status];
        outcome = status == MTLCommandBufferStatusCompleted ? IG_METAL_DONE
                  : status == MTLCommandBufferStatusError   ? outcome_of([command->buffer error])
                                                            : IG_METAL_RUNNING;
        *end = monotonic([command->buffer GPUEndTime]);
        if (status == MTLCommandBufferStatusError) {
            NSString *names = names_of(command);
            say(message, [NSString stringWithFormat:@"%@%@ failed: %@",
                                                    [command->kernels count] == 1 ? @"kernel " : @"one of the kernels ",
                                                    names, [[command->buffer error] localizedDescription]]);
        }
    })
    return outcome;
}

static void *event_make(void *device, char **message) {
    id<MTLEvent> event = nil;
    GUARDED(message, {
        event = [(id<MTLDevice>)device newEvent];
        if (!event) {
            say(message, @"Metal has no further event");
        }
    })
    return event;
}

const struct ig_metal_bridge *ig_metal_bridge_table(void) {
    static struct ig_metal_bridge bridge = {
        .version = IG_METAL_BRIDGE_VERSION,
        .device_count = device_count,
        .device_open = device_open,
        .release = release,
        .set_log_function = set_log_function,
        .library_from_source = library_from_source,
        .library_from_data = library_from_data,
        .library_list = library_list,
        .pipeline_make = pipeline_make,
        .buffer_make = buffer_make,
        .buffer_wrap = buffer_wrap,
        .buffer_adopt = buffer_adopt,
        .buffer_contents = buffer_contents,
        .buffer_address = buffer_address,
        .queue_make = queue_make,
        .command_make = command_make,
        .command_adopt = command_adopt,
        .command_end = command_end,
        .command_dispatch = command_dispatch,
        .command_copy = command_copy,
        .command_fill = command_fill,
        .command_signal = command_signal,
        .command_wait_for = command_wait_for,
        .command_commit = command_commit,
        .command_wait = command_wait,
        .command_outcome = command_outcome,
        .event_make = event_make,
    };
    bridge.page_size = (uint64_t)sysconf(_SC_PAGESIZE);
    return &bridge;
}
