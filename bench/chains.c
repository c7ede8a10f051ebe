/*
 * Chains of dispatches on data that the caches hold: y = a * x + y over 1 MB, again and again, each
 * dispatch on the result of the one before it. Queued: a thousand of them, then one wait. One by
 * one: a wait after each. Beside them a plain C loop on one thread (bench/engine/plain.c).
 *
 * The competitors take turns, with a sample of some milliseconds each, after some dispatches that
 * do not count. Printed per dispatch: the quarter of the samples that was fastest ends there, by
 * the clock and by the processor's time, of all threads; and the plain loop's time by the clock
 * over it. A worker more than there are CPUs shows what too many of them cost. Every result is
 * compared with the plain loop's. Usage: chains [--kilobytes N] [--workers N[,N…]] [--rounds N]
 * [--cpu-level LEVEL]
 */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/plain.h"
#include "ingot/ingot.h"

enum {
    MAX_DEVICES = 16,
    MAX_ROUNDS = 1000,
    QUEUED = 1000,
    ONE_BY_ONE = 200,
    WARM = 50,
    CHECKED = 50
};
enum { GROUP = 1024 };

enum way { PLAIN, IN_A_ROW, WITH_WAITS, WAYS };

struct sample {
    double seconds, processor;
};

struct chain {
    unsigned workers; /* 0: the plain loop */
    ingot_device *device;
    ingot_stream *stream;
    ingot_library *library;
    ingot_kernel *kernel;
    ingot_buffer *x, *y;
    struct sample samples[WAYS][MAX_ROUNDS];
};

static struct chain chains[MAX_DEVICES];
static struct bench_row row;
static size_t floats;

static void must(ingot_status status) {
    if (status != INGOT_OK) {
        fprintf(stderr, "chains: %s: %s\n", ingot_status_name(status), ingot_error_message());
        exit(1);
    }
}

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void fill(void) {
    float *x = row.buffers[0].data, *y = row.buffers[1].data;
    for (size_t i = 0; i < floats; i++) {
        x[i] = (float)(i % 1021) / 1021.0f - 0.5f;
        y[i] = (float)(i % 509) / 509.0f;
    }
}

static void open_chain(struct chain *chain, unsigned workers, const char *level) {
    chain->workers = workers;
    ingot_device_desc desc = {.worker_threads = workers, .cpu_level = level};
    must(ingot_device_open("cpu", &desc, &chain->device));
    must(ingot_library_create_from_source_file(chain->device, BENCH_SOURCE "/kernels.metal", NULL,
                                               &chain->library));
    must(
        ingot_kernel_create(chain->library, &(ingot_kernel_desc){.name = "saxpy"}, &chain->kernel));
    must(ingot_stream_create(chain->device, &chain->stream));
    must(ingot_buffer_wrap(chain->device, row.buffers[0].data, row.buffers[0].bytes, NULL, NULL,
                           &chain->x));
    must(ingot_buffer_wrap(chain->device, row.buffers[1].data, row.buffers[1].bytes, NULL, NULL,
                           &chain->y));
}

static void close_chain(struct chain *chain) {
    ingot_buffer_release(chain->x);
    ingot_buffer_release(chain->y);
    ingot_kernel_release(chain->kernel);
    ingot_library_release(chain->library);
    ingot_stream_release(chain->stream);
    ingot_device_release(chain->device);
}

static void run(const struct chain *chain, enum way way, unsigned count) {
    const ingot_arg args[] = {
        {.buffer = chain->x}, {.buffer = chain->y}, {.bytes = &row.scalars[0], .size = 4}};
    const ingot_dispatch_desc desc = {.kernel = chain->kernel,
                                      .threads = {(uint32_t)floats},
                                      .group = {GROUP},
                                      .args = args,
                                      .arg_count = 3};
    for (unsigned i = 0; i < count; i++) {
        if (way == PLAIN) {
            plain_saxpy(&row, 0, floats);
            __asm__ volatile("" ::: "memory");
            continue;
        }
        must(ingot_stream_dispatch(chain->stream, &desc));
        if (way == WITH_WAITS) {
            must(ingot_stream_wait(chain->stream));
        }
    }
    if (way == IN_A_ROW) {
        must(ingot_stream_wait(chain->stream));
    }
}

static void check(const struct chain *chain, const float *expected) {
    for (enum way way = IN_A_ROW; way < WAYS; way++) {
        fill();
        run(chain, way, CHECKED);
        const float *got = row.buffers[1].data;
        for (size_t i = 0; i < floats; i++) {
            if (!(got[i] - expected[i] < 1e-5f && expected[i] - got[i] < 1e-5f)) {
                fprintf(stderr, "chains: with %u workers element %zu is %g, and should be %g\n",
                        chain->workers, i, (double)got[i], (double)expected[i]);
                exit(1);
            }
        }
    }
}

static void sample(struct chain *chain, enum way way, unsigned round) {
    unsigned count = way == WITH_WAITS ? ONE_BY_ONE : QUEUED;
    run(chain, way, WARM); /* the data may be in the cache of another core */
    double seconds = now(CLOCK_MONOTONIC), processor = now(CLOCK_PROCESS_CPUTIME_ID);
    run(chain, way, count);
    chain->samples[way][round] =
        (struct sample){(now(CLOCK_MONOTONIC) - seconds) / count,
                        (now(CLOCK_PROCESS_CPUTIME_ID) - processor) / count};
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static struct sample quarter(const struct chain *chain, enum way way, unsigned rounds) {
    static double seconds[MAX_ROUNDS], processor[MAX_ROUNDS];
    for (unsigned i = 0; i < rounds; i++) {
        seconds[i] = chain->samples[way][i].seconds;
        processor[i] = chain->samples[way][i].processor;
    }
    qsort(seconds, rounds, sizeof *seconds, by_value);
    qsort(processor, rounds, sizeof *processor, by_value);
    return (struct sample){seconds[rounds / 4], processor[rounds / 4]};
}

static void print(const struct chain *chain, enum way way, unsigned rounds, struct sample plain) {
    struct sample figure = quarter(chain, way, rounds);
    printf("%7u  %-10s  %8.2f  %8.2f  %8.2f  %8.2f\n", chain->workers,
           way == IN_A_ROW ? "queued" : "one by one", figure.seconds * 1e6, figure.processor * 1e6,
           plain.seconds / figure.seconds, plain.processor / figure.processor);
}

struct options {
    size_t kilobytes;
    unsigned rounds, device_count, workers[MAX_DEVICES];
    const char *level;
};

static void usage(void) {
    fprintf(stderr, "usage: chains [--kilobytes N] [--workers N[,N…]] [--rounds N] "
                    "[--cpu-level LEVEL]\n");
    exit(2);
}

static void parse_workers(struct options *options, const char *list) {
    options->device_count = 0;
    for (char *end; *list; list = *end ? end + 1 : end) {
        unsigned long workers = strtoul(list, &end, 10);
        if (end == list || (*end && *end != ',') || workers < 1 || workers > 1024 ||
            options->device_count == MAX_DEVICES) {
            usage();
        }
        options->workers[options->device_count++] = (unsigned)workers;
    }
}

static struct options parse(int count, char **arguments) {
    struct options options = {1024, 60, 5, {1, 2, 4, 8, 16}, NULL};
    for (int i = 1; i < count; i += 2) {
        if (i + 1 == count) {
            usage();
        }
        const char *name = arguments[i], *value = arguments[i + 1];
        if (!strcmp(name, "--kilobytes")) {
            options.kilobytes = strtoul(value, NULL, 10);
        } else if (!strcmp(name, "--workers")) {
            parse_workers(&options, value);
        } else if (!strcmp(name, "--rounds")) {
            options.rounds = (unsigned)strtoul(value, NULL, 10);
        } else if (!strcmp(name, "--cpu-level")) {
            options.level = value;
        } else {
            usage();
        }
    }
    if (options.kilobytes < 8 || options.kilobytes > 1u << 20 || options.rounds < 4 ||
        options.rounds > MAX_ROUNDS || options.device_count == 0) {
        usage();
    }
    return options;
}

int main(int count, char **arguments) {
    static struct chain plain;
    struct options options = parse(count, arguments);
    floats = options.kilobytes * 1024 / 8 / GROUP * GROUP;
    row.scalars[0].f = 1e-3f;
    for (int i = 0; i < 2; i++) {
        row.buffers[i].bytes = floats * 4;
        row.buffers[i].data = aligned_alloc(4096, (floats * 4 + 4095) / 4096 * 4096);
        if (!row.buffers[i].data) {
            fprintf(stderr, "chains: no memory for %zu floats\n", floats);
            return 1;
        }
    }
    float *expected = malloc(floats * 4);
    if (!expected) {
        fprintf(stderr, "chains: no memory for %zu floats\n", floats);
        return 1;
    }
    fill();
    run(&plain, PLAIN, CHECKED);
    memcpy(expected, row.buffers[1].data, floats * 4);
    for (unsigned i = 0; i < options.device_count; i++) {
        open_chain(&chains[i], options.workers[i], options.level);
        check(&chains[i], expected);
    }
    for (unsigned round = 0; round < options.rounds; round++) {
        for (unsigned i = 0; i < options.device_count; i++) {
            fill();
            sample(&plain, PLAIN, round);
            sample(&chains[i], IN_A_ROW, round);
            sample(&chains[i], WITH_WAITS, round);
        }
    }
    struct sample loop = quarter(&plain, PLAIN, options.rounds);
    printf("saxpy on %zu KB, per dispatch; the plain loop takes %.2f us\n", floats * 8 / 1024,
           loop.seconds * 1e6);
    printf("workers  %-10s  %8s  %8s  %8s  %8s\n", "", "clock us", "CPU us", "ratio", "CPU ratio");
    for (unsigned i = 0; i < options.device_count; i++) {
        for (enum way way = IN_A_ROW; way < WAYS; way++) {
            print(&chains[i], way, options.rounds, loop);
        }
        close_chain(&chains[i]);
    }
    free(expected);
    free(row.buffers[0].data);
    free(row.buffers[1].data);
    return 0;
}
