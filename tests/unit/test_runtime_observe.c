/* Profiles of programs with threads, workers and children: what they counted adds up, and each
 * process has a file of its own. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/profile.h"
#include "check.h"
#include "ingot/ingot.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif

enum { THREADS = 1 << 16, LAUNCHES = 6, HOSTS = 3 };

static const char source[] = "#include <metal_stdlib>\n"
                             "using namespace metal;\n"
                             "kernel void twice(device float *x [[buffer(0)]],\n"
                             "                  uint i [[thread_position_in_grid]]) {\n"
                             "    x[i] = x[i] + x[i];\n"
                             "}\n";

static ingot_device *device;
static ingot_kernel *kernel;

/* A stream of its own; also a copy, and an upload. Returns NULL when all was well. */
static void *launch(void *unused) {
    ingot_stream *stream = NULL;
    ingot_buffer *x = NULL;
    const float one = 1;
    (void)unused;
    bool good = !ingot_stream_create(device, &stream) &&
                !ingot_buffer_create(device, 4 * THREADS, &x) &&
                !ingot_stream_upload(stream, x, 0, &one, sizeof one) &&
                !ingot_stream_copy(stream, x, 0, x, 4, 4);
    const ingot_arg args[] = {{.buffer = x}};
    const ingot_dispatch_desc dispatch = {
        .kernel = kernel, .threads = {THREADS}, .group = {256}, .args = args, .arg_count = 1};
    for (int i = 0; i < LAUNCHES && good; i++) {
        good = !ingot_stream_dispatch(stream, &dispatch);
    }
    good = good && !ingot_stream_wait(stream);
    const float *result = good ? ingot_buffer_contents(x) : NULL;
    good = good && result[0] == 1 << LAUNCHES && result[1] == 1 << LAUNCHES && result[2] == 0;
    ingot_buffer_release(x);
    ingot_stream_release(stream);
    return good ? NULL : &device;
}

static void open_device(void) {
    const ingot_device_desc desc = {.worker_threads = 3};
    const ingot_source_desc text = {.source = source, .name = "twice.metal"};
    const ingot_kernel_desc name = {.name = "twice"};
    ingot_library *library = NULL;
    CHECK(!ingot_device_open("cpu", &desc, &device));
    CHECK(!ingot_library_create_from_source(device, &text, &library));
    CHECK(!ingot_kernel_create(library, &name, &kernel));
    ingot_library_release(library);
}

static void close_device(void) {
    ingot_kernel_release(kernel);
    ingot_device_release(device);
}

static bool read_profile(const char *folder, long process, struct ig_profile *profile) {
    char path[4200], *bytes = NULL;
    size_t size = 0;
    struct ig_error error = {0};
    snprintf(path, sizeof path, "%s/%ld.profile", folder, process);
    bool good = !ig_file_read(path, 0, &bytes, &size, &error) &&
                !ig_profile_read(profile, bytes, size, &error);
    if (!good) {
        fprintf(stderr, "%s: %s\n", path, ig_error_text(&error));
    }
    ig_error_clear(&error);
    free(bytes);
    return good;
}

/* What so many calls of launch() did. */
static void check_profile(const struct ig_profile *profile, uint64_t hosts) {
    const uint64_t launches = hosts * LAUNCHES, groups = launches * THREADS / 32;
    CHECK(profile->kernel_count == 1);
    if (profile->kernel_count != 1) {
        return;
    }
    const struct ig_profile_kernel *found = &profile->kernels[0];
    CHECK(found->launches == launches && found->counted == launches);
    CHECK(found->threads == launches * THREADS && found->counted_threads == launches * THREADS);
    CHECK(found->bytes_read == launches * THREADS * 4);
    CHECK(found->bytes_written == launches * THREADS * 4);
    CHECK(found->least_ns > 0 && found->least_ns <= found->median_ns);
    CHECK(found->median_ns <= found->most_ns && found->most_ns <= found->total_ns);
    CHECK(profile->moves[IG_MOVE_COPY].count == hosts &&
          profile->moves[IG_MOVE_COPY].bytes == 4 * hosts);
    CHECK(profile->moves[IG_MOVE_UPLOAD].count == hosts);
    const uint64_t *counts = NULL;
    for (size_t i = 0; i < found->line_count; i++) {
        counts = found->lines[i].line == 5 ? found->lines[i].counts : counts;
    }
    CHECK(counts && counts[IG_COUNTER_executed] == groups);
    CHECK(counts && counts[IG_COUNTER_lanes] == groups * 32);
    CHECK(counts && counts[IG_COUNTER_flops] == launches * THREADS);
    CHECK(counts && counts[IG_COUNTER_device_accesses] == 2 * groups);
    CHECK(counts && counts[IG_COUNTER_device_lines] == 2 * groups);
}

/* A forked child that launches too; its number. */
static pid_t run_in_child(void) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    printf("left out: the child (sanitizers have no threads, or locks, in forked children)\n");
    return 0;
#else
    pid_t child = fork();
    if (child == 0) {
        bool failed = launch(NULL);
        close_device();
        _exit(failed);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    return child;
#endif
}

int main(void) {
    char *folder = NULL;
    struct ig_error error = {0};
    CHECK(!ig_folder_temporary(&folder, &error));
    setenv("INGOT_PROFILE", folder, 1);
    setenv("INGOT_PROFILE_COUNT", "1", 1);
    open_device();
    pthread_t hosts[HOSTS];
    for (int i = 0; i < HOSTS; i++) {
        CHECK(!pthread_create(&hosts[i], NULL, launch, NULL));
    }
    for (int i = 0; i < HOSTS; i++) {
        void *failed = NULL;
        CHECK(!pthread_join(hosts[i], &failed) && !failed);
    }
    pid_t child = run_in_child();
    close_device();
    struct ig_profile own = {0}, childs = {0};
    CHECK(read_profile(folder, getpid(), &own));
    check_profile(&own, HOSTS);
    if (child) {
        CHECK(read_profile(folder, child, &childs));
        check_profile(&childs, 1);
    }
    ig_profile_free(&own);
    ig_profile_free(&childs);
    ig_folder_remove(folder); /* nothing is left to be written at the end */
    free(folder);
    ig_error_clear(&error);
    return check_report();
}
