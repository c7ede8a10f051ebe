/*
 * What the extension's files share: the exceptions, the Python types, and the settings of a
 * library that its kernels look at. Everything here wants the GIL.
 */
#ifndef INGOT_PYTHON_OBJECTS_H
#define INGOT_PYTHON_OBJECTS_H

#include "python/python.h"

#include <pthread.h>
#include <stdatomic.h>

#include "ingot/ingot.h"

/* ---- errors.c ---- */

/* ingot.Error, a RuntimeError with the attribute `status`; and ingot.ArgumentError, which is also
 * a TypeError. */
extern PyObject *error_type, *argument_error_type;
int errors_init(PyObject *module);
/* The calling thread's message of libingot as the exception that belongs to `status`: SyntaxError
 * for a compile error, MemoryError, else ingot.Error. Returns NULL. */
PyObject *raise_status(ingot_status status);
/* The same where a kernel is made: its source was fine, so a compile error (a constant without a
 * value, for one) is an ingot.Error. */
PyObject *raise_kernel_status(ingot_status status);
/* ingot.Error and ingot.ArgumentError with a text in PyErr_Format's manner. Both return NULL. */
PyObject *raise_error(ingot_status status, const char *format, ...);
PyObject *raise_argument(const char *format, ...);
/* A value as messages show it: numbers, text and short sequences of them as they are written,
 * anything else by its type, since its own text may be long, fail or crash (that of a tensor whose
 * storage was freed does). A new reference, or NULL without an exception. */
PyObject *shown(PyObject *value);

/* ---- library.c ---- */

enum contiguity { CONTIGUITY_IGNORE, CONTIGUITY_REFUSE, CONTIGUITY_COPY };
/* False with an exception when `value` is none of "ignore", "refuse", "copy". */
int contiguity_from(PyObject *value, enum contiguity *result);

/* Makes a library on a device from the arguments of compile() or load(), without the GIL where that
 * takes time. */
typedef ingot_status library_maker(ingot_device *device, PyObject *arguments, PyObject *keywords,
                                   ingot_library **library);

/* A library as its kernels see it. Threads share it, with or without a GIL. */
struct shader {
    atomic_size_t references;
    pthread_mutex_t lock; /* of `library` and `gpus`; no call of Python while it is held */
    _Atomic(ingot_library *) library; /* on the CPU; NULL once closed */
    bool strict;
    enum contiguity contiguity;
    bool mps; /* only tensors on device mps count as on the device */
    /* for GPUs, where it is made when a kernel is first called there */
    library_maker *make;
    PyObject *arguments, *keywords;
    ingot_library **gpus; /* NULL before the first one */
};
void shader_release(struct shader *shader);
/* The library on the CPU, and on a GPU, where it is made if need be; a reference for the caller.
 * NULL with an exception, which names the kernel when the library is closed. */
ingot_library *shader_library(struct shader *shader, const char *kernel);
ingot_library *shader_on_gpu(struct shader *shader, int gpu, ingot_device *device);
/* False with an exception when the library is closed. */
bool shader_is_open(const struct shader *shader, const char *kernel);

/* The functions compile() and load() of the module. */
PyObject *library_compile(PyObject *module, PyObject *arguments, PyObject *keywords);
PyObject *library_load(PyObject *module, PyObject *arguments, PyObject *keywords);
extern PyObject *library_type;
int library_init(PyObject *module);

/* ---- kernel.c ---- */

extern PyObject *kernel_type, *argument_type;
int kernel_init(PyObject *module);
/* A kernel that is compiled on its first use. `constants` is a tuple of (index, bytes) or NULL. */
PyObject *kernel_new(struct shader *shader, const char *name, PyObject *constants);

/* ---- specialise.c ---- */

/* Values by name or index as a tuple of (index, bytes), sorted by index. */
PyObject *constants_encode(ingot_library *library, PyObject *mapping, PyObject *by_name);

/* ---- reports.c: what kernels report through TORCH_REPORT_ERROR ---- */

/* The buffer for such messages on a device, which is GPU number `gpu` or (-1) the CPU; NULL with an
 * exception. Borrowed. */
ingot_buffer *reports_buffer(ingot_device *device, int gpu);
/* The messages since the last call as a list of (file, line, function, message), at most 30. */
PyObject *reports_take(PyObject *module, PyObject *nothing);
/* findings.c: the sanitizer. */
PyObject *findings_sanitize(PyObject *module, PyObject *arguments);
PyObject *findings_take(PyObject *module, PyObject *nothing);

/* ---- cache.c ---- */

/* _C.cache(trim=None) */
PyObject *cache_look(PyObject *module, PyObject *arguments);

#endif
