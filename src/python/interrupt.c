/*
 * Ctrl-C while Python's main thread waits for a kernel, and most often runs a part of it.
 *
 * Python's handlers of signals run on that thread only, between two steps of the interpreter: it
 * has to leave the kernel first. The C handler of SIGINT is Python's own, and wakes a thread. That
 * thread takes the GIL, sees whether the signal is going to raise KeyboardInterrupt, and cancels
 * the stream. With another handler, which may as well go on, the kernel is left alone.
 */
#include "python/interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RETRY_NS 10000000

static sem_t presses;
static struct sigaction before; /* the handler behind ours */
static bool has_before, watcher_runs;
static struct timespec checked; /* main thread: when it last saw to the handler */

static atomic_uint wait_number; /* odd while the main thread waits */
static pthread_mutex_t leaving =
    PTHREAD_MUTEX_INITIALIZER; /* held to end a wait, or to cancel it */
static _Atomic(ingot_stream *) waiting_for;
static PyObject *get_handler, *default_handler; /* _signal.getsignal, default_int_handler */

/* ---- the signal ---- */

static void on_press(int number, siginfo_t *info, void *context) {
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else {
        before.sa_handler(number);
    }
    int saved = errno;
    sem_post(&presses); /* last: who sees that the wait was cancelled has to see the signal too */
    errno = saved;
}

static bool is_ours(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_press;
}

static bool is_function(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

/* signal.signal() takes our handler away: it is put back in front of the one that Python always
 * installs. Handlers of others may call ours, and stay. */
static void install_handler(void) {
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) != 0 || is_ours(&now) || !is_function(&now)) {
        return;
    }
    if (has_before && (now.sa_flags & SA_SIGINFO || now.sa_handler != before.sa_handler)) {
        return;
    }
    before = now;
    has_before = true;
    now.sa_flags |= SA_SIGINFO;
    now.sa_sigaction = on_press;
    sigaction(SIGINT, &now, NULL);
}

/* ---- the thread that acts ---- */

/* False when the signal does not raise KeyboardInterrupt, or the wait is over. The main thread
 * does not go on to other work while it is cancelled. */
static bool cancel_wait(unsigned number) {
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *handler = PyObject_CallFunction(get_handler, "i", SIGINT);
    bool cancel = handler == default_handler;
    if (!handler) {
        PyErr_Clear();
    }
    Py_XDECREF(handler);
    PyGILState_Release(state);
    pthread_mutex_lock(&leaving);
    cancel = cancel && atomic_load(&wait_number) == number &&
             ingot_stream_cancel(atomic_load(&waiting_for)) == INGOT_OK;
    pthread_mutex_unlock(&leaving);
    return cancel;
}

static void *watch(void *nothing) {
    for (;;) {
        if (sem_wait(&presses) != 0) {
            continue;
        }
        unsigned number = atomic_load(&wait_number);
        /* again and again: the work may not have been queued the first time */
        while (number % 2 == 1 && cancel_wait(number)) {
            nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
        }
    }
    return nothing;
}

static void start_watcher(void) {
    sigset_t all, mask;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    watcher_runs = pthread_create(&thread, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (watcher_runs) {
        pthread_detach(thread);
    }
}

/* ---- the wait ---- */

static _Thread_local enum { UNKNOWN, MAIN, OTHER } thread_kind;

static bool is_main_thread(void) {
    if (thread_kind == UNKNOWN) {
        thread_kind = syscall(SYS_gettid) == getpid() ? MAIN : OTHER;
    }
    return thread_kind == MAIN;
}

/* Once in a tick of the system's clock, a few milliseconds: the check is a system call, which short
 * kernels would feel. */
static void prepare_for_press(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (now.tv_nsec == checked.tv_nsec && now.tv_sec == checked.tv_sec) {
        return;
    }
    checked = now;
    install_handler();
    if (!watcher_runs) {
        start_watcher();
    }
}

bool interruptible_enter(ingot_stream *stream) {
    if (!is_main_thread() || atomic_load(&wait_number) % 2 == 1) {
        return false;
    }
    prepare_for_press();
    atomic_store(&waiting_for, stream);
    atomic_fetch_add(&wait_number, 1);
    return true;
}

void interruptible_leave(void) {
    pthread_mutex_lock(&leaving);
    atomic_fetch_add(&wait_number, 1);
    pthread_mutex_unlock(&leaving);
}

ingot_status interruptible_wait(ingot_stream *stream) {
    const bool entered = interruptible_enter(stream);
    ingot_status status = ingot_stream_wait(stream);
    if (entered) {
        interruptible_leave();
    }
    return status;
}

/* A forked child has one thread, its main one. */
static void begin_child(void) {
    thread_kind = UNKNOWN;
    watcher_runs = false;
    pthread_mutex_init(&leaving, NULL); /* the watcher may have held it */
    checked = (struct timespec){0};
    atomic_store(&wait_number, 0);
    sem_init(&presses, 0, 0);
}

int interrupt_init(void) {
    PyObject *module = PyImport_ImportModule("_signal");
    if (!module) {
        return -1;
    }
    get_handler = PyObject_GetAttrString(module, "getsignal");
    default_handler = PyObject_GetAttrString(module, "default_int_handler");
    Py_DECREF(module);
    if (!get_handler || !default_handler) {
        return -1;
    }
    if (sem_init(&presses, 0, 0) != 0 || pthread_atfork(NULL, NULL, begin_child) != 0) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}
