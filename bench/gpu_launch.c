/*
 * gpu_launch ARCHIVE [DEVICE]: the cost of a launch, as JSON.
 *
 * ARCHIVE holds bench/gpu_launch.metal. Host time per dispatch is taken over runs of dispatches
 * that the queue takes without blocking; then a dispatch with its wait, and the device's time per
 * dispatch of a long queue by events. Medians; of the first also the bounds of the middle 80 %.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ingot/ingot.h"

enum { RUNS = 201, BATCH = 256, QUEUED = 20000, THREADS = 256 };

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
        for (int i = 0; i < count; i++)
            if (ingot_stream_dispatch(b->stream, &b->desc))
                return false;
        if (wait_each && ingot_stream_wait(b->stream))
            return false;
        samples[run] = (now() - start) / count;
        if (!wait_each && ingot_stream_wait(b->stream))
            return false;
    }
    *seconds = spread_of(samples, RUNS);
    return true;
}

static bool measure_queue(struct bench *b, double *seconds) {
    bool good = !ingot_stream_record(b->stream, b->start);
    for (int i = 0; i < QUEUED && good; i++)
        good = !ingot_stream_dispatch(b->stream, &b->desc);
    good = good && !ingot_stream_record(b->stream, b->end) && !ingot_stream_wait(b->stream) &&
           !ingot_event_elapsed(b->start, b->end, seconds);
    *seconds /= QUEUED;
    return good;
}

int main(int argc, char **argv) {
    struct bench b = {0};
    const uint32_t count = THREADS;
    struct spread host = {0}, waited = {0};
    double queued = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: gpu_launch ARCHIVE [DEVICE]\n");
        return 2;
    }
    bool good = open_all(&b, argv[1], argc > 2 ? argv[2] : "cuda");
    const ingot_arg args[] = {{.buffer = b.buffer}, {.bytes = &count, .size = sizeof count}};
    b.desc = (ingot_dispatch_desc){
        .kernel = b.kernel, .threads = {THREADS}, .group = {THREADS}, .args = args, .arg_count = 2};
    good = good && measure(&b, false, &host) && measure(&b, true, &waited) &&
           measure_queue(&b, &queued);
    if (good)
        printf("{\"host_us_per_dispatch\": %.3f, \"host_us_low\": %.3f, \"host_us_high\": %.3f, "
               "\"dispatch_and_wait_us\": %.3f, \"device_us_per_dispatch\": %.3f}\n",
               host.median * 1e6, host.low * 1e6, host.high * 1e6, waited.median * 1e6,
               queued * 1e6);
    else
        fprintf(stderr, "gpu_launch: %s\n", ingot_error_message());
    close_all(&b);
    return good ? 0 : 1;
}
