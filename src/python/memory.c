/*
 * Memory of arrays that are no torch tensors: by __array_struct__ (NumPy, the quickest), by
 * __array_interface__, or by DLPack. Nothing is copied; what was asked for the memory keeps it.
 */
#include "python/memory.h"

#include <stdatomic.h>
#include <stdlib.h>

static PyObject *name_struct, *name_interface, *name_dlpack, *name_device, *name_numpy,
    *name_generic;

int memory_init(void) {
    name_struct = PyUnicode_InternFromString("__array_struct__");
    name_interface = PyUnicode_InternFromString("__array_interface__");
    name_dlpack = PyUnicode_InternFromString("__dlpack__");
    name_device = PyUnicode_InternFromString("__dlpack_device__");
    name_numpy = PyUnicode_InternFromString("numpy");
    name_generic = PyUnicode_InternFromString("generic");
    if (!name_struct || !name_interface || !name_dlpack || !name_device || !name_numpy ||
        !name_generic) {
        return -1;
    }
    return tensor_init();
}

PyTypeObject *type_of_module(PyObject *module, PyObject *name, _Atomic(PyObject *) *known) {
    PyObject *found = atomic_load_explicit(known, memory_order_acquire);
    if (found) {
        return (PyTypeObject *)found;
    }
    PyObject *loaded = PyImport_GetModule(module);
    PyObject *type = loaded ? PyObject_GetAttr(loaded, name) : NULL;
    Py_XDECREF(loaded);
    if (!type || !PyType_Check(type)) {
        PyErr_Clear(); /* the module is not there, or still being imported */
        Py_XDECREF(type);
        return NULL;
    }
    if (!atomic_compare_exchange_strong(known, &found, type)) {
        Py_DECREF(type); /* another thread was quicker */
        return (PyTypeObject *)found;
    }
    return (PyTypeObject *)type;
}

void memory_release(struct memory *memory) {
    Py_CLEAR(memory->owner);
}

ingot_scalar_type memory_scalar(const struct memory *memory) {
    static const struct {
        char kind;
        unsigned size;
        ingot_scalar_type type;
    } types[] = {
        {'f', 4, INGOT_SCALAR_F32}, {'f', 2, INGOT_SCALAR_F16}, {'B', 2, INGOT_SCALAR_BF16},
        {'i', 8, INGOT_SCALAR_I64}, {'i', 4, INGOT_SCALAR_I32}, {'i', 2, INGOT_SCALAR_I16},
        {'i', 1, INGOT_SCALAR_I8},  {'u', 1, INGOT_SCALAR_U8},  {'b', 1, INGOT_SCALAR_BOOL},
        {'u', 2, INGOT_SCALAR_U16}, {'u', 4, INGOT_SCALAR_U32}, {'u', 8, INGOT_SCALAR_U64},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].kind == memory->kind && types[i].size == memory->item_size) {
            return types[i].type;
        }
    }
    return INGOT_SCALAR_NONE;
}

void memory_layout(struct memory *memory, const int64_t *shape, const int64_t *strides,
                   int64_t ndim, int64_t unit) {
    int64_t count = 1, step = unit, reach = 0;
    bool contiguous = true;
    for (int64_t axis = ndim - 1; axis >= 0; axis--) {
        int64_t size = shape[axis], stride = strides ? strides[axis] : step;
        if (size != 1 && stride != step) {
            contiguous = false;
        }
        if (size > 1 && stride > 0) {
            reach += (size - 1) * stride;
        }
        if (ndim - 1 - axis < INGOT_TENSOR_RANK) {
            memory->extents[ndim - 1 - axis] = size;
            memory->strides[ndim - 1 - axis] = stride / unit;
        }
        count *= size;
        step *= size;
    }
    memory->ndim = (int)ndim;
    memory->count = count;
    memory->contiguous = contiguous || count == 0;
    memory->length = count ? (uint64_t)(reach / unit * unit + unit) : 0;
}

/* ---- __array_struct__ ---- */

#define FLAG_NOT_SWAPPED 0x200
#define FLAG_WRITEABLE   0x400

struct array_struct { /* NumPy's "array interface", C side */
    int two, ndim;
    char kind;
    int item_size, flags;
    intptr_t *shape, *strides;
    void *data;
};

static enum memory_found refuse_kind(const struct target *where, char kind) {
    raise_argument("%s: an array of kind '%c' holds no numbers that a kernel could use",
                   PLACE(where), kind);
    return MEMORY_ERROR;
}

static bool usable_kind(char kind) {
    return strchr("fiubcV", kind) != NULL;
}

/* NumPy's scalars are arrays too, but of a copy. */
static bool is_numpy_scalar(PyObject *object) {
    static _Atomic(PyObject *) generic;
    PyTypeObject *type = type_of_module(name_numpy, name_generic, &generic);
    return type && PyType_IsSubtype(Py_TYPE(object), type);
}

/* Takes `capsule`. MEMORY_NONE: it does not say enough, and __array_interface__ has to. */
static enum memory_found by_struct(PyObject *object, PyObject *capsule, struct memory *memory,
                                   const struct target *where) {
    const struct array_struct *array = PyCapsule_GetPointer(capsule, NULL);
    if (!array || array->two != 2) {
        Py_DECREF(capsule);
        if (!PyErr_Occurred()) {
            raise_argument("%s: __array_struct__ is not of version 2", PLACE(where));
        }
        return MEMORY_ERROR;
    }
    if (array->kind == 'V' && !array->flags) { /* NumPy's, of structs: no flag says anything */
        Py_DECREF(capsule);
        return MEMORY_NONE;
    }
    bool usable = usable_kind(array->kind) && array->item_size > 0;
    if (!usable || !(array->flags & FLAG_NOT_SWAPPED)) {
        char kind = array->kind;
        bool swapped = usable;
        Py_DECREF(capsule);
        if (!swapped) {
            return refuse_kind(where, kind);
        }
        raise_argument("%s: the array's bytes are in another order than this machine's",
                       PLACE(where));
        return MEMORY_ERROR;
    }
    _Static_assert(sizeof(intptr_t) == sizeof(int64_t), "shapes are read as they are");
    memory->kind = array->kind == 'V' ? '?' : array->kind;
    memory->item_size = (unsigned)array->item_size;
    memory_layout(memory, (const int64_t *)array->shape, (const int64_t *)array->strides,
                  array->ndim, array->item_size);
    memory->pointer = array->data;
    memory->read_only = !(array->flags & FLAG_WRITEABLE);
    memory->is_scalar = array->ndim == 0 && is_numpy_scalar(object);
    memory->owner = capsule;
    return MEMORY_ARRAY;
}

/* ---- __array_interface__ ---- */

static bool read_integers(PyObject *sequence, int64_t *values, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        values[i] = item ? PyLong_AsLongLong(item) : -1;
        Py_XDECREF(item);
        if (PyErr_Occurred()) {
            return false;
        }
    }
    return true;
}

#define MAX_DIMENSIONS 64

/* The fields of structs are in this machine's order of bytes; false with an exception. */
static bool check_fields(PyObject *interface, const struct target *where) {
    PyObject *fields = PyDict_GetItemString(interface, "descr");
    for (Py_ssize_t i = 0; fields && PyList_Check(fields) && i < PyList_Size(fields); i++) {
        PyObject *field = PyList_GetItem(fields, i);
        PyObject *type =
            PyTuple_Check(field) && PyTuple_Size(field) > 1 ? PyTuple_GetItem(field, 1) : NULL;
        const char *text =
            type && PyUnicode_Check(type) ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
        if (text && *text == '>') {
            raise_argument("%s: field %zd of the array's structs is %s, whose bytes are in another "
                           "order than this machine's",
                           PLACE(where), i, text);
            return false;
        }
    }
    return true;
}

/* The entries of the dictionary, borrowed; false with an exception. */
static bool read_interface(PyObject *interface, struct memory *memory, const struct target *where) {
    PyObject *type = PyDict_GetItemString(interface, "typestr");
    PyObject *shape = PyDict_GetItemString(interface, "shape");
    PyObject *strides = PyDict_GetItemString(interface, "strides");
    PyObject *data = PyDict_GetItemString(interface, "data");
    Py_ssize_t ndim = shape && PyTuple_Check(shape) ? PyTuple_Size(shape) : -1;
    bool whole = type && PyUnicode_Check(type) && ndim >= 0 && ndim <= MAX_DIMENSIONS && data &&
                 PyTuple_Check(data) && PyTuple_Size(data) == 2;
    if (whole && strides && strides != Py_None) {
        whole = PyTuple_Check(strides) && PyTuple_Size(strides) == ndim;
    }
    Py_ssize_t length = 0;
    const char *text = whole ? PyUnicode_AsUTF8AndSize(type, &length) : NULL;
    if (!text || length < 3) {
        if (!PyErr_Occurred()) {
            raise_argument("%s: __array_interface__ lacks a usable typestr, shape, strides or data",
                           PLACE(where));
        }
        return false;
    }
    long size = strtol(text + 2, NULL, 10);
    if (!usable_kind(text[1]) || text[0] == '>' || size <= 0 || size > 1 << 20) {
        raise_argument("%s: arrays of type %s cannot be used by a kernel", PLACE(where), text);
        return false;
    }
    if (text[1] == 'V' && !check_fields(interface, where)) {
        return false;
    }
    memory->kind = text[1] == 'V' ? '?' : text[1];
    memory->item_size = (unsigned)size;
    int64_t sizes[MAX_DIMENSIONS], steps[MAX_DIMENSIONS];
    bool strided = strides && strides != Py_None;
    if (!read_integers(shape, sizes, ndim) || (strided && !read_integers(strides, steps, ndim))) {
        return false;
    }
    int64_t bytes = size;
    for (Py_ssize_t i = 0; i < ndim; i++) {
        if (sizes[i] < 0 || (sizes[i] > 0 && bytes > INT64_MAX / sizes[i])) {
            raise_argument("%s: __array_interface__ has the size %lld in dimension %zd, which "
                           "cannot be",
                           PLACE(where), (long long)sizes[i], i);
            return false;
        }
        bytes *= sizes[i] ? sizes[i] : 1;
    }
    memory_layout(memory, sizes, strided ? steps : NULL, ndim, size);
    memory->pointer = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
    memory->read_only = PyObject_IsTrue(PyTuple_GetItem(data, 1)) != 0;
    return !PyErr_Occurred();
}

/* Takes `interface`. */
static enum memory_found by_interface(PyObject *object, PyObject *interface, struct memory *memory,
                                      const struct target *where) {
    bool read = PyDict_Check(interface) && read_interface(interface, memory, where);
    if (!read && !PyErr_Occurred()) {
        raise_argument("%s: __array_interface__ is not a dictionary", PLACE(where));
    }
    Py_DECREF(interface);
    if (!read) {
        return MEMORY_ERROR;
    }
    Py_INCREF(object);
    memory->owner = object;
    return MEMORY_ARRAY;
}

/* ---- DLPack ---- */

struct dl_tensor { /* DLTensor of DLPack */
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};
enum { DL_CPU = 1, DL_CUDA_HOST = 3 };

/* The device, asked for before the memory: exporting may be work, or fail in other words. */
static bool on_host(PyObject *object, const struct target *where) {
    PyObject *pair = PyObject_CallMethodObjArgs(object, name_device, NULL);
    PyObject *first = pair && PyTuple_Check(pair) ? PyTuple_GetItem(pair, 0) : NULL;
    long type = first ? PyLong_AsLong(first) : DL_CPU;
    Py_XDECREF(pair);
    PyErr_Clear(); /* some have no __dlpack_device__: the tensor says it again */
    if (type == DL_CPU || type == DL_CUDA_HOST) {
        return true;
    }
    raise_error(INGOT_UNSUPPORTED,
                "%s: the array is on a device of DLPack type %ld, but the kernel runs on cpu",
                PLACE(where), type);
    return false;
}

enum memory_found memory_by_dlpack(PyObject *object, struct memory *memory,
                                   const struct target *where) {
    static const char kinds[] = {'i', 'u', 'f', '?', 'B', 'c', 'b'};
    if (!on_host(object, where)) {
        return MEMORY_ERROR;
    }
    PyObject *capsule = PyObject_CallMethodObjArgs(object, name_dlpack, NULL);
    if (!capsule) {
        return MEMORY_ERROR;
    }
    const struct dl_tensor *tensor = PyCapsule_GetPointer(capsule, "dltensor");
    if (!tensor || tensor->lanes != 1 || tensor->bits % 8 ||
        (tensor->device_type != DL_CPU && tensor->device_type != DL_CUDA_HOST)) {
        if (tensor) {
            raise_argument("%s: DLPack gives %d lanes of %d bits on a device of type %d, which no "
                           "kernel can use here",
                           PLACE(where), tensor->lanes, tensor->bits, tensor->device_type);
        }
        Py_DECREF(capsule);
        return MEMORY_ERROR;
    }
    memory->kind = tensor->code < sizeof kinds ? kinds[tensor->code] : '?';
    memory->item_size = tensor->bits / 8u;
    memory_layout(memory, tensor->shape, tensor->strides, tensor->ndim, 1);
    memory->length *= memory->item_size;
    memory->pointer = tensor->data ? (char *)tensor->data + tensor->byte_offset : NULL;
    memory->owner = capsule; /* not consumed: its destructor gives the memory back */
    return MEMORY_ARRAY;
}

/* ---- */

/* A new reference, or NULL without an exception. */
static PyObject *optional_attribute(PyObject *object, PyObject *name) {
    PyObject *value = PyObject_GetAttr(object, name);
    if (!value) {
        PyErr_Clear();
    }
    return value;
}

enum memory_found memory_of(PyObject *object, struct memory *memory, const struct target *where) {
    memset(memory, 0, sizeof *memory);
    if (tensor_check(object)) {
        return tensor_memory(object, memory, where);
    }
    if (PyType_Check(object)) { /* numpy.ndarray itself has these attributes */
        return MEMORY_NONE;
    }
    PyObject *value = optional_attribute(object, name_struct);
    if (value && PyCapsule_CheckExact(value)) {
        enum memory_found found = by_struct(object, value, memory, where);
        if (found != MEMORY_NONE) {
            return found;
        }
    } else {
        Py_XDECREF(value);
    }
    value = optional_attribute(object, name_interface);
    if (value) {
        return by_interface(object, value, memory, where);
    }
    value = optional_attribute(object, name_dlpack);
    if (!value) {
        return MEMORY_NONE;
    }
    Py_DECREF(value);
    return memory_by_dlpack(object, memory, where);
}
