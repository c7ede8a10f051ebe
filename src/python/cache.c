/* ingot.cache: what the cache of compiled kernels holds, and making it smaller. */
#include "python/objects.h"

#include <stdlib.h>

#include "base/cache.h"
#include "base/file.h"

/* (folder, limit or None, bytes, files, kernels, time of the oldest use or None, bytes removed) */
static PyObject *describe(const char *folder, uint64_t limit, const struct ig_cache_summary *held,
                          const struct ig_cache_summary *removed) {
    PyObject *most =
        limit == IG_CACHE_UNLIMITED ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(limit);
    PyObject *oldest = held->all_files ? PyLong_FromLongLong(held->oldest) : Py_NewRef(Py_None);
    PyObject *path = PyUnicode_DecodeFSDefault(folder);
    if (!most || !oldest || !path) {
        Py_XDECREF(most);
        Py_XDECREF(oldest);
        Py_XDECREF(path);
        return NULL;
    }
    return Py_BuildValue("(NNKKKNK)", path, most, (unsigned long long)held->all_bytes,
                         (unsigned long long)held->all_files,
                         (unsigned long long)held->files[IG_CACHE_KERNEL], oldest,
                         (unsigned long long)removed->all_bytes);
}

PyObject *cache_look(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *trim = NULL;
    if (!PyArg_ParseTuple(arguments, "|z", &trim)) {
        return NULL;
    }
    struct ig_cache_summary held = {0}, removed = {0};
    struct ig_error error = {0};
    uint64_t limit = 0, target = 0;
    char *folder = ig_cache_folder();
    ingot_status status = ig_cache_limit(&limit, &error);
    if (status == INGOT_OK && trim) {
        status = ig_cache_parse_limit("size", trim, &target, &error);
    }
    if (status == INGOT_OK && !folder) {
        status = ig_cache_no_folder(&error);
    }
    if (status == INGOT_OK) {
        Py_BEGIN_ALLOW_THREADS;
        status = trim ? ig_cache_trim(folder, target, &removed, &held, &error)
                      : ig_cache_survey(folder, &held, &error);
        Py_END_ALLOW_THREADS;
    }
    PyObject *result = status == INGOT_OK ? describe(folder, limit, &held, &removed)
                                          : raise_error(status, "%s", ig_error_text(&error));
    ig_error_clear(&error);
    free(folder);
    return result;
}
