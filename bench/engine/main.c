/*
 * The engine against a plain C loop, PoCL, memcpy and OpenBLAS: one table of ratios.
 *
 * Each core count is a process of its own (PoCL and OpenBLAS fix their threads at start). Within
 * it, the competitors of a row take turns, a sample each, for several rounds; a figure is the
 * median of a competitor's samples. Results are compared with the plain loop's before timing.
 * Usage: engine_bench [--json] [--rounds N] [--row N] [--cores N[,N…]] [--cpu-time]
 *        [--only COMPETITOR]
 * --cpu-time counts the process' CPU time, for a first look on a busy machine.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ingot/ingot.h"
#include "opencl.h"
#include "rows.h"

enum competitor { INGOT, INGOT_AVX2, PLAIN, POCL, MEMCPY, BLAS, COMPETITORS };
static const char *const competitor_names[] = {"ingot", "ingot_avx2", "plain",
                                               "pocl",  "memcpy",     "openblas"};
enum { MAX_ROUNDS = 1001, ENOUGH_SECONDS = 4, MAX_TABLES = 8 };

struct figure {
    double seconds;   /* of one run of the row; 0: none */
    char missing[32]; /* why not */
};

struct table {
    char target[32];
    bool done;
    struct figure figures[BENCH_ROWS][COMPETITORS];
};

typedef void sgemm_fn(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                      const float *a, int lda, const float *b, int ldb, float beta, float *c,
                      int ldc);

struct engine {
    ingot_device *device;
    ingot_library *library;
    ingot_stream *stream;
    ingot_kernel *kernel;
    ingot_buffer *buffers[BENCH_MAX_BUFFERS];
};

struct bench {
    unsigned cores, rounds;
    int only_row;
    bool best;
    const char *archive; /* of kernels.metal; NULL: compile it */
    const char *only;    /* this competitor, besides the plain loop */
    struct engine engines[2];
    struct opencl *opencl;
    struct opencl_kernel *opencl_kernel;
    const char *no_opencl;
    sgemm_fn *sgemm;
    struct bench_row row;
    char *copy_to, *copy_from;
};

static clockid_t bench_clock = CLOCK_MONOTONIC;

static double now(void) {
    struct timespec time;
    clock_gettime(bench_clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool good(ingot_status status) {
    if (status != INGOT_OK) {
        fprintf(stderr, "%s: %s\n", ingot_status_name(status), ingot_error_message());
    }
    return status == INGOT_OK;
}

/* ---- ingot ------------------------------------------------------------------------------- */
static bool engine_open(struct engine *engine, unsigned cores, const char *level,
                        const char *archive) {
    ingot_device_desc desc = {.worker_threads = cores, .cpu_level = level};
    if (!good(ingot_device_open("cpu", &desc, &engine->device))) {
        return false;
    }
    ingot_status status =
        archive ? ingot_library_create_from_archive(engine->device, archive, &engine->library)
                : ingot_library_create_from_source_file(
                      engine->device, BENCH_SOURCE "/kernels.metal", NULL, &engine->library);
    return good(status) && good(ingot_stream_create(engine->device, &engine->stream));
}

static bool engine_prepare(struct engine *engine, const struct bench_row *row) {
    ingot_kernel_desc desc = {.name = row->kernel};
    if (!good(ingot_kernel_create(engine->library, &desc, &engine->kernel))) {
        return false;
    }
    for (size_t i = 0; i < row->buffer_count; i++) {
        if (!good(ingot_buffer_wrap(engine->device, row->buffers[i].data, row->buffers[i].bytes,
                                    NULL, NULL, &engine->buffers[i]))) {
            return false;
        }
    }
    return true;
}

static void engine_finish(struct engine *engine) {
    for (size_t i = 0; i < BENCH_MAX_BUFFERS; i++) {
        ingot_buffer_release(engine->buffers[i]);
        engine->buffers[i] = NULL;
    }
    ingot_kernel_release(engine->kernel);
    engine->kernel = NULL;
}

static bool engine_run(struct engine *engine, const struct bench_row *row, size_t repeats) {
    ingot_arg args[BENCH_MAX_BUFFERS + BENCH_MAX_SCALARS] = {0};
    for (size_t i = 0; i < row->buffer_count; i++) {
        args[i].buffer = engine->buffers[i];
    }
    for (size_t i = 0; i < row->scalar_count; i++) {
        args[row->buffer_count + i] = (ingot_arg){.bytes = &row->scalars[i], .size = 4};
    }
    ingot_dispatch_desc desc = {
        .kernel = engine->kernel, .args = args, .arg_count = row->buffer_count + row->scalar_count};
    memcpy(desc.threadgroups, row->groups, sizeof desc.threadgroups);
    memcpy(desc.group, row->group, sizeof desc.group);
    for (size_t i = 0; i < repeats; i++) {
        if (!good(ingot_stream_dispatch(engine->stream, &desc))) {
            return false;
        }
    }
    return good(ingot_stream_wait(engine->stream));
}

/* ---- plain loops and memcpy, split over threads -------------------------------------------- */
/* Where the threads meet after each repeat: like a dispatch, it is done before the next begins. */
struct meeting {
    _Alignas(64) atomic_uint arrived;
    _Alignas(64) atomic_uint done; /* repeats */
};

static void meet(struct meeting *meeting, unsigned threads, unsigned repeat) {
    enum { BEFORE_YIELD = 1 << 14 };
    if (atomic_fetch_add(&meeting->arrived, 1) + 1 == threads) {
        atomic_store(&meeting->arrived, 0);
        atomic_store(&meeting->done, repeat + 1);
        return;
    }
    for (unsigned looks = 0; atomic_load(&meeting->done) <= repeat;) {
        if (++looks % BEFORE_YIELD == 0) {
            sched_yield();
        }
    }
}

struct share {
    const struct bench *bench;
    struct meeting *meeting;
    unsigned index;
    size_t repeats;
    bool copies;
    pthread_t thread;
};

static void *run_share(void *argument) {
    const struct share *share = argument;
    const struct bench *bench = share->bench;
    size_t total = share->copies ? (size_t)(bench->row.bytes / 2) : bench->row.items;
    size_t first = total * share->index / bench->cores;
    size_t last = total * (share->index + 1) / bench->cores;
    for (size_t i = 0; i < share->repeats; i++) {
        if (share->copies) {
            memcpy(bench->copy_to + first, bench->copy_from + first, last - first);
        } else {
            bench->row.plain(&bench->row, first, last);
        }
        __asm__ volatile("" ::: "memory");
        if (bench->cores > 1) {
            meet(share->meeting, bench->cores, (unsigned)i);
        }
    }
    return NULL;
}

static bool threads_run(const struct bench *bench, size_t repeats, bool copies) {
    struct share *shares = calloc(bench->cores, sizeof *shares);
    if (!shares) {
        return false;
    }
    struct meeting meeting = {0};
    for (unsigned i = 0; i < bench->cores; i++) {
        shares[i] = (struct share){bench, &meeting, i, repeats, copies, 0};
    }
    for (unsigned i = 1; i < bench->cores; i++) {
        if (pthread_create(&shares[i].thread, NULL, run_share, &shares[i]) != 0) {
            perror("engine_bench: no thread for a plain loop"); /* the others would wait for it */
            _exit(1);
        }
    }
    run_share(&shares[0]);
    for (unsigned i = 1; i < bench->cores; i++) {
        pthread_join(shares[i].thread, NULL);
    }
    free(shares);
    return true;
}

/* ---- OpenBLAS ------------------------------------------------------------------------------ */
static sgemm_fn *find_sgemm(unsigned cores) {
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        return NULL;
    }
    void (*set_threads)(int) = NULL;
    sgemm_fn *sgemm = NULL;
    void *symbol = dlsym(library, "openblas_set_num_threads");
    memcpy(&set_threads, &symbol, sizeof symbol);
    symbol = dlsym(library, "cblas_sgemm");
    memcpy(&sgemm, &symbol, sizeof symbol);
    if (set_threads) {
        set_threads((int)cores);
    }
    return sgemm;
}

static void blas_run(const struct bench *bench, size_t repeats) {
    enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 };
    int n = (int)bench->row.scalars[0].u;
    for (size_t i = 0; i < repeats; i++) {
        bench->sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, n, n, n, 1.0f,
                     bench->row.buffers[0].data, n, bench->row.buffers[1].data, n, 0.0f,
                     bench->row.buffers[2].data, n);
    }
}

/* ---- one row ------------------------------------------------------------------------------- */
static bool run(struct bench *bench, enum competitor who, size_t repeats) {
    switch (who) {
    case INGOT:
    case INGOT_AVX2:
        return engine_run(&bench->engines[who], &bench->row, repeats);
    case PLAIN:
        return threads_run(bench, repeats, false);
    case MEMCPY:
        return threads_run(bench, repeats, true);
    case POCL:
        return opencl_run(bench->opencl_kernel, &bench->row, repeats);
    case BLAS:
        blas_run(bench, repeats);
        return true;
    default:
        return false;
    }
}

static bool same(const struct bench_row *row, const void *reference) {
    const struct bench_buffer *output = &row->buffers[row->output];
    if (row->integers) {
        return memcmp(output->data, reference, output->bytes) == 0;
    }
    const float *got = output->data, *expected = reference;
    double largest = 0;
    for (size_t i = 0; i < output->bytes / 4; i++) {
        largest = fmax(largest, fabs((double)expected[i]));
    }
    for (size_t i = 0; i < output->bytes / 4; i++) {
        if (!(fabs((double)got[i] - (double)expected[i]) <= row->tolerance * largest)) {
            return false;
        }
    }
    return true;
}

/* Every competitor's result against the plain loop's; a wrong one gets no figure. */
static bool check(struct bench *bench, struct figure *figures) {
    struct bench_buffer *output = &bench->row.buffers[bench->row.output];
    char *initial = malloc(output->bytes), *reference = malloc(output->bytes);
    bool enough = initial && reference;
    if (enough) {
        memcpy(initial, output->data, output->bytes);
        run(bench, PLAIN, 1);
        memcpy(reference, output->data, output->bytes);
    }
    for (enum competitor who = 0; enough && who < COMPETITORS; who++) {
        if (figures[who].missing[0] || who == PLAIN || who == MEMCPY) {
            continue;
        }
        memcpy(output->data, initial, output->bytes);
        if (!run(bench, who, 1)) {
            strcpy(figures[who].missing, "failed");
        } else if (!same(&bench->row, reference)) {
            strcpy(figures[who].missing, "wrong result");
        }
    }
    free(initial);
    free(reference);
    return enough;
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure(struct bench *bench, struct figure *figures) {
    static double samples[COMPETITORS][MAX_ROUNDS];
    size_t repeats[COMPETITORS] = {0};
    for (enum competitor who = 0; who < COMPETITORS; who++) {
        if (figures[who].missing[0]) {
            continue;
        }
        for (repeats[who] = 1;; repeats[who] *= 2) {
            double start = now();
            run(bench, who, repeats[who]);
            if (now() - start > (bench->best ? 0.001 : 0.008)) {
                break;
            }
        }
    }
    unsigned taken[COMPETITORS] = {0};
    double spent[COMPETITORS] = {0};
    for (unsigned round = 0; round < bench->rounds; round++) {
        for (enum competitor who = 0; who < COMPETITORS; who++) {
            if (!repeats[who] || (taken[who] >= 3 && spent[who] > ENOUGH_SECONDS)) {
                continue;
            }
            double start = now();
            run(bench, who, repeats[who]);
            double seconds = now() - start;
            samples[who][taken[who]++] = seconds / (double)repeats[who];
            spent[who] += seconds;
        }
    }
    for (enum competitor who = 0; who < COMPETITORS; who++) {
        if (!taken[who]) {
            continue;
        }
        qsort(samples[who], taken[who], sizeof(double), by_value);
        figures[who].seconds = samples[who][bench->best ? 0 : taken[who] / 2];
    }
}

static void bench_one(struct bench *bench, unsigned index, struct figure *figures) {
    if (!bench_row_make(index, &bench->row)) {
        for (enum competitor who = 0; who < COMPETITORS; who++) {
            strcpy(figures[who].missing, "no memory");
        }
        return;
    }
    const char *why = bench->no_opencl;
    for (enum competitor who = INGOT; who <= INGOT_AVX2; who++) {
        if (!bench->engines[who].stream || !engine_prepare(&bench->engines[who], &bench->row)) {
            strcpy(figures[who].missing, "failed");
        }
    }
    if (bench->opencl) {
        bench->opencl_kernel = opencl_prepare(bench->opencl, &bench->row, &why);
    }
    if (!bench->opencl_kernel) {
        snprintf(figures[POCL].missing, sizeof figures[POCL].missing, "%s", why);
    }
    if (bench->row.plain != plain_matmul) {
        strcpy(figures[BLAS].missing, "-");
    } else if (!bench->sgemm) {
        strcpy(figures[BLAS].missing, "not installed");
    }
    size_t copied = (size_t)(bench->row.bytes / 2);
    bench->copy_to = malloc(copied);
    bench->copy_from = malloc(copied);
    if (bench->copy_to && bench->copy_from) {
        memset(bench->copy_from, 1, copied);
    } else {
        strcpy(figures[MEMCPY].missing, "no memory");
    }
    for (enum competitor who = 0; bench->only && who < COMPETITORS; who++) {
        if (who != PLAIN && who != INGOT && strcmp(bench->only, competitor_names[who]) != 0) {
            strcpy(figures[who].missing, "-");
        }
    }
    if (check(bench, figures)) {
        measure(bench, figures);
    }
    free(bench->copy_to);
    free(bench->copy_from);
    opencl_release(bench->opencl_kernel);
    bench->opencl_kernel = NULL;
    for (enum competitor who = INGOT; who <= INGOT_AVX2; who++) {
        engine_finish(&bench->engines[who]);
    }
    bench_row_free(&bench->row);
}

/* One core is one CPU, for all that a competitor does: also for the threads that submit and wait,
 * and the same one for all, since CPUs differ in how far they are from the memory. */
static void stay_on_one_cpu(void) {
    int cpu = sched_getcpu();
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu >= 0 && cpu < CPU_SETSIZE) {
        CPU_SET((size_t)cpu, &set);
    }
    if (cpu < 0 || sched_setaffinity(0, sizeof set, &set) != 0) {
        perror("engine_bench: the run on one core may use others");
    }
}

/* In a process of its own. */
static int bench_cores(struct bench *bench, struct table *table) {
    if (bench->cores == 1) {
        stay_on_one_cpu();
    }
    bench->opencl = opencl_open(BENCH_SOURCE "/kernels.cl", bench->cores, &bench->no_opencl);
    bench->sgemm = find_sgemm(bench->cores);
    if (!engine_open(&bench->engines[INGOT], bench->cores, NULL, bench->archive)) {
        return 1;
    }
    ingot_device_info info;
    if (!good(ingot_device_get_info(bench->engines[INGOT].device, &info))) {
        return 1;
    }
    snprintf(table->target, sizeof table->target, "%s", info.target);
    engine_open(&bench->engines[INGOT_AVX2], bench->cores, "x86-64-v3", bench->archive);
    for (unsigned i = 0; i < BENCH_ROWS; i++) {
        if (bench->only_row >= 0 && bench->only_row != (int)i) {
            continue;
        }
        fprintf(stderr, "%u core%s: %s\n", bench->cores, bench->cores == 1 ? "" : "s",
                bench_row_name(i));
        bench_one(bench, i, table->figures[i]);
    }
    table->done = true;
    return 0;
}

static bool bench_process(struct bench *bench, struct table *table) {
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        return false;
    }
    if (child == 0) {
        _exit(bench_cores(bench, table));
    }
    int status;
    return waitpid(child, &status, 0) == child && table->done;
}

/* ---- output -------------------------------------------------------------------------------- */
static void print_ratio(const struct figure *ours, const struct figure *theirs) {
    char text[32];
    if (ours->seconds > 0 && theirs->seconds > 0) {
        snprintf(text, sizeof text, "%.2f", theirs->seconds / ours->seconds);
    } else {
        snprintf(text, sizeof text, "%s", theirs->missing[0] ? theirs->missing : "-");
    }
    printf(" %13s |", text);
}

static void print_table(const struct table *table, const struct table *single, unsigned cores) {
    printf("\n%u core%s, %s. Ratios of speed: above 1, ingot is faster.\n\n", cores,
           cores == 1 ? "" : "s", table->target);
    printf("| %-19s | %-22s | %13s | %13s | %13s | %13s | %13s | %9s |\n", "row", "ingot",
           "plain C", "PoCL", "memcpy", "OpenBLAS", "AVX2 / best", "/ 1 core");
    printf("|---|---|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < BENCH_ROWS; i++) {
        const struct figure *figures = table->figures[i];
        struct bench_row row;
        if (!figures[PLAIN].seconds || !bench_row_make(i, &row)) {
            continue;
        }
        char speed[64];
        double rate = figures[INGOT].seconds > 0 ? row.work / figures[INGOT].seconds / 1e9 : 0;
        snprintf(speed, sizeof speed, rate > 0 ? "%.2f G %s/s" : "failed", rate, row.unit);
        if (figures[INGOT].missing[0]) {
            snprintf(speed, sizeof speed, "%s", figures[INGOT].missing);
        }
        bench_row_free(&row);
        printf("| %-19s | %-22s |", bench_row_name(i), speed);
        for (enum competitor who = PLAIN; who < COMPETITORS; who++) {
            print_ratio(&figures[INGOT], &figures[who]);
        }
        print_ratio(&figures[INGOT_AVX2], &figures[INGOT]);
        if (single && figures[INGOT].seconds > 0) {
            printf(" %9.2f |\n", single->figures[i][INGOT].seconds / figures[INGOT].seconds);
        } else {
            printf(" %9s |\n", "");
        }
    }
}

static void print_json(const struct table *tables, const unsigned *cores, unsigned count) {
    printf("{\"tables\": [");
    for (unsigned t = 0; t < count; t++) {
        printf("%s\n {\"cores\": %u, \"target\": \"%s\", \"rows\": [", t ? "," : "", cores[t],
               tables[t].target);
        for (unsigned i = 0; i < BENCH_ROWS; i++) {
            printf("%s\n  {\"row\": \"%s\"", i ? "," : "", bench_row_name(i));
            for (enum competitor who = 0; who < COMPETITORS; who++) {
                const struct figure *figure = &tables[t].figures[i][who];
                if (figure->seconds > 0) {
                    printf(", \"%s_seconds\": %.9g", competitor_names[who], figure->seconds);
                }
            }
            printf("}");
        }
        printf("]}");
    }
    printf("\n]}\n");
}

/* Numbers with commas between them: how many. */
static unsigned read_counts(const char *text, unsigned counts[MAX_TABLES]) {
    unsigned count = 0;
    for (; text && atoi(text) > 0 && count < MAX_TABLES; count++) {
        counts[count] = (unsigned)atoi(text);
        text = strchr(text, ',');
        text = text ? text + 1 : NULL;
    }
    return count;
}

int main(int count, char **arguments) {
    struct bench bench = {.rounds = 15, .only_row = -1};
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned cores[MAX_TABLES] = {1, online > 1 ? (unsigned)online : 1};
    unsigned tables_wanted = online > 1 ? 2 : 1;
    bool json = false;
    for (int i = 1; i < count; i++) {
        const char *value = i + 1 < count ? arguments[i + 1] : NULL;
        if (!strcmp(arguments[i], "--json")) {
            json = true;
        } else if (!strcmp(arguments[i], "--rounds") && value && atoi(value) > 0) {
            bench.rounds = (unsigned)(atoi(value) < MAX_ROUNDS ? atoi(value) : MAX_ROUNDS);
            i++;
        } else if (!strcmp(arguments[i], "--best")) {
            bench.best = true;
        } else if (!strcmp(arguments[i], "--cpu-time")) {
            bench_clock = CLOCK_PROCESS_CPUTIME_ID;
        } else if (!strcmp(arguments[i], "--archive") && value) {
            bench.archive = value;
            i++;
        } else if (!strcmp(arguments[i], "--only") && value) {
            bench.only = value;
            i++;
        } else if (!strcmp(arguments[i], "--row") && value) {
            bench.only_row = atoi(value);
            i++;
        } else if (!strcmp(arguments[i], "--cores") && value && atoi(value) > 0) {
            tables_wanted = read_counts(value, cores);
            i++;
        } else {
            fprintf(stderr,
                    "usage: engine_bench [--json] [--rounds N] [--row 0…%d] [--cores N[,N…]] "
                    "[--best] [--cpu-time] [--archive FILE] "
                    "[--only ingot|ingot_avx2|pocl|memcpy|openblas]\n",
                    BENCH_ROWS - 1);
            return 2;
        }
    }
    struct table *tables = mmap(NULL, MAX_TABLES * sizeof *tables, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tables == MAP_FAILED) {
        perror("engine_bench: no memory for the results");
        return 3;
    }
    for (unsigned i = 0; i < tables_wanted; i++) {
        bench.cores = cores[i];
        if (!bench_process(&bench, &tables[i])) {
            fprintf(stderr, "engine_bench: the run on %u cores did not finish\n", cores[i]);
            return 1;
        }
        if (!json) {
            print_table(&tables[i], i ? &tables[0] : NULL, cores[i]);
        }
    }
    if (json) {
        print_json(tables, cores, tables_wanted);
    }
    return 0;
}
