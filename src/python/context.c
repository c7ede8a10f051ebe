/*
 * The devices that Python's side works on, opened on first use; a stream per thread on the CPU, and
 * one for each stream of another library on GPUs.
 */
#include "python/context.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct native_stream { /* a stream of another library; never removed, so that readers need no lock
                        */
    struct native_stream *next;
    void *native;
    ingot_stream *stream;
};

struct cuda_context {
    atomic_bool is_open;
    ingot_device *device;
    ingot_ops *ops;
    _Atomic(struct native_stream *) streams;
};

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_open;
static pthread_key_t stream_key;
static ingot_device *cpu_device;
static ingot_ops *cpu_ops;
static struct cuda_context cuda[CONTEXT_CUDA_DEVICES];
static char sanitize[256]; /* "": as the environment says */
static void *(*cuda_scratch)(void *context, uint64_t bytes);

static void release_stream(void *stream) {
    ingot_stream_release(stream);
}

/* INGOT_THREADS, or as many as torch uses, or one per core (0). */
static uint32_t worker_threads(void) {
    const char *wanted = getenv("INGOT_THREADS");
    long count = wanted && *wanted ? strtol(wanted, NULL, 10) : 0;
    return count > 0 && count <= UINT16_MAX ? (uint32_t)count : tensor_thread_count();
}

/* Lock held. A failure is tried again by the next caller, who then has its message. */
static ingot_status open_cpu(void) {
    static bool has_key;
    if (!has_key && pthread_key_create(&stream_key, release_stream) != 0) {
        return INGOT_OUT_OF_MEMORY;
    }
    has_key = true;
    const ingot_device_desc desc = {.worker_threads = worker_threads(),
                                    .shares_cpus = true,
                                    .sanitize = *sanitize ? sanitize : NULL};
    ingot_status status = cpu_device ? INGOT_OK : ingot_device_open("cpu", &desc, &cpu_device);
    if (status == INGOT_OK) {
        status = ingot_ops_create(cpu_device, NULL, &cpu_ops);
    }
    return status;
}

bool context_set_sanitize(const char *kinds) {
    pthread_mutex_lock(&opening);
    bool same = !strcmp(kinds, sanitize);
    bool good = same || (!cpu_device && strlen(kinds) < sizeof sanitize);
    if (good && !same) {
        snprintf(sanitize, sizeof sanitize, "%s", kinds);
    }
    pthread_mutex_unlock(&opening);
    return good;
}

bool context_is_sanitized(void) {
    const char *variable = *sanitize ? sanitize : getenv("INGOT_SANITIZE");
    return variable && *variable && strcmp(variable, "none") != 0;
}

ingot_status context_cpu(context *out) {
    if (!atomic_load_explicit(&is_open, memory_order_acquire)) {
        pthread_mutex_lock(&opening);
        ingot_status status = atomic_load(&is_open) ? INGOT_OK : open_cpu();
        if (status == INGOT_OK) {
            atomic_store_explicit(&is_open, true, memory_order_release);
        }
        pthread_mutex_unlock(&opening);
        if (status != INGOT_OK) {
            return status;
        }
    }
    ingot_stream *stream = pthread_getspecific(stream_key);
    if (!stream) {
        ingot_status status = ingot_stream_create(cpu_device, &stream);
        if (status) {
            return status;
        }
        if (pthread_setspecific(stream_key, stream) != 0) {
            ingot_stream_release(stream);
            return INGOT_OUT_OF_MEMORY;
        }
    }
    *out = (context){cpu_device, cpu_ops, stream, false};
    return INGOT_OK;
}

/* ---- GPUs ---- */

void context_set_cuda_scratch(void *(*allocate)(void *context, uint64_t bytes)) {
    pthread_mutex_lock(&opening);
    cuda_scratch = allocate;
    pthread_mutex_unlock(&opening);
}

/* Lock held. */
static ingot_status open_cuda(struct cuda_context *gpu, int index) {
    char name[24];
    snprintf(name, sizeof name, "cuda:%d", index);
    ingot_status status = gpu->device ? INGOT_OK : ingot_device_open(name, NULL, &gpu->device);
    const ingot_ops_desc desc = {.scratch = cuda_scratch};
    return status == INGOT_OK ? ingot_ops_create(gpu->device, &desc, &gpu->ops) : status;
}

static ingot_stream *find_stream(struct native_stream *first, const void *native) {
    for (; first; first = first->next) {
        if (first->native == native) {
            return first->stream;
        }
    }
    return NULL;
}

/* Lock held. */
static ingot_status add_stream(struct cuda_context *gpu, void *native, ingot_stream **stream) {
    struct native_stream *first = atomic_load(&gpu->streams);
    *stream = find_stream(first, native); /* another thread may have been quicker */
    if (*stream) {
        return INGOT_OK;
    }
    struct native_stream *added = malloc(sizeof *added);
    if (!added) {
        return INGOT_OUT_OF_MEMORY;
    }
    *added = (struct native_stream){.next = first, .native = native};
    ingot_status status = ingot_stream_wrap(gpu->device, native, &added->stream);
    if (status != INGOT_OK) {
        free(added);
        return status;
    }
    *stream = added->stream;
    atomic_store_explicit(&gpu->streams, added, memory_order_release);
    return INGOT_OK;
}

static ingot_status gpu_at(int index, struct cuda_context **gpu) {
    if (index < 0 || index >= CONTEXT_CUDA_DEVICES) {
        return INGOT_UNSUPPORTED;
    }
    *gpu = &cuda[index];
    if (atomic_load_explicit(&(*gpu)->is_open, memory_order_acquire)) {
        return INGOT_OK;
    }
    pthread_mutex_lock(&opening);
    ingot_status status = atomic_load(&(*gpu)->is_open) ? INGOT_OK : open_cuda(*gpu, index);
    if (status == INGOT_OK) {
        atomic_store_explicit(&(*gpu)->is_open, true, memory_order_release);
    }
    pthread_mutex_unlock(&opening);
    return status;
}

ingot_status context_cuda(int index, void *native_stream, context *out) {
    struct cuda_context *gpu;
    ingot_status status = gpu_at(index, &gpu);
    if (status != INGOT_OK) {
        return status;
    }
    ingot_stream *stream =
        find_stream(atomic_load_explicit(&gpu->streams, memory_order_acquire), native_stream);
    if (!stream) {
        pthread_mutex_lock(&opening);
        status = add_stream(gpu, native_stream, &stream);
        pthread_mutex_unlock(&opening);
    }
    if (status == INGOT_OK) {
        *out = (context){gpu->device, gpu->ops, stream, false};
    }
    return status;
}

ingot_status context_lend(int index, void *native_stream, context *out) {
    struct cuda_context *gpu;
    ingot_stream *stream = NULL;
    ingot_status status = gpu_at(index, &gpu);
    if (status == INGOT_OK) {
        status = ingot_stream_wrap(gpu->device, native_stream, &stream);
    }
    if (status == INGOT_OK) {
        *out = (context){gpu->device, gpu->ops, stream, true};
    }
    return status;
}

void context_done(context *used) {
    if (used->is_lent) {
        ingot_stream_release(used->stream);
    }
    used->is_lent = false;
}

/* ---- torch's streams ---- */

typedef int32_t current_stream_function(int32_t index, void **stream);

/* Of the libtorch_cuda that is loaded; it is never unloaded. */
static current_stream_function *current_stream(void) {
    static _Atomic(current_stream_function *) found;
    current_stream_function *function = atomic_load_explicit(&found, memory_order_relaxed);
    void *library = function ? NULL : dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    if (!library) {
        return function;
    }
    void *address = dlsym(library, "aoti_torch_get_current_cuda_stream");
    memcpy(&function, &address, sizeof address);
    atomic_store(&found, function);
    return function;
}

bool context_has_cuda(void) {
    return current_stream() != NULL;
}

ingot_status context_torch_cuda(int index, context *out) {
    current_stream_function *function = current_stream();
    void *stream = NULL;
    if (!function) {
        return INGOT_UNSUPPORTED;
    }
    if (function(index, &stream) != 0) {
        return INGOT_DEVICE_LOST;
    }
    struct cuda_context *gpu;
    ingot_status status = gpu_at(index, &gpu);
    if (status != INGOT_OK) {
        return status;
    }
    if (!find_stream(atomic_load_explicit(&gpu->streams, memory_order_acquire), stream) &&
        tensor_stream_is_foreign(index, stream)) {
        return context_lend(index, stream, out);
    }
    return context_cuda(index, stream, out);
}

void context_start(const context *cpu) {
    ingot_event *event;
    if (ingot_event_create(cpu->device, &event) != INGOT_OK) {
        return;
    }
    if (ingot_stream_record(cpu->stream, event) == INGOT_OK) {
        ingot_event_done(event); /* asking is what starts the work */
    }
    ingot_event_release(event);
}

ingot_status context_wait(void) {
    context cpu;
    ingot_status status = context_cpu(&cpu);
    if (status == INGOT_OK) {
        status = ingot_stream_wait(cpu.stream);
    }
    for (int i = 0; i < CONTEXT_CUDA_DEVICES && status == INGOT_OK; i++) {
        struct native_stream *at = atomic_load_explicit(&cuda[i].streams, memory_order_acquire);
        for (; at && status == INGOT_OK; at = at->next) {
            status = ingot_stream_wait(at->stream);
        }
    }
    return status;
}
