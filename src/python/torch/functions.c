/* What Python sees of the operators: ingot._C.torch_register, torch_schemas and torch_call. */
#include "python.h"

#include "torch/torch.h"

#include "call.h"
#include "register.h"

static PyObject *python_register(PyObject *module, PyObject *path) {
    (void)module;
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    char message[512];
    bool done = torch_register_operators(PyBytes_AsString(bytes), message, sizeof message);
    Py_DECREF(bytes);
    if (!done) {
        PyErr_SetString(PyExc_RuntimeError, message);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *python_schemas(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyObject *schemas = PyDict_New();
    const struct operation *operation;
    for (size_t i = 0; schemas && (operation = torch_operation(i)); i++) {
        PyObject *text = PyUnicode_FromString(operation->signature);
        if (!text || PyDict_SetItemString(schemas, operation->name, text) != 0)
            Py_CLEAR(schemas);
        Py_XDECREF(text);
    }
    return schemas;
}

static PyMethodDef functions[] = {
    {"torch_register", python_register, METH_O,
     "torch_register(path): defines torch.ops.ingot in the libtorch_cpu at `path`, once."},
    {"torch_schemas", python_schemas, METH_NOARGS,
     "torch_schemas() -> dict: the operators' names and signatures."},
    {"torch_call", torch_call, METH_VARARGS,
     "torch_call(name, *arguments): runs an operator past the dispatcher, where torch's C "
     "interface has no lists (2.7 to 2.9)."},
    {NULL, NULL, 0, NULL},
};

int torch_add_to_module(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
