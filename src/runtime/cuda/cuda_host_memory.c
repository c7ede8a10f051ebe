/*
 * The host's memory as a buffer: its pages are registered with the driver, which lets the card
 * address them where they are. What is registered is the driver's, not a device's, and no page can
 * be so twice: buffers that share pages share registrations, which are counted here.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cuda/cuda.h"

enum { CU_REGISTER_PORTABLE = 1, CU_REGISTER_MAPPED = 2, CU_REGISTER_READ_ONLY = 8 };

struct pages {
    struct pages *next;
    uintptr_t start, end;
    size_t uses;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pages *registered; /* by address; they do not overlap */

static void around(const ingot_buffer *buffer, uintptr_t *start, uintptr_t *end) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    *start = (uintptr_t)buffer->contents / page * page;
    *end = ((uintptr_t)buffer->contents + buffer->length + page - 1) / page * page;
}

/* With the lock held. Ends the use of what lies in the range, and of registrations without one. */
static void drop(const struct cuda_driver *driver, uintptr_t start, uintptr_t end) {
    struct pages **link = &registered;
    while (*link && (*link)->start < end) {
        struct pages *at = *link;
        if (at->end > start && --at->uses == 0) {
            driver->host_unregister((void *)at->start);
            *link = at->next;
            free(at);
        } else {
            link = &at->next;
        }
    }
}

/* Memory that nobody may write, such as a file's, is registered for reading. */
static cu_result add(const struct cuda_driver *driver, struct pages **link, uintptr_t start,
                     uintptr_t end) {
    struct pages *made = malloc(sizeof *made);
    if (!made) {
        return CU_OUT_OF_MEMORY;
    }
    const unsigned flags = CU_REGISTER_PORTABLE | CU_REGISTER_MAPPED;
    cu_result result = driver->host_register((void *)start, end - start, flags);
    if (result != CU_SUCCESS && result != CU_OUT_OF_MEMORY && !cuda_result_is_fatal(result)) {
        result = driver->host_register((void *)start, end - start, flags | CU_REGISTER_READ_ONLY);
    }
    cu_pointer address = 0;
    if (result == CU_SUCCESS &&
        (driver->host_pointer(&address, (void *)start, 0) != CU_SUCCESS || address != start)) {
        driver->host_unregister((void *)start);
        result = CU_INVALID_VALUE; /* kernels would see it elsewhere */
    }
    if (result != CU_SUCCESS) {
        free(made);
        return result;
    }
    *made = (struct pages){*link, start, end, 1};
    *link = made;
    return CU_SUCCESS;
}

/* With the lock held: uses what is registered of the range, and registers the rest. */
static cu_result take(const struct cuda_driver *driver, uintptr_t start, uintptr_t end) {
    struct pages **link = &registered;
    uintptr_t at = start;
    while (at < end) {
        while (*link && (*link)->end <= at) {
            link = &(*link)->next;
        }
        struct pages *next = *link;
        if (next && next->start <= at) {
            next->uses++;
            at = next->end;
            continue;
        }
        uintptr_t gap_end = next && next->start < end ? next->start : end;
        cu_result result = add(driver, link, at, gap_end);
        if (result != CU_SUCCESS) {
            if (at > start) {
                drop(driver, start, at);
            }
            return result;
        }
        at = gap_end;
    }
    return CU_SUCCESS;
}

static bool is_known(const struct cuda_driver *driver, uintptr_t address) {
    unsigned type = 0, is_managed = 0;
    int attributes[] = {CU_POINTER_MEMORY_TYPE, CU_POINTER_IS_MANAGED};
    void *values[] = {&type, &is_managed};
    return driver->pointer_attributes(2, attributes, values, address) == CU_SUCCESS &&
           (type == CU_MEMORY_HOST || is_managed);
}

ingot_status cuda_buffer_wrap_host(ingot_device *base, ingot_buffer *buffer,
                                   struct ig_error *error) {
    struct cuda_device *device = (struct cuda_device *)base;
    const struct cuda_driver *driver = device->driver;
    if (device->is_remote) {
        return cuda_not_of_this_process(device, "ingot_buffer_wrap_host: the memory",
                                        buffer->contents, error);
    }
    if (!driver->host_register || !driver->host_unregister || !driver->host_pointer) {
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "ingot_buffer_wrap_host: device \"%s\" has a driver that cannot register "
                       "the host's memory",
                       base->info.name);
    }
    buffer->address = (uintptr_t)buffer->contents;
    return cuda_check_lost(device, error);
}

ingot_status cuda_buffer_reach(ingot_device *base, ingot_buffer *buffer, struct ig_error *error) {
    struct cuda_device *device = (struct cuda_device *)base;
    struct cuda_scope scope;
    ingot_status status = cuda_enter_relaxed(device, &scope, error);
    if (status != INGOT_OK) {
        return status;
    }
    uintptr_t start, end;
    around(buffer, &start, &end);
    cu_result result = CU_SUCCESS;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&buffer->is_reached)) {
        result = take(device->driver, start, end);
        if (result != CU_SUCCESS && is_known(device->driver, start)) {
            result = CU_SUCCESS; /* managed, or registered by somebody else */
        } else if (result == CU_SUCCESS) {
            buffer->memory = buffer; /* to be unregistered */
        }
        atomic_store_explicit(&buffer->is_reached, result == CU_SUCCESS, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    if (result != CU_SUCCESS) {
        status = cuda_fail(device, result, error,
                           "%llu bytes of the host's memory at 0x%llx cannot be registered with "
                           "device \"%s\"",
                           (unsigned long long)buffer->length,
                           (unsigned long long)(uintptr_t)buffer->contents, base->info.name);
    }
    cuda_leave(device, &scope);
    return status;
}

/* Work that uses the memory has ended. */
void cuda_unwrap_host(struct cuda_device *device, const ingot_buffer *buffer) {
    struct cuda_scope scope;
    if (!buffer->memory || cuda_enter_relaxed(device, &scope, NULL) != INGOT_OK) {
        return;
    }
    uintptr_t start, end;
    around(buffer, &start, &end);
    pthread_mutex_lock(&lock);
    drop(device->driver, start, end);
    pthread_mutex_unlock(&lock);
    cuda_leave(device, &scope);
}

/* How much of the memory lies in one registration, or in none: the driver copies no range of both.
 */
static uint64_t one_kind(uintptr_t at, uint64_t length) {
    pthread_mutex_lock(&lock);
    const struct pages *next = registered;
    while (next && next->end <= at) {
        next = next->next;
    }
    if (next) {
        uint64_t left = next->start <= at ? next->end - at : next->start - at;
        length = left < length ? left : length;
    }
    pthread_mutex_unlock(&lock);
    return length;
}

ingot_status cuda_host_copy(struct cuda_stream *stream, ingot_buffer *source,
                            uint64_t source_offset, ingot_buffer *destination,
                            uint64_t destination_offset, uint64_t length, struct ig_error *error) {
    char *from = (char *)source->contents + source_offset;
    char *to = (char *)destination->contents + destination_offset;
    ingot_status status = INGOT_OK;
    if (source->is_host && destination->is_host) {
        status = cuda_stream_wait(stream, error);
        if (status == INGOT_OK) {
            memmove(to, from, length);
        }
        return status;
    }
    for (uint64_t done = 0; done < length && status == INGOT_OK;) {
        const bool is_upload = source->is_host;
        char *host = (is_upload ? from : to) + done;
        uint64_t size = one_kind((uintptr_t)host, length - done);
        status = is_upload ? cuda_stream_upload(stream, destination, destination_offset + done,
                                                host, size, error)
                           : cuda_stream_download(stream, source, source_offset + done, host, size,
                                                  error);
        done += size;
    }
    return status;
}
