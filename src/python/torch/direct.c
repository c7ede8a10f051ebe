/*
 * Operators as Python functions past the dispatcher: for plain tensors, outside of everything that
 * is to see a call (modes, autocast, transforms, tracing, profiling), an operator is run at once.
 * What needs a gradient goes to the function that writes it down; all else goes the ordinary way,
 * which also has the messages for wrong arguments.
 */
#include "python/python.h"

#include "python/torch/direct.h"

#include <stdlib.h>
#include <string.h>

#include "python/torch/register.h"
#include "python/torch/state.h"

struct direct { /* for the life of the process */
    const struct operation *operation;
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

static bool take_list(struct frame *frame, uint32_t argument, PyObject *value, bool *gradient) {
    if (!PyList_CheckExact(value)) {
        return false;
    }
    const Py_ssize_t count = PyList_Size(value);
    struct frame_list *list = frame_add_list(frame, argument, (size_t)count);
    for (Py_ssize_t i = 0; list && i < count; i++) {
        torch_tensor *tensor = NULL;
        const bool taken = take_tensor(PyList_GetItem(value, i), &tensor);
        if (tensor) {
            list->handles[list->count++] = tensor;
        }
        if (!taken) {
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

static bool take_argument(struct frame *frame, uint32_t argument, PyObject *value, bool *gradient) {
    const argument_kind kind = frame->operation->arguments[argument].kind;
    const bool optional = kind == ARGUMENT_OPTIONAL_TENSOR || kind == ARGUMENT_OPTIONAL_INT;
    if (optional && value == Py_None) {
        return true;
    }
    frame->present[argument] = true;
    if (kind == ARGUMENT_TENSOR_LIST) {
        return take_list(frame, argument, value, gradient);
    }
    if (kind != ARGUMENT_TENSOR && kind != ARGUMENT_OPTIONAL_TENSOR) {
        return take_number(kind, value, &frame->values[argument]);
    }
    torch_tensor *tensor = NULL;
    const bool taken = take_tensor(value, &tensor);
    frame->values[argument] = (torch_value)tensor; /* the frame lets go of it */
    *gradient |= taken && state_needs_gradient(&tensor, 1);
    return taken;
}

static enum outcome take_arguments(struct frame *frame, PyObject *const *values, Py_ssize_t count) {
    const struct operation *operation = frame->operation;
    bool gradient = false;
    if (count > (Py_ssize_t)operation->argument_count || !state_is_plain()) {
        return ORDINARY;
    }
    for (uint32_t i = 0; i < operation->argument_count; i++) {
        if (i < count) {
            if (!take_argument(frame, i, values[i], &gradient)) {
                return ORDINARY;
            }
        } else if (operation->arguments[i].has_default) {
            frame->values[i] = operation->arguments[i].by_default;
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
static PyObject *give_outputs(const struct operation *operation, const torch_value *stack) {
    PyObject *objects[FRAME_OUTPUTS] = {NULL};
    bool given = true;
    for (uint32_t i = 0; i < operation->output_count; i++) {
        torch_tensor *tensor = (torch_tensor *)stack[i];
        objects[i] = state_object_of(tensor);
        given &= objects[i] != NULL;
        torch.delete_tensor(tensor);
    }
    if (given && operation->output_count == 1) {
        return objects[0];
    }
    PyObject *result = NULL;
    if (given && operation->output_count == 0) {
        result = Py_None;
        Py_INCREF(result);
    } else if (given && (result = PyTuple_New(operation->output_count))) {
        for (uint32_t i = 0; i < operation->output_count; i++) {
            PyTuple_SetItem(result, i, objects[i]);
        }
        return result;
    }
    for (uint32_t i = 0; i < operation->output_count; i++) {
        Py_XDECREF(objects[i]);
    }
    if (!result && !PyErr_Occurred()) {
        PyErr_Format(PyExc_RuntimeError, "%s: torch could not give its result", operation->name);
    }
    return result;
}

static PyObject *call(PyObject *self, PyObject *const *values, Py_ssize_t count) {
    const struct direct *direct = PyCapsule_GetPointer(self, NULL);
    torch_value stack[FRAME_OUTPUTS] = {0};
    struct frame frame;
    frame_begin(&frame, direct->operation);
    const enum outcome outcome = take_arguments(&frame, values, count);
    if (outcome != TAKEN) {
        frame.status = INGOT_INVALID_ARGUMENT;
        frame_close(&frame, stack);
        return call_other(outcome == GRADIENT && direct->gradient != Py_None ? direct->gradient
                                                                             : direct->ordinary,
                          values, count);
    }
    Py_BEGIN_ALLOW_THREADS;
    frame_run(&frame);
    Py_END_ALLOW_THREADS;
    frame_close(&frame, stack); /* with the GIL, which torch would take for each tensor */
    if (!frame.status) {
        return give_outputs(direct->operation, stack);
    }
    if (frame.status != INGOT_CANCELLED || PyErr_CheckSignals() == 0) { /* Ctrl-C has an error */
        PyErr_SetString(PyExc_RuntimeError, frame.message);
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
    const struct operation *operation = NULL;
    for (size_t i = 0; (operation = torch_operation(i)) && strcmp(operation->name, name) != 0; i++)
        ;
    if (!operation || !operation->argument_count) {
        return PyErr_Format(PyExc_ValueError, "torch_direct: there is no operator \"%s\"", name);
    }
    if (!state.complete || !state_has_objects()) {
        Py_RETURN_NONE;
    }
    struct direct *direct = malloc(sizeof *direct);
    if (!direct) {
        return PyErr_NoMemory();
    }
    *direct = (struct direct){operation, ordinary, gradient, {0}};
    direct->method = (PyMethodDef){operation->name, (PyCFunction)(void (*)(void))call,
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
