/* Runs for speed: several sets of tensors in turn, no reference. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "harness/internal.h"

enum { MAX_SETS = 64, MIN_SAMPLES = 5, MAX_SAMPLES = 500 };
static const double sample_seconds = 1e-3, warm_seconds = 0.02;

struct igh_bench {
    struct igh_run sets[MAX_SETS];
    size_t count, next;
};

static double read_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double igh_now(void) {
    return read_clock(CLOCK_MONOTONIC);
}

/* What a core reaches of the last cache. sysconf adds up all there are, so it comes second. */
static uint64_t cache_bytes(void) {
    unsigned long long kib = 0;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    bool known = file && fscanf(file, "%lluK", &kib) == 1;
    if (file) {
        fclose(file);
    }
    if (known) {
        return (uint64_t)kib << 10;
    }
#ifdef _SC_LEVEL3_CACHE_SIZE
    long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? (uint64_t)bytes : 0;
#else
    return 0;
#endif
}

uint64_t igh_rotate_bytes(void) {
    const uint64_t least = (uint64_t)64 << 20, most = (uint64_t)1 << 30;
    uint64_t bytes = 2 * cache_bytes();
    return bytes < least ? least : bytes > most ? most : bytes;
}

static uint64_t set_bytes(const struct igh_run *run) {
    uint64_t bytes = 0;
    for (int i = 0; i < IGH_MAX_SLOTS; i++) {
        if (run->slots[i].tensor.buffer) {
            bytes += ingot_buffer_length(run->slots[i].tensor.buffer);
        }
    }
    return bytes;
}

static bool open_set(struct igh_bench *bench, const struct igh_options *options,
                     const struct igh_suite *suite, const struct igh_case *test,
                     ingot_scalar_type type, struct ig_error *error) {
    struct igh_run *run = &bench->sets[bench->count];
    const struct igh_run_desc desc = {.options = options,
                                      .suite = suite,
                                      .test = test,
                                      .type = type,
                                      .for_speed = true,
                                      .like = bench->count ? &bench->sets[0] : NULL};
    bench->count++;
    ingot_status status = igh_run_open(run, &desc);
    if (status) {
        ig_fail(error, status, "%s", ig_error_text(&run->error));
    }
    return !status;
}

struct igh_bench *igh_bench_open(const struct igh_options *options, const struct igh_suite *suite,
                                 const struct igh_case *test, ingot_scalar_type type,
                                 uint64_t rotate_bytes, struct ig_error *error) {
    struct igh_bench *bench = calloc(1, sizeof *bench);
    if (!bench) {
        ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a bench");
        return NULL;
    }
    bool fine = open_set(bench, options, suite, test, type, error);
    size_t sets = igh_bench_sets_for(bench, rotate_bytes);
    while (fine && bench->count < sets) {
        fine = open_set(bench, options, suite, test, type, error);
    }
    if (fine) {
        return bench;
    }
    igh_bench_close(bench);
    return NULL;
}

void igh_bench_close(struct igh_bench *bench) {
    for (size_t i = 0; bench && i < bench->count; i++) {
        igh_run_close(&bench->sets[i]);
    }
    free(bench);
}

void igh_bench_use(struct igh_bench *bench, ingot_ops *ops) {
    for (size_t i = 0; i < bench->count; i++) {
        bench->sets[i].ops = ops;
    }
}

const struct igh_run *igh_bench_run(const struct igh_bench *bench) {
    return &bench->sets[0];
}

size_t igh_bench_sets(const struct igh_bench *bench) {
    return bench->count;
}

size_t igh_bench_sets_for(const struct igh_bench *bench, uint64_t rotate_bytes) {
    uint64_t bytes = set_bytes(&bench->sets[0]), sets = 1;
    while (sets < MAX_SETS && bytes * sets < rotate_bytes) {
        sets++;
    }
    return (size_t)sets;
}

void igh_bench_cost(const struct igh_bench *bench, double *bytes, double *flops) {
    *bytes = *flops = 0;
    if (bench->sets[0].suite->cost) {
        bench->sets[0].suite->cost(&bench->sets[0], bytes, flops);
    }
}

ingot_status igh_bench_launch(struct igh_bench *bench) {
    struct igh_run *run = &bench->sets[bench->next];
    bench->next = (bench->next + 1) % bench->count;
    return run->suite->launch(run);
}

static ingot_status launch_many(struct igh_bench *bench, uint32_t count) {
    ingot_status status = INGOT_OK;
    for (uint32_t i = 0; i < count && !status; i++) {
        status = igh_bench_launch(bench);
    }
    return status;
}

/* By the GPU's own clock: what the host needs for launches and to notice the end is left out. A
 * launch that does not count goes first, so that the GPU is not idle when the clock starts: the
 * host's time for the first launch would be in every sample. */
static ingot_status time_by_events(struct igh_bench *bench, uint32_t count, double *seconds) {
    const struct igh_run *run = &bench->sets[0];
    ingot_event *events[2] = {NULL, NULL};
    ingot_status status = ingot_event_create(run->device, &events[0]);
    if (!status) {
        status = ingot_event_create(run->device, &events[1]);
    }
    if (!status) {
        status = launch_many(bench, 1);
    }
    if (!status) {
        status = ingot_stream_record(run->stream, events[0]);
    }
    if (!status) {
        status = launch_many(bench, count);
    }
    if (!status) {
        status = ingot_stream_record(run->stream, events[1]);
    }
    if (!status) {
        status = ingot_stream_wait(run->stream);
    }
    if (!status) {
        status = ingot_event_elapsed(events[0], events[1], seconds);
    }
    ingot_event_release(events[0]);
    ingot_event_release(events[1]);
    return status;
}

ingot_status igh_bench_time(struct igh_bench *bench, uint32_t count, double *seconds,
                            struct ig_error *error) {
    ingot_device_info info;
    double start = igh_now();
    ingot_status status = ingot_device_get_info(bench->sets[0].device, &info);
    bool by_events = !status && !info.unified_memory;
    if (!status) {
        status = by_events ? time_by_events(bench, count, seconds) : launch_many(bench, count);
    }
    if (!status && !by_events) {
        status = ingot_stream_wait(bench->sets[0].stream);
    }
    if (status) {
        return ig_fail(error, status, "%s", ingot_error_message());
    }
    *seconds = (by_events ? *seconds : igh_now() - start) / (count ? count : 1);
    return INGOT_OK;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double percentile(const double *sorted, uint32_t count, double share) {
    double at = share * (count - 1);
    uint32_t low = (uint32_t)at, high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

/* Every set is used once (pages are touched, kernels loaded), then until the clock is warm. */
static ingot_status warm_up(struct igh_bench *bench, double *seconds, struct ig_error *error) {
    double start = igh_now(), once = 0;
    ingot_status status = igh_bench_time(bench, 1, &once, error);
    if (!status && once < 1) {
        status = igh_bench_time(bench, (uint32_t)bench->count, &once, error);
    }
    while (!status && igh_now() - start < warm_seconds) {
        status = igh_bench_time(bench, 1, &once, error);
    }
    *seconds = once;
    return status;
}

ingot_status igh_bench_measure(struct igh_bench *bench, double seconds, struct igh_timing *timing,
                               struct ig_error *error) {
    double samples[MAX_SAMPLES], once = 0;
    *timing = (struct igh_timing){.launches = 1};
    ingot_status status = warm_up(bench, &once, error);
    if (!status && once < sample_seconds) {
        double launches = once > 0 ? sample_seconds / once : 1e4;
        timing->launches = launches < 1 ? 1 : launches > 1e4 ? 10000 : (uint32_t)(launches + 0.5);
    }
    double start = igh_now();
    /* A launch of seconds is measured thrice, whatever was asked for. */
    uint32_t least = once > 0.5 ? 3 : MIN_SAMPLES;
    while (!status && timing->samples < MAX_SAMPLES &&
           (timing->samples < least || igh_now() - start < seconds)) {
        double before = read_clock(CLOCK_PROCESS_CPUTIME_ID);
        status = igh_bench_time(bench, timing->launches, &samples[timing->samples++], error);
        double used = (read_clock(CLOCK_PROCESS_CPUTIME_ID) - before) / timing->launches;
        timing->processor =
            timing->samples == 1 || used < timing->processor ? used : timing->processor;
    }
    if (status) {
        return status;
    }
    qsort(samples, timing->samples, sizeof *samples, compare_doubles);
    timing->median = percentile(samples, timing->samples, 0.5);
    timing->p10 = percentile(samples, timing->samples, 0.1);
    timing->p90 = percentile(samples, timing->samples, 0.9);
    timing->best = samples[0];
    return INGOT_OK;
}
