/*
 * The runtime's objects behind the opaque handles of ingot.h.
 *
 * Everything but the reference counts is constant after creation, so objects are read
 * without locks; what changes (queues, events) belongs to the device.
 */
#ifndef INGOT_RUNTIME_OBJECTS_H
#define INGOT_RUNTIME_OBJECTS_H

#include "runtime/device.h"
#include "runtime/fork.h"

/* An archive file in memory, read once and shared by libraries, kernels and the memo. */
struct ig_blob {
    atomic_uint references;
    char *bytes;
    size_t size;
    struct ig_arena arena;
    struct ig_archive archive; /* points into bytes and arena */
};

/* Takes `bytes` (malloc'ed) in every case. */
ingot_status ig_blob_create(char *bytes, size_t size, struct ig_blob **blob,
                            struct ig_error *error);
void ig_blob_retain(struct ig_blob *blob);
void ig_blob_release(struct ig_blob *blob);
/* What messages call an archive: its source, where it has one only. */
static inline const char *ig_archive_name(const struct ig_archive *archive) {
    return *archive->source_name ? archive->source_name : "the archive";
}

struct ig_hash;
/* Code for debuggers names files by the folder that it was compiled in: so is its key. */
void ig_hash_debug_folder(struct ig_hash *hash, const ingot_device *device);

struct ingot_library {
    atomic_uint references;
    ingot_device *device;
    struct ig_blob *blob;
    struct ig_compiled *compiled; /* Apple's compiler made it; NULL: ours did */
    struct ig_joined *joined;     /* several archives in one file; NULL: one */
    bool no_cache;
};

#define IG_MAX_BUFFER_INDEX      64u
#define IG_MAX_THREADGROUP_INDEX 32u

struct ingot_kernel {
    atomic_uint references;
    ingot_device *device;
    struct ig_blob *blob; /* what the variant points into */
    const struct ig_variant *variant;
    void *loaded;         /* the device's own */
    uint32_t max_threads; /* of a threadgroup: what the device, the source and the code allow */
    /* Launch tables: argument position + 1 by index, 0 where there is none. */
    uint8_t buffer_at[IG_MAX_BUFFER_INDEX];
    uint8_t threadgroup_at[IG_MAX_THREADGROUP_INDEX];
    uint32_t buffer_slots, threadgroup_slots;
    uint32_t buffer_end, threadgroup_end; /* one past the highest active index */
};

struct ingot_buffer {
    atomic_uint references;
    ingot_device *device;
    uint64_t length;
    void *contents;         /* host pointer or NULL */
    uint64_t address;       /* what kernels see */
    void *memory;           /* the device's own */
    bool wrapped, is_known; /* known: memory that the device need not be asked about */
    bool is_host;           /* wrapped memory of the host's, or a part of it */
    atomic_bool is_reached; /* by kernels, where is_host */
    ingot_buffer *whole;    /* of which this is a part; NULL: of none */
    void (*on_release)(void *context);
    void *context;
};

/* Before kernels use the buffer. */
ingot_status ig_buffer_reach(ingot_buffer *buffer, struct ig_error *error);

struct ingot_stream {
    atomic_uint references;
    ingot_device *device;
    void *queue;            /* the device's own */
    const void *order;      /* work of streams with the same value runs in order */
    struct ig_spans *spans; /* observe.h; NULL: nobody watches */
};

struct ingot_event {
    atomic_uint references;
    ingot_device *device;
    void *state; /* the device's own */
};

/* ---- compiled_library.c: what Apple's compiler made ---- */

/* Do the bytes begin like a .metallib, or like a file that may hold one? */
bool ig_compiled_is(const void *bytes, size_t size);
/* `file` is open for reading, and stays the caller's; `path` names it in messages. */
ingot_status ig_compiled_open_file(ingot_device *device, int file, const char *path,
                                   ingot_library **library, struct ig_error *error);
/* The bytes are copied. */
ingot_status ig_compiled_open_memory(ingot_device *device, const void *bytes, size_t size,
                                     ingot_library **library, struct ig_error *error);
/* The library that one of its kernels is alone in; it lives as long as `library`. */
ingot_status ig_compiled_kernel(ingot_library *library, const char *name, ingot_library **kernel,
                                struct ig_error *error);
void ig_compiled_free(struct ig_compiled *compiled);

/* ---- joined_library.c: several archives in one file ---- */

ingot_status ig_joined_open(ingot_device *device, const char *bytes, size_t size,
                            ingot_library **library, struct ig_error *error);
/* The library of the archive that has the kernel, which lives as long as `library`; NULL: none. */
ingot_library *ig_joined_part(const ingot_library *library, const char *kernel);
void ig_joined_free(struct ig_joined *joined);

/* ---- library.c ---- */

/* Of one archive, or of several behind each other. Takes over the bytes (malloc'ed), also on
 * failure. */
ingot_status ig_library_from_archive(ingot_device *device, char *bytes, size_t size,
                                     ingot_library **library, struct ig_error *error);
/* The whole of a .metallib, for a device that takes them as they are (ops->compile). */
ingot_status ig_library_from_compiled(ingot_device *device, const char *name, const void *bytes,
                                      size_t size, ingot_library **library, struct ig_error *error);
/* A library of one module of bitcode. */
ingot_status ig_library_from_module(ingot_device *device, const char *name, const void *module,
                                    size_t size, ingot_library **library, struct ig_error *error);

/* ---- helpers of the API functions ---- */

static inline void ig_retain(atomic_uint *references) {
    atomic_fetch_add_explicit(references, 1, memory_order_relaxed);
}

/* True for the one who must destroy the object. */
static inline bool ig_release(atomic_uint *references) {
    return atomic_fetch_sub_explicit(references, 1, memory_order_acq_rel) == 1;
}

/* Makes *error the calling thread's message (taking it over) and returns its status. */
ingot_status ig_api_result(struct ig_error *error);
/* Sets the calling thread's message directly. */
ingot_status ig_api_fail(ingot_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* buffer.c: a buffer with these bytes, without the help of a stream. */
ingot_status ig_buffer_create_with(ingot_device *device, const void *bytes, uint64_t size,
                                   ingot_buffer **result);
/* stream.c: is its work recorded into a graph instead of run? */
bool ig_stream_is_captured(const ingot_stream *stream);

/* log.c: hands a finished line to the user's function or to stderr. */
void ig_log_message(int level, const char *message);
/* Makes the line from a format and 8-byte slots; `string` finds the text that a slot of %s means.
 */
struct ig_text;
typedef const char *(*ig_log_string_function)(void *context, uint64_t address);
void ig_log_format(struct ig_text *out, const char *format, uint32_t count, const uint64_t *args,
                   ig_log_string_function string, void *context);

/* validate.c: every check of a dispatch; fills *launch. An empty grid gives groups[0] == 0.
 * `memory`: the limit of threadgroup memory.
 * `offsets` has room for IG_MAX_THREADGROUP_INDEX entries. */
ingot_status ig_validate_dispatch(const ingot_device *device, uint32_t memory,
                                  const ingot_dispatch_desc *desc, struct ig_launch *launch,
                                  uint32_t *offsets, struct ig_error *error);

/* stream.c: ingot_stream_dispatch for the operation library, with that limit of threadgroup memory.
 * Who calls holds what the kernel uses until this returns, and a short one may then be done. */
ingot_status ig_stream_dispatch_own(ingot_stream *stream, const ingot_dispatch_desc *desc,
                                    uint32_t memory);

/* constants.c: "0:01;7:00008040" in the arena. */
ingot_status ig_constants_canonical(const struct ig_archive *archive, const ingot_constant *values,
                                    size_t count, struct ig_arena *arena, char **text,
                                    struct ig_error *error);

/* cache.c */
void ig_cache_key_hex(struct ig_hash *hash, char hex[65]);
/* The archive kept under the key in this process or on disk, if it is whole and current, else NULL.
 * An error only when INGOT_CACHE_LIMIT is no size. */
ingot_status ig_cache_find(const char *hex, struct ig_blob **blob, struct ig_error *error);
/* Keeps it in both; failures are silent, the cache is only a cache. */
void ig_cache_keep(const char *hex, struct ig_blob *blob);

/* program.c: the path of a program, malloc'ed: what $variable names, else the one beside libingot,
 * else the one in $PATH. NULL with INGOT_NOT_FOUND, which says where it was looked for. */
char *ig_program_find(const char *name, const char *variable, struct ig_error *error);

/* compiler_process.c */
struct ig_compiler {
    char *path;     /* of ingotc */
    char *identity; /* changes when the compiler does */
    bool isolated;  /* it may see its own files and the include folders only */
};
/* INGOT_NO_COMPILER when there is none. */
ingot_status ig_compiler_find(struct ig_compiler *compiler, struct ig_error *error);
void ig_compiler_free(struct ig_compiler *compiler);
/* Runs `ingotc - -o FILE ARGUMENTS...` with `source` on stdin; arguments is NULL-terminated. */
ingot_status ig_compiler_run(const struct ig_compiler *compiler, const char *source, size_t length,
                             const char *const *arguments, char **bytes, size_t *size,
                             struct ig_error *error);

#endif
