/* Buffers: lengths, references and wrapping; the memory itself is the device's. */
#include <stdlib.h>
#include <string.h>

#include "runtime/objects.h"

static ingot_status check_request(const char *function, const ingot_device *device, uint64_t length,
                                  ingot_buffer **buffer) {
    if (!buffer) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "%s: buffer is NULL", function);
    }
    *buffer = NULL;
    if (!device) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "%s: device is NULL", function);
    }
    if (length == 0) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "%s: a buffer of 0 bytes is not possible",
                           function);
    }
    if (length > device->info.max_buffer_length) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "%s: %llu bytes are more than the %llu that device \"%s\" allows",
                           function, (unsigned long long)length,
                           (unsigned long long)device->info.max_buffer_length, device->info.name);
    }
    return INGOT_OK;
}

static ingot_buffer *new_buffer(ingot_device *device, uint64_t length) {
    ingot_buffer *buffer = malloc(sizeof *buffer); /* calloc takes longer: no cache of a thread's */
    if (!buffer) {
        return NULL;
    }
    memset(buffer, 0, sizeof *buffer);
    atomic_init(&buffer->references, 1);
    buffer->device = device;
    buffer->length = length;
    return buffer;
}

typedef ingot_status (*allocate_function)(ingot_device *device, ingot_buffer *buffer,
                                          struct ig_error *error);

static ingot_status create(ingot_device *device, uint64_t length, allocate_function allocate,
                           ingot_buffer **result) {
    ingot_buffer *buffer = new_buffer(device, length);
    if (!buffer) {
        return ig_api_fail(INGOT_OUT_OF_MEMORY, "no memory for a buffer object");
    }
    struct ig_error error = {0};
    if (allocate(device, buffer, &error) != INGOT_OK) {
        free(buffer);
        return ig_api_result(&error);
    }
    ingot_device_retain(device);
    *result = buffer;
    return INGOT_OK;
}

ingot_status ingot_buffer_create(ingot_device *device, uint64_t length, ingot_buffer **result) {
    ingot_status status = check_request("ingot_buffer_create", device, length, result);
    return status == INGOT_OK ? create(device, length, device->ops->buffer_allocate, result)
                              : status;
}

ingot_status ingot_buffer_create_shared(ingot_device *device, uint64_t length,
                                        ingot_buffer **result) {
    ingot_status status = check_request("ingot_buffer_create_shared", device, length, result);
    if (status != INGOT_OK) {
        return status;
    }
    const struct ig_device_ops *ops = device->ops;
    return create(device, length,
                  ops->buffer_allocate_shared ? ops->buffer_allocate_shared : ops->buffer_allocate,
                  result);
}

ingot_status ingot_buffer_create_view(ingot_buffer *whole, uint64_t offset, uint64_t length,
                                      ingot_buffer **result) {
    const char *function = "ingot_buffer_create_view";
    if (!whole) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "%s: whole is NULL", function);
    }
    ingot_status status = check_request(function, whole->device, length, result);
    if (status != INGOT_OK) {
        return status;
    }
    if (offset > whole->length || length > whole->length - offset) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "%s: %llu bytes at offset %llu pass the end of the buffer, which has "
                           "%llu bytes",
                           function, (unsigned long long)length, (unsigned long long)offset,
                           (unsigned long long)whole->length);
    }
    ingot_buffer *buffer = new_buffer(whole->device, length);
    if (!buffer) {
        return ig_api_fail(INGOT_OUT_OF_MEMORY, "no memory for a buffer object");
    }
    buffer->contents = whole->contents ? (char *)whole->contents + offset : NULL;
    buffer->address = whole->address + offset;
    buffer->is_host = whole->is_host;
    buffer->whole = whole;
    ingot_buffer_retain(whole);
    ingot_device_retain(whole->device);
    *result = buffer;
    return INGOT_OK;
}

ingot_status ig_buffer_create_with(ingot_device *device, const void *bytes, uint64_t size,
                                   ingot_buffer **result) {
    struct ig_error error = {0};
    ingot_status status = ingot_buffer_create(device, size, result);
    if (status != INGOT_OK) {
        return status;
    }
    if (!device->ops->buffer_write) {
        memcpy(ingot_buffer_contents(*result), bytes, size);
    } else if (device->ops->buffer_write(device, *result, bytes, size, &error) != INGOT_OK) {
        ingot_buffer_release(*result);
        *result = NULL;
        return ig_api_result(&error);
    }
    return INGOT_OK;
}

struct foreign_memory {
    void *start;
    uint64_t length;
    bool is_known; /* memory that the device need not be asked about */
    bool is_host;  /* the host's own, on every device */
    void (*on_release)(void *context);
    void *context;
};

static ingot_status wrap(const char *function, ingot_device *device,
                         const struct foreign_memory *memory, ingot_buffer **result) {
    ingot_status status = check_request(function, device, memory->length, result);
    if (status != INGOT_OK) {
        return status;
    }
    if (!memory->start) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "%s: memory is NULL", function);
    }
    if ((uintptr_t)memory->start > UINTPTR_MAX - memory->length) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "%s: %llu bytes at %p pass the end of the address space", function,
                           (unsigned long long)memory->length, memory->start);
    }
    ingot_buffer *buffer = new_buffer(device, memory->length);
    if (!buffer) {
        return ig_api_fail(INGOT_OUT_OF_MEMORY, "no memory for a buffer object");
    }
    buffer->contents = memory->start;
    buffer->wrapped = true;
    buffer->is_known = memory->is_known;
    struct ig_error error = {0};
    ingot_status (*take)(ingot_device *, ingot_buffer *, struct ig_error *) =
        device->ops->buffer_wrap;
    if (memory->is_host && device->ops->buffer_wrap_host) {
        take = device->ops->buffer_wrap_host;
        buffer->is_host = true;
    }
    if (take(device, buffer, &error) != INGOT_OK) {
        free(buffer);
        return ig_api_result(&error);
    }
    buffer->on_release = memory->on_release;
    buffer->context = memory->context;
    ingot_device_retain(device);
    *result = buffer;
    return INGOT_OK;
}

ingot_status ingot_buffer_wrap(ingot_device *device, void *memory, uint64_t length,
                               void (*on_release)(void *context), void *context,
                               ingot_buffer **result) {
    const struct foreign_memory foreign = {
        .start = memory, .length = length, .on_release = on_release, .context = context};
    return wrap("ingot_buffer_wrap", device, &foreign, result);
}

ingot_status ingot_buffer_wrap_host(ingot_device *device, void *memory, uint64_t length,
                                    void (*on_release)(void *context), void *context,
                                    ingot_buffer **result) {
    const struct foreign_memory foreign = {.start = memory,
                                           .length = length,
                                           .is_host = true,
                                           .on_release = on_release,
                                           .context = context};
    return wrap("ingot_buffer_wrap_host", device, &foreign, result);
}

ingot_status ingot_buffer_wrap_address(ingot_device *device, uint64_t address, uint64_t length,
                                       void (*on_release)(void *context), void *context,
                                       ingot_buffer **result) {
    const struct foreign_memory foreign = {.start = (void *)(uintptr_t)address,
                                           .length = length,
                                           .is_known = true,
                                           .on_release = on_release,
                                           .context = context};
    return wrap("ingot_buffer_wrap_address", device, &foreign, result);
}

void ingot_buffer_retain(ingot_buffer *buffer) {
    if (buffer) {
        ig_retain(&buffer->references);
    }
}

void ingot_buffer_release(ingot_buffer *buffer) {
    if (!buffer || !ig_release(&buffer->references)) {
        return;
    }
    ingot_device *device = buffer->device;
    if (buffer->whole) {
        ingot_buffer_release(buffer->whole);
    } else if (buffer->wrapped) {
        device->ops->buffer_unwrap(device, buffer);
    } else {
        device->ops->buffer_free(device, buffer);
    }
    if (buffer->on_release) {
        buffer->on_release(buffer->context);
    }
    free(buffer);
    ingot_device_release(device);
}

uint64_t ingot_buffer_length(const ingot_buffer *buffer) {
    return buffer ? buffer->length : 0;
}

/* Who has the address may write, and nobody sees it. */
void *ingot_buffer_contents(const ingot_buffer *buffer) {
    if (!buffer) {
        return NULL;
    }
    if (buffer->device->ops->buffer_written) {
        buffer->device->ops->buffer_written(buffer, 0, buffer->length);
    }
    return buffer->contents;
}

ingot_status ig_buffer_reach(ingot_buffer *buffer, struct ig_error *error) {
    ingot_buffer *whole = buffer;
    while (whole->whole) {
        whole = whole->whole;
    }
    if (atomic_load_explicit(&whole->is_reached, memory_order_acquire)) {
        return INGOT_OK;
    }
    return whole->device->ops->buffer_reach(whole->device, whole, error);
}

uint64_t ingot_buffer_address(const ingot_buffer *buffer) {
    struct ig_error error = {0};
    if (!buffer ||
        (buffer->is_host && ig_buffer_reach((ingot_buffer *)buffer, &error) != INGOT_OK)) {
        return 0;
    }
    return buffer->address;
}
