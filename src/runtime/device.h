/*
 * What a kind of device implements.
 *
 * The runtime (library.c, kernel.c, buffer.c, stream.c, event.c) checks arguments, counts
 * references and encodes launches; a device owns code, memory and queues. No lock of the
 * runtime is held during any call below, and every entry may be called from any thread at
 * any time; calls that name the same stream may overlap. All entries are required but those
 * that say when they may be NULL.
 */
#ifndef INGOT_RUNTIME_DEVICE_H
#define INGOT_RUNTIME_DEVICE_H

#include <stdatomic.h>

#include "base/archive.h"
#include "base/error.h"
#include "base/text.h"

/* A validated dispatch. Pointers live only for the duration of the call. */
struct ig_launch {
    ingot_kernel *kernel;
    uint32_t groups[3];  /* threadgroups per grid, none zero */
    uint32_t group[3];   /* threads per full threadgroup */
    uint32_t threads[3]; /* per grid */
    const ingot_arg *args;
    size_t arg_count;
    uint32_t threadgroup_bytes;          /* static and dynamic */
    const uint32_t *threadgroup_offsets; /* by slot */
    uint32_t threadgroup_slots;
    const uint32_t *threadgroup_lengths; /* by index, as the caller gave them */
    size_t threadgroup_length_count;
    double time_limit_seconds; /* <= 0: none */
    bool is_own; /* of the operation library, whose hosts check what their kernels reach */
};

/* What a device that compiles source itself is asked for. */
struct ig_compilation {
    const char *name;
    /* The kernels of a source, with what it includes: */
    const char *source;
    size_t length;
    const char *own_folder;        /* where its includes are looked for first; or NULL */
    const ingot_source_desc *desc; /* folders, macros and options; or NULL */
    const struct ig_code *text;    /* or what an archive has instead (base/source_text.h) */
    /* Those of a library that Apple's compiler made (.metallib), whole: */
    const void *compiled;
    size_t compiled_size;
    /* One kernel of an archive's source, with values of constants as in struct ig_variant: */
    const struct ig_archive *archive;
    const char *kernel, *constants; /* NULL: see above */
    bool no_cache;                  /* what a device keeps on disk is neither read nor written */
};

struct ig_device_ops {
    /* The last reference is gone: nothing else of this device exists any more. Called from
     * the thread that released it, never from one of the device's own threads. */
    void (*close)(ingot_device *device);

    /* Compiles source to the bytes (malloc'ed) of an archive: with the list of kernels and
     * constants and a source that needs no other file, or with one variant and its code. NULL:
     * ingotc compiles for the device. */
    ingot_status (*compile)(ingot_device *device, const struct ig_compilation *wanted, char **bytes,
                            size_t *size, struct ig_error *error);

    /* The code of `variant` that suits the device best, or NULL. */
    const struct ig_code *(*code_find)(ingot_device *device, const struct ig_variant *variant);
    /* Makes `code` of `variant`, unpacked, ready to run; *loaded is the device's own. The code's
     * bytes are gone after the call. */
    ingot_status (*code_load)(ingot_device *device, const struct ig_variant *variant,
                              const struct ig_code *code, void **loaded, struct ig_error *error);
    void (*code_unload)(ingot_device *device, void *loaded);
    /* The most threads of a threadgroup that loaded code can have; NULL: as the variant says. */
    uint32_t (*code_threads)(const void *loaded);

    /* Fills in the contents, address and memory of a buffer of buffer->length bytes, zeroed. */
    ingot_status (*buffer_allocate)(ingot_device *device, ingot_buffer *buffer,
                                    struct ig_error *error);
    /* The same in memory that has contents; NULL where buffer_allocate's has. */
    ingot_status (*buffer_allocate_shared)(ingot_device *device, ingot_buffer *buffer,
                                           struct ig_error *error);
    void (*buffer_free)(ingot_device *device, ingot_buffer *buffer);
    /* The same for caller memory, which `contents` holds: a pointer that the host can use, or,
     * where the device has memory of its own, one of that, and `contents` becomes NULL. */
    ingot_status (*buffer_wrap)(ingot_device *device, ingot_buffer *buffer, struct ig_error *error);
    void (*buffer_unwrap)(ingot_device *device, ingot_buffer *buffer);
    /* The same for the host's own memory, which stays in `contents`; NULL where buffer_wrap takes
     * it. Unwrapped by buffer_unwrap. buffer_reach is called before a kernel first uses it. */
    ingot_status (*buffer_wrap_host)(ingot_device *device, ingot_buffer *buffer,
                                     struct ig_error *error);
    ingot_status (*buffer_reach)(ingot_device *device, ingot_buffer *buffer,
                                 struct ig_error *error);
    /* Copies to the start of a buffer that nothing uses yet, and waits for it; NULL where the
     * host writes the contents. */
    ingot_status (*buffer_write)(ingot_device *device, ingot_buffer *buffer, const void *bytes,
                                 uint64_t size, struct ig_error *error);
    /* The host has written there, or may now; NULL where nobody wants to know. */
    void (*buffer_written)(const ingot_buffer *buffer, uint64_t offset, uint64_t length);

    /* The order in which the next dispatches run; NULL where the hardware decides. */
    ingot_status (*set_schedule)(ingot_device *device, const char *schedule,
                                 struct ig_error *error);

    /* Queued work holds references to its buffers until it is done. */
    bool work_holds_buffers;
    ingot_status (*stream_open)(ingot_device *device, void **stream, struct ig_error *error);
    /* A queue of another library; NULL where there are none. */
    ingot_status (*stream_wrap)(ingot_device *device, void *native, void **stream,
                                struct ig_error *error);
    /* Is work recorded into a graph instead of run? NULL where there are none. */
    bool (*stream_is_captured)(void *stream);
    /* Waits for the work, whose errors are lost. */
    void (*stream_close)(void *stream);
    /* Queue work and return. What the work uses is retained until it is done, or whoever frees
     * it (code_unload, buffer_free, buffer_unwrap) waits. */
    ingot_status (*stream_dispatch)(void *stream, const struct ig_launch *launch,
                                    struct ig_error *error);
    ingot_status (*stream_copy)(void *stream, ingot_buffer *source, uint64_t source_offset,
                                ingot_buffer *destination, uint64_t destination_offset,
                                uint64_t length, struct ig_error *error);
    ingot_status (*stream_fill)(void *stream, ingot_buffer *buffer, uint64_t offset,
                                uint64_t length, uint8_t value, struct ig_error *error);
    /* Between host memory and a buffer without contents, after the stream's earlier work. The
     * bytes have left or reached `host` on return. Both are NULL where memory is unified. */
    ingot_status (*stream_upload)(void *stream, ingot_buffer *buffer, uint64_t offset,
                                  const void *host, uint64_t length, struct ig_error *error);
    ingot_status (*stream_download)(void *stream, ingot_buffer *buffer, uint64_t offset, void *host,
                                    uint64_t length, struct ig_error *error);
    ingot_status (*stream_record)(void *stream, ingot_event *event, struct ig_error *error);
    ingot_status (*stream_wait_event)(void *stream, ingot_event *event, struct ig_error *error);
    /* Blocks; moves the stream's first error, if any, to *error and clears it. */
    ingot_status (*stream_wait)(void *stream, struct ig_error *error);
    /* Ends the work so far, at once or soon. NULL where that is not possible. */
    void (*stream_cancel)(void *stream);

    ingot_status (*event_open)(ingot_device *device, void **event, struct ig_error *error);
    void (*event_close)(void *event);
    ingot_status (*event_wait)(void *event, struct ig_error *error);
    bool (*event_done)(void *event);
    /* On the device's clock; false while one was never recorded or is not done. */
    bool (*event_elapsed)(void *start, void *end, double *seconds);
    /* On the host's monotonic clock; false as above. */
    bool (*event_time)(void *event, double *seconds);
};

/* What a device can do, beyond the limits that users see (ingot_device_info). The host code of the
 * operations chooses by this (ops/call.h), never by a device's name. `open` fills it in; the zero
 * value is a device without any of it. */
struct ig_capabilities {
    /* Bytes of threadgroup memory that ingot's own kernels may use: no less than info says. */
    uint32_t max_threadgroup_memory;
    /* Stores can go past the caches. Then a result of more than cache_bytes is to be stored so:
     * nobody would find it in a cache. */
    bool has_nontemporal_stores;
    uint64_t cache_bytes;
    /* Scratch memory, in bytes, for the part of a batch that one launch works on: enough to keep
     * all compute units busy, and not more than caches hold where that is what matters. */
    uint64_t batch_scratch_bytes;
    /* SIMD-groups of a threadgroup run at the same time: one threadgroup is faster than one
     * SIMD-group. False: they take turns on a core. */
    bool has_concurrent_simdgroups;
    /* The hardware's approximate reciprocal root is worth a correction step after it. */
    bool has_fast_reciprocal_root;
};

/* The compiler's option, which archives keep for other variants. */
#define IG_LOOSE_ALIGNMENT "--loose-alignment"

/* Devices embed this as their first member. */
struct ingot_device {
    atomic_uint references;
    const struct ig_device_kind *kind; /* set by ingot_device_open, all else by the device */
    const struct ig_device_ops *ops;
    ingot_device_info info;
    struct ig_capabilities capabilities;
    double time_limit_seconds;      /* the default of dispatches; < 0: none */
    bool loose_alignment;           /* its code asks vectors' addresses (ingotc's option) */
    bool for_debuggers;             /* code names files as debuggers find them */
    char sanitize[128];             /* kinds of checks that its code has, as a list; "": none */
    bool sanitizes_sources;         /* only them: code of archives without checks runs as it is */
    struct ig_sanitizer *sanitizer; /* runtime/sanitize; NULL: none */
    uint32_t number;                /* from 1, of devices that are watched (observe.h) */
    bool isolated;                  /* kernels and compilers run in processes without rights */
};

/* One entry per kind of device; device_kinds.c holds the table. */
struct ig_device_kind {
    const char *name; /* "cpu": devices are "cpu" or "cpu:N"; policies and variants say it too */
    /* Of the contract between code and device: archives in the cache of another one are not used.
     */
    uint32_t abi_version;
    bool can_be_isolated; /* knows ingot_device_desc.isolated */
    bool can_be_counted;  /* runs code with the profiler's counters */
    /* Does what a policy says of code level `level` hold for a device of level `target`? NULL: only
     * where they are the same. */
    bool (*level_holds)(const char *level, const char *target);
    size_t (*count)(void);
    /* Why the count is 0; NULL where that cannot be. */
    void (*absence)(struct ig_error *error);
    ingot_status (*describe)(size_t index, ingot_device_info *info, struct ig_error *error);
    ingot_status (*open)(size_t index, const ingot_device_desc *desc, ingot_device **device,
                         struct ig_error *error);
};

/* ---- barriers.c ---- */
/* Are threads that miss a threadgroup barrier allowed to? */
bool ig_lenient_barriers(const ingot_device_desc *desc);
/* What is wrong with a barrier that a SIMD-group reached with some of its lanes, or only some
 * SIMD-groups: bits of those that came, and of those that there are. */
void ig_say_lanes_missing(struct ig_text *text, uint32_t simdgroup, uint32_t came, uint32_t all);
void ig_say_simdgroups_ended(struct ig_text *text, uint32_t came, uint32_t all);

/* ---- device_kinds.c: every kind that this build has; the first is the default ---- */
extern const struct ig_device_kind *const ig_device_kinds[];
extern const size_t ig_device_kind_count;

#endif
