/* Runs the kernels of counters.metal, with 1,024 threads each, as a program of a user would: what
 * `ingot profile -- program counters.metal` and INGOT_TRACE are tried on. */
#include <stdio.h>
#include <string.h>

#include "ingot/ingot.h"

static const struct {
    const char *name;
    uint32_t group;
    int launches;
} kernels[] = {
    {"coalesced", 256, 3}, {"strided", 256, 1},   {"halves", 256, 1},
    {"banks", 32, 1},      {"divergent", 256, 1}, {"atomics", 256, 1},
    {"barriers", 128, 1},  {"spills", 256, 1},    {"products", 256, 1},
};
enum { THREADS = 1024, BYTES = 32 * 4 * THREADS };

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, ingot_error_message());
    return 1;
}

static int launch(ingot_library *library, ingot_stream *stream, ingot_buffer *const *buffers,
                  size_t i) {
    ingot_kernel *kernel = NULL;
    const ingot_kernel_desc desc = {.name = kernels[i].name};
    if (ingot_kernel_create(library, &desc, &kernel)) {
        return fail(kernels[i].name);
    }
    const ingot_arg args[] = {{.buffer = buffers[0]}, {.buffer = buffers[1]}};
    const ingot_dispatch_desc dispatch = {.kernel = kernel,
                                          .threads = {THREADS, 1, 1},
                                          .group = {kernels[i].group, 1, 1},
                                          .args = args,
                                          .arg_count = 2};
    int failed = 0;
    for (int n = 0; n < kernels[i].launches && !failed; n++) {
        failed = ingot_stream_dispatch(stream, &dispatch) ? fail(kernels[i].name) : 0;
    }
    ingot_kernel_release(kernel);
    return failed;
}

int main(int argc, char **argv) {
    ingot_device *device = NULL;
    ingot_library *library = NULL;
    ingot_stream *streams[2] = {NULL, NULL};
    ingot_buffer *buffers[2] = {NULL, NULL};
    if (argc != 2 || ingot_device_open("cpu", NULL, &device) ||
        ingot_library_create_from_source_file(device, argv[1], NULL, &library)) {
        return fail(argc == 2 ? argv[1] : "usage: program counters.metal");
    }
    for (int i = 0; i < 2; i++) {
        if (ingot_stream_create(device, &streams[i]) ||
            ingot_buffer_create(device, BYTES, &buffers[i])) {
            return fail("a stream or a buffer");
        }
    }
    ingot_stream_fill(streams[0], buffers[0], 0, BYTES, 0);
    ingot_stream_copy(streams[0], buffers[0], 0, buffers[1], 0, BYTES);
    int failed = ingot_stream_wait(streams[0]) != INGOT_OK;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels && !failed; i++) {
        failed = launch(library, streams[i % 2], buffers, i) || ingot_stream_wait(streams[i % 2]);
    }
    for (int i = 0; i < 2; i++) {
        ingot_stream_release(streams[i]);
        ingot_buffer_release(buffers[i]);
    }
    ingot_library_release(library);
    ingot_device_release(device);
    printf("done\n");
    return failed;
}
