/*
 * What queued work keeps alive. A worker thread that finishes a command lists what the command
 * held; the interpreter drops it at its next opportunity, with the GIL. Workers never wait for the
 * GIL: who holds it may be waiting for them.
 */
#include "python/call.h"

#include <stdatomic.h>
#include <stdlib.h>

struct keeper {
    struct keeper *next;
    PyObject *object;
    void *memory;
};

static _Atomic(struct keeper *) done;
static atomic_bool finalising;

void *pending_keep(PyObject *object, void *memory) {
    struct keeper *keeper = malloc(sizeof *keeper);
    if (!keeper) {
        return NULL;
    }
    Py_INCREF(object);
    *keeper = (struct keeper){NULL, object, memory};
    return keeper;
}

static int collect_later(void *nothing) {
    (void)nothing;
    pending_collect();
    return 0;
}

void pending_done(void *context) {
    struct keeper *keeper = context, *first = atomic_load(&done);
    do {
        keeper->next = first;
    } while (!atomic_compare_exchange_weak(&done, &first, keeper));
    if (!first && !atomic_load(&finalising)) {
        Py_AddPendingCall(collect_later, NULL); /* when full: the next call of a kernel collects */
    }
}

void pending_collect(void) {
    if (!atomic_load_explicit(&done, memory_order_relaxed)) {
        return;
    }
    struct keeper *keeper = atomic_exchange(&done, NULL);
    while (keeper) {
        struct keeper *next = keeper->next;
        Py_DECREF(keeper->object);
        free(keeper->memory);
        free(keeper);
        keeper = next;
    }
}

static void interpreter_ends(void) {
    atomic_store(&finalising, true);
}

int pending_init(PyObject *module) {
    (void)module;
    return Py_AtExit(interpreter_ends);
}
