/* The order of threadgroups: every one once, in stripes and without, and dispatches that go
 * through memory in stripes. */
#include <stdint.h>

#include "runtime/cpu/threadgroup_walk.h"
#include "runtime_support.h"

/* ---- the walk ---- */

static void check_walk(const uint32_t groups[3], uint64_t first, uint64_t count, uint64_t unit,
                       uint32_t most) {
    static uint8_t seen[4096];
    struct cpu_group_walk walk;
    memset(seen, 0, sizeof seen);
    uint64_t total = (uint64_t)groups[0] * groups[1] * groups[2], visited = 0;
    bool right = true, more = true;
    cpu_group_walk_begin(&walk, groups, first, count, unit);
    while (more && right) {
        const uint32_t *at = cpu_group_walk_position(&walk);
        uint32_t n = cpu_group_walk_most(&walk);
        n = n < most ? n : most;
        right = n > 0 && at[0] + n <= groups[0] && at[1] < groups[1] && at[2] < groups[2];
        uint64_t index = ((uint64_t)at[2] * groups[1] + at[1]) * groups[0] + at[0];
        right = right && index >= first && index + n <= first + count;
        for (uint32_t i = 0; i < n && right; i++) {
            right = seen[index + i]++ == 0;
        }
        visited += n;
        more = right && cpu_group_walk_on(&walk, n);
    }
    CHECK(right && visited == count && first + count <= total);
}

static void test_walks(void) {
    static const uint32_t grids[][3] = {{1, 1, 1},  {7, 1, 1}, {1, 9, 1},    {1, 1, 5},  {5, 3, 2},
                                        {64, 2, 1}, {3, 4, 5}, {1000, 1, 1}, {17, 13, 3}};
    static const uint64_t turns[] = {0, 1, 2, 3, 8, 100, 5000};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        uint64_t total = (uint64_t)grids[g][0] * grids[g][1] * grids[g][2];
        for (uint64_t first = 0; first < total; first += 1 + total / 7) {
            for (uint64_t count = 1; first + count <= total; count += 1 + total / 5) {
                for (size_t t = 0; t < sizeof turns / sizeof *turns; t++) {
                    check_walk(grids[g], first, count, turns[t], UINT32_MAX);
                    check_walk(grids[g], first, count, turns[t], 1);
                    check_walk(grids[g], first, total - first, turns[t], 3);
                }
            }
        }
    }
}

static void test_turns(void) {
    struct cpu_group_walk walk;
    const uint32_t groups[] = {100, 1, 1}, expected[] = {0, 50, 3, 53, 6, 56};
    cpu_group_walk_begin(&walk, groups, 0, 100, 3);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        CHECK(cpu_group_walk_position(&walk)[0] == expected[i] && cpu_group_walk_most(&walk) == 3);
        CHECK(cpu_group_walk_on(&walk, 3));
    }
    cpu_group_walk_begin(&walk, groups, 10, 90, 0);
    CHECK(cpu_group_walk_position(&walk)[0] == 10 && cpu_group_walk_most(&walk) == 90);
    CHECK(!cpu_group_walk_on(&walk, 90));
}

/* ---- dispatches ---- */

static const struct ig_argument arguments[] = {BUFFER_ARGUMENT("out", "uint", 0, 4),
                                               BUFFER_ARGUMENT("calls", "uint", 1, 4)};

/* So many bytes of a thread, in so many arrays. */
#define ROW_KERNEL(BYTES, ARRAYS)                                                                  \
    "const struct ingot_cpu_kernel ingot_kernel = {INGOT_CPU_ABI_VERSION,\n"                       \
    "  " #BYTES " * INGOT_CPU_KERNEL_BYTES_PER_THREAD + " #ARRAYS " * INGOT_CPU_KERNEL_ARRAYS,\n"  \
    "  0, 4096, {0}, {0}, row};\n"
#define COUNT_ROW                                                                                  \
    "static void row(G *g, uint32_t first, uint32_t end) {\n"                                      \
    "  uint32_t *out = g->buffers[0];\n"                                                           \
    "  for (uint32_t x = first; x < end; x++)\n"                                                   \
    "    out[(g->row[1] * g->threads_per_grid[1] + g->row[0]) * g->threads_per_grid[0] + x]++;\n"  \
    "}\n"

static const struct test_kernel kernels[] = {
    {.name = "count1",
     .arguments = arguments,
     .argument_count = 2,
     .code = COUNT_ROW ROW_KERNEL(4, 1)},
    {.name = "count4",
     .arguments = arguments,
     .argument_count = 2,
     .code = COUNT_ROW ROW_KERNEL(64, 4)},
    {.name = "calls", /* notes its calls: calls[0] of them, then the ends of each */
     .arguments = arguments,
     .argument_count = 2,
     .code = "static void row(G *g, uint32_t first, uint32_t end) {\n"
             "  uint32_t *calls = g->buffers[1], n = calls[0]++;\n"
             "  calls[1 + 2 * n] = first; calls[2 + 2 * n] = end; }\n" ROW_KERNEL(8, 2)},
    {.name = "trap", /* where the threads from 3000 on begin */
     .arguments = arguments,
     .argument_count = 2,
     .code =
         "static void row(G *g, uint32_t first, uint32_t end) {\n"
         "  if (first <= 3000 && end > 3000) g->services->trap(g, \"here\"); }\n" ROW_KERNEL(8, 2)},
};
enum { KERNEL_COUNT = sizeof kernels / sizeof *kernels, MOST_THREADS = 1 << 20 };

static ingot_device *device;
static ingot_library *library;
static ingot_stream *stream;
static ingot_buffer *out, *calls;

static ingot_status run(const char *name, const uint32_t threads[3], const uint32_t group[3],
                        uint32_t times) {
    ingot_kernel *kernel = NULL;
    ingot_kernel_desc kernel_desc = {.name = name};
    OK(ingot_kernel_create(library, &kernel_desc, &kernel));
    ingot_arg args[] = {{.buffer = out}, {.buffer = calls}};
    ingot_dispatch_desc desc = {.kernel = kernel, .args = args, .arg_count = 2};
    memcpy(desc.threads, threads, sizeof desc.threads);
    memcpy(desc.group, group, sizeof desc.group);
    for (uint32_t i = 0; i < times; i++) {
        OK(ingot_stream_dispatch(stream, &desc));
    }
    ingot_kernel_release(kernel);
    return ingot_stream_wait(stream);
}

static void test_counts(const char *name, uint32_t times) {
    static const uint32_t cases[][6] = {
        {1, 1, 1, 1, 1, 1},         {33, 1, 1, 32, 1, 1},      {5000, 1, 1, 1024, 1, 1},
        {5001, 1, 1, 1000, 1, 1},   {65536, 1, 1, 256, 1, 1},  {100003, 1, 1, 96, 1, 1},
        {1048573, 1, 1, 512, 1, 1}, {300, 70, 1, 128, 1, 1},   {1025, 3, 7, 1024, 1, 1},
        {77, 50, 9, 16, 1, 1},      {100, 100, 1, 16, 16, 1},  {40, 9, 30, 8, 2, 4},
        {3000, 1, 1, 1024, 1, 1},   {1030, 900, 1, 512, 1, 1},
    };
    uint32_t *counts = ingot_buffer_contents(out);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t *c = cases[i];
        uint32_t threads = c[0] * c[1] * c[2], wrong = 0;
        memset(counts, 0, MOST_THREADS * sizeof *counts);
        OK(run(name, c, c + 3, times));
        for (uint32_t t = 0; t < MOST_THREADS; t++) {
            wrong += counts[t] != (t < threads ? times : 0);
        }
        CHECK(wrong == 0);
        if (wrong) {
            fprintf(stderr, "  %s: %u of %u threads of case %zu\n", name, wrong, threads, i);
        }
    }
}

/* Two arrays of 4 bytes: turns of 1024 threads, in two halves. */
static void test_order(void) {
    const uint32_t *noted = ingot_buffer_contents(calls);
    static const uint32_t threads[] = {65536, 1, 1}, sizes[] = {256, 1024};
    for (size_t i = 0; i < 2; i++) {
        memset(ingot_buffer_contents(calls), 0, ingot_buffer_length(calls));
        OK(run("calls", threads, (uint32_t[]){sizes[i], 1, 1}, 1));
        CHECK(noted[0] == 64);
        for (uint32_t n = 0; n < noted[0] && n < 64; n++) {
            uint32_t first = n / 2 * 1024 + n % 2 * 32768;
            CHECK(noted[1 + 2 * n] == first && noted[2 + 2 * n] == first + 1024);
        }
    }
}

/* Thread 3000 is in group 5 of 512 threads, and in the second half of group 2 of 1024. */
static void test_failures(void) {
    FAILS(run("trap", (uint32_t[]){65536, 1, 1}, (uint32_t[]){512, 1, 1}, 1), INGOT_KERNEL_FAULT,
          "threadgroups (4, 0, 0) to (5, 0, 0)", "here");
    FAILS(run("trap", (uint32_t[]){65536, 1, 1}, (uint32_t[]){1024, 1, 1}, 1), INGOT_KERNEL_FAULT,
          "threadgroup (2, 0, 0): here");
}

static void test_device(const char *stripes, uint32_t workers) {
    ingot_device_desc desc = {.worker_threads = workers};
    ingot_device_info info;
    setenv("INGOT_STRIPES", stripes, 1);
    OK(ingot_device_open("cpu", &desc, &device));
    OK(ingot_device_get_info(device, &info));
    void *bytes = NULL;
    size_t size = 0;
    CHECK(test_archive(info.target, kernels, KERNEL_COUNT, NULL, 0, &bytes, &size));
    OK(ingot_library_create_from_memory(device, bytes, size, &library));
    free(bytes);
    OK(ingot_stream_create(device, &stream));
    OK(ingot_buffer_create(device, MOST_THREADS * sizeof(uint32_t), &out));
    OK(ingot_buffer_create(device, 65536, &calls));
    bool on = strcmp(stripes, "on") == 0;
    test_counts("count1", on ? 1 : 3);
    test_counts("count4", on ? 1 : 9);
    if (on && workers == 1) {
        test_order();
    }
    if (on && workers == 1) {
        test_failures();
    }
    ingot_buffer_release(out);
    ingot_buffer_release(calls);
    ingot_stream_release(stream);
    ingot_library_release(library);
    ingot_device_release(device);
}

int main(void) {
    setenv("INGOT_CACHE_BYTES", "0", 1); /* all memory is more than the caches hold */
    test_walks();
    test_turns();
    test_device("on", 1);
    test_device("on", 4);
    test_device("off", 1);
    test_device("off", 2);
    test_device("", 1);
    test_device("", 3);
    return check_report();
}
