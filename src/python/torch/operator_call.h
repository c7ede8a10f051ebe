/*
 * One call of an operator: takes arguments off torch's stack, describes tensors as ingot's (their
 * memory is wrapped, not copied), makes the outputs, and cleans up. An operator is a function on a
 * call that fills a descriptor and runs it. The first error sticks: later calls do nothing and
 * give harmless values, so an operator need not look until OPERATOR_RUN.
 */
#ifndef INGOT_PYTHON_TORCH_OPERATOR_CALL_H
#define INGOT_PYTHON_TORCH_OPERATOR_CALL_H

#include "python/context.h"
#include "python/torch/shim.h"

enum { OPERATOR_ARGUMENTS = 16, OPERATOR_OUTPUTS = 3, OPERATOR_TENSORS = 16, OPERATOR_LISTS = 6 };

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

struct operator_call;

struct torch_operator { /* of a description kernels/NAME/NAME.py */
    const char *name;
    const char *signature;
    ingot_status (*run)(struct operator_call *);
    /* read from the signature when the operators are registered */
    uint32_t argument_count, output_count;
    struct {
        argument_kind kind;
        char name[24];
        bool has_default;
        torch_value by_default; /* 0 for None */
    } arguments[OPERATOR_ARGUMENTS];
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
    AS_I32 = 0x100,      /* int64 is converted to int32 */
    AS_F32 = 0x200,      /* half types are converted to float32 */
    RANK_0_AS_1 = 0x400, /* a tensor of rank 0 is described as [1] */
};

struct operator_call_list { /* an argument Tensor[] */
    uint32_t argument;
    size_t count;
    torch_tensor **handles; /* owned */
    ingot_tensor *tensors;  /* `described` of them wrap memory */
    size_t described;
};

typedef struct operator_call_copy { /* of a tensor whose layout or type did not fit; or scratch
                                       memory */
    torch_tensor *tensor;           /* owned */
    torch_tensor *original;         /* where it is written back to; or NULL */
} operator_call_copy;

struct operator_call {
    const struct torch_operator *op;
    ingot_status status;
    char message[1024];
    context context;
    bool borrows; /* tensors among the values are the caller's */
    bool interruptible;
    bool has_device;
    int32_t device_type, device_index;
    const char *device_of;                  /* the name of the argument that chose it */
    torch_value values[OPERATOR_ARGUMENTS]; /* optional ones without their box */
    bool present[OPERATOR_ARGUMENTS];
    uint32_t tensor_count, list_count;
    uint32_t scalars; /* bit per tensor: it has rank 0, and is described as [1] */
    ingot_tensor tensors[OPERATOR_TENSORS];
    torch_tensor *outputs[OPERATOR_OUTPUTS];
    operator_call_copy *copies;
    size_t copy_count, copy_capacity;
    struct operator_call_list lists[OPERATOR_LISTS];
};

/* ---- arguments, by position ------------------------------------------------------------------ */
const ingot_tensor *argument_tensor(struct operator_call *call, uint32_t argument, uint32_t layout);
const ingot_tensor *argument_optional_tensor(struct operator_call *call, uint32_t argument,
                                             uint32_t layout); /* or NULL */
/* Matrices, by rows. Those that lie by columns are described as transposed instead of copied. */
const ingot_tensor *argument_matrices(struct operator_call *call, uint32_t argument,
                                      bool *transposed);
/* A tensor that the operation writes: if its layout does not fit, a copy of it is described, and
 * written back after the run. */
const ingot_tensor *argument_written_tensor(struct operator_call *call, uint32_t argument,
                                            uint32_t layout);
/* A row-major tensor that the host reads: `*elements` are its numbers, in host memory, whatever the
 * device of the others. */
const ingot_tensor *argument_on_host(struct operator_call *call, uint32_t argument,
                                     const void **elements);
/* Lists of tensors. */
size_t argument_list_length(const struct operator_call *call, uint32_t argument);
/* Element `index`, described as one line [elements]: row-major, or, if `any_order`, in the order of
 * its memory. `written`: copies are written back. */
const ingot_tensor *argument_list_item(struct operator_call *call, uint32_t argument, size_t index,
                                       bool written, bool any_order);
/* Have the elements `index` of these lists the same shape and strides, without gaps? Their
 * memory can then be walked in any order, as long as it is the same. */
bool argument_items_alike(const struct operator_call *call, const uint32_t *arguments, size_t count,
                          size_t index);
double argument_float(const struct operator_call *call, uint32_t argument);
/* A float of which 0 would mean "default" to the operation: 0 becomes a tiny number. */
float argument_nonzero_float(const struct operator_call *call, uint32_t argument);
int64_t argument_int(const struct operator_call *call, uint32_t argument);
uint32_t argument_u32(struct operator_call *call,
                      uint32_t argument); /* refuses what does not fit */
bool argument_optional_int(const struct operator_call *call, uint32_t argument, int64_t *value);
bool argument_bool(const struct operator_call *call, uint32_t argument);
ingot_scalar_type argument_dtype(struct operator_call *call, uint32_t argument);
/* An enumeration, as an integer from 0 to `last`; `known` is what the message says they are. */
int64_t argument_choice(struct operator_call *call, uint32_t argument, int64_t last,
                        const char *known);

/* ---- outputs, row-major, on the device of the arguments -------------------------------------- */
const ingot_tensor *output_tensor(struct operator_call *call, uint32_t output,
                                  ingot_scalar_type type, uint32_t rank, const int64_t *shape);
/* Of the type and shape of `model`, an argument. */
const ingot_tensor *output_like(struct operator_call *call, uint32_t output,
                                const ingot_tensor *model);
/* Of the type and shape of `model`, with another extent of the last dimension. */
const ingot_tensor *output_with_last(struct operator_call *call, uint32_t output,
                                     const ingot_tensor *model, int64_t extent);
/* An output that is not there: a tensor of shape [0]; the result is NULL. */
const ingot_tensor *output_absent(struct operator_call *call, uint32_t output,
                                  ingot_scalar_type type);
/* Like `model`, or absent where that is NULL. */
const ingot_tensor *output_like_optional(struct operator_call *call, uint32_t output,
                                         const ingot_tensor *model, ingot_scalar_type absent_type);

/* The extent of a dimension, negative ones from the end; 1 where there is no such dimension. */
int64_t tensor_extent(const ingot_tensor *tensor, int dimension);

/* How many elements of a row-major tensor of indices are not from 0 to `end` - 1, those equal to
 * `*skip` (if not NULL) aside; `*first` is the first of them. 0 where the host does not look: what
 * is on a GPU, or not of an integer type, which the operation refuses. */
int64_t argument_count_out_of_range(const struct operator_call *call, const ingot_tensor *indices,
                                    int64_t end, const int64_t *skip, int64_t *first);

ingot_status operator_call_fail(struct operator_call *call, ingot_status status, const char *format,
                                ...) __attribute__((format(printf, 3, 4)));

/* Runs `function` with the descriptor if there has been no error. */
#define OPERATOR_RUN(call, function, descriptor)                                                   \
    ((call)->status ? (call)->status                                                               \
                    : function((call)->context.ops, (call)->context.stream, descriptor))

/* ---- for register.c, call_by_handles.c, direct_call.c and override.c ------------------------- */
/* Takes what an optional's box holds, and frees the box; false where there is none. */
bool torch_unbox(torch_value *value);
/* An empty call: the caller fills values (and present, for what is optional) and lists. */
void operator_call_begin(struct operator_call *call, const struct torch_operator *op);
/* An empty list with room for `count` handles, or NULL (call->status is set). */
struct operator_call_list *operator_call_add_list(struct operator_call *call, uint32_t argument,
                                                  size_t count);
/* A call with the arguments of torch's stack, which it owns from then on. */
void operator_call_open(struct operator_call *call, const struct torch_operator *op,
                        const torch_value *stack);
/* Runs the operator and writes copies back. On the CPU its work is waited for; on a GPU it is
 * queued on torch's current stream, in whose order torch's allocator gives memory out again. */
void operator_call_run(struct operator_call *call);
/* Scratch memory from torch's allocator, for the operator that the calling thread runs. */
void *operator_call_scratch(void *unused, uint64_t bytes);
/* Lets go of everything; the outputs go to stack[0, …) if all went well. The status and the
 * message stay. */
void operator_call_close(struct operator_call *call, torch_value *stack);

#endif
