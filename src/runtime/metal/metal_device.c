/* The Metal device: Apple's GPUs, through bridge.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/metal/metal.h"

ingot_status metal_fail(struct ig_error *error, ingot_status status, char *message,
                        const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    ig_fail(error, status, "%s: %s", text, message ? message : "Metal gave no reason");
    free(message);
    return status;
}

static size_t device_count(void) {
    const struct ig_metal_bridge *bridge = metal_bridge(NULL);
    return bridge ? bridge->device_count() : 0;
}

static void device_absence(struct ig_error *error) {
    const char *reason;
    if (metal_bridge(&reason)) {
        reason = "Metal has no device here";
    }
    ig_fail(error, INGOT_NOT_FOUND, "there is no device \"metal\": %s", reason);
}

static void fill_info(const struct ig_metal_device_info *metal, size_t index,
                      ingot_device_info *info) {
    enum { APPLE_CORES = 10, THREADS_PER_CORE = 1024 }; /* Metal does not tell how many there are */
    *info = (ingot_device_info){
        .simd_width = 32,
        .max_threads_per_threadgroup = metal->max_threads_per_threadgroup,
        .max_threadgroup_memory = metal->max_threadgroup_memory,
        .compute_units = APPLE_CORES,
        .max_buffer_length = metal->max_buffer_length,
        .min_offset_alignment = 1,
        .unified_memory = true,
        .threads_per_compute_unit = THREADS_PER_CORE,
    };
    snprintf(info->name, sizeof info->name, index ? "metal:%zu" : "metal", index);
    snprintf(info->description, sizeof info->description, "%.100s%s%s", metal->name,
             *metal->family ? ", " : "", metal->family);
    snprintf(info->target, sizeof info->target, "metal");
}

static ingot_status open_handle(size_t index, struct metal_device *device, struct ig_error *error) {
    char *message = NULL;
    device->bridge = metal_bridge(NULL);
    device->handle = device->bridge->device_open(index, &device->metal, &message);
    if (!device->handle) {
        return metal_fail(error, INGOT_NOT_FOUND, message, "device \"metal:%zu\"", index);
    }
    free(message);
    if (!device->metal.has_unified_memory) {
        device->bridge->release(device->handle);
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "device \"metal:%zu\" (%s) has memory of its own; only Apple's GPUs, which "
                       "share the host's, are supported",
                       index, device->metal.name);
    }
    fill_info(&device->metal, index, &device->base.info);
    return INGOT_OK;
}

static ingot_status device_describe(size_t index, ingot_device_info *info, struct ig_error *error) {
    struct metal_device device = {0};
    ingot_status status = open_handle(index, &device, error);
    if (status == INGOT_OK) {
        *info = device.base.info;
        device.bridge->release(device.handle);
    }
    return status;
}

static void device_close(ingot_device *base) {
    struct metal_device *device = (struct metal_device *)base;
    metal_libraries_free(device);
    device->bridge->release(device->handle);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

static const struct ig_device_ops metal_ops = {
    .close = device_close,
    .compile = metal_compile,
    .code_find = metal_code_find,
    .code_load = metal_code_load,
    .code_unload = metal_code_unload,
    .code_threads = metal_code_threads,
    .buffer_allocate = metal_buffer_allocate,
    .buffer_free = metal_buffer_free,
    .buffer_wrap = metal_buffer_wrap,
    .buffer_unwrap = metal_buffer_unwrap,
    .stream_open = metal_stream_open,
    .stream_wrap = metal_stream_wrap,
    .stream_close = metal_stream_close,
    .stream_dispatch = metal_stream_dispatch,
    .stream_copy = metal_stream_copy,
    .stream_fill = metal_stream_fill,
    .stream_record = metal_stream_record,
    .stream_wait_event = metal_stream_wait_event,
    .stream_wait = metal_stream_wait,
    .event_open = metal_event_open,
    .event_close = metal_event_close,
    .event_wait = metal_event_wait,
    .event_done = metal_event_done,
    .event_elapsed = metal_event_elapsed,
    .event_time = metal_event_time,
};

static ingot_status apply_desc(struct metal_device *device, const ingot_device_desc *desc,
                               struct ig_error *error) {
    ingot_device_info *info = &device->base.info;
    if (desc->threadgroup_memory > device->metal.max_threadgroup_memory) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "threadgroup_memory is %u bytes, but device \"%s\" has %u",
                       desc->threadgroup_memory, info->name, device->metal.max_threadgroup_memory);
    }
    if (desc->threadgroup_memory) {
        info->max_threadgroup_memory = desc->threadgroup_memory;
    }
    device->base.capabilities = (struct ig_capabilities){
        .max_threadgroup_memory = info->max_threadgroup_memory,
        .batch_scratch_bytes = 64u << 20,
        .has_concurrent_simdgroups = true,
        .has_fast_reciprocal_root = true,
    };
    device->base.time_limit_seconds = -1; /* Metal ends what takes too long by a limit of its own */
    return INGOT_OK;
}

static ingot_status device_open(size_t index, const ingot_device_desc *desc, ingot_device **result,
                                struct ig_error *error) {
    struct metal_device *device = calloc(1, sizeof *device);
    if (!device) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a device object");
    }
    ingot_status status = open_handle(index, device, error);
    if (status == INGOT_OK) {
        status = apply_desc(device, desc, error);
        if (status != INGOT_OK) {
            device->bridge->release(device->handle);
        }
    }
    if (status != INGOT_OK) {
        free(device);
        return status;
    }
    pthread_mutex_init(&device->lock, NULL);
    atomic_init(&device->base.references, 1);
    device->base.ops = &metal_ops;
    *result = &device->base;
    return INGOT_OK;
}

const struct ig_device_kind ig_metal_device_kind = {
    .name = "metal",
    .abi_version = IG_METAL_ABI_VERSION,
    .count = device_count,
    .absence = device_absence,
    .describe = device_describe,
    .open = device_open,
};
