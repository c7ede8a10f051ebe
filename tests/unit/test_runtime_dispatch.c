/* Running kernels on the CPU device: grids, partial groups, barriers, streams, copies, faults,
 * time limits. The kernels are C text, see runtime_support.h. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "runtime_support.h"

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif

static const struct ig_argument one_buffer[] = {BUFFER_ARGUMENT("out", "uint", 0, 4)};
static const struct ig_argument buffer_and_value[] = {BUFFER_ARGUMENT("out", "uint", 0, 4),
                                                      REFERENCE_ARGUMENT("value", "uint", 1, 4)};
static const struct ig_argument reduce_arguments[] = {BUFFER_ARGUMENT("out", "uint", 0, 4),
                                                      THREADGROUP_ARGUMENT("shared", "uint", 0, 4)};

#define MARK_LANES                                                                                 \
    "static void run(G *g, uint32_t s, uint32_t mask) {\n"                                         \
    "  uint32_t *out = g->buffers[0], value = *(uint32_t *)g->buffers[1];\n"                       \
    "  LANES(mask) { uint32_t i = (gid_z(g, s, lane) * g->threads_per_grid[1] +\n"                 \
    "    gid_y(g, s, lane)) * g->threads_per_grid[0] + gid_x(g, s, lane);\n"                       \
    "    out[i] += i + value; } }\n"
#define MARK_ROW                                                                                   \
    "static void row(G *g, uint32_t first, uint32_t end) {\n"                                      \
    "  uint32_t *out = g->buffers[0], value = *(uint32_t *)g->buffers[1];\n"                       \
    "  for (uint32_t x = first; x < end; x++) {\n"                                                 \
    "    uint32_t i = (g->row[1] * g->threads_per_grid[1] + g->row[0]) *\n"                        \
    "      g->threads_per_grid[0] + x;\n"                                                          \
    "    out[i] += i + value; } }\n"

static const struct test_kernel kernels[] = {
    {.name = "mark", /* out[z][y][x] = id + value, for every thread of the grid */
     .arguments = buffer_and_value,
     .argument_count = 2,
     .code = MARK_LANES "KERNEL(0, 0, run)\n"},
    {.name = "mark_rows", /* the same by rows of the grid */
     .arguments = buffer_and_value,
     .argument_count = 2,
     .code = MARK_ROW
     "const struct ingot_cpu_kernel ingot_kernel = {INGOT_CPU_ABI_VERSION, 0, 0, 4096,\n"
     "  {0}, {0}, row};\n"},
    {.name = "mark_either", /* the same both ways */
     .arguments = buffer_and_value,
     .argument_count = 2,
     .code = MARK_LANES
     "static void all(G *g) {\n"
     "  for (uint32_t s = 0; s < g->simdgroup_count; s++) {\n"
     "    uint32_t left = g->thread_count - s * 32;\n"
     "    run(g, s, left >= 32 ? 0xffffffffu : (1u << left) - 1); } }\n" MARK_ROW
     "const struct ingot_cpu_kernel ingot_kernel = {INGOT_CPU_ABI_VERSION, 0, 0, 4096,\n"
     "  {0, 0, run}, {0, 0, all}, row};\n"},
    {.name = "reduce", /* out[group] = sum of thread numbers, through two barriers */
     .arguments = reduce_arguments,
     .argument_count = 2,
     .static_bytes = 32,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  uint32_t *shared = (uint32_t *)(g->threadgroup_memory +\n"
             "    g->threadgroup_offsets[0]), *out = g->buffers[0], sum = 0;\n"
             "  LANES(mask) sum += s * 32 + lane;\n"
             "  shared[s] = sum;\n"
             "  g->services->barrier(g, s, mask);\n"
             "  uint32_t total = 0;\n"
             "  for (uint32_t i = 0; i < g->simdgroup_count; i++) total += shared[i];\n"
             "  g->services->barrier(g, s, mask);\n"
             "  if (s == g->simdgroup_count - 1) out[g->group_position[0]] = total; }\n"
             "KERNEL(1, 32, run)\n"},
    {.name = "wild", /* writes 64 bytes past a page beyond its buffer */
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  if (g->group_position[0] == 3) *(volatile uint32_t *)((char *)g->buffers[0] +\n"
             "    65536 + 64) = 1; }\n"
             "KERNEL(0, 0, run)\n"},
    {.name = "nowhere", /* an address that x86 does not have, and does not name in the fault */
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  *(volatile uint32_t *)((char *)g->buffers[0] + (1ull << 60)) = 1; }\n"
             "KERNEL(0, 0, run)\n"},
    {.name = "endless",
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  for (volatile uint32_t *p = g->buffers[0];;) (void)*p; }\n"
             "KERNEL(0, 0, run)\n"},
    {.name = "endless_barriers",
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  for (;;) g->services->barrier(g, s, mask); }\n"
             "KERNEL(1, 0, run)\n"},
    {.name = "some_lanes", /* lanes 0 to 3 of SIMD-group 1 skip the barrier */
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  g->services->barrier(g, s, s == 1 ? mask & ~15u : mask); }\n"
             "KERNEL(1, 0, run)\n"},
    {.name = "some_groups", /* SIMD-group 2 ends early */
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  if (s != 2) g->services->barrier(g, s, mask); }\n"
             "KERNEL(1, 0, run)\n"},
    {.name = "trap",
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  g->services->trap(g, \"no such case\"); }\n"
             "KERNEL(0, 0, run)\n"},
    {.name = "hello",
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  double half = 0.5; uint64_t args[4] = {(uint64_t)-7, 0,\n"
             "    (uint64_t)(uintptr_t)\"text\", 255};\n"
             "  __builtin_memcpy(&args[1], &half, 8);\n"
             "  g->services->log(g, 2, \"%d|%.2f|%s|%08x|100%%\", 4, args); }\n"
             "KERNEL(0, 0, run)\n"},
    {.name = "divide",
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  volatile uint32_t *p = g->buffers[0]; volatile uint32_t zero = 0;\n"
             "#if defined(__x86_64__) /* other CPUs divide by 0 */\n"
             "  __asm__ volatile(\"xorl %%edx, %%edx\\n divl %1\" : : \"a\"(1), \"r\"(zero) : "
             "\"edx\");\n#endif\n }\n"
             "KERNEL(0, 0, run)\n"},
};
#define KERNEL_COUNT (sizeof kernels / sizeof kernels[0])

static ingot_device *device;
static ingot_library *library;
static ingot_stream *stream;

static ingot_kernel *get(const char *name) {
    ingot_kernel *kernel = NULL;
    ingot_kernel_desc desc = {.name = name};
    OK(ingot_kernel_create(library, &desc, &kernel));
    return kernel;
}

static bool check_marks(const uint32_t *out, uint32_t count, uint32_t value) {
    for (uint32_t i = 0; i < count; i++) {
        if (out[i] != i + value) {
            return false;
        }
    }
    return true;
}

static void test_grids(const char *name) {
    static const uint32_t cases[][6] = {
        {1, 1, 1, 1, 1, 1},    {1000, 1, 1, 64, 1, 1},  {1000, 1, 1, 256, 1, 1},
        {37, 1, 1, 100, 1, 1}, {33, 7, 1, 8, 4, 1},     {64, 64, 1, 32, 8, 1},
        {65, 33, 5, 16, 4, 2}, {7, 5, 3, 3, 3, 3},      {100000, 1, 1, 32, 1, 1},
        {3, 1, 200, 4, 1, 5},  {1, 1000, 1, 1, 128, 1}, {1024, 2, 1, 1024, 1, 1},
    };
    ingot_kernel *kernel = get(name);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint32_t *c = cases[i];
        uint32_t count = c[0] * c[1] * c[2], value = (uint32_t)i * 3;
        ingot_buffer *out = NULL;
        OK(ingot_buffer_create(device, count * 4, &out));
        ingot_arg args[] = {{.buffer = out}, {.bytes = &value, .size = 4}};
        ingot_dispatch_desc desc = {.kernel = kernel, .args = args, .arg_count = 2};
        memcpy(desc.threads, c, 12);
        memcpy(desc.group, c + 3, 12);
        OK(ingot_stream_dispatch(stream, &desc));
        OK(ingot_stream_wait(stream));
        CHECK(check_marks(ingot_buffer_contents(out), count, value));
        memset(desc.group, 0, 12); /* the default */
        memset(ingot_buffer_contents(out), 0, count * 4);
        OK(ingot_stream_dispatch(stream, &desc));
        OK(ingot_stream_wait(stream));
        CHECK(check_marks(ingot_buffer_contents(out), count, value));
        ingot_buffer_release(out);
    }
    ingot_kernel_release(kernel);
}

static void test_barriers(void) {
    ingot_kernel *kernel = get("reduce");
    ingot_buffer *out = NULL;
    OK(ingot_buffer_create(device, 4096 * 4, &out));
    static const uint32_t sizes[] = {32, 64, 100, 1000, 1024};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t n = sizes[i], length = 128;
        ingot_arg args[] = {{.buffer = out}};
        ingot_dispatch_desc desc = {.kernel = kernel,
                                    .threadgroups = {500},
                                    .group = {n},
                                    .args = args,
                                    .arg_count = 1,
                                    .threadgroup_lengths = &length,
                                    .threadgroup_length_count = 1};
        OK(ingot_stream_dispatch(stream, &desc));
        OK(ingot_stream_wait(stream));
        const uint32_t *sums = ingot_buffer_contents(out);
        bool right = true;
        for (uint32_t group = 0; group < 500; group++) {
            right = right && sums[group] == n * (n - 1) / 2;
        }
        CHECK(right);
    }
    ingot_buffer_release(out);
    ingot_kernel_release(kernel);
}

static ingot_status run_one(const char *name, uint32_t groups, uint32_t size, double limit) {
    ingot_kernel *kernel = get(name);
    ingot_buffer *out = NULL;
    OK(ingot_buffer_create(device, 65536, &out));
    ingot_arg args[] = {{.buffer = out}};
    ingot_dispatch_desc desc = {.kernel = kernel,
                                .threadgroups = {groups},
                                .group = {size},
                                .args = args,
                                .arg_count = 1,
                                .time_limit_seconds = limit};
    OK(ingot_stream_dispatch(stream, &desc));
    ingot_kernel_release(kernel);
    ingot_buffer_release(out);
    return ingot_stream_wait(stream);
}

static void test_failures(void) {
    for (int round = 0; round < 3; round++) {
        FAILS(run_one("wild", 8, 32, 0), INGOT_KERNEL_FAULT, "\"wild\"", "(3, 0, 0)", "SIGSEGV",
              "64 bytes past the end of argument 0 \"out\", a buffer of 65536 bytes");
        FAILS(run_one("some_lanes", 4, 96, 0), INGOT_BARRIER_ERROR, "\"some_lanes\"",
              "SIMD-group 1", "lanes 0-3 ");
        FAILS(run_one("some_groups", 4, 100, 0), INGOT_BARRIER_ERROR, "\"some_groups\"",
              "SIMD-groups 2 ended", "SIMD-groups 0-1, 3 wait");
        FAILS(run_one("trap", 1, 32, 0), INGOT_KERNEL_FAULT, "\"trap\"", "no such case");
#if defined(__x86_64__)
        FAILS(run_one("divide", 2, 32, 0), INGOT_KERNEL_FAULT, "\"divide\"", "SIGFPE");
        FAILS(run_one("nowhere", 1, 32, 0), INGOT_KERNEL_FAULT, "\"nowhere\"", "SIGSEGV",
              "an address that no memory can have");
#endif
        test_barriers(); /* all is well afterwards */
    }
}

static void test_time_limit(void) {
#if !defined(THREAD_SANITIZER) /* which holds signals back while no system call is made */
    FAILS(run_one("endless", 1, 32, 0.05), INGOT_TIMEOUT, "\"endless\"", "0.05 s");
    FAILS(run_one("endless", 64, 32, 0.05), INGOT_TIMEOUT, "\"endless\"", "0.05 s");
    FAILS(run_one("endless_barriers", 3, 256, 0.05), INGOT_TIMEOUT, "\"endless_barriers\"");
    usleep(150000); /* long enough for the watchdog to fall asleep */
    FAILS(run_one("endless", 1, 32, 0.02), INGOT_TIMEOUT, "\"endless\"", "0.02 s");
#endif
    test_barriers();
}

#if !defined(THREAD_SANITIZER) /* see test_time_limit */
static void queue_on(ingot_stream *queue, const char *name, uint32_t groups, ingot_buffer *out) {
    ingot_kernel *kernel = get(name);
    ingot_arg args[] = {{.buffer = out}};
    ingot_dispatch_desc desc = {.kernel = kernel,
                                .threadgroups = {groups},
                                .group = {32},
                                .args = args,
                                .arg_count = 1,
                                .time_limit_seconds = -1};
    OK(ingot_stream_dispatch(queue, &desc));
    ingot_kernel_release(kernel);
}

static void *cancel_soon(void *queue) {
    usleep(20000);
    return ingot_stream_cancel(queue) == INGOT_OK ? queue : NULL;
}

/* Cancels the stream while this thread waits for it. */
static ingot_status wait_and_cancel(ingot_stream *queue) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, cancel_soon, queue) == 0);
    ingot_status status = ingot_stream_wait(queue);
    void *result = NULL;
    pthread_join(thread, &result);
    CHECK(result == queue);
    return status;
}

/* A signal of the program's own, whose handler takes its time on a thread that is in a kernel. */
static atomic_int handlers_begun, handlers_ended;

static void take_time(int number) {
    (void)number;
    atomic_fetch_add(&handlers_begun, 1);
    usleep(60000); /* the kernel is cancelled meanwhile */
    atomic_fetch_add(&handlers_ended, 1);
}

static void *signal_and_cancel(void *waiter) {
    usleep(20000);
    const int before = atomic_load(&handlers_begun);
    bool right = pthread_kill(*(pthread_t *)waiter, SIGUSR2) == 0;
    for (int looks = 0; looks < 20000 && atomic_load(&handlers_begun) == before; looks++) {
        usleep(1000);
    }
    right &= ingot_stream_cancel(stream) == INGOT_OK;
    return right ? waiter : NULL;
}

/* The handler ends before the kernel does: who is interrupted twice does not leave the first one in
 * the middle, nor with its signal blocked. */
static void cancel_in_handler(ingot_buffer *out) {
    struct sigaction action = {.sa_handler = take_time, .sa_flags = SA_RESTART}, old;
    pthread_t waiter = pthread_self();
    sigset_t blocked;
    CHECK(sigaction(SIGUSR2, &action, &old) == 0);
    for (int round = 1; round <= 3; round++) {
        pthread_t thread;
        void *result = NULL;
        queue_on(stream, "endless", 64, out);
        CHECK(pthread_create(&thread, NULL, signal_and_cancel, &waiter) == 0);
        FAILS(ingot_stream_wait(stream), INGOT_CANCELLED, "\"endless\"", "stopped");
        CHECK(atomic_load(&handlers_ended) == atomic_load(&handlers_begun));
        pthread_sigmask(SIG_SETMASK, NULL, &blocked);
        CHECK(sigismember(&blocked, SIGUSR2) == 0);
        pthread_join(thread, &result);
        CHECK(result == &waiter);
    }
    sigaction(SIGUSR2, &old, NULL);
}

static void cancel_running(void) {
    ingot_buffer *out = NULL;
    ingot_stream *other = NULL;
    ingot_event *behind = NULL;
    OK(ingot_buffer_create(device, 65536, &out));
    OK(ingot_stream_create(device, &other));
    OK(ingot_event_create(device, &behind));
    static const uint32_t groups[] = {1, 64};
    for (int round = 0; round < 4; round++) {
        queue_on(stream, "endless", groups[round % 2], out);
        FAILS(wait_and_cancel(stream), INGOT_CANCELLED, "\"endless\"", "stopped");
        if (round == 1) {
            usleep(150000); /* long enough for the watchdog to fall asleep */
        }
    }
    queue_on(stream, "endless_barriers", 3, out);
    FAILS(wait_and_cancel(stream), INGOT_CANCELLED, "\"endless_barriers\"");
    cancel_in_handler(out);
    test_barriers();

    /* What waits for another stream's event: ended when it would begin. */
    queue_on(other, "endless", 1, out);
    OK(ingot_stream_record(other, behind));
    OK(ingot_stream_wait_event(stream, behind));
    queue_on(stream, "endless", 1, out);
    OK(ingot_stream_cancel(stream));
    FAILS(wait_and_cancel(other), INGOT_CANCELLED, "\"endless\"", "stopped");
    OK(ingot_event_wait(behind));
    FAILS(ingot_stream_wait(stream), INGOT_CANCELLED, "dropped", "before it began");
    ingot_event_release(behind);
    ingot_stream_release(other);
    ingot_buffer_release(out);
}
#else
static void cancel_running(void) {
    puts("skipped: kernels that are stopped while they run");
}
#endif

static void test_cancel(void) {
    FAILS(ingot_stream_cancel(NULL), INGOT_INVALID_ARGUMENT, "stream is NULL");
    OK(ingot_stream_cancel(stream)); /* without work: nothing happens */
    test_barriers();
    cancel_running();
    test_barriers();
}

/* After a failure later work is dropped, until the error was returned once. */
static void test_dropping(void) {
    ingot_kernel *trap = get("trap"), *mark = get("mark");
    ingot_buffer *out = NULL;
    uint32_t value = 5;
    OK(ingot_buffer_create(device, 64, &out));
    ingot_arg args[] = {{.buffer = out}, {.bytes = &value, .size = 4}};
    ingot_dispatch_desc bad = {.kernel = trap, .threads = {1}, .args = args, .arg_count = 1};
    ingot_dispatch_desc good = {.kernel = mark, .threads = {16}, .args = args, .arg_count = 2};
    OK(ingot_stream_dispatch(stream, &bad));
    OK(ingot_stream_dispatch(stream, &good));
    FAILS(ingot_stream_wait(stream), INGOT_KERNEL_FAULT, "trap");
    CHECK(((uint32_t *)ingot_buffer_contents(out))[3] == 0);
    OK(ingot_stream_wait(stream));
    OK(ingot_stream_dispatch(stream, &good));
    OK(ingot_stream_wait(stream));
    CHECK(check_marks(ingot_buffer_contents(out), 16, 5));
    ingot_buffer_release(out);
    ingot_kernel_release(trap);
    ingot_kernel_release(mark);
}

static void test_copies(void) {
    const uint64_t length = (uint64_t)5 << 20;
    ingot_buffer *a = NULL, *b = NULL;
    OK(ingot_buffer_create(device, length, &a));
    OK(ingot_buffer_create(device, length, &b));
    unsigned char *from = ingot_buffer_contents(a), *to = ingot_buffer_contents(b);
    for (uint64_t i = 0; i < length; i++) {
        from[i] = (unsigned char)(i * 7 + i / 256);
    }
    OK(ingot_stream_fill(stream, b, 0, length, 9));
    OK(ingot_stream_copy(stream, a, 100, b, 10, length - 200));
    OK(ingot_stream_wait(stream));
    CHECK(!memcmp(to + 10, from + 100, length - 200));
    CHECK(to[9] == 9 && to[length - 190] == 9 && to[length - 1] == 9);
    OK(ingot_stream_copy(stream, a, 0, a, 3, length - 3)); /* overlapping */
    OK(ingot_stream_wait(stream));
    bool right = true;
    for (uint64_t i = 0; i + 3 < length; i++) {
        right = right && from[i + 3] == (unsigned char)(i * 7 + i / 256);
    }
    CHECK(right);
    FAILS(ingot_stream_copy(stream, a, length - 4, b, 0, 5), INGOT_INVALID_ARGUMENT,
          "5 bytes at offset 5242876", "source", "5242880 bytes");
    FAILS(ingot_stream_fill(stream, a, length + 1, 0, 5), INGOT_INVALID_ARGUMENT, "buffer");
    ingot_buffer_release(a);
    ingot_buffer_release(b);
}

static void on_log(void *context, int level, const char *message) {
    snprintf(context, 64, "%d: %s", level, message);
}

static void test_log(void) {
    char message[64] = "";
    ingot_set_log_function(on_log, message);
    OK(run_one("hello", 1, 1, 0));
    CHECK(!strcmp(message, "2: -7|0.50|text|000000ff|100%"));
    ingot_set_log_function(NULL, NULL);
}

static void *wait_for_stream(void *queue) {
    return ingot_stream_wait(queue) == INGOT_OK ? queue : NULL;
}

/* Many dispatches in order on one buffer: each adds i + value once to every element. Other threads
 * wait for what is queued half-way and in the end. */
static void test_queue(const char *name, uint32_t threads, uint32_t rounds) {
    ingot_kernel *kernel = get(name);
    ingot_buffer *out = NULL;
    pthread_t waiters[2];
    OK(ingot_buffer_create(device, threads * 4, &out));
    for (uint32_t i = 0; i < rounds; i++) {
        ingot_arg args[] = {{.buffer = out}, {.bytes = &i, .size = 4}};
        ingot_dispatch_desc desc = {
            .kernel = kernel, .threads = {threads}, .group = {32}, .args = args, .arg_count = 2};
        if (ingot_stream_dispatch(stream, &desc) != INGOT_OK) {
            CHECK(!"dispatch");
        }
        if (i == rounds / 2 || i == rounds - 1) {
            CHECK(pthread_create(&waiters[i == rounds - 1], NULL, wait_for_stream, stream) == 0);
        }
    }
    OK(ingot_stream_wait(stream));
    const uint32_t *result = ingot_buffer_contents(out);
    bool right = true;
    for (uint32_t i = 0; i < threads; i++) {
        right &= result[i] == rounds * (rounds - 1) / 2 + i * rounds;
    }
    CHECK(right);
    for (int i = 0; i < 2; i++) {
        void *waited = NULL;
        pthread_join(waiters[i], &waited);
        CHECK(waited != NULL);
    }
    ingot_buffer_release(out);
    ingot_kernel_release(kernel);
}

/* Work proceeds though nobody waits for it, whether the workers spin, doze or sleep. Where they
 * share CPUs, short work wakes none, but who asks for an event does. */
static void test_unattended(uint32_t threads) {
    ingot_kernel *kernel = get("mark");
    ingot_buffer *out = NULL;
    ingot_event *event = NULL;
    OK(ingot_buffer_create(device, threads * 4, &out));
    OK(ingot_event_create(device, &event));
    uint32_t value = 0;
    ingot_arg args[] = {{.buffer = out}, {.bytes = &value, .size = 4}};
    ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {threads}, .args = args, .arg_count = 2};
    for (int round = 0; round < 30; round++) {
        usleep(round % 3 == 0 ? 0 : round % 3 == 1 ? 1000 : 12000);
        OK(ingot_stream_dispatch(stream, &desc));
        OK(ingot_stream_record(stream, event));
        int looks = 0;
        for (; looks < 50000 && !ingot_event_done(event); looks++) {
            usleep(100);
        }
        CHECK(looks < 50000);
    }
    OK(ingot_stream_wait(stream));
    ingot_event_release(event);
    ingot_buffer_release(out);
    ingot_kernel_release(kernel);
}

static void test_events(void) {
    ingot_stream *other = NULL;
    ingot_event *start = NULL, *end = NULL;
    ingot_buffer *out = NULL;
    ingot_kernel *kernel = get("mark");
    uint32_t value = 0;
    double seconds = -1;
    OK(ingot_stream_create(device, &other));
    OK(ingot_event_create(device, &start));
    OK(ingot_event_create(device, &end));
    OK(ingot_buffer_create(device, 400000, &out));
    CHECK(!ingot_event_done(start));
    FAILS(ingot_event_wait(start), INGOT_INVALID_ARGUMENT, "never recorded");
    FAILS(ingot_event_elapsed(start, end, &seconds), INGOT_INVALID_ARGUMENT, "start event");
    ingot_arg args[] = {{.buffer = out}, {.bytes = &value, .size = 4}};
    ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {100000}, .group = {64}, .args = args, .arg_count = 2};
    for (int round = 0; round < 50; round++) {
        OK(ingot_stream_record(stream, start));
        OK(ingot_stream_dispatch(stream, &desc));
        OK(ingot_stream_record(stream, end));
        OK(ingot_stream_wait_event(other, end));
        OK(ingot_stream_fill(other, out, 0, 400000, 0)); /* only after the dispatch */
        OK(ingot_stream_record(other, start));
        OK(ingot_stream_wait_event(stream, start)); /* and the next dispatch after it */
    }
    OK(ingot_stream_dispatch(stream, &desc));
    OK(ingot_stream_record(stream, end));
    OK(ingot_event_wait(end));
    CHECK(ingot_event_done(end));
    CHECK(check_marks(ingot_buffer_contents(out), 100000, 0));
    OK(ingot_stream_wait(other));
    OK(ingot_event_elapsed(start, end, &seconds));
    CHECK(seconds >= 0 && seconds < 10);
    ingot_event_release(start);
    ingot_event_release(end);
    ingot_stream_release(other);
    ingot_buffer_release(out);
    ingot_kernel_release(kernel);
}

static void *hammer(void *argument) {
    ingot_kernel *kernel = argument;
    ingot_stream *own = NULL;
    ingot_buffer *out = NULL;
    uint32_t value = 1;
    bool right = ingot_stream_create(device, &own) == INGOT_OK &&
                 ingot_buffer_create(device, 10000 * 4, &out) == INGOT_OK;
    ingot_arg args[] = {{.buffer = out}, {.bytes = &value, .size = 4}};
    ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {10000}, .group = {32}, .args = args, .arg_count = 2};
    for (int round = 0; right && round < 200; round++) {
        right = ingot_stream_fill(own, out, 0, 40000, 0) == INGOT_OK &&
                ingot_stream_dispatch(own, &desc) == INGOT_OK &&
                (round % 3 || ingot_stream_wait(own) == INGOT_OK);
    }
    right = right && ingot_stream_wait(own) == INGOT_OK &&
            check_marks(ingot_buffer_contents(out), 10000, 1);
    ingot_buffer_release(out);
    ingot_stream_release(own);
    return right ? argument : NULL;
}

static void test_threads(void) {
    pthread_t threads[6];
    ingot_kernel *kernel = get("mark");
    for (int i = 0; i < 6; i++) {
        CHECK(pthread_create(&threads[i], NULL, hammer, kernel) == 0);
    }
    for (int i = 0; i < 6; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        CHECK(result != NULL);
    }
    ingot_kernel_release(kernel);
}

static void note_release(void *context) {
    ++*(int *)context;
}

static void test_wrapping(void) {
    static uint32_t memory[64];
    memset(memory, 0, sizeof memory);
    int released = 0;
    uint32_t value = 4;
    ingot_buffer *out = NULL;
    ingot_kernel *kernel = get("mark");
    OK(ingot_buffer_wrap(device, memory, sizeof memory, note_release, &released, &out));
    CHECK(ingot_buffer_contents(out) == memory && ingot_buffer_length(out) == sizeof memory);
    CHECK(ingot_buffer_address(out) == (uintptr_t)memory);
    ingot_arg args[] = {{.buffer = out}, {.bytes = &value, .size = 4}};
    ingot_dispatch_desc desc = {.kernel = kernel, .threads = {64}, .args = args, .arg_count = 2};
    OK(ingot_stream_dispatch(stream, &desc));
    ingot_buffer_release(out);
    OK(ingot_stream_wait(stream));
    CHECK(released == 1);
    CHECK(check_marks(memory, 64, 4));
    ingot_kernel_release(kernel);
}

static void test_everything(uint32_t workers, bool shares_cpus) {
    ingot_device_desc desc = {.worker_threads = workers, .shares_cpus = shares_cpus};
    ingot_device_info info;
    OK(ingot_device_open("cpu", &desc, &device));
    OK(ingot_device_get_info(device, &info));
    CHECK(!workers || info.compute_units == workers);
    CHECK(info.threads_per_compute_unit == 1024);
    void *bytes = NULL;
    size_t size = 0;
    CHECK(test_archive(info.target, kernels, KERNEL_COUNT, NULL, 0, &bytes, &size));
    OK(ingot_library_create_from_memory(device, bytes, size, &library));
    free(bytes);
    CHECK(ingot_library_kernel_count(library) == KERNEL_COUNT);
    OK(ingot_stream_create(device, &stream));
    test_grids("mark");
    test_grids("mark_rows");
    test_grids("mark_either");
    test_barriers();
    test_failures();
    test_time_limit();
    test_cancel();
    test_dropping();
    test_copies();
    test_log();
    test_queue("mark", 32, 5000);
    test_queue("mark", 3000, 500);        /* short, but worth sharing where many are queued */
    test_queue("mark_rows", 8000, 2000);  /* the same by rows */
    test_queue("mark_rows", 2000000, 12); /* long: every other one backwards */
    test_unattended(32);
    test_unattended(65536);
    test_events();
    test_threads();
    test_wrapping();
    ingot_stream_release(stream);
    ingot_library_release(library);
    ingot_device_release(device);
}

int main(void) {
    test_everything(1, false);
    test_everything(4, false);
    test_everything(0, false);
    test_everything(2, true);
    return check_report();
}
