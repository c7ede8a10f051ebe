/* The devices that Python's side works on, opened on first use, and a stream per thread. */
#include "context.h"

#include "memory.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_once_t cpu_once = PTHREAD_ONCE_INIT;
static pthread_key_t stream_key;
static ingot_device *cpu_device;
static ingot_ops *cpu_ops;

static void release_stream(void *stream) {
    ingot_stream_release(stream);
}

/* INGOT_THREADS, or as many as torch uses, or one per core (0). */
static uint32_t worker_threads(void) {
    const char *wanted = getenv("INGOT_THREADS");
    long count = wanted && *wanted ? strtol(wanted, NULL, 10) : 0;
    return count > 0 && count <= UINT16_MAX ? (uint32_t)count : tensor_thread_count();
}

static void open_cpu(void) {
    if (pthread_key_create(&stream_key, release_stream) != 0)
        return;
    ingot_device_desc desc = {.worker_threads = worker_threads()};
    if (ingot_device_open("cpu", &desc, &cpu_device) != INGOT_OK)
        return;
    if (ingot_ops_create(cpu_device, NULL, &cpu_ops) != INGOT_OK)
        cpu_ops = NULL;
}

ingot_status context_cpu(context *out) {
    pthread_once(&cpu_once, open_cpu);
    if (!cpu_device || !cpu_ops)
        return ingot_device_open("cpu", NULL, &cpu_device); /* leaves the message again */
    ingot_stream *stream = pthread_getspecific(stream_key);
    if (!stream) {
        ingot_status status = ingot_stream_create(cpu_device, &stream);
        if (status)
            return status;
        if (pthread_setspecific(stream_key, stream) != 0) {
            ingot_stream_release(stream);
            return INGOT_OUT_OF_MEMORY;
        }
    }
    *out = (context){cpu_device, cpu_ops, stream};
    return INGOT_OK;
}
