/* Tensors that are no plain ones are left to torch, and forward gradients to the dispatcher. */
#include "python/python.h"

#include "python/torch/override_route.h"
#include "python/torch/thread_state.h"

static bool is_plain(torch_tensor *tensor) {
    PyObject *object = NULL;
    if (!tensor) {
        return true;
    }
    if (state.is_negative(tensor) || torch.tensor_to_python(tensor, NULL, (void **)&object) ||
        !object) {
        return false;
    }
    const bool plain = state_is_exact_tensor(object);
    Py_DECREF(object);
    return plain;
}

bool override_may_bypass(const struct override_call *call) {
    return !state_needs_gradient(call->tensors, OVERRIDE_TENSORS) &&
           !state.key_included(state.python_key);
}

enum override_route override_route(const struct override_call *call, bool direct) {
    PyGILState_STATE gil = PyGILState_Ensure();
    bool plain = true;
    for (uint32_t i = 0; i < OVERRIDE_TENSORS && plain; i++) {
        plain = is_plain(call->tensors[i]);
    }
    direct = direct && plain && !state_has_forward_gradients();
    PyGILState_Release(gil);
    return !plain ? ROUTE_TORCH : direct ? ROUTE_BYPASS : ROUTE_DISPATCHER;
}
