/*
 * Buffers that end at pages nothing may touch: a kernel that reaches behind the end of one is an
 * error of its launch, and not damage to whatever lies there.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/cli.h"

enum {
    ALIGNMENT = 16,     /* of the largest vectors: at most 15 bytes behind the end go unseen */
    GUARD = 64u << 20u, /* bytes of addresses, not of memory */
};

struct mapping {
    void *memory;
    size_t size;
};

static void unmap(void *context) {
    struct mapping *mapping = context;
    munmap(mapping->memory, mapping->size);
    free(mapping);
}

/* Where it lies; NULL if there is no memory for it. */
static struct mapping *map_before_guard(uint64_t length, char **contents) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct mapping *mapping = malloc(sizeof *mapping);
    if (!mapping || length > SIZE_MAX / 2) {
        free(mapping);
        return NULL;
    }
    size_t used = ((size_t)length + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    size_t pages = (used + page - 1) / page * page;
    mapping->size = pages + GUARD;
    mapping->memory = mmap(NULL, mapping->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping->memory == MAP_FAILED) {
        free(mapping);
        return NULL;
    }
    if (mprotect(mapping->memory, pages, PROT_READ | PROT_WRITE) != 0) {
        unmap(mapping);
        return NULL;
    }
    *contents = (char *)mapping->memory + pages - used;
    return mapping;
}

ingot_status cli_guarded_buffer(ingot_device *device, uint64_t length, ingot_buffer **buffer) {
    char *contents;
    struct mapping *mapping = length ? map_before_guard(length, &contents) : NULL;
    if (!mapping) {
        return ingot_buffer_create(device, length, buffer);
    }
    ingot_status status = ingot_buffer_wrap(device, contents, length, unmap, mapping, buffer);
    if (status) {
        unmap(mapping);
    }
    return status;
}
