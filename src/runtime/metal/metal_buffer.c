/* Buffers of the Metal device: memory that host and GPU share. */
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
    buffer->contents = (char *)bridge->buffer_contents(handle) + offset;
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
