/*
 * What the host code of an operation is written with: one `struct igo_call` per call, on
 * which checks and launches are made. The first failure sticks: everything after it does
 * nothing, so host code reads straight down and returns igo_end(&call).
 *
 *     struct igo_call call;
 *     igo_begin(&call, ops, stream, &igo_library_rms_norm, &operations[RMS_NORM], desc);
 *     igo_tensor(&call, "x", desc->x, IGO_FLOATS, 1, INGOT_MAX_RANK);
 *     …
 *     igo_dispatch(&call, &launch);
 *     return igo_end(&call);
 */
#ifndef INGOT_OPS_CALL_H
#define INGOT_OPS_CALL_H

#include "base/error.h"
#include "ingot/ops.h"

#define IGO_TYPE(scalar) (1u << (scalar))
#define IGO_FLOATS                                                                                 \
    (IGO_TYPE(INGOT_SCALAR_F32) | IGO_TYPE(INGOT_SCALAR_F16) | IGO_TYPE(INGOT_SCALAR_BF16))
#define IGO_INDICES (IGO_TYPE(INGOT_SCALAR_I32) | IGO_TYPE(INGOT_SCALAR_I64))

/* ---- what a folder of kernels/ offers ------------------------------------------------ */

/* One folder under kernels/, named `name`: its archive and its operations. The folder's C file
 * defines `const struct igo_library igo_library_NAME`; the build makes the list of all. */
struct igo_call;
struct igo_library {
    const char *name;
    const struct ingot_ops_info *operations;
    size_t operation_count;
    /* to = from in to's float type; NULL where no operation uses common/float_view.h. */
    bool (*convert)(struct igo_call *call, const ingot_tensor *from, const ingot_tensor *to);
};

enum { IGO_MAX_KNOBS = 8, IGO_MAX_ARGS = 31, IGO_MAX_CONSTANTS = 16, IGO_KEY_SIZE = 128 };

/* ---- one call -------------------------------------------------------------------------- */

struct igo_extents { /* of the last launch, for who asks; group[0] is 0 where there was none */
    uint32_t grid[3], group[3];
    bool threads; /* the grid counts threads, not threadgroups */
};

struct igo_call {
    ingot_ops *ops;
    ingot_stream *stream;
    const struct igo_library *library;
    const struct ingot_ops_info *operation;
    struct ig_error error;
    bool failed;
    bool empty;                    /* igo_done was called: there is nothing to do */
    uint32_t knobs[IGO_MAX_KNOBS]; /* set by igo_policy */
    char key[IGO_KEY_SIZE];        /* of the variant, set by igo_policy */
    struct igo_extents launch;
};

/* `operation` must be one of the library's. Fails when ops, stream or desc is NULL. */
void igo_begin(struct igo_call *call, ingot_ops *ops, ingot_stream *stream,
               const struct igo_library *library, const struct ingot_ops_info *operation,
               const void *desc);
/* The launches of calls of other operations inside this one are its own. */
void igo_keep_last_launch(struct igo_call *call);
/* Publishes the error or the variant's key, and returns the status. */
ingot_status igo_end(struct igo_call *call);
/* Records a failure; the message gets "OPERATION: " before it. Always returns false. */
bool igo_fail(struct igo_call *call, ingot_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- checks: false when the call has failed -------------------------------------------- */

/* Present, of one of the types, with a rank in the range, a shape that is not negative, and
 * inside its buffer with all its strides. `name` is what messages call it. */
bool igo_tensor(struct igo_call *call, const char *name, const ingot_tensor *tensor, uint32_t types,
                uint32_t min_rank, uint32_t max_rank);
bool igo_same_type(struct igo_call *call, const char *name, const ingot_tensor *tensor,
                   const char *other_name, const ingot_tensor *other);
bool igo_same_shape(struct igo_call *call, const char *name, const ingot_tensor *tensor,
                    const char *other_name, const ingot_tensor *other);
/* Dimension `dim` (negative: from the end) is `extent`; `meaning` says what that is. */
bool igo_extent(struct igo_call *call, const char *name, const ingot_tensor *tensor, int dim,
                int64_t extent, const char *meaning);
/* Row-major without gaps. Dimensions of size 1 may have any stride. */
bool igo_dense(struct igo_call *call, const char *name, const ingot_tensor *tensor);
/* The last `dims` dimensions are row-major without gaps. */
bool igo_dense_tail(struct igo_call *call, const char *name, const ingot_tensor *tensor,
                    uint32_t dims);
/* `out` shares no memory with `in`; or, when `in_place`, is either apart from it or exactly
 * the same view. */
bool igo_no_overlap(struct igo_call *call, const char *out_name, const ingot_tensor *out,
                    const char *in_name, const ingot_tensor *in, bool in_place);
/* A condition on the descriptor's numbers. */
#define IGO_REQUIRE(call, condition, ...)                                                          \
    ((call)->failed ? false                                                                        \
     : (condition)  ? true                                                                         \
                    : igo_fail((call), INGOT_INVALID_ARGUMENT, __VA_ARGS__))

/* ---- facts about tensors ----------------------------------------------------------------- */

int64_t igo_count(const ingot_tensor *tensor); /* elements; 1 for rank 0 */
bool igo_is_dense(const ingot_tensor *tensor);
/* Rows of the last dimension: how many there are. */
int64_t igo_rows(const ingot_tensor *tensor);
/* When all dimensions but the last can be walked with one stride: that stride (0 rows or one row:
 * the row's length). False when they cannot. */
bool igo_row_stride(const ingot_tensor *tensor, int64_t *stride);
/* First element and every row stride are multiples of `bytes`. */
bool igo_aligned(const ingot_tensor *tensor, uint32_t bytes);
const char *igo_type_name(ingot_scalar_type type); /* "f32" */
/* "[2, 3, 4]" in a buffer that is the caller's. */
const char *igo_shape_text(const ingot_tensor *tensor, char out[160]);

/* ---- policy --------------------------------------------------------------------------------- */

/* Words of a shape class: "row4096" is a row of up to 4096 elements and more than 2048.
 * Joined by "/" in the variable that *class_text is. */
struct igo_class {
    char text[64];
    size_t size;
};
void igo_class_word(struct igo_class *class_text, const char *word);
/* word + the least power of two that is not below n, capped at `cap` (0 = none). */
void igo_class_size(struct igo_class *class_text, const char *word, uint64_t n, uint64_t cap);
/* word + n itself */
void igo_class_number(struct igo_class *class_text, const char *word, uint64_t n);

/* Looks the knobs up for this operation, type and class, and makes call->key from them:
 * operation/type/class/knobs. */
bool igo_policy(struct igo_call *call, ingot_scalar_type type, const struct igo_class *class_text);
/* The value of the operation's knob number `index`, after igo_policy. */
static inline uint32_t igo_knob(const struct igo_call *call, size_t index) {
    return call->knobs[index];
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Function constants, by name. */
struct igo_constant {
    const char *name;
    ingot_scalar_type type; /* BOOL, I32, U32 or F32 */
    union {
        bool b;
        int32_t i;
        uint32_t u;
        float f;
    };
};

struct igo_launch {
    const struct igo_library *library; /* whose kernel it is; NULL = the call's */
    const char *kernel;                /* its name in the folder's .metal file */
    char name[96];                     /* room for it */
    struct igo_constant constants[IGO_MAX_CONSTANTS];
    size_t constant_count;
    ingot_arg args[IGO_MAX_ARGS];
    size_t arg_count;
    uint32_t threads[3]; /* exactly one of the two, as in ingot_dispatch_desc */
    uint32_t threadgroups[3];
    uint32_t group[3];
    uint32_t threadgroup_lengths[8];
    size_t threadgroup_length_count;
    bool whole_simdgroups; /* the kernel's collectives assume that the group is a multiple of 32 */
};

/* The kernel's name from a format, such as ("rms_norm_%s", igo_type_name(type)). */
void igo_launch_kernel(struct igo_launch *launch, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A grid of at least `threads` threads, wrapped into rows when there are more than 2^30: the kernel
 * finds its number as position.y * threads_per_grid.x + position.x, and must ignore those past the
 * end. */
void igo_launch_threads(struct igo_launch *launch, uint64_t threads, uint32_t group);
void igo_launch_constant_bool(struct igo_launch *launch, const char *name, bool value);
void igo_launch_constant_u32(struct igo_launch *launch, const char *name, uint32_t value);
void igo_launch_constant_i32(struct igo_launch *launch, const char *name, int32_t value);
void igo_launch_constant_f32(struct igo_launch *launch, const char *name, float value);
/* Arguments in buffer order. A NULL tensor binds `instead`'s memory (which the kernel then must not
 * read), or nothing. Bytes are copied when the launch is encoded. */
void igo_launch_tensor(struct igo_launch *launch, const ingot_tensor *tensor,
                       const ingot_tensor *instead);
/* A tensor, or for NULL and for one without a buffer some memory which the kernel does not look at.
 */
void igo_launch_optional(struct igo_launch *launch, const ingot_tensor *tensor);
void igo_launch_bytes(struct igo_launch *launch, const void *bytes, size_t size);
void igo_launch_buffer(struct igo_launch *launch, ingot_buffer *buffer, uint64_t offset);

/* Finds or makes the kernel and encodes the dispatch. May be called several times in a call. */
bool igo_dispatch(struct igo_call *call, const struct igo_launch *launch);
/* Is there code of the launch's kernel for the device, or a compiler that makes it? */
bool igo_has_kernel(struct igo_call *call, const struct igo_launch *launch);
/* Memory for the time of this call's kernels: release it after the last igo_dispatch that names it
 * (the stream keeps it as long as it is needed). NULL when the call has failed. Not zeroed. */
ingot_buffer *igo_scratch(struct igo_call *call, uint64_t bytes);
void igo_scratch_release(struct igo_call *call, ingot_buffer *scratch);
/* Memory that holds the bytes, for kernels to read, where the device does not read the host's
 * memory; kept for the next call with the same bytes. The caller releases it after the launch. */
ingot_buffer *igo_table(struct igo_call *call, const void *bytes, size_t size);
/* A dense tensor in scratch memory; released by igo_scratch_release(call, t.buffer). */
ingot_tensor igo_scratch_tensor(struct igo_call *call, ingot_scalar_type type, uint32_t rank,
                                const int64_t *shape);
/* Bytes of a tensor filled with `value`, or copied, by the stream's blits; dense tensors only. */
bool igo_blit_fill(struct igo_call *call, const ingot_tensor *tensor, uint8_t value);
bool igo_blit_copy(struct igo_call *call, const ingot_tensor *from, const ingot_tensor *to);

/* ---- the device: what it can do, whatever its name is (runtime/device.h, ig_capabilities) ---- */

const ingot_device_info *igo_device_info(const struct igo_call *call);
/* Bytes of threadgroup memory that a launch may use: on GPUs more than the info says to users. */
uint32_t igo_threadgroup_memory(const struct igo_call *call);
/* Scratch memory for the part of a batch that one launch should work on. */
uint64_t igo_batch_scratch_bytes(const struct igo_call *call);
/* Do the SIMD-groups of a threadgroup run at the same time, or take turns on a core? */
bool igo_has_concurrent_simdgroups(const struct igo_call *call);
/* Is the hardware's approximate reciprocal root worth a correction step after it? */
bool igo_has_fast_reciprocal_root(const struct igo_call *call);
/* Is this result to be stored past the caches (kernels/common/memory_hints.h)? So where the device
 * can, and the result does not fit into its last cache: nobody would find it there. */
bool igo_stores_past_caches(const struct igo_call *call, const ingot_tensor *result);

#endif
