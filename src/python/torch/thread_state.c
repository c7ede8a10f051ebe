/* The state that direct calls and overrides ask for. */
#include "python/python.h"

#include "python/torch/thread_state.h"

#include <dlfcn.h>
#include <string.h>

struct torch_state state;

static bool number_of(PyObject *keys, const char *name, uint16_t *number) {
    PyObject *value = PyDict_GetItemString(keys, name);
    const long found = value ? PyLong_AsLong(value) : -1;
    if (found < 0 && !PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "torch_prepare: there is no number for the key %s", name);
    }
    *number = (uint16_t)found;
    return found >= 0;
}

/* What stands in for tensor_from_python and tensor_to_python in torch before 2.14. */
static bool prepare_objects(struct torch_state *found) {
    void *library = dlopen("libtorch_python.so", RTLD_LAZY | RTLD_NOLOAD);
    void *address = library ? dlsym(library, "_Z16THPVariable_WrapRKN2at10TensorBaseE") : NULL;
    memcpy(&found->wrap, &address, sizeof address);
    PyObject *module = PyImport_ImportModule("torch");
    found->strided = module ? PyObject_GetAttrString(module, "strided") : NULL;
    Py_XDECREF(module);
    found->layout_name = PyUnicode_InternFromString("layout");
    found->address_name = PyUnicode_InternFromString("_cdata");
    found->level_name = PyUnicode_InternFromString("_current_level");
    return found->strided && found->layout_name && found->address_name && found->level_name;
}

PyObject *state_prepare(PyObject *module, PyObject *arguments) {
    (void)module;
    struct torch_state found = {.complete = torch.library != NULL};
    PyObject *keys = NULL, *watched = NULL;
    if (!PyArg_ParseTuple(arguments, "OOOO!O!:torch_prepare", &found.tensor, &found.parameter,
                          &found.forward_ad, &PyDict_Type, &keys, &PyList_Type, &watched)) {
        return NULL;
    }
    if (!number_of(keys, "AutogradCPU", &found.autograd_key) ||
        !number_of(keys, "AutocastCPU", &found.autocast_key) ||
        !number_of(keys, "AutocastCUDA", &found.autocast_cuda_key) ||
        !number_of(keys, "Python", &found.python_key)) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_Size(watched) && i < STATE_KEYS; i++) {
        const long number = PyLong_AsLong(PyList_GetItem(watched, i));
        if (PyErr_Occurred()) {
            return NULL;
        }
        found.watched[found.watched_count++] = (uint16_t)number;
    }
    void *address;
#define STATE_LOOK_UP(result, field, symbol, parameters)                                           \
    address = torch.library ? dlsym(torch.library, #symbol) : NULL;                                \
    memcpy(&found.field, &address, sizeof address);                                                \
    found.complete &= address != NULL;
    TORCH_STATE(STATE_LOOK_UP)
#undef STATE_LOOK_UP
    if (!state.tensor) {
        if (!prepare_objects(&found)) {
            return NULL;
        }
        Py_INCREF(found.tensor);
        Py_INCREF(found.parameter);
        Py_INCREF(found.forward_ad);
        state = found; /* for the life of the process */
    }
    return PyBool_FromLong(state.complete);
}

/* A handle is the address of an at::Tensor, which is a pointer to its TensorImpl. */
static const void *implementation(torch_tensor *tensor) {
    const void *pointer;
    memcpy(&pointer, tensor, sizeof pointer);
    return pointer;
}

bool state_needs_gradient(torch_tensor *const *tensors, size_t count) {
    if (!torch.grad_is_enabled() || state.key_excluded(state.autograd_key)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (tensors[i] && state.requires_grad(implementation(tensors[i]))) {
            return true;
        }
    }
    return false;
}

bool state_has_forward_gradients(void) {
    PyObject *level = PyDict_GetItemWithError(PyModule_GetDict(state.forward_ad), state.level_name);
    const long number = level ? PyLong_AsLong(level) : 0; /* a small int, which Python keeps */
    if (PyErr_Occurred()) {
        PyErr_Clear();
    }
    return number >= 0;
}

bool state_allows_bypass(void) {
    if (state.function_modes() || state.is_recorded() || state_has_forward_gradients()) {
        return false;
    }
    if (!state.key_excluded(state.autocast_key) || !state.key_excluded(state.autocast_cuda_key)) {
        return false; /* excluded unless autocast is on */
    }
    for (size_t i = 0; i < state.watched_count; i++) {
        if (state.key_included(state.watched[i])) {
            return false;
        }
    }
    return true;
}

bool state_is_exact_tensor(PyObject *object) {
    PyObject *type = (PyObject *)Py_TYPE(object);
    return type == state.tensor || type == state.parameter;
}

bool state_has_objects(void) {
    return (torch.tensor_from_python && torch.tensor_to_python && torch.get_layout &&
            torch.layout_strided) ||
           state.wrap;
}

static torch_tensor *tensor_at(PyObject *object) {
    PyObject *layout = PyObject_GetAttr(object, state.layout_name);
    PyObject *address =
        layout == state.strided ? PyObject_GetAttr(object, state.address_name) : NULL;
    void *implementation = address ? PyLong_AsVoidPtr(address) : NULL;
    Py_XDECREF(layout);
    Py_XDECREF(address);
    if (PyErr_Occurred()) {
        PyErr_Clear();
    }
    torch_tensor *tensor = NULL; /* a handle of a tensor on the stack, which lends its pointer */
    return implementation && !torch.new_tensor((torch_tensor *)&implementation, &tensor) ? tensor
                                                                                         : NULL;
}

torch_tensor *state_tensor_of(PyObject *object) {
    if (!state_is_exact_tensor(object)) {
        return NULL;
    }
    if (!torch.tensor_from_python) {
        return tensor_at(object);
    }
    torch_tensor *tensor = NULL;
    int32_t layout = -1;
    if (torch.tensor_from_python(object, &tensor)) {
        return NULL;
    }
    if (!torch.get_layout(tensor, &layout) && layout == torch.layout_strided()) {
        return tensor;
    }
    torch.delete_tensor(tensor);
    return NULL;
}

PyObject *state_object_of(torch_tensor *tensor) {
    void *object = NULL;
    if (!torch.tensor_to_python) {
        return state.wrap(tensor);
    }
    return torch.tensor_to_python(tensor, NULL, &object) ? NULL : object;
}
