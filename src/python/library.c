/*
 * ingot.ShaderLibrary: the kernels of a source or an archive as attributes. dir() lists the
 * kernels and nothing else, and a name that is none raises RuntimeError, as in torch; names with
 * two underscores raise AttributeError, since copy, pickle and inspect ask for such.
 */
#include "objects.h"

#include "context.h"

#include <stdlib.h>

struct library {
    PyObject_HEAD struct shader *shader;
    PyObject *names;   /* tuple */
    PyObject *kernels; /* dictionary: those that were asked for */
};

PyObject *library_type;

void shader_release(struct shader *shader) {
    if (!shader || --shader->references)
        return;
    ingot_library_release(shader->library);
    free(shader);
}

bool shader_is_open(const struct shader *shader, const char *kernel) {
    if (shader->library)
        return true;
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
    if (!PyErr_Occurred())
        PyErr_Format(text ? PyExc_ValueError : PyExc_TypeError,
                     "contiguous has to be \"ignore\", \"refuse\" or \"copy\", not %R", value);
    return 0;
}

/* ---- making one ---- */

/* Takes `handle`. */
static PyObject *library_new(ingot_library *handle, bool strict, enum contiguity contiguity,
                             bool mps) {
    struct shader *shader = calloc(1, sizeof *shader);
    if (!shader) {
        ingot_library_release(handle);
        return PyErr_NoMemory();
    }
    *shader = (struct shader){1, handle, strict, contiguity, mps};
    struct library *library = PyObject_New(struct library, (PyTypeObject *)library_type);
    if (!library) {
        shader_release(shader);
        return NULL;
    }
    library->shader = shader;
    size_t count = ingot_library_kernel_count(handle);
    library->kernels = PyDict_New();
    library->names = PyTuple_New((Py_ssize_t)count);
    bool good = library->kernels && library->names;
    for (size_t i = 0; i < count && good; i++) {
        PyObject *name = PyUnicode_InternFromString(ingot_library_kernel_name(handle, i));
        good = name && PyTuple_SetItem(library->names, (Py_ssize_t)i, name) == 0;
    }
    if (good)
        return (PyObject *)library;
    Py_DECREF(library);
    return NULL;
}

static void library_free(PyObject *self) {
    struct library *library = (struct library *)self;
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
    if (!list || list == Py_None)
        return true;
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
        if (texts->items[i])
            continue;
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%s[%zu] has to be a string, not %R", what, i,
                         (PyObject *)Py_TYPE(item));
        free(texts->items);
        return false;
    }
    return true;
}

/* Names and values alternate in `pairs`; a value of "" stands for none. */
static ingot_define *read_defines(const struct texts *pairs) {
    ingot_define *defines = calloc(pairs->count / 2 + 1, sizeof *defines);
    if (!defines)
        PyErr_NoMemory();
    for (size_t i = 0; defines && i + 1 < pairs->count; i += 2)
        defines[i / 2] =
            (ingot_define){pairs->items[i], *pairs->items[i + 1] ? pairs->items[i + 1] : NULL};
    return defines;
}

static PyObject *compile(const ingot_source_desc *desc, bool strict, enum contiguity contiguity,
                         bool mps) {
    context cpu;
    ingot_library *handle = NULL;
    ingot_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = context_cpu(&cpu);
    if (status == INGOT_OK)
        status = ingot_library_create_from_source(cpu.device, desc, &handle);
    Py_END_ALLOW_THREADS;
    if (status != INGOT_OK)
        return raise_status(status);
    return library_new(handle, strict, contiguity, mps);
}

PyObject *library_compile(PyObject *module, PyObject *arguments, PyObject *keywords) {
    (void)module;
    static const char *const names[] = {
        "source",    "name",   "include_dirs", "defines", "fast_math", "msl_version",
        "use_cache", "strict", "contiguous",   "mps",     NULL};
    PyObject *source, *include_dirs = NULL, *defines = NULL, *contiguous = NULL;
    const char *name = NULL;
    unsigned msl_version = 0;
    int fast_math = 0, use_cache = 1, strict = 0, mps = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "U|zOOpIppOp:compile", (char **)names,
                                     &source, &name, &include_dirs, &defines, &fast_math,
                                     &msl_version, &use_cache, &strict, &contiguous, &mps))
        return NULL;
    enum contiguity contiguity = CONTIGUITY_IGNORE;
    if (contiguous && !contiguity_from(contiguous, &contiguity))
        return NULL;
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(source, &length);
    struct texts folders = {0}, pairs = {0};
    PyObject *result = NULL;
    ingot_define *values = NULL;
    if (text && read_texts(include_dirs, "include_dirs", &folders) &&
        read_texts(defines, "defines", &pairs) && (values = read_defines(&pairs))) {
        ingot_source_desc desc = {
            .source = text,
            .length = (size_t)length,
            .name = name,
            .include_dirs = folders.items,
            .include_dir_count = folders.count,
            .defines = values,
            .define_count = pairs.count / 2,
            .fast_math = fast_math,
            .msl_version = msl_version,
            .no_cache = !use_cache,
        };
        result = compile(&desc, strict, contiguity, mps);
    }
    free(values);
    free(folders.items);
    free(pairs.items);
    return result;
}

PyObject *library_load(PyObject *module, PyObject *arguments, PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"bytes", "path", "strict", "contiguous", "mps", NULL};
    const char *bytes = NULL, *path = NULL;
    Py_ssize_t length = 0;
    PyObject *contiguous = NULL;
    int strict = 0, mps = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "z#z|pOp:load", (char **)names, &bytes,
                                     &length, &path, &strict, &contiguous, &mps))
        return NULL;
    enum contiguity contiguity = CONTIGUITY_IGNORE;
    if (contiguous && !contiguity_from(contiguous, &contiguity))
        return NULL;
    context cpu;
    ingot_library *handle = NULL;
    ingot_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = context_cpu(&cpu);
    if (status == INGOT_OK)
        status = path ? ingot_library_create_from_archive(cpu.device, path, &handle)
                      : ingot_library_create_from_memory(cpu.device, bytes ? bytes : "",
                                                         (size_t)length, &handle);
    Py_END_ALLOW_THREADS;
    if (status != INGOT_OK)
        return raise_status(status);
    return library_new(handle, strict, contiguity, mps);
}

/* ---- using it ---- */

/* A new reference; NULL without an exception when there is no such kernel. */
static PyObject *find_kernel(struct library *library, PyObject *name) {
    PyObject *kernel = PyDict_GetItemWithError(library->kernels, name);
    if (kernel) {
        Py_INCREF(kernel);
        return kernel;
    }
    int known = PyErr_Occurred() ? -1 : PySequence_Contains(library->names, name);
    if (known <= 0)
        return NULL;
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    kernel = text ? kernel_new(library->shader, text, NULL) : NULL;
    if (kernel && PyDict_SetItem(library->kernels, name, kernel) != 0)
        Py_CLEAR(kernel);
    return kernel;
}

static bool is_special(PyObject *name) {
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    if (!text)
        PyErr_Clear();
    return text && length > 2 && text[0] == '_' && text[1] == '_';
}

static PyObject *unknown_kernel(struct library *library, PyObject *name) {
    PyObject *names = PyObject_Repr(library->names);
    if (names)
        raise_error(INGOT_NOT_FOUND, "the library has no kernel %R; it has %U", name, names);
    Py_XDECREF(names);
    return NULL;
}

static PyObject *library_attribute(PyObject *self, PyObject *name) {
    struct library *library = (struct library *)self;
    if (is_special(name))
        return PyObject_GenericGetAttr(self, name);
    PyObject *found = find_kernel(library, name);
    if (found || PyErr_Occurred())
        return found;
    found = PyObject_GenericGetAttr(self, name);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return found;
    PyErr_Clear();
    return unknown_kernel(library, name);
}

static PyObject *library_item(PyObject *self, PyObject *name) {
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "a kernel's name has to be a string, not %R",
                     (PyObject *)Py_TYPE(name));
        return NULL;
    }
    PyObject *found = find_kernel((struct library *)self, name);
    if (found || PyErr_Occurred())
        return found;
    return unknown_kernel((struct library *)self, name);
}

static PyObject *library_dir(PyObject *self, PyObject *nothing) {
    (void)nothing;
    return PySequence_List(((struct library *)self)->names);
}

static PyObject *library_close(PyObject *self, PyObject *nothing) {
    (void)nothing;
    struct shader *shader = ((struct library *)self)->shader;
    ingot_library *handle = shader->library;
    shader->library = NULL;
    ingot_library_release(handle);
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
    return PyBool_FromLong(!((struct library *)self)->shader->library);
}

static PyObject *get_warnings(PyObject *self, void *closure) {
    (void)closure;
    ingot_library *handle = ((struct library *)self)->shader->library;
    return PyUnicode_FromString(handle ? ingot_library_warnings(handle) : "");
}

static PyObject *get_constants(PyObject *self, void *closure) {
    (void)closure;
    ingot_library *handle = ((struct library *)self)->shader->library;
    PyObject *list = PyList_New(0);
    size_t count = handle ? ingot_library_constant_count(handle) : 0;
    for (size_t i = 0; list && i < count; i++) {
        ingot_constant_info info;
        if (ingot_library_constant_info(handle, i, &info) != INGOT_OK)
            continue;
        PyObject *entry = Py_BuildValue("(IsiO)", info.index, info.name, (int)info.components,
                                        info.required ? Py_True : Py_False);
        if (!entry || PyList_Append(list, entry) != 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

static PyObject *library_repr(PyObject *self) {
    struct library *library = (struct library *)self;
    return PyUnicode_FromFormat("<ingot.ShaderLibrary of %zd kernels%s>",
                                PyTuple_Size(library->names),
                                library->shader->library ? "" : ", closed");
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

static PyType_Spec library_spec = {
    .name = "ingot.ShaderLibrary",
    .basicsize = sizeof(struct library),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = library_slots,
};

int library_init(PyObject *module) {
    library_type = PyType_FromSpec(&library_spec);
    if (!library_type)
        return -1;
    return PyModule_AddObjectRef(module, "ShaderLibrary", library_type);
}
