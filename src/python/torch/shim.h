/*
 * torch's C interface, as far as it is used here: C declarations of extern "C" functions of
 * libtorch_cpu (torch/csrc/inductor/aoti_torch/c/shim.h and torch/csrc/stable/c/shim.h, which are
 * C++ headers). They are looked up in the torch that Python has loaded, so the extension links to
 * none and serves every version from 2.7 on.
 */
#ifndef INGOT_PYTHON_TORCH_SHIM_H
#define INGOT_PYTHON_TORCH_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t torch_value;             /* StableIValue */
typedef int32_t torch_error;              /* AOTITorchError: 0 is success */
typedef struct torch_tensor torch_tensor; /* what an AtenTensorHandle points to */
typedef struct torch_list torch_list;     /* what a StableListHandle points to */
typedef struct torch_string torch_string; /* what a StringHandle points to */
typedef struct torch_library torch_library;
typedef void torch_kernel(torch_value *stack, uint64_t inputs, uint64_t outputs);

/* F(result, field, symbol, parameters) */
#define TORCH_REQUIRED(F)                                                                          \
    F(torch_error, library_define, aoti_torch_library_init_def,                                    \
      (const char *name, const char *file, uint32_t line, torch_library **library))                \
    F(torch_error, library_implement, aoti_torch_library_init_impl,                                \
      (const char *name, const char *key, const char *file, uint32_t line,                         \
       torch_library **library))                                                                   \
    F(torch_error, library_delete, aoti_torch_delete_library_object, (torch_library *))            \
    F(torch_error, define, aoti_torch_library_def, (torch_library *, const char *schema))          \
    F(torch_error, implement, aoti_torch_library_impl,                                             \
      (torch_library *, const char *name, torch_kernel *))                                         \
    F(void, check, aoti_torch_check,                                                               \
      (bool condition, const char *function, const char *file, uint32_t line,                      \
       const char *message))                                                                       \
    F(torch_error, delete_tensor, aoti_torch_delete_tensor_object, (torch_tensor *))               \
    F(torch_error, new_tensor, aoti_torch_new_tensor_handle,                                       \
      (torch_tensor * of, torch_tensor * *tensor))                                                 \
    F(torch_error, get_data, aoti_torch_get_data_ptr, (torch_tensor *, void **data))               \
    F(torch_error, get_storage_offset, aoti_torch_get_storage_offset,                              \
      (torch_tensor *, int64_t *offset))                                                           \
    F(torch_error, get_storage_size, aoti_torch_get_storage_size,                                  \
      (torch_tensor *, int64_t *bytes))                                                            \
    F(torch_error, get_rank, aoti_torch_get_dim, (torch_tensor *, int64_t *rank))                  \
    F(torch_error, get_shape, aoti_torch_get_sizes, (torch_tensor *, int64_t **shape))             \
    F(torch_error, get_strides, aoti_torch_get_strides, (torch_tensor *, int64_t **strides))       \
    F(torch_error, get_dtype, aoti_torch_get_dtype, (torch_tensor *, int32_t *dtype))              \
    F(torch_error, get_elements, aoti_torch_get_numel, (torch_tensor *, int64_t *elements))        \
    F(torch_error, get_device_type, aoti_torch_get_device_type, (torch_tensor *, int32_t *type))   \
    F(torch_error, get_device_index, aoti_torch_get_device_index,                                  \
      (torch_tensor *, int32_t *index))                                                            \
    F(torch_error, empty_strided, aoti_torch_empty_strided,                                        \
      (int64_t rank, const int64_t *shape, const int64_t *strides, int32_t dtype,                  \
       int32_t device_type, int32_t device_index, torch_tensor **tensor))                          \
    F(torch_error, copy, aoti_torch_copy_,                                                         \
      (torch_tensor * to, torch_tensor * from, int32_t non_blocking))                              \
    F(bool, grad_is_enabled, aoti_torch_grad_mode_is_enabled, (void))                              \
    F(void, grad_set_enabled, aoti_torch_grad_mode_set_enabled, (bool))                            \
    F(int32_t, device_cpu, aoti_torch_device_type_cpu, (void))                                     \
    F(int32_t, device_cuda, aoti_torch_device_type_cuda, (void))                                   \
    F(int32_t, dtype_bool, aoti_torch_dtype_bool, (void))                                          \
    F(int32_t, dtype_i8, aoti_torch_dtype_int8, (void))                                            \
    F(int32_t, dtype_u8, aoti_torch_dtype_uint8, (void))                                           \
    F(int32_t, dtype_i16, aoti_torch_dtype_int16, (void))                                          \
    F(int32_t, dtype_u16, aoti_torch_dtype_uint16, (void))                                         \
    F(int32_t, dtype_i32, aoti_torch_dtype_int32, (void))                                          \
    F(int32_t, dtype_u32, aoti_torch_dtype_uint32, (void))                                         \
    F(int32_t, dtype_i64, aoti_torch_dtype_int64, (void))                                          \
    F(int32_t, dtype_u64, aoti_torch_dtype_uint64, (void))                                         \
    F(int32_t, dtype_f16, aoti_torch_dtype_float16, (void))                                        \
    F(int32_t, dtype_bf16, aoti_torch_dtype_bfloat16, (void))                                      \
    F(int32_t, dtype_f32, aoti_torch_dtype_float32, (void))                                        \
    F(int32_t, dtype_f64, aoti_torch_dtype_float64, (void))

/* NULL where the torch at hand has none: mps since 2.8, lists and strings since 2.10, tags
 * since 2.12, Python's objects since 2.14, the rest 2.13. */
#define TORCH_OPTIONAL(F)                                                                          \
    F(torch_error, implement_versioned, torch_library_impl,                                        \
      (torch_library *, const char *name, torch_kernel *, uint64_t version))                       \
    F(int32_t, device_mps, aoti_torch_device_type_mps, (void))                                     \
    F(torch_error, list_size, torch_list_size, (torch_list *, size_t *size))                       \
    F(torch_error, list_get, torch_list_get_item,                                                  \
      (torch_list *, size_t index, torch_value *element))                                          \
    F(torch_error, delete_list, torch_delete_list, (torch_list *))                                 \
    F(int32_t, tag_pt2_compliant, torch_tag_pt2_compliant_tag, (void))                             \
    F(torch_error, define_with_tags, torch_library_def_with_tags,                                  \
      (torch_library *, const char *schema, const int32_t *tags, int32_t count))                   \
    F(torch_error, delete_value, torch_delete_stable_ivalue, (torch_value *))                      \
    F(torch_error, string_text, torch_string_c_str, (torch_string *, const char **text))           \
    F(torch_error, string_length, torch_string_length, (torch_string *, size_t *length))           \
    F(torch_error, delete_string, torch_delete_string, (torch_string *))                           \
    F(torch_error, get_layout, aoti_torch_get_layout, (torch_tensor *, int32_t *layout))           \
    F(int32_t, layout_strided, aoti_torch_layout_strided, (void))                                  \
    F(torch_error, tensor_from_python, torch_tensor_from_pyobject,                                 \
      (void *object, torch_tensor **tensor))                                                       \
    F(torch_error, tensor_to_python, torch_tensor_to_pyobject,                                     \
      (torch_tensor *, void *type, void **object))                                                 \
    F(torch_error, call_versioned, torch_call_dispatcher,                                          \
      (const char *name, const char *overload, torch_value *stack, uint64_t version))              \
    F(const char *, exception_text, torch_exception_get_what_without_backtrace, (void))

struct torch_shim {
#define TORCH_FIELD(result, field, symbol, parameters) result(*field) parameters;
    TORCH_REQUIRED(TORCH_FIELD)
    TORCH_OPTIONAL(TORCH_FIELD)
#undef TORCH_FIELD
    void *(*operator_new)(size_t);   /* of libstdc++, for handles of tensors */
    void (*operator_delete)(void *); /* the same, for values where delete_value is missing */
    void *library;                   /* libtorch_cpu, for dlsym */
};
extern struct torch_shim torch;

/* The version that kernels say they were built for, where torch asks: 2.10.0. */
#define TORCH_BUILD_VERSION (UINT64_C(2) << 56 | UINT64_C(10) << 48)

/* Fills `torch` from the library at `path`, which must be loaded already. On failure `message`
 * says what is missing. */
bool torch_shim_load(const char *path, char *message, size_t size);

#endif
