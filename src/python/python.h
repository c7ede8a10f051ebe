/*
 * Python's limited API of 3.10, used without a look into any object: one module then serves every
 * CPython from 3.10 on, free-threaded builds (whose objects have a larger head) included. What the
 * headers do inline goes through functions that all of them export. Include this before anything
 * else.
 */
#ifndef INGOT_PYTHON_PYTHON_H
#define INGOT_PYTHON_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED /* whose headers have no limited API before 3.15 */
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>

#undef Py_INCREF
#undef Py_XINCREF
#undef Py_DECREF
#undef Py_XDECREF
#undef Py_NewRef
#undef Py_CLEAR
#undef Py_RETURN_NONE
#undef Py_TYPE
#undef Py_IS_TYPE
#undef PyObject_TypeCheck
#undef PyType_Check
#define Py_INCREF(object)  Py_IncRef((PyObject *)(object))
#define Py_XINCREF(object) Py_IncRef((PyObject *)(object))
#define Py_DECREF(object)  Py_DecRef((PyObject *)(object))
#define Py_XDECREF(object) Py_DecRef((PyObject *)(object))
#define Py_CLEAR(object)                                                                           \
    do {                                                                                           \
        PyObject *cleared_ = (PyObject *)(object);                                                 \
        (object) = NULL;                                                                           \
        Py_DecRef(cleared_);                                                                       \
    } while (0)
#define Py_RETURN_NONE                   return Py_NewRef(Py_None)
#define Py_TYPE(object)                  object_type((PyObject *)(object))
#define Py_IS_TYPE(object, type)         (Py_TYPE(object) == (type))
#define PyObject_TypeCheck(object, type) PyType_IsSubtype(Py_TYPE(object), (type))
#define PyType_Check(object)             ((PyType_GetFlags(Py_TYPE(object)) & Py_TPFLAGS_TYPE_SUBCLASS) != 0)

/* object.c */
int object_init(void); /* before all else; 0, or -1 with an exception */
/* The bytes of an object's head, which `data` of our own types follows: __basicsize__ of object. */
extern size_t object_head;
/* Borrowed from the object. */
PyTypeObject *object_type(PyObject *object);
/* What follows the head. */
static inline void *object_data(PyObject *object) {
    return (char *)object + object_head;
}
/* A type whose objects have `data_size` bytes after their head, and no dictionary. NULL with an
 * exception. */
PyObject *object_new_type(const char *name, size_t data_size, PyType_Slot *slots);
/* The module, of these functions; it works without the GIL. NULL with an exception. */
PyObject *object_new_module(const char *name, const char *doc, PyMethodDef *functions);

/* These would look into objects. */
#undef PyObject_HEAD
#undef PyObject_HEAD_INIT
#undef PyModuleDef_HEAD_INIT
#undef PyVarObject_HEAD_INIT
#undef Py_REFCNT
#undef Py_SIZE
#pragma GCC poison PyObject_HEAD PyObject_HEAD_INIT PyModuleDef_HEAD_INIT PyVarObject_HEAD_INIT
#pragma GCC poison Py_REFCNT Py_SIZE ob_refcnt ob_type ob_size

#endif
