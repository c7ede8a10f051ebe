/*
 * The calling thread's state in torch, and facts on tensors, that torch's C interface does not
 * give: exported functions of torch's C++ side, looked up by their mangled names. Include python.h
 * before.
 */
#ifndef INGOT_PYTHON_TORCH_THREAD_STATE_H
#define INGOT_PYTHON_TORCH_THREAD_STATE_H

#include "python/torch/shim.h"

/* F(result, field, symbol, parameters); keys are numbers of c10::DispatchKey */
#define TORCH_STATE(F)                                                                             \
    F(bool, key_included, _ZN3c104impl28tls_is_dispatch_key_includedENS_11DispatchKeyE,            \
      (uint16_t))                                                                                  \
    F(bool, key_excluded, _ZN3c104impl28tls_is_dispatch_key_excludedENS_11DispatchKeyE,            \
      (uint16_t))                                                                                  \
    F(void, exclude_key, _ZN3c104impl29tls_set_dispatch_key_excludedENS_11DispatchKeyEb,           \
      (uint16_t, bool))                                                                            \
    F(int64_t, function_modes, _ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv, (void))            \
    F(bool, is_recorded, _ZN2at12hasCallbacksEv, (void))                                           \
    F(bool, requires_grad, _ZNK3c1010TensorImpl13requires_gradEv, (const void *))                  \
    F(bool, is_negative, _ZN2at6native6is_negERKNS_6TensorE, (torch_tensor *))

enum { STATE_KEYS = 16 };

struct torch_state {
#define STATE_FIELD(result, field, symbol, parameters) result(*field) parameters;
    TORCH_STATE(STATE_FIELD)
#undef STATE_FIELD
    bool complete;                             /* all of the above were found */
    PyObject *tensor, *parameter, *forward_ad; /* torch.Tensor and nn.Parameter; the module */
    PyObject *(*wrap)(torch_tensor *); /* THPVariable_Wrap, where torch has no tensor_to_python */
    PyObject *strided, *layout_name, *address_name; /* and torch.strided, "layout", "_cdata" */
    PyObject *level_name;                           /* "_current_level" */
    uint16_t autograd_key, autocast_key, autocast_cuda_key, python_key;
    uint16_t watched[STATE_KEYS]; /* while one of them is included, someone is to see a call */
    size_t watched_count;
};
extern struct torch_state state;

/* torch_prepare(Tensor, Parameter, forward_ad, {key: number}, [key, …]): once, after
 * torch_register. */
PyObject *state_prepare(PyObject *module, PyObject *arguments);

/* Is there a gradient to be written down for these tensors (NULL: absent), now? */
bool state_needs_gradient(torch_tensor *const *tensors, size_t count);
/* With the GIL: is torch.autograd.forward_ad in use? */
bool state_has_forward_gradients(void);
/* With the GIL: may a call go past the dispatcher, since nobody is to see it there? */
bool state_allows_bypass(void);
/* With the GIL: a torch.Tensor or Parameter, no subclass. */
bool state_is_exact_tensor(PyObject *object);

/* Whether the two below can be used with this torch. */
bool state_has_objects(void);
/* With the GIL: a new handle of a plain type's tensor that has strides; else NULL. */
torch_tensor *state_tensor_of(PyObject *object);
/* With the GIL: a new reference to the tensor's object, or NULL. */
PyObject *state_object_of(torch_tensor *tensor);

#endif
