/*
 * Calls an operator past the dispatcher, for torch 2.7 to 2.9, whose C interface has no lists: an
 * operator with lists is implemented there by a Python function that comes here. Tensors pass as
 * handles, by the operators _take and _give (register.c).
 */
#include "python/python.h"

#include "python/torch/call_by_handles.h"

#include <string.h>

#include "python/torch/register.h"

/* torch.ops.ingot.NAME; NULL with a Python error. */
static PyObject *find_operator(const char *name) {
    const char *path[] = {"ops", "ingot", name};
    PyObject *object = PyImport_ImportModule("torch");
    for (size_t i = 0; object && i < 3; i++) {
        PyObject *next = PyObject_GetAttrString(object, path[i]);
        Py_DECREF(object);
        object = next;
    }
    return object;
}

static torch_tensor *take_handle(PyObject *take, PyObject *tensor) {
    PyObject *number = PyObject_CallFunctionObjArgs(take, tensor, NULL);
    void *handle = number ? PyLong_AsVoidPtr(number) : NULL;
    Py_XDECREF(number);
    return handle;
}

static bool take_list(struct operator_call *call, uint32_t argument, PyObject *take,
                      PyObject *value) {
    Py_ssize_t count = PySequence_Size(value);
    if (count < 0) {
        return false;
    }
    struct operator_call_list *list = operator_call_add_list(call, argument, (size_t)count);
    if (!list) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *tensor = PySequence_GetItem(value, i);
        torch_tensor *handle = tensor ? take_handle(take, tensor) : NULL;
        Py_XDECREF(tensor);
        if (!handle) {
            return false;
        }
        list->handles[list->count++] = handle;
    }
    return true;
}

static bool take_argument(struct operator_call *call, uint32_t argument, PyObject *take,
                          PyObject *value) {
    torch_value *slot = &call->values[argument];
    double number;
    call->present[argument] = value != Py_None;
    switch (call->op->arguments[argument].kind) {
    case ARGUMENT_TENSOR_LIST:
        return take_list(call, argument, take, value);
    case ARGUMENT_OPTIONAL_TENSOR:
        if (value == Py_None) {
            return true;
        }
        /* fallthrough */
    case ARGUMENT_TENSOR:
        *slot = (torch_value)take_handle(take, value);
        return *slot != 0;
    case ARGUMENT_FLOAT:
        number = PyFloat_AsDouble(value);
        memcpy(slot, &number, sizeof number);
        return !PyErr_Occurred();
    case ARGUMENT_BOOL:
        *slot = PyObject_IsTrue(value) == 1;
        return !PyErr_Occurred();
    case ARGUMENT_OPTIONAL_INT:
        if (value == Py_None) {
            return true;
        }
        /* fallthrough */
    case ARGUMENT_INT:
        *slot = (torch_value)PyLong_AsLongLong(value);
        return !PyErr_Occurred();
    default:
        PyErr_Format(PyExc_TypeError, "torch_call cannot pass argument %s of %s",
                     call->op->arguments[argument].name, call->op->name);
        return false;
    }
}

/* None, a tensor, or a tuple of tensors. */
static PyObject *give_outputs(const struct torch_operator *op, const torch_value *stack) {
    if (op->output_count == 0) {
        Py_RETURN_NONE;
    }
    PyObject *give = find_operator("_give");
    PyObject *outputs = PyTuple_New(op->output_count);
    for (uint32_t i = 0; i < op->output_count; i++) {
        PyObject *number = PyLong_FromVoidPtr((void *)stack[i]);
        PyObject *tensor =
            give && outputs && number ? PyObject_CallFunctionObjArgs(give, number, NULL) : NULL;
        if (!tensor) {
            Py_CLEAR(outputs);
        } else {
            PyTuple_SetItem(outputs, i, tensor);
        }
        Py_XDECREF(number);
    }
    Py_XDECREF(give);
    if (!outputs || op->output_count != 1) {
        return outputs;
    }
    PyObject *single = PyTuple_GetItem(outputs, 0);
    Py_INCREF(single);
    Py_DECREF(outputs);
    return single;
}

static const struct torch_operator *find_named_operator(PyObject *arguments) {
    PyObject *name = PyTuple_Size(arguments) > 0 ? PyTuple_GetItem(arguments, 0) : NULL;
    const struct torch_operator *op = NULL;
    for (size_t i = 0; name && PyUnicode_Check(name) && (op = torch_operator_at(i)); i++) {
        if (PyUnicode_CompareWithASCIIString(name, op->name) == 0) {
            break;
        }
    }
    if (!op) {
        PyErr_SetString(PyExc_TypeError, "torch_call: the first argument is no operator's name");
    } else if (!op->argument_count) {
        PyErr_SetString(PyExc_RuntimeError, "torch_call: torch_register was not called before");
        op = NULL;
    } else if (PyTuple_Size(arguments) - 1 != (Py_ssize_t)op->argument_count) {
        PyErr_Format(PyExc_TypeError, "%s takes %u arguments, but got %zd", op->name,
                     op->argument_count, PyTuple_Size(arguments) - 1);
        op = NULL;
    }
    return op;
}

PyObject *torch_call(PyObject *module, PyObject *arguments) {
    (void)module;
    const struct torch_operator *op = find_named_operator(arguments);
    PyObject *take = op ? find_operator("_take") : NULL;
    if (!take) {
        return NULL;
    }
    struct operator_call call;
    torch_value stack[OPERATOR_OUTPUTS] = {0};
    bool taken = true;
    operator_call_begin(&call, op);
    for (uint32_t i = 0; i < op->argument_count && taken; i++) {
        taken = take_argument(&call, i, take, PyTuple_GetItem(arguments, (Py_ssize_t)i + 1));
    }
    Py_DECREF(take);
    Py_BEGIN_ALLOW_THREADS;
    if (taken) {
        operator_call_run(&call);
    } else {
        call.status = INGOT_INVALID_ARGUMENT;
    }
    operator_call_close(&call, stack);
    Py_END_ALLOW_THREADS;
    if (taken && call.status &&
        (call.status != INGOT_CANCELLED || PyErr_CheckSignals() == 0)) { /* Ctrl-C has an error */
        PyErr_SetString(PyExc_RuntimeError, call.message);
    }
    return call.status ? NULL : give_outputs(op, stack);
}
