/* The fake driver's memory, which is the host's: allocations, copies, and what a pointer points to.
 */
#include <stdlib.h>
#include <string.h>

#include "fake_driver.h"
#include "ptx.h"

enum { MAX_ALLOCATIONS = 8192 };
#define FILLED_BYTES ((size_t)1 << 26) /* larger allocations have zeros, which need no memory */

static struct {
    char *memory;
    size_t size;
    struct context *owner;
    bool is_host; /* registered; not the driver's to free */
} allocations[MAX_ALLOCATIONS];
static const char *locked_memory;
static size_t locked_bytes;

size_t fake_memory_count(void) {
    size_t count = 0;
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        count += allocations[i].memory != NULL;
    }
    return count;
}

void fake_memory_free_all(const struct context *owner) {
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        if (allocations[i].owner == owner) {
            free(allocations[i].is_host ? NULL : allocations[i].memory);
            allocations[i].memory = NULL;
        }
    }
}

void fake_lock_memory(const void *memory, size_t size) {
    locked_memory = memory;
    locked_bytes = size;
}

bool fake_is_memory(uint64_t address, size_t bytes, uint64_t *hint) {
    for (uint64_t i = 0; i < MAX_ALLOCATIONS; i++) {
        uint64_t at = (*hint + i) % MAX_ALLOCATIONS, start = (uintptr_t)allocations[at].memory;
        if (start && allocations[at].owner == fake_context && address >= start &&
            address - start <= allocations[at].size &&
            bytes <= allocations[at].size - (address - start)) {
            *hint = at;
            return true;
        }
    }
    return false;
}

/* Of an allocation, or a module's variable. */
static bool is_all_memory(uint64_t address, size_t bytes) {
    uint64_t hint = 0;
    if (fake_is_memory(address, bytes, &hint) ||
        (fake_log && address - (uintptr_t)fake_log < LOG_BYTES)) {
        return true;
    }
    for (const struct module *m = fake_modules; m; m = m->next) {
        for (int32_t i = 0; m->ptx && i < m->ptx->variable_count; i++) {
            const struct ptx_variable *one = &m->ptx->variables[i];
            uint64_t start = (uintptr_t)one->memory;
            if (start && address >= start && address - start <= one->size &&
                bytes <= one->size - (address - start)) {
                return true;
            }
        }
    }
    return false;
}

static bool is_locked(const void *memory) {
    const char *at = memory;
    return locked_memory && at >= locked_memory && at < locked_memory + locked_bytes;
}

API(cuMemGetInfo_v2, size_t *left, size_t *total) {
    BEGIN_IN_CONTEXT("cuMemGetInfo");
    *left = fake_memory_bytes() - fake_context->memory_used;
    *total = fake_memory_bytes();
    return fake_end(OK);
}

API(cuMemAlloc_v2, uint64_t *pointer, size_t bytes) {
    BEGIN_UNSAFE("cuMemAlloc", NULL);
    if (bytes > fake_memory_bytes() - fake_context->memory_used) {
        return fake_end(NO_MEMORY);
    }
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        if (!allocations[i].memory) {
            allocations[i].memory = aligned_alloc(256, (bytes + 255) & ~(size_t)255);
            if (!allocations[i].memory) {
                break;
            }
            if (bytes <= FILLED_BYTES) {
                memset(allocations[i].memory, 0xab, bytes);
            }
            allocations[i].size = bytes;
            allocations[i].is_host = false;
            allocations[i].owner = fake_context;
            fake_context->memory_used += bytes;
            *pointer = (uintptr_t)allocations[i].memory;
            return fake_end(OK);
        }
    }
    return fake_end(NO_MEMORY);
}

/* The card's memory is the host's here. */
API(cuMemAllocManaged, uint64_t *pointer, size_t bytes, unsigned flags) {
    return flags == 1 ? cuMemAlloc_v2(pointer, bytes) : INVALID_VALUE;
}

API(cuMemFree_v2, uint64_t pointer) {
    BEGIN_UNSAFE("cuMemFree", NULL);
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        if (allocations[i].memory && (uintptr_t)allocations[i].memory == pointer &&
            !allocations[i].is_host && allocations[i].owner == fake_context) {
            fake_context->memory_used -= allocations[i].size;
            free(allocations[i].memory);
            allocations[i].memory = NULL;
            return fake_end(OK);
        }
    }
    return fake_end(INVALID_VALUE);
}

/* Whole pages, each of them once. */
API(cuMemHostRegister_v2, void *memory, size_t bytes, unsigned flags) {
    BEGIN_IN_CONTEXT("cuMemHostRegister");
    char *start = memory;
    if (flags != 3 || !bytes || (uintptr_t)start % 4096 || bytes % 4096) {
        return fake_end(INVALID_VALUE);
    }
    int place = -1;
    for (int i = MAX_ALLOCATIONS; i-- > 0;) {
        if (!allocations[i].memory) {
            place = i;
        } else if (start < allocations[i].memory + allocations[i].size &&
                   allocations[i].memory < start + bytes && allocations[i].is_host) {
            return fake_end(712); /* CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED */
        }
    }
    if (place < 0) {
        return fake_end(NO_MEMORY);
    }
    allocations[place].memory = start;
    allocations[place].size = bytes;
    allocations[place].owner = fake_context;
    allocations[place].is_host = true;
    return fake_end(OK);
}

API(cuMemHostUnregister, void *memory) {
    BEGIN_IN_CONTEXT("cuMemHostUnregister");
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        if (allocations[i].is_host && allocations[i].memory == memory) {
            allocations[i].memory = NULL;
            return fake_end(OK);
        }
    }
    return fake_end(INVALID_VALUE);
}

API(cuMemHostGetDevicePointer_v2, uint64_t *pointer, void *memory, unsigned flags) {
    *pointer = (uintptr_t)memory;
    return flags == 0 ? OK : INVALID_VALUE;
}

API(cuMemsetD8Async, uint64_t pointer, unsigned char value, size_t bytes, void *stream) {
    BEGIN_WITH("cuMemsetD8Async", stream);
    if (!is_all_memory(pointer, bytes)) {
        return fake_end(INVALID_VALUE);
    }
    memset((void *)(uintptr_t)pointer, value, bytes);
    return fake_end(OK);
}

API(cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t bytes, void *stream) {
    BEGIN_WITH("cuMemcpyDtoDAsync", stream);
    if (!is_all_memory(to, bytes) || !is_all_memory(from, bytes)) {
        return fake_end(INVALID_VALUE);
    }
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return fake_end(OK);
}

API(cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t bytes, void *stream) {
    BEGIN_UNSAFE("cuMemcpyHtoDAsync", stream);
    if (!is_all_memory(to, bytes)) {
        return fake_end(INVALID_VALUE);
    }
    if (is_locked(from)) {
        fake_note("  from page-locked memory\n");
    }
    memcpy((void *)(uintptr_t)to, from, bytes);
    return fake_end(OK);
}

API(cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t bytes, void *stream) {
    BEGIN_UNSAFE("cuMemcpyDtoHAsync", stream);
    if (!is_all_memory(from, bytes)) {
        return fake_end(INVALID_VALUE);
    }
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return fake_end(OK);
}

API(cuPointerGetAttribute, void *value, int attribute, uint64_t at) {
    BEGIN_IN_CONTEXT("cuPointerGetAttribute");
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        uintptr_t start = (uintptr_t)allocations[i].memory;
        if (start && at >= start && at - start < allocations[i].size) {
            *(int *)value = attribute == 2 ? 2 : fake_context_device(allocations[i].owner);
            return fake_end(OK);
        }
    }
    return fake_end(INVALID_VALUE);
}

/* Of memory that it does not know the type is 0. */
API(cuPointerGetAttributes, unsigned count, int *attributes, void **values, uint64_t at) {
    BEGIN_IN_CONTEXT("cuPointerGetAttributes");
    uint64_t hint = 0;
    int type = fake_is_memory(at, 1, &hint) ? 2 : is_locked((void *)(uintptr_t)at);
    for (unsigned n = 0; n < count; n++) {
        *(int *)values[n] = attributes[n] == 2 ? type : 0;
    }
    return fake_end(OK);
}
