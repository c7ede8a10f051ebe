/*
 * What kernels report through TORCH_REPORT_ERROR of torch's c10/metal/error.h: messages in a
 * buffer that all of them share, read when the host synchronises. The layout is that header's.
 */
#include "objects.h"

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

static ingot_buffer *buffer;

ingot_buffer *reports_buffer(ingot_device *device) {
    if (!buffer) {
        ingot_status status = ingot_buffer_create(device, sizeof(struct messages), &buffer);
        if (status != INGOT_OK)
            raise_status(status);
    }
    return buffer;
}

static PyObject *text_of(const char *text, size_t size) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strnlen(text, size), "replace");
}

PyObject *reports_take(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    PyObject *list = PyList_New(0);
    struct messages *messages = buffer ? ingot_buffer_contents(buffer) : NULL;
    unsigned count = messages ? messages->count : 0;
    for (unsigned i = 0; list && i < count && i < MESSAGE_COUNT; i++) {
        const struct message *message = &messages->entries[i];
        PyObject *entry =
            Py_BuildValue("(NINN)", text_of(message->file, sizeof message->file), message->line,
                          text_of(message->function, sizeof message->function),
                          text_of(message->text, sizeof message->text));
        if (!entry || PyList_Append(list, entry) != 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    if (count)
        memset(messages, 0, sizeof *messages);
    return list;
}
