/*
 * The device back end: one kernel per function and form, compiled by ingot from source and
 * applied to the arguments.
 *
 * Evaluation is serialised: the device has its own threads.
 */
#include "accuracy.h"
#include "names.h"

#include <ingot/ingot.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernels' source; NAME_FORM for each function. */
#define UNARY(name, ...)                                                                           \
    "kernel void " #name "_precise(device const float *x, device const float *y,"                  \
    "  device float *out, uint i [[thread_position_in_grid]]) {"                                   \
    "  out[i] = precise::" #name "(x[i]); }\n"                                                     \
    "kernel void " #name "_fast(device const float *x, device const float *y,"                     \
    "  device float *out, uint i [[thread_position_in_grid]]) {"                                   \
    "  out[i] = fast::" #name "(x[i]); }\n"                                                        \
    "kernel void " #name "_half(device const float *x, device const float *y,"                     \
    "  device float *out, uint i [[thread_position_in_grid]]) {"                                   \
    "  out[i] = float(" #name "(half(x[i]))); }\n"
#define BINARY(name, ...)                                                                          \
    "kernel void " #name "_precise(device const float *x, device const float *y,"                  \
    "  device float *out, uint i [[thread_position_in_grid]]) {"                                   \
    "  out[i] = precise::" #name "(x[i], y[i]); }\n"                                               \
    "kernel void " #name "_fast(device const float *x, device const float *y,"                     \
    "  device float *out, uint i [[thread_position_in_grid]]) {"                                   \
    "  out[i] = fast::" #name "(x[i], y[i]); }\n"                                                  \
    "kernel void " #name "_half(device const float *x, device const float *y,"                     \
    "  device float *out, uint i [[thread_position_in_grid]]) {"                                   \
    "  out[i] = float(" #name "(half(x[i]), half(y[i]))); }\n"
const char accuracy_engine_source[] = "#include <metal_stdlib>\nusing namespace metal;\n" //
    ACCURACY_UNARY(UNARY) ACCURACY_BINARY(BINARY);

static struct {
    pthread_mutex_t lock;
    ingot_device *device;
    ingot_library *library;
    ingot_stream *stream;
    ingot_kernel *kernel; /* of the function and form evaluated last */
    char kernel_name[48];
} engine = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool failed(const char *what) {
    fprintf(stderr, "accuracy: %s: %s\n", what, ingot_error_message());
    return false;
}

bool accuracy_engine_start(const char *device, const char *cpu_level, const char *archive) {
    ingot_device_desc device_desc = INGOT_DEVICE_DESC_INIT;
    device_desc.cpu_level = cpu_level;
    if (ingot_device_open(device, &device_desc, &engine.device) != INGOT_OK) {
        return failed("opening the device");
    }
    ingot_source_desc source = INGOT_SOURCE_DESC_INIT;
    source.source = accuracy_engine_source;
    source.name = "accuracy.metal";
    if (archive) {
        if (ingot_library_create_from_archive(engine.device, archive, &engine.library) !=
            INGOT_OK) {
            return failed("loading the kernels");
        }
    } else if (ingot_library_create_from_source(engine.device, &source, &engine.library) !=
               INGOT_OK) {
        return failed("compiling the kernels");
    }
    if (ingot_stream_create(engine.device, &engine.stream) != INGOT_OK) {
        return failed("creating a stream");
    }
    return true;
}

static bool select_kernel(const accuracy_function *function, accuracy_form form) {
    static const char *const forms[FORM_COUNT] = {"precise", "fast", "half"};
    char name[sizeof engine.kernel_name];
    snprintf(name, sizeof name, "%s_%s", function->name, forms[form]);
    if (engine.kernel && strcmp(name, engine.kernel_name) == 0) {
        return true;
    }
    ingot_kernel_release(engine.kernel);
    engine.kernel = NULL;
    ingot_kernel_desc desc = INGOT_KERNEL_DESC_INIT;
    desc.name = name;
    if (ingot_kernel_create(engine.library, &desc, &engine.kernel) != INGOT_OK) {
        return failed(name);
    }
    memcpy(engine.kernel_name, name, sizeof name);
    return true;
}

static bool dispatch(ingot_buffer *const buffers[3], size_t count) {
    ingot_arg args[3] = {{.buffer = buffers[0]}, {.buffer = buffers[1]}, {.buffer = buffers[2]}};
    ingot_dispatch_desc desc = INGOT_DISPATCH_DESC_INIT;
    desc.kernel = engine.kernel;
    desc.threads[0] = (uint32_t)count;
    desc.args = args;
    desc.arg_count = 3;
    if (ingot_stream_dispatch(engine.stream, &desc) != INGOT_OK ||
        ingot_stream_wait(engine.stream) != INGOT_OK) {
        return failed(engine.kernel_name);
    }
    return true;
}

/* Through buffers of the device: x and y in, out back. */
static bool run(const float *x, const float *y, float *out, size_t count) {
    ingot_buffer *buffers[3] = {NULL, NULL, NULL};
    bool ok = true;
    for (int i = 0; i < 3 && ok; i++) {
        ok = ingot_buffer_create(engine.device, count * sizeof(float), &buffers[i]) == INGOT_OK;
    }
    if (!ok) {
        failed("creating a buffer");
    } else if (ingot_stream_upload(engine.stream, buffers[0], 0, x, count * sizeof(float)) ||
               ingot_stream_upload(engine.stream, buffers[1], 0, y, count * sizeof(float))) {
        ok = failed("copying to the device");
    } else if (!dispatch(buffers, count)) {
        ok = false;
    } else if (ingot_stream_download(engine.stream, buffers[2], 0, out, count * sizeof(float))) {
        ok = failed("copying from the device");
    }
    for (int i = 0; i < 3; i++) {
        ingot_buffer_release(buffers[i]);
    }
    return ok;
}

bool accuracy_engine_evaluate(const accuracy_function *function, accuracy_form form, const float *x,
                              const float *y, float *out, size_t count) {
    pthread_mutex_lock(&engine.lock);
    bool ok = select_kernel(function, form) && run(x, y, out, count);
    pthread_mutex_unlock(&engine.lock);
    return ok;
}

void accuracy_engine_stop(void) {
    ingot_kernel_release(engine.kernel);
    ingot_stream_release(engine.stream);
    ingot_library_release(engine.library);
    ingot_device_release(engine.device);
}
