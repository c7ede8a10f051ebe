/*
 * Objects without their layout. The head of an object is 16 bytes, or 32 in a free-threaded Python;
 * everything behind it is the same in all of them.
 */
#include "python/python.h"

size_t object_head;

int object_init(void) {
    PyObject *size = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, "__basicsize__");
    object_head = size ? PyLong_AsSize_t(size) : 0;
    Py_XDECREF(size);
    return PyErr_Occurred() ? -1 : 0;
}

PyTypeObject *object_type(PyObject *object) {
    PyObject *type = PyObject_Type(object);
    Py_DecRef(type); /* the object keeps it */
    return (PyTypeObject *)type;
}

PyObject *object_new_type(const char *name, size_t data_size, PyType_Slot *slots) {
    PyType_Spec spec = {
        .name = name,
        .basicsize = (int)(object_head + data_size),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = slots,
    };
    return PyType_FromSpec(&spec);
}

/* ---- the module ---- */

enum { HEAD_ROOM = 64 };

struct definition { /* PyModuleDef behind its head; Python fills in `index` */
    PyObject *(*init)(void);
    Py_ssize_t index;
    PyObject *copy;
    const char *name, *doc;
    Py_ssize_t state_size;
    PyMethodDef *functions;
    void *slots, *traverse, *clear, *free;
};

/* Of free-threaded builds from 3.13 on only: a module is taken to need the GIL unless it says so.
 */
__attribute__((weak)) int PyUnstable_Module_SetGIL(PyObject *module, void *gil);
static void *const gil_not_used = (void *)1;

PyObject *object_new_module(const char *name, const char *doc, PyMethodDef *functions) {
    static _Alignas(16) char memory[HEAD_ROOM + sizeof(struct definition)];
    if (object_head > HEAD_ROOM) {
        return PyErr_Format(PyExc_ImportError,
                            "objects of this Python have heads of %zu bytes, and "
                            "ingot knows those of up to %d",
                            object_head, HEAD_ROOM);
    }
    struct definition *definition = object_data((PyObject *)memory);
    *definition = (struct definition){.name = name, .doc = doc, .functions = functions};
    PyObject *module = PyModule_Create2((PyModuleDef *)memory, PYTHON_ABI_VERSION);
    if (module && PyUnstable_Module_SetGIL && PyUnstable_Module_SetGIL(module, gil_not_used) != 0) {
        Py_CLEAR(module);
    }
    return module;
}
