/*
 * The buffers of mps storages. As on a Mac, the data pointer of an mps storage is an MTLBuffer
 * object and not memory: extensions in Objective-C++ take it as one. Without such an extension
 * nothing looks into the object, and it stays zero. The memory is that of a CPU storage, which is
 * kept until the mps storage, the object and the commands that use it are gone.
 */
#include "mps_bridge.h"
#include "python/mps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct mps_buffer buffer; /* first: its address is the entry's */
    atomic_uint references, memory_references;
    PyObject *owner;
    struct entry *next, *previous; /* of all, or of those that wait to be freed */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry all = {.next = &all, .previous = &all};
static struct entry *unused; /* whose owners Python's lock is needed for */
static atomic_bool has_unused;
static _Atomic(const struct mps_bridge *) bridge;

static void unlink_entry(struct entry *entry) {
    entry->next->previous = entry->previous;
    entry->previous->next = entry->next;
}

static void retain_memory(struct mps_buffer *buffer) {
    atomic_fetch_add(&((struct entry *)buffer)->memory_references, 1);
}

/* Threads that run kernels come here without Python's lock, and must not wait for it: a program
 * that waits for the kernel may hold it. So the owner is let go of later, by who holds the lock
 * anyway. */
static void release_memory(struct mps_buffer *buffer) {
    struct entry *entry = (struct entry *)buffer;
    if (atomic_fetch_sub(&entry->memory_references, 1) == 1) {
        pthread_mutex_lock(&lock);
        unlink_entry(entry);
        entry->next = unused;
        unused = entry;
        atomic_store(&has_unused, true);
        pthread_mutex_unlock(&lock);
    }
}

static void free_unused(void) {
    if (!atomic_load(&has_unused)) {
        return;
    }
    pthread_mutex_lock(&lock);
    struct entry *entry = unused;
    unused = NULL;
    atomic_store(&has_unused, false);
    pthread_mutex_unlock(&lock);
    while (entry) {
        struct entry *next = entry->next;
        Py_DECREF(entry->owner);
        free(entry);
        entry = next;
    }
}

static void retain(struct mps_buffer *buffer) {
    atomic_fetch_add(&((struct entry *)buffer)->references, 1);
}

static void release(struct mps_buffer *buffer) {
    struct entry *entry = (struct entry *)buffer;
    if (atomic_fetch_sub(&entry->references, 1) == 1) {
        const struct mps_bridge *present = atomic_load(&bridge);
        if (present) {
            present->abandon(buffer);
        }
        release_memory(buffer);
    }
}

static uint32_t references(const struct mps_buffer *buffer) {
    return atomic_load(&((const struct entry *)buffer)->references);
}

static int attach(const struct mps_bridge *given) {
    if (given->version != MPS_BRIDGE_VERSION || atomic_load(&bridge)) {
        return atomic_load(&bridge) == given;
    }
    pthread_mutex_lock(&lock);
    for (struct entry *entry = all.next; entry != &all; entry = entry->next) {
        given->adopt(&entry->buffer);
    }
    atomic_store(&bridge, given);
    pthread_mutex_unlock(&lock);
    return 1;
}

static struct mps_host host = {
    .version = MPS_BRIDGE_VERSION,
    .attach = attach,
    .retain = retain,
    .release = release,
    .references = references,
    .retain_memory = retain_memory,
    .release_memory = release_memory,
};

void *mps_memory_of(void *data, uint64_t offset) {
    struct mps_buffer *buffer = (struct mps_buffer *)((char *)data - offset);
    return (char *)buffer->memory + offset;
}

bool mps_settle(void) {
    const struct mps_bridge *present = atomic_load(&bridge);
    if (!present || !present->has_work()) {
        return true;
    }
    char message[2048] = "";
    int status;
    Py_BEGIN_ALLOW_THREADS;
    status = present->settle(message, sizeof message);
    Py_END_ALLOW_THREADS;
    if (status) {
        PyErr_SetString(PyExc_RuntimeError, message);
    }
    return status == 0;
}

static PyObject *buffer_new(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *owner;
    unsigned long long memory, length;
    if (!PyArg_ParseTuple(args, "OKK", &owner, &memory, &length)) {
        return NULL;
    }
    free_unused();
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry) {
        return PyErr_NoMemory();
    }
    entry->buffer.memory = (void *)(uintptr_t)memory;
    entry->buffer.length = length;
    entry->references = entry->memory_references = 1;
    Py_INCREF(owner);
    entry->owner = owner;
    pthread_mutex_lock(&lock);
    entry->previous = &all;
    entry->next = all.next;
    all.next->previous = entry;
    all.next = entry;
    const struct mps_bridge *present = atomic_load(&bridge);
    if (present) {
        present->adopt(&entry->buffer);
    }
    pthread_mutex_unlock(&lock);
    return PyLong_FromVoidPtr(entry);
}

static PyObject *buffer_release(PyObject *self, PyObject *address) {
    (void)self;
    void *buffer = PyLong_AsVoidPtr(address);
    if (!buffer) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    release(buffer);
    free_unused();
    Py_RETURN_NONE;
}

static PyObject *settle(PyObject *self, PyObject *unused_argument) {
    (void)self;
    (void)unused_argument;
    return mps_settle() ? Py_NewRef(Py_None) : NULL;
}

static PyObject *has_work(PyObject *self, PyObject *unused_argument) {
    (void)self;
    (void)unused_argument;
    const struct mps_bridge *present = atomic_load(&bridge);
    return PyBool_FromLong(present && present->has_work());
}

static PyMethodDef methods[] = {
    {"mps_buffer_new", buffer_new, METH_VARARGS,
     "A buffer over memory (owner, address, bytes), which keeps the owner; its address."},
    {"mps_buffer_release", buffer_release, METH_O, "The storage of this buffer is gone."},
    {"mps_has_work", has_work, METH_NOARGS, "Is there work on streams that nobody waited for?"},
    {"mps_settle", settle, METH_NOARGS, "Waits for what extensions gave to the current streams."},
    {NULL, NULL, 0, NULL},
};

int mps_buffers_add_to_module(PyObject *module) {
    PyObject *capsule = PyCapsule_New(&host, "ingot._C.mps_host", NULL);
    if (!capsule || PyModule_AddObject(module, "mps_host", capsule) != 0) {
        Py_XDECREF(capsule);
        return -1;
    }
    return PyModule_AddFunctions(module, methods);
}
