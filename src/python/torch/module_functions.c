/* What Python sees of the operators: ingot._C.torch_register, torch_schemas and torch_call. */
#include "python/python.h"

#include "python/torch/torch.h"

#include "python/torch/call_by_handles.h"
#include "python/torch/direct_call.h"
#include "python/torch/override_functions.h"
#include "python/torch/register.h"
#include "python/torch/tensor_layout.h"
#include "python/torch/thread_state.h"
#include "python/torch/types.h"

static PyObject *call_with_path(PyObject *path, bool (*function)(const char *, char *, size_t)) {
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes)) {
        return NULL;
    }
    char message[512];
    bool done = function(PyBytes_AsString(bytes), message, sizeof message);
    Py_DECREF(bytes);
    if (!done) {
        PyErr_SetString(PyExc_RuntimeError, message);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *python_register(PyObject *module, PyObject *path) {
    (void)module;
    return call_with_path(path, torch_register_operators);
}

static PyObject *python_register_mps(PyObject *module, PyObject *path) {
    (void)module;
    return call_with_path(path, torch_register_mps);
}

static PyObject *python_schemas(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyObject *schemas = PyDict_New();
    const struct torch_operator *op;
    for (size_t i = 0; schemas && (op = torch_operator_at(i)); i++) {
        PyObject *text = PyUnicode_FromString(op->signature);
        if (!text || PyDict_SetItemString(schemas, op->name, text) != 0) {
            Py_CLEAR(schemas);
        }
        Py_XDECREF(text);
    }
    return schemas;
}

static PyObject *python_unimplemented(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyObject *names = PyList_New(0);
    const struct torch_operator *op;
    for (size_t i = 0; names && (op = torch_operator_at(i)); i++) {
        if (!torch_needs_python(op)) {
            continue;
        }
        PyObject *name = PyUnicode_FromString(op->name);
        if (!name || PyList_Append(names, name) != 0) {
            Py_CLEAR(names);
        }
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *python_has_cuda(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyBool_FromLong(context_has_cuda());
}

static PyObject *python_allows_bypass(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyBool_FromLong(state.complete && state_allows_bypass());
}

/* Of a dense int32 tensor on the CPU; NULL: it is another. */
static const int32_t *integers_of(torch_tensor *tensor, int64_t *count) {
    int64_t rank = 0, offset = 0, bytes = 0, *shape = NULL, *strides = NULL;
    int32_t dtype = 0, device = -1;
    void *data = NULL;
    ingot_tensor described = {.type = INGOT_SCALAR_I32};
    if (torch.get_device_type(tensor, &device) || device != torch.device_cpu() ||
        torch.get_dtype(tensor, &dtype) || torch_to_scalar(dtype) != INGOT_SCALAR_I32 ||
        torch.get_rank(tensor, &rank) || rank > INGOT_MAX_RANK || torch.get_shape(tensor, &shape) ||
        torch.get_strides(tensor, &strides) || torch.get_elements(tensor, count) ||
        torch.get_storage_offset(tensor, &offset) || torch.get_storage_size(tensor, &bytes) ||
        torch.get_data(tensor, &data)) {
        return NULL;
    }
    described.rank = (uint32_t)rank;
    for (int64_t i = 0; i < rank; i++) {
        described.shape[i] = shape[i];
        described.strides[i] = strides[i];
    }
    return tensor_is_dense(&described) && (offset + *count) * 4 <= bytes ? data : NULL;
}

static PyObject *python_all_zero(PyObject *module, PyObject *object) {
    (void)module;
    torch_tensor *tensor = state.complete && state_has_objects() && state_allows_bypass()
                               ? state_tensor_of(object)
                               : NULL;
    int64_t count = 0, zeros = 0;
    const int32_t *integers = tensor ? integers_of(tensor, &count) : NULL;
    while (integers && zeros < count && integers[zeros] == 0) {
        zeros++;
    }
    if (tensor) {
        torch.delete_tensor(tensor);
    }
    return PyBool_FromLong(integers && zeros == count);
}

static PyMethodDef functions[] = {
    {"torch_register", python_register, METH_O,
     "torch_register(path): defines torch.ops.ingot in the libtorch_cpu at `path`, once."},
    {"torch_register_mps", python_register_mps, METH_O,
     "torch_register_mps(path): has torch.ops.ingot work on mps tensors, on torch's stream; the "
     "library at `path` has torch::mps. Once, after torch_register."},
    {"torch_schemas", python_schemas, METH_NOARGS,
     "torch_schemas() -> dict: the operators' names and signatures."},
    {"torch_unimplemented", python_unimplemented, METH_NOARGS,
     "torch_unimplemented() -> list: what Python is to implement by torch_call, after "
     "torch_register; nothing from torch 2.10 on."},
    {"torch_has_cuda", python_has_cuda, METH_NOARGS,
     "torch_has_cuda() -> bool: whether the torch in this process has CUDA."},
    {"torch_prepare", state_prepare, METH_VARARGS,
     "torch_prepare(Tensor, Parameter, forward_ad, {key: number}, [number]) -> bool: what calls "
     "past the "
     "dispatcher have to know; whether all of it is there."},
    {"torch_allows_bypass", python_allows_bypass, METH_NOARGS,
     "torch_allows_bypass() -> bool: whether nobody is to see a call of an operator at the "
     "dispatcher."},
    {"torch_direct", torch_direct, METH_VARARGS,
     "torch_direct(name, ordinary, gradient) -> function: the operator past the dispatcher, where "
     "nobody "
     "is to see the call; else `ordinary`, or `gradient`, is called. None where torch cannot."},
    {"torch_all_zero", python_all_zero, METH_O,
     "torch_all_zero(tensor) -> bool: whether it is an ordinary int32 tensor on the CPU, with "
     "zeros only; False also where that cannot be seen at once."},
    {"torch_call", torch_call, METH_VARARGS,
     "torch_call(name, *arguments): runs an operator past the dispatcher, where torch's C "
     "interface has no lists (2.7 to 2.9)."},
    {NULL, NULL, 0, NULL},
};

int torch_add_to_module(PyObject *module) {
    return PyModule_AddFunctions(module, functions) ||
                   PyModule_AddFunctions(module, override_functions)
               ? -1
               : 0;
}
