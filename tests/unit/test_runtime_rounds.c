/* Brief commands, which threads that attend run in rounds: each piece once, one command after the
 * other, whoever comes or goes, also where a command fails or its stream is closed at once. */
#include <stdint.h>
#include <unistd.h>

#include "runtime_support.h"

static const struct ig_argument arguments[] = {BUFFER_ARGUMENT("from", "uint", 0, 4),
                                               BUFFER_ARGUMENT("to", "uint", 1, 4)};

#define KERNEL_BY_ROWS                                                                             \
    "const struct ingot_cpu_kernel ingot_kernel = {INGOT_CPU_ABI_VERSION, 0, 0, 4096, {0}, {0},\n" \
    "  row};\n"

static const struct test_kernel kernels[] = {
    {.name = "step", /* reads what another share of the command before has written */
     .arguments = arguments,
     .argument_count = 2,
     .code = "static void row(G *g, uint32_t first, uint32_t end) {\n"
             "  const uint32_t *from = g->buffers[0], n = g->threads_per_grid[0];\n"
             "  uint32_t *to = g->buffers[1];\n"
             "  for (uint32_t x = first; x < end; x++)\n"
             "    to[x] = from[x < n / 3 ? x + n - n / 3 : x - n / 3] + 1;\n"
             "}\n" KERNEL_BY_ROWS},
    {.name = "trap", /* in the last thread, once the first word is 200 */
     .arguments = arguments,
     .argument_count = 2,
     .code = "static void row(G *g, uint32_t first, uint32_t end) {\n"
             "  const uint32_t *from = g->buffers[0];\n"
             "  uint32_t *to = g->buffers[1];\n"
             "  if (from[0] == 200 && end == g->threads_per_grid[0])\n"
             "    g->services->trap(g, \"enough\");\n"
             "  for (uint32_t x = first; x < end; x++) to[x] = from[x] + 1;\n"
             "}\n" KERNEL_BY_ROWS},
};
enum { KERNEL_COUNT = sizeof kernels / sizeof *kernels, SIZES = 4 };

/* From some microseconds of work to some hundred. */
static const uint32_t sizes[SIZES] = {20000, 50001, 200000, 1000003};
static ingot_device *device;
static ingot_library *library;

struct chain {
    ingot_stream *stream;
    ingot_kernel *kernel;
    ingot_buffer *buffers[2];
    uint32_t size, done;
};

static void begin(struct chain *chain, const char *kernel, uint32_t size) {
    *chain = (struct chain){.size = size};
    OK(ingot_stream_create(device, &chain->stream));
    OK(ingot_kernel_create(library, &(ingot_kernel_desc){.name = kernel}, &chain->kernel));
    for (int i = 0; i < 2; i++)
        OK(ingot_buffer_create(device, (uint64_t)size * 4, &chain->buffers[i]));
}

static void step(struct chain *chain) {
    ingot_arg args[] = {{.buffer = chain->buffers[chain->done % 2]},
                        {.buffer = chain->buffers[(chain->done + 1) % 2]}};
    ingot_dispatch_desc desc = {.kernel = chain->kernel,
                                .threads = {chain->size},
                                .group = {64},
                                .args = args,
                                .arg_count = 2};
    OK(ingot_stream_dispatch(chain->stream, &desc));
    chain->done++;
}

static uint32_t count_wrong(const struct chain *chain) {
    const uint32_t *values = ingot_buffer_contents(chain->buffers[chain->done % 2]);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < chain->size; i++)
        wrong += values[i] != chain->done;
    return wrong;
}

static void end(struct chain *chain) {
    ingot_stream_release(chain->stream); /* with threads that attend it */
    ingot_kernel_release(chain->kernel);
    for (int i = 0; i < 2; i++)
        ingot_buffer_release(chain->buffers[i]);
}

/* Queued, one by one, and with pauses after which nobody attends. */
static void run_chain(uint32_t size) {
    struct chain chain;
    begin(&chain, "step", size);
    for (int i = 0; i < 120; i++)
        step(&chain);
    OK(ingot_stream_wait(chain.stream));
    CHECK(count_wrong(&chain) == 0);
    for (int i = 0; i < 60; i++) {
        if (i % 20 == 0)
            usleep(200);
        step(&chain);
        OK(ingot_stream_wait(chain.stream));
    }
    CHECK(count_wrong(&chain) == 0);
    end(&chain);
}

/* Streams that want the same threads. */
static void run_chains_together(void) {
    struct chain chains[SIZES];
    for (int i = 0; i < SIZES; i++)
        begin(&chains[i], "step", sizes[i]);
    for (int i = 0; i < 100 * SIZES; i++) {
        step(&chains[i % SIZES]);
        if (i % 90 == 89)
            OK(ingot_stream_wait(chains[i / 90 % SIZES].stream));
    }
    for (int i = 0; i < SIZES; i++) {
        OK(ingot_stream_wait(chains[i].stream));
        CHECK(count_wrong(&chains[i]) == 0);
        end(&chains[i]);
    }
}

static void test_failure(uint32_t size) {
    struct chain chain;
    begin(&chain, "trap", size);
    for (int i = 0; i < 200; i++)
        step(&chain);
    OK(ingot_stream_wait(chain.stream));
    CHECK(count_wrong(&chain) == 0);
    for (int i = 0; i < 5; i++)
        step(&chain);
    FAILS(ingot_stream_wait(chain.stream), INGOT_KERNEL_FAULT, "trap", "enough");
    end(&chain);
}

static void test_device(uint32_t workers) {
    ingot_device_desc desc = {.worker_threads = workers};
    ingot_device_info info;
    OK(ingot_device_open("cpu", &desc, &device));
    OK(ingot_device_get_info(device, &info));
    void *bytes = NULL;
    size_t size = 0;
    CHECK(test_archive(info.target, kernels, KERNEL_COUNT, NULL, 0, &bytes, &size));
    OK(ingot_library_create_from_memory(device, bytes, size, &library));
    free(bytes);
    for (int i = 0; i < SIZES; i++) {
        run_chain(sizes[i]);
        test_failure(sizes[i]);
    }
    run_chains_together();
    ingot_library_release(library);
    ingot_device_release(device);
}

int main(void) {
    test_device(2);
    test_device(3);
    test_device(8);
    return check_report();
}
