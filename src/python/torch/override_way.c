/* Tensors that are no plain ones are left to torch, and forward gradients to the dispatcher. */
#include "python/python.h"

#include "python/torch/override_way.h"
#include "python/torch/state.h"

static bool is_plain(torch_tensor *tensor) {
    PyObject *object = NULL;
    if (!tensor) {
        return true;
    }
    if (state.is_negative(tensor) || torch.tensor_to_python(tensor, NULL, (void **)&object) ||
        !object) {
        return false;
    }
    const bool plain = state_is_plain_type(object);
    Py_DECREF(object);
    return plain;
}

bool call_may_go_direct(const struct call *call) {
    return !state_needs_gradient(call->tensors, CALL_TENSORS) &&
           !state.key_included(state.python_key);
}

enum way call_way(const struct call *call, bool direct) {
    PyGILState_STATE gil = PyGILState_Ensure();
    bool plain = true;
    for (uint32_t i = 0; i < CALL_TENSORS && plain; i++) {
        plain = is_plain(call->tensors[i]);
    }
    direct = direct && plain && !state_has_forward_gradients();
    PyGILState_Release(gil);
    return !plain ? WAY_TORCH : direct ? WAY_DIRECT : WAY_DISPATCHER;
}
