/*
 * What kernels report through TORCH_REPORT_ERROR of torch's c10/metal/error.h: messages in a
 * buffer that all of them share, read when the host synchronises. The layout is that header's.
 */
#include "python/objects.h"

#include "python/context.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_COUNT 30

struct message {
    char file[128], function[128], text[250];
    unsigned line;
};

struct messages {
    unsigned count; /* of reports, also of those for which there was no room */
    struct message entries[MESSAGE_COUNT];
};

static _Atomic(ingot_buffer *) buffers[1 + CONTEXT_CUDA_DEVICES]; /* of the CPU, then of GPUs */
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;

/* For a GPU: page-locked memory of the host, which both reach; torch knows how to get it, and the
 * tensor is kept for good. */
static ingot_status make_shared(ingot_device *device, ingot_buffer **buffer) {
    PyObject *torch = PyImport_ImportModule("torch");
    PyObject *empty = torch ? PyObject_CallMethod(torch, "zeros", "n",
                                                  (Py_ssize_t)(sizeof(struct messages) / 4 + 1))
                            : NULL;
    PyObject *pinned = empty ? PyObject_CallMethod(empty, "pin_memory", NULL) : NULL;
    PyObject *address = pinned ? PyObject_CallMethod(pinned, "data_ptr", NULL) : NULL;
    void *memory = address ? PyLong_AsVoidPtr(address) : NULL;
    ingot_status status = INGOT_INVALID_ARGUMENT;
    if (memory) {
        status = ingot_buffer_wrap(device, memory, sizeof(struct messages), NULL, NULL, buffer);
    }
    if (status != INGOT_OK) {
        if (!PyErr_Occurred()) {
            raise_status(status);
        }
        Py_XDECREF(pinned);
    }
    Py_XDECREF(address);
    Py_XDECREF(empty);
    Py_XDECREF(torch);
    return status;
}

ingot_buffer *reports_buffer(ingot_device *device, int gpu) {
    ingot_buffer *there = atomic_load(&buffers[1 + gpu]), *made = NULL;
    if (there) {
        return there;
    }
    ingot_status status = gpu >= 0 ? make_shared(device, &made)
                                   : ingot_buffer_create(device, sizeof(struct messages), &made);
    if (status != INGOT_OK) {
        return PyErr_Occurred() ? NULL : (raise_status(status), NULL);
    }
    if (!atomic_compare_exchange_strong(&buffers[1 + gpu], &there, made)) {
        ingot_buffer_release(made); /* another thread was quicker */
        return there;
    }
    return made;
}

static PyObject *text_of(const char *text, size_t size) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strnlen(text, size), "replace");
}

/* Appends what is in one buffer, and empties it. */
static bool take(ingot_buffer *buffer, PyObject *list) {
    struct messages *shared = buffer ? ingot_buffer_contents(buffer) : NULL;
    if (!shared || !shared->count) {
        return true;
    }
    struct messages *messages = malloc(sizeof *messages);
    if (!messages) {
        PyErr_NoMemory();
        return false;
    }
    pthread_mutex_lock(&reading); /* what one thread takes another does not see */
    memcpy(messages, shared, sizeof *messages);
    memset(shared, 0, sizeof *shared);
    pthread_mutex_unlock(&reading);
    unsigned count = messages->count;
    bool good = true;
    for (unsigned i = 0; good && i < count && i < MESSAGE_COUNT; i++) {
        const struct message *message = &messages->entries[i];
        PyObject *entry =
            Py_BuildValue("(NINN)", text_of(message->file, sizeof message->file), message->line,
                          text_of(message->function, sizeof message->function),
                          text_of(message->text, sizeof message->text));
        good = entry && PyList_Append(list, entry) == 0;
        Py_XDECREF(entry);
    }
    free(messages);
    return good;
}

PyObject *reports_take(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < sizeof buffers / sizeof buffers[0]; i++) {
        if (!take(buffers[i], list)) {
            Py_CLEAR(list);
        }
    }
    return list;
}
