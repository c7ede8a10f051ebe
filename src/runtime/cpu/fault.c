/*
 * Signals: faults inside kernels, and the watchdog's interruption.
 *
 * Handlers are installed once per process. A handler acts only when the thread is inside a
 * kernel: it notes what happened and switches back to the thread's own stack. Otherwise the
 * handler that was there before gets the signal. Handlers unblock what they may need again
 * before they leave without returning. Handlers of other signals that came while a kernel ran are
 * let end first.
 *
 * Others may install theirs later (Python's faulthandler). Ours is then put in front again, and
 * theirs gets what is not a kernel's. Theirs believes that it is in front and ours behind it: so
 * while it runs, it is. If it then gives the signal back to ours, it is through with it, and the
 * one before it gets the next.
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

#define MOST_OTHERS        8

/* Who gets what is not a kernel's, by signal: the one that was there before ours, and those that
 * came later, the last of them first. */
struct others {
    struct sigaction actions[MOST_OTHERS];
    atomic_uint count;
    atomic_bool lent; /* the last one is in front for now */
};
static struct others others[FAULT_SIGNAL_COUNT];
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

static void on_fault(int number, siginfo_t *info, void *context);

static bool is_ours(const struct sigaction *action) {
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_fault;
}

static bool same(const struct sigaction *a, const struct sigaction *b) {
    if ((a->sa_flags & SA_SIGINFO) != (b->sa_flags & SA_SIGINFO)) {
        return false;
    }
    return a->sa_flags & SA_SIGINFO ? a->sa_sigaction == b->sa_sigaction
                                    : a->sa_handler == b->sa_handler;
}

static void install(int number, struct sigaction *before) {
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    action.sa_sigaction = on_fault;
    sigaction(number, &action, before);
}

static void call(const struct sigaction *action, int number, siginfo_t *info, void *context) {
    if (action->sa_flags & SA_SIGINFO) {
        action->sa_sigaction(number, info, context);
    } else if (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN) {
        /* The fault happens again when the handler returns, and then ends the process. */
        signal(number, SIG_DFL);
        if (info->si_code <= 0) {
            raise(number);
        }
    } else {
        action->sa_handler(number);
    }
}

static void chain(int number, siginfo_t *info, void *context) {
    size_t i = 0;
    while (fault_signals[i] != number) {
        i++;
    }
    struct others *list = &others[i];
    unsigned count = atomic_load(&list->count);
    if (count > 1 && atomic_load(&list->lent)) { /* it gave the signal back to us */
        atomic_store(&list->count, --count);
        atomic_store(&list->lent, false);
    }
    if (!count) {
        return;
    }
    struct sigaction last = list->actions[count - 1], now;
    if (count == 1) {
        call(&last, number, info, context);
        return;
    }
    atomic_store(&list->lent, true);
    sigaction(number, &last, NULL);
    call(&last, number, info, context);
    if (!atomic_exchange(&list->lent, false)) {
        return; /* ours was called meanwhile */
    }
    if (sigaction(number, NULL, &now) == 0 && is_ours(&now)) {
        atomic_store(&list->count, count - 1);
    } else {
        install(number, NULL);
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

/* Did the signal arrive in the handler of another one, which began while the kernel ran? Such a
 * handler blocks its own signal. */
static bool is_within_handler(const struct cpu_executor *executor, const ucontext_t *context) {
    sigset_t needed;
    needed_signals(&needed);
    for (int number = 1; number < NSIG; number++) {
        const bool was_blocked =
            sigismember(&executor->saved_mask, number) == 1 && sigismember(&needed, number) != 1;
        if (!was_blocked && sigismember(&context->uc_sigmask, number) == 1) {
            return true;
        }
    }
    return false;
}

static void on_interrupt(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    struct cpu_executor *executor = self;
    if (!executor) {
        return;
    }
    atomic_store_explicit(&executor->interrupted, false, memory_order_relaxed);
    if (executor->in_kernel && is_within_handler(executor, context)) {
        return; /* a handler goes on to its end; the watchdog comes again */
    }
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
        for (size_t i = 0; i < FAULT_SIGNAL_COUNT && status == INGOT_OK; i++) {
            install(fault_signals[i], &others[i].actions[0]);
            atomic_store(&others[i].count, 1);
        }
        installed = status == INGOT_OK;
    }
    pthread_mutex_unlock(&install_lock);
    return status;
}

/* Lock held. One that is in front of ours goes behind it. */
static void take_back(size_t i) {
    struct sigaction now;
    struct others *list = &others[i];
    if (sigaction(fault_signals[i], NULL, &now) != 0 || is_ours(&now)) {
        return;
    }
    unsigned count = atomic_load(&list->count);
    /* One that has the signal lent left by a jump, or is at work: then it may be called once more.
     */
    if (!atomic_exchange(&list->lent, false) || !same(&now, &list->actions[count - 1])) {
        count -= count == MOST_OTHERS;
        list->actions[count] = now;
        atomic_store(&list->count, count + 1);
    }
    install(fault_signals[i], NULL);
}

void cpu_signals_take_back(void) {
    if (pthread_mutex_trylock(&install_lock) != 0) {
        return; /* another thread does it */
    }
    for (size_t i = 0; i < FAULT_SIGNAL_COUNT && installed; i++) {
        take_back(i);
    }
    pthread_mutex_unlock(&install_lock);
}

/* The system's clock, which goes on in ticks of 1 to 10 ms. */
static uint64_t current_tick(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void cpu_signals_keep(bool is_own) {
    static _Atomic uint64_t looked;
    struct sigaction current;
    uint64_t tick = current_tick();
    bool taken = !is_own && sigaction(SIGSEGV, NULL, &current) == 0 && !is_ours(&current);
    if (taken || atomic_load_explicit(&looked, memory_order_relaxed) != tick) {
        atomic_store_explicit(&looked, tick, memory_order_relaxed);
        cpu_signals_take_back();
    }
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
    executor->unblocked = executor->was_blocked = false;
    add_alternate_stack();
    ig_fiber_adopt_thread(&executor->main);
    executor->in_kernel = 0;
    self = executor;
    atomic_store(&executor->interrupted, false);
    atomic_store(&executor->thread, ig_thread_number());
}

void cpu_thread_unblock(struct cpu_executor *executor, bool is_own) {
    /* when nothing was found blocked; initial-exec as `self` */
    static _Thread_local uint64_t unblocked __attribute__((tls_model("initial-exec")));
    if (executor->unblocked) {
        return;
    }
    uint64_t tick = current_tick();
    if (is_own && tick == unblocked) {
        return;
    }
    sigset_t needed;
    needed_signals(&needed);
    pthread_sigmask(SIG_UNBLOCK, &needed, &executor->saved_mask);
    bool was_blocked = sigismember(&executor->saved_mask, interrupt_signal) == 1;
    for (size_t i = 0; i < FAULT_SIGNAL_COUNT; i++) {
        was_blocked = was_blocked || sigismember(&executor->saved_mask, fault_signals[i]) == 1;
    }
    executor->unblocked = true;
    executor->was_blocked = was_blocked;
    unblocked = was_blocked ? 0 : tick;
}

void cpu_thread_leave(struct cpu_executor *executor) {
    atomic_store(&executor->thread, 0);
    self = NULL;
    if (executor->was_blocked) {
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
