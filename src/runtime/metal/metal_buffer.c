/* Buffers of the Metal device: memory that host and GPU share, and MTLBuffers of other code. */
#include <stdlib.h>

#include "runtime/metal/metal.h"

const struct metal_memory *metal_memory_of(const ingot_buffer *buffer, uint64_t *offset) {
    const ingot_buffer *whole = buffer;
    while (whole->whole) {
        whole = whole->whole;
    }
    const struct metal_memory *memory = whole->memory;
    *offset = memory->offset + (buffer->address - whole->address);
    return memory;
}

static ingot_status keep(ingot_buffer *buffer, void *handle, uint64_t offset,
                         const struct ig_metal_bridge *bridge, struct ig_error *error) {
    struct metal_memory *memory = calloc(1, sizeof *memory);
    if (!memory) {
        bridge->release(handle);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a buffer object");
    }
    *memory = (struct metal_memory){handle, offset};
    buffer->memory = memory;
    char *contents = bridge->buffer_contents(handle);
    buffer->contents = contents ? contents + offset : NULL;
    buffer->address = bridge->buffer_address(handle) + offset;
    return INGOT_OK;
}

ingot_status metal_buffer_allocate(ingot_device *base, ingot_buffer *buffer,
                                   struct ig_error *error) {
    struct metal_device *device = (struct metal_device *)base;
    char *message = NULL;
    void *handle = device->bridge->buffer_make(device->handle, buffer->length, true, &message);
    if (!handle) {
        return metal_fail(error, INGOT_OUT_OF_MEMORY, message,
                          "a buffer of %llu bytes on device \"%s\"",
                          (unsigned long long)buffer->length, base->info.name);
    }
    return keep(buffer, handle, 0, device->bridge, error);
}

/* Commands that use it hold on to its memory. */
void metal_buffer_free(ingot_device *base, ingot_buffer *buffer) {
    struct metal_memory *memory = buffer->memory;
    ((struct metal_device *)base)->bridge->release(memory->buffer);
    free(memory);
}

/* Metal takes whole pages; what lies around the memory on its first and last page comes along. */
ingot_status metal_buffer_wrap(ingot_device *base, ingot_buffer *buffer, struct ig_error *error) {
    struct metal_device *device = (struct metal_device *)base;
    const uint64_t page = device->bridge->page_size, start = (uintptr_t)buffer->contents;
    const uint64_t first = start / page * page;
    const uint64_t end = (start + buffer->length + page - 1) / page * page;
    char *message = NULL;
    void *handle = device->bridge->buffer_wrap(device->handle, (void *)(uintptr_t)first,
                                               end - first, &message);
    if (!handle) {
        return metal_fail(error, INGOT_UNSUPPORTED, message,
                          "ingot_buffer_wrap: %llu bytes at 0x%llx on device \"%s\"",
                          (unsigned long long)buffer->length, (unsigned long long)start,
                          base->info.name);
    }
    return keep(buffer, handle, start - first, device->bridge, error);
}

/* The caller may free the memory now. */
void metal_buffer_unwrap(ingot_device *base, ingot_buffer *buffer) {
    metal_streams_drain((struct metal_device *)base);
    metal_buffer_free(base, buffer);
}

/* ---- buffers of other code ---- */

static ingot_status adopt(struct metal_device *device, ingot_buffer *buffer, void *object,
                          uint64_t offset, struct ig_error *error) {
    uint64_t whole = 0;
    char *message = NULL;
    void *handle = device->bridge->buffer_adopt(device->handle, object, &whole, &message);
    if (!handle) {
        return metal_fail(error, INGOT_INVALID_ARGUMENT, message,
                          "ingot_metal_buffer_wrap on device \"%s\"", device->base.info.name);
    }
    if (offset > whole || buffer->length > whole - offset) {
        device->bridge->release(handle);
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "ingot_metal_buffer_wrap: %llu bytes at offset %llu pass the end of the "
                       "MTLBuffer, which has %llu bytes",
                       (unsigned long long)buffer->length, (unsigned long long)offset,
                       (unsigned long long)whole);
    }
    return keep(buffer, handle, offset, device->bridge, error);
}

ingot_status ingot_metal_buffer_wrap(ingot_device *device, void *mtl_buffer, uint64_t offset,
                                     uint64_t length, ingot_buffer **result) {
    const char *function = "ingot_metal_buffer_wrap";
    if (!device || !mtl_buffer || !result) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "%s: %s is NULL", function,
                           !device       ? "device"
                           : !mtl_buffer ? "mtl_buffer"
                                         : "buffer");
    }
    *result = NULL;
    if (device->kind != &ig_metal_device_kind) {
        return ig_api_fail(INGOT_UNSUPPORTED, "%s: device \"%s\" has no MTLBuffers", function,
                           device->info.name);
    }
    if (length == 0) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "%s: a buffer of 0 bytes is not possible",
                           function);
    }
    ingot_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer) {
        return ig_api_fail(INGOT_OUT_OF_MEMORY, "no memory for a buffer object");
    }
    atomic_init(&buffer->references, 1);
    buffer->device = device;
    buffer->length = length;
    struct ig_error error = {0};
    if (adopt((struct metal_device *)device, buffer, mtl_buffer, offset, &error) != INGOT_OK) {
        free(buffer);
        return ig_api_result(&error);
    }
    ingot_device_retain(device);
    *result = buffer;
    return INGOT_OK;
}
