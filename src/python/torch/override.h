/*
 * Overrides of torch's own operators from C: functions that torch's dispatcher calls in place of
 * its kernels. Each looks at its arguments, runs ingot's operator where that was measured to be
 * faster, and else calls the function of torch that it stands for, which costs a fraction of a
 * microsecond.
 *
 * Those are C++ functions of torch's public headers (ATen/CPUFunctions.h, and
 * CompositeImplicitAutogradFunctions.h for compositions). They are looked up by their mangled name,
 * which says what the arguments are: where it is not found, Python's override is used instead.
 */
#ifndef INGOT_PYTHON_TORCH_OVERRIDE_H
#define INGOT_PYTHON_TORCH_OVERRIDE_H

#include <stdatomic.h>

#include "python/torch/operator_call.h"
#include "python/torch/shim.h"

/* ---- torch's types, as C functions pass them ---------------------------------------------------
 */

/* at::Tensor is a pointer; a handle of the C interface is the address of one. C++ returns objects
 * with destructors through memory, as C does structures of this size. A tuple's first element comes
 * last. */
typedef struct {
    void *words[4];
} cpp_result;
typedef struct { /* std::optional<at::Tensor>, passed by address */
    void *tensor;
    bool present;
} cpp_optional_tensor;
typedef struct { /* std::optional<double> */
    double value;
    bool present;
} cpp_optional_double;
typedef struct { /* c10::ArrayRef<int64_t> */
    const int64_t *data;
    size_t length;
} cpp_ints;
typedef struct { /* std::string_view */
    size_t length;
    const char *text;
} cpp_text;

/* ---- limits -------------------------------------------------------------------------------- */

/* Number LIMIT_NAME for each name that a description in kernels/ gives to `limits`. */
#define LIMIT(name) LIMIT_##name,
enum limit {
#include "python/torch/limits.def"
    LIMIT_COUNT
};
#undef LIMIT

/* ---- a call ---------------------------------------------------------------------------------- */

enum { OVERRIDE_TENSORS = 4 };

struct override {
    const char *name;     /* of the operator, in aten */
    const char *original; /* the mangled name of what it stands for */
    torch_kernel *kernel;
    bool composite;         /* registered for AutogradCPU too */
    bool lists, strings;    /* among the arguments */
    void (*function)(void); /* the original, when found */
    torch_library *libraries[2];
    atomic_ullong replaced, passed;
};

struct override_call {
    struct override *override;
    torch_value *stack;
    torch_tensor *tensors[OVERRIDE_TENSORS]; /* owned, or NULL */
    torch_list *list;                        /* owned, or NULL */
    torch_string *string;                    /* owned, or NULL */
};

struct tensor_facts { /* type INGOT_SCALAR_NONE: ingot does not take it */
    ingot_scalar_type type;
    int64_t rank, elements;
    const int64_t *shape, *strides;
    bool dense;
};

/* Declares `call`, whose arguments are let go of when it goes, also when torch throws. */
#define OVERRIDE_CALL(call, place, values)                                                         \
    __attribute__((cleanup(override_leave))) struct override_call call = {                         \
        .override = &overrides[place], .stack = (values)}
void override_leave(struct override_call *call);
/* Argument `argument` of the stack, as tensor number `place` of the call. */
torch_tensor *override_tensor(struct override_call *call, uint32_t place, uint32_t argument);
/* The same for Tensor?; NULL where it is absent. */
torch_tensor *override_optional_tensor(struct override_call *call, uint32_t place,
                                       uint32_t argument);
cpp_optional_double override_optional_double(struct override_call *call, uint32_t argument);
cpp_optional_tensor override_as_optional(torch_tensor *tensor);

struct tensor_facts tensor_facts_of(torch_tensor *tensor);
bool tensor_facts_same_shape(const struct tensor_facts *one, const struct tensor_facts *other);
/* Is the number of elements of this type one that the operation takes? */
bool limit_allows(enum limit limit, ingot_scalar_type type, int64_t elements);
/* The same for a tensor, which must be row-major without gaps. */
bool limit_allows_tensor(enum limit limit, const struct tensor_facts *x);
/* The same for x and a gradient of its type and shape. */
bool limit_allows_gradient(enum limit limit, torch_tensor *d_out, torch_tensor *x);

/* Runs ingot's operator on `values`, one for each of its arguments, in which absent tensors are 0;
 * tensors are the call's. `outputs` get the results. Counts. False on failure. */
bool override_attempt(struct override_call *call, const struct torch_operator *op,
                      const torch_value *values, torch_value *outputs);
/* The same; on failure torch throws. */
void override_replace(struct override_call *call, const struct torch_operator *op,
                      const torch_value *values, torch_value *outputs);
/* Counts a call that goes to torch, and gives the function for it. */
void (*override_pass_on(struct override_call *call))(void);
/* Puts result number `index` of `count` of torch's function on the stack. */
void override_return(struct override_call *call, const cpp_result *result, uint32_t index,
                     uint32_t count);

static inline torch_value float_value(double number) {
    union {
        double number;
        torch_value value;
    } as = {.number = number};
    return as.value;
}

static inline double value_float(torch_value value) {
    union {
        torch_value value;
        double number;
    } as = {.value = value};
    return as.number;
}

/* ---- the overrides --------------------------------------------------------------------------- */

/* Number OVERRIDE_NAME, and the function override_NAME of kernels/FOLDER/FOLDER_torch.c, for each
 * override that a description in kernels/ gives an original for. A function that is missing fails
 * the link, by name: the declarations are hidden, so that it cannot be left to the loader. */
#pragma GCC visibility push(hidden)
#define OVERRIDE(name, original, composite, lists, strings) torch_kernel override_##name;
#include "python/torch/overrides.def"
#undef OVERRIDE
#pragma GCC visibility pop
#define OVERRIDE(name, original, composite, lists, strings) OVERRIDE_##name,
enum {
#include "python/torch/overrides.def"
    OVERRIDE_COUNT
};
#undef OVERRIDE
extern struct override overrides[]; /* by number; the last has no name */

#endif
