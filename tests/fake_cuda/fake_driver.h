/* What the files of the fake driver share: its results, its state, and what every call begins and
 * ends with. */
#ifndef FAKE_CUDA_DRIVER_H
#define FAKE_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OK = 0,
    INVALID_VALUE = 1,
    NO_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_CONTEXT = 201,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    ILLEGAL_INSTRUCTION = 715,
    MISALIGNED_ADDRESS = 716,
    LAUNCH_FAILED = 719,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_RELAXED = 2,            /* a thread's mode */
    PROGRAMMATIC_SERIALIZATION = 6, /* a launch's attribute */
    MAX_DYNAMIC_SHARED = 8,         /* a function's */
    SHARED_BYTES = 227 << 10,
    UNASKED_SHARED_BYTES = 48 << 10,
    MAX_COLUMNS = 2147483647,
    MAX_ROWS = 65535,
    MAX_THREADS = 1024,
    MAX_DEVICES = 8,
    LOG_BYTES = 65536,
    MAX_KERNELS = 32,
    LOOKS_BEFORE_DONE = 3,
};

struct module {
    char name[64];          /* of a fake kernel */
    struct ptx_module *ptx; /* else */
    struct module *next;
    int dynamic_shared; /* that it may have */
};
struct context {
    int sticky, retained;
    size_t memory_used;
};

extern struct context *fake_context; /* of the call that has the lock */
extern struct module *fake_modules;
extern char *fake_log; /* LOG_BYTES of it; or NULL */

/* ---- every call (fake_cuda.c) ---- */

__attribute__((format(printf, 1, 2))) void fake_note(const char *format, ...);
int fake_begin(const char *name);
/* A call that needs a context which has not failed. */
int fake_begin_in_context(const char *name);
/* One that is also given something of this context which must not have been destroyed. */
int fake_begin_with(const char *name, const void *object);
/* Calls that wait, or may, spoil a capture that goes on anywhere in the process, unless their
 * thread says that it knows. */
int fake_begin_unsafe(const char *name, const void *object);
int fake_end(int result);
size_t fake_memory_bytes(void);
int fake_context_device(const struct context *wanted);

#define EXPORT __attribute__((visibility("default")))
#define API(name, ...)                                                                             \
    EXPORT int name(__VA_ARGS__);                                                                  \
    int name(__VA_ARGS__)
#define BEGIN(name)                                                                                \
    int failed = fake_begin(name);                                                                 \
    if (failed)                                                                                    \
        return fake_end(failed);
#define BEGIN_IN_CONTEXT(name)                                                                     \
    int failed = fake_begin_in_context(name);                                                      \
    if (failed)                                                                                    \
        return fake_end(failed);

#define BEGIN_WITH(name, object)                                                                   \
    int failed = fake_begin_with(name, object);                                                    \
    if (failed)                                                                                    \
        return fake_end(failed);

#define BEGIN_UNSAFE(name, object)                                                                 \
    int failed = fake_begin_unsafe(name, object);                                                  \
    if (failed)                                                                                    \
        return fake_end(failed);

/* ---- memory (fake_memory.c) ---- */

/* Allocations that exist. */
size_t fake_memory_count(void);
void fake_memory_free_all(const struct context *owner);
/* Whether the bytes are of one allocation; *hint is where to look first, the next time too. */
bool fake_is_memory(uint64_t address, size_t bytes, uint64_t *hint);
void fake_lock_memory(const void *memory, size_t size);

#endif
