/* The CUDA device: opening, limits; its table of operations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/cuda.h"

#define DEFAULT_GROUP_MEMORY (32u << 10)
#define DEFAULT_TIME_LIMIT   60.0
#define LOWEST_CAPABILITY    80
#define SIMD_WIDTH           32u

static size_t device_count(void) {
    const struct cuda_driver *driver = cuda_driver();
    int count = 0;
    if (!driver || driver->device_count(&count) != CU_SUCCESS || count < 0)
        return 0;
    return (size_t)count;
}

static void device_absence(struct ig_error *error) {
    ig_fail(error, INGOT_NOT_FOUND, "there is no CUDA device: %s", cuda_driver_problem());
}

static int attribute(const struct cuda_driver *driver, cu_device device, int which) {
    int value = 0;
    return driver->device_attribute(&value, which, device) == CU_SUCCESS && value > 0 ? value : 0;
}

static ingot_status fill_info(const struct cuda_driver *driver, size_t index, cu_device *handle,
                              int *capability, ingot_device_info *info, struct ig_error *error) {
    char text[CUDA_RESULT_TEXT], model[64] = "";
    size_t memory = 0;
    memset(info, 0, sizeof *info);
    cu_result result = driver->device_get(handle, (int)index);
    if (result == CU_SUCCESS)
        result = driver->device_name(model, (int)sizeof model, *handle);
    if (result == CU_SUCCESS)
        result = driver->device_memory(&memory, *handle);
    if (result != CU_SUCCESS)
        return ig_fail(error, INGOT_UNSUPPORTED, "device \"cuda:%zu\" cannot be used: %s", index,
                       cuda_result_text(result, text));
    model[sizeof model - 1] = 0;
    int major = attribute(driver, *handle, CU_ATTRIBUTE_MAJOR);
    *capability = 10 * major + attribute(driver, *handle, CU_ATTRIBUTE_MINOR);
    snprintf(info->name, sizeof info->name, "cuda:%zu", index);
    info->compute_units = (uint32_t)attribute(driver, *handle, CU_ATTRIBUTE_MULTIPROCESSORS);
    snprintf(info->description, sizeof info->description,
             "%s, %u multiprocessors, compute capability %d.%d", model, info->compute_units, major,
             *capability % 10);
    snprintf(info->target, sizeof info->target, "%s", cuda_code_level(*capability));
    info->simd_width = SIMD_WIDTH;
    info->max_threads_per_threadgroup =
        (uint32_t)attribute(driver, *handle, CU_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    info->max_threadgroup_memory = DEFAULT_GROUP_MEMORY;
    info->max_buffer_length = memory;
    info->min_offset_alignment = 1;
    info->unified_memory = false;
    return INGOT_OK;
}

static ingot_status device_describe(size_t index, ingot_device_info *info, struct ig_error *error) {
    cu_device handle;
    int capability;
    return fill_info(cuda_driver(), index, &handle, &capability, info, error);
}

static bool is_set(const char *variable) {
    const char *value = getenv(variable);
    return value && *value && strcmp(value, "0") != 0;
}

static ingot_status apply_desc(struct cuda_device *device, const ingot_device_desc *desc,
                               struct ig_error *error) {
    if (device->capability < LOWEST_CAPABILITY)
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "device \"%s\" (%s) has compute capability %d.%d; at least %d.%d is needed",
                       device->base.info.name, device->base.info.description,
                       device->capability / 10, device->capability % 10, LOWEST_CAPABILITY / 10,
                       LOWEST_CAPABILITY % 10);
    uint32_t most = (uint32_t)attribute(device->driver, device->handle, CU_ATTRIBUTE_SHARED_OPTIN);
    if (desc->threadgroup_memory > most)
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "%u bytes of threadgroup memory were asked for; the limit of device \"%s\" "
                       "is %u",
                       desc->threadgroup_memory, device->base.info.name, most);
    device->base.most_threadgroup_memory = most;
    if (desc->threadgroup_memory)
        device->base.info.max_threadgroup_memory = desc->threadgroup_memory;
    double limit = desc->time_limit_seconds;
    device->base.time_limit_seconds = limit == 0 ? DEFAULT_TIME_LIMIT : limit;
    const int axes[3] = {CU_ATTRIBUTE_MAX_GRID_X, CU_ATTRIBUTE_MAX_GRID_Y, CU_ATTRIBUTE_MAX_GRID_Z};
    for (int axis = 0; axis < 3; axis++)
        device->max_grid[axis] = (uint32_t)attribute(device->driver, device->handle, axes[axis]);
    device->lenient_barriers = ig_lenient_barriers(desc);
    device->is_blocking = is_set("INGOT_CUDA_BLOCKING");
    device->is_serial = is_set("INGOT_CUDA_SERIAL");
    return INGOT_OK;
}

/* The primary context and a stream in it. */
static cu_result take_context(struct cuda_device *device) {
    const struct cuda_driver *driver = device->driver;
    cu_context popped;
    cu_result result = driver->primary_retain(&device->context, device->handle);
    if (result != CU_SUCCESS)
        return result;
    result = driver->context_push(device->context);
    if (result == CU_SUCCESS) {
        result = driver->stream_create(&device->own_stream, CU_STREAM_NON_BLOCKING);
        driver->context_pop(&popped);
    }
    if (result != CU_SUCCESS)
        driver->primary_release(device->handle);
    return result;
}

/* A context that has failed is thrown away, with whatever else used it: all of that is lost. Not
 * every driver then gives the process another one. */
static ingot_status open_context(struct cuda_device *device, struct ig_error *error) {
    static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
    cu_result result = CU_ILLEGAL_ADDRESS;
    pthread_mutex_lock(&opening);
    if (!cuda_context_failed(device->ordinal))
        result = take_context(device);
    if (cuda_result_is_fatal(result)) {
        cuda_context_replaced(device->ordinal);
        result = device->driver->primary_reset(device->handle);
        if (result == CU_SUCCESS)
            result = take_context(device);
    }
    device->generation = cuda_generation(device->ordinal);
    pthread_mutex_unlock(&opening);
    if (result == CU_SUCCESS)
        return INGOT_OK;
    char text[CUDA_RESULT_TEXT];
    bool is_lost = cuda_result_is_fatal(result);
    return ig_fail(error,
                   result == CU_OUT_OF_MEMORY ? INGOT_OUT_OF_MEMORY
                   : is_lost                  ? INGOT_DEVICE_LOST
                                              : INGOT_UNSUPPORTED,
                   "no context on device \"%s\": %s%s", device->base.info.name,
                   cuda_result_text(result, text),
                   is_lost ? "; after a fault the driver gives a process no other one: the program "
                             "has to be started again"
                           : "");
}

static void device_close(ingot_device *base) {
    struct cuda_device *device = (struct cuda_device *)base;
    struct cuda_scope scope;
    if (cuda_enter_relaxed(device, &scope, NULL) == INGOT_OK) {
        device->driver->stream_destroy(device->own_stream);
        cuda_leave(device, &scope);
    }
    cuda_forget_current(device);
    /* The driver would wait for a kernel that does not end. */
    if (device->lost_status != INGOT_TIMEOUT)
        device->driver->primary_release(device->handle);
    pthread_mutex_destroy(&device->lock);
    free(device->lost_reason);
    free(device);
}

static const struct ig_device_ops cuda_ops = {
    .close = device_close,
    .code_find = cuda_code_find,
    .code_load = cuda_code_load,
    .code_unload = cuda_code_unload,
    .code_threads = cuda_code_threads,
    .buffer_allocate = cuda_buffer_allocate,
    .buffer_free = cuda_buffer_free,
    .buffer_wrap = cuda_buffer_wrap,
    .buffer_unwrap = cuda_buffer_unwrap,
    .buffer_write = cuda_buffer_write,
    .stream_open = cuda_stream_open,
    .stream_wrap = cuda_stream_wrap,
    .stream_is_captured = cuda_stream_is_recorded,
    .stream_close = cuda_stream_close,
    .stream_dispatch = cuda_stream_dispatch,
    .stream_copy = cuda_stream_copy,
    .stream_fill = cuda_stream_fill,
    .stream_upload = cuda_stream_upload,
    .stream_download = cuda_stream_download,
    .stream_record = cuda_stream_record,
    .stream_wait_event = cuda_stream_wait_event,
    .stream_wait = cuda_stream_wait,
    .event_open = cuda_event_open,
    .event_close = cuda_event_close,
    .event_wait = cuda_event_wait,
    .event_done = cuda_event_done,
    .event_elapsed = cuda_event_elapsed,
};

static ingot_status device_open(size_t index, const ingot_device_desc *desc, ingot_device **result,
                                struct ig_error *error) {
    struct cuda_device *device = calloc(1, sizeof *device);
    if (!device)
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a device object");
    device->driver = cuda_driver();
    device->ordinal = (int)index;
    ingot_status status = fill_info(device->driver, index, &device->handle, &device->capability,
                                    &device->base.info, error);
    if (status == INGOT_OK)
        status = apply_desc(device, desc, error);
    if (status == INGOT_OK)
        status = open_context(device, error);
    if (status != INGOT_OK) {
        free(device);
        return status;
    }
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&device->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    atomic_init(&device->base.references, 1);
    device->base.ops = &cuda_ops;
    *result = &device->base;
    return INGOT_OK;
}

const struct ig_device_kind ig_cuda_device_kind = {
    .name = "cuda",
    .count = device_count,
    .absence = device_absence,
    .describe = device_describe,
    .open = device_open,
};
