/* The driver's functions as calls to another process; see remote.h. */
#include <pthread.h>
#include <string.h>

#include "runtime/cuda/remote.h"

enum { NUMBER_AT = 32, MOST_DEPTH = 8, ORDINAL_BITS = 6, WRITTEN_AT_ONCE = 64 << 10 };
#define HANDLE_MARK ((uint64_t)1 << 63) /* no address of this process is like that */

/* A handle is the connection's number and the object's. */
static void *handle_of(uint32_t number, uint64_t object) {
    return (void *)(uintptr_t)(HANDLE_MARK | (uint64_t)number << NUMBER_AT | (uint32_t)object);
}

static uint32_t number_of(const void *handle) {
    return (uint32_t)((uintptr_t)handle >> NUMBER_AT) & 0xffffff;
}

static uint64_t object_of(const void *handle) {
    return (uint32_t)(uintptr_t)handle;
}

static uint32_t number_of_device(cu_device device) {
    return (uint32_t)device >> ORDINAL_BITS;
}

/* A call with an answer of numbers only. */
static cu_result ask(uint32_t number, const struct cuda_request *request, const void *bytes,
                     struct cuda_answer *answer) {
    struct cuda_answer own;
    return cuda_remote_call(number, request, bytes, answer ? answer : &own, NULL, 0);
}

static cu_result ask_of(uint32_t call, const void *handle) {
    const struct cuda_request request = {.call = call, .values = {object_of(handle)}};
    return ask(number_of(handle), &request, NULL, NULL);
}

/* ---- contexts: who has which is known on this side ---- */

static _Thread_local cu_context current[MOST_DEPTH];
static _Thread_local int depth;

static uint32_t current_number(void) {
    return depth ? number_of(current[depth - 1]) : 0;
}

static cu_result context_current(cu_context *context) {
    *context = depth ? current[depth - 1] : NULL;
    return CU_SUCCESS;
}

static cu_result context_set(cu_context context) {
    depth = depth ? depth : 1;
    current[depth - 1] = context;
    return CU_SUCCESS;
}

static cu_result context_push(cu_context context) {
    if (depth == MOST_DEPTH) {
        return CU_OUT_OF_MEMORY;
    }
    current[depth++] = context;
    return CU_SUCCESS;
}

static cu_result context_pop(cu_context *context) {
    if (!depth) {
        return CU_INVALID_CONTEXT;
    }
    *context = current[--depth];
    return CU_SUCCESS;
}

static cu_result capture_mode(int *mode) {
    (void)mode; /* nothing is captured */
    return CU_SUCCESS;
}

static cu_result primary_retain(cu_context *context, cu_device device) {
    const struct cuda_request request = {.call = CUDA_CALL_CONTEXT};
    cu_result result = ask(number_of_device(device), &request, NULL, NULL);
    if (result == CU_SUCCESS) {
        *context = handle_of(number_of_device(device), 0);
    }
    return result;
}

static cu_result primary_release(cu_device device) {
    cuda_remote_close(device);
    return CU_SUCCESS;
}

static cu_result primary_reset(cu_device device) {
    cuda_remote_end(device);
    return CU_SUCCESS;
}

/* ---- the GPU ---- */

static cu_result device_get(cu_device *device, int ordinal) {
    *device = ordinal;
    return CU_SUCCESS;
}

static cu_result device_name(char *name, int size, cu_device device) {
    const struct cuda_request request = {.call = CUDA_CALL_DEVICE_NAME, .values = {(uint64_t)size}};
    struct cuda_answer answer;
    return cuda_remote_call(number_of_device(device), &request, NULL, &answer, name, (size_t)size);
}

static cu_result device_memory(size_t *bytes, cu_device device) {
    const struct cuda_request request = {.call = CUDA_CALL_DEVICE_MEMORY};
    struct cuda_answer answer;
    cu_result result = ask(number_of_device(device), &request, NULL, &answer);
    if (result == CU_SUCCESS) {
        *bytes = answer.values[0];
    }
    return result;
}

static cu_result device_attribute(int *value, int attribute, cu_device device) {
    const struct cuda_request request = {.call = CUDA_CALL_DEVICE_ATTRIBUTE,
                                         .values = {(uint64_t)attribute}};
    struct cuda_answer answer;
    cu_result result = ask(number_of_device(device), &request, NULL, &answer);
    if (result == CU_SUCCESS) {
        *value = (int)answer.values[0];
    }
    return result;
}

/* ---- code ---- */

/* values[count] is the size of the image (driver.h). */
static cu_result module_load(cu_module *module, const void *image, unsigned count, int *options,
                             void **values) {
    char *log = NULL;
    size_t room = 0, size = (uintptr_t)values[count];
    for (unsigned i = 0; i < count; i++) {
        log = options[i] == CU_JIT_ERROR_LOG ? values[i] : log;
        room = options[i] == CU_JIT_ERROR_LOG_SIZE ? (uintptr_t)values[i] : room;
    }
    if (size > CUDA_MOST_BYTES) {
        return CU_INVALID_IMAGE;
    }
    uint32_t number = current_number();
    const struct cuda_request request = {
        .call = CUDA_CALL_MODULE_LOAD, .size = (uint32_t)size, .values = {log ? room : 0}};
    struct cuda_answer answer;
    cu_result result = cuda_remote_call(number, &request, image, &answer, log, log ? room : 0);
    if (result == CU_SUCCESS) {
        *module = handle_of(number, answer.values[0]);
    }
    return result;
}

static cu_result module_unload(cu_module module) {
    return ask_of(CUDA_CALL_MODULE_UNLOAD, module);
}

static cu_result ask_module(uint32_t call, cu_module module, const char *name,
                            struct cuda_answer *answer) {
    const struct cuda_request request = {
        .call = call, .size = (uint32_t)strlen(name) + 1, .values = {object_of(module)}};
    return ask(number_of(module), &request, name, answer);
}

static cu_result module_function(cu_function *function, cu_module module, const char *name) {
    struct cuda_answer answer;
    cu_result result = ask_module(CUDA_CALL_MODULE_FUNCTION, module, name, &answer);
    if (result == CU_SUCCESS) {
        *function = handle_of(number_of(module), answer.values[0]);
    }
    return result;
}

static cu_result module_global(cu_pointer *pointer, size_t *bytes, cu_module module,
                               const char *name) {
    struct cuda_answer answer;
    cu_result result = ask_module(CUDA_CALL_MODULE_GLOBAL, module, name, &answer);
    if (result == CU_SUCCESS) {
        *pointer = answer.values[0];
        *bytes = answer.values[1];
    }
    return result;
}

static cu_result function_get(int *value, int attribute, cu_function function) {
    const struct cuda_request request = {.call = CUDA_CALL_FUNCTION_GET,
                                         .values = {object_of(function), (uint64_t)attribute}};
    struct cuda_answer answer;
    cu_result result = ask(number_of(function), &request, NULL, &answer);
    if (result == CU_SUCCESS) {
        *value = (int)answer.values[0];
    }
    return result;
}

static cu_result function_set(cu_function function, int attribute, int value) {
    const struct cuda_request request = {
        .call = CUDA_CALL_FUNCTION_SET,
        .values = {object_of(function), (uint64_t)attribute, (uint64_t)value}};
    return ask(number_of(function), &request, NULL, NULL);
}

/* parameters[1] points to the size of the block (driver.h). */
static cu_result queue_launch(const struct cuda_launch_call *launch, cu_stream stream,
                              cu_function function, void **parameters) {
    uint32_t size = 0;
    memcpy(&size, parameters[1], sizeof size);
    struct cuda_request request = {
        .call = CUDA_CALL_LAUNCH, .size = size, .values = {object_of(stream), object_of(function)}};
    memcpy(&request.values[2], launch, sizeof *launch);
    return cuda_remote_call(number_of(stream), &request, parameters[0], NULL, NULL, 0);
}

/* The parameters are those of cuLaunchKernel, whose place in the table it takes. */
static cu_result launch(cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        cu_stream stream, void **parameters, void **extra) {
    (void)extra;
    const struct cuda_launch_call call = {
        {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, 0};
    return queue_launch(&call, stream, function, parameters);
}

static cu_result launch_with(const cu_launch_config *config, cu_function function,
                             void **parameters, void **extra) {
    (void)extra;
    struct cuda_launch_call call = {.shared = config->shared, .starts_early = 0};
    memcpy(call.grid, config->grid, sizeof call.grid);
    memcpy(call.block, config->block, sizeof call.block);
    for (unsigned i = 0; i < config->attribute_count; i++) {
        if (config->attributes[i].id != CU_LAUNCH_PROGRAMMATIC_SERIALIZATION) {
            return CU_INVALID_VALUE;
        }
        call.starts_early = (uint32_t)config->attributes[i].value.allowed;
    }
    return queue_launch(&call, config->stream, function, parameters);
}

/* ---- memory ---- */

static cu_result memory_info(size_t *free_bytes, size_t *total) {
    const struct cuda_request request = {.call = CUDA_CALL_MEMORY_INFO};
    struct cuda_answer answer;
    cu_result result = ask(current_number(), &request, NULL, &answer);
    if (result == CU_SUCCESS) {
        *free_bytes = answer.values[0];
        *total = answer.values[1];
    }
    return result;
}

static cu_result memory_allocate(cu_pointer *pointer, size_t bytes) {
    const struct cuda_request request = {.call = CUDA_CALL_MEMORY_ALLOCATE, .values = {bytes}};
    struct cuda_answer answer;
    cu_result result = ask(current_number(), &request, NULL, &answer);
    if (result == CU_SUCCESS) {
        *pointer = answer.values[0];
    }
    return result;
}

static cu_result memory_free(cu_pointer pointer) {
    const struct cuda_request request = {.call = CUDA_CALL_MEMORY_FREE, .values = {pointer}};
    return ask(current_number(), &request, NULL, NULL);
}

static cu_result memory_fill(cu_pointer pointer, unsigned char value, size_t bytes,
                             cu_stream stream) {
    const struct cuda_request request = {.call = CUDA_CALL_FILL,
                                         .values = {object_of(stream), pointer, value, bytes}};
    return cuda_remote_call(number_of(stream), &request, NULL, NULL, NULL, 0);
}

static cu_result memory_copy(cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream) {
    const struct cuda_request request = {.call = CUDA_CALL_COPY,
                                         .values = {object_of(stream), to, from, bytes}};
    return cuda_remote_call(number_of(stream), &request, NULL, NULL, NULL, 0);
}

/* Through the halves of the segment in turn: one is copied here while the other is over there. */
static cu_result transfer(uint32_t call, cu_stream stream, cu_pointer device, char *host,
                          size_t bytes) {
    const size_t half = CUDA_SEGMENT_BYTES / 2;
    const uint32_t number = number_of(stream);
    char *segment = cuda_remote_lock(number);
    cu_result result = segment ? CU_SUCCESS : CU_WORKER_GONE;
    size_t sent = 0, answered = 0;
    while (answered < bytes && result != CU_WORKER_GONE) {
        for (; sent < bytes && sent - answered < 2 * half && result == CU_SUCCESS; sent += half) {
            size_t part = bytes - sent < half ? bytes - sent : half, place = sent % (2 * half);
            const struct cuda_request request = {
                .call = call, .values = {object_of(stream), device + sent, part, place}};
            if (call == CUDA_CALL_UPLOAD) {
                memcpy(segment + place, host + sent, part);
            }
            result = cuda_remote_send(number, &request, NULL);
        }
        if (answered >= sent || result == CU_WORKER_GONE) {
            break;
        }
        size_t part = bytes - answered < half ? bytes - answered : half;
        struct cuda_answer answer;
        cu_result one = cuda_remote_receive(number, &answer, NULL, 0);
        if (one == CU_SUCCESS && result == CU_SUCCESS && call == CUDA_CALL_DOWNLOAD) {
            memcpy(host + answered, segment + answered % (2 * half), part);
        }
        result = result == CU_SUCCESS || one == CU_WORKER_GONE ? one : result;
        answered += half;
    }
    if (segment) {
        cuda_remote_unlock(number);
    }
    return result;
}

static cu_result memory_upload(cu_pointer to, const void *from, size_t bytes, cu_stream stream) {
    if (bytes > WRITTEN_AT_ONCE) {
        return transfer(CUDA_CALL_UPLOAD, stream, to, (char *)(uintptr_t)from, bytes);
    }
    const struct cuda_request request = {
        .call = CUDA_CALL_WRITE, .size = (uint32_t)bytes, .values = {object_of(stream), to}};
    return cuda_remote_call(number_of(stream), &request, from, NULL, NULL, 0);
}

/* The bytes are there when it returns. */
static cu_result memory_download(void *to, cu_pointer from, size_t bytes, cu_stream stream) {
    return transfer(CUDA_CALL_DOWNLOAD, stream, from, to, bytes);
}

/* No memory of this process is known over there. */
static cu_result pointer_attribute(void *value, int attribute, cu_pointer at) {
    (void)value;
    (void)attribute;
    (void)at;
    return CU_INVALID_VALUE;
}

static cu_result pointer_attributes(unsigned count, int *attributes, void **values, cu_pointer at) {
    (void)count;
    (void)attributes;
    (void)values;
    (void)at;
    return CU_INVALID_VALUE;
}

/* ---- streams and events ---- */

static cu_result stream_create(cu_stream *stream, unsigned flags) {
    const struct cuda_request request = {.call = CUDA_CALL_STREAM_CREATE, .values = {flags}};
    struct cuda_answer answer;
    cu_result result = ask(current_number(), &request, NULL, &answer);
    if (result == CU_SUCCESS) {
        *stream = handle_of(current_number(), answer.values[0]);
    }
    return result;
}

static cu_result stream_destroy(cu_stream stream) {
    return ask_of(CUDA_CALL_STREAM_DESTROY, stream);
}

static cu_result stream_query(cu_stream stream) {
    return ask_of(CUDA_CALL_STREAM_QUERY, stream);
}

static cu_result stream_synchronize(cu_stream stream) {
    return ask_of(CUDA_CALL_STREAM_SYNCHRONIZE, stream);
}

static cu_result stream_wait_event(cu_stream stream, cu_event event, unsigned flags) {
    const struct cuda_request request = {.call = CUDA_CALL_WAIT_EVENT,
                                         .values = {object_of(stream), object_of(event), flags}};
    return cuda_remote_call(number_of(stream), &request, NULL, NULL, NULL, 0);
}

static cu_result stream_capturing(cu_stream stream, int *status) {
    (void)stream;
    *status = CU_CAPTURE_STATUS_NONE;
    return CU_SUCCESS;
}

static cu_result event_create(cu_event *event, unsigned flags) {
    const struct cuda_request request = {.call = CUDA_CALL_EVENT_CREATE, .values = {flags}};
    struct cuda_answer answer;
    cu_result result = ask(current_number(), &request, NULL, &answer);
    if (result == CU_SUCCESS) {
        *event = handle_of(current_number(), answer.values[0]);
    }
    return result;
}

static cu_result event_destroy(cu_event event) {
    return ask_of(CUDA_CALL_EVENT_DESTROY, event);
}

static cu_result event_record(cu_event event, cu_stream stream) {
    const struct cuda_request request = {.call = CUDA_CALL_RECORD,
                                         .values = {object_of(stream), object_of(event)}};
    return cuda_remote_call(number_of(stream), &request, NULL, NULL, NULL, 0);
}

static cu_result event_query(cu_event event) {
    return ask_of(CUDA_CALL_EVENT_QUERY, event);
}

static cu_result event_elapsed(float *milliseconds, cu_event start, cu_event end) {
    const struct cuda_request request = {.call = CUDA_CALL_EVENT_ELAPSED,
                                         .values = {object_of(start), object_of(end)}};
    struct cuda_answer answer;
    cu_result result = ask(number_of(start), &request, NULL, &answer);
    if (result == CU_SUCCESS) {
        memcpy(milliseconds, &answer.values[0], sizeof *milliseconds);
    }
    return result;
}

/* ---- the table ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct cuda_driver remote = {
    .device_get = device_get,
    .device_name = device_name,
    .device_memory = device_memory,
    .device_attribute = device_attribute,
    .primary_retain = primary_retain,
    .primary_release = primary_release,
    .primary_reset = primary_reset,
    .context_current = context_current,
    .context_set = context_set,
    .context_push = context_push,
    .context_pop = context_pop,
    .capture_mode = capture_mode,
    .module_load = module_load,
    .module_unload = module_unload,
    .module_function = module_function,
    .module_global = module_global,
    .function_get = function_get,
    .function_set = function_set,
    .launch = launch,
    .launch_with = launch_with,
    .memory_info = memory_info,
    .memory_allocate = memory_allocate,
    .memory_free = memory_free,
    .memory_fill = memory_fill,
    .memory_copy = memory_copy,
    .memory_upload = memory_upload,
    .memory_download = memory_download,
    .pointer_attribute = pointer_attribute,
    .pointer_attributes = pointer_attributes,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_query = stream_query,
    .stream_synchronize = stream_synchronize,
    .stream_wait_event = stream_wait_event,
    .stream_capturing = stream_capturing,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_elapsed = event_elapsed,
};

/* What needs no GPU is asked of the driver here: it is the same one. */
static void complete(void) {
    const struct cuda_driver *local = cuda_driver();
    if (!local) {
        return;
    }
    remote.init = local->init;
    remote.version = local->version;
    remote.error_name = local->error_name;
    remote.error_string = local->error_string;
    remote.device_count = local->device_count;
    if (!local->launch_with) {
        remote.launch_with = NULL;
    }
}

const struct cuda_driver *cuda_remote_driver(void) {
    pthread_once(&once, complete);
    return &remote;
}
