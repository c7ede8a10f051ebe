/* Values of function constants: from Python's to the bytes of each constant's own type. */
#include "python/values.h"

#include <stdio.h>

/* "WIDTH (0), USE_BIAS (1)" or "none", for messages. NULL without an exception when that fails. */
static PyObject *constant_names(ingot_library *library) {
    size_t count = ingot_library_constant_count(library);
    PyObject *text = PyUnicode_FromString(count ? "" : "none");
    for (size_t i = 0; text && i < count; i++) {
        ingot_constant_info info;
        if (ingot_library_constant_info(library, i, &info) != INGOT_OK) {
            continue;
        }
        PyObject *longer = PyUnicode_FromFormat("%U%s%s (%u)", text, i ? ", " : "",
                                                info.name ? info.name : "", info.index);
        Py_DECREF(text);
        text = longer;
    }
    PyErr_Clear();
    return text;
}

/* The constant that `key` names, by name or index. False with an exception. */
static bool find_constant(ingot_library *library, PyObject *key, ingot_constant_info *info) {
    const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, NULL) : NULL;
    int overflow = 0; /* an index that large is of no constant either */
    long index = PyLong_Check(key) ? PyLong_AsLongAndOverflow(key, &overflow) : -1;
    if (!PyLong_Check(key) && !PyUnicode_Check(key)) {
        raise_argument("function constants are given by name or index, not by %R",
                       (PyObject *)Py_TYPE(key));
    }
    if (PyErr_Occurred()) {
        return false;
    }
    size_t count = ingot_library_constant_count(library);
    for (size_t i = 0; i < count; i++) {
        if (ingot_library_constant_info(library, i, info) != INGOT_OK) {
            continue;
        }
        if (name ? info->name && strcmp(info->name, name) == 0 : (long)info->index == index) {
            return true;
        }
    }
    PyObject *text = shown(key), *names = constant_names(library);
    raise_error(INGOT_NOT_FOUND, "there is no function constant %V: the library has %V", text,
                "of this name", names, "others");
    Py_XDECREF(text);
    Py_XDECREF(names);
    return false;
}

static bool encode_component(const ingot_constant_info *info, const struct target *where,
                             PyObject *value, unsigned char *out) {
    struct number number;
    if (!number_from(value, where, &number)) {
        return false;
    }
    if (number_put(info->type, &number, out)) {
        return true;
    }
    PyObject *text = shown(value);
    raise_error(INGOT_INVALID_ARGUMENT, "%s: %V is not a value of type %s", PLACE(where), text,
                "this", scalar_name(info->type));
    Py_XDECREF(text);
    return false;
}

static PyObject *encode_constant(const ingot_constant_info *info, PyObject *value) {
    unsigned char bytes[32];
    char text[PLACE_SIZE];
    snprintf(text, sizeof text, "function constant %u \"%s\"", info->index,
             info->name ? info->name : "");
    struct target where = {.place = text};
    unsigned size = scalar_size(info->type), components = info->components;
    if (!size || components < 1 || components > 4) {
        return raise_error(INGOT_UNSUPPORTED, "%s: its type cannot be given a value", text);
    }
    if (components == 1) {
        if (!encode_component(info, &where, value, bytes)) {
            return NULL;
        }
    } else {
        Py_ssize_t given = PySequence_Check(value) ? PySequence_Size(value) : -1;
        if (given != (Py_ssize_t)components) {
            PyErr_Clear();
            PyObject *shape = shown(value);
            raise_argument("%s: %u components are needed, but %V was given", text, components,
                           shape, "something else");
            Py_XDECREF(shape);
            return NULL;
        }
        for (Py_ssize_t i = 0; i < given; i++) {
            PyObject *item = PySequence_GetItem(value, i);
            bool good = item && encode_component(info, &where, item, bytes + (size_t)i * size);
            Py_XDECREF(item);
            if (!good) {
                return NULL;
            }
        }
        if (components == 3) { /* a vector of three has the size of four */
            memset(bytes + 3 * size, 0, size);
            components = 4;
        }
    }
    return PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)(size * components));
}

static int add_constants(ingot_library *library, PyObject *mapping, PyObject *list) {
    PyObject *items = mapping ? PyMapping_Items(mapping) : NULL;
    if (!items) {
        return mapping ? -1 : 0;
    }
    Py_ssize_t count = PyList_Size(items);
    int result = 0;
    for (Py_ssize_t i = 0; i < count && result == 0; i++) {
        PyObject *pair = PyList_GetItem(items, i);
        ingot_constant_info info;
        PyObject *bytes = NULL, *entry = NULL;
        if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) { /* a dictionary's own items() */
            raise_argument("items() of the function constants gives %R where pairs are needed",
                           (PyObject *)Py_TYPE(pair));
        } else if (find_constant(library, PyTuple_GetItem(pair, 0), &info)) {
            bytes = encode_constant(&info, PyTuple_GetItem(pair, 1));
        }
        if (bytes) {
            entry = Py_BuildValue("(IO)", info.index, bytes);
        }
        result = entry ? PyList_Append(list, entry) : -1;
        Py_XDECREF(entry);
        Py_XDECREF(bytes);
    }
    Py_DECREF(items);
    return result;
}

PyObject *constants_encode(ingot_library *library, PyObject *mapping, PyObject *by_name) {
    if (mapping == Py_None) {
        mapping = NULL;
    }
    if (mapping && !PyDict_Check(mapping)) {
        return raise_argument("function constants have to be a dictionary of values by name or "
                              "index, not %R",
                              (PyObject *)Py_TYPE(mapping));
    }
    PyObject *list = PyList_New(0);
    PyObject *tuple = NULL;
    if (list && add_constants(library, mapping, list) == 0 &&
        add_constants(library, by_name, list) == 0 && PyList_Sort(list) == 0) {
        tuple = PyList_AsTuple(list);
    }
    Py_XDECREF(list);
    for (Py_ssize_t i = 1; tuple && i < PyTuple_Size(tuple); i++) {
        PyObject *index = PyTuple_GetItem(PyTuple_GetItem(tuple, i), 0);
        PyObject *before = PyTuple_GetItem(PyTuple_GetItem(tuple, i - 1), 0);
        if (PyLong_AsUnsignedLong(index) != PyLong_AsUnsignedLong(before)) {
            continue;
        }
        raise_error(INGOT_INVALID_ARGUMENT, "function constant %S is given twice", index);
        Py_CLEAR(tuple);
    }
    return tuple;
}
