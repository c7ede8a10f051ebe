/* What the tests of the CUDA device share: kernels of the fake driver, an archive of them,
 * launches. */
#ifndef TESTS_RUNTIME_CUDA_SUPPORT_H
#define TESTS_RUNTIME_CUDA_SUPPORT_H

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cuda_abi.h"
#include "fake_cuda.h"
#include "runtime_support.h"

struct params {
    uint32_t count;
    float scale;
    uint32_t more[2];
};

static const struct ig_argument scale_arguments[] = {
    BUFFER_ARGUMENT("data", "float", 0, 4),
    REFERENCE_ARGUMENT("params", "Params", 1, sizeof(struct params)),
    CONSTANT_ARGUMENT("table", "float", 2, 4),
    BUFFER_ARGUMENT("extra", "float", 3, 4),
    THREADGROUP_ARGUMENT("shared", "float", 0, 4),
};
static const struct ig_argument one_argument[] = {BUFFER_ARGUMENT("data", "uint", 0, 4)};

#define SCALE_COUNT (sizeof scale_arguments / sizeof scale_arguments[0])

/* ---- kernels of the fake ---- */

static unsigned char seen_block[INGOT_CUDA_MAX_BLOCK];
static unsigned seen_grid[3], seen_threads, seen_shared;
static float seen_extra[2];

static inline const struct ingot_cuda_launch *seen_header(void) {
    return (const void *)seen_block;
}

static uint64_t seen_buffer(uint32_t slot) {
    uint64_t address;
    memcpy(&address, seen_block + ingot_cuda_buffers_at() + 8 * slot, sizeof address);
    return address;
}

static int kernel_scale(const void *block, const unsigned grid[3], unsigned threads,
                        unsigned shared) {
    memcpy(seen_block, block, ingot_cuda_block_bytes(scale_arguments, SCALE_COUNT));
    memcpy(seen_grid, grid, sizeof seen_grid);
    seen_threads = threads;
    seen_shared = shared;
    memcpy(seen_extra, (const void *)(uintptr_t)seen_buffer(3), sizeof seen_extra);
    struct params params;
    uint64_t at = seen_buffer(1);
    memcpy(&params, at < INGOT_CUDA_INLINE_LIMIT ? seen_block + at : (void *)(uintptr_t)at,
           sizeof params);
    float *data = (float *)(uintptr_t)seen_buffer(0);
    for (uint32_t i = 0; i < params.count; i++) {
        data[i] *= params.scale;
    }
    return 0;
}

static int kernel_mark(const void *block, const unsigned grid[3], unsigned threads,
                       unsigned shared) {
    uint64_t address;
    (void)shared;
    memcpy(&address, (const char *)block + ingot_cuda_buffers_at(), sizeof address);
    for (uint32_t i = 0; i < grid[0] * threads; i++) {
        ((uint32_t *)(uintptr_t)address)[i] = i + 1;
    }
    return 0;
}

static int kernel_fault(const void *block, const unsigned grid[3], unsigned threads,
                        unsigned shared) {
    (void)block;
    (void)grid;
    (void)threads;
    (void)shared;
    return 700;
}

static int kernel_hang(const void *block, const unsigned grid[3], unsigned threads,
                       unsigned shared) {
    kernel_fault(block, grid, threads, shared);
    return 600;
}

static void put_record(unsigned char *log, uint32_t level, uint64_t slot, const char *format) {
    struct ingot_cuda_log *head = (void *)log;
    uint32_t length = (uint32_t)strlen(format);
    struct ingot_cuda_record record = {24 + (length + 7) / 8 * 8, level, 1, length};
    unsigned char *at = log + sizeof *head + head->used;
    memcpy(at, &record, sizeof record);
    memcpy(at + sizeof record, &slot, sizeof slot);
    memcpy(at + sizeof record + 8, format, length);
    head->used += record.size;
}

static const struct fake_cuda_control *fake;

static int kernel_log(const void *block, const unsigned grid[3], unsigned threads,
                      unsigned shared) {
    kernel_fault(block, grid, threads, shared);
    put_record(fake->kernel_log(), 16, 41, "answer %d");
    uint64_t text; /* in the device's memory */
    memcpy(&text, (const char *)block + ingot_cuda_buffers_at(), sizeof text);
    memcpy((void *)(uintptr_t)text, "text", 5);
    put_record(fake->kernel_log(), 1, text, "a %s");
    ((struct ingot_cuda_log *)fake->kernel_log())->lost = 3;
    return 0;
}

static int kernel_log_deep(const void *block, const unsigned grid[3], unsigned threads,
                           unsigned shared) {
    kernel_fault(block, grid, threads, shared);
    put_record(fake->kernel_log(), INGOT_CUDA_LOG_ENDED, 12, "");
    return 0;
}

/* SIMD-groups 0 and 3 of 4 are at a barrier; "stop_lanes": one has lost lanes. */
static int stop_with(const void *block, struct ingot_cuda_failure failure) {
    const struct ingot_cuda_launch *launch = block;
    struct ingot_cuda_failure *place = fake->kernel_log();
    memcpy(seen_block, block, sizeof *launch);
    failure.claim = 1;
    failure.stream = launch->stream;
    if (!place->claim && !(launch->flags & INGOT_CUDA_LENIENT_BARRIERS)) {
        *place = failure;
    }
    return 0;
}

static int kernel_stop(const void *block, const unsigned grid[3], unsigned threads,
                       unsigned shared) {
    kernel_fault(block, grid, threads, shared);
    return stop_with(
        block, (struct ingot_cuda_failure){
                   .kind = INGOT_CUDA_BARRIER_ENDED, .group = {1, 2, 3}, .came = 0x9, .all = 0xf});
}

static int kernel_stop_lanes(const void *block, const unsigned grid[3], unsigned threads,
                             unsigned shared) {
    kernel_fault(block, grid, threads, shared);
    return stop_with(
        block, (struct ingot_cuda_failure){
                   .kind = INGOT_CUDA_BARRIER_LANES, .simdgroup = 5, .came = 0x1f, .all = 0xff});
}

/* ---- what every group starts from ---- */

static ingot_device *device;
static ingot_library *library;
static ingot_stream *stream;

static struct {
    const char *name, *target, *code;
    const struct ig_argument *arguments;
    uint32_t argument_count, static_bytes;
} kernels[] = {
    {"scale", "sm_90", "// fake scale", scale_arguments, SCALE_COUNT, 40},
    {"mark", "sm_80", "// fake mark", one_argument, 1, 0},
    {"waits", "sm_90", "// fake mark\ngriddepcontrol.wait;", one_argument, 1, 0},
    {"fault", "sm_90", "// fake fault", one_argument, 1, 0},
    {"hang", "sm_90", "// fake hang", one_argument, 1, 0},
    {"log", "sm_90", "// fake log ingot_log", one_argument, 1, 0},
    {"log_deep", "sm_90", "// fake log_deep ingot_log", one_argument, 1, 0},
    {"stop", "sm_90", "// fake stop ingot_failure", one_argument, 1, 0},
    {"stop_lanes", "sm_90", "// fake stop_lanes ingot_failure", one_argument, 1, 0},
    {"large", "sm_90", "// fake mark", one_argument, 1, 60000},
    {"wrong", "sm_90", "not ptx", one_argument, 1, 0},
    {"elsewhere", "x86-64-v3", "elf", one_argument, 1, 0},
    {"own", "sm_90a", "// fake mark", one_argument, 1, 0},
};
#define KERNEL_COUNT (sizeof kernels / sizeof kernels[0])

static void make_library_of(const struct ig_variant *variants, const char *const *names,
                            uint32_t count) {
    const struct ig_archive archive = {.compiler = "hand-made",
                                       .source_name = "test.metal",
                                       .source = "",
                                       .options = "",
                                       .warnings = "",
                                       .kernel_count = count,
                                       .kernels = names,
                                       .variant_count = count,
                                       .variants = variants};
    void *bytes = NULL;
    size_t size = 0;
    CHECK(ig_archive_write(&archive, &bytes, &size, NULL) == INGOT_OK);
    OK(ingot_library_create_from_memory(device, bytes, size, &library));
    free(bytes);
}

static void make_library(void) {
    struct ig_variant variants[KERNEL_COUNT] = {0};
    struct ig_code codes[KERNEL_COUNT] = {0};
    const char *names[KERNEL_COUNT];
    for (size_t i = 0; i < KERNEL_COUNT; i++) {
        names[i] = kernels[i].name;
        codes[i] = (struct ig_code){.target = kernels[i].target,
                                    .bytes = kernels[i].code,
                                    .size = strlen(kernels[i].code) + 1};
        variants[i] = (struct ig_variant){.kernel = kernels[i].name,
                                          .constants = "",
                                          .max_threads = 1024,
                                          .static_threadgroup_bytes = kernels[i].static_bytes,
                                          .argument_count = kernels[i].argument_count,
                                          .arguments = kernels[i].arguments,
                                          .code_count = 1,
                                          .codes = &codes[i]};
    }
    make_library_of(variants, names, KERNEL_COUNT);
}

static inline void open_with(const ingot_device_desc *desc) {
    OK(ingot_device_open("cuda", desc, &device));
    make_library();
    OK(ingot_stream_create(device, &stream));
}

static void close_all(void) {
    ingot_stream_release(stream);
    ingot_library_release(library);
    ingot_device_release(device);
}

static bool load_fake(void) {
    setenv("INGOT_CUDA_LIBRARY", FAKE_CUDA_LIBRARY, 1);
    void *handle = dlopen(FAKE_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *address = handle ? dlsym(handle, "fake_cuda_control") : NULL;
    const struct fake_cuda_control *(*control)(void);
    memcpy(&control, &address, sizeof control);
    CHECK(address != NULL);
    if (!address) {
        return false;
    }
    fake = control();
    fake->add_kernel("scale", kernel_scale);
    fake->add_kernel("mark", kernel_mark);
    fake->add_kernel("fault", kernel_fault);
    fake->add_kernel("hang", kernel_hang);
    fake->add_kernel("log", kernel_log);
    fake->add_kernel("log_deep", kernel_log_deep);
    fake->add_kernel("stop", kernel_stop);
    fake->add_kernel("stop_lanes", kernel_stop_lanes);
    return true;
}

static ingot_kernel *kernel_named(const char *name) {
    ingot_kernel *kernel = NULL;
    OK(ingot_kernel_create(library, &(ingot_kernel_desc){.name = name}, &kernel));
    return kernel;
}

static ingot_status run_in(ingot_stream *where, ingot_kernel *kernel, ingot_buffer *buffer,
                           double limit) {
    const ingot_arg arg = {.buffer = buffer};
    const ingot_dispatch_desc desc = {.kernel = kernel,
                                      .threads = {64},
                                      .group = {32},
                                      .args = &arg,
                                      .arg_count = 1,
                                      .time_limit_seconds = limit};
    return ingot_stream_dispatch(where, &desc);
}

static ingot_status run_one(ingot_kernel *kernel, ingot_buffer *buffer, double limit) {
    return run_in(stream, kernel, buffer, limit);
}

/* ---- groups of checks ---- */

typedef void (*test_group)(void);

/* In a process of its own, since a process loads the driver once. */
static void run_group(test_group group) {
    int counts[2] = {0, 1}, channel[2];
    fflush(stderr);
    if (pipe(channel)) {
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        check_passed = check_failed = 0;
        group();
        int own[2] = {check_passed, check_failed};
        ssize_t written = write(channel[1], own, sizeof own);
        exit(written == sizeof own ? 0 : 1);
    }
    close(channel[1]);
    int status = 0;
    bool good = child > 0 && read(channel[0], counts, sizeof counts) == sizeof counts;
    close(channel[0]);
    if (child > 0) {
        waitpid(child, &status, 0);
    }
    CHECK(good && status == 0);
    check_passed += counts[0];
    check_failed += counts[1];
}

/* What main returns. */
static inline int run_groups(const test_group *groups, size_t count) {
    for (size_t i = 0; i < count; i++) {
        run_group(groups[i]);
    }
    return check_report();
}

#endif
