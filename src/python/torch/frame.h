/*
 * One call of an operator: takes arguments off torch's stack, describes tensors as ingot's (their
 * memory is wrapped, not copied), makes the outputs, and cleans up. An operator is a function on a
 * frame that fills a descriptor and runs it. The first error sticks: later calls do nothing and
 * give harmless values, so an operator need not look until FRAME_RUN.
 */
#ifndef INGOT_PYTHON_TORCH_FRAME_H
#define INGOT_PYTHON_TORCH_FRAME_H

#include "python/context.h"
#include "python/torch/shim.h"

enum { FRAME_ARGUMENTS = 16, FRAME_OUTPUTS = 3, FRAME_TENSORS = 16, FRAME_LISTS = 6 };

typedef enum argument_kind {
    ARGUMENT_TENSOR,
    ARGUMENT_OPTIONAL_TENSOR,
    ARGUMENT_TENSOR_LIST,
    ARGUMENT_FLOAT,
    ARGUMENT_INT,
    ARGUMENT_OPTIONAL_INT,
    ARGUMENT_BOOL,
    ARGUMENT_DTYPE,
} argument_kind;

struct frame;

struct operation { /* a line of schemas.def */
    const char *name;
    const char *signature;
    ingot_status (*run)(struct frame *);
    /* read from the signature when the operators are registered */
    uint32_t argument_count, output_count;
    struct {
        argument_kind kind;
        char name[24];
        bool has_default;
        torch_value by_default; /* 0 for None */
    } arguments[FRAME_ARGUMENTS];
};

/* What the memory of a tensor must look like; another layout is copied first. */
enum layout {
    LAYOUT_ANY,      /* any strides */
    LAYOUT_LAST,     /* the last dimension is contiguous */
    LAYOUT_ROWS,     /* so, and the dimensions before it can be walked with one stride */
    LAYOUT_MATRICES, /* the last dimension contiguous, one stride over the batch (all but the last
                        two dimensions) */
    LAYOUT_DENSE,    /* row-major, without gaps */
    LAYOUT_SHAPE = 0xff,
    /* or'ed to one of them: */
    AS_I32 = 0x100,   /* int64 is converted to int32 */
    AS_F32 = 0x200,   /* half types are converted to float32 */
    ELEMENTS = 0x400, /* a tensor of rank 0 is described as [1] */
};

struct frame_list { /* an argument Tensor[] */
    uint32_t argument;
    size_t count;
    torch_tensor **handles; /* owned */
    ingot_tensor *tensors;  /* `described` of them wrap memory */
    size_t described;
};

typedef struct frame_copy { /* of a tensor whose layout or type did not fit; or scratch memory */
    torch_tensor *tensor;   /* owned */
    torch_tensor *original; /* where it is written back to; or NULL */
} frame_copy;

struct frame {
    const struct operation *operation;
    ingot_status status;
    char message[1024];
    context context;
    bool borrows; /* tensors among the values are the caller's */
    bool interruptible;
    bool has_device;
    int32_t device_type, device_index;
    const char *device_of;               /* the name of the argument that chose it */
    torch_value values[FRAME_ARGUMENTS]; /* optional ones without their box */
    bool present[FRAME_ARGUMENTS];
    uint32_t tensor_count, list_count;
    uint32_t scalars; /* bit per tensor: it has rank 0, and is described as [1] */
    ingot_tensor tensors[FRAME_TENSORS];
    torch_tensor *outputs[FRAME_OUTPUTS];
    frame_copy *copies;
    size_t copy_count, copy_capacity;
    struct frame_list lists[FRAME_LISTS];
};

/* ---- arguments, by position ------------------------------------------------------------------ */
const ingot_tensor *frame_tensor(struct frame *frame, uint32_t argument, uint32_t layout);
const ingot_tensor *frame_optional(struct frame *frame, uint32_t argument,
                                   uint32_t layout); /* or NULL */
/* Matrices, by rows. Those that lie by columns are described as transposed instead of copied. */
const ingot_tensor *frame_matrices(struct frame *frame, uint32_t argument, bool *transposed);
/* A tensor that the operation writes: if its layout does not fit, a copy of it is described, and
 * written back after the run. */
const ingot_tensor *frame_written(struct frame *frame, uint32_t argument, uint32_t layout);
/* A row-major tensor that the host reads: `*elements` are its numbers, in host memory, whatever the
 * device of the others. */
const ingot_tensor *frame_host(struct frame *frame, uint32_t argument, const void **elements);
/* Lists of tensors. */
size_t frame_count(const struct frame *frame, uint32_t argument);
/* Element `index`, described as one line [elements]: row-major, or, if `any_order`, in the order of
 * its memory. `written`: copies are written back. */
const ingot_tensor *frame_item(struct frame *frame, uint32_t argument, size_t index, bool written,
                               bool any_order);
/* Have the elements `index` of these lists the same shape and strides, without gaps? Their
 * memory can then be walked in any order, as long as it is the same. */
bool frame_items_alike(const struct frame *frame, const uint32_t *arguments, size_t count,
                       size_t index);
double frame_float(const struct frame *frame, uint32_t argument);
/* A float of which 0 would mean "default" to the operation: 0 becomes a tiny number. */
float frame_nonzero(const struct frame *frame, uint32_t argument);
int64_t frame_int(const struct frame *frame, uint32_t argument);
uint32_t frame_u32(struct frame *frame, uint32_t argument); /* refuses what does not fit */
bool frame_optional_int(const struct frame *frame, uint32_t argument, int64_t *value);
bool frame_bool(const struct frame *frame, uint32_t argument);
ingot_scalar_type frame_dtype(struct frame *frame, uint32_t argument);

/* ---- outputs, row-major, on the device of the arguments -------------------------------------- */
const ingot_tensor *frame_output(struct frame *frame, uint32_t output, ingot_scalar_type type,
                                 uint32_t rank, const int64_t *shape);
/* Of the type and shape of `model`, an argument. */
const ingot_tensor *frame_like(struct frame *frame, uint32_t output, const ingot_tensor *model);
/* An output that is not there: a tensor of shape [0]; the result is NULL. */
const ingot_tensor *frame_absent(struct frame *frame, uint32_t output, ingot_scalar_type type);
/* Like `model`, or absent where that is NULL. */
const ingot_tensor *frame_like_optional(struct frame *frame, uint32_t output,
                                        const ingot_tensor *model, ingot_scalar_type absent_type);

/* The extent of a dimension, negative ones from the end; 1 where there is no such dimension. */
int64_t frame_extent(const ingot_tensor *tensor, int dimension);

/* How many elements of a row-major tensor of indices are not from 0 to `end` - 1, those equal to
 * `*skip` (if not NULL) aside; `*first` is the first of them. 0 where the host does not look: what
 * is on a GPU, or not of an integer type, which the operation refuses. */
int64_t frame_outside(const struct frame *frame, const ingot_tensor *indices, int64_t end,
                      const int64_t *skip, int64_t *first);

ingot_status frame_fail(struct frame *frame, ingot_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Runs `function` with the descriptor if there has been no error. */
#define FRAME_RUN(frame, function, descriptor)                                                     \
    ((frame)->status ? (frame)->status                                                             \
                     : function((frame)->context.ops, (frame)->context.stream, descriptor))

/* ---- for register.c and call.c --------------------------------------------------------------- */
/* Takes what an optional's box holds, and frees the box; false where there is none. */
bool torch_unbox(torch_value *value);
/* An empty frame: the caller fills values (and present, for what is optional) and lists. */
void frame_begin(struct frame *frame, const struct operation *operation);
/* An empty list with room for `count` handles, or NULL (frame->status is set). */
struct frame_list *frame_add_list(struct frame *frame, uint32_t argument, size_t count);
/* A frame with the arguments of torch's stack, which it owns from then on. */
void frame_open(struct frame *frame, const struct operation *operation, const torch_value *stack);
/* Runs the operator and writes copies back. On the CPU its work is waited for; on a GPU it is
 * queued on torch's current stream, in whose order torch's allocator gives memory out again. */
void frame_run(struct frame *frame);
/* Scratch memory from torch's allocator, for the operator that the calling thread runs. */
void *frame_scratch(void *unused, uint64_t bytes);
/* Lets go of everything; the outputs go to stack[0, …) if all went well. The status and the
 * message stay. */
void frame_close(struct frame *frame, torch_value *stack);

#endif
