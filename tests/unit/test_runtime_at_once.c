/* Short launches of the operation library on a device that shares its CPUs: they run in the thread
 * that encodes them, and what can go wrong is caught there as elsewhere. The kernels are C text,
 * see runtime_support.h. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cpu/cpu.h"
#include "runtime_support.h"

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif

enum { ADD, FAULT, SPIN }; /* what the kernel does, by word 1 of its buffer */

static const struct ig_argument one_buffer[] = {BUFFER_ARGUMENT("words", "uint", 0, 4)};
static const struct test_kernel kernels[] = {
    {.name = "does",
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  volatile uint32_t *words = (volatile uint32_t *)g->buffers[0];\n"
             "  if (words[1] == 1) *(volatile uint32_t *)((char *)words + (1ull << 60)) = 1;\n"
             "  while (words[1] == 2) words[2] = 1;\n"
             "  words[0]++; }\n"
             "KERNEL(0, 0, run)\n"},
};

static ingot_device *device;
static ingot_stream *stream;
static ingot_buffer *words_buffer;
static ingot_kernel *does;
static volatile uint32_t *words;

static ingot_status launch(bool is_own, double limit) {
    ingot_arg args[] = {{.buffer = words_buffer}};
    ingot_dispatch_desc desc = {.kernel = does,
                                .threads = {32},
                                .group = {32},
                                .args = args,
                                .arg_count = 1,
                                .time_limit_seconds = limit};
    /* what it costs is measured, and others may be in the way of that */
    atomic_store(&((struct cpu_code *)does->loaded)->cost, 1600);
    return is_own ? ig_stream_dispatch_own(stream, &desc, 32768)
                  : ingot_stream_dispatch(stream, &desc);
}

/* The first launch has to be queued, since no command is left from before. */
static bool runs_at_once(void) {
    bool done = false;
    words[1] = ADD;
    for (int i = 0; i < 2; i++) {
        uint32_t before = words[0];
        OK(launch(true, 0));
        done = words[0] == before + 1;
        OK(ingot_stream_wait(stream));
        CHECK(words[0] == before + 1);
    }
    return done;
}

static ingot_status fault(bool is_own) {
    words[1] = FAULT;
    ingot_status status = launch(is_own, 0);
    status = status ? status : ingot_stream_wait(stream);
    words[1] = ADD;
    return status;
}

static void test_faults(void) {
    for (int i = 0; i < 3; i++) {
        CHECK(runs_at_once());
        words[1] = FAULT;
        OK(launch(true, 0)); /* it has faulted, and who waits is told */
        words[1] = ADD;
        uint32_t before = words[0];
        OK(launch(true, 0)); /* dropped */
        CHECK(words[0] == before);
        FAILS(ingot_stream_wait(stream), INGOT_KERNEL_FAULT, "\"does\"", "SIGSEGV");
    }
}

/* ---- signals: others change what a launch finds ---- */

static volatile sig_atomic_t others_calls;

static void on_other(int number) {
    (void)number;
    others_calls++;
    _exit(3);
}

static void next_tick(void) {
    nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
}

static bool is_blocked(void) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    return sigismember(&mask, SIGSEGV) == 1;
}

static void test_signals(void) {
    struct sigaction action = {.sa_handler = on_other, .sa_flags = SA_ONSTACK};
    sigset_t fault_signal, before;
    sigemptyset(&fault_signal);
    sigaddset(&fault_signal, SIGSEGV);
    sigemptyset(&action.sa_mask);
    for (int own = 0; own < 2; own++) { /* own launches look once in a tick, others each time */
        for (int i = 0; i < 3; i++) {
            CHECK(runs_at_once());
            pthread_sigmask(SIG_BLOCK, &fault_signal, &before);
            if (own) {
                next_tick();
            }
            FAILS(fault(own), INGOT_KERNEL_FAULT, "\"does\"", "SIGSEGV");
            CHECK(is_blocked());
            pthread_sigmask(SIG_SETMASK, &before, NULL);
            CHECK(runs_at_once());
            CHECK(!is_blocked());
            sigaction(SIGSEGV, &action, NULL);
            if (own) {
                next_tick();
            }
            FAILS(fault(own), INGOT_KERNEL_FAULT, "\"does\"", "SIGSEGV");
        }
    }
    CHECK(others_calls == 0);
}

/* ---- time ---- */

#ifndef THREAD_SANITIZER /* keeps asynchronous signals for itself */
static void *cancel_soon(void *unused) {
    next_tick();
    ingot_stream_cancel(stream);
    return unused;
}

static void test_time(void) {
    CHECK(runs_at_once());
    words[1] = SPIN;
    OK(launch(true, 0.05));
    FAILS(ingot_stream_wait(stream), INGOT_TIMEOUT, "\"does\"");
    words[1] = ADD;
    CHECK(runs_at_once());
    pthread_t thread;
    words[1] = SPIN;
    CHECK(pthread_create(&thread, NULL, cancel_soon, NULL) == 0);
    OK(launch(true, 0));
    FAILS(ingot_stream_wait(stream), INGOT_CANCELLED, "\"does\"");
    pthread_join(thread, NULL);
    words[1] = ADD;
}
#else
static void test_time(void) {
    puts("skipped: kernels that are stopped while they run");
}
#endif

/* ---- several threads on one stream ---- */

enum { THREADS = 3, LAUNCHES = 3000 };

static void *launch_many(void *context) {
    const uintptr_t number = (uintptr_t)context;
    uintptr_t failed = 0;
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        failed += launch(i % 5 != number, 0) != INGOT_OK; /* now and then one that is queued */
        failed += i % 3 == number && ingot_stream_wait(stream) != INGOT_OK;
    }
    return (void *)failed;
}

static void test_threads(void) {
    pthread_t threads[THREADS];
    CHECK(runs_at_once());
    uint32_t before = words[0];
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, launch_many, (void *)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        CHECK(!failed);
    }
    OK(ingot_stream_wait(stream));
    CHECK(words[0] == before + THREADS * LAUNCHES);
}

int main(void) {
    ingot_device_info info;
    ingot_library *library = NULL;
    void *bytes = NULL;
    size_t size = 0;
    const ingot_device_desc desc = {.worker_threads = 2, .shares_cpus = true};
    OK(ingot_device_open("cpu", &desc, &device));
    OK(ingot_device_get_info(device, &info));
    CHECK(test_archive(info.target, kernels, 1, NULL, 0, &bytes, &size));
    OK(ingot_library_create_from_memory(device, bytes, size, &library));
    free(bytes);
    OK(ingot_kernel_create(library, &(ingot_kernel_desc){.name = "does"}, &does));
    OK(ingot_stream_create(device, &stream));
    OK(ingot_buffer_create(device, 4096, &words_buffer));
    words = ingot_buffer_contents(words_buffer);
    test_faults();
    test_signals();
    test_time();
    test_threads();
    ingot_kernel_release(does);
    ingot_buffer_release(words_buffer);
    ingot_stream_release(stream);
    ingot_library_release(library);
    ingot_device_release(device);
    return check_report();
}
