/*
 * Operators as Python functions past the dispatcher: for plain tensors, outside of everything that
 * is to see a call (modes, autocast, transforms, tracing, profiling), an operator is run at once.
 * What needs a gradient goes to the function that writes it down; all else goes the ordinary way,
 * which also has the messages for wrong arguments.
 */
#include "python/python.h"

#include "python/torch/direct_call.h"

#include <stdlib.h>
#include <string.h>

#include "python/torch/register.h"
#include "python/torch/thread_state.h"

struct direct { /* for the life of the process */
    const struct torch_operator *op;
    PyObject *ordinary, *gradient; /* gradient may be None */
    PyMethodDef method;
};

enum outcome { TAKEN, GRADIENT, ORDINARY };

static bool take_tensor(PyObject *object, torch_tensor **tensor) {
    int32_t device = -1;
    void *data = NULL;
    int64_t elements = 0;
    *tensor = state_tensor_of(object);
    return *tensor && !torch.get_device_type(*tensor, &device) &&
           (device == torch.device_cpu() || device == torch.device_cuda()) &&
           !state.is_negative(*tensor) && !torch.get_data(*tensor, &data) &&
           (data || (!torch.get_elements(*tensor, &elements) && elements == 0));
}

static bool take_list(struct operator_call *call, uint32_t argument, PyObject *value,
                      bool *gradient) {
    if (!PyList_CheckExact(value)) {
        return false;
    }
    const Py_ssize_t count = PyList_Size(value);
    struct operator_call_list *list = operator_call_add_list(call, argument, (size_t)count);
    for (Py_ssize_t i = 0; list && i < count; i++) {
        torch_tensor *tensor = NULL;
        PyObject *item = PySequence_GetItem(value, i);
        const bool taken = item && take_tensor(item, &tensor);
        Py_XDECREF(item);
        if (tensor) {
            list->handles[list->count++] = tensor;
        }
        if (!taken) {
            PyErr_Clear(); /* another thread has shortened the list: the ordinary way says so */
            return false;
        }
    }
    *gradient |= list && state_needs_gradient(list->handles, list->count);
    return list != NULL;
}

static bool take_number(argument_kind kind, PyObject *value, torch_value *slot) {
    if (kind == ARGUMENT_BOOL) {
        *slot = value == Py_True;
        return value == Py_True || value == Py_False;
    }
    const bool whole = PyLong_CheckExact(value);
    if (kind == ARGUMENT_FLOAT && (whole || PyFloat_CheckExact(value))) {
        const double number = PyFloat_AsDouble(value);
        memcpy(slot, &number, sizeof number);
    } else if ((kind == ARGUMENT_INT || kind == ARGUMENT_OPTIONAL_INT) && whole) {
        *slot = (torch_value)PyLong_AsLongLong(value);
    } else {
        return false;
    }
    if (!PyErr_Occurred()) {
        return true;
    }
    PyErr_Clear();
    return false;
}

static bool take_argument(struct operator_call *call, uint32_t argument, PyObject *value,
                          bool *gradient) {
    const argument_kind kind = call->op->arguments[argument].kind;
    const bool optional = kind == ARGUMENT_OPTIONAL_TENSOR || kind == ARGUMENT_OPTIONAL_INT;
    if (optional && value == Py_None) {
        return true;
    }
    call->present[argument] = true;
    if (kind == ARGUMENT_TENSOR_LIST) {
        return take_list(call, argument, value, gradient);
    }
    if (kind != ARGUMENT_TENSOR && kind != ARGUMENT_OPTIONAL_TENSOR) {
        return take_number(kind, value, &call->values[argument]);
    }
    torch_tensor *tensor = NULL;
    const bool taken = take_tensor(value, &tensor);
    call->values[argument] = (torch_value)tensor; /* the call lets go of it */
    *gradient |= taken && state_needs_gradient(&tensor, 1);
    return taken;
}

static enum outcome take_arguments(struct operator_call *call, PyObject *const *values,
                                   Py_ssize_t count) {
    const struct torch_operator *op = call->op;
    bool gradient = false;
    if (count > (Py_ssize_t)op->argument_count || !state_allows_bypass()) {
        return ORDINARY;
    }
    for (uint32_t i = 0; i < op->argument_count; i++) {
        if (i < count) {
            if (!take_argument(call, i, values[i], &gradient)) {
                return ORDINARY;
            }
        } else if (op->arguments[i].has_default) {
            call->values[i] = op->arguments[i].by_default;
        } else {
            return ORDINARY;
        }
    }
    return gradient ? GRADIENT : TAKEN;
}

static PyObject *call_other(PyObject *function, PyObject *const *values, Py_ssize_t count) {
    PyObject *arguments = PyTuple_New(count);
    for (Py_ssize_t i = 0; arguments && i < count; i++) {
        Py_INCREF(values[i]);
        PyTuple_SetItem(arguments, i, values[i]);
    }
    PyObject *result = arguments ? PyObject_CallObject(function, arguments) : NULL;
    Py_XDECREF(arguments);
    return result;
}

/* None, a tensor, or a tuple of tensors, from handles that are let go of. */
static PyObject *give_outputs(const struct torch_operator *op, const torch_value *stack) {
    PyObject *objects[OPERATOR_OUTPUTS] = {NULL};
    bool given = true;
    for (uint32_t i = 0; i < op->output_count; i++) {
        torch_tensor *tensor = (torch_tensor *)stack[i];
        objects[i] = state_object_of(tensor);
        given &= objects[i] != NULL;
        torch.delete_tensor(tensor);
    }
    if (given && op->output_count == 1) {
        return objects[0];
    }
    PyObject *result = NULL;
    if (given && op->output_count == 0) {
        result = Py_None;
        Py_INCREF(result);
    } else if (given && (result = PyTuple_New(op->output_count))) {
        for (uint32_t i = 0; i < op->output_count; i++) {
            PyTuple_SetItem(result, i, objects[i]);
        }
        return result;
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        Py_XDECREF(objects[i]);
    }
    if (!result && !PyErr_Occurred()) {
        PyErr_Format(PyExc_RuntimeError, "%s: torch could not give its result", op->name);
    }
    return result;
}

static PyObject *call_directly(PyObject *self, PyObject *const *values, Py_ssize_t count) {
    const struct direct *direct = PyCapsule_GetPointer(self, NULL);
    torch_value stack[OPERATOR_OUTPUTS] = {0};
    struct operator_call call;
    operator_call_begin(&call, direct->op);
    const enum outcome outcome = take_arguments(&call, values, count);
    if (outcome != TAKEN) {
        call.status = INGOT_INVALID_ARGUMENT;
        operator_call_close(&call, stack);
        return call_other(outcome == GRADIENT && direct->gradient != Py_None ? direct->gradient
                                                                             : direct->ordinary,
                          values, count);
    }
    Py_BEGIN_ALLOW_THREADS;
    operator_call_run(&call);
    Py_END_ALLOW_THREADS;
    operator_call_close(&call, stack); /* with the GIL, which torch would take for each tensor */
    if (!call.status) {
        return give_outputs(direct->op, stack);
    }
    if (call.status != INGOT_CANCELLED || PyErr_CheckSignals() == 0) { /* Ctrl-C has an error */
        PyErr_SetString(PyExc_RuntimeError, call.message);
    }
    return NULL;
}

PyObject *torch_direct(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *name = NULL;
    PyObject *ordinary = NULL, *gradient = NULL;
    if (!PyArg_ParseTuple(arguments, "sOO:torch_direct", &name, &ordinary, &gradient)) {
        return NULL;
    }
    const struct torch_operator *op = NULL;
    for (size_t i = 0; (op = torch_operator_at(i)) && strcmp(op->name, name) != 0; i++)
        ;
    if (!op || !op->argument_count) {
        return PyErr_Format(PyExc_ValueError, "torch_direct: there is no operator \"%s\"", name);
    }
    if (!state.complete || !state_has_objects()) {
        Py_RETURN_NONE;
    }
    struct direct *direct = malloc(sizeof *direct);
    if (!direct) {
        return PyErr_NoMemory();
    }
    *direct = (struct direct){op, ordinary, gradient, {0}};
    direct->method = (PyMethodDef){op->name, (PyCFunction)(void (*)(void))call_directly,
                                   METH_FASTCALL, "An operator past the dispatcher."};
    PyObject *capsule = PyCapsule_New(direct, NULL, NULL);
    PyObject *function = capsule ? PyCFunction_New(&direct->method, capsule) : NULL;
    Py_XDECREF(capsule);
    if (!function) {
        free(direct);
        return NULL;
    }
    Py_INCREF(ordinary);
    Py_INCREF(gradient);
    return function;
}
