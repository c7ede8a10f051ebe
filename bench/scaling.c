/*
 * What a dispatch takes by its size and by the number of workers: is it ever slower with more?
 *
 * Each worker count is a device of its own in this process, used one after the other, for several
 * passes; a figure is the median. Three ways to dispatch: many queued and one wait; a wait after
 * each; and a wait after each and a pause of 1 ms before, when the workers sleep. Before a size is
 * timed, its results are compared with those of the first worker count.
 * Usage: scaling [--archive FILE] [--workers N[,N…]] [--only KERNEL] [--way queued|each|paused]
 *        [--passes N] [--most ELEMENTS]
 * Without an archive of bench/scaling.metal it is compiled.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ingot/ingot.h"

enum { MAX_COUNTS = 8, MAX_PASSES = 31, WAYS = 3, SIZES = 7, COLUMNS = 1024 };
#define SAMPLE_SECONDS 1.5e-3
#define PAUSES         6
#define LONGEST_PAUSED (1u << 20) /* elements: beyond, a pause is nothing */

static const char *const way_names[WAYS] = {"queued", "each", "paused"};

struct row {
    const char *kernel;
    uint32_t buffers, most; /* elements */
    bool by_rows, has_epsilon, has_factor;
};

static const struct row rows[] = {
    {"add", 3, 1u << 24, false, false, false},    {"saxpy", 2, 1u << 24, false, false, true},
    {"silu", 2, 1u << 24, false, false, false},   {"rms_norm", 3, 1u << 24, true, true, false},
    {"softmax", 2, 1u << 24, true, false, false}, {"collatz", 2, 1u << 18, false, false, false},
};
enum { ROWS = sizeof rows / sizeof *rows };

struct place {
    ingot_device *device;
    ingot_stream *stream;
    ingot_kernel *kernels[ROWS];
    ingot_buffer *buffers[3];
};

struct bench {
    const char *archive, *only, *way;
    uint32_t counts[MAX_COUNTS], count, passes, most;
    float *memory[3];
    struct place places[MAX_COUNTS];
    uint64_t checks[ROWS][SIZES];
    double figures[WAYS][ROWS][SIZES][MAX_COUNTS][MAX_PASSES];
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void must(ingot_status status) {
    if (status == INGOT_OK)
        return;
    fprintf(stderr, "scaling: %s: %s\n", ingot_status_name(status), ingot_error_message());
    exit(1);
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static uint32_t size_of(uint32_t index) {
    return 4096u << (2 * index);
}

static bool is_measured(const struct bench *bench, uint32_t way, uint32_t row, uint32_t size) {
    return (!bench->only || !strcmp(bench->only, rows[row].kernel)) &&
           (!bench->way || !strcmp(bench->way, way_names[way])) && size_of(size) <= bench->most &&
           size_of(size) <= rows[row].most &&
           (strcmp(way_names[way], "paused") != 0 || size_of(size) <= LONGEST_PAUSED);
}

static void open_place(struct bench *bench, struct place *place, uint32_t workers) {
    ingot_device_desc desc = {.worker_threads = workers};
    ingot_library *library;
    must(ingot_device_open("cpu", &desc, &place->device));
    must(ingot_stream_create(place->device, &place->stream));
    must(bench->archive ? ingot_library_create_from_archive(place->device, bench->archive, &library)
                        : ingot_library_create_from_source_file(
                              place->device, BENCH_SOURCE "/scaling.metal", NULL, &library));
    for (uint32_t i = 0; i < ROWS; i++)
        must(ingot_kernel_create(library, &(ingot_kernel_desc){.name = rows[i].kernel},
                                 &place->kernels[i]));
    ingot_library_release(library);
    for (int i = 0; i < 3; i++)
        must(ingot_buffer_wrap(place->device, bench->memory[i], (uint64_t)bench->most * 4, NULL,
                               NULL, &place->buffers[i]));
}

static void close_place(struct place *place) {
    for (uint32_t i = 0; i < ROWS; i++)
        ingot_kernel_release(place->kernels[i]);
    for (int i = 0; i < 3; i++)
        ingot_buffer_release(place->buffers[i]);
    ingot_stream_release(place->stream);
    ingot_device_release(place->device);
}

static void dispatch(const struct place *place, uint32_t row, uint32_t elements) {
    static const float factor = 1e-30f, epsilon = 1e-5f;
    static const uint32_t columns = COLUMNS;
    ingot_arg args[5] = {{0}};
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows[row].buffers; i++)
        args[count++].buffer = place->buffers[i];
    if (rows[row].has_factor)
        args[count++] = (ingot_arg){.bytes = &factor, .size = sizeof factor};
    if (rows[row].by_rows)
        args[count++] = (ingot_arg){.bytes = &columns, .size = sizeof columns};
    if (rows[row].has_epsilon)
        args[count++] = (ingot_arg){.bytes = &epsilon, .size = sizeof epsilon};
    ingot_dispatch_desc desc = {
        .kernel = place->kernels[row], .group = {256}, .args = args, .arg_count = count};
    if (rows[row].by_rows)
        desc.threadgroups[0] = elements / COLUMNS;
    else
        desc.threads[0] = elements;
    must(ingot_stream_dispatch(place->stream, &desc));
}

static void fill(struct bench *bench, uint32_t row) {
    bool whole = !strcmp(rows[row].kernel, "collatz");
    for (uint32_t i = 0; i < bench->most; i++) {
        uint32_t number = i * 2654435761u >> 8;
        if (whole)
            memcpy(&bench->memory[0][i], &(uint32_t){number % 100000 + 1}, 4);
        else
            bench->memory[0][i] = (float)number * 0x1p-24f - 0.5f;
        bench->memory[1][i] = 1 + (float)(number % 1000) * 1e-3f;
        bench->memory[2][i] = 0;
    }
}

/* Of the last buffer, which the kernel has written. */
static uint64_t checksum(const struct bench *bench, uint32_t row, uint32_t elements) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < elements; i++) {
        uint32_t word;
        memcpy(&word, &bench->memory[rows[row].buffers - 1][i], 4);
        sum = sum * 31 + word;
    }
    return sum;
}

static void check(struct bench *bench, const struct place *place, uint32_t row, uint32_t size) {
    dispatch(place, row, size_of(size));
    must(ingot_stream_wait(place->stream));
    uint64_t sum = checksum(bench, row, size_of(size));
    if (bench->checks[row][size] == 0)
        bench->checks[row][size] = sum;
    if (bench->checks[row][size] == sum)
        return;
    fprintf(stderr, "scaling: %s of %u elements has other results than with %u workers\n",
            rows[row].kernel, size_of(size), bench->counts[0]);
    exit(1);
}

/* Seconds per dispatch of so many. */
static double sample(const struct place *place, uint32_t row, uint32_t elements, uint32_t way,
                     uint32_t times) {
    double start = now(), paused = 0;
    for (uint32_t i = 0; i < times; i++) {
        if (way == 2) {
            double before = now();
            usleep(1000);
            paused += now() - before;
        }
        dispatch(place, row, elements);
        if (way != 0)
            must(ingot_stream_wait(place->stream));
    }
    must(ingot_stream_wait(place->stream));
    return (now() - start - paused) / times;
}

static double measure(const struct place *place, uint32_t row, uint32_t elements, uint32_t way) {
    if (way == 2)
        return sample(place, row, elements, way, PAUSES);
    double once = sample(place, row, elements, way, 2);
    uint32_t times = once < SAMPLE_SECONDS ? (uint32_t)(SAMPLE_SECONDS / once) : 1;
    if (times > 1000)
        times = 1000;
    sample(place, row, elements, way, times); /* what it is like is known then */
    return sample(place, row, elements, way, times);
}

static void pass(struct bench *bench, uint32_t number, uint32_t row) {
    for (uint32_t i = 0; i < bench->count; i++)
        for (uint32_t size = 0; size < SIZES; size++)
            for (uint32_t way = 0; way < WAYS; way++) {
                if (!is_measured(bench, way, row, size))
                    continue;
                if (number == 0 && size_of(size) <= 1u << 20)
                    check(bench, &bench->places[i], row, size);
                bench->figures[way][row][size][i][number] =
                    measure(&bench->places[i], row, size_of(size), way);
            }
}

static void print(struct bench *bench) {
    printf("µs per dispatch, by workers; * slower than with fewer by more than 5 %%\n");
    printf("%-8s %-9s %9s", "", "", "elements");
    for (uint32_t i = 0; i < bench->count; i++)
        printf(" %10u", bench->counts[i]);
    printf("\n");
    for (uint32_t way = 0; way < WAYS; way++)
        for (uint32_t row = 0; row < ROWS; row++)
            for (uint32_t size = 0; size < SIZES; size++) {
                if (!is_measured(bench, way, row, size))
                    continue;
                double least = 0;
                printf("%-8s %-9s %9u", way_names[way], rows[row].kernel, size_of(size));
                for (uint32_t i = 0; i < bench->count; i++) {
                    double *figures = bench->figures[way][row][size][i];
                    qsort(figures, bench->passes, sizeof *figures, by_value);
                    double median = figures[bench->passes / 2];
                    printf(" %9.2f%c", median * 1e6, i && median > least * 1.05 ? '*' : ' ');
                    if (i == 0 || median < least)
                        least = median;
                }
                printf("\n");
            }
}

static bool read_counts(struct bench *bench, const char *text) {
    bench->count = 0;
    for (char *end; bench->count < MAX_COUNTS; text = end + 1) {
        unsigned long value = strtoul(text, &end, 10);
        if (end == text || value == 0 || value > 1024)
            return false;
        bench->counts[bench->count++] = (uint32_t)value;
        if (*end != ',')
            return *end == '\0';
    }
    return false;
}

static bool read_option(struct bench *bench, const char *option, const char *value) {
    if (!strcmp(option, "--archive"))
        bench->archive = value;
    else if (!strcmp(option, "--only"))
        bench->only = value;
    else if (!strcmp(option, "--way"))
        bench->way = value;
    else if (!strcmp(option, "--workers"))
        return read_counts(bench, value);
    else if (!strcmp(option, "--passes"))
        bench->passes = (uint32_t)strtoul(value, NULL, 10);
    else if (!strcmp(option, "--most"))
        bench->most = (uint32_t)strtoul(value, NULL, 10);
    else
        return false;
    return bench->passes >= 1 && bench->passes <= MAX_PASSES && bench->most >= 4096 &&
           bench->most <= 1u << 24;
}

int main(int count, char **arguments) {
    static struct bench bench = {.passes = 5, .most = 1u << 24};
    read_counts(&bench, "1,2,4,8,16");
    for (int i = 1; i < count; i += 2)
        if (i + 1 >= count || !read_option(&bench, arguments[i], arguments[i + 1])) {
            fprintf(stderr, "usage: scaling [--archive FILE] [--workers N[,N…]] [--only KERNEL] "
                            "[--way queued|each|paused] [--passes N] [--most ELEMENTS]\n");
            return 2;
        }
    for (int i = 0; i < 3; i++) {
        bench.memory[i] = aligned_alloc(4096, (size_t)bench.most * 4);
        if (!bench.memory[i]) {
            fprintf(stderr, "scaling: no memory for %u elements\n", bench.most);
            return 1;
        }
    }
    for (uint32_t i = 0; i < bench.count; i++)
        open_place(&bench, &bench.places[i], bench.counts[i]);
    for (uint32_t row = 0; row < ROWS; row++) {
        if (bench.only && strcmp(bench.only, rows[row].kernel) != 0)
            continue;
        fill(&bench, row);
        for (uint32_t i = 0; i < bench.passes; i++)
            pass(&bench, i, row);
    }
    print(&bench);
    for (uint32_t i = 0; i < bench.count; i++)
        close_place(&bench.places[i]);
    for (int i = 0; i < 3; i++)
        free(bench.memory[i]);
    return 0;
}
