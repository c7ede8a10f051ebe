/*
 * ingot.ShaderLibrary: the kernels of a source or an archive as attributes. dir() lists the
 * kernels and nothing else, and a name that is none raises RuntimeError, as in torch; names with
 * two underscores raise AttributeError, since copy, pickle and inspect ask for such.
 */
#include "python/objects.h"

#include "python/context.h"

#include <stdlib.h>

struct library { /* the data of an object of library_type */
    struct shader *shader;
    PyObject *names;   /* tuple */
    PyObject *kernels; /* dictionary: those that were asked for; nothing in it is ever replaced */
};

PyObject *library_type;

static struct library *library_of(PyObject *self) {
    return object_data(self);
}

static void drop_libraries(struct shader *shader) {
    pthread_mutex_lock(&shader->lock);
    ingot_library *library = shader->library, **gpus = shader->gpus;
    shader->library = NULL;
    shader->gpus = NULL;
    pthread_mutex_unlock(&shader->lock);
    ingot_library_release(library);
    for (int i = 0; gpus && i < CONTEXT_CUDA_DEVICES; i++) {
        ingot_library_release(gpus[i]);
    }
    free(gpus);
}

void shader_release(struct shader *shader) {
    if (!shader || atomic_fetch_sub(&shader->references, 1) > 1) {
        return;
    }
    drop_libraries(shader);
    pthread_mutex_destroy(&shader->lock);
    Py_XDECREF(shader->arguments);
    Py_XDECREF(shader->keywords);
    free(shader);
}

/* The library of GPU `gpu`, or (-1) of the CPU; NULL without an exception when there is none. */
static ingot_library *find_library(struct shader *shader, int gpu) {
    pthread_mutex_lock(&shader->lock);
    ingot_library *found = gpu < 0 ? shader->library : shader->gpus ? shader->gpus[gpu] : NULL;
    ingot_library_retain(found);
    pthread_mutex_unlock(&shader->lock);
    return found;
}

ingot_library *shader_library(struct shader *shader, const char *kernel) {
    ingot_library *found = find_library(shader, -1);
    return found || shader_is_open(shader, kernel) ? found : NULL;
}

/* Keeps `made` for GPU `gpu`, unless another thread closed the library or was quicker. False when
 * there is no memory. */
static bool add_library(struct shader *shader, int gpu, ingot_library *made) {
    pthread_mutex_lock(&shader->lock);
    if (shader->library && !shader->gpus) {
        shader->gpus = calloc(CONTEXT_CUDA_DEVICES, sizeof *shader->gpus);
    }
    bool good = !shader->library || shader->gpus;
    if (shader->gpus && !shader->gpus[gpu]) {
        ingot_library_retain(made);
        shader->gpus[gpu] = made;
    }
    pthread_mutex_unlock(&shader->lock);
    return good;
}

ingot_library *shader_on_gpu(struct shader *shader, int gpu, ingot_device *device) {
    ingot_library *made = find_library(shader, gpu);
    if (made) {
        return made;
    }
    ingot_status status = shader->make(device, shader->arguments, shader->keywords, &made);
    if (status == INGOT_OK && !PyErr_Occurred() && !add_library(shader, gpu, made)) {
        PyErr_NoMemory();
    }
    ingot_library_release(made);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (status != INGOT_OK) {
        raise_status(status);
        return NULL;
    }
    made = find_library(shader, gpu);
    return made || shader_is_open(shader, "of the call") ? made : NULL;
}

bool shader_is_open(const struct shader *shader, const char *kernel) {
    if (shader->library) {
        return true;
    }
    raise_error(INGOT_INVALID_ARGUMENT, "kernel \"%s\": its library is closed", kernel);
    return false;
}

int contiguity_from(PyObject *value, enum contiguity *result) {
    static const char *const texts[] = {"ignore", "refuse", "copy"};
    const char *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
    for (int i = 0; text && i < 3; i++) {
        if (strcmp(texts[i], text) == 0) {
            *result = (enum contiguity)i;
            return 1;
        }
    }
    if (!PyErr_Occurred()) {
        PyObject *given = shown(value);
        PyErr_Format(text ? PyExc_ValueError : PyExc_TypeError,
                     "contiguous has to be \"ignore\", \"refuse\" or \"copy\", not %V", given,
                     "this");
        Py_XDECREF(given);
    }
    return 0;
}

/* ---- making one ---- */

struct settings { /* that are the same on every device */
    bool strict;
    enum contiguity contiguity;
    bool mps;
};

static PyObject *library_new(library_maker *make, PyObject *arguments, PyObject *keywords,
                             const struct settings *settings) {
    context cpu;
    ingot_library *handle = NULL;
    ingot_status status = context_cpu(&cpu);
    if (status == INGOT_OK) {
        status = make(cpu.device, arguments, keywords, &handle);
    }
    if (PyErr_Occurred() || status != INGOT_OK) {
        return PyErr_Occurred() ? NULL : raise_status(status);
    }
    struct shader *shader = calloc(1, sizeof *shader);
    if (!shader) {
        ingot_library_release(handle);
        return PyErr_NoMemory();
    }
    Py_INCREF(arguments);
    Py_XINCREF(keywords);
    *shader = (struct shader){.references = 1,
                              .library = handle,
                              .strict = settings->strict,
                              .contiguity = settings->contiguity,
                              .mps = settings->mps,
                              .make = make,
                              .arguments = arguments,
                              .keywords = keywords};
    pthread_mutex_init(&shader->lock, NULL);
    PyObject *self = PyObject_New(PyObject, (PyTypeObject *)library_type);
    if (!self) {
        shader_release(shader);
        return NULL;
    }
    struct library *library = object_data(self);
    library->shader = shader;
    size_t count = ingot_library_kernel_count(handle);
    library->kernels = PyDict_New();
    library->names = PyTuple_New((Py_ssize_t)count);
    bool good = library->kernels && library->names;
    for (size_t i = 0; i < count && good; i++) {
        PyObject *name = PyUnicode_InternFromString(ingot_library_kernel_name(handle, i));
        good = name && PyTuple_SetItem(library->names, (Py_ssize_t)i, name) == 0;
    }
    if (good) {
        return self;
    }
    Py_DECREF(self);
    return NULL;
}

static void library_free(PyObject *self) {
    struct library *library = object_data(self);
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(library->kernels);
    Py_XDECREF(library->names);
    shader_release(library->shader);
    PyObject_Free(self);
    Py_DECREF(type);
}

struct texts { /* strings of a Python list, borrowed from it */
    const char **items;
    size_t count;
};

static bool read_texts(PyObject *list, const char *what, struct texts *texts) {
    *texts = (struct texts){0};
    if (!list || list == Py_None) {
        return true;
    }
    if (!PyList_Check(list)) {
        PyErr_Format(PyExc_TypeError, "%s has to be a list, not %R", what,
                     (PyObject *)Py_TYPE(list));
        return false;
    }
    texts->count = (size_t)PyList_Size(list);
    texts->items = calloc(texts->count + 1, sizeof *texts->items);
    if (!texts->items) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < texts->count; i++) {
        PyObject *item = PyList_GetItem(list, (Py_ssize_t)i);
        texts->items[i] = PyUnicode_Check(item) ? PyUnicode_AsUTF8AndSize(item, NULL) : NULL;
        if (texts->items[i]) {
            continue;
        }
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "%s[%zu] has to be a string, not %R", what, i,
                         (PyObject *)Py_TYPE(item));
        }
        free(texts->items);
        return false;
    }
    return true;
}

/* Names and values alternate in `pairs`; a value of "" stands for none. */
static ingot_define *read_defines(const struct texts *pairs) {
    ingot_define *defines = calloc(pairs->count / 2 + 1, sizeof *defines);
    if (!defines) {
        PyErr_NoMemory();
    }
    for (size_t i = 0; defines && i + 1 < pairs->count; i += 2) {
        defines[i / 2] =
            (ingot_define){pairs->items[i], *pairs->items[i + 1] ? pairs->items[i + 1] : NULL};
    }
    return defines;
}

/* A compile error is raised by who asked for the library. */
static ingot_status compile(ingot_device *device, const ingot_source_desc *desc,
                            ingot_library **library) {
    ingot_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = ingot_library_create_from_source(device, desc, library);
    Py_END_ALLOW_THREADS;
    return status;
}

struct source {
    PyObject *text, *include_dirs, *defines, *contiguous;
    const char *name;
    unsigned msl_version;
    int fast_math, use_cache, strict, mps, werror;
};

static bool read_source(PyObject *arguments, PyObject *keywords, struct source *source) {
    static const char *const names[] = {"source",     "name",        "include_dirs", "defines",
                                        "fast_math",  "msl_version", "use_cache",    "strict",
                                        "contiguous", "mps",         "werror",       NULL};
    *source = (struct source){.use_cache = 1};
    return PyArg_ParseTupleAndKeywords(
        arguments, keywords, "U|zOOpIppOpp:compile", (char **)names, &source->text, &source->name,
        &source->include_dirs, &source->defines, &source->fast_math, &source->msl_version,
        &source->use_cache, &source->strict, &source->contiguous, &source->mps, &source->werror);
}

static ingot_status make_from_source(ingot_device *device, PyObject *arguments, PyObject *keywords,
                                     ingot_library **library) {
    struct source source;
    if (!read_source(arguments, keywords, &source)) {
        return INGOT_INVALID_ARGUMENT;
    }
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(source.text, &length);
    struct texts folders = {0}, pairs = {0};
    ingot_status status = INGOT_INVALID_ARGUMENT;
    ingot_define *values = NULL;
    if (text && read_texts(source.include_dirs, "include_dirs", &folders) &&
        read_texts(source.defines, "defines", &pairs) && (values = read_defines(&pairs))) {
        ingot_source_desc desc = {
            .source = text,
            .length = (size_t)length,
            .name = source.name,
            .include_dirs = folders.items,
            .include_dir_count = folders.count,
            .defines = values,
            .define_count = pairs.count / 2,
            .fast_math = source.fast_math,
            .msl_version = source.msl_version,
            .no_cache = !source.use_cache,
            .werror = source.werror,
        };
        status = compile(device, &desc, library);
    }
    free(values);
    free(folders.items);
    free(pairs.items);
    return status;
}

PyObject *library_compile(PyObject *module, PyObject *arguments, PyObject *keywords) {
    (void)module;
    struct source source;
    struct settings settings = {.contiguity = CONTIGUITY_IGNORE};
    if (!read_source(arguments, keywords, &source) ||
        (source.contiguous && !contiguity_from(source.contiguous, &settings.contiguity))) {
        return NULL;
    }
    settings.strict = source.strict;
    settings.mps = source.mps;
    return library_new(make_from_source, arguments, keywords, &settings);
}

struct archive {
    const char *bytes, *path;
    Py_ssize_t length;
    PyObject *contiguous;
    int strict, mps;
};

static bool read_archive(PyObject *arguments, PyObject *keywords, struct archive *archive) {
    static const char *const names[] = {"bytes", "path", "strict", "contiguous", "mps", NULL};
    *archive = (struct archive){0};
    return PyArg_ParseTupleAndKeywords(arguments, keywords, "z#z|pOp:load", (char **)names,
                                       &archive->bytes, &archive->length, &archive->path,
                                       &archive->strict, &archive->contiguous, &archive->mps);
}

static ingot_status make_from_archive(ingot_device *device, PyObject *arguments, PyObject *keywords,
                                      ingot_library **library) {
    struct archive archive;
    if (!read_archive(arguments, keywords, &archive)) {
        return INGOT_INVALID_ARGUMENT;
    }
    const char *path = archive.path;
    const char *bytes = archive.bytes ? archive.bytes : "";
    ingot_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = path
                 ? ingot_library_create_from_archive(device, path, library)
                 : ingot_library_create_from_memory(device, bytes, (size_t)archive.length, library);
    Py_END_ALLOW_THREADS;
    return status;
}

PyObject *library_load(PyObject *module, PyObject *arguments, PyObject *keywords) {
    (void)module;
    struct archive archive;
    struct settings settings = {.contiguity = CONTIGUITY_IGNORE};
    if (!read_archive(arguments, keywords, &archive) ||
        (archive.contiguous && !contiguity_from(archive.contiguous, &settings.contiguity))) {
        return NULL;
    }
    settings.strict = archive.strict;
    settings.mps = archive.mps;
    return library_new(make_from_archive, arguments, keywords, &settings);
}

/* ---- using it ---- */

/* The kernel of that name, or the only one in any namespace with it, as the runtime finds them; a
 * borrowed reference, or NULL without an exception when there is none. */
static PyObject *full_name(struct library *library, PyObject *name) {
    PyObject *found = NULL, *suffix = PyUnicode_FromFormat("::%U", name);
    Py_ssize_t size = suffix ? PyTuple_Size(library->names) : -1, matches = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *known = PyTuple_GetItem(library->names, i);
        int same = known ? PyUnicode_Compare(known, name) : -1;
        if (same == 0) {
            Py_DECREF(suffix);
            return known;
        }
        if (known && PyUnicode_Tailmatch(known, suffix, 0, PY_SSIZE_T_MAX, 1) == 1) {
            found = known;
            matches++;
        }
    }
    Py_XDECREF(suffix);
    return matches == 1 && !PyErr_Occurred() ? found : NULL;
}

/* A new reference; NULL without an exception when there is no such kernel. */
static PyObject *find_kernel(struct library *library, PyObject *name) {
    PyObject *kernel = PyDict_GetItemWithError(library->kernels, name);
    if (kernel) {
        Py_INCREF(kernel);
        return kernel;
    }
    PyObject *known = PyErr_Occurred() ? NULL : full_name(library, name);
    if (!known) {
        return NULL;
    }
    const char *text = PyUnicode_AsUTF8AndSize(known, NULL);
    PyObject *made = text ? kernel_new(library->shader, text, NULL) : NULL;
    if (made) { /* the one of a thread that was quicker, if there is one */
        kernel = PyObject_CallMethod(library->kernels, "setdefault", "OO", name, made);
    }
    Py_XDECREF(made);
    return kernel;
}

static bool is_special(PyObject *name) {
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    if (!text) {
        PyErr_Clear();
    }
    return text && length > 2 && text[0] == '_' && text[1] == '_';
}

static PyObject *unknown_kernel(struct library *library, PyObject *name) {
    PyObject *names = PyObject_Repr(library->names);
    if (names) {
        raise_error(INGOT_NOT_FOUND, "the library has no kernel %R; it has %U", name, names);
    }
    Py_XDECREF(names);
    return NULL;
}

static PyObject *library_attribute(PyObject *self, PyObject *name) {
    struct library *library = object_data(self);
    if (is_special(name)) {
        return PyObject_GenericGetAttr(self, name);
    }
    PyObject *found = find_kernel(library, name);
    if (found || PyErr_Occurred()) {
        return found;
    }
    found = PyObject_GenericGetAttr(self, name);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return found;
    }
    PyErr_Clear();
    return unknown_kernel(library, name);
}

static PyObject *library_item(PyObject *self, PyObject *name) {
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "a kernel's name has to be a string, not %R",
                     (PyObject *)Py_TYPE(name));
        return NULL;
    }
    PyObject *found = find_kernel(object_data(self), name);
    if (found || PyErr_Occurred()) {
        return found;
    }
    return unknown_kernel(object_data(self), name);
}

static PyObject *library_dir(PyObject *self, PyObject *nothing) {
    (void)nothing;
    return PySequence_List(library_of(self)->names);
}

static PyObject *library_close(PyObject *self, PyObject *nothing) {
    (void)nothing;
    drop_libraries(library_of(self)->shader);
    Py_RETURN_NONE;
}

static PyObject *library_enter(PyObject *self, PyObject *nothing) {
    (void)nothing;
    Py_INCREF(self);
    return self;
}

static PyObject *library_exit(PyObject *self, PyObject *arguments) {
    (void)arguments;
    return library_close(self, NULL);
}

static PyObject *get_closed(PyObject *self, void *closure) {
    (void)closure;
    return PyBool_FromLong(!library_of(self)->shader->library);
}

static PyObject *get_warnings(PyObject *self, void *closure) {
    (void)closure;
    ingot_library *handle = find_library(library_of(self)->shader, -1);
    PyObject *text = PyUnicode_FromString(handle ? ingot_library_warnings(handle) : "");
    ingot_library_release(handle);
    return text;
}

static PyObject *get_constants(PyObject *self, void *closure) {
    (void)closure;
    ingot_library *handle = find_library(library_of(self)->shader, -1);
    PyObject *list = PyList_New(0);
    size_t count = handle ? ingot_library_constant_count(handle) : 0;
    for (size_t i = 0; list && i < count; i++) {
        ingot_constant_info info;
        if (ingot_library_constant_info(handle, i, &info) != INGOT_OK) {
            continue;
        }
        PyObject *entry = Py_BuildValue("(IsiO)", info.index, info.name, (int)info.components,
                                        info.required ? Py_True : Py_False);
        if (!entry || PyList_Append(list, entry) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(entry);
    }
    ingot_library_release(handle);
    return list;
}

static PyObject *library_repr(PyObject *self) {
    struct library *library = object_data(self);
    Py_ssize_t count = PyTuple_Size(library->names);
    return PyUnicode_FromFormat("<ingot.ShaderLibrary of %zd kernel%s%s>", count,
                                count == 1 ? "" : "s", library->shader->library ? "" : ", closed");
}

static PyMethodDef library_methods[] = {
    {"__dir__", library_dir, METH_NOARGS, "The names of the kernels."},
    {"__enter__", library_enter, METH_NOARGS, NULL},
    {"__exit__", library_exit, METH_VARARGS, NULL},
    {"close", library_close, METH_NOARGS,
     "Lets go of the code. Calls of its kernels raise ingot.Error from then on."},
    {0}};

static PyGetSetDef library_attributes[] = {
    {"closed", get_closed, NULL, "Whether close() was called.", NULL},
    {"warnings", get_warnings, NULL, "What the compiler warned of; \"\" if nothing.", NULL},
    {"constants", get_constants, NULL,
     "The function constants: a list of (index, name, components, required).", NULL},
    {0}};

static char doc[] = "Compiled Metal kernels: lib.NAME, or lib[\"NAME\"] for names that are no "
                    "identifiers.";

static PyType_Slot library_slots[] = {{Py_tp_dealloc, library_free},
                                      {Py_tp_getattro, library_attribute},
                                      {Py_tp_repr, library_repr},
                                      {Py_tp_methods, library_methods},
                                      {Py_tp_getset, library_attributes},
                                      {Py_mp_subscript, library_item},
                                      {Py_tp_doc, doc},
                                      {0, NULL}};

int library_init(PyObject *module) {
    library_type = object_new_type("ingot.ShaderLibrary", sizeof(struct library), library_slots);
    if (!library_type) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "ShaderLibrary", library_type);
}
