/*
 * The grid of a call, by torch's rules: threads are counted in threads, their number is that of
 * the first tensor's elements unless given; a group is as large as may be along x unless given.
 */
#include "python/call.h"

/* A whole number that fits 32 bits; numbers of NumPy and 0-dim tensors count too. */
static bool extent_from(PyObject *value, const char *kernel, const char *what, uint32_t *result) {
    PyObject *whole = PyFloat_Check(value) ? NULL : PyNumber_Index(value);
    if (!whole) {
        PyErr_Clear();
        PyObject *text = shown(value);
        raise_argument("kernel \"%s\": %s has to be a whole number or 1 to 3 of them, not %V",
                       kernel, what, text, "this");
        Py_XDECREF(text);
        return false;
    }
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(whole, &overflow);
    Py_DECREF(whole);
    if (overflow || number < 0 || number > UINT32_MAX) {
        PyObject *text = shown(value);
        raise_error(INGOT_INVALID_ARGUMENT, "kernel \"%s\": %s of %V is not between 0 and %u",
                    kernel, what, text, "another size", UINT32_MAX);
        Py_XDECREF(text);
        return false;
    }
    *result = (uint32_t)number;
    return true;
}

/* The number of dimensions, or 0 with an exception. */
static int extents_from(PyObject *value, const char *kernel, const char *what, uint32_t out[3]) {
    out[0] = out[1] = out[2] = 1;
    if (PyLong_Check(value)) {
        return extent_from(value, kernel, what, &out[0]) ? 1 : 0;
    }
    bool sequence = PyTuple_Check(value) || PyList_Check(value);
    if (!sequence) {
        return extent_from(value, kernel, what, &out[0]) ? 1 : 0;
    }
    Py_ssize_t size = PySequence_Size(value);
    if (size < 1 || size > 3) {
        raise_error(INGOT_INVALID_ARGUMENT, "kernel \"%s\": %s has %zd dimensions, not 1 to 3",
                    kernel, what, size);
        return 0;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *item = PySequence_GetItem(value, i);
        bool good = item && extent_from(item, kernel, what, &out[i]);
        Py_XDECREF(item);
        if (!good) {
            return 0;
        }
    }
    return (int)size;
}

static bool group_from(const struct call *call, PyObject *group_size, int dimensions,
                       ingot_dispatch_desc *desc) {
    const char *kernel = call->signature->name;
    uint32_t limit = call->signature->max_threads;
    if (!group_size || group_size == Py_None) {
        desc->group[0] = dimensions == 1 && desc->threads[0] < limit ? desc->threads[0] : limit;
        desc->group[1] = desc->group[2] = 1;
        return true;
    }
    int given = extents_from(group_size, kernel, "group_size", desc->group);
    if (!given) {
        return false;
    }
    if (given != dimensions) {
        raise_error(INGOT_INVALID_ARGUMENT,
                    "kernel \"%s\": group_size has %d dimensions, but threads has %d", kernel,
                    given, dimensions);
        return false;
    }
    uint64_t total = 1;
    for (int axis = 0; axis < 3; axis++) {
        if (desc->group[axis] == 0) {
            PyErr_Format(PyExc_ValueError,
                         "kernel \"%s\": the threadgroup size %u x %u x %u has no "
                         "threads",
                         kernel, desc->group[0], desc->group[1], desc->group[2]);
            return false;
        }
        if (total <= UINT32_MAX) { /* saturates well below overflow */
            total *= desc->group[axis];
        }
    }
    if (total <= limit) {
        return true;
    }
    PyErr_Format(PyExc_ValueError,
                 "kernel \"%s\": a threadgroup of %u x %u x %u = %llu threads is more than the "
                 "kernel's limit of %u",
                 kernel, desc->group[0], desc->group[1], desc->group[2], (unsigned long long)total,
                 limit);
    return false;
}

bool grid_from(const struct call *call, PyObject *threads, PyObject *group_size,
               ingot_dispatch_desc *desc) {
    const char *kernel = call->signature->name;
    int dimensions = 1;
    if (threads && threads != Py_None) {
        dimensions = extents_from(threads, kernel, "threads", desc->threads);
        if (!dimensions) {
            return false;
        }
    } else if (call->first_elements < 0) {
        raise_error(INGOT_INVALID_ARGUMENT,
                    "kernel \"%s\": the number of threads is not given, and there is no tensor "
                    "among the %zu arguments whose elements it could be",
                    kernel, call->count);
        return false;
    } else if (call->first_elements > UINT32_MAX) {
        raise_error(INGOT_INVALID_ARGUMENT,
                    "kernel \"%s\": the first tensor has %lld elements, more than the %u threads "
                    "of one dimension; give threads",
                    kernel, (long long)call->first_elements, UINT32_MAX);
        return false;
    } else if (call->narrow && call->first_elements) {
        raise_error(INGOT_INVALID_ARGUMENT,
                    "kernel \"%s\", argument %u \"%s\": a thread for each of %lld elements of type "
                    "%s reaches past a tensor whose elements have %u byte%s; use another dtype, or "
                    "give threads",
                    kernel, call->narrow->index, call->narrow->name,
                    (long long)call->first_elements, call->narrow->type_name, call->narrow_size,
                    call->narrow_size == 1 ? "" : "s");
        return false;
    } else {
        desc->threads[0] = (uint32_t)call->first_elements;
        desc->threads[1] = desc->threads[2] = 1;
    }
    if (!group_from(call, group_size, dimensions, desc)) {
        return false;
    }
    if (!desc->threads[1] || !desc->threads[2]) {
        desc->threads[0] = 0; /* nothing to do */
    }
    return true;
}

bool threadgroup_lengths(PyObject *value, const char *kernel, uint32_t lengths[MAX_GROUPS],
                         ingot_dispatch_desc *desc) {
    if (!value || value == Py_None) {
        return true;
    }
    desc->threadgroup_lengths = lengths;
    desc->threadgroup_length_count = 1;
    if (!PyTuple_Check(value) && !PyList_Check(value)) {
        return extent_from(value, kernel, "threadgroup_memory", &lengths[0]);
    }
    Py_ssize_t size = PySequence_Size(value);
    if (size < 0 || size > MAX_GROUPS) {
        raise_error(INGOT_INVALID_ARGUMENT,
                    "kernel \"%s\": threadgroup_memory has %zd sizes, more than the limit of %d",
                    kernel, size, MAX_GROUPS);
        return false;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *item = PySequence_GetItem(value, i);
        bool good = item && extent_from(item, kernel, "threadgroup_memory", &lengths[i]);
        Py_XDECREF(item);
        if (!good) {
            return false;
        }
    }
    desc->threadgroup_length_count = (size_t)size;
    return true;
}
