/* Exceptions: ingot.Error and how a status becomes one. */
#include "python/objects.h"

#include <stdarg.h>

PyObject *error_type, *argument_error_type;

int errors_init(PyObject *module) {
    error_type = PyErr_NewExceptionWithDoc(
        "ingot.Error", "An error of ingot; `status` is the name of its pinned code.",
        PyExc_RuntimeError, NULL);
    if (!error_type) {
        return -1;
    }
    PyObject *bases = PyTuple_Pack(2, error_type, PyExc_TypeError);
    if (!bases) {
        return -1;
    }
    argument_error_type = PyErr_NewExceptionWithDoc(
        "ingot.ArgumentError", "A value of a type that the argument of a kernel cannot have.",
        bases, NULL);
    Py_DECREF(bases);
    if (!argument_error_type) {
        return -1;
    }
    if (PyModule_AddObjectRef(module, "Error", error_type) != 0) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "ArgumentError", argument_error_type);
}

/* Takes `text`. */
static PyObject *raise_text(PyObject *type, ingot_status status, PyObject *text) {
    if (!text) {
        return NULL;
    }
    PyObject *exception = PyObject_CallFunctionObjArgs(type, text, NULL);
    Py_DECREF(text);
    if (!exception) {
        return NULL;
    }
    PyObject *name = PyUnicode_FromString(ingot_status_name(status));
    if (!name || PyObject_SetAttrString(exception, "status", name) != 0) {
        PyErr_Clear();
    }
    Py_XDECREF(name);
    PyErr_SetObject(type, exception);
    Py_DECREF(exception);
    return NULL;
}

static PyObject *raise_message(PyObject *type, ingot_status status) {
    const char *message = ingot_error_message();
    if (!*message) {
        message = ingot_status_name(status);
    }
    PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
    /* what a signal raises goes first: it may be why the work was cancelled or the compiler died */
    if (text && PyErr_CheckSignals() != 0) {
        Py_DECREF(text);
        return NULL;
    }
    return raise_text(type, status, text);
}

#define SHOWN_ITEMS      8
#define SHOWN_CHARACTERS 80

static bool is_plain(PyObject *value) {
    return value == Py_None || PyLong_CheckExact(value) || PyBool_Check(value) ||
           PyFloat_CheckExact(value) || PyComplex_CheckExact(value) || PyUnicode_CheckExact(value);
}

static bool is_plain_sequence(PyObject *value) {
    bool sequence = PyTuple_CheckExact(value) || PyList_CheckExact(value);
    Py_ssize_t size = sequence ? PySequence_Size(value) : SHOWN_ITEMS + 1;
    bool plain = size <= SHOWN_ITEMS;
    for (Py_ssize_t i = 0; i < size && plain; i++) {
        PyObject *item = PySequence_GetItem(value, i);
        plain = item && is_plain(item);
        Py_XDECREF(item);
    }
    PyErr_Clear();
    return plain;
}

PyObject *shown(PyObject *value) {
    PyObject *text = is_plain(value) || is_plain_sequence(value) ? PyObject_Repr(value) : NULL;
    if (text && PyUnicode_GetLength(text) > SHOWN_CHARACTERS) {
        PyObject *start = PyUnicode_Substring(text, 0, SHOWN_CHARACTERS);
        Py_DECREF(text);
        text = start ? PyUnicode_FromFormat("%U...", start) : NULL;
        Py_XDECREF(start);
    }
    if (!text) { /* also an int of thousands of digits */
        PyErr_Clear();
        text = PyUnicode_FromFormat("%R", (PyObject *)Py_TYPE(value));
    }
    if (!text) {
        PyErr_Clear();
    }
    return text;
}

PyObject *raise_status(ingot_status status) {
    PyObject *type = status == INGOT_COMPILE_ERROR   ? PyExc_SyntaxError
                     : status == INGOT_OUT_OF_MEMORY ? PyExc_MemoryError
                                                     : error_type;
    return raise_message(type, status);
}

PyObject *raise_kernel_status(ingot_status status) {
    return status == INGOT_COMPILE_ERROR ? raise_message(error_type, status) : raise_status(status);
}

PyObject *raise_error(ingot_status status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    PyObject *text = PyUnicode_FromFormatV(format, values);
    va_end(values);
    return raise_text(error_type, status, text);
}

PyObject *raise_argument(const char *format, ...) {
    va_list values;
    va_start(values, format);
    PyObject *text = PyUnicode_FromFormatV(format, values);
    va_end(values);
    return raise_text(argument_error_type, INGOT_INVALID_ARGUMENT, text);
}
