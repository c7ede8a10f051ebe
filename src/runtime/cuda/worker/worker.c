/*
 * ingot-cuda-worker: makes the CUDA calls of one device for a process that cannot make them itself
 * (runtime/cuda/remote.h). libingot starts it, with a socket as file 3 and shared memory as file 4.
 * It ends when that process does, or closes the socket.
 *
 * What it is sent is trusted to mean well; sizes and handles are checked all the same.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cuda/remote.h"

enum { LOG_ROOM = 16 << 10, LOOKS_FOR_NS = 20000, FAILED = 1, USAGE = 2 };

enum kind { NOTHING, MODULE, FUNCTION, STREAM, EVENT };

/* The handle of objects[i] is i + 1. */
struct object {
    enum kind kind;
    cu_result late;  /* of a stream: what work without an answer came to */
    uint64_t module; /* of a function */
    void *value;
};

static const struct cuda_driver *driver;
static cu_device device;
static struct object *objects;
static size_t object_count, object_room;
static char *segment;

/* ---- objects ---- */

static cu_result add_object(enum kind kind, void *value, uint64_t *handle) {
    size_t at = 0;
    while (at < object_count && objects[at].kind != NOTHING) {
        at++;
    }
    if (at == object_room) {
        size_t room = object_room ? 2 * object_room : 64;
        struct object *more = room <= UINT32_MAX ? realloc(objects, room * sizeof *more) : NULL;
        if (!more) {
            return CU_OUT_OF_MEMORY;
        }
        objects = more;
        object_room = room;
    }
    objects[at] = (struct object){.kind = kind, .value = value};
    object_count = at < object_count ? object_count : at + 1;
    *handle = at + 1;
    return CU_SUCCESS;
}

static struct object *find_object(enum kind kind, uint64_t handle) {
    if (!handle || handle > object_count || objects[handle - 1].kind != kind) {
        return NULL;
    }
    return &objects[handle - 1];
}

/* ---- code ---- */

static cu_result load_module(const struct cuda_request *request, const void *image, char *log,
                             struct cuda_answer *answer) {
    int options[] = {CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_SIZE};
    size_t room = request->values[0] < LOG_ROOM ? request->values[0] : LOG_ROOM;
    void *values[] = {log, (void *)(uintptr_t)room};
    cu_module module = NULL;
    log[0] = 0;
    cu_result result = driver->module_load(&module, image, room ? 2 : 0, options, values);
    if (result == CU_SUCCESS) {
        result = add_object(MODULE, module, &answer->values[0]);
        if (result != CU_SUCCESS) {
            driver->module_unload(module);
        }
    } else if (room) {
        answer->size = (uint32_t)strnlen(log, room - 1);
    }
    return result;
}

static cu_result find_function(uint64_t module, const char *name, struct cuda_answer *answer) {
    cu_function function = NULL;
    cu_result result = driver->module_function(&function, objects[module - 1].value, name);
    if (result == CU_SUCCESS) {
        result = add_object(FUNCTION, function, &answer->values[0]);
    }
    if (result == CU_SUCCESS) {
        objects[answer->values[0] - 1].module = module;
    }
    return result;
}

static cu_result unload_module(uint64_t module) {
    objects[module - 1].kind = NOTHING;
    for (size_t i = 0; i < object_count; i++) {
        if (objects[i].kind == FUNCTION && objects[i].module == module) {
            objects[i].kind = NOTHING;
        }
    }
    return driver->module_unload(objects[module - 1].value);
}

static cu_result find_global(const struct object *module, const char *name,
                             struct cuda_answer *answer) {
    cu_pointer pointer = 0;
    size_t bytes = 0;
    cu_result result = driver->module_global(&pointer, &bytes, module->value, name);
    answer->values[0] = pointer;
    answer->values[1] = bytes;
    return result;
}

static cu_result module_call(const struct cuda_request *request, const char *bytes, char *text,
                             struct cuda_answer *answer) {
    if (request->call == CUDA_CALL_MODULE_LOAD) {
        return load_module(request, bytes, text, answer);
    }
    const struct object *module = find_object(MODULE, request->values[0]);
    if (!module) {
        return CU_INVALID_HANDLE;
    }
    if (request->call == CUDA_CALL_MODULE_FUNCTION) {
        return find_function(request->values[0], bytes, answer);
    }
    if (request->call == CUDA_CALL_MODULE_GLOBAL) {
        return find_global(module, bytes, answer);
    }
    return unload_module(request->values[0]);
}

static cu_result function_call(const struct cuda_request *request, struct cuda_answer *answer) {
    const struct object *function = find_object(FUNCTION, request->values[0]);
    int attribute = (int)request->values[1], value = 0;
    if (!function) {
        return CU_INVALID_HANDLE;
    }
    if (request->call == CUDA_CALL_FUNCTION_SET) {
        return driver->function_set(function->value, attribute, (int)request->values[2]);
    }
    cu_result result = driver->function_get(&value, attribute, function->value);
    answer->values[0] = (uint64_t)value;
    return result;
}

/* ---- the GPU and its memory ---- */

static cu_result open_context(void) {
    cu_context context = NULL;
    cu_result result = driver->primary_retain(&context, device);
    return result == CU_SUCCESS ? driver->context_set(context) : result;
}

static cu_result device_call(const struct cuda_request *request, char *text,
                             struct cuda_answer *answer) {
    size_t bytes = 0;
    int value = 0;
    cu_result result;
    switch (request->call) {
    case CUDA_CALL_DEVICE_NAME: {
        uint64_t room = request->values[0] < LOG_ROOM ? request->values[0] : LOG_ROOM;
        result = room ? driver->device_name(text, (int)room, device) : CU_INVALID_VALUE;
        answer->size = result == CU_SUCCESS ? (uint32_t)strnlen(text, room - 1) : 0;
        return result;
    }
    case CUDA_CALL_DEVICE_MEMORY:
        result = driver->device_memory(&bytes, device);
        answer->values[0] = bytes;
        return result;
    case CUDA_CALL_DEVICE_ATTRIBUTE:
        result = driver->device_attribute(&value, (int)request->values[0], device);
        answer->values[0] = (uint64_t)value;
        return result;
    default:
        return open_context();
    }
}

static cu_result memory_call(const struct cuda_request *request, struct cuda_answer *answer) {
    size_t left = 0, total = 0;
    cu_pointer pointer = 0;
    cu_result result;
    switch (request->call) {
    case CUDA_CALL_MEMORY_INFO:
        result = driver->memory_info(&left, &total);
        answer->values[0] = left;
        answer->values[1] = total;
        return result;
    case CUDA_CALL_MEMORY_ALLOCATE:
        result = driver->memory_allocate(&pointer, request->values[0]);
        answer->values[0] = pointer;
        return result;
    default:
        return driver->memory_free(request->values[0]);
    }
}

/* ---- streams ---- */

static cu_result take_late(struct object *stream) {
    cu_result late = stream->late;
    stream->late = CU_SUCCESS;
    return late;
}

/* Through the segment. The driver reads ordinary memory before it returns, as the segment is. */
static cu_result transfer(const struct cuda_request *request, struct object *stream) {
    uint64_t at = request->values[1], size = request->values[2], place = request->values[3];
    cu_result late = take_late(stream);
    if (late != CU_SUCCESS) {
        return late;
    }
    if (place > CUDA_SEGMENT_BYTES || size > CUDA_SEGMENT_BYTES - place) {
        return CU_INVALID_VALUE;
    }
    if (request->call == CUDA_CALL_UPLOAD) {
        return driver->memory_upload(at, segment + place, size, stream->value);
    }
    cu_result result = driver->memory_download(segment + place, at, size, stream->value);
    return result == CU_SUCCESS ? driver->stream_synchronize(stream->value) : result;
}

/* Most work is done soon: to look again here is quicker than to be asked again. */
static cu_result query_stream(cu_stream stream) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        cu_result result = driver->stream_query(stream);
        clock_gettime(CLOCK_MONOTONIC, &now);
        long passed = (now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec;
        if (result != CU_NOT_READY || passed > LOOKS_FOR_NS) {
            return result;
        }
    }
}

static cu_result stream_call(const struct cuda_request *request, struct cuda_answer *answer) {
    if (request->call == CUDA_CALL_STREAM_CREATE) {
        cu_stream made = NULL;
        cu_result result = driver->stream_create(&made, (unsigned)request->values[0]);
        return result == CU_SUCCESS ? add_object(STREAM, made, &answer->values[0]) : result;
    }
    struct object *stream = find_object(STREAM, request->values[0]);
    if (!stream) {
        return CU_INVALID_HANDLE;
    }
    cu_result late;
    switch (request->call) {
    case CUDA_CALL_STREAM_QUERY:
        late = take_late(stream);
        return late != CU_SUCCESS ? late : query_stream(stream->value);
    case CUDA_CALL_STREAM_SYNCHRONIZE:
        late = take_late(stream);
        return late != CU_SUCCESS ? late : driver->stream_synchronize(stream->value);
    case CUDA_CALL_STREAM_DESTROY:
        stream->kind = NOTHING;
        return driver->stream_destroy(stream->value);
    default:
        return transfer(request, stream);
    }
}

static cu_result event_call(const struct cuda_request *request, struct cuda_answer *answer) {
    if (request->call == CUDA_CALL_EVENT_CREATE) {
        cu_event made = NULL;
        cu_result result = driver->event_create(&made, (unsigned)request->values[0]);
        return result == CU_SUCCESS ? add_object(EVENT, made, &answer->values[0]) : result;
    }
    struct object *event = find_object(EVENT, request->values[0]);
    if (!event) {
        return CU_INVALID_HANDLE;
    }
    if (request->call == CUDA_CALL_EVENT_QUERY) {
        return driver->event_query(event->value);
    }
    if (request->call == CUDA_CALL_EVENT_DESTROY) {
        event->kind = NOTHING;
        return driver->event_destroy(event->value);
    }
    const struct object *end = find_object(EVENT, request->values[1]);
    float milliseconds = 0;
    if (!end) {
        return CU_INVALID_HANDLE;
    }
    cu_result result = driver->event_elapsed(&milliseconds, event->value, end->value);
    memcpy(&answer->values[0], &milliseconds, sizeof milliseconds);
    return result;
}

/* ---- work without an answer ---- */

static cu_result launch(const struct cuda_request *request, cu_stream stream, void *block) {
    static const cu_launch_attribute early = {.id = CU_LAUNCH_PROGRAMMATIC_SERIALIZATION,
                                              .value.allowed = 1};
    const struct object *function = find_object(FUNCTION, request->values[1]);
    struct cuda_launch_call call;
    void *parameters[] = {block};
    memcpy(&call, &request->values[2], sizeof call);
    if (!function) {
        return CU_INVALID_HANDLE;
    }
    if (!call.starts_early || !driver->launch_with) {
        return driver->launch(function->value, call.grid[0], call.grid[1], call.grid[2],
                              call.block[0], call.block[1], call.block[2], call.shared, stream,
                              parameters, NULL);
    }
    const cu_launch_config config = {.grid = {call.grid[0], call.grid[1], call.grid[2]},
                                     .block = {call.block[0], call.block[1], call.block[2]},
                                     .shared = call.shared,
                                     .stream = stream,
                                     .attributes = &early,
                                     .attribute_count = 1};
    return driver->launch_with(&config, function->value, parameters, NULL);
}

static cu_result event_work(const struct cuda_request *request, cu_stream stream) {
    const struct object *event = find_object(EVENT, request->values[1]);
    if (!event) {
        return CU_INVALID_HANDLE;
    }
    return request->call == CUDA_CALL_RECORD
               ? driver->event_record(event->value, stream)
               : driver->stream_wait_event(stream, event->value, (unsigned)request->values[2]);
}

static void queue_work(const struct cuda_request *request, void *bytes) {
    const uint64_t *values = request->values;
    struct object *stream = find_object(STREAM, values[0]);
    cu_result result;
    if (!stream) {
        return;
    }
    switch (request->call) {
    case CUDA_CALL_LAUNCH:
        result = launch(request, stream->value, bytes);
        break;
    case CUDA_CALL_FILL:
        result = driver->memory_fill(values[1], (unsigned char)values[2], values[3], stream->value);
        break;
    case CUDA_CALL_COPY:
        result = driver->memory_copy(values[1], values[2], values[3], stream->value);
        break;
    case CUDA_CALL_WRITE:
        result = driver->memory_upload(values[1], bytes, request->size, stream->value);
        break;
    default:
        result = event_work(request, stream->value);
    }
    if (stream->late == CU_SUCCESS) {
        stream->late = result;
    }
}

/* ---- messages ---- */

static cu_result hello(const struct cuda_request *request, char *text, struct cuda_answer *answer) {
    driver = cuda_driver();
    if (!driver) {
        snprintf(text, LOG_ROOM, "%s", cuda_driver_problem());
        answer->size = (uint32_t)strnlen(text, 500);
        return CU_DEVICE_UNAVAILABLE;
    }
    answer->values[0] = CUDA_WORKER_MESSAGES;
    cu_result result = driver->device_get(&device, (int)request->values[0]);
    if (result != CU_SUCCESS) {
        answer->size = (uint32_t)snprintf(text, LOG_ROOM, "the driver knows no GPU %d: error %d",
                                          (int)request->values[0], result);
    }
    return result;
}

static cu_result make_call(const struct cuda_request *request, const char *bytes, char *text,
                           struct cuda_answer *answer) {
    uint32_t call = request->call;
    if (call == CUDA_CALL_HELLO) {
        return hello(request, text, answer);
    }
    if (call <= CUDA_CALL_CONTEXT) {
        return device_call(request, text, answer);
    }
    if (call <= CUDA_CALL_MODULE_GLOBAL) {
        return module_call(request, bytes, text, answer);
    }
    if (call <= CUDA_CALL_FUNCTION_SET) {
        return function_call(request, answer);
    }
    if (call <= CUDA_CALL_MEMORY_FREE) {
        return memory_call(request, answer);
    }
    if (call <= CUDA_CALL_STREAM_SYNCHRONIZE) {
        return stream_call(request, answer);
    }
    return event_call(request, answer);
}

/* The start of `parent`'s end is the end of this process, also in the middle of a call. */
static void *watch_parent(void *parent) {
    while (getppid() == (pid_t)(intptr_t)parent) {
        usleep(200000);
    }
    _exit(FAILED);
}

static bool send_answer(const struct cuda_answer *answer, const char *text, char *both) {
    memcpy(both, answer, sizeof *answer);
    memcpy(both + sizeof *answer, text, answer->size);
    return cuda_send_all(CUDA_WORKER_SOCKET, both, sizeof *answer + answer->size, 0);
}

/* Until the other side is gone; false when it said what makes no sense. */
static bool serve(void) {
    static char text[LOG_ROOM], both[LOG_ROOM + sizeof(struct cuda_answer)];
    struct cuda_request request;
    char *bytes = NULL;
    size_t room = 0;
    while (cuda_receive_all(CUDA_WORKER_SOCKET, &request, sizeof request)) {
        if (request.call >= CUDA_CALL_COUNT || request.size > CUDA_MOST_BYTES ||
            (!driver && request.call != CUDA_CALL_HELLO)) {
            return false;
        }
        if (request.size + (size_t)1 > room) {
            free(bytes);
            room = request.size + (size_t)4096;
            bytes = malloc(room);
        }
        if (!bytes || !cuda_receive_all(CUDA_WORKER_SOCKET, bytes, request.size)) {
            return bytes != NULL;
        }
        bytes[request.size] = 0; /* texts end, whatever was sent */
        struct cuda_answer answer = {0};
        if (request.call >= CUDA_CALL_FIRST_QUEUED) {
            queue_work(&request, bytes);
        } else {
            answer.result = make_call(&request, bytes, text, &answer);
        }
        if (request.call < CUDA_CALL_FIRST_QUEUED && !send_answer(&answer, text, both)) {
            return true;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    char *end = NULL;
    long parent = argc == 2 ? strtol(argv[1], &end, 10) : 0;
    if (parent <= 0 || *end) {
        fprintf(stderr, "ingot-cuda-worker is started by libingot, for CUDA devices that run in a "
                        "process of their own\n");
        return USAGE;
    }
#ifdef SYS_close_range /* whatever else of the other process's files was left open */
    syscall(SYS_close_range, CUDA_WORKER_SEGMENT + 1, ~0u, 0);
#endif
    pthread_t watcher;
    segment =
        mmap(NULL, CUDA_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, CUDA_WORKER_SEGMENT, 0);
    if (segment == MAP_FAILED ||
        pthread_create(&watcher, NULL, watch_parent, (void *)(intptr_t)parent) != 0) {
        fprintf(stderr, "ingot-cuda-worker: no memory, or not the files that libingot gives it\n");
        return FAILED;
    }
    /* Without the driver's own end, which would wait for kernels. */
    _exit(serve() ? 0 : FAILED);
}
