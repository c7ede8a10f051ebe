/*
 * ingot.Kernel: a kernel of a library, with torch's call and properties. It is compiled on its
 * first use, so that kernels that need function constants can be specialised first.
 */
#include "python/call.h"
#include "python/context.h"
#include "python/interrupt.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct code { /* of a kernel, on one device */
    ingot_kernel *handle;
    ingot_kernel_info info;
    struct signature *signature;
};

struct kernel { /* the data of an object of kernel_type */
    struct shader *shader;
    char *name;
    PyObject *constants; /* tuple of (index, bytes), or NULL */
    /* on the CPU, then on GPUs; NULL until one is made, and the same from then on */
    _Atomic(struct code *) codes[1 + CONTEXT_CUDA_DEVICES];
};

PyObject *kernel_type, *argument_type;

/* ---- making it ---- */

PyObject *kernel_new(struct shader *shader, const char *name, PyObject *constants) {
    PyObject *self = PyObject_New(PyObject, (PyTypeObject *)kernel_type);
    if (!self) {
        return NULL;
    }
    struct kernel *kernel = object_data(self);
    memset(kernel, 0, sizeof *kernel);
    kernel->shader = shader;
    atomic_fetch_add(&shader->references, 1);
    Py_XINCREF(constants);
    kernel->constants = constants;
    size_t size = strlen(name) + 1;
    kernel->name = malloc(size);
    if (!kernel->name) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    memcpy(kernel->name, name, size);
    return self;
}

static void free_code(struct code *code) {
    if (!code) {
        return;
    }
    ingot_kernel_release(code->handle);
    free(code->signature);
    free(code);
}

static void kernel_free(PyObject *self) {
    struct kernel *kernel = object_data(self);
    PyTypeObject *type = Py_TYPE(self);
    for (int i = 0; i <= CONTEXT_CUDA_DEVICES; i++) {
        free_code(atomic_load(&kernel->codes[i]));
    }
    shader_release(kernel->shader);
    Py_XDECREF(kernel->constants);
    free(kernel->name);
    PyObject_Free(self);
    Py_DECREF(type);
}

static struct signature *read_signature(ingot_kernel *handle, const ingot_kernel_info *info) {
    struct signature *signature = calloc(1, sizeof *signature);
    if (!signature) {
        PyErr_NoMemory();
        return NULL;
    }
    signature->name = info->name;
    signature->max_threads = info->max_threads_per_threadgroup;
    for (uint32_t i = 0; i < info->argument_count; i++) {
        ingot_argument_info argument;
        if (ingot_kernel_argument_info(handle, i, &argument) != INGOT_OK) {
            continue;
        }
        if (argument.kind != INGOT_ARGUMENT_BUFFER || argument.index >= MAX_ARGUMENTS) {
            continue;
        }
        if (signature->end <= argument.index) {
            signature->end = argument.index + 1;
        }
        if (!argument.active) {
            continue;
        }
        signature->infos[argument.index] = argument;
        signature->declared[argument.index] = true;
    }
    return signature;
}

/* Without the GIL: compiling takes time. */
static ingot_status create_handle(ingot_library *library, const char *name,
                                  const ingot_constant *constants, size_t count,
                                  ingot_kernel **handle) {
    ingot_kernel_desc desc = {.name = name, .constants = constants, .constant_count = count};
    ingot_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = ingot_kernel_create(library, &desc, handle);
    Py_END_ALLOW_THREADS;
    return status;
}

/* The values of the constants; `values` has room for all. False with an exception. */
static bool read_constants(PyObject *tuple, ingot_constant *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        PyObject *pair = PyTuple_GetItem(tuple, (Py_ssize_t)i);
        PyObject *bytes = PyTuple_GetItem(pair, 1);
        char *text;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(bytes, &text, &size) != 0) {
            return false;
        }
        values[i] = (ingot_constant){
            .index = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GetItem(pair, 0)),
            .bytes = text,
            .size = (size_t)size,
        };
    }
    return !PyErr_Occurred();
}

/* Takes `handle`. NULL with an exception. */
static struct code *new_code(ingot_kernel *handle) {
    struct code *code = calloc(1, sizeof *code);
    if (!code) {
        ingot_kernel_release(handle);
        PyErr_NoMemory();
        return NULL;
    }
    code->handle = handle;
    ingot_status status = ingot_kernel_get_info(handle, &code->info);
    if (status != INGOT_OK) {
        raise_status(status);
    } else {
        code->signature = read_signature(handle, &code->info);
    }
    if (code->signature) {
        return code;
    }
    free_code(code);
    return NULL;
}

static struct code *make_code(struct kernel *kernel, ingot_library *library) {
    size_t count = kernel->constants ? (size_t)PyTuple_Size(kernel->constants) : 0;
    ingot_constant *values = calloc(count + 1, sizeof *values);
    if (!values) {
        PyErr_NoMemory();
        return NULL;
    }
    if (!read_constants(kernel->constants, values, count)) {
        free(values);
        return NULL;
    }
    ingot_kernel *handle = NULL;
    ingot_status status = create_handle(library, kernel->name, values, count, &handle);
    if (status == INGOT_COMPILE_ERROR && strstr(ingot_error_message(), "needs function constant")) {
        raise_error(status, "call %s.specialize(NAME=value) first: %s", kernel->name,
                    ingot_error_message());
    } else if (status != INGOT_OK) {
        raise_kernel_status(status);
    }
    free(values);
    return status == INGOT_OK ? new_code(handle) : NULL;
}

/* The kernel's code on a device, which is GPU number `gpu` or (-1) the CPU. NULL with an exception;
 * borrowed. */
static struct code *code_on(struct kernel *kernel, int gpu, ingot_device *device) {
    _Atomic(struct code *) *place = &kernel->codes[1 + gpu];
    if (!shader_is_open(kernel->shader, kernel->name)) {
        return NULL;
    }
    struct code *there = atomic_load_explicit(place, memory_order_acquire);
    if (there) {
        return there;
    }
    ingot_library *library = gpu < 0 ? shader_library(kernel->shader, kernel->name)
                                     : shader_on_gpu(kernel->shader, gpu, device);
    struct code *made = library ? make_code(kernel, library) : NULL;
    ingot_library_release(library);
    if (made && !atomic_compare_exchange_strong(place, &there, made)) {
        free_code(made); /* another thread was quicker */
        return there;
    }
    return made;
}

/* For what is the same everywhere: the code on whatever device there is one, or on the CPU. */
static struct code *some_code(struct kernel *kernel) {
    if (!shader_is_open(kernel->shader, kernel->name)) {
        return NULL;
    }
    for (int i = 0; i <= CONTEXT_CUDA_DEVICES; i++) {
        struct code *code = atomic_load_explicit(&kernel->codes[i], memory_order_acquire);
        if (code) {
            return code;
        }
    }
    return code_on(kernel, -1, NULL);
}

/* ---- calling it ---- */

enum option {
    OPTION_THREADS,
    OPTION_GROUP_SIZE,
    OPTION_ARG_CASTS,
    OPTION_ERROR_BUFFER,
    OPTION_THREADGROUP_MEMORY,
    OPTION_CONTIGUOUS,
    OPTION_WAIT,
    OPTION_TIME_LIMIT,
    OPTION_COUNT
};
static const char *const option_texts[OPTION_COUNT] = {
    "threads",    "group_size", "arg_casts", "error_buf_idx", "threadgroup_memory",
    "contiguous", "wait",       "time_limit"};
static PyObject *option_names[OPTION_COUNT];

static bool read_options(struct kernel *kernel, PyObject *keywords, PyObject *options[]) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(keywords, &position, &key, &value)) {
        int option = 0;
        while (option < OPTION_COUNT && option_names[option] != key) {
            option++;
        }
        if (option == OPTION_COUNT) { /* a name that is not interned */
            for (option = 0; option < OPTION_COUNT; option++) {
                if (PyUnicode_Compare(key, option_names[option]) == 0) {
                    break;
                }
            }
        }
        if (option == OPTION_COUNT) {
            PyErr_Format(PyExc_TypeError,
                         "kernel \"%s\" has no keyword %R; there are threads, "
                         "group_size, arg_casts, error_buf_idx, threadgroup_memory, contiguous, "
                         "wait, time_limit",
                         kernel->name, key);
            return false;
        }
        options[option] = value == Py_None ? NULL : value;
    }
    return true;
}

static bool bind_reports(struct call *call, PyObject *option) {
    PyObject *whole = PyNumber_Index(option);
    int overflow = 0;
    long index = whole ? PyLong_AsLongAndOverflow(whole, &overflow) : -1;
    Py_XDECREF(whole);
    if (!whole) {
        PyErr_Clear();
        raise_argument("kernel \"%s\": error_buf_idx has to be an index, not %R",
                       call->signature->name, (PyObject *)Py_TYPE(option));
        return false;
    }
    if (overflow || index < 0 || index >= MAX_ARGUMENTS) {
        PyObject *text = shown(option);
        raise_error(INGOT_INVALID_ARGUMENT,
                    "kernel \"%s\": error_buf_idx of %V is not between 0 and %d",
                    call->signature->name, text, "another size", MAX_ARGUMENTS - 1);
        Py_XDECREF(text);
        return false;
    }
    while (call->count <= (size_t)index) {
        if (!call_bind(call, call->count, Py_None)) {
            return false;
        }
    }
    ingot_buffer *reports = reports_buffer(call->device, call->gpu);
    if (!reports) {
        return false;
    }
    ingot_buffer_retain(reports);
    ingot_buffer_release(call->args[index].buffer);
    call->args[index] = (ingot_arg){.buffer = reports};
    return true;
}

/* Seconds after which the kernel is stopped; infinity: never. */
static bool read_time_limit(PyObject *option, const char *kernel, double *seconds) {
    *seconds = PyFloat_AsDouble(option);
    if (PyErr_Occurred() || !(*seconds > 0)) {
        PyErr_Clear();
        PyObject *text = shown(option);
        raise_argument("kernel \"%s\": time_limit has to be a number of seconds above 0, not %V",
                       kernel, text, "this");
        Py_XDECREF(text);
        return false;
    }
    if (isinf(*seconds)) {
        *seconds = -1;
    }
    return true;
}

static bool prepare(struct kernel *kernel, struct call *call, PyObject *arguments,
                    PyObject *options[], ingot_dispatch_desc *desc, uint32_t *lengths) {
    Py_ssize_t count = PyTuple_Size(arguments);
    if (count > MAX_ARGUMENTS) {
        raise_error(INGOT_LAUNCH_ERROR,
                    "kernel \"%s\": %zd arguments are more than the limit of %d", kernel->name,
                    count, MAX_ARGUMENTS);
        return false;
    }
    if (call->casts && !PyUnicode_Check(call->casts) && !PyDict_Check(call->casts)) {
        raise_argument("kernel \"%s\": arg_casts has to be a string or a dictionary, not %R",
                       kernel->name, (PyObject *)Py_TYPE(call->casts));
        return false;
    }
    if (options[OPTION_TIME_LIMIT] &&
        !read_time_limit(options[OPTION_TIME_LIMIT], kernel->name, &desc->time_limit_seconds)) {
        return false;
    }
    if (options[OPTION_CONTIGUOUS] &&
        !contiguity_from(options[OPTION_CONTIGUOUS], &call->contiguity)) {
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!call_bind(call, (size_t)i, PyTuple_GetItem(arguments, i))) {
            return false;
        }
    }
    call_drop_gaps(call);
    if (options[OPTION_ERROR_BUFFER] && !bind_reports(call, options[OPTION_ERROR_BUFFER])) {
        return false;
    }
    if (!threadgroup_lengths(options[OPTION_THREADGROUP_MEMORY], kernel->name, lengths, desc)) {
        return false;
    }
    if (!grid_from(call, options[OPTION_THREADS], options[OPTION_GROUP_SIZE], desc)) {
        return false;
    }
    desc->args = call->args;
    desc->arg_count = call->count;
    return true;
}

/* Which GPU the tensors are on; -1: they are the host's. */
static int find_gpu(PyObject *arguments) {
    Py_ssize_t count = PyTuple_Size(arguments);
    int gpu = TENSOR_NONE;
    for (Py_ssize_t i = 0; i < count && gpu == TENSOR_NONE; i++) {
        PyObject *value = PyTuple_GetItem(arguments, i);
        if (!PyList_Check(value) && !PyTuple_Check(value)) {
            gpu = tensor_gpu(value);
            continue;
        }
        PyObject *first = PySequence_Size(value) > 0 ? PySequence_GetItem(value, 0) : NULL;
        gpu = first ? tensor_gpu(first) : TENSOR_NONE;
        Py_XDECREF(first);
        PyErr_Clear(); /* another thread has emptied the list */
    }
    return gpu >= 0 ? gpu : -1;
}

static bool launch(const context *here, const ingot_dispatch_desc *desc, bool on_gpu, bool wait) {
    ingot_status status = INGOT_OK;
    Py_BEGIN_ALLOW_THREADS;
    status = ingot_stream_dispatch(here->stream, desc);
    if (status == INGOT_OK && wait) {
        status = interruptible_wait(here->stream);
    } else if (status == INGOT_OK && !on_gpu) {
        context_start(here);
    }
    Py_END_ALLOW_THREADS;
    if (status != INGOT_OK) {
        raise_status(status);
    }
    return status == INGOT_OK;
}

static PyObject *call_on(struct kernel *kernel, const context *here, int gpu, PyObject *arguments,
                         PyObject *options[OPTION_COUNT]) {
    struct code *code = code_on(kernel, gpu, here->device);
    if (!code) {
        return NULL;
    }
    /* on a GPU work is in order with torch's, and waited for only when that is asked for */
    int wait = options[OPTION_WAIT] ? PyObject_IsTrue(options[OPTION_WAIT]) : gpu < 0;
    if (wait < 0) {
        return NULL;
    }
    struct call call;
    call.signature = code->signature;
    call.shader = kernel->shader;
    call.device = here->device;
    call.gpu = gpu;
    call.queued = gpu < 0 && !wait;
    call.contiguity = kernel->shader->contiguity;
    call.casts = options[OPTION_ARG_CASTS];
    call.count = call.copy_count = call.small_used = 0;
    call.first_elements = -1;
    call.narrow = NULL;
    ingot_dispatch_desc desc = {.kernel = code->handle};
    uint32_t lengths[MAX_GROUPS];
    bool good = prepare(kernel, &call, arguments, options, &desc, lengths);
    if (good && desc.threads[0]) {
        good = launch(here, &desc, gpu >= 0, wait || (gpu < 0 && call.copy_count)) &&
               call_write_back(&call);
    }
    call_release(&call);
    if (!good) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *kernel_call(PyObject *self, PyObject *arguments, PyObject *keywords) {
    struct kernel *kernel = object_data(self);
    PyObject *options[OPTION_COUNT] = {0};
    pending_collect();
    if (keywords && !read_options(kernel, keywords, options)) {
        return NULL;
    }
    int gpu = find_gpu(arguments);
    context here;
    ingot_status status = gpu < 0 ? context_cpu(&here) : context_torch_cuda(gpu, &here);
    if (status != INGOT_OK) {
        return raise_status(status);
    }
    PyObject *result = call_on(kernel, &here, gpu, arguments, options);
    context_done(&here);
    return result;
}

/* ---- attributes ---- */

static PyObject *get_max_threads(PyObject *self, void *closure) {
    (void)closure;
    struct code *code = some_code(object_data(self));
    return code ? PyLong_FromUnsignedLong(code->info.max_threads_per_threadgroup) : NULL;
}

static PyObject *get_width(PyObject *self, void *closure) {
    (void)closure;
    struct code *code = some_code(object_data(self));
    return code ? PyLong_FromUnsignedLong(code->info.thread_execution_width) : NULL;
}

static PyObject *get_static_memory(PyObject *self, void *closure) {
    (void)closure;
    struct code *code = some_code(object_data(self));
    return code ? PyLong_FromUnsignedLong(code->info.static_threadgroup_memory_length) : NULL;
}

static PyObject *get_name(PyObject *self, void *closure) {
    (void)closure;
    return PyUnicode_FromString(((const struct kernel *)object_data(self))->name);
}

static PyObject *describe_argument(const ingot_argument_info *info) {
    const char *space = info->space == INGOT_SPACE_DEVICE     ? "device"
                        : info->space == INGOT_SPACE_CONSTANT ? "constant"
                                                              : "threadgroup";
    PyObject *entry = PyStructSequence_New((PyTypeObject *)argument_type);
    if (!entry) {
        return NULL;
    }
    PyObject *values[] = {
        PyLong_FromUnsignedLong(info->index),
        PyUnicode_FromString(info->name),
        PyUnicode_FromString(info->type_name),
        PyLong_FromUnsignedLongLong(info->type_size),
        PyUnicode_FromString(info->kind == INGOT_ARGUMENT_THREADGROUP ? "threadgroup" : "buffer"),
        PyUnicode_FromString(space),
        PyBool_FromLong(info->writable && info->space != INGOT_SPACE_CONSTANT),
        PyBool_FromLong(info->is_reference),
        PyBool_FromLong(info->active),
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (!values[i]) {
            PyErr_NoMemory();
        }
        PyStructSequence_SetItem(entry, (Py_ssize_t)i, values[i]);
    }
    if (!PyErr_Occurred()) {
        return entry;
    }
    Py_DECREF(entry);
    return NULL;
}

static PyObject *get_arguments(PyObject *self, void *closure) {
    (void)closure;
    struct code *code = some_code(object_data(self));
    if (!code) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < code->info.argument_count; i++) {
        ingot_argument_info info;
        ingot_status status = ingot_kernel_argument_info(code->handle, i, &info);
        PyObject *entry = status == INGOT_OK ? describe_argument(&info) : raise_status(status);
        if (!entry || PyList_Append(list, entry) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(entry);
    }
    return list;
}

static PyObject *kernel_specialize(PyObject *self, PyObject *arguments, PyObject *keywords) {
    struct kernel *kernel = object_data(self);
    PyObject *mapping = NULL;
    if (!PyArg_ParseTuple(arguments, "|O:specialize", &mapping)) {
        return NULL;
    }
    ingot_library *whole = shader_library(kernel->shader, kernel->name);
    if (!whole) {
        return NULL;
    }
    ingot_library *library; /* which has the kernel's constants */
    ingot_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = ingot_library_of_kernel(whole, kernel->name, &library);
    Py_END_ALLOW_THREADS;
    ingot_library_release(whole);
    if (status != INGOT_OK) {
        return raise_status(status);
    }
    PyObject *constants = constants_encode(library, mapping, keywords);
    ingot_library_release(library);
    if (!constants) {
        return NULL;
    }
    PyObject *result = kernel_new(kernel->shader, kernel->name, constants);
    Py_DECREF(constants);
    return result;
}

static PyObject *kernel_repr(PyObject *self) {
    struct kernel *kernel = object_data(self);
    return PyUnicode_FromFormat("<ingot.Kernel \"%s\"%s>", kernel->name,
                                kernel->constants ? ", specialised" : "");
}

static PyMethodDef kernel_methods[] = {
    {"specialize", (PyCFunction)(void (*)(void))kernel_specialize, METH_VARARGS | METH_KEYWORDS,
     "specialize(constants=None, /, **by_name) -> Kernel\n\nThe kernel with values for its "
     "function "
     "constants, by name or by index: specialize({0: 3}, USE_BIAS=True)."},
    {0}};

static PyGetSetDef kernel_attributes[] = {
    {"max_threads_per_threadgroup", get_max_threads, NULL, "The most threads a group may have.",
     NULL},
    {"thread_execution_width", get_width, NULL, "Threads of a SIMD-group.", NULL},
    {"static_thread_group_memory_length", get_static_memory, NULL,
     "Bytes of threadgroup memory that the kernel declares itself.", NULL},
    {"arguments", get_arguments, NULL,
     "The declared arguments: a list of ingot.Argument (index, name, type, size, kind, space, "
     "writable, reference, active).",
     NULL},
    {"name", get_name, NULL, "The kernel's name.", NULL},
    {0}};

static char doc[] =
    "A Metal kernel. Call it with its arguments in the order of their buffers: tensors "
    "and arrays, numbers, lists of numbers, lists of tensors.\n\n"
    "threads, group_size, arg_casts and error_buf_idx are those of "
    "torch.mps.compile_shader; threadgroup_memory gives bytes for [[threadgroup(n)]], "
    "contiguous is \"ignore\", \"refuse\" or \"copy\", and wait=False queues the work "
    "for ingot.synchronize(); time_limit is in seconds (60 unless given, float(\"inf\") for none). "
    "With CUDA tensors work is queued on torch's current stream.";

static PyType_Slot kernel_slots[] = {{Py_tp_dealloc, kernel_free},
                                     {Py_tp_call, kernel_call},
                                     {Py_tp_repr, kernel_repr},
                                     {Py_tp_methods, kernel_methods},
                                     {Py_tp_getset, kernel_attributes},
                                     {Py_tp_doc, doc},
                                     {0, NULL}};

static PyStructSequence_Field argument_fields[] = {
    {"index", "n of [[buffer(n)]] or [[threadgroup(n)]]"},
    {"name", "as the kernel calls it"},
    {"type", "of an element, as MSL spells it"},
    {"size", "of an element, in bytes"},
    {"kind", "\"buffer\" or \"threadgroup\""},
    {"space", "\"device\", \"constant\" or \"threadgroup\""},
    {"writable", "whether the kernel may write it"},
    {"reference", "exactly one value, not an array"},
    {"active", "False: absent because of a function constant"},
    {0}};

static PyStructSequence_Desc argument_desc = {
    .name = "ingot.Argument",
    .doc = "An argument that a kernel declares.",
    .fields = argument_fields,
    .n_in_sequence = 9,
};

int kernel_init(PyObject *module) {
    for (int i = 0; i < OPTION_COUNT; i++) {
        option_names[i] = PyUnicode_InternFromString(option_texts[i]);
        if (!option_names[i]) {
            return -1;
        }
    }
    kernel_type = object_new_type("ingot.Kernel", sizeof(struct kernel), kernel_slots);
    argument_type = (PyObject *)PyStructSequence_NewType(&argument_desc);
    if (!kernel_type || !argument_type) {
        return -1;
    }
    if (PyModule_AddObjectRef(module, "Kernel", kernel_type) != 0) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "Argument", argument_type);
}
