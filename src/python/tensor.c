/*
 * torch tensors: pointer, size and layout through torch's C functions, looked up in the torch that
 * Python has loaded. A tensor's `_cdata` is the address of its implementation, and a handle of
 * those functions points to such an address. Tensors on mps are those of ingot.mps, whose
 * memory mps_buffers.c knows. Where a torch lacks one of them, DLPack serves.
 */
#include "python/memory.h"

#include "python/context.h"
#include "python/mps.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

typedef int32_t torch_error;
typedef void **torch_handle;

#define DEVICE_CPU  0
#define DEVICE_CUDA 1
#define DEVICE_MPS  13

static struct {
    torch_error (*data)(torch_handle, void **);
    torch_error (*dtype)(torch_handle, int32_t *);
    torch_error (*device)(torch_handle, int32_t *);
    torch_error (*device_index)(torch_handle, int32_t *);
    torch_error (*dimensions)(torch_handle, int64_t *);
    torch_error (*sizes)(torch_handle, int64_t **);
    torch_error (*strides)(torch_handle, int64_t **);
    torch_error (*storage_size)(torch_handle, int64_t *);
    torch_error (*storage_offset)(torch_handle, int64_t *);
} api;

static const struct {
    const char *symbol;
    size_t offset;
} symbols[] = {
    {"aoti_torch_get_data_ptr", offsetof(__typeof__(api), data)},
    {"aoti_torch_get_dtype", offsetof(__typeof__(api), dtype)},
    {"aoti_torch_get_device_type", offsetof(__typeof__(api), device)},
    {"aoti_torch_get_device_index", offsetof(__typeof__(api), device_index)},
    {"aoti_torch_get_dim", offsetof(__typeof__(api), dimensions)},
    {"aoti_torch_get_sizes", offsetof(__typeof__(api), sizes)},
    {"aoti_torch_get_strides", offsetof(__typeof__(api), strides)},
    {"aoti_torch_get_storage_size", offsetof(__typeof__(api), storage_size)},
    {"aoti_torch_get_storage_offset", offsetof(__typeof__(api), storage_offset)},
};

/* torch's numbers of its types, which are part of its serialised format. */
static const struct {
    char kind;
    unsigned char size;
} types[] = {
    [0] = {'u', 1},   [1] = {'i', 1},  [2] = {'i', 2},  [3] = {'i', 4},  [4] = {'i', 8},
    [5] = {'f', 2},   [6] = {'f', 4},  [7] = {'f', 8},  [8] = {'c', 4},  [9] = {'c', 8},
    [10] = {'c', 16}, [11] = {'b', 1}, [15] = {'B', 2}, [23] = {'?', 1}, [24] = {'?', 1},
    [25] = {'?', 1},  [26] = {'?', 1}, [27] = {'u', 2}, [28] = {'u', 4}, [29] = {'u', 8},
};

static _Atomic(PyObject *) tensor_type;
static PyObject *name_cdata, *name_detach, *name_torch, *name_tensor;
static bool has_api;
static pthread_once_t api_once = PTHREAD_ONCE_INIT;

int tensor_init(void) {
    name_cdata = PyUnicode_InternFromString("_cdata");
    name_detach = PyUnicode_InternFromString("detach");
    name_torch = PyUnicode_InternFromString("torch");
    name_tensor = PyUnicode_InternFromString("Tensor");
    return name_cdata && name_detach && name_torch && name_tensor ? 0 : -1;
}

static void load_api(void) {
    const char *way = getenv("INGOT_TENSORS"); /* "dlpack": as if torch lacked them, for tests */
    if (way && strcmp(way, "dlpack") == 0) {
        return;
    }
    void *library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    if (!library) {
        return;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(library, symbols[i].symbol);
        if (!address) {
            return;
        }
        memcpy((char *)&api + symbols[i].offset, &address, sizeof address);
    }
    has_api = true;
}

bool tensor_check(PyObject *object) {
    PyTypeObject *tensor = type_of_module(name_torch, name_tensor, &tensor_type);
    PyTypeObject *type = tensor ? Py_TYPE(object) : NULL;
    return tensor && (type == tensor || PyType_IsSubtype(type, tensor));
}

unsigned tensor_thread_count(void) {
    void *library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    if (!library) {
        return 0;
    }
    int (*count)(void) = NULL;
    void *address = dlsym(library, "_ZN2at15get_num_threadsEv"); /* at::get_num_threads() */
    memcpy(&count, &address, sizeof address);
    int threads = count ? count() : 0;
    dlclose(library);
    return threads > 0 ? (unsigned)threads : 0;
}

/* Such a stream has its address for a number in torch. */
bool tensor_stream_is_foreign(int index, const void *native) {
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *module = PyImport_ImportModule("torch.cuda");
    PyObject *stream = module ? PyObject_CallMethod(module, "current_stream", "i", index) : NULL;
    PyObject *number = stream ? PyObject_GetAttrString(stream, "stream_id") : NULL;
    const bool is = number && native && PyLong_AsVoidPtr(number) == native;
    Py_XDECREF(module);
    Py_XDECREF(stream);
    Py_XDECREF(number);
    PyErr_Clear();
    PyGILState_Release(gil);
    return is;
}

/* An exception of torch's own becomes the reason in one that names the argument. */
static enum memory_found explain(const struct target *where) {
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(error_type)) {
        return MEMORY_ERROR;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    raise_error(INGOT_UNSUPPORTED, "%s: the tensor has no memory that a kernel could use: %S",
                PLACE(where), value ? value : type);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return MEMORY_ERROR;
}

/* Without torch's C functions. detach: DLPack refuses tensors that require a gradient. */
static enum memory_found by_dlpack(PyObject *object, struct memory *memory,
                                   const struct target *where) {
    PyObject *detached = PyObject_CallMethodObjArgs(object, name_detach, NULL);
    if (!detached) {
        return explain(where);
    }
    enum memory_found found = memory_by_dlpack(detached, memory, where);
    Py_DECREF(detached);
    return found == MEMORY_ARRAY ? MEMORY_TENSOR : explain(where);
}

/* What stands for a tensor while torch.compile or export looks at a program. */
static bool is_traced(PyObject *object) {
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    bool traced = name && PyUnicode_Check(name) &&
                  (PyUnicode_CompareWithASCIIString(name, "FakeTensor") == 0 ||
                   PyUnicode_CompareWithASCIIString(name, "FunctionalTensor") == 0);
    Py_XDECREF(name);
    PyErr_Clear();
    return traced;
}

static enum memory_found refuse_without_memory(PyObject *object, const struct target *where) {
    if (is_traced(object)) {
        raise_error(
            INGOT_UNSUPPORTED,
            "%s: the tensor is fake, since torch.compile or export traces this code, which a "
            "kernel cannot be part of: make the call an operator of its own, with "
            "torch.library.custom_op and register_fake (its backward formula too)",
            PLACE(where));
    } else {
        raise_error(INGOT_UNSUPPORTED,
                    "%s: the tensor has no plain memory of its own that a kernel could use (it is "
                    "sparse, a wrapper around others, or was never filled)",
                    PLACE(where));
    }
    return MEMORY_ERROR;
}

static enum memory_found refuse_device(PyObject *object, const struct target *where) {
    PyObject *device = PyObject_GetAttrString(object, "device");
    PyObject *text = device ? PyObject_Str(device) : NULL;
    if (text) {
        raise_error(INGOT_UNSUPPORTED,
                    "%s: the tensor is on device %S, but kernels run on devices cpu and cuda",
                    PLACE(where), text);
    }
    Py_XDECREF(text);
    Py_XDECREF(device);
    return MEMORY_ERROR;
}

static enum memory_found by_handle(PyObject *object, torch_handle handle, struct memory *memory,
                                   const struct target *where) {
    int32_t device, gpu, dtype;
    int64_t ndim, *sizes, *strides, storage, offset;
    void *data = NULL;
    if (api.device(handle, &device) || api.device_index(handle, &gpu) ||
        (device != DEVICE_CPU && device != DEVICE_MPS && device != DEVICE_CUDA)) {
        return refuse_device(object, where);
    }
    if (api.dtype(handle, &dtype) || api.dimensions(handle, &ndim) || api.sizes(handle, &sizes) ||
        api.strides(handle, &strides) || api.data(handle, &data) ||
        api.storage_size(handle, &storage) || api.storage_offset(handle, &offset)) {
        return refuse_without_memory(object, where);
    }
    size_t known = sizeof types / sizeof types[0];
    memory->kind = '?';
    memory->item_size = 1;
    if (dtype >= 0 && (size_t)dtype < known && types[dtype].size) {
        memory->kind = types[dtype].kind;
        memory->item_size = types[dtype].size;
    }
    memory->ndim = (int)ndim;
    memory_layout(memory, sizes, strides, ndim, 1);
    int64_t room = storage - offset * (int64_t)memory->item_size;
    if (memory->count > 0 && !data && room > 0) {
        return refuse_without_memory(object, where);
    }
    if (memory->count > 0 && room < (int64_t)memory->item_size) {
        raise_error(INGOT_INVALID_ARGUMENT,
                    "%s: the tensor has %lld elements, but its storage of %lld bytes holds none "
                    "of them",
                    PLACE(where), (long long)memory->count, (long long)storage);
        return MEMORY_ERROR;
    }
    memory->on_mps = device == DEVICE_MPS;
    memory->on_cuda = device == DEVICE_CUDA;
    memory->gpu = gpu;
    memory->pointer = data;
    if (memory->on_mps && data) {
        if (!mps_settle()) {
            return MEMORY_ERROR;
        }
        memory->pointer = mps_memory_of(data, (uint64_t)offset * memory->item_size);
    }
    uint64_t extent = memory->length * memory->item_size; /* of the elements that there are */
    memory->length = room > 0 ? (uint64_t)room : 0;
    if (context_is_sanitized() && extent < memory->length) {
        memory->length = extent; /* what is behind a view is not the kernel's */
    }
    Py_INCREF(object);
    memory->owner = object;
    return MEMORY_TENSOR;
}

/* What a handle points to; NULL where torch's functions cannot be used. */
static void *implementation_of(PyObject *object) {
    pthread_once(&api_once, load_api);
    PyObject *number = has_api ? PyObject_GetAttr(object, name_cdata) : NULL;
    void *implementation = number ? PyLong_AsVoidPtr(number) : NULL;
    Py_XDECREF(number);
    if (!implementation) {
        PyErr_Clear();
    }
    return implementation;
}

int tensor_gpu(PyObject *object) {
    void *implementation = tensor_check(object) ? implementation_of(object) : NULL;
    int32_t device = DEVICE_CPU, gpu = TENSOR_NONE;
    int64_t ndim = 0;
    if (!implementation || api.device(&implementation, &device)) {
        return TENSOR_NONE;
    }
    if (device == DEVICE_CUDA && !api.device_index(&implementation, &gpu)) {
        return gpu;
    }
    return !api.dimensions(&implementation, &ndim) && ndim > 0 ? TENSOR_HOST : TENSOR_NONE;
}

enum memory_found tensor_memory(PyObject *object, struct memory *memory,
                                const struct target *where) {
    void *implementation = implementation_of(object);
    return implementation ? by_handle(object, &implementation, memory, where)
                          : by_dlpack(object, memory, where);
}
