/* random_kernels [--seed N] [--count N] [--seconds S] [--size 1…4] [--cpu LEVEL | --device NAME]
 * [--pack FOLDER | --packed FOLDER] [--show] [--shrink] */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "random_kernel.h"

/* What is done with a program. */
struct plan {
    ingot_device *device;
    const char *packed; /* folder of archives by seed, made beforehand; or NULL */
    const char *pack;   /* where to put such archives, and do no more; or NULL */
    bool show, shrinks;
    int size;
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

static bool same(const uint32_t *got, const uint32_t *want, size_t count, const char *what,
                 uint64_t seed) {
    for (size_t i = 0; i < count; i++) {
        if (got[i] != want[i]) {
            printf("seed %llu: %s[%zu] is %u, expected %u\n", (unsigned long long)seed, what, i,
                   got[i], want[i]);
            return false;
        }
    }
    return true;
}

static void archive_of(const char *folder, uint64_t seed, char *path, size_t size) {
    snprintf(path, size, "%s/%llu.ingot", folder, (unsigned long long)seed);
}

/* False, with the reason printed, when the program did not run. */
static bool run(const struct plan *plan, const char *source, struct data *data,
                const struct launch *launch, uint64_t seed) {
    char archive[512];
    archive_of(plan->packed ? plan->packed : "", seed, archive, sizeof archive);
    ingot_status status =
        run_program(plan->device, source, plan->packed ? archive : NULL, data, launch);
    if (status != INGOT_OK) {
        printf("seed %llu: %s: %s\n", (unsigned long long)seed, ingot_status_name(status),
               ingot_error_message());
    }
    return status == INGOT_OK;
}

static bool pack(const struct plan *plan, const char *source, uint64_t seed) {
    char archive[512];
    archive_of(plan->pack, seed, archive, sizeof archive);
    return pack_program(source, archive);
}

static char *text_of(const struct program *program) {
    char *source = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&source, &length);
    if (!out) {
        return NULL;
    }
    print_program(program, out);
    fclose(out);
    return source;
}

/* 1 passed, 0 failed, -1 not usable */
static int try_program(const struct plan *plan, const struct program *program, uint64_t seed,
                       bool show) {
    static struct data got, want;
    char *source = text_of(program);
    if (!source) {
        return -1;
    }
    if (show) {
        fputs(source, stdout);
    }
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
        result = plan->pack ? pack(plan, source, seed)
                            : run(plan, source, &got, &launch, seed) &&
                                  same(got.output, want.output, THREADS, "out", seed) &&
                                  same(got.scratch, want.scratch, THREADS * SCRATCH, "scr", seed) &&
                                  same(got.counters, want.counters, 8, "count", seed);
    }
    free(source);
    return result;
}

/* Takes statements and operands away for as long as the program still fails. */
static void shrink(const struct plan *plan, struct program *program, uint64_t seed) {
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (unsigned i = 0; i < program->statement_count; i++) {
            struct statement *s = &program->statements[i];
            if (s->removed) {
                continue;
            }
            s->removed = true;
            if (try_program(plan, program, seed, false) == 0) {
                smaller = true;
            } else {
                s->removed = false;
            }
        }
        for (unsigned i = 0; i < program->expression_count; i++) {
            struct expression *e = &program->expressions[i], before = *e;
            if (e->kind == E_CONSTANT) {
                continue;
            }
            *e = (struct expression){.kind = E_CONSTANT, .value = 1};
            if (try_program(plan, program, seed, false) == 0) {
                smaller = true;
            } else {
                *e = before;
            }
        }
    }
    try_program(plan, program, seed, true);
}

static int try_seed(const struct plan *plan, uint64_t seed) {
    static struct program program;
    generate_program(&program, seed, plan->size ? plan->size : 1 + (int)(seed % 4));
    int result = try_program(plan, &program, seed, plan->show);
    if (result == 0 && plan->shrinks) {
        shrink(plan, &program, seed);
    }
    return result;
}

static int usage(const char *name) {
    fprintf(
        stderr,
        "usage: %s [--seed N] [--count N] [--seconds S] [--size 1…4] [--show] [--shrink]\n"
        "       [--cpu LEVEL | --device NAME] [--pack FOLDER | --packed FOLDER]\n"
        "Runs random kernels and compares with an interpreter. With --seconds it goes on until\n"
        "the time is over. --pack makes archives of code for NVIDIA GPUs, --packed uses them\n"
        "instead of a compiler.\n",
        name);
    return 2;
}

static int open_device(struct plan *plan, const char *name, const char *level) {
    ingot_device_desc desc = INGOT_DEVICE_DESC_INIT;
    desc.time_limit_seconds = 10;
    desc.cpu_level = level;
    ingot_status opened = ingot_device_open(name, &desc, &plan->device);
    if (opened != INGOT_OK) {
        printf("skipped: %s\n", ingot_error_message());
        return opened == INGOT_UNSUPPORTED ? 77 : 1; /* 77: this CPU lacks the level */
    }
    return 0;
}

int main(int argc, char **argv) {
    uint64_t seed = 1, count = 40;
    double seconds = 0;
    struct plan plan = {0};
    const char *device = "cpu", *level = NULL;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--show")) {
            plan.show = true;
        } else if (!strcmp(argv[i], "--shrink")) {
            plan.shrinks = true;
        } else if (!strcmp(argv[i], "--seed")) {
            seed = strtoull(value, NULL, 10), i++;
        } else if (!strcmp(argv[i], "--count")) {
            count = strtoull(value, NULL, 10), i++;
        } else if (!strcmp(argv[i], "--seconds")) {
            seconds = atof(value), i++;
        } else if (!strcmp(argv[i], "--size")) {
            plan.size = atoi(value), i++;
        } else if (!strcmp(argv[i], "--cpu")) {
            level = value, i++;
        } else if (!strcmp(argv[i], "--device")) {
            device = value, i++;
        } else if (!strcmp(argv[i], "--pack")) {
            plan.pack = value, i++;
        } else if (!strcmp(argv[i], "--packed")) {
            plan.packed = value, i++;
        } else {
            return usage(argv[0]);
        }
    }
    int failure = plan.pack ? 0 : open_device(&plan, device, level);
    if (failure) {
        return failure;
    }
    unsigned passed = 0, failed = 0, unusable = 0;
    time_t start = time(NULL);
    for (uint64_t i = 0; seconds > 0 ? difftime(time(NULL), start) < seconds : i < count; i++) {
        int result = try_seed(&plan, seed + i);
        passed += result == 1;
        failed += result == 0;
        unusable += result < 0;
    }
    ingot_device_release(plan.device);
    printf("%u passed, %u failed, %u skipped\n", passed, failed, unusable);
    return failed != 0 || passed == 0;
}
