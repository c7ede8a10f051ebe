/* What Python sees of the overrides in C: installing them, taking them back, limits and counts. */
#include "python/python.h"

#include <dlfcn.h>
#include <string.h>

#include "python/torch/override.h"
#include "python/torch/override_functions.h"
#include "python/torch/override_limits.h"
#include "python/torch/thread_state.h"

static bool look_up(const char *symbol, void *field) {
    void *address = torch.library ? dlsym(torch.library, symbol) : NULL;
    memcpy(field, &address, sizeof address);
    return address != NULL;
}

/* Can this torch hand its arguments over, and is there the function that it stands for? */
static bool is_possible(struct override *override) {
    if ((override->lists && !torch.list_size) || (override->strings && !torch.string_text)) {
        return false;
    }
    if (override->composite &&
        (!torch.tensor_to_python || !torch.call_versioned || !state.complete)) {
        return false;
    }
    return override->function || look_up(override->original, &override->function);
}

static PyObject *names(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && overrides[i].name; i++) {
        if (!is_possible(&overrides[i])) {
            continue;
        }
        PyObject *name = PyUnicode_FromFormat("aten::%s", overrides[i].name);
        if (!name || PyList_Append(list, name) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(name);
    }
    return list;
}

static struct override *find(PyObject *name) {
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    for (size_t i = 0; text && overrides[i].name; i++) {
        if (!strncmp(text, "aten::", 6) && !strcmp(text + 6, overrides[i].name) &&
            is_possible(&overrides[i])) {
            return &overrides[i];
        }
    }
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "%R is no operator that can be overridden from C", name);
    }
    return NULL;
}

static void take_back(struct override *override) {
    for (size_t i = 0; i < 2; i++) {
        if (override->libraries[i]) {
            torch.library_delete(override->libraries[i]);
        }
    }
    override->libraries[0] = override->libraries[1] = NULL;
}

static PyObject *install(PyObject *module, PyObject *name) {
    (void)module;
    static const char *const keys[] = {"CPU", "AutogradCPU"};
    struct override *override = find(name);
    if (!override) {
        return NULL;
    }
    for (size_t i = 0; i < (override->composite ? 2 : 1); i++) {
        torch_library **library = &override->libraries[i];
        if (*library) {
            continue;
        }
        if (torch.library_implement("aten", keys[i], "ingot", 0, library) ||
            (torch.implement_versioned
                 ? torch.implement_versioned(*library, override->name, override->kernel,
                                             TORCH_BUILD_VERSION)
                 : torch.implement(*library, override->name, override->kernel))) {
            take_back(override);
            return PyErr_Format(PyExc_RuntimeError, "torch refused an override of aten::%s for %s",
                                override->name, keys[i]);
        }
    }
    Py_RETURN_NONE;
}

static PyObject *uninstall(PyObject *module, PyObject *name) {
    (void)module;
    struct override *override = find(name);
    if (!override) {
        return NULL;
    }
    take_back(override);
    Py_RETURN_NONE;
}

/* {name: (least, most, least, most, least, most)}; what is not there never goes to ingot */
static PyObject *set_limits(PyObject *module, PyObject *spans) {
    (void)module;
    if (!PyDict_Check(spans)) {
        PyErr_SetString(PyExc_TypeError, "override_limits takes a dict");
        return NULL;
    }
    for (size_t i = 0; limit_names[i]; i++) {
        long long numbers[2 * LIMIT_TYPES] = {1, 0, 1, 0, 1, 0};
        PyObject *span = PyDict_GetItemString(spans, limit_names[i]);
        if (span && !PyArg_ParseTuple(span, "LLLLLL:override_limits", &numbers[0], &numbers[1],
                                      &numbers[2], &numbers[3], &numbers[4], &numbers[5])) {
            return NULL;
        }
        for (size_t j = 0; j < LIMIT_TYPES; j++) {
            limits[i][j] = (struct limit_span){numbers[2 * j], numbers[2 * j + 1]};
        }
    }
    Py_RETURN_NONE;
}

static PyObject *counts(PyObject *module, PyObject *name) {
    (void)module;
    struct override *override = find(name);
    return override ? Py_BuildValue("KK", (unsigned long long)atomic_load(&override->replaced),
                                    (unsigned long long)atomic_load(&override->passed))
                    : NULL;
}

static PyObject *reset_counts(PyObject *module, PyObject *name) {
    (void)module;
    struct override *override = find(name);
    if (!override) {
        return NULL;
    }
    atomic_store(&override->replaced, 0);
    atomic_store(&override->passed, 0);
    Py_RETURN_NONE;
}

PyMethodDef override_functions[] = {
    {"override_names", names, METH_NOARGS,
     "override_names() -> list: the operators that can be overridden from C with this torch."},
    {"override_install", install, METH_O,
     "override_install(name): puts ingot's function over torch's."},
    {"override_remove", uninstall, METH_O, "override_remove(name): takes it back."},
    {"override_limits", set_limits, METH_O,
     "override_limits({operation: (least, most) for float32, float16, bfloat16, in a row}): the "
     "numbers of "
     "elements that go to ingot."},
    {"override_counts", counts, METH_O, "override_counts(name) -> (replaced, passed)."},
    {"override_reset_counts", reset_counts, METH_O, "override_reset_counts(name): starts anew."},
    {NULL, NULL, 0, NULL},
};
