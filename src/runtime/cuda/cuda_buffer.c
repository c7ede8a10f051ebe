/* Buffers on the GPU. */
#include "runtime/cuda/cuda.h"

typedef unsigned long long ull;

static ingot_status no_memory(struct cuda_device *device, uint64_t length, struct ig_error *error) {
    size_t left = 0, total = 0;
    device->driver->memory_info(&left, &total);
    return ig_fail(error, INGOT_OUT_OF_MEMORY,
                   "no memory for a buffer of %llu bytes on device \"%s\": %llu of its %llu bytes "
                   "are free",
                   (ull)length, device->base.info.name, (ull)left, (ull)total);
}

static ingot_status allocate(struct cuda_device *device, ingot_buffer *buffer, bool is_managed,
                             struct ig_error *error) {
    const struct cuda_driver *driver = device->driver;
    struct cuda_scope scope;
    cu_pointer memory = 0;
    ingot_status status = cuda_enter_relaxed(device, &scope, error);
    if (status != INGOT_OK) {
        return status;
    }
    cu_result result =
        is_managed ? driver->memory_allocate_managed(&memory, buffer->length, CU_MANAGED_GLOBAL)
                   : driver->memory_allocate(&memory, buffer->length);
    if (result == CU_OUT_OF_MEMORY) {
        status = no_memory(device, buffer->length, error);
    } else {
        if (result == CU_SUCCESS) {
            result = driver->memory_fill(memory, 0, buffer->length, device->own_stream);
        }
        if (result == CU_SUCCESS) {
            result = driver->stream_synchronize(device->own_stream);
        }
        if (result != CU_SUCCESS) {
            status = cuda_fail(device, result, error,
                               "a buffer of %llu bytes on device \"%s\" cannot be made",
                               (ull)buffer->length, device->base.info.name);
        }
        if (result != CU_SUCCESS && memory && !cuda_is_lost(device)) {
            driver->memory_free(memory);
        }
    }
    cuda_leave(device, &scope);
    buffer->address = memory;
    return status;
}

ingot_status cuda_buffer_allocate(ingot_device *base, ingot_buffer *buffer,
                                  struct ig_error *error) {
    return allocate((struct cuda_device *)base, buffer, false, error);
}

ingot_status cuda_buffer_allocate_shared(ingot_device *base, ingot_buffer *buffer,
                                         struct ig_error *error) {
    struct cuda_device *device = (struct cuda_device *)base;
    if (device->is_remote || !device->driver->memory_allocate_managed) {
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "ingot_buffer_create_shared: device \"%s\" %s, so no memory is both its own "
                       "and the host's",
                       base->info.name,
                       device->is_remote ? "runs in a process of its own"
                                         : "has a driver without managed memory");
    }
    ingot_status status = allocate(device, buffer, true, error);
    buffer->contents = status == INGOT_OK ? (void *)(uintptr_t)buffer->address : NULL;
    return status;
}

ingot_status cuda_buffer_write(ingot_device *base, ingot_buffer *buffer, const void *bytes,
                               uint64_t size, struct ig_error *error) {
    struct cuda_device *device = (struct cuda_device *)base;
    struct cuda_scope scope;
    ingot_status status = cuda_enter_relaxed(device, &scope, error);
    if (status != INGOT_OK) {
        return status;
    }
    cu_result result =
        device->driver->memory_upload(buffer->address, bytes, size, device->own_stream);
    if (result == CU_SUCCESS) {
        result = device->driver->stream_synchronize(device->own_stream);
    }
    if (result != CU_SUCCESS) {
        status = cuda_fail(device, result, error, "%llu bytes cannot be copied to device \"%s\"",
                           (ull)size, base->info.name);
    }
    cuda_leave(device, &scope);
    return status;
}

/* The driver waits for work that may use the memory; so that a fault is found by our own looks,
 * and a limit is kept to, the streams are drained first. */
void cuda_buffer_free(ingot_device *base, ingot_buffer *buffer) {
    struct cuda_device *device = (struct cuda_device *)base;
    struct cuda_scope scope;
    cuda_drain(device);
    if (cuda_enter_relaxed(device, &scope, NULL) != INGOT_OK) {
        return;
    }
    cu_result result = device->driver->memory_free(buffer->address);
    if (cuda_result_is_fatal(result)) {
        cuda_lose(device, result);
    }
    cuda_leave(device, &scope);
}

ingot_status cuda_not_of_this_process(const struct cuda_device *device, const char *what,
                                      const void *address, struct ig_error *error) {
    return ig_fail(
        error, INGOT_UNSUPPORTED,
        "%s at 0x%llx is of this process, and device \"%s\" runs in a process of its own, "
        "%s%s; what other libraries have on the GPU, such as torch's CUDA tensors, takes "
        "a new process",
        what, (ull)(uintptr_t)address, device->base.info.name,
        device->remote_reason ? "since " : "as was asked for when it was opened",
        device->remote_reason ? device->remote_reason : "");
}

ingot_status cuda_buffer_wrap(ingot_device *base, ingot_buffer *buffer, struct ig_error *error) {
    struct cuda_device *device = (struct cuda_device *)base;
    const struct cuda_driver *driver = device->driver;
    struct cuda_scope scope;
    uint64_t address = (uintptr_t)buffer->contents;
    if (device->is_remote) {
        return cuda_not_of_this_process(device, "ingot_buffer_wrap: the memory", buffer->contents,
                                        error);
    }
    if (buffer->is_known) {
        buffer->address = address;
        buffer->contents = NULL;
        return cuda_check_lost(device, error);
    }
    ingot_status status = cuda_enter(device, &scope, error);
    if (status != INGOT_OK) {
        return status;
    }
    unsigned type = 0;
    int ordinal = device->ordinal;
    cu_result result = driver->pointer_attribute(&type, CU_POINTER_MEMORY_TYPE, address);
    if (result == CU_SUCCESS && type != CU_MEMORY_HOST) {
        result = driver->pointer_attribute(&ordinal, CU_POINTER_DEVICE_ORDINAL, address);
    }
    cuda_leave(device, &scope);
    if (result != CU_SUCCESS && result != CU_INVALID_VALUE) {
        return cuda_fail(device, result, error, "ingot_buffer_wrap: memory at 0x%llx",
                         (ull)address);
    }
    if (result == CU_INVALID_VALUE) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "ingot_buffer_wrap: the memory at 0x%llx is not memory that device \"%s\" "
                       "can reach",
                       (ull)address, base->info.name);
    }
    if (ordinal != device->ordinal) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "ingot_buffer_wrap: the memory at 0x%llx is on device \"cuda:%d\", not on "
                       "\"%s\"",
                       (ull)address, ordinal, base->info.name);
    }
    buffer->address = address;
    if (type != CU_MEMORY_HOST) {
        buffer->contents = NULL;
    }
    return INGOT_OK;
}

/* Without on_release the memory's owner has promised that it outlives the work. */
void cuda_buffer_unwrap(ingot_device *base, ingot_buffer *buffer) {
    if (buffer->on_release || buffer->is_host) {
        cuda_drain((struct cuda_device *)base);
    }
    if (buffer->is_host) {
        cuda_unwrap_host((struct cuda_device *)base, buffer);
    }
}
