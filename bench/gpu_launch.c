/*
 * gpu_launch ARCHIVE [DEVICE]: the cost of a launch, as JSON.
 *
 * ARCHIVE holds bench/gpu_launch.metal. Host time per dispatch is taken over runs of dispatches
 * that the queue takes without blocking; then a dispatch with its wait, and the device's time per
 * dispatch of a long queue by events. Medians; of the first also the bounds of the middle 80 %.
 * At the end dispatches that each need all of the one before are checked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ingot/ingot.h"

enum { RUNS = 201, BATCH = 256, QUEUED = 20000, THREADS = 256, STEPS = 4000 };

struct bench {
    ingot_device *device;
    ingot_library *library;
    ingot_kernel *kernel;
    ingot_buffer *buffer;
    ingot_stream *stream;
    ingot_event *start, *end;
    ingot_dispatch_desc desc;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct spread {
    double low, median, high;
};

static struct spread spread_of(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return (struct spread){values[count / 10], values[count / 2], values[count - 1 - count / 10]};
}

static bool open_all(struct bench *b, const char *archive, const char *device) {
    const ingot_kernel_desc kernel = {.name = "touch"};
    return !ingot_device_open(device, NULL, &b->device) &&
           !ingot_library_create_from_archive(b->device, archive, &b->library) &&
           !ingot_kernel_create(b->library, &kernel, &b->kernel) &&
           !ingot_buffer_create(b->device, 4 * THREADS, &b->buffer) &&
           !ingot_stream_create(b->device, &b->stream) &&
           !ingot_event_create(b->device, &b->start) && !ingot_event_create(b->device, &b->end);
}

static void close_all(struct bench *b) {
    ingot_event_release(b->start);
    ingot_event_release(b->end);
    ingot_stream_release(b->stream);
    ingot_buffer_release(b->buffer);
    ingot_kernel_release(b->kernel);
    ingot_library_release(b->library);
    ingot_device_release(b->device);
}

/* Seconds of host time per dispatch; `wait_each`: with the wait for it. */
static bool measure(struct bench *b, bool wait_each, struct spread *seconds) {
    double samples[RUNS];
    for (int run = 0; run < RUNS; run++) {
        int count = wait_each ? 1 : BATCH;
        double start = now();
        for (int i = 0; i < count; i++) {
            if (ingot_stream_dispatch(b->stream, &b->desc)) {
                return false;
            }
        }
        if (wait_each && ingot_stream_wait(b->stream)) {
            return false;
        }
        samples[run] = (now() - start) / count;
        if (!wait_each && ingot_stream_wait(b->stream)) {
            return false;
        }
    }
    *seconds = spread_of(samples, RUNS);
    return true;
}

static bool measure_queue(struct bench *b, double *seconds) {
    bool good = !ingot_stream_record(b->stream, b->start);
    for (int i = 0; i < QUEUED && good; i++) {
        good = !ingot_stream_dispatch(b->stream, &b->desc);
    }
    good = good && !ingot_stream_record(b->stream, b->end) && !ingot_stream_wait(b->stream) &&
           !ingot_event_elapsed(b->start, b->end, seconds);
    *seconds /= QUEUED;
    return good;
}

/* After STEPS dispatches from zeros on, every one of `count` elements is STEPS: else one of them
 * saw memory that the dispatch before had not written yet. Adds the elements that differ to *wrong.
 */
static bool check_order(struct bench *b, uint32_t count, uint64_t *wrong) {
    const ingot_kernel_desc named = {.name = "follow"};
    const size_t bytes = 4 * (size_t)count;
    ingot_kernel *kernel = NULL;
    ingot_buffer *buffers[2] = {NULL, NULL};
    uint32_t *values = malloc(bytes);
    bool good = values && !ingot_kernel_create(b->library, &named, &kernel) &&
                !ingot_buffer_create(b->device, bytes, &buffers[0]) &&
                !ingot_buffer_create(b->device, bytes, &buffers[1]);
    for (int i = 0; i < STEPS && good; i++) {
        const ingot_arg args[] = {{.buffer = buffers[i % 2]},
                                  {.buffer = buffers[1 - i % 2]},
                                  {.bytes = &count, .size = sizeof count}};
        good = !ingot_stream_dispatch(b->stream, &(ingot_dispatch_desc){.kernel = kernel,
                                                                        .threads = {count},
                                                                        .group = {THREADS},
                                                                        .args = args,
                                                                        .arg_count = 3});
    }
    good = good && !ingot_stream_download(b->stream, buffers[STEPS % 2], 0, values, bytes);
    for (uint32_t i = 0; i < count && good; i++) {
        *wrong += values[i] != STEPS;
    }
    ingot_buffer_release(buffers[0]);
    ingot_buffer_release(buffers[1]);
    ingot_kernel_release(kernel);
    free(values);
    return good;
}

int main(int argc, char **argv) {
    struct bench b = {0};
    const uint32_t count = THREADS;
    struct spread host = {0}, waited = {0};
    double queued = 0;
    uint64_t wrong = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: gpu_launch ARCHIVE [DEVICE]\n");
        return 2;
    }
    bool good = open_all(&b, argv[1], argc > 2 ? argv[2] : "cuda");
    const ingot_arg args[] = {{.buffer = b.buffer}, {.bytes = &count, .size = sizeof count}};
    b.desc = (ingot_dispatch_desc){
        .kernel = b.kernel, .threads = {THREADS}, .group = {THREADS}, .args = args, .arg_count = 2};
    good = good && measure(&b, false, &host) && measure(&b, true, &waited) &&
           measure_queue(&b, &queued) && check_order(&b, 3000, &wrong) &&
           check_order(&b, 1u << 20, &wrong);
    if (good) {
        printf("{\"host_us_per_dispatch\": %.3f, \"host_us_low\": %.3f, \"host_us_high\": %.3f, "
               "\"dispatch_and_wait_us\": %.3f, \"device_us_per_dispatch\": %.3f, "
               "\"out_of_order\": %llu}\n",
               host.median * 1e6, host.low * 1e6, host.high * 1e6, waited.median * 1e6,
               queued * 1e6, (unsigned long long)wrong);
    } else {
        fprintf(stderr, "gpu_launch: %s\n", ingot_error_message());
    }
    close_all(&b);
    return good && !wrong ? 0 : 1;
}
