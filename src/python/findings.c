/*
 * The sanitizer for Python: which checks the CPU's device is opened with, and what it has found, as
 * dictionaries of the same keys as `ingot run --json`.
 */
#include "python/objects.h"

#include "python/context.h"
#include "python/interrupt.h"

#include <string.h>

/* sanitize(kinds) → None; raises where the device is open already, with other checks. */
PyObject *findings_sanitize(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *kinds;
    if (!PyArg_ParseTuple(arguments, "s", &kinds)) {
        return NULL;
    }
    if (!context_set_sanitize(kinds)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "kernels have run already, without these checks: call ingot.sanitize() "
                        "before the first one, or set INGOT_SANITIZE");
        return NULL;
    }
    context cpu;
    ingot_status status = context_cpu(&cpu);
    if (status != INGOT_OK) {
        return raise_status(status);
    }
    Py_RETURN_NONE;
}

static PyObject *position(const uint32_t at[3]) {
    return Py_BuildValue("(III)", (unsigned)at[0], (unsigned)at[1], (unsigned)at[2]);
}

static PyObject *frames(const ingot_finding_side *side) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < side->inlined_count; i++) {
        const ingot_frame *frame = &side->inlined[i];
        PyObject *item =
            Py_BuildValue("{s:s,s:s,s:I,s:I}", "function", frame->function, "file", frame->file,
                          "line", (unsigned)frame->line, "column", (unsigned)frame->column);
        if (!item || PyList_Append(list, item)) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *side_of(const ingot_finding_side *side) {
    return Py_BuildValue("{s:s,s:I,s:I,s:s,s:N,s:N,s:N}", "file", side->file, "line",
                         (unsigned)side->line, "column", (unsigned)side->column, "access",
                         side->access, "threadgroup", position(side->threadgroup), "thread",
                         position(side->thread), "inlined", frames(side));
}

/* dict[key] = value, which is taken over; false when it is NULL or cannot be. */
static bool put(PyObject *dict, const char *key, PyObject *value) {
    bool good = value && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return good;
}

static PyObject *finding_of(const ingot_finding *finding) {
    PyObject *dict = side_of(&finding->side);
    if (!dict) {
        return NULL;
    }
    bool good = put(dict, "kind", PyUnicode_FromString(finding->kind)) &&
                put(dict, "message", PyUnicode_FromString(finding->message)) &&
                put(dict, "kernel", PyUnicode_FromString(finding->kernel)) &&
                put(dict, "space", PyUnicode_FromString(finding->space)) &&
                put(dict, "argument", PyUnicode_FromString(finding->argument)) &&
                put(dict, "bytes", PyLong_FromUnsignedLongLong(finding->argument_bytes)) &&
                put(dict, "count", PyLong_FromUnsignedLongLong(finding->count)) &&
                put(dict, "report", PyUnicode_FromString(finding->report));
    if (good && finding->argument_index >= 0) {
        good = put(dict, "index", PyLong_FromLong(finding->argument_index));
    }
    if (good && finding->has_offset) {
        good = put(dict, "offset", PyLong_FromLongLong(finding->offset));
    }
    if (good && finding->has_other) {
        good = put(dict, "other", side_of(&finding->other));
    }
    if (!good) {
        Py_CLEAR(dict);
    }
    return dict;
}

/* findings() → list of dict: those since the last call, after all work is done. */
PyObject *findings_take(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    context cpu;
    ingot_status status = context_cpu(&cpu);
    if (status != INGOT_OK) {
        return raise_status(status);
    }
    Py_BEGIN_ALLOW_THREADS;
    status = interruptible_wait(cpu.stream);
    Py_END_ALLOW_THREADS;
    if (status != INGOT_OK) {
        return raise_status(status);
    }
    PyObject *list = PyList_New(0);
    size_t count = ingot_device_finding_count(cpu.device);
    for (size_t i = 0; list && i < count; i++) {
        ingot_finding finding;
        if (ingot_device_finding(cpu.device, i, &finding)) {
            continue;
        }
        PyObject *item = finding_of(&finding);
        if (!item || PyList_Append(list, item)) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    if (list) {
        ingot_device_clear_findings(cpu.device);
    }
    return list;
}
