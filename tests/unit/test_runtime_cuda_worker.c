/*
 * A CUDA device in a process of its own (src/runtime/cuda/remote.h), over the fake driver, which
 * runs PTX: the same results as here, a new context after faults, processes that end.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "runtime_cuda_support.h"

static const char source[] =
    "#include <metal_stdlib>\n"
    "#include <metal_logging>\n"
    "using namespace metal;\n"
    "struct Params { uint count; float scale; float more[30]; };\n"
    "kernel void add_one(device uint *data [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
    "  data[i] = data[i] + i + 1; }\n"
    "kernel void sums(device float *data [[buffer(0)]], constant Params &p [[buffer(1)]],\n"
    "    constant float *table [[buffer(2)]], threadgroup float *shared [[threadgroup(0)]],\n"
    "    uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],\n"
    "    uint n [[threads_per_threadgroup]]) {\n"
    "  shared[t] = i < p.count ? data[i] * p.scale + table[t] : 0;\n"
    "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "  data[i] = shared[n - 1 - t] + p.more[29]; }\n"
    "kernel void wild(device uint *data [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
    "  data[i + 0x10000000] = 1; }\n"
    "kernel void endless(device atomic_uint *data [[buffer(0)]]) {\n"
    "  while (atomic_load_explicit(data, memory_order_relaxed) != 12345) {} }\n"
    "kernel void says(device uint *data [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
    "  if (i == 5) os_log_default.log(\"five has %u\", data[i]); }\n"
    "kernel void misses(device uint *data [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
    "  if (i < 16) threadgroup_barrier(mem_flags::mem_device); data[i] = 1; }\n";

enum { WORDS = 64 };

/* ---- processes ---- */

/* Our child that is a worker, or 0. */
static pid_t worker_process(void) {
    DIR *folder = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        char path[300], name[32] = "", state = 0;
        int pid = 0, parent = 0;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (!file) {
            continue;
        }
        if (fscanf(file, "%d (%31[^)]) %c %d", &pid, name, &state, &parent) == 4 &&
            parent == (int)getpid() && strncmp(name, "ingot-cuda-work", 15) == 0) {
            found = pid;
        }
        fclose(file);
    }
    if (folder) {
        closedir(folder);
    }
    return found;
}

static bool has_no_children(void) {
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

static void sleep_ms(long ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the device ---- */

static void open_device(void) {
    OK(ingot_device_open("cuda", NULL, &device));
    OK(ingot_library_create_from_source(
        device, &(ingot_source_desc){.source = source, .name = "worker.metal"}, &library));
    OK(ingot_stream_create(device, &stream));
}

static bool is_elsewhere(void) {
    ingot_device_info info;
    OK(ingot_device_get_info(device, &info));
    return strstr(info.description, "in a process of its own") != NULL;
}

/* add_one three times over zeros: queued work keeps its order. */
static void check_results(void) {
    ingot_buffer *data = NULL, *copy = NULL;
    uint32_t words[WORDS] = {0};
    ingot_kernel *add_one = kernel_named("add_one");
    OK(ingot_buffer_create(device, sizeof words, &data));
    OK(ingot_buffer_create(device, sizeof words, &copy));
    OK(run_one(add_one, data, 0));
    OK(run_one(add_one, data, 0));
    OK(ingot_stream_copy(stream, data, 0, copy, 0, sizeof words));
    OK(ingot_stream_fill(stream, data, 0, sizeof words, 0));
    OK(run_one(add_one, copy, 0));
    OK(ingot_stream_download(stream, copy, 0, words, sizeof words));
    bool right = true;
    for (uint32_t i = 0; i < WORDS; i++) {
        right &= words[i] == 3 * (i + 1);
    }
    CHECK(right);
    OK(ingot_stream_download(stream, data, 0, words, sizeof words));
    CHECK(words[0] == 0 && words[WORDS - 1] == 0);
    ingot_kernel_release(add_one);
    ingot_buffer_release(data);
    ingot_buffer_release(copy);
}

/* Kernel "wild" on a new device: its error names it, and the device is lost. */
static void check_fault(void) {
    ingot_buffer *data = NULL;
    ingot_kernel *wild = kernel_named("wild");
    OK(ingot_buffer_create(device, 256, &data));
    OK(run_one(wild, data, 0));
    FAILS(ingot_stream_wait(stream), INGOT_KERNEL_FAULT,
          "kernel \"wild\" failed: CUDA_ERROR_ILLEGAL_ADDRESS");
    FAILS(ingot_stream_wait(stream), INGOT_DEVICE_LOST, "cuda:0", "\"wild\"", "open it again");
    ingot_kernel_release(wild);
    ingot_buffer_release(data);
}

static void start_elsewhere(void) {
    setenv("INGOT_CUDA_WORKER", "1", 1);
    load_fake();
    open_device();
    CHECK(is_elsewhere() && worker_process() != 0);
}

/* ---- groups ---- */

static void faults(void) {
    setenv("FAKE_CUDA_FAULTS_STAY", "1", 1);
    load_fake();
    open_device();
    CHECK(!is_elsewhere() && has_no_children());
    check_results();
    ingot_stream *foreign = NULL;
    OK(ingot_stream_wrap(device, NULL, &foreign));
    check_fault();
    FAILS(ingot_stream_wait(foreign), INGOT_DEVICE_LOST, "\"wild\"", "torch's CUDA tensors");
    ingot_stream_release(foreign);
    ingot_device *first_device = device;
    ingot_library *first_library = library;
    ingot_stream *first_stream = stream;
    for (int again = 0; again < 3; again++) {
        open_device();
        CHECK(is_elsewhere());
        check_results();
        check_fault();
        CHECK(has_no_children()); /* it ends with the fault */
        close_all();
    }
    open_device();
    check_results();
    int here = 0;
    ingot_buffer *wrapped = NULL;
    ingot_stream *other = NULL;
    FAILS(ingot_buffer_wrap(device, &here, sizeof here, NULL, NULL, &wrapped), INGOT_UNSUPPORTED,
          "in a process of its own, since kernel \"wild\" failed", "takes a new process");
    FAILS(ingot_stream_wrap(device, &here, &other), INGOT_UNSUPPORTED,
          "in a process of its own, since kernel \"wild\" failed", "takes a new process");
    close_all();
    CHECK(has_no_children());
    ingot_stream_release(first_stream);
    ingot_library_release(first_library);
    ingot_device_release(first_device);
}

/* The same numbers from here and from there. */
static void compute_sums(float *results, double *elapsed) {
    ingot_buffer *data = NULL;
    ingot_event *start = NULL, *end = NULL;
    struct {
        uint32_t count;
        float scale, more[30];
    } params = {50, 2.5f, {0}};
    float input[WORDS], table[2000];
    for (int i = 0; i < WORDS; i++) {
        input[i] = 0.25f * (float)i;
    }
    for (int i = 0; i < 2000; i++) {
        table[i] = (float)i * 3;
    }
    params.more[29] = 0.125f;
    ingot_kernel *sums = kernel_named("sums");
    OK(ingot_buffer_create(device, sizeof input, &data));
    OK(ingot_event_create(device, &start));
    OK(ingot_event_create(device, &end));
    OK(ingot_stream_upload(stream, data, 0, input, sizeof input));
    const ingot_arg args[] = {{.buffer = data},
                              {.bytes = &params, .size = sizeof params},
                              {.bytes = table, .size = sizeof table}};
    const uint32_t group_memory[] = {32 * sizeof(float)};
    OK(ingot_stream_record(stream, start));
    OK(ingot_stream_dispatch(stream, &(ingot_dispatch_desc){.kernel = sums,
                                                            .threads = {WORDS},
                                                            .group = {32},
                                                            .args = args,
                                                            .arg_count = 3,
                                                            .threadgroup_lengths = group_memory,
                                                            .threadgroup_length_count = 1}));
    OK(ingot_stream_record(stream, end));
    OK(ingot_event_wait(end));
    CHECK(ingot_event_done(start) && ingot_event_done(end));
    OK(ingot_event_elapsed(start, end, elapsed));
    OK(ingot_stream_wait_event(stream, end));
    OK(ingot_stream_download(stream, data, 0, results, WORDS * sizeof *results));
    ingot_event_release(start);
    ingot_event_release(end);
    ingot_kernel_release(sums);
    ingot_buffer_release(data);
}

static void same_results(void) {
    float here[WORDS] = {0}, there[WORDS] = {1};
    double time_here = 0, time_there = 1;
    load_fake();
    open_device();
    CHECK(!is_elsewhere());
    compute_sums(here, &time_here);
    close_all();
    start_elsewhere();
    compute_sums(there, &time_there);
    CHECK(memcmp(here, there, sizeof here) == 0 && here[0] != 0 && here[63] != here[0]);
    CHECK(time_here > 0 && time_here == time_there); /* the fake's clock counts launches */
    close_all();
    CHECK(has_no_children());
}

static char heard[100];

static void listen(void *context, int level, const char *message) {
    (void)context;
    (void)level;
    snprintf(heard, sizeof heard, "%s", message);
}

static void messages_and_barriers(void) {
    start_elsewhere();
    ingot_buffer *data = NULL, *none = NULL;
    OK(ingot_buffer_create(device, 256, &data));
    ingot_kernel *says = kernel_named("says"), *misses = kernel_named("misses");
    ingot_set_log_function(listen, NULL);
    OK(ingot_stream_fill(stream, data, 0, 256, 1));
    OK(run_one(says, data, 0));
    OK(ingot_stream_wait(stream));
    CHECK(strcmp(heard, "five has 16843009") == 0);
    OK(run_one(misses, data, 0));
    FAILS(ingot_stream_wait(stream), INGOT_BARRIER_ERROR, "kernel \"misses\"", "SIMD-group 0");
    OK(run_one(says, data, 0)); /* the context is as good as before */
    OK(ingot_stream_wait(stream));
    FAILS(ingot_buffer_create(device, (uint64_t)5 << 30, &none), INGOT_OUT_OF_MEMORY, "5368709120");
    /* Work that the driver refuses is told at the wait, not before. */
    setenv("FAKE_CUDA_FAIL", "cuMemcpyDtoDAsync:1:1", 1);
    ingot_kernel_release(says);
    ingot_kernel_release(misses);
    ingot_buffer_release(data);
    close_all();
    open_device();
    unsetenv("FAKE_CUDA_FAIL");
    OK(ingot_buffer_create(device, 256, &data));
    OK(ingot_stream_copy(stream, data, 0, data, 128, 64));
    FAILS(ingot_stream_wait(stream), INGOT_LAUNCH_ERROR, "work could not be queued", "cuda:0");
    OK(ingot_stream_wait(stream));
    ingot_buffer_release(data);
    check_results();
    close_all();
}

static void wrong_code(void) {
    start_elsewhere();
    ingot_library *good = library;
    ingot_kernel *wrong = NULL;
    make_library();
    FAILS(ingot_kernel_create(library, &(ingot_kernel_desc){.name = "wrong"}, &wrong),
          INGOT_BAD_ARCHIVE, "wrong", "CUDA_ERROR_INVALID_PTX", "fatal: no version");
    ingot_library_release(library);
    library = good;
    check_results();
    close_all();
}

/* More bytes than the shared memory holds at once, and a few. */
static void bulk(void) {
    enum { COUNT = 5 << 20 };
    setenv("FAKE_CUDA_FAIL", "cuMemcpyHtoDAsync:2:2", 1);
    start_elsewhere();
    uint32_t *words = malloc(4 * (size_t)COUNT), *back = calloc(COUNT, 4);
    ingot_buffer *data = NULL;
    CHECK(words && back);
    for (uint32_t i = 0; words && i < COUNT; i++) {
        words[i] = i * 2654435761u;
    }
    OK(ingot_buffer_create(device, 4 * (uint64_t)COUNT, &data));
    FAILS(ingot_stream_upload(stream, data, 0, words, 4 * (uint64_t)COUNT), INGOT_OUT_OF_MEMORY,
          "ingot_stream_upload"); /* its second part; answers and calls still belong together */
    OK(ingot_stream_upload(stream, data, 0, words, 4 * (uint64_t)COUNT));
    words[7] = 99;
    OK(ingot_stream_upload(stream, data, 28, words + 7, 4));
    OK(ingot_stream_download(stream, data, 0, back, 4 * (uint64_t)COUNT));
    CHECK(memcmp(words, back, 4 * (size_t)COUNT) == 0);
    ingot_buffer_release(data);
    free(words);
    free(back);
    close_all();
}

static void endless_kernel(void) {
    setenv("PTX_STEPS", "10000", 1);
    start_elsewhere();
    for (int again = 0; again < 2; again++) {
        ingot_buffer *data = NULL;
        uint32_t word;
        OK(ingot_buffer_create(device, 256, &data));
        ingot_kernel *endless = kernel_named("endless");
        OK(run_one(endless, data, 0.05));
        if (again) {
            FAILS(ingot_stream_download(stream, data, 0, &word, 4), INGOT_TIMEOUT,
                  "kernel \"endless\"", "0.05 s and was ended");
        } else {
            FAILS(ingot_stream_wait(stream), INGOT_TIMEOUT, "kernel \"endless\"",
                  "0.05 s and was ended");
        }
        CHECK(has_no_children());
        FAILS(ingot_stream_wait(stream), INGOT_DEVICE_LOST, "endless", "open it again");
        ingot_kernel_release(endless);
        ingot_buffer_release(data);
        close_all();
        open_device();
        check_results();
    }
    close_all();
    CHECK(has_no_children());
}

static void killed(void) {
    start_elsewhere();
    check_results();
    ingot_buffer *data = NULL;
    double before = seconds();
    OK(ingot_buffer_create(device, 256, &data));
    kill(worker_process(), SIGKILL);
    FAILS(ingot_stream_download(stream, data, 0, &before, 8), INGOT_DEVICE_LOST, "cuda:0",
          "ingot-cuda-worker", "was ended by signal 9 (Killed)", "open it again");
    ingot_buffer_release(data);
    CHECK(has_no_children());
    close_all();
    /* While a kernel runs: its stream has the error. */
    setenv("PTX_STEPS", "10000", 1);
    open_device();
    OK(ingot_buffer_create(device, 256, &data));
    ingot_kernel *endless = kernel_named("endless");
    OK(run_one(endless, data, 100));
    kill(worker_process(), SIGTERM);
    FAILS(ingot_stream_wait(stream), INGOT_DEVICE_LOST, "was ended by signal 15",
          "while it ran kernel \"endless\"");
    ingot_kernel_release(endless);
    ingot_buffer_release(data);
    close_all();
    CHECK(has_no_children());
    open_device();
    check_results();
    close_all();
}

/* ---- threads and forks ---- */

static ingot_kernel *shared_kernel;

static void *work(void *result) {
    ingot_stream *own = NULL;
    ingot_buffer *data = NULL;
    uint32_t words[WORDS] = {0};
    bool right = ingot_stream_create(device, &own) == INGOT_OK &&
                 ingot_buffer_create(device, sizeof words, &data) == INGOT_OK;
    for (uint32_t round = 1; round <= 20 && right; round++) {
        right &= run_in(own, shared_kernel, data, 0) == INGOT_OK;
        right &= ingot_stream_download(own, data, 0, words, sizeof words) == INGOT_OK;
        right &= words[0] == round && words[WORDS - 1] == round * WORDS;
    }
    ingot_buffer_release(data);
    ingot_stream_release(own);
    *(bool *)result = right;
    return NULL;
}

/* Opened by a thread that ends: the process goes on. */
static void *open_in_thread(void *place) {
    return ingot_device_open("cuda", NULL, place) == INGOT_OK ? NULL : place;
}

static void threads(void) {
    enum { COUNT = 4 };
    pthread_t ids[COUNT];
    bool right[COUNT] = {0};
    ingot_device *more[COUNT] = {0};
    start_elsewhere();
    shared_kernel = kernel_named("add_one");
    for (int i = 0; i < COUNT; i++) {
        CHECK(pthread_create(&ids[i], NULL, work, &right[i]) == 0);
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(pthread_join(ids[i], NULL) == 0 && right[i]);
    }
    ingot_kernel_release(shared_kernel);
    for (int i = 0; i < COUNT; i++) {
        CHECK(pthread_create(&ids[i], NULL, open_in_thread, &more[i]) == 0);
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(pthread_join(ids[i], NULL) == 0 && more[i] != NULL);
    }
    ingot_buffer *data = NULL;
    OK(ingot_buffer_create(more[0], 256, &data)); /* the thread is gone */
    ingot_buffer_release(data);
    for (int i = 0; i < COUNT; i++) {
        ingot_device_release(more[i]);
    }
    check_results();
    close_all();
    CHECK(has_no_children());
}

static void forks(void) {
    start_elsewhere();
    fflush(stderr);
    pid_t child = fork();
    if (child == 0) {
        ingot_buffer *none = NULL;
        check_failed = 0;
        FAILS(ingot_buffer_create(device, 64, &none), INGOT_DEVICE_LOST, "forked from");
        ingot_device *own = NULL;
        OK(ingot_device_open("cuda", NULL, &own));
        OK(ingot_buffer_create(own, 64, &none));
        ingot_buffer_release(none);
        ingot_device_release(own);
        _exit(check_failed ? 1 : 0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    check_results();
    close_all();
    /* A process that is killed takes its worker along, though a child of it lives on. */
    int channel[2];
    CHECK(pipe(channel) == 0);
    child = fork();
    if (child == 0) {
        open_device();
        pid_t two[2] = {worker_process(), fork()};
        if (two[1] == 0) {
            sleep_ms(20000);
            _exit(0);
        }
        ssize_t told = write(channel[1], two, sizeof two);
        kill(getpid(), told ? SIGKILL : SIGTERM);
    }
    pid_t two[2] = {0, 0};
    CHECK(read(channel[0], two, sizeof two) == sizeof two && two[0] > 0 && two[1] > 0);
    waitpid(child, &status, 0);
    close(channel[0]);
    close(channel[1]);
    char path[64], state = 'R';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)two[0]);
    for (int looks = 0; looks < 200 && state != 'Z'; looks++) {
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1) {
            state = 'Z';
        }
        if (file) {
            fclose(file);
        }
        sleep_ms(25);
    }
    CHECK(state == 'Z');
    if (two[1] > 0) {
        kill(two[1], SIGKILL);
    }
}

static void missing_program(void) {
    ingot_device *none = NULL;
    setenv("INGOT_CUDA_WORKER", "1", 1);
    load_fake();
    setenv("INGOT_CUDA_WORKER_PROGRAM", "/nowhere/worker", 1);
    FAILS(ingot_device_open("cuda", NULL, &none), INGOT_NOT_FOUND, "$INGOT_CUDA_WORKER_PROGRAM",
          "/nowhere/worker");
    setenv("INGOT_CUDA_WORKER_PROGRAM", "/bin/true", 1); /* which knows nothing of this */
    FAILS(ingot_device_open("cuda", NULL, &none), INGOT_DEVICE_LOST, "/bin/true does not start",
          "ended with status 0");
    CHECK(has_no_children());
    setenv("INGOT_CUDA_WORKER_PROGRAM", "/nowhere/worker", 1);
    unsetenv("INGOT_CUDA_WORKER");
    setenv("FAKE_CUDA_FAULTS_STAY", "1", 1);
    open_device();
    check_fault();
    FAILS(ingot_device_open("cuda", NULL, &none), INGOT_DEVICE_LOST,
          "no context on device \"cuda:0\"",
          "after a fault the driver gives a process no other one", "/nowhere/worker");
    close_all();
}

int main(void) {
    static const test_group groups[] = {same_results,   faults, messages_and_barriers,
                                        wrong_code,     bulk,   killed,
                                        endless_kernel, forks,  missing_program};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        run_group(groups[i]);
    }
    threads(); /* not in a forked process, whose locks ThreadSanitizer takes for held */
    return check_report();
}
