/* random_kernels [--seed N] [--count N] [--seconds S] [--size 1…4] [--cpu LEVEL] [--show]
 * [--shrink] */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ingot/ingot.h"
#include "random_kernel.h"

enum { THREADS = 333, MAX_WORDS = THREADS * SCRATCH };

struct data {
    uint32_t input[THREADS], table[TABLE], output[THREADS], scratch[MAX_WORDS], counters[8];
};

static void fill(struct data *data, uint64_t seed) {
    uint64_t state = seed * 2862933555777941757ull + 3037000493ull;
    uint32_t *words = (uint32_t *)data;
    for (size_t i = 0; i < sizeof *data / sizeof *words; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        words[i] = (uint32_t)(state >> 33) >> (state >> 60);
    }
    memset(data->output, 0, sizeof data->output);
    memset(data->counters, 0, sizeof data->counters);
}

static ingot_status run(ingot_device *device, const char *source, struct data *data,
                        const struct launch *launch) {
    ingot_library *library = NULL;
    ingot_kernel *kernel = NULL;
    ingot_stream *stream = NULL;
    ingot_buffer *buffers[5] = {NULL};
    ingot_source_desc desc = {.source = source, .name = "random.metal", .no_cache = true};
    ingot_status status = ingot_library_create_from_source(device, &desc, &library);
    ingot_kernel_desc want = {.name = "random_kernel"};
    if (status == INGOT_OK)
        status = ingot_kernel_create(library, &want, &kernel);
    if (status == INGOT_OK)
        status = ingot_stream_create(device, &stream);
    void *memory[5] = {data->input, data->output, data->table, data->scratch, data->counters};
    uint64_t sizes[5] = {sizeof data->input, sizeof data->output, sizeof data->table,
                         sizeof data->scratch, sizeof data->counters};
    ingot_arg args[7] = {{0}};
    for (int i = 0; i < 5 && status == INGOT_OK; i++) {
        status = ingot_buffer_wrap(device, memory[i], sizes[i], NULL, NULL, &buffers[i]);
        args[i].buffer = buffers[i];
    }
    args[5] = (ingot_arg){.bytes = &launch->n, .size = 4};
    args[6] = (ingot_arg){.bytes = &launch->u, .size = 4};
    ingot_dispatch_desc dispatch = {.kernel = kernel,
                                    .threads = {launch->threads},
                                    .group = {launch->group},
                                    .args = args,
                                    .arg_count = 7};
    if (status == INGOT_OK)
        status = ingot_stream_dispatch(stream, &dispatch);
    if (status == INGOT_OK)
        status = ingot_stream_wait(stream);
    ingot_stream_release(stream);
    for (int i = 0; i < 5; i++)
        ingot_buffer_release(buffers[i]);
    ingot_kernel_release(kernel);
    ingot_library_release(library);
    return status;
}

static bool same(const uint32_t *got, const uint32_t *want, size_t count, const char *what,
                 uint64_t seed) {
    for (size_t i = 0; i < count; i++)
        if (got[i] != want[i]) {
            printf("seed %llu: %s[%zu] is %u, expected %u\n", (unsigned long long)seed, what, i,
                   got[i], want[i]);
            return false;
        }
    return true;
}

/* 1 passed, 0 failed, -1 not usable */
static int try_program(ingot_device *device, const struct program *program, uint64_t seed,
                       bool show) {
    static struct data got, want;
    char *source = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&source, &length);
    if (!out)
        return -1;
    print_program(program, out);
    fclose(out);
    if (show)
        fputs(source, stdout);
    static const uint32_t groups[] = {64, 32, 333, 100, 7, 96};
    fill(&want, seed);
    got = want;
    struct launch launch = {.threads = THREADS,
                            .group = groups[seed % 6],
                            .n = (uint32_t)(seed % 1000),
                            .u = (uint32_t)(seed * 2654435761u >> 20),
                            .input = want.input,
                            .table = want.table,
                            .output = want.output,
                            .scratch = want.scratch,
                            .counters = want.counters};
    int result = -1;
    if (interpret_program(program, &launch)) {
        ingot_status status = run(device, source, &got, &launch);
        if (status != INGOT_OK)
            printf("seed %llu: %s: %s\n", (unsigned long long)seed, ingot_status_name(status),
                   ingot_error_message());
        result = status == INGOT_OK && same(got.output, want.output, THREADS, "out", seed) &&
                 same(got.scratch, want.scratch, MAX_WORDS, "scr", seed) &&
                 same(got.counters, want.counters, 8, "count", seed);
    }
    free(source);
    return result;
}

/* Takes statements and operands away for as long as the program still fails. */
static void shrink(ingot_device *device, struct program *program, uint64_t seed) {
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (unsigned i = 0; i < program->statement_count; i++) {
            struct statement *s = &program->statements[i];
            if (s->removed)
                continue;
            s->removed = true;
            if (try_program(device, program, seed, false) == 0)
                smaller = true;
            else
                s->removed = false;
        }
        for (unsigned i = 0; i < program->expression_count; i++) {
            struct expression *e = &program->expressions[i], before = *e;
            if (e->kind == E_CONSTANT)
                continue;
            *e = (struct expression){.kind = E_CONSTANT, .value = 1};
            if (try_program(device, program, seed, false) == 0)
                smaller = true;
            else
                *e = before;
        }
    }
    try_program(device, program, seed, true);
}

static int try_seed(ingot_device *device, uint64_t seed, int size, bool show, bool shrinks) {
    static struct program program;
    generate_program(&program, seed, size ? size : 1 + (int)(seed % 4));
    int result = try_program(device, &program, seed, show);
    if (result == 0 && shrinks)
        shrink(device, &program, seed);
    return result;
}

int main(int argc, char **argv) {
    uint64_t seed = 1, count = 40;
    double seconds = 0;
    bool show = false, shrinks = false;
    int size = 0;
    ingot_device_desc desc = INGOT_DEVICE_DESC_INIT;
    desc.time_limit_seconds = 10;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--show"))
            show = true;
        else if (!strcmp(argv[i], "--shrink"))
            shrinks = true;
        else if (!strcmp(argv[i], "--seed"))
            seed = strtoull(value, NULL, 10), i++;
        else if (!strcmp(argv[i], "--count"))
            count = strtoull(value, NULL, 10), i++;
        else if (!strcmp(argv[i], "--seconds"))
            seconds = atof(value), i++;
        else if (!strcmp(argv[i], "--size"))
            size = atoi(value), i++;
        else if (!strcmp(argv[i], "--cpu"))
            desc.cpu_level = value, i++;
        else {
            fprintf(stderr,
                    "usage: %s [--seed N] [--count N] [--seconds S] [--size 1…4] [--cpu LEVEL] "
                    "[--show] [--shrink]\n"
                    "Runs random kernels and compares with an interpreter. With --seconds it\n"
                    "goes on until the time is over.\n",
                    argv[0]);
            return 2;
        }
    }
    ingot_device *device;
    ingot_status opened = ingot_device_open("cpu", &desc, &device);
    if (opened != INGOT_OK) {
        printf("skipped: %s\n", ingot_error_message());
        return opened == INGOT_UNSUPPORTED ? 77 : 1; /* 77: this CPU lacks the level */
    }
    unsigned passed = 0, failed = 0, unusable = 0;
    time_t start = time(NULL);
    for (uint64_t i = 0; seconds > 0 ? difftime(time(NULL), start) < seconds : i < count; i++) {
        int result = try_seed(device, seed + i, size, show, shrinks);
        passed += result == 1;
        failed += result == 0;
        unusable += result < 0;
    }
    ingot_device_release(device);
    printf("%u passed, %u failed, %u skipped\n", passed, failed, unusable);
    return failed != 0 || passed == 0;
}
