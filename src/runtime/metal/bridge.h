/*
 * Metal behind plain C: what objc/bridge.m implements in Objective-C, and the rest of the Metal
 * device is written against.
 *
 * On macOS the bridge is linked in. On Linux it is a library of its own, on libingot-metal, and is
 * loaded when $INGOT_METAL_BRIDGE asks for it (bridge_load.c): so the device is tested there.
 *
 * Objects are opaque, and the caller's until they are released. Functions that can fail return NULL
 * or false and leave a malloc'ed sentence in *message. No function raises; any thread may call.
 */
#ifndef INGOT_RUNTIME_METAL_BRIDGE_H
#define INGOT_RUNTIME_METAL_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IG_METAL_BRIDGE_VERSION 3u

enum { IG_METAL_BUFFERS = 31, IG_METAL_THREADGROUP_ARGUMENTS = 31, IG_METAL_BYTES = 4096 };

struct ig_metal_device_info {
    char name[128];
    char family[16]; /* "apple9"; "" when it is none that we know */
    uint32_t max_threads_per_threadgroup;
    uint32_t max_threadgroup_memory;
    uint64_t max_buffer_length, working_set;
    bool has_unified_memory;
};

struct ig_metal_compile_options {
    bool fast_math;
    uint32_t msl_version; /* __METAL_VERSION__; 0: the newest */
};

/* A function constant of a kernel, or its value. */
struct ig_metal_constant {
    const char *name; /* valid during the call */
    uint32_t index;
    uint32_t data_type; /* MTLDataType */
    bool required;
};
struct ig_metal_value {
    uint32_t index;
    const void *bytes;
};

struct ig_metal_binding {
    const char *name; /* valid during the call */
    uint32_t index;
    uint32_t data_type; /* MTLDataType of what it points to; 1 is a struct */
    uint64_t size, alignment;
    bool is_threadgroup, is_writable, is_used;
};

struct ig_metal_pipeline_info {
    uint32_t max_threads, simd_width, static_threadgroup_bytes;
};

/* A pipeline's machine code, as Metal keeps it (MTLBinaryArchive). */
struct ig_metal_binary {
    const void *bytes; /* what was kept; NULL: nothing */
    size_t size;
    /* Where that did not serve, what there is to keep now, malloc'ed; NULL where Metal gives none.
     */
    void *made;
    size_t made_size;
};

/* One argument of a dispatch: bytes, or a buffer with an offset, or nothing. */
struct ig_metal_argument {
    void *buffer;
    uint64_t offset;
    const void *bytes;
    size_t size;
};
struct ig_metal_dispatch {
    void *pipeline;
    const char *name; /* of the kernel, for messages and captures */
    struct ig_metal_argument arguments[IG_METAL_BUFFERS];
    uint32_t argument_count;
    uint32_t threadgroup_lengths[IG_METAL_THREADGROUP_ARGUMENTS];
    uint32_t threadgroup_length_count;
    uint32_t threads[3], group[3];
};

enum ig_metal_outcome { /* of a command buffer */
                        IG_METAL_RUNNING,
                        IG_METAL_DONE,
                        IG_METAL_FAULT,
                        IG_METAL_TIMEOUT,
                        IG_METAL_NO_MEMORY,
                        IG_METAL_LOST,
};

struct ig_metal_bridge {
    uint32_t version;

    size_t (*device_count)(void);
    void *(*device_open)(size_t index, struct ig_metal_device_info *info, char **message);
    void (*release)(void *object); /* of any kind; NULL is fine */
    /* What kernels print with os_log, line by line; level 1 is debug, 5 a fault. */
    void (*set_log_function)(void (*message)(int level, const char *text));

    /* ---- code ---- */
    void *(*library_from_source)(void *device, const char *source, size_t length,
                                 const struct ig_metal_compile_options *options, char **message);
    void *(*library_from_data)(void *device, const void *bytes, size_t size, char **message);
    /* Calls for each kernel, then for each of its constants; stops when either returns false. */
    bool (*library_list)(void *library, void *context, bool (*kernel)(void *, const char *name),
                         bool (*constant)(void *, const struct ig_metal_constant *));
    /* `binding` may be NULL; otherwise it is called for each argument. `binary` may be NULL too. */
    void *(*pipeline_make)(void *library, const char *kernel, const struct ig_metal_value *values,
                           size_t value_count, struct ig_metal_binary *binary,
                           struct ig_metal_pipeline_info *info, void *context,
                           bool (*binding)(void *, const struct ig_metal_binding *),
                           char **message);

    /* ---- memory: zeroed; shared has contents ---- */
    void *(*buffer_make)(void *device, uint64_t length, bool is_shared, char **message);
    /* Whole pages of the caller's. */
    void *(*buffer_wrap)(void *device, void *pages, uint64_t length, char **message);
    /* Another library's buffer of the same device, which is retained. */
    void *(*buffer_adopt)(void *device, void *buffer, uint64_t *length, char **message);
    void *(*buffer_contents)(void *buffer); /* NULL where it is the GPU's alone */
    uint64_t (*buffer_address)(void *buffer);
    uint64_t page_size;

    /* ---- work: a command buffer is filled by one thread, committed once, then asked ---- */
    void *(*queue_make)(void *device, char **message);
    void *(*command_make)(void *queue, char **message);
    /* Over another library's command buffer, to which work is added, and which is neither committed
     * nor waited for. Its encoders are ended by command_end. */
    void *(*command_adopt)(void *command_buffer, char **message);
    bool (*command_end)(void *command, char **message);
    bool (*command_dispatch)(void *command, const struct ig_metal_dispatch *dispatch,
                             char **message);
    bool (*command_copy)(void *command, void *source, uint64_t source_offset, void *destination,
                         uint64_t destination_offset, uint64_t length, char **message);
    bool (*command_fill)(void *command, void *buffer, uint64_t offset, uint64_t length,
                         uint8_t value, char **message);
    bool (*command_signal)(void *command, void *event, uint64_t value, char **message);
    bool (*command_wait_for)(void *command, void *event, uint64_t value, char **message);
    bool (*command_commit)(void *command, char **message);
    void (*command_wait)(void *command);
    /* When it is over: when the GPU ended it, on the host's monotonic clock, and for a failure
     * which kernel failed (a sentence). */
    enum ig_metal_outcome (*command_outcome)(void *command, double *end, char **message);

    void *(*event_make)(void *device, char **message);
};

/* objc/bridge.m */
const struct ig_metal_bridge *ig_metal_bridge_table(void);

#endif
