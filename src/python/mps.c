/*
 * What tensors on device "mps" need below Python on a machine whose PyTorch was built without MPS:
 * a device guard, which factories and autograd ask for, and at::getAccelerator() answering MPS, as
 * autograd takes its streams from there. PyTorch has no C interface for either. Both are C++
 * objects with virtual functions; here each gets a copy of the table of an object that PyTorch has,
 * in which a few functions are others. The guard is made from that of the Meta device, whose
 * methods do nothing. The slots used have been the same since torch 2.7, and what they answer is
 * checked before anything is changed.
 */
#include "python/mps.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { TYPE_MPS = 13, TYPE_META = 14 };       /* c10::DeviceType */
enum { BEFORE_TABLE = 2, SLOTS_COPIED = 64 }; /* more than any of the tables has */

typedef void (*slot)(void);
typedef struct object { /* a C++ object with virtual functions */
    const slot *table;
} object;
typedef struct table { /* what C++ keeps before a table (offset to the top, type) is copied too */
    slot slots[BEFORE_TABLE + SLOTS_COPIED];
} table;

static slot *copy_table(table *copy, const object *from) {
    memcpy(copy->slots, from->table - BEFORE_TABLE, sizeof copy->slots);
    return copy->slots + BEFORE_TABLE;
}

static void *find_symbol(const char *library_name, const char *name) {
    void *library = dlopen(library_name, RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!library) {
        PyErr_Format(PyExc_RuntimeError,
                     "ingot.mps needs PyTorch: %s is not loaded; import torch first", library_name);
    } else if (!symbol) {
        PyErr_Format(PyExc_RuntimeError,
                     "ingot.mps cannot work with this PyTorch: its %s has no %s", library_name,
                     name);
    }
    if (library) {
        dlclose(library);
    }
    return symbol;
}

/* The device guard. */

enum { /* virtual functions of c10::impl::DeviceGuardImplInterface */
       GUARD_TYPE,
       GUARD_EXCHANGE_DEVICE,
       GUARD_GET_DEVICE,
       GUARD_GET_STREAM = 5, /* and four more that answer with a stream */
       GUARD_EXCHANGE_STREAM = 9,
};

typedef struct device { /* c10::Device */
    int8_t type;
    int8_t index;
} device;

typedef struct stream { /* c10::Stream */
    device device;
    int64_t id;
} stream;

static int8_t guard_type(const object *self) {
    (void)self;
    return TYPE_MPS;
}

static device guard_device(const object *self) {
    (void)self;
    return (device){TYPE_MPS, 0};
}

static stream guard_stream(const object *self) {
    (void)self;
    return (stream){{TYPE_MPS, 0}, 0};
}

typedef _Atomic(const object *) guard_entry;

static table guard_table;
static object guard = {NULL};

static int make_guard(guard_entry *registry) {
    const object *meta = atomic_load(&registry[TYPE_META]);
    if (!meta || ((int8_t (*)(const object *))meta->table[GUARD_TYPE])(meta) != TYPE_META ||
        ((device(*)(const object *))meta->table[GUARD_GET_DEVICE])(meta).type != TYPE_META) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "ingot.mps cannot work with this PyTorch: the Meta device's guard is not as "
            "in versions 2.7 to 2.15");
        return -1;
    }
    slot *slots = copy_table(&guard_table, meta);
    slots[GUARD_TYPE] = (slot)guard_type;
    slots[GUARD_EXCHANGE_DEVICE] = slots[GUARD_GET_DEVICE] = (slot)guard_device;
    for (int i = GUARD_GET_STREAM; i <= GUARD_EXCHANGE_STREAM; i++) {
        slots[i] = (slot)guard_stream;
    }
    guard.table = slots;
    return 0;
}

static PyObject *mps_set_guard(PyObject *self, PyObject *wanted) {
    (void)self;
    int install = PyObject_IsTrue(wanted);
    if (install < 0) {
        return NULL;
    }
    guard_entry *registry = find_symbol("libc10.so", "_ZN3c104impl26device_guard_impl_registryE");
    if (!registry) {
        return NULL;
    }
    const object *present = atomic_load(&registry[TYPE_MPS]);
    if (present && present != &guard) {
        PyErr_SetString(PyExc_RuntimeError, "this PyTorch has an MPS device guard of its own: "
                                            "ingot.mps is for machines without MPS");
        return NULL;
    }
    if (install && !guard.table && make_guard(registry) != 0) {
        return NULL;
    }
    atomic_store(&registry[TYPE_MPS], install ? &guard : NULL);
    return PyBool_FromLong(present != NULL);
}

/* The accelerator: PyTorch's hooks of MPS say that it was built, those of CUDA that it was not. */

enum { /* virtual functions of at::AcceleratorHooksInterface, after two destructors */
       HOOKS_IS_BUILT = 2,
       HOOKS_IS_AVAILABLE,
       HOOKS_HAS_PRIMARY_CONTEXT,
       HOOKS_INIT,
};

static bool answer_yes(const object *self) {
    (void)self;
    return true;
}

static bool answer_no(const object *self) {
    (void)self;
    return false;
}

static void do_nothing(const object *self) {
    (void)self;
}

typedef struct hooks {
    const char *getter;
    object *object;
    const slot *own; /* PyTorch's table */
    table copy;
} hooks;

static hooks mps_hooks = {.getter = "_ZN2at6detail11getMPSHooksEv"};
static hooks cuda_hooks = {.getter = "_ZN2at6detail12getCUDAHooksEv"};

static int find_hooks(hooks *found, bool (*is_built)(const object *)) {
    void *symbol = find_symbol("libtorch_cpu.so", found->getter);
    object *(*get)(void);
    if (!symbol) {
        return -1;
    }
    memcpy(&get, &symbol, sizeof get);
    found->object = get();
    found->own = found->object->table;
    copy_table(&found->copy, found->object)[HOOKS_IS_BUILT] = (slot)is_built;
    return 0;
}

static int find_both_hooks(bool cuda_built) {
    if (mps_hooks.own) {
        return 0;
    }
    if (find_hooks(&cuda_hooks, answer_no) != 0 || find_hooks(&mps_hooks, answer_yes) != 0) {
        return -1;
    }
    typedef bool query(const object *);
    if (((query *)cuda_hooks.own[HOOKS_IS_BUILT])(cuda_hooks.object) != cuda_built ||
        ((query *)mps_hooks.own[HOOKS_IS_BUILT])(mps_hooks.object)) {
        mps_hooks.own = NULL;
        PyErr_SetString(
            PyExc_RuntimeError,
            "ingot.mps cannot work with this PyTorch: the hooks of its accelerators are "
            "not as in versions 2.7 to 2.15");
        return -1;
    }
    slot *slots = mps_hooks.copy.slots + BEFORE_TABLE;
    slots[HOOKS_IS_AVAILABLE] = slots[HOOKS_HAS_PRIMARY_CONTEXT] = (slot)answer_yes;
    slots[HOOKS_INIT] = (slot)do_nothing;
    return 0;
}

static PyObject *mps_set_accelerator(PyObject *self, PyObject *args) {
    (void)self;
    int install, cuda_built;
    if (!PyArg_ParseTuple(args, "pp", &install, &cuda_built) || find_both_hooks(cuda_built) != 0) {
        return NULL;
    }
    mps_hooks.object->table = install ? mps_hooks.copy.slots + BEFORE_TABLE : mps_hooks.own;
    cuda_hooks.object->table = install ? cuda_hooks.copy.slots + BEFORE_TABLE : cuda_hooks.own;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"mps_set_guard", mps_set_guard, METH_O,
     "Installs (True) or removes (False) a device guard for mps; says whether there was one."},
    {"mps_set_accelerator", mps_set_accelerator, METH_VARARGS,
     "Makes MPS PyTorch's accelerator (True, whether CUDA is built in), or ends that (False, "
     "same)."},
    {NULL, NULL, 0, NULL},
};

int mps_add_to_module(PyObject *module) {
    return PyModule_AddFunctions(module, methods);
}
