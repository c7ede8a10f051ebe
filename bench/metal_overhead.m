/*
 * What Metal's API costs over libingot: the time of a dispatch with the same kernel and arguments, encoded and
 * committed in one command buffer, against ingot_stream_dispatch; and the round trip of an empty command buffer.
 * usage: metal_overhead [ROUNDS]     prints medians of the rounds
 */
#import <Metal/Metal.h>
#include <ingot/ingot.h>

enum { DISPATCHES = 500, MAX_ROUNDS = 1000 };

static const char *source = "kernel void one(device float *x [[buffer(0)]], constant float &a [[buffer(1)]],\n"
                            "                uint i [[thread_position_in_grid]]) { x[i] += a; }";

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *times, int count) {
    qsort(times, (size_t)count, sizeof *times, by_value);
    return times[count / 2] * 1e6;
}

static double now(void) {
    return (double)mach_absolute_time() * 1e-9;
}

static int direct(int rounds, double *times) {
    ingot_device *device = NULL;
    ingot_library *library = NULL;
    ingot_kernel *kernel = NULL;
    ingot_buffer *buffer = NULL;
    ingot_stream *stream = NULL;
    ingot_source_desc text = {.source = source};
    ingot_kernel_desc wanted = {.name = "one"};
    float a = 1;
    if (ingot_device_open(NULL, NULL, &device) || ingot_library_create_from_source(device, &text, &library) ||
        ingot_kernel_create(library, &wanted, &kernel) || ingot_buffer_create(device, 4096, &buffer) ||
        ingot_stream_create(device, &stream)) {
        fprintf(stderr, "%s\n", ingot_error_message());
        return 1;
    }
    ingot_arg args[2] = {{.buffer = buffer}, {.bytes = &a, .size = sizeof a}};
    ingot_dispatch_desc desc = {.kernel = kernel, .threads = {32, 1, 1}, .group = {32, 1, 1}, .args = args, .arg_count = 2};
    for (int round = 0; round < rounds; round++) {
        double start = now();
        for (int i = 0; i < DISPATCHES; i++) {
            ingot_stream_dispatch(stream, &desc);
        }
        ingot_stream_wait(stream);
        times[round] = (now() - start) / DISPATCHES;
    }
    ingot_stream_release(stream);
    ingot_buffer_release(buffer);
    ingot_kernel_release(kernel);
    ingot_library_release(library);
    ingot_device_release(device);
    return 0;
}

static int through_metal(int rounds, double *times, double *empty) {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:[NSString stringWithUTF8String:source] options:nil error:&error];
    id<MTLComputePipelineState> pipeline =
        library ? [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"one"] error:&error] : nil;
    if (!pipeline) {
        fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
        return 1;
    }
    id<MTLBuffer> buffer = [device newBufferWithLength:4096 options:0];
    id<MTLCommandQueue> queue = [device newCommandQueue];
    float a = 1;
    for (int round = 0; round < rounds; round++) {
        @autoreleasepool {
            double start = now();
            id<MTLCommandBuffer> commands = [queue commandBuffer];
            id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
            for (int i = 0; i < DISPATCHES; i++) {
                [encoder setComputePipelineState:pipeline];
                [encoder setBuffer:buffer offset:0 atIndex:0];
                [encoder setBytes:&a length:sizeof a atIndex:1];
                [encoder dispatchThreads:MTLSizeMake(32, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
            }
            [encoder endEncoding];
            [commands commit];
            [commands waitUntilCompleted];
            times[round] = (now() - start) / DISPATCHES;
        }
    }
    for (int round = 0; round < rounds; round++) {
        @autoreleasepool {
            double start = now();
            id<MTLCommandBuffer> commands = [queue commandBuffer];
            [commands commit];
            [commands waitUntilCompleted];
            empty[round] = now() - start;
        }
    }
    return 0;
}

int main(int count, char **arguments) {
    static double plain[MAX_ROUNDS], metal[MAX_ROUNDS], empty[MAX_ROUNDS];
    int rounds = count > 1 ? atoi(arguments[1]) : 200;
    if (rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "metal_overhead: %d rounds; 1 to %d are possible\n", rounds, MAX_ROUNDS);
        return 2;
    }
    @autoreleasepool {
        if (direct(rounds, plain) || through_metal(rounds, metal, empty)) {
            return 1;
        }
    }
    double by_libingot = median(plain, rounds), by_metal = median(metal, rounds);
    printf("a dispatch: libingot %.2f us, Metal's API %.2f us, over it %.2f us\n", by_libingot, by_metal,
           by_metal - by_libingot);
    printf("an empty command buffer, to and fro: %.2f us\n", median(empty, rounds));
    return 0;
}
