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

#include "python/torch/frame.h"
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

/* The operations of python/ingot/_overrides/limits.py that are decided about in C. */
#define OVERRIDE_LIMITS(F)                                                                         \
    F(silu)                                                                                        \
    F(silu_backward)                                                                               \
    F(gelu)                                                                                        \
    F(gelu_backward)                                                                               \
    F(gelu_tanh)                                                                                   \
    F(gelu_tanh_backward)                                                                          \
    F(softmax)                                                                                     \
    F(softmax_backward)                                                                            \
    F(log_softmax)                                                                                 \
    F(log_softmax_backward)                                                                        \
    F(layer_norm)                                                                                  \
    F(layer_norm_direct)                                                                           \
    F(rms_norm)                                                                                    \
    F(rms_norm_direct)                                                                             \
    F(attention)                                                                                   \
    F(attention_decode)                                                                            \
    F(embedding_bag)                                                                               \
    F(embedding_bag_mean)                                                                          \
    F(linear)                                                                                      \
    F(linear_rows)

#define OVERRIDE_ENUM(name) LIMIT_##name,
enum limit { OVERRIDE_LIMITS(OVERRIDE_ENUM) LIMIT_COUNT };
#undef OVERRIDE_ENUM

/* ---- a call ---------------------------------------------------------------------------------- */

enum { CALL_TENSORS = 4 };

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

struct call {
    struct override *override;
    torch_value *stack;
    torch_tensor *tensors[CALL_TENSORS]; /* owned, or NULL */
    torch_list *list;                    /* owned, or NULL */
    torch_string *string;                /* owned, or NULL */
};

struct look { /* at a tensor: type INGOT_SCALAR_NONE where ingot does not take it */
    ingot_scalar_type type;
    int64_t rank, elements;
    const int64_t *shape, *strides;
    bool dense;
};

/* Declares `call`, whose arguments are let go of when it goes, also when torch throws. */
#define CALL(call, place, values)                                                                  \
    __attribute__((cleanup(call_leave))) struct call call = {.override = &overrides[place],        \
                                                             .stack = (values)}
void call_leave(struct call *call);
/* Argument `argument` of the stack, as tensor number `place` of the call. */
torch_tensor *call_tensor(struct call *call, uint32_t place, uint32_t argument);
/* The same for Tensor?; NULL where it is absent. */
torch_tensor *call_optional_tensor(struct call *call, uint32_t place, uint32_t argument);
cpp_optional_double call_optional_double(struct call *call, uint32_t argument);
cpp_optional_tensor call_as_optional(torch_tensor *tensor);

struct look look_at(torch_tensor *tensor);
bool look_same_shape(const struct look *one, const struct look *other);
/* Is the number of elements of this type one that the operation takes? */
bool limit_allows(enum limit limit, ingot_scalar_type type, int64_t elements);

/* Runs ingot's operator on `values`, one for each of its arguments, in which absent tensors are 0;
 * tensors are the call's. `outputs` get the results. Counts. False on failure. */
bool call_attempt(struct call *call, const struct operation *operation, const torch_value *values,
                  torch_value *outputs);
/* The same; on failure torch throws. */
void call_replace(struct call *call, const struct operation *operation, const torch_value *values,
                  torch_value *outputs);
/* Counts a call that goes to torch, and gives the function for it. */
void (*call_pass_on(struct call *call))(void);
/* Puts result number `index` of `count` of torch's function on the stack. */
void call_return(struct call *call, const cpp_result *result, uint32_t index, uint32_t count);

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

#define OVERRIDES(F)                                                                               \
    F(silu, "_ZN2at3cpu4siluERKNS_6TensorE", 0, 0, 0)                                              \
    F(silu_backward, "_ZN2at3cpu13silu_backwardERKNS_6TensorES3_", 0, 0, 0)                        \
    F(gelu, "_ZN2at3cpu4geluERKNS_6TensorESt17basic_string_viewIcSt11char_traitsIcEE", 0, 0, 1)    \
    F(gelu_backward,                                                                               \
      "_ZN2at3cpu13gelu_backwardERKNS_6TensorES3_St17basic_string_viewIcSt11char_traitsIcEE", 0,   \
      0, 1)                                                                                        \
    F(_softmax, "_ZN2at3cpu8_softmaxERKNS_6TensorElb", 0, 0, 0)                                    \
    F(_softmax_backward_data,                                                                      \
      "_ZN2at3cpu22_softmax_backward_dataERKNS_6TensorES3_lN3c1010ScalarTypeE", 0, 0, 0)           \
    F(_log_softmax, "_ZN2at3cpu12_log_softmaxERKNS_6TensorElb", 0, 0, 0)                           \
    F(_log_softmax_backward_data,                                                                  \
      "_ZN2at3cpu26_log_softmax_backward_dataERKNS_6TensorES3_lN3c1010ScalarTypeE", 0, 0, 0)       \
    F(layer_norm,                                                                                  \
      "_ZN2at25compositeimplicitautograd10layer_normERKNS_6TensorEN3c108ArrayRefIlEERKSt8"         \
      "optionalIS1_ESA_db",                                                                        \
      1, 1, 0)                                                                                     \
    F(rms_norm,                                                                                    \
      "_ZN2at25compositeimplicitautograd8rms_normERKNS_6TensorEN3c108ArrayRefIlEERKSt8optionalIS1" \
      "_ES7_IdE",                                                                                  \
      1, 1, 0)                                                                                     \
    F(_scaled_dot_product_flash_attention_for_cpu,                                                 \
      "_ZN2at3cpu43_scaled_dot_product_flash_attention_for_cpuERKNS_6TensorES3_S3_dbRKSt8optional" \
      "IS1_ES4_IdE",                                                                               \
      0, 0, 0)                                                                                     \
    F(_embedding_bag, "_ZN2at3cpu14_embedding_bagERKNS_6TensorES3_S3_blbRKSt8optionalIS1_Ebl", 0,  \
      0, 0)                                                                                        \
    F(_embedding_bag_forward_only,                                                                 \
      "_ZN2at3cpu27_embedding_bag_forward_onlyERKNS_6TensorES3_S3_blbRKSt8optionalIS1_Ebl", 0, 0,  \
      0)                                                                                           \
    F(mm, "_ZN2at3cpu2mmERKNS_6TensorES3_", 0, 0, 0)                                               \
    F(linear, "_ZN2at25compositeimplicitautograd6linearERKNS_6TensorES3_RKSt8optionalIS1_E", 1, 0, \
      0)

#define OVERRIDE_ENUM(name, original, composite, lists, strings) OVERRIDE_##name,
enum { OVERRIDES(OVERRIDE_ENUM) OVERRIDE_COUNT };
#undef OVERRIDE_ENUM
#define OVERRIDE_KERNEL(name, original, composite, lists, strings) torch_kernel override_##name;
OVERRIDES(OVERRIDE_KERNEL)
#undef OVERRIDE_KERNEL
extern struct override overrides[OVERRIDE_COUNT];

#endif
