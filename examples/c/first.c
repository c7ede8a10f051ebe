/* A kernel in a C program: compile, launch, look at the result.
 *
 * Built by `make`; outside of ingot's own build:
 *   cc first.c $(pkg-config --cflags --libs ingot) -o first */
#include <stdio.h>

#include <ingot/ingot.h>

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void squares(device float *x, uint i [[thread_position_in_grid]]) {\n"
    "    x[i] = float(i) * float(i);\n"
    "}\n";

static int fail(const char *step) {
    fprintf(stderr, "%s: %s\n", step, ingot_error_message());
    return 1;
}

int main(void) {
    ingot_device *device;
    ingot_library *library;
    ingot_kernel *kernel;
    ingot_buffer *buffer;
    ingot_stream *stream;
    enum { COUNT = 10 };

    if (ingot_device_open("cpu", NULL, &device)) {
        return fail("device");
    }
    if (ingot_library_create_from_source(device, &(ingot_source_desc){.source = source},
                                         &library)) {
        return fail("library");
    }
    if (ingot_kernel_create(library, &(ingot_kernel_desc){.name = "squares"}, &kernel)) {
        return fail("kernel");
    }
    if (ingot_buffer_create(device, COUNT * sizeof(float), &buffer)) {
        return fail("buffer");
    }
    if (ingot_stream_create(device, &stream)) {
        return fail("stream");
    }

    ingot_arg argument = {.buffer = buffer};
    ingot_dispatch_desc dispatch = {
        .kernel = kernel, .threads = {COUNT, 1, 1}, .args = &argument, .arg_count = 1};
    if (ingot_stream_dispatch(stream, &dispatch) || ingot_stream_wait(stream)) {
        return fail("dispatch");
    }

    const float *x = ingot_buffer_contents(buffer);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        printf("%g ", (double)x[i]);
        wrong += x[i] != (float)(i * i);
    }
    printf("\n");

    ingot_stream_release(stream);
    ingot_buffer_release(buffer);
    ingot_kernel_release(kernel);
    ingot_library_release(library);
    ingot_device_release(device);
    return wrong != 0;
}
