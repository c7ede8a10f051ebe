/*
 * Signals: faults inside kernels, and the watchdog's interruption.
 *
 * Handlers are installed once per process and stay. A handler acts only when the thread is
 * inside a kernel: it notes what happened and switches back to the thread's own stack.
 * Otherwise the handler that was there before gets the signal. Handlers unblock what they may
 * need again before they leave without returning.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cpu/cpu.h"

#define ALTERNATE_STACK_BYTES ((size_t)64 << 10)

static const int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
#define FAULT_SIGNAL_COUNT (sizeof fault_signals / sizeof fault_signals[0])

static struct sigaction previous[FAULT_SIGNAL_COUNT];
static int interrupt_signal;
static bool installed;
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;

/* initial-exec: a handler must not allocate thread-local storage. */
static _Thread_local struct cpu_executor *self __attribute__((tls_model("initial-exec")));

static void needed_signals(sigset_t *set) {
    sigemptyset(set);
    for (size_t i = 0; i < FAULT_SIGNAL_COUNT; i++) {
        sigaddset(set, fault_signals[i]);
    }
    sigaddset(set, interrupt_signal);
}

/* From a handler, back to cpu_run_groups. */
static _Noreturn void leave_kernel(struct cpu_executor *executor) {
    /* Further signals find no kernel: they must not pile up on this stack. */
    executor->in_kernel = 0;
    sigset_t needed;
    needed_signals(&needed);
    pthread_sigmask(SIG_UNBLOCK, &needed, NULL);
    cpu_escape(executor);
}

static void chain(int number, siginfo_t *info, void *context) {
    for (size_t i = 0; i < FAULT_SIGNAL_COUNT; i++) {
        if (fault_signals[i] != number) {
            continue;
        }
        const struct sigaction *before = &previous[i];
        if (before->sa_flags & SA_SIGINFO) {
            before->sa_sigaction(number, info, context);
        } else if (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN) {
            /* The fault happens again when the handler returns, and then ends the process. */
            signal(number, SIG_DFL);
            if (info->si_code <= 0) {
                raise(number);
            }
        } else {
            before->sa_handler(number);
        }
        return;
    }
}

static void on_fault(int number, siginfo_t *info, void *context) {
    struct cpu_executor *executor = self;
    if (!executor || !executor->in_kernel || info->si_code <= 0) {
        chain(number, info, context);
        return;
    }
    executor->failure.kind = CPU_FAULT;
    executor->failure.signal = number;
    executor->failure.address = (uintptr_t)info->si_addr;
    executor->failure.no_address = number == SIGSEGV && info->si_code == SI_KERNEL;
    leave_kernel(executor);
}

static void on_interrupt(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    (void)context;
    struct cpu_executor *executor = self;
    if (!executor) {
        return;
    }
    atomic_store_explicit(&executor->interrupted, false, memory_order_relaxed);
    /* Inside a kernel its stream is there for certain. The watchdog comes again if this is not. */
    if (executor->in_kernel &&
        cpu_stream_cancelled(atomic_load_explicit(&executor->stream, memory_order_relaxed))) {
        executor->failure.kind = CPU_STOPPED;
        leave_kernel(executor);
    }
    uint64_t deadline = atomic_load_explicit(&executor->deadline, memory_order_relaxed);
    if (deadline == 0 || cpu_now() < deadline) {
        return;
    }
    executor->expired = 1;
    if (!executor->in_kernel) {
        return;
    }
    executor->failure.kind = CPU_TIMEOUT;
    leave_kernel(executor);
}

/* Whether the signal can be sent: emulators of another CPU have fewer than they say. It is taken
 * back before it arrives, so that a debugger does not stop here; else the handler ignores it. */
static bool arrives(int number) {
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    bool sent = syscall(SYS_tgkill, getpid(), ig_thread_number(), number) == 0;
    if (sent) {
        sigtimedwait(&one, NULL, &(struct timespec){0});
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return sent;
}

/* A real-time signal that nobody has taken, from the top down, with the handler; 0: none is free.
 */
static int take_signal(const struct sigaction *action) {
    for (int number = SIGRTMAX - 1; number > SIGRTMIN; number--) {
        struct sigaction current;
        if (sigaction(number, NULL, &current) != 0 || current.sa_flags & SA_SIGINFO ||
            current.sa_handler != SIG_DFL || sigaction(number, action, NULL) != 0) {
            continue;
        }
        if (arrives(number)) {
            return number;
        }
        sigaction(number, &current, NULL);
    }
    return 0;
}

ingot_status cpu_signals_install(struct ig_error *error) {
    ingot_status status = INGOT_OK;
    pthread_mutex_lock(&install_lock);
    if (!installed) {
        struct sigaction action = {0};
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        sigemptyset(&action.sa_mask);
        action.sa_sigaction = on_interrupt;
        interrupt_signal = take_signal(&action);
        if (!interrupt_signal) {
            status = ig_fail(error, INGOT_UNSUPPORTED,
                             "no real-time signal is free for the time limit of kernels");
        }
        action.sa_sigaction = on_fault;
        for (size_t i = 0; i < FAULT_SIGNAL_COUNT && status == INGOT_OK; i++) {
            if (sigaction(fault_signals[i], &action, &previous[i]) != 0) {
                status = ig_fail(error, INGOT_UNSUPPORTED, "no handler for signal %d is possible",
                                 fault_signals[i]);
            }
        }
        installed = status == INGOT_OK;
    }
    pthread_mutex_unlock(&install_lock);
    return status;
}

__attribute__((constructor)) static void guard_install_lock(void) {
    static struct ig_fork_hook hook;
    ig_fork_guard_mutex(&hook, &install_lock);
}

/* ---- threads that run kernels ---- */

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool key_made;
static _Thread_local bool has_alternate_stack;

static void remove_alternate_stack(void *memory) {
    stack_t none = {.ss_flags = SS_DISABLE}, current;
    if (sigaltstack(NULL, &current) == 0 && current.ss_sp == memory) {
        sigaltstack(&none, NULL);
    }
    munmap(memory, ALTERNATE_STACK_BYTES);
}

static void make_key(void) {
    key_made = pthread_key_create(&key, remove_alternate_stack) == 0;
}

/* Once per thread, unless the thread has its own. Without one, faults are still caught
 * except for an overflow of the kernel's stack. */
static void add_alternate_stack(void) {
    if (has_alternate_stack) {
        return;
    }
    has_alternate_stack = true;
    stack_t current;
    if (sigaltstack(NULL, &current) != 0 || !(current.ss_flags & SS_DISABLE)) {
        return;
    }
    pthread_once(&key_once, make_key);
    if (!key_made) {
        return;
    }
    void *memory = mmap(NULL, ALTERNATE_STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return;
    }
    stack_t own = {.ss_sp = memory, .ss_size = ALTERNATE_STACK_BYTES};
    if (pthread_setspecific(key, memory) != 0 || sigaltstack(&own, NULL) != 0) {
        pthread_setspecific(key, NULL);
        munmap(memory, ALTERNATE_STACK_BYTES);
    }
}

bool cpu_thread_uses(const struct cpu_executor *executor) {
    return self == executor;
}

bool cpu_thread_can_enter(void) {
    return self == NULL;
}

void cpu_thread_enter(struct cpu_executor *executor) {
    sigset_t needed, before;
    needed_signals(&needed);
    pthread_sigmask(SIG_UNBLOCK, &needed, &before);
    executor->saved_mask = before;
    add_alternate_stack();
    ig_fiber_adopt_thread(&executor->main);
    executor->in_kernel = 0;
    self = executor;
    atomic_store(&executor->interrupted, false);
    atomic_store(&executor->thread, ig_thread_number());
}

void cpu_thread_leave(struct cpu_executor *executor) {
    atomic_store(&executor->thread, 0);
    self = NULL;
    bool changed = sigismember(&executor->saved_mask, interrupt_signal) == 1;
    for (size_t i = 0; i < FAULT_SIGNAL_COUNT; i++) {
        changed = changed || sigismember(&executor->saved_mask, fault_signals[i]) == 1;
    }
    if (changed) {
        pthread_sigmask(SIG_SETMASK, &executor->saved_mask, NULL);
    }
}

void cpu_interrupt(struct cpu_executor *executor) {
    pid_t thread = atomic_load(&executor->thread);
    /* One at a time: real-time signals queue up while a thread does not run. */
    if (thread && !atomic_exchange(&executor->interrupted, true)) {
        syscall(SYS_tgkill, getpid(), thread, interrupt_signal);
    }
}
