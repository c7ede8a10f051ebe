/* A forked child goes on with the device, streams, kernels and events of its parent, whatever
 * other threads were doing at the fork. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime_support.h"

#define COUNT   4096u
#define FORKS   30
#define SECONDS 20 /* a child that takes longer hangs */

static const struct ig_argument arguments[] = {BUFFER_ARGUMENT("out", "uint", 0, 4),
                                               REFERENCE_ARGUMENT("value", "uint", 1, 4)};

static const struct test_kernel kernels[] = {
    {.name = "add",
     .arguments = arguments,
     .argument_count = 2,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  uint32_t *out = g->buffers[0], value = *(uint32_t *)g->buffers[1];\n"
             "  LANES(mask) out[gid_x(g, s, lane)] += value; }\n"
             "KERNEL(0, 0, run)\n"},
};

static ingot_device *device;
static ingot_kernel *kernel;
static atomic_bool stop;

static ingot_status add(ingot_stream *stream, ingot_buffer *buffer, uint32_t value) {
    const ingot_arg args[] = {{.buffer = buffer}, {.bytes = &value, .size = sizeof value}};
    const ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {COUNT}, .group = {64}, .args = args, .arg_count = 2};
    return ingot_stream_dispatch(stream, &desc);
}

/* Keeps streams, events and workers busy while the main thread forks. */
static void *keep_busy(void *nothing) {
    (void)nothing;
    ingot_stream *stream = NULL;
    ingot_buffer *buffer = NULL;
    ingot_event *event = NULL;
    OK(ingot_stream_create(device, &stream));
    OK(ingot_buffer_create(device, COUNT * 4, &buffer));
    OK(ingot_event_create(device, &event));
    while (!atomic_load(&stop)) {
        for (int i = 0; i < 20; i++) {
            OK(add(stream, buffer, 1));
        }
        OK(ingot_stream_record(stream, event));
        OK(ingot_event_wait(event));
        OK(ingot_stream_wait(stream));
    }
    ingot_event_release(event);
    ingot_buffer_release(buffer);
    ingot_stream_release(stream);
    return NULL;
}

/* In the child: old and new streams work, and an event that the parent recorded is done. */
static bool child_works(ingot_stream *stream, ingot_event *event) {
    ingot_buffer *buffer = NULL;
    ingot_stream *fresh = NULL;
    if (ingot_buffer_create(device, COUNT * 4, &buffer) || ingot_stream_create(device, &fresh)) {
        return false;
    }
    if (ingot_event_wait(event)) {
        return false;
    }
    for (int i = 0; i < 10; i++) {
        if (add(stream, buffer, 2) || ingot_stream_record(stream, event) ||
            ingot_stream_wait_event(fresh, event) || add(fresh, buffer, 3) ||
            ingot_stream_wait(fresh)) {
            return false;
        }
    }
    if (ingot_stream_wait(stream)) {
        return false;
    }
    const uint32_t *values = ingot_buffer_contents(buffer);
    for (uint32_t i = 0; i < COUNT; i++) {
        if (values[i] != 50) {
            return false;
        }
    }
    ingot_stream_release(fresh);
    ingot_buffer_release(buffer);
    return true;
}

/* The exit status of the child, or -1 when it had to be killed. */
static int wait_for(pid_t child) {
    for (int i = 0; i < SECONDS * 200; i++) {
        int status;
        if (waitpid(child, &status, WNOHANG) == child) {
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        }
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return -1;
}

static void test_forks(void) {
    ingot_stream *stream = NULL;
    ingot_buffer *buffer = NULL;
    ingot_event *event = NULL;
    OK(ingot_stream_create(device, &stream));
    OK(ingot_buffer_create(device, COUNT * 4, &buffer));
    OK(ingot_event_create(device, &event));
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&threads[i], NULL, keep_busy, NULL) == 0);
    }
    for (int i = 0; i < FORKS; i++) {
        for (int k = 0; k < 5; k++) {
            OK(add(stream, buffer, 1)); /* queued at the fork: the parent's */
        }
        OK(ingot_stream_record(stream, event));
        pid_t child = fork();
        if (child == 0) {
            bool good = child_works(stream, event);
            /* A child of the child, before and after its own work. */
            pid_t grandchild = good ? fork() : 0;
            if (good && grandchild == 0) {
                _exit(child_works(stream, event) ? 0 : 1);
            }
            _exit(good && wait_for(grandchild) == 0 ? 0 : 1);
        }
        CHECK(child > 0 && wait_for(child) == 0);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    OK(ingot_stream_wait(stream));
    const uint32_t *values = ingot_buffer_contents(buffer);
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK(values[i] == 5 * FORKS);
    }
    ingot_event_release(event);
    ingot_buffer_release(buffer);
    ingot_stream_release(stream);
}

/* Why the sanitizer of this build cannot run the test, or NULL. */
static const char *sanitizer_objection(void) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
    return "ThreadSanitizer does not support threads after a fork of many threads";
#elif defined(__SANITIZE_ADDRESS__) /* gcc's; clang's locks its allocator from LLVM 18 on */
    return "AddressSanitizer's allocator does not take its own locks at a fork, and a child of "
           "many threads may inherit one that is held";
#else
    return NULL;
#endif
}

int main(void) {
    if (sanitizer_objection()) {
        printf("skipped: %s\n", sanitizer_objection());
        return 0;
    }
    void *bytes = NULL;
    size_t size = 0;
    ingot_library *library = NULL;
    ingot_device_info info;
    const ingot_device_desc desc = {.worker_threads = 3};
    OK(ingot_device_open("cpu", &desc, &device));
    OK(ingot_device_get_info(device, &info));
    CHECK(test_archive(info.target, kernels, 1, NULL, 0, &bytes, &size));
    OK(ingot_library_create_from_memory(device, bytes, size, &library));
    const ingot_kernel_desc kernel_desc = {.name = "add"};
    OK(ingot_kernel_create(library, &kernel_desc, &kernel));
    test_forks();
    ingot_kernel_release(kernel);
    ingot_library_release(library);
    ingot_device_release(device);
    free(bytes);
    return check_report();
}
