/* Memory of Python objects, borrowed without a copy: torch tensors, NumPy arrays, and whatever
 * has the array interface or DLPack. */
#ifndef INGOT_PYTHON_MEMORY_H
#define INGOT_PYTHON_MEMORY_H

#include "python/values.h"

struct memory {
    char *pointer;   /* of the first element; NULL for none */
    uint64_t length; /* bytes from there to the end of the storage, as far as known */
    int64_t count;   /* elements */
    int ndim;
    char kind; /* 'f' float, 'B' bfloat, 'i', 'u', 'b' bool, 'c' complex, '?' other */
    unsigned item_size;
    bool on_mps;  /* as torch sees it: its memory is the host's */
    bool on_cuda; /* the memory is that of GPU number `gpu` */
    int gpu;
    bool contiguous, read_only, is_scalar; /* is_scalar: a NumPy scalar, with no memory to keep */
    int64_t extents[INGOT_TENSOR_RANK], strides[INGOT_TENSOR_RANK]; /* innermost first; elements */
    PyObject *owner; /* keeps the memory; a new reference */
};

enum memory_found { MEMORY_ERROR = -1, MEMORY_NONE = 0, MEMORY_TENSOR, MEMORY_ARRAY };

/* The memory of `object`, or MEMORY_NONE when it is no such thing. `where` is for messages. */
enum memory_found memory_of(PyObject *object, struct memory *memory, const struct target *where);
void memory_release(struct memory *memory);
/* The element's type; INGOT_SCALAR_NONE where MSL has none. */
ingot_scalar_type memory_scalar(const struct memory *memory);

/* A type of a module, if that is imported, kept in `known` for the life of the process; NULL
 * without an exception. */
PyTypeObject *type_of_module(PyObject *module, PyObject *name, _Atomic(PyObject *) *known);

int memory_init(void);
/* The parts that tensor.c uses too. Strides count `unit` bytes; NULL: row by row. Sets count,
 * contiguous, and length as far as the elements reach. */
void memory_layout(struct memory *memory, const int64_t *shape, const int64_t *strides,
                   int64_t ndim, int64_t unit);
enum memory_found memory_by_dlpack(PyObject *object, struct memory *memory,
                                   const struct target *where);
/* tensor.c: the same for torch tensors, when torch is loaded. */
bool tensor_check(PyObject *object);
enum memory_found tensor_memory(PyObject *object, struct memory *memory,
                                const struct target *where);
/* The GPU of a torch tensor; TENSOR_HOST for one with dimensions elsewhere, TENSOR_NONE for numbers
 * and what is no tensor: they do not say where a kernel runs. */
enum { TENSOR_NONE = -1, TENSOR_HOST = -2 };
int tensor_gpu(PyObject *object);
int tensor_init(void);

#endif
