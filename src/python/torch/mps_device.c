/*
 * Operators on mps tensors, as extensions of torch are to do it: work is encoded into the command
 * buffer of torch's current stream, on its dispatch queue. Nothing is committed and nothing is
 * waited for; torch does both when somebody looks at a result.
 *
 * torch's functions for that are C++'s, of namespace torch::mps. On a Mac they are in libtorch_cpu;
 * elsewhere the bridge of ingot.mps has them (python/ingot/mps/extension).
 */
#include "python/torch/mps_device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "ingot/metal.h"

static struct {
    void *(*get_command_buffer)(void);
    void *(*get_dispatch_queue)(void);
    void (*synchronize)(void);
    void (*dispatch_sync_f)(void *queue, void *context, void (*work)(void *));
} functions;

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_loaded, is_open;
static ingot_device *device;
static ingot_ops *operations;
static ingot_stream *stream;

static void run_on_queue(void *unused, void (*encode)(void *), void *argument) {
    (void)unused;
    functions.dispatch_sync_f(functions.get_dispatch_queue(), argument, encode);
}

static void *command_buffer(void *unused) {
    (void)unused;
    return functions.get_command_buffer();
}

static void wait_for_all(void *unused) {
    (void)unused;
    functions.synchronize();
}

static const ingot_metal_stream torch_stream = {
    .run = run_on_queue, .command_buffer = command_buffer, .wait = wait_for_all};

bool mps_device_load(const char *path, char *message, size_t size) {
    static const struct {
        const char *symbol;
        void *field;
    } wanted[] = {
        {"_ZN5torch3mps18get_command_bufferEv", &functions.get_command_buffer},
        {"_ZN5torch3mps18get_dispatch_queueEv", &functions.get_dispatch_queue},
        {"_ZN5torch3mps11synchronizeEv", &functions.synchronize},
        {"dispatch_sync_f", &functions.dispatch_sync_f},
    };
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD); /* and what it is linked with */
    if (!library) {
        snprintf(message, size, "\"%s\" is not loaded in this process", path);
        return false;
    }
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *address = dlsym(library, wanted[i].symbol);
        if (!address) {
            snprintf(message, size, "\"%s\" has no function %s", path, wanted[i].symbol);
            dlclose(library);
            return false;
        }
        memcpy(wanted[i].field, &address, sizeof address);
    }
    atomic_store(&is_loaded, true); /* the library stays open */
    return true;
}

bool mps_device_is_loaded(void) {
    return atomic_load_explicit(&is_loaded, memory_order_relaxed);
}

/* Lock held. A failure is tried again by the next caller, who then has its message. */
static ingot_status open_device(void) {
    ingot_status status = device ? INGOT_OK : ingot_device_open("metal", NULL, &device);
    if (status == INGOT_OK && !operations) {
        status = ingot_ops_create(device, NULL, &operations);
    }
    if (status == INGOT_OK && !stream) {
        status = ingot_stream_wrap(device, (void *)(uintptr_t)&torch_stream, &stream);
    }
    return status;
}

ingot_status mps_device_context(context *out) {
    if (!atomic_load_explicit(&is_open, memory_order_acquire)) {
        pthread_mutex_lock(&opening);
        ingot_status status = atomic_load(&is_open) ? INGOT_OK : open_device();
        if (status == INGOT_OK) {
            atomic_store_explicit(&is_open, true, memory_order_release);
        }
        pthread_mutex_unlock(&opening);
        if (status != INGOT_OK) {
            return status;
        }
    }
    *out = (context){device, operations, stream, false};
    return INGOT_OK;
}

ingot_status mps_device_wrap(const context *used, void *data, uint64_t offset, uint64_t length,
                             ingot_buffer **buffer) {
    return ingot_metal_buffer_wrap(used->device, (char *)data - offset, offset, length, buffer);
}
