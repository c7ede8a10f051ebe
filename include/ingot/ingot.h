/*
 * ingot: run Metal compute kernels anywhere.
 *
 * Objects are opaque and reference counted: a function named *_create or *_open hands
 * the caller one reference, *_retain adds one, *_release drops one (NULL is allowed).
 * Descriptors are plain structs whose zero value means the default; initialise them
 * with `= INGOT_..._INIT` or `= {0}`.
 *
 * Every fallible function returns an ingot_status. On failure ingot_error_message()
 * gives, for the calling thread, a sentence that names what was wrong, where, and both
 * values. See docs/guide/ownership.md, docs/guide/errors.md and docs/guide/threads.md.
 */
#ifndef INGOT_INGOT_H
#define INGOT_INGOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(INGOT_STATIC)
#define INGOT_API
#else
#define INGOT_API __attribute__((visibility("default")))
#endif

/* The version's only place: the build, the Python package and the tests read it here. */
#define INGOT_VERSION_MAJOR 0
#define INGOT_VERSION_MINOR 1
#define INGOT_VERSION_PATCH 0

/* ---- errors ------------------------------------------------------------------- */

/* Values are pinned: they never change meaning between versions. */
typedef enum ingot_status {
    INGOT_OK = 0,
    INGOT_INVALID_ARGUMENT = 1, /* a NULL, a zero size, a malformed descriptor */
    INGOT_OUT_OF_MEMORY = 2,
    INGOT_NOT_FOUND = 3,     /* no such kernel, device, function constant or file */
    INGOT_COMPILE_ERROR = 4, /* the Metal source is wrong; the message holds the diagnostics */
    INGOT_NO_COMPILER = 5,   /* a compilation is needed, and ingotc or clang is missing */
    INGOT_BAD_ARCHIVE = 6,   /* not an archive, cut short, damaged, or of another version */
    INGOT_IO_ERROR = 7,
    INGOT_UNSUPPORTED = 8,    /* valid, but not possible on this device or CPU */
    INGOT_LAUNCH_ERROR = 9,   /* the launch validator refused a dispatch */
    INGOT_KERNEL_FAULT = 10,  /* a running kernel touched memory it must not, or trapped */
    INGOT_TIMEOUT = 11,       /* a kernel ran past its time limit */
    INGOT_BARRIER_ERROR = 12, /* some threads of a group never reached a barrier */
    INGOT_DEVICE_LOST = 13,
    INGOT_INTERNAL_ERROR = 14,
    INGOT_CANCELLED = 15, /* ended by ingot_stream_cancel */
} ingot_status;

/* The pinned name of a code, such as "INGOT_LAUNCH_ERROR"; never NULL. */
INGOT_API const char *ingot_status_name(ingot_status status);

/* The message of the last failed call of this thread; "" if none. Valid until the
 * thread's next call into ingot. */
INGOT_API const char *ingot_error_message(void);

/* Of the library that runs, such as "0.1.0". */
INGOT_API const char *ingot_version(void);

typedef struct ingot_device ingot_device;
typedef struct ingot_library ingot_library;
typedef struct ingot_kernel ingot_kernel;
typedef struct ingot_buffer ingot_buffer;
typedef struct ingot_stream ingot_stream;
typedef struct ingot_event ingot_event;

/* ---- devices ------------------------------------------------------------------ */

typedef struct ingot_device_info {
    char name[64];         /* "cpu", "cuda:0", "metal:0" */
    char description[128]; /* "Intel Xeon …, 8 worker threads" */
    char target[32];       /* the code level in use: "x86-64-v4", "sm_90" */
    uint32_t simd_width;   /* 32 on every device */
    uint32_t max_threads_per_threadgroup;
    uint32_t max_threadgroup_memory; /* bytes, static and dynamic together */
    uint32_t compute_units;          /* worker threads or multiprocessors */
    uint64_t max_buffer_length;
    uint32_t min_offset_alignment;     /* of a buffer argument, in bytes */
    bool unified_memory;               /* ingot_buffer_contents works */
    uint32_t threads_per_compute_unit; /* that a launch should have to keep all of them busy */
} ingot_device_info;

struct ingot_finding;
typedef struct ingot_device_desc {
    uint32_t worker_threads;     /* cpu: 0 = one per core this process may use */
    const char *cpu_level;       /* cpu: NULL = the best; "x86-64-v3", "x86-64-v4", … */
    uint32_t threadgroup_memory; /* 0 = 32 KiB; more where the device has it */
    double time_limit_seconds;   /* per dispatch; 0 = $INGOT_KERNEL_SECONDS or 60 s, < 0 = none */
    bool lenient_barriers;       /* threads that have ended, or stand elsewhere, do not count at a
                                    threadgroup barrier, as on Apple's GPUs; false: they are an
                                    INGOT_BARRIER_ERROR, unless INGOT_BARRIERS=lenient is set */
    bool shares_cpus;            /* cpu: another pool of threads takes turns with ingot's, such as
                                    OpenMP's: workers without work soon sleep, and short work
                                    wakes none: who waits for it runs it, or a worker once
                                    ingot_event_done was asked. Short launches of operations
                                    (ingot/ops.h) may be done when the call returns */
    /* cpu: kinds of checks in kernels, "bounds,race", "default" or "all" (docs/guide/sanitizer.md).
     * NULL: as INGOT_SANITIZE says, or else none; "none": none. */
    const char *sanitize;
    /* Called once for each new finding, by a thread that waits for a stream or releases the device,
     * when the work is done. NULL: the report goes to stderr. */
    void (*on_finding)(void *context, const struct ingot_finding *finding);
    void *finding_context;
    bool isolated;    /* cpu: for sources of strangers. Compilers see the given include
                         folders and no other files of yours; each dispatch waits, in
                         a child process that can compute and nothing else. Buffers
                         are created, not wrapped. Linux with Landlock and seccomp */
    bool own_process; /* cuda: the driver is loaded by a process of the device's own, which
                         a fault or a time limit ends; as with INGOT_CUDA_WORKER=1 */
    /* cpu: the order in which dispatches run, as ingot_device_set_schedule takes it. NULL: as
     * INGOT_SCHEDULE says, or else the usual one. */
    const char *schedule;
    bool loose_alignment; /* vectors of sources may lie at any multiple of their elements, as on
                             Apple's GPUs, at the cost of a look at addresses that nothing tells of;
                             false: a fault where that is not so, unless INGOT_ALIGNMENT=loose is
                             set. cuda; CPUs and Apple's GPUs always take them */
} ingot_device_desc;
#define INGOT_DEVICE_DESC_INIT {0}

/* How many devices there are, and what device `index` is, without opening it. */
INGOT_API size_t ingot_device_count(void);
INGOT_API ingot_status ingot_device_describe(size_t index, ingot_device_info *info);

/* Opens a device by name: "cpu", "cuda", "cuda:1". NULL means INGOT_DEVICE from the
 * environment, or else "cpu". desc may be NULL. */
INGOT_API ingot_status ingot_device_open(const char *name, const ingot_device_desc *desc,
                                         ingot_device **device);
INGOT_API void ingot_device_retain(ingot_device *device);
INGOT_API void ingot_device_release(ingot_device *device);
INGOT_API ingot_status ingot_device_get_info(const ingot_device *device, ingot_device_info *info);
/* The order of threadgroups, and of SIMD-groups from barrier to barrier, of dispatches from now on:
 * "fixed" (the usual one), "random", or "random:SEED", where equal seeds give equal orders; or
 * "first:X,Y,Z", with the threadgroup of the thread at this position before the others, or
 * "first-threadgroup:X,Y,Z". With another than the usual one a dispatch runs on one thread. Cpu;
 * others: INGOT_UNSUPPORTED. */
INGOT_API ingot_status ingot_device_set_schedule(ingot_device *device, const char *schedule);

/* ---- findings of the sanitizer -------------------------------------------------- */

/* A call that was inlined: `function` is called at this place. */
typedef struct ingot_frame {
    const char *function, *file;
    uint32_t line, column;
} ingot_frame;

/* Who was where: one of the two sides of a race, or the only side of anything else. */
typedef struct ingot_finding_side {
    const char *file; /* "" where the code has no lines */
    uint32_t line, column;
    const char *source_line;            /* "" where it is not known */
    const char *access;                 /* "load", "store", "atomic", or "" */
    uint32_t threadgroup[3], thread[3]; /* positions: in the grid, and in the threadgroup; of a
                                           race's other side UINT32_MAX where they are not known */
    const ingot_frame *inlined;         /* from the inside outwards */
    size_t inlined_count;
} ingot_finding_side;

typedef struct ingot_finding {
    const char *kind; /* "bounds" */
    const char *message;
    const char *kernel;
    ingot_finding_side side;
    const char *space;        /* "device", "threadgroup", "constant", "thread", or "" */
    const char *argument;     /* or the variable's name; "" where it is not known */
    int32_t argument_index;   /* of [[buffer(n)]] or [[threadgroup(n)]]; -1: none */
    uint64_t argument_bytes;  /* as bound, or those of the variable; 0: not known */
    bool has_offset;          /* from the start of what is bound */
    int64_t offset;           /* in bytes */
    bool has_other;           /* race and barrier: */
    ingot_finding_side other; /* the other thread; without a line where it missed a barrier */
    uint64_t count;           /* how often, by any thread */
    const char *report;       /* all of it as text, of several lines */
} ingot_finding;

/* What the device has found so far: one entry per place and kind. Entries and their strings live
 * until the findings are cleared or the device is closed. */
INGOT_API size_t ingot_device_finding_count(const ingot_device *device);
INGOT_API ingot_status ingot_device_finding(const ingot_device *device, size_t index,
                                            ingot_finding *finding);
INGOT_API void ingot_device_clear_findings(ingot_device *device);

/* ---- libraries ---------------------------------------------------------------- */

typedef struct ingot_define {
    const char *name;
    const char *value; /* NULL means 1 */
} ingot_define;

typedef struct ingot_source_desc {
    const char *source; /* Metal Shading Language */
    size_t length;      /* 0 = strlen(source) */
    const char *name;   /* shown in diagnostics; NULL = "source.metal" */
    const char *const *include_dirs;
    size_t include_dir_count;
    const ingot_define *defines;
    size_t define_count;
    bool fast_math;
    uint32_t msl_version; /* 0 = 320 for __METAL_VERSION__ 320; 310, 300, … */
    bool no_cache;        /* neither read nor write the disk cache */
    bool werror;          /* warnings are errors: also what Apple's compiler would refuse */
} ingot_source_desc;
#define INGOT_SOURCE_DESC_INIT {0}

/* Compiles (or finds in the cache) and lists the kernels. A syntax error is reported
 * here; the message holds file:line:col diagnostics with carets. */
INGOT_API ingot_status ingot_library_create_from_source(ingot_device *device,
                                                        const ingot_source_desc *desc,
                                                        ingot_library **library);
/* The same from a .metal file; desc may be NULL, its source and name are ignored. */
INGOT_API ingot_status ingot_library_create_from_source_file(ingot_device *device, const char *path,
                                                             const ingot_source_desc *desc,
                                                             ingot_library **library);
/* A compiled kernel is native code, and an archive is a program: open those that you trust, or use
 * an isolated device (ingot_device_desc.isolated, SECURITY.md). */
/* An .ingot archive. Needs no compiler as long as the archive holds code for the
 * device and the constants asked for. Or several, one after the other in the file. Or a .metallib
 * that Apple's compiler made, or a file with such libraries inside: opening it compiles nothing,
 * and each kernel is compiled when it is created. Function constants belong to the kernels of the
 * latter two: see ingot_library_of_kernel. */
INGOT_API ingot_status ingot_library_create_from_archive(ingot_device *device, const char *path,
                                                         ingot_library **library);
/* The same from memory. The bytes are copied. */
INGOT_API ingot_status ingot_library_create_from_memory(ingot_device *device, const void *bytes,
                                                        size_t length, ingot_library **library);
INGOT_API void ingot_library_retain(ingot_library *library);
INGOT_API void ingot_library_release(ingot_library *library);

/* Warnings of the compilation; "" if none. Lives as long as the library. */
INGOT_API const char *ingot_library_warnings(const ingot_library *library);

INGOT_API size_t ingot_library_kernel_count(const ingot_library *library);
/* NULL when index is out of range. Lives as long as the library. */
INGOT_API const char *ingot_library_kernel_name(const ingot_library *library, size_t index);

typedef enum ingot_scalar_type {
    INGOT_SCALAR_NONE = 0, /* a struct, or not known */
    INGOT_SCALAR_BOOL = 1,
    INGOT_SCALAR_I8 = 2,
    INGOT_SCALAR_U8 = 3,
    INGOT_SCALAR_I16 = 4,
    INGOT_SCALAR_U16 = 5,
    INGOT_SCALAR_I32 = 6,
    INGOT_SCALAR_U32 = 7,
    INGOT_SCALAR_I64 = 8,
    INGOT_SCALAR_U64 = 9,
    INGOT_SCALAR_F16 = 10,
    INGOT_SCALAR_BF16 = 11,
    INGOT_SCALAR_F32 = 12,
} ingot_scalar_type;

typedef struct ingot_constant_info {
    const char *name;
    uint32_t index;
    ingot_scalar_type type; /* element type of a vector constant */
    uint32_t components;    /* 1 to 4 */
    bool required;          /* no kernel that uses it can be made without a value */
} ingot_constant_info;

INGOT_API size_t ingot_library_constant_count(const ingot_library *library);
INGOT_API ingot_status ingot_library_constant_info(const ingot_library *library, size_t index,
                                                   ingot_constant_info *info);

/* The library that holds one kernel, which the caller releases: it lists the function constants
 * that the kernel has. Of a .metallib each kernel has its own, and asking for it compiles the
 * kernel; of several archives in a file it is that of the archive, of other libraries the library
 * itself. */
INGOT_API ingot_status ingot_library_of_kernel(ingot_library *library, const char *kernel,
                                               ingot_library **result);

/* ---- kernels ------------------------------------------------------------------ */

/* A function constant's value. Set name, or leave it NULL and set index. `bytes` holds
 * `size` bytes in the constant's own type: a wrong size is an error that names both. */
typedef struct ingot_constant {
    const char *name;
    uint32_t index;
    const void *bytes;
    size_t size;
} ingot_constant;

typedef struct ingot_kernel_desc {
    const char *name;
    const ingot_constant *constants;
    size_t constant_count;
} ingot_kernel_desc;
#define INGOT_KERNEL_DESC_INIT {0}

INGOT_API ingot_status ingot_kernel_create(ingot_library *library, const ingot_kernel_desc *desc,
                                           ingot_kernel **kernel);
/* Who keeps compiled kernels of his own: a key and an archive for each. The key tells apart
 * whatever the code depends on (source, options, name, constants, the device's target and its
 * contract with code), but not the compiler's version; nothing is compiled for it, but a
 * .metallib's module. */
enum { INGOT_KERNEL_KEY_SIZE = 65 };
INGOT_API ingot_status ingot_kernel_key(ingot_library *library, const ingot_kernel_desc *desc,
                                        char key[INGOT_KERNEL_KEY_SIZE]);
/* The archive that holds the kernel's code, for ingot_library_create_from_memory. The bytes live as
 * long as the kernel. */
INGOT_API ingot_status ingot_kernel_archive(const ingot_kernel *kernel, const void **bytes,
                                            size_t *size);
INGOT_API void ingot_kernel_retain(ingot_kernel *kernel);
INGOT_API void ingot_kernel_release(ingot_kernel *kernel);

typedef enum ingot_argument_kind {
    INGOT_ARGUMENT_BUFFER = 1,      /* device or constant pointer, or a reference */
    INGOT_ARGUMENT_THREADGROUP = 2, /* dynamic threadgroup memory */
} ingot_argument_kind;

typedef enum ingot_address_space {
    INGOT_SPACE_DEVICE = 1,
    INGOT_SPACE_THREADGROUP = 3,
    INGOT_SPACE_CONSTANT = 6,
} ingot_address_space;

typedef struct ingot_argument_info {
    const char *name;
    const char *type_name; /* as MSL spells the pointee: "float", "uint3", "Params" */
    ingot_argument_kind kind;
    ingot_address_space space;
    uint32_t index;     /* of [[buffer(n)]] or [[threadgroup(n)]] */
    uint64_t type_size; /* of the pointee, in bytes */
    uint64_t type_align;
    ingot_scalar_type scalar; /* element type of a scalar or vector pointee */
    uint32_t components;      /* 1 for a scalar, 2 to 4 for a vector, 0 otherwise */
    bool is_reference;        /* exactly one value of the type, not an array of them */
    bool writable;            /* not const */
    bool active;              /* false: absent because of [[function_constant(…)]] */
    bool used;                /* false: the code never reads it, and it need not be bound */
} ingot_argument_info;

/* A member of the struct that an argument points to: an argument buffer's layout. */
typedef struct ingot_member_info {
    uint32_t id;            /* of [[id(n)]], or one more than that of the member before */
    uint32_t count;         /* elements of an array, each with an id; 1 otherwise */
    uint64_t offset, size;  /* in bytes; the size is that of one element */
    uint32_t pointer_space; /* ingot_address_space of what a pointer points to; 0: a value */
    ingot_scalar_type scalar;
    uint32_t components;
} ingot_member_info;

/* The members of the struct behind the kernel's argument [[buffer(index)]], for libraries that have
 * their source: this runs the compiler. Writes at most `capacity` of them; *count is how many there
 * are, 0 where it points to no struct. INGOT_UNSUPPORTED: a member is no pointer, scalar, vector or
 * array of these. */
INGOT_API ingot_status ingot_library_argument_members(ingot_library *library, const char *kernel,
                                                      uint32_t index, ingot_member_info *members,
                                                      size_t capacity, size_t *count);

typedef struct ingot_kernel_info {
    const char *name;
    uint32_t argument_count;
    uint32_t max_threads_per_threadgroup;
    uint32_t thread_execution_width;
    uint32_t static_threadgroup_memory_length;
} ingot_kernel_info;

/* Strings in both live as long as the kernel. */
INGOT_API ingot_status ingot_kernel_get_info(const ingot_kernel *kernel, ingot_kernel_info *info);
INGOT_API ingot_status ingot_kernel_argument_info(const ingot_kernel *kernel, size_t position,
                                                  ingot_argument_info *info);

/* ---- buffers ------------------------------------------------------------------ */

INGOT_API ingot_status ingot_buffer_create(ingot_device *device, uint64_t length,
                                           ingot_buffer **buffer);
/* The same in memory that both the host and the device address: ingot_buffer_contents works on
 * every device. On a GPU with memory of its own it moves between the two as they touch it, so what
 * only kernels use is better there. INGOT_UNSUPPORTED where the device has no such memory. */
INGOT_API ingot_status ingot_buffer_create_shared(ingot_device *device, uint64_t length,
                                                  ingot_buffer **buffer);
/* A part of a buffer as a buffer of its own, which keeps the whole alive. */
INGOT_API ingot_status ingot_buffer_create_view(ingot_buffer *whole, uint64_t offset,
                                                uint64_t length, ingot_buffer **buffer);
/* Wraps the caller's memory without a copy: host memory, or on a GPU without unified
 * memory a pointer to its own. It must outlive the buffer and every
 * dispatch that uses it; `on_release`, if any, is called once when ingot is done. */
INGOT_API ingot_status ingot_buffer_wrap(ingot_device *device, void *memory, uint64_t length,
                                         void (*on_release)(void *context), void *context,
                                         ingot_buffer **buffer);
/* The same for the host's own memory (of malloc or mmap), on every device: ingot_buffer_contents is
 * `memory`. A GPU with memory of its own reads and writes it where it is, over the bus. Its pages
 * are locked until the buffer is gone, so release the buffer before the memory.
 * INGOT_UNSUPPORTED where the device cannot. */
INGOT_API ingot_status ingot_buffer_wrap_host(ingot_device *device, void *memory, uint64_t length,
                                              void (*on_release)(void *context), void *context,
                                              ingot_buffer **buffer);
/* ingot_buffer_wrap by the memory's address on the device (see ingot_buffer_address), which the
 * caller knows to be there: the device is not asked, which on a GPU takes longer than all else
 * here. */
INGOT_API ingot_status ingot_buffer_wrap_address(ingot_device *device, uint64_t address,
                                                 uint64_t length, void (*on_release)(void *context),
                                                 void *context, ingot_buffer **buffer);
INGOT_API void ingot_buffer_retain(ingot_buffer *buffer);
INGOT_API void ingot_buffer_release(ingot_buffer *buffer);
INGOT_API uint64_t ingot_buffer_length(const ingot_buffer *buffer);
/* Host pointer, or NULL where the device has no unified memory. */
INGOT_API void *ingot_buffer_contents(const ingot_buffer *buffer);
/* What a kernel sees as the buffer's address: the element of an argument buffer. */
INGOT_API uint64_t ingot_buffer_address(const ingot_buffer *buffer);

/* ---- tensors ------------------------------------------------------------------ */

/* The argument of a kernel's parameter tensor<device T, …>, as bytes or in a buffer. Dimension 0
 * is the innermost; strides count elements. */
#define INGOT_TENSOR_RANK 16
typedef struct ingot_tensor_argument {
    uint64_t address;
    int64_t extents[INGOT_TENSOR_RANK];
    int64_t strides[INGOT_TENSOR_RANK];
} ingot_tensor_argument;
/* Fills one in for the buffer's memory from `offset` bytes on. strides NULL: packed. The buffer
 * must outlive every dispatch that uses it. */
INGOT_API ingot_status ingot_tensor_argument_of(const ingot_buffer *buffer, uint64_t offset,
                                                uint32_t rank, const int64_t *extents,
                                                const int64_t *strides,
                                                ingot_tensor_argument *tensor);

/* ---- streams ------------------------------------------------------------------ */

/* Work on one stream runs in order, asynchronously to the caller; streams run
 * independently of each other. The first failure stops the stream: later work is
 * dropped until ingot_stream_wait has returned the error once. */
INGOT_API ingot_status ingot_stream_create(ingot_device *device, ingot_stream **stream);
/* Work goes to a stream of another library, such as a CUstream (NULL: CUDA's default
 * stream), in order with what that puts there; it must outlive the ingot_stream. The time
 * limit does not hold there. INGOT_UNSUPPORTED on devices without such streams. */
INGOT_API ingot_status ingot_stream_wrap(ingot_device *device, void *native, ingot_stream **stream);
INGOT_API void ingot_stream_retain(ingot_stream *stream);
INGOT_API void ingot_stream_release(ingot_stream *stream); /* waits for the work */

typedef struct ingot_arg {
    ingot_buffer *buffer; /* a buffer and an offset into it … */
    uint64_t offset;
    const void *bytes; /* … or, with buffer NULL, bytes that are copied at encoding … */
    size_t size;
    /* … or all zero: absent, if not read, or a device pointer that is compared with null */
} ingot_arg;

typedef struct ingot_dispatch_desc {
    ingot_kernel *kernel;
    uint32_t threads[3];      /* the grid in threads; the last groups may be partial … */
    uint32_t threadgroups[3]; /* … or in whole threadgroups; set exactly one of the two */
    uint32_t group[3];        /* threads per threadgroup; {0} = a default that fits */
    const ingot_arg *args;    /* args[i] is [[buffer(i)]] */
    size_t arg_count;
    const uint32_t *threadgroup_lengths; /* bytes for [[threadgroup(i)]] */
    size_t threadgroup_length_count;
    double time_limit_seconds; /* 0 = the device's */
} ingot_dispatch_desc;
#define INGOT_DISPATCH_DESC_INIT {0}

/* Zero in a y or z extent means 1; in x it means nothing to do. Everything is checked
 * before anything runs; see INGOT_LAUNCH_ERROR. Retains what it needs. */
INGOT_API ingot_status ingot_stream_dispatch(ingot_stream *stream, const ingot_dispatch_desc *desc);
INGOT_API ingot_status ingot_stream_copy(ingot_stream *stream, ingot_buffer *source,
                                         uint64_t source_offset, ingot_buffer *destination,
                                         uint64_t destination_offset, uint64_t length);
INGOT_API ingot_status ingot_stream_fill(ingot_stream *stream, ingot_buffer *buffer,
                                         uint64_t offset, uint64_t length, uint8_t value);
/* Between the caller's memory and a buffer, on every device, in order with the stream's
 * work. The bytes have been taken, or are there, when the call returns; an error of earlier
 * work may be returned instead, as by ingot_stream_wait. */
INGOT_API ingot_status ingot_stream_upload(ingot_stream *stream, ingot_buffer *buffer,
                                           uint64_t offset, const void *host, uint64_t length);
INGOT_API ingot_status ingot_stream_download(ingot_stream *stream, ingot_buffer *buffer,
                                             uint64_t offset, void *host, uint64_t length);
/* Blocks until all work so far is done; returns the stream's first error, and clears it. */
INGOT_API ingot_status ingot_stream_wait(ingot_stream *stream);
/* Ends the work that the stream has at the moment, from any thread: a kernel that runs is stopped
 * where it is, as by its time limit, what is queued behind it is dropped, and who waits for
 * the stream gets INGOT_CANCELLED. Returns at once; does nothing to a stream without work. A wait
 * for an event goes on until the event is there. INGOT_UNSUPPORTED on devices that cannot stop a
 * kernel (GPUs). */
INGOT_API ingot_status ingot_stream_cancel(ingot_stream *stream);

/* Events mark a point of a stream. */
INGOT_API ingot_status ingot_event_create(ingot_device *device, ingot_event **event);
INGOT_API void ingot_event_retain(ingot_event *event);
INGOT_API void ingot_event_release(ingot_event *event);
INGOT_API ingot_status ingot_stream_record(ingot_stream *stream, ingot_event *event);
INGOT_API ingot_status ingot_stream_wait_event(ingot_stream *stream, ingot_event *event);
INGOT_API ingot_status ingot_event_wait(ingot_event *event);
INGOT_API bool ingot_event_done(const ingot_event *event);
/* Seconds between two completed events on the device's clock. */
INGOT_API ingot_status ingot_event_elapsed(const ingot_event *start, const ingot_event *end,
                                           double *seconds);
/* When a completed event was reached: seconds on the host's CLOCK_MONOTONIC. */
INGOT_API ingot_status ingot_event_time(const ingot_event *event, double *seconds);

/* ---- kernel output ------------------------------------------------------------ */

/* Receives what kernels print through os_log, one message at a time, from a worker
 * thread. NULL restores the default, which writes to stderr. */
typedef void (*ingot_log_function)(void *context, int level, const char *message);
INGOT_API void ingot_set_log_function(ingot_log_function function, void *context);

#ifdef __cplusplus
}
#endif
#endif
