/* The CUDA device: opening, limits; its table of operations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cuda_abi.h"
#include "base/environment.h"
#include "runtime/cuda/cuda.h"
#include "runtime/cuda/remote.h"

#define DEFAULT_GROUP_MEMORY (32u << 10)
#define DEFAULT_TIME_LIMIT   60.0
#define LOWEST_CAPABILITY    80
#define SIMD_WIDTH           32u
#define THREADS_TO_FILL      16384u /* a multiprocessor has up to 2048 at a time */

static size_t device_count(void) {
    const struct cuda_driver *driver = cuda_driver();
    int count = 0;
    if (!driver || driver->device_count(&count) != CU_SUCCESS || count < 0) {
        return 0;
    }
    return (size_t)count;
}

static void device_absence(struct ig_error *error) {
    ig_fail(error, INGOT_NOT_FOUND, "there is no CUDA device: %s", cuda_driver_problem());
}

static int attribute(const struct cuda_driver *driver, cu_device device, int which) {
    int value = 0;
    return driver->device_attribute(&value, which, device) == CU_SUCCESS && value > 0 ? value : 0;
}

/* `ordinal` is the GPU's as the driver counts. */
static ingot_status fill_info(const struct cuda_driver *driver, int ordinal, size_t index,
                              cu_device *handle, int *capability, ingot_device_info *info,
                              struct ig_error *error) {
    char text[CUDA_RESULT_TEXT], model[64] = "";
    size_t memory = 0;
    memset(info, 0, sizeof *info);
    cu_result result = driver->device_get(handle, ordinal);
    if (result == CU_SUCCESS) {
        result = driver->device_name(model, (int)sizeof model, *handle);
    }
    if (result == CU_SUCCESS) {
        result = driver->device_memory(&memory, *handle);
    }
    if (result != CU_SUCCESS) {
        return ig_fail(error, INGOT_UNSUPPORTED, "device \"cuda:%zu\" cannot be used: %s", index,
                       cuda_result_text(result, text));
    }
    model[sizeof model - 1] = 0;
    int major = attribute(driver, *handle, CU_ATTRIBUTE_MAJOR);
    *capability = 10 * major + attribute(driver, *handle, CU_ATTRIBUTE_MINOR);
    snprintf(info->name, sizeof info->name, "cuda:%zu", index);
    info->compute_units = (uint32_t)attribute(driver, *handle, CU_ATTRIBUTE_MULTIPROCESSORS);
    snprintf(info->description, sizeof info->description,
             "%s, %u multiprocessors, compute capability %d.%d", model, info->compute_units, major,
             *capability % 10);
    snprintf(info->target, sizeof info->target, "%s", cuda_code_level(*capability));
    info->threads_per_compute_unit = THREADS_TO_FILL;
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
    return fill_info(cuda_driver(), (int)index, index, &handle, &capability, info, error);
}

static bool is_set(const char *variable) {
    const char *value = ig_environment(variable);
    return value && *value && strcmp(value, "0") != 0;
}

/* May vectors lie at any multiple of their elements? */
static bool has_loose_alignment(const ingot_device_desc *desc) {
    const char *wish = ig_environment("INGOT_ALIGNMENT");
    return desc->loose_alignment || (wish && strcmp(wish, "loose") == 0);
}

static ingot_status apply_desc(struct cuda_device *device, const ingot_device_desc *desc,
                               struct ig_error *error) {
    if (device->capability < LOWEST_CAPABILITY) {
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "device \"%s\" (%s) has compute capability %d.%d; at least %d.%d is needed",
                       device->base.info.name, device->base.info.description,
                       device->capability / 10, device->capability % 10, LOWEST_CAPABILITY / 10,
                       LOWEST_CAPABILITY % 10);
    }
    uint32_t most = (uint32_t)attribute(device->driver, device->handle, CU_ATTRIBUTE_SHARED_OPTIN);
    if (desc->threadgroup_memory > most) {
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "%u bytes of threadgroup memory were asked for; the limit of device \"%s\" "
                       "is %u",
                       desc->threadgroup_memory, device->base.info.name, most);
    }
    device->base.capabilities = (struct ig_capabilities){
        .max_threadgroup_memory = most,
        .batch_scratch_bytes = (uint64_t)128 << 20,
        .has_concurrent_simdgroups = true,
        .has_fast_reciprocal_root = true,
    };
    if (desc->threadgroup_memory) {
        device->base.info.max_threadgroup_memory = desc->threadgroup_memory;
    }
    double limit = desc->time_limit_seconds;
    device->base.time_limit_seconds = limit == 0 ? DEFAULT_TIME_LIMIT : limit;
    const int axes[3] = {CU_ATTRIBUTE_MAX_GRID_X, CU_ATTRIBUTE_MAX_GRID_Y, CU_ATTRIBUTE_MAX_GRID_Z};
    for (int axis = 0; axis < 3; axis++) {
        device->max_grid[axis] = (uint32_t)attribute(device->driver, device->handle, axes[axis]);
    }
    device->lenient_barriers = ig_lenient_barriers(desc);
    device->base.loose_alignment = has_loose_alignment(desc);
    device->is_blocking = is_set("INGOT_CUDA_BLOCKING");
    device->is_serial = is_set("INGOT_CUDA_SERIAL");
    return INGOT_OK;
}

/* The primary context and a stream in it. */
static cu_result take_context(struct cuda_device *device) {
    const struct cuda_driver *driver = device->driver;
    cu_context popped;
    cu_result result = driver->primary_retain(&device->context, device->handle);
    if (result != CU_SUCCESS) {
        return result;
    }
    result = driver->context_push(device->context);
    if (result == CU_SUCCESS) {
        result = driver->stream_create(&device->own_stream, CU_STREAM_NON_BLOCKING);
        driver->context_pop(&popped);
    }
    if (result != CU_SUCCESS) {
        driver->primary_release(device->handle);
    }
    return result;
}

/* A context that has failed is thrown away, with whatever else used it: all of that is lost. CUDA's
 * driver then gives the process no other one. */
static ingot_status open_context(struct cuda_device *device, struct ig_error *error) {
    static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
    cu_result result = CU_ILLEGAL_ADDRESS;
    pthread_mutex_lock(&opening);
    if (device->is_remote || !cuda_context_failed(device->ordinal)) {
        result = take_context(device);
    }
    if (cuda_result_is_fatal(result) && !device->is_remote) {
        cuda_context_replaced(device->ordinal);
        result = device->driver->primary_reset(device->handle);
        if (result == CU_SUCCESS) {
            result = take_context(device);
        }
    }
    device->generation = cuda_generation(device->ordinal);
    pthread_mutex_unlock(&opening);
    if (result == CU_SUCCESS) {
        return INGOT_OK;
    }
    char text[CUDA_RESULT_TEXT], ending[CUDA_ENDING_TEXT];
    if (result == CU_WORKER_GONE) {
        cuda_remote_ending(device->handle, ending);
    }
    return ig_fail(error,
                   result == CU_OUT_OF_MEMORY     ? INGOT_OUT_OF_MEMORY
                   : cuda_result_is_fatal(result) ? INGOT_DEVICE_LOST
                                                  : INGOT_UNSUPPORTED,
                   "no context on device \"%s\": %s", device->base.info.name,
                   result == CU_WORKER_GONE ? ending : cuda_result_text(result, text));
}

static void device_close(ingot_device *base) {
    struct cuda_device *device = (struct cuda_device *)base;
    struct cuda_scope scope;
    if (cuda_enter_relaxed(device, &scope, NULL) == INGOT_OK) {
        device->driver->stream_destroy(device->own_stream);
        if (device->clock) {
            device->driver->event_destroy(device->clock);
        }
        cuda_leave(device, &scope);
    }
    cuda_forget_current(device);
    /* The driver would wait for a kernel that does not end. */
    if (device->lost_status != INGOT_TIMEOUT || device->is_remote) {
        device->driver->primary_release(device->handle);
    }
    pthread_mutex_destroy(&device->lock);
    free(device->lost_reason);
    free(device->remote_reason);
    free(device);
}

static const struct ig_device_ops cuda_ops = {
    .close = device_close,
    .code_find = cuda_code_find,
    .code_load = cuda_code_load,
    .code_unload = cuda_code_unload,
    .code_threads = cuda_code_threads,
    .buffer_allocate = cuda_buffer_allocate,
    .buffer_allocate_shared = cuda_buffer_allocate_shared,
    .buffer_free = cuda_buffer_free,
    .buffer_wrap = cuda_buffer_wrap,
    .buffer_wrap_host = cuda_buffer_wrap_host,
    .buffer_reach = cuda_buffer_reach,
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
    .event_time = cuda_event_seconds,
};

/* ---- opening ---- */

enum where { HERE_IF_POSSIBLE, ALWAYS_HERE, ELSEWHERE };

static enum where wanted_place(const ingot_device_desc *desc) {
    const char *value = ig_environment("INGOT_CUDA_WORKER");
    if (!value || !*value) {
        return desc->own_process ? ELSEWHERE : HERE_IF_POSSIBLE;
    }
    return is_set("INGOT_CUDA_WORKER") ? ELSEWHERE : ALWAYS_HERE;
}

/* With device->driver and `ordinal`, the GPU's for that. */
static ingot_status open_with_driver(struct cuda_device *device, int ordinal,
                                     const ingot_device_desc *desc, struct ig_error *error) {
    ingot_status status =
        fill_info(device->driver, ordinal, (size_t)device->ordinal, &device->handle,
                  &device->capability, &device->base.info, error);
    if (status == INGOT_OK) {
        status = apply_desc(device, desc, error);
    }
    if (status == INGOT_OK) {
        status = open_context(device, error);
    }
    return status;
}

/* In a process of its own. `refused`: why not here, or NULL. */
static ingot_status open_elsewhere(struct cuda_device *device, const char *refused,
                                   const ingot_device_desc *desc, struct ig_error *error) {
    struct ig_error own = {0};
    int handle = 0;
    ingot_status status = cuda_remote_start(device->ordinal, &handle, &own);
    if (status == INGOT_OK) {
        device->driver = cuda_remote_driver();
        device->is_remote = true;
        device->remote_reason = refused ? cuda_context_failure(device->ordinal) : NULL;
        if (refused && !device->remote_reason) {
            device->remote_reason = strdup(refused);
        }
        status = open_with_driver(device, handle, desc, &own);
        if (status != INGOT_OK) {
            cuda_remote_close(handle);
        }
    }
    if (status == INGOT_OK) {
        char *description = device->base.info.description;
        size_t used = strlen(description);
        snprintf(description + used, sizeof device->base.info.description - used,
                 ", in a process of its own");
    } else {
        status =
            ig_fail(error, refused ? INGOT_DEVICE_LOST : status, "%s%s%s", refused ? refused : "",
                    refused ? "; after a fault the driver gives a process no other one, and the "
                              "device cannot be opened in a process of its own: "
                            : "",
                    ig_error_text(&own));
    }
    ig_error_clear(&own);
    return status;
}

/* Here; after a fault, when the driver refuses that, in a process of its own, now and later. */
static ingot_status open_somewhere(struct cuda_device *device, const ingot_device_desc *desc,
                                   struct ig_error *error) {
    enum where where = wanted_place(desc);
    if (where == ELSEWHERE) {
        return open_elsewhere(device, NULL, desc, error);
    }
    struct ig_error own = {0};
    bool has_failed = cuda_context_failed(device->ordinal);
    ingot_status status = INGOT_DEVICE_LOST;
    if (where == HERE_IF_POSSIBLE && cuda_context_is_refused(device->ordinal)) {
        ig_fail(&own, status, "no context on device \"cuda:%d\" in this process", device->ordinal);
    } else {
        status = open_with_driver(device, device->ordinal, desc, &own);
    }
    if (status == INGOT_DEVICE_LOST || (status != INGOT_OK && has_failed)) {
        if (where == HERE_IF_POSSIBLE) {
            cuda_context_refused(device->ordinal);
            status = open_elsewhere(device, ig_error_text(&own), desc, error);
        } else {
            status = ig_fail(error, INGOT_DEVICE_LOST,
                             "%s; after a fault the driver gives a process no other one, and with "
                             "INGOT_CUDA_WORKER=0 the device gets no process of its own: the "
                             "program has to be started again",
                             ig_error_text(&own));
        }
    } else if (status != INGOT_OK) {
        ig_fail(error, status, "%s", ig_error_text(&own));
    }
    ig_error_clear(&own);
    return status;
}

static ingot_status device_open(size_t index, const ingot_device_desc *desc, ingot_device **result,
                                struct ig_error *error) {
    struct cuda_device *device = calloc(1, sizeof *device);
    if (!device) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a device object");
    }
    device->driver = cuda_driver();
    device->ordinal = (int)index;
    ingot_status status = open_somewhere(device, desc, error);
    if (status != INGOT_OK) {
        free(device->remote_reason);
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

/* A level holds for the one of which it is a card's own, too ("sm_90" for "sm_90a"). */
static bool level_holds(const char *level, const char *target) {
    const size_t length = strlen(level);
    return !strncmp(level, target, length) && (!target[length] || !strcmp(target + length, "a"));
}

const struct ig_device_kind ig_cuda_device_kind = {
    .name = "cuda",
    .abi_version = INGOT_CUDA_ABI_VERSION,
    .level_holds = level_holds,
    .count = device_count,
    .absence = device_absence,
    .describe = device_describe,
    .open = device_open,
};
