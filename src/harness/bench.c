/* Runs for speed: several sets of tensors in turn, no reference. */
#include <stdlib.h>
#include <time.h>

#include "harness/internal.h"

enum { MAX_SETS = 16 };

struct igh_bench {
    struct igh_run sets[MAX_SETS];
    size_t count, next;
};

static uint64_t set_bytes(const struct igh_run *run) {
    uint64_t bytes = 0;
    for (int i = 0; i < IGH_MAX_SLOTS; i++)
        if (run->slots[i].tensor.buffer)
            bytes += ingot_buffer_length(run->slots[i].tensor.buffer);
    return bytes;
}

static bool open_set(struct igh_bench *bench, const struct igh_options *options,
                     const struct igh_suite *suite, const struct igh_case *test,
                     ingot_scalar_type type, struct ig_error *error) {
    struct igh_run *run = &bench->sets[bench->count++];
    ingot_status status = igh_run_open(run, options, suite, test, type, true, false);
    if (status)
        ig_fail(error, status, "%s", ig_error_text(&run->error));
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
    uint64_t bytes = set_bytes(&bench->sets[0]);
    while (fine && bench->count < MAX_SETS && bytes * bench->count < rotate_bytes)
        fine = open_set(bench, options, suite, test, type, error);
    if (fine)
        return bench;
    igh_bench_close(bench);
    return NULL;
}

void igh_bench_close(struct igh_bench *bench) {
    for (size_t i = 0; bench && i < bench->count; i++)
        igh_run_close(&bench->sets[i]);
    free(bench);
}

void igh_bench_cost(const struct igh_bench *bench, double *bytes, double *flops) {
    *bytes = *flops = 0;
    if (bench->sets[0].suite->cost)
        bench->sets[0].suite->cost(&bench->sets[0], bytes, flops);
}

ingot_status igh_bench_launch(struct igh_bench *bench) {
    struct igh_run *run = &bench->sets[bench->next];
    bench->next = (bench->next + 1) % bench->count;
    return run->suite->launch(run);
}

ingot_status igh_bench_time(struct igh_bench *bench, uint32_t count, double *seconds,
                            struct ig_error *error) {
    struct timespec start, end;
    ingot_status status = INGOT_OK;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (uint32_t i = 0; i < count && !status; i++)
        status = igh_bench_launch(bench);
    if (!status)
        status = ingot_stream_wait(bench->sets[0].stream);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (status)
        return ig_fail(error, status, "%s", ingot_error_message());
    *seconds =
        ((double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec)) /
        (count ? count : 1);
    return INGOT_OK;
}
