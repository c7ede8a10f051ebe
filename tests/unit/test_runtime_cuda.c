/*
 * The CUDA device against a fake driver (tests/fake_cuda): absence, loading, the parameter block,
 * streams and events. test_runtime_cuda_memory.c has its buffers, test_runtime_cuda_failures.c the
 * ways to fail.
 */
#include <pthread.h>

#include "runtime_cuda_support.h"

/* ---- the groups ---- */

static void no_library(void) {
    setenv("INGOT_CUDA_LIBRARY", "libthere-is-no-such-driver.so.1", 1);
    CHECK(ingot_device_count() == 1);
    FAILS(ingot_device_open("cuda", NULL, &device), INGOT_NOT_FOUND, "no CUDA device",
          "libthere-is-no-such-driver.so.1");
    /* Transfers work on every device; streams of other libraries do not. */
    ingot_buffer *buffer;
    const uint32_t sent[2] = {3, 4};
    uint32_t got[2] = {0};
    OK(ingot_device_open("cpu", NULL, &device));
    OK(ingot_stream_create(device, &stream));
    OK(ingot_buffer_create(device, 64, &buffer));
    OK(ingot_stream_upload(stream, buffer, 8, sent, sizeof sent));
    OK(ingot_stream_download(stream, buffer, 8, got, sizeof got));
    CHECK(got[0] == 3 && got[1] == 4);
    CHECK(((uint32_t *)ingot_buffer_contents(buffer))[2] == 3);
    ingot_stream *none;
    FAILS(ingot_stream_wrap(device, NULL, &none), INGOT_UNSUPPORTED, "cpu");
    ingot_buffer_release(buffer);
    ingot_stream_release(stream);
    ingot_device_release(device);
}

static void no_device(void) {
    setenv("FAKE_CUDA_DEVICES", "0", 1);
    load_fake();
    CHECK(ingot_device_count() == 1);
    FAILS(ingot_device_open("cuda:0", NULL, &device), INGOT_NOT_FOUND, "no CUDA device",
          "CUDA_ERROR_NO_DEVICE");
}

static void old_device(void) {
    setenv("FAKE_CUDA_CAPABILITY", "75", 1);
    load_fake();
    FAILS(ingot_device_open("cuda", NULL, &device), INGOT_UNSUPPORTED, "7.5", "8.0", "Fake GPU 0");
}

static void opening(void) {
    ingot_device_info info;
    load_fake();
    CHECK(ingot_device_count() == 2);
    OK(ingot_device_describe(1, &info));
    CHECK(!strcmp(info.name, "cuda:0") && !strcmp(info.target, "sm_90a"));
    CHECK(strstr(info.description, "Fake GPU 0") && !info.unified_memory);
    CHECK(info.simd_width == 32 && info.max_threadgroup_memory == 32768);
    CHECK(info.threads_per_compute_unit == 16384);
    FAILS(ingot_device_open("cuda:3", NULL, &device), INGOT_NOT_FOUND, "cuda:3", "has 1");
    FAILS(ingot_device_open("cuda", &(ingot_device_desc){.threadgroup_memory = 300000}, &device),
          INGOT_UNSUPPORTED, "300000", "232448");
    fake->fail("cuDevicePrimaryCtxRetain", 1, 2);
    FAILS(ingot_device_open("cuda", NULL, &device), INGOT_OUT_OF_MEMORY, "no context", "cuda:0");
    OK(ingot_device_open("cuda", NULL, &device));
    ingot_device_release(device);
    CHECK(fake->live() == 0);
}

static void code(void) {
    ingot_kernel *kernel = NULL;
    load_fake();
    open_with(&(ingot_device_desc){.threadgroup_memory = 100000});
    FAILS(ingot_kernel_create(library, &(ingot_kernel_desc){.name = "wrong"}, &kernel),
          INGOT_BAD_ARCHIVE, "wrong", "CUDA_ERROR_INVALID_PTX", "ptxas application ptx input");
    FAILS(ingot_kernel_create(library, &(ingot_kernel_desc){.name = "elsewhere"}, &kernel),
          INGOT_UNSUPPORTED, "elsewhere", "sm_90");
    fake->fail("cuModuleLoadDataEx", 1, 2);
    FAILS(ingot_kernel_create(library, &(ingot_kernel_desc){.name = "mark"}, &kernel),
          INGOT_OUT_OF_MEMORY, "mark", "sm_80");
    fake->fail("cuModuleGetFunction", 1, 500);
    FAILS(ingot_kernel_create(library, &(ingot_kernel_desc){.name = "mark"}, &kernel),
          INGOT_BAD_ARCHIVE, "mark", "ingot_kernel");
    fake->clear_log();
    kernel = kernel_named("scale");
    CHECK(strstr(fake->log(), "attribute 8 = 232400") != NULL); /* 232448 - 48 static */
    ingot_kernel_release(kernel);
    kernel = kernel_named("mark");
    ingot_kernel_release(kernel);
    kernel = kernel_named("own");
    ingot_kernel_release(kernel);
    close_all();
    CHECK(fake->live() == 0);
}

/* A cubin comes before PTX; one that the driver refuses does not keep the PTX from being used. */
static void cubins(void) {
    static const char text[] = "// fake mark\ngriddepcontrol.wait;", good[] = "// fake mark",
                      bad[] = "not for this driver";
    const struct {
        const char *cubin;
        int refusal; /* 0: the driver looks at the code */
        const char *launch;
    } cases[] = {{good, 0, "cuLaunchKernel\n"},
                 {bad, 0, "cuLaunchKernelEx"},
                 {good, 209, "cuLaunchKernelEx"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ig_code codes[] = {
            {.target = "sm_90", .bytes = text, .size = sizeof text},
            {.target = "sm_90.cubin", .bytes = cases[i].cubin, .size = strlen(cases[i].cubin) + 1}};
        const struct ig_variant variant = {.kernel = "mark",
                                           .constants = "",
                                           .max_threads = 1024,
                                           .argument_count = 1,
                                           .arguments = one_argument,
                                           .code_count = 2,
                                           .codes = codes};
        const char *name = "mark";
        ingot_buffer *data;
        uint32_t marks[64] = {0};
        load_fake();
        OK(ingot_device_open("cuda", NULL, &device));
        OK(ingot_stream_create(device, &stream));
        make_library_of(&variant, &name, 1);
        OK(ingot_buffer_create(device, sizeof marks, &data));
        if (cases[i].refusal) {
            fake->fail("cuModuleLoadDataEx", 1, cases[i].refusal);
        }
        ingot_kernel *kernel = kernel_named("mark");
        fake->clear_log();
        OK(run_one(kernel, data, 0));
        CHECK(strstr(fake->log(), cases[i].launch));
        OK(ingot_stream_download(stream, data, 0, marks, sizeof marks));
        CHECK(marks[63] == 64);
        ingot_kernel_release(kernel);
        ingot_buffer_release(data);
        close_all();
        CHECK(fake->live() == 0);
    }
}

/* Memory for panels comes behind the kernel's own if the card has so much, and the kernel is told.
 */
static void panels(void) {
    static const struct {
        unsigned kibibytes;
        uint32_t flags;
        const char *memory;
    } cases[] = {{100, INGOT_CUDA_PANELS, "  102400 bytes of shared memory"},
                 {227, INGOT_CUDA_PANELS, "  232448 bytes of shared memory"},
                 {228, 0, "  1024 bytes of shared memory"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 ".version 7.8\n.target sm_90\n.address_size 64\n"
                 ".visible .global .align 1 .b8 " INGOT_CUDA_PANELS_SYMBOL "[%u];\n"
                 ".visible .entry ingot_kernel(\n\t.param .align 16 .b8 ingot_kernel_param_0[64]\n)"
                 "\n{\n\t.reg .b32 %%r<2>;\n\t.reg .b64 %%rd<2>;\n"
                 "\tld.param.u32 %%r1, [ingot_kernel_param_0+36];\n"
                 "\tld.param.u64 %%rd1, [ingot_kernel_param_0+56];\n"
                 "\tst.global.u32 [%%rd1], %%r1;\n\tret;\n}\n",
                 cases[i].kibibytes);
        const struct ig_code codes[] = {
            {.target = "sm_90", .bytes = text, .size = strlen(text) + 1}};
        const struct ig_variant variant = {.kernel = "flags",
                                           .constants = "",
                                           .max_threads = 1024,
                                           .argument_count = 1,
                                           .arguments = one_argument,
                                           .code_count = 1,
                                           .codes = codes};
        const char *name = "flags";
        ingot_buffer *data;
        uint32_t flags = 0;
        load_fake();
        OK(ingot_device_open("cuda", NULL, &device));
        OK(ingot_stream_create(device, &stream));
        make_library_of(&variant, &name, 1);
        OK(ingot_buffer_create(device, 4096, &data));
        ingot_kernel *kernel = kernel_named("flags");
        fake->clear_log();
        OK(run_one(kernel, data, 0));
        CHECK(strstr(fake->log(), cases[i].memory));
        OK(ingot_stream_download(stream, data, 0, &flags, sizeof flags));
        CHECK((flags & ~7u) == cases[i].flags);
        ingot_kernel_release(kernel);
        ingot_buffer_release(data);
        close_all();
        CHECK(fake->live() == 0);
    }
}

/* Code of a card's own level is not for newer cards, nor for older ones. */
static void newer_device(void) {
    const struct {
        const char *capability, *level;
    } cards[] = {{"100", "sm_90"}, {"89", "sm_80"}};
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        ingot_kernel *kernel = NULL;
        ingot_device_info info;
        setenv("FAKE_CUDA_CAPABILITY", cards[i].capability, 1);
        load_fake();
        open_with(NULL);
        ingot_device_get_info(device, &info);
        CHECK(!strcmp(info.target, cards[i].level));
        FAILS(ingot_kernel_create(library, &(ingot_kernel_desc){.name = "own"}, &kernel),
              INGOT_UNSUPPORTED, "own", cards[i].level, "sm_90a");
        kernel = kernel_named("mark");
        ingot_kernel_release(kernel);
        close_all();
    }
}

static void check_block(const struct params *params, bool inline_reference, bool one_dimension) {
    const struct ingot_cuda_launch *header = seen_header();
    CHECK(header->threads[0] == 100 && header->threads[1] == 3 && header->threads[2] == 1);
    CHECK(header->groups[0] * header->group[0] >= 100 && seen_grid[0] == header->groups[0]);
    CHECK(seen_grid[1] == header->groups[1] && seen_grid[2] == 1);
    CHECK(seen_threads == header->group[0] * header->group[1] * header->group[2]);
    CHECK(!(header->flags & INGOT_CUDA_REFERENCES_INLINE) == !inline_reference);
    CHECK(!(header->flags & INGOT_CUDA_ONE_DIMENSION) == !one_dimension);
    uint32_t room, at = ingot_cuda_inline_offset(scale_arguments, SCALE_COUNT, 1, &room);
    CHECK(at % 16 == 0 && room >= sizeof *params);
    if (inline_reference) {
        CHECK(seen_buffer(1) == at);
        CHECK(!memcmp(seen_block + at, params, sizeof *params));
    }
    uint32_t offset;
    memcpy(&offset, seen_block + ingot_cuda_threadgroups_at(scale_arguments, SCALE_COUNT), 4);
    CHECK(offset == 0 && seen_shared == 208); /* 200 bytes, rounded; the static part is apart */
}

static void parameter_block(void) {
    load_fake();
    open_with(NULL);
    size_t before = fake->live();
    ingot_kernel *kernel = kernel_named("scale");
    ingot_buffer *data, *in_memory;
    OK(ingot_buffer_create(device, 4096, &data));
    OK(ingot_buffer_create(device, 256, &in_memory));
    CHECK(ingot_buffer_contents(data) == NULL && ingot_buffer_address(data) != 0);
    const float start[3] = {1, 2, 3}, table[4] = {5, 6, 7, 8}, extra[2] = {9, 10};
    float large[300] = {1, 2, 3}, got[3];
    const struct params params = {3, 2, {1, 2}};
    OK(ingot_stream_upload(stream, data, 16, start, sizeof start));
    OK(ingot_stream_upload(stream, in_memory, 0, &params, sizeof params));
    const uint32_t lengths[] = {200};
    ingot_arg args[] = {{.buffer = data, .offset = 16},
                        {.bytes = &params, .size = sizeof params},
                        {.bytes = table, .size = sizeof table},
                        {.bytes = extra, .size = sizeof extra}};
    ingot_dispatch_desc desc = {.kernel = kernel,
                                .threads = {100, 3},
                                .group = {32},
                                .args = args,
                                .arg_count = 4,
                                .threadgroup_lengths = lengths,
                                .threadgroup_length_count = 1};
    OK(ingot_stream_dispatch(stream, &desc));
    OK(ingot_stream_download(stream, data, 16, got, sizeof got));
    CHECK(got[0] == 2 && got[1] == 4 && got[2] == 6);
    check_block(&params, true, true);
    CHECK(seen_buffer(0) == ingot_buffer_address(data) + 16);
    uint32_t room, at = ingot_cuda_inline_offset(scale_arguments, SCALE_COUNT, 2, &room);
    CHECK(room == INGOT_CUDA_POINTER_ROOM && seen_buffer(2) == at);
    CHECK(!memcmp(seen_block + at, table, sizeof table));
    /* Bytes for a device argument are in device memory. */
    CHECK(seen_buffer(3) > INGOT_CUDA_INLINE_LIMIT && seen_extra[0] == 9 && seen_extra[1] == 10);

    args[1] = (ingot_arg){.buffer = in_memory};
    args[2] = (ingot_arg){.bytes = large, .size = sizeof large}; /* more than there is room for */
    desc.group[1] = 2;
    OK(ingot_stream_dispatch(stream, &desc));
    OK(ingot_stream_wait(stream));
    check_block(&params, false, false);
    CHECK(seen_buffer(1) == ingot_buffer_address(in_memory));
    float kept[3];
    CHECK(seen_buffer(2) > INGOT_CUDA_INLINE_LIMIT && seen_buffer(2) % 256 == seen_buffer(3) % 256);
    memcpy(kept, (const void *)(uintptr_t)seen_buffer(2), sizeof kept);
    CHECK(!memcmp(kept, large, sizeof kept) && seen_extra[1] == 10);

    fake->fail("cuLaunchKernel", 1, 701);
    FAILS(ingot_stream_dispatch(stream, &desc), INGOT_LAUNCH_ERROR, "scale", "64 threads",
          "208 bytes");
    OK(ingot_stream_dispatch(stream, &desc));
    /* More rows than the hardware counts go in parts. */
    const uint32_t many[3] = {1, 70000, 1};
    memcpy(desc.threads, many, sizeof many);
    desc.group[1] = 1;
    OK(ingot_stream_dispatch(stream, &desc));
    CHECK(seen_grid[1] == 70000 - 65535 && seen_header()->first[0] == 65535);
    CHECK(seen_header()->first[1] == 0 && seen_header()->groups[1] == 70000);
    OK(ingot_stream_wait(stream));
    ingot_buffer_release(data);
    ingot_buffer_release(in_memory);
    ingot_kernel_release(kernel);
    CHECK(fake->live() == before + 1); /* the stream's staging memory */
    close_all();
    CHECK(fake->live() == 0);
}

/* Bytes may change when a dispatch or an upload has returned, also where the GPU reads them later.
 */
static void page_locked(void) {
    load_fake();
    open_with(NULL);
    ingot_kernel *kernel = kernel_named("mark");
    ingot_buffer *data;
    uint32_t words[64] = {0};
    fake->lock_memory(words, sizeof words);
    OK(ingot_buffer_create(device, sizeof words, &data));
    const ingot_arg arg = {.bytes = words, .size = sizeof words};
    const ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {64}, .group = {32}, .args = &arg, .arg_count = 1};
    fake->clear_log();
    OK(ingot_stream_dispatch(stream, &desc));
    CHECK(strstr(fake->log(), "cuMemcpyHtoDAsync") && !strstr(fake->log(), "page-locked"));
    fake->clear_log();
    OK(ingot_stream_upload(stream, data, 0, words, sizeof words));
    const char *copied = strstr(fake->log(), "  from page-locked memory\n");
    CHECK(copied && strstr(copied, "cuStreamQuery")); /* and waited for */
    fake->lock_memory(NULL, 0);
    ingot_buffer_release(data);
    ingot_kernel_release(kernel);
    close_all();
    CHECK(fake->live() == 0);
}

/* What would have to be copied cannot be captured. */
static void capture(void) {
    load_fake();
    open_with(NULL);
    ingot_kernel *kernel = kernel_named("mark");
    ingot_stream *captured;
    int native;
    OK(ingot_stream_wrap(device, &native, &captured));
    const int bytes[4] = {0};
    ingot_arg arg = {.bytes = bytes, .size = sizeof bytes};
    const ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {4}, .group = {32}, .args = &arg, .arg_count = 1};
    OK(ingot_stream_dispatch(captured, &desc));
    setenv("FAKE_CUDA_CAPTURING", "1", 1);
    FAILS(ingot_stream_dispatch(captured, &desc), INGOT_UNSUPPORTED, "mark", "bytes of arguments",
          "captured into a graph");
    unsetenv("FAKE_CUDA_CAPTURING");
    fake->fail("cuStreamIsCapturing", 1, 906); /* of the default stream, during another's capture */
    FAILS(ingot_stream_dispatch(captured, &desc), INGOT_UNSUPPORTED, "captured into a graph");
    OK(ingot_stream_dispatch(captured, &desc));
    OK(ingot_stream_wait(captured));
    ingot_stream_release(captured);
    ingot_kernel_release(kernel);
    close_all();
}

/* While another library captures a stream of its own, here or in another thread, our own streams
 * work as ever, and nothing that they need spoils the capture. */
static void capture_elsewhere(void) {
    load_fake();
    open_with(NULL);
    ingot_event *start, *end;
    ingot_buffer *data;
    uint32_t words[64] = {0};
    double seconds;
    OK(ingot_event_create(device, &start));
    setenv("FAKE_CUDA_CAPTURING", "1", 1);
    fake->clear_log();
    ingot_kernel *kernel = kernel_named("mark");
    OK(ingot_event_create(device, &end));
    OK(ingot_buffer_create(device, sizeof words, &data));
    OK(ingot_stream_record(stream, start));
    OK(run_one(kernel, data, 0));
    const ingot_arg arg = {.bytes = words, .size = sizeof words};
    const ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {64}, .group = {32}, .args = &arg, .arg_count = 1};
    OK(ingot_stream_dispatch(stream, &desc)); /* its bytes are copied */
    OK(ingot_stream_record(stream, end));
    OK(ingot_event_wait(end));
    CHECK(ingot_event_done(start));
    OK(ingot_event_elapsed(start, end, &seconds));
    OK(ingot_stream_wait(stream));
    OK(ingot_stream_download(stream, data, 0, words, sizeof words));
    CHECK(words[63] == 64);
    OK(ingot_stream_upload(stream, data, 0, words, sizeof words));
    OK(ingot_stream_copy(stream, data, 0, data, 128, 128));
    ingot_stream *captured;
    int native;
    OK(ingot_stream_wrap(device, &native, &captured));
    ingot_kernel *log = kernel_named("log");
    OK(run_in(captured, log, data, 0));
    OK(ingot_stream_wait(stream)); /* looks for messages, but not at the captured stream */
    ingot_kernel_release(log);
    ingot_kernel_release(kernel);
    ingot_buffer_release(data);
    ingot_event_release(start);
    ingot_event_release(end);
    CHECK(!strstr(fake->log(), "spoils"));
    FAILS(ingot_stream_wait(captured), INGOT_INVALID_ARGUMENT, "waiting for a stream");
    unsetenv("FAKE_CUDA_CAPTURING");
    ingot_stream_release(captured);
    close_all();
    CHECK(fake->live() == 0);
}

/* A dispatch is one call of the driver, and leaves a thread the context that it has. */
static void calls_of_a_dispatch(void) {
    load_fake();
    open_with(NULL);
    ingot_kernel *kernel = kernel_named("mark");
    ingot_stream *wrapped;
    ingot_buffer *data;
    int native = 0, other = 0;
    OK(ingot_stream_wrap(device, &native, &wrapped));
    OK(ingot_buffer_create(device, 256, &data));
    const ingot_arg arg = {.buffer = data};
    const ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {64}, .group = {32}, .args = &arg, .arg_count = 1};
    const char *one_call = "cuLaunchKernel\n  0 bytes of shared memory\n";
    ingot_stream *const streams[] = {stream, wrapped};
    for (int i = 0; i < 2; i++) {
        OK(ingot_stream_dispatch(streams[i], &desc));
        fake->clear_log();
        OK(ingot_stream_dispatch(streams[i], &desc));
        CHECK(!strcmp(fake->log(), one_call));
    }
    /* Another library has made its own context the thread's. */
    void *ours = fake->exchange_context(&other);
    uint32_t marks[64] = {0};
    OK(ingot_stream_fill(wrapped, data, 0, 256, 0));
    OK(ingot_stream_dispatch(wrapped, &desc));
    OK(ingot_stream_dispatch(stream, &desc));
    OK(ingot_stream_download(stream, data, 0, marks, sizeof marks));
    CHECK(marks[63] == 64);
    CHECK(fake->exchange_context(NULL) == &other);
    /* A thread without one keeps ours, until the device is closed. */
    OK(ingot_stream_dispatch(wrapped, &desc));
    fake->clear_log();
    OK(ingot_stream_dispatch(wrapped, &desc));
    CHECK(!strcmp(fake->log(), one_call));
    CHECK(ours && fake->exchange_context(ours) == ours);
    ingot_buffer_release(data);
    ingot_stream_release(wrapped);
    ingot_kernel_release(kernel);
    close_all();
    CHECK(fake->exchange_context(NULL) == NULL);
}

/* The calls of one dispatch, which works; closes the device. */
static void check_calls(const char *name, const char *calls) {
    open_with(NULL);
    ingot_kernel *kernel = kernel_named(name);
    ingot_buffer *data;
    uint32_t marks[64] = {0};
    OK(ingot_buffer_create(device, sizeof marks, &data));
    const ingot_arg arg = {.buffer = data};
    const ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {64}, .group = {32}, .args = &arg, .arg_count = 1};
    fake->clear_log();
    OK(ingot_stream_dispatch(stream, &desc));
    CHECK(!strcmp(fake->log(), calls));
    OK(ingot_stream_download(stream, data, 0, marks, sizeof marks));
    CHECK(marks[63] == 64);
    ingot_buffer_release(data);
    ingot_kernel_release(kernel);
    close_all();
}

#define PLAIN_LAUNCH "cuLaunchKernel\n  0 bytes of shared memory\n"
#define EARLY_LAUNCH "cuLaunchKernelEx\n  attribute 6 = 1\n  0 bytes of shared memory\n"

/* Only code that waits for the kernels before it may start early, and not where the user says so.
 */
static void early_start(void) {
    load_fake();
    check_calls("waits", EARLY_LAUNCH);
    check_calls("mark", PLAIN_LAUNCH);
    setenv("INGOT_CUDA_SERIAL", "1", 1);
    check_calls("waits", PLAIN_LAUNCH);
}

static void no_early_start(void) {
    setenv("FAKE_CUDA_VERSION", "12020", 1);
    load_fake();
    check_calls("waits", PLAIN_LAUNCH);
}

/* Code with many registers cannot have the largest threadgroups, and says so before a launch. */
static void many_registers(void) {
    load_fake();
    setenv("FAKE_CUDA_MAX_THREADS", "640", 1);
    open_with(NULL);
    ingot_kernel *kernel = kernel_named("mark");
    ingot_kernel_info info;
    OK(ingot_kernel_get_info(kernel, &info));
    CHECK(info.max_threads_per_threadgroup == 640);
    ingot_buffer *data;
    OK(ingot_buffer_create(device, 1 << 16, &data));
    const ingot_arg arg = {.buffer = data};
    ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {2000}, .group = {704}, .args = &arg, .arg_count = 1};
    fake->clear_log();
    FAILS(ingot_stream_dispatch(stream, &desc), INGOT_LAUNCH_ERROR, "mark", "704 threads",
          "limit of 640");
    CHECK(!strstr(fake->log(), "cuLaunchKernel"));
    desc.group[0] = 640;
    OK(ingot_stream_dispatch(stream, &desc));
    OK(ingot_stream_wait(stream));
    ingot_buffer_release(data);
    ingot_kernel_release(kernel);
    close_all();
}

static void events(void) {
    load_fake();
    open_with(NULL);
    ingot_event *start, *end;
    ingot_buffer *out;
    double seconds = 0;
    ingot_kernel *kernel = kernel_named("mark");
    OK(ingot_buffer_create(device, 256, &out));
    OK(ingot_event_create(device, &start));
    OK(ingot_event_create(device, &end));
    CHECK(!ingot_event_done(start));
    FAILS(ingot_event_wait(start), INGOT_INVALID_ARGUMENT, "never recorded");
    FAILS(ingot_event_elapsed(start, end, &seconds), INGOT_INVALID_ARGUMENT, "start");
    OK(ingot_stream_record(stream, start));
    OK(run_one(kernel, out, 0));
    OK(run_one(kernel, out, 0));
    FAILS(ingot_event_elapsed(start, end, &seconds), INGOT_INVALID_ARGUMENT, "end");
    OK(ingot_stream_record(stream, end));
    OK(ingot_stream_wait_event(stream, end));
    OK(ingot_event_wait(end));
    CHECK(ingot_event_done(start) && ingot_event_done(end));
    OK(ingot_event_elapsed(start, end, &seconds));
    CHECK(seconds > 0.0019 && seconds < 0.0021);
    double from = 0, to = 0;
    OK(ingot_event_time(start, &from));
    OK(ingot_event_time(end, &to));
    CHECK(from > 0 && to - from > 0.0019 && to - from < 0.0021);
    uint32_t marks[64];
    OK(ingot_stream_download(stream, out, 0, marks, sizeof marks));
    CHECK(marks[0] == 1 && marks[63] == 64);

    /* A stream of another library, here the default one. */
    ingot_stream *own = stream;
    OK(ingot_stream_wrap(device, NULL, &stream));
    OK(run_one(kernel, out, 0));
    FAILS(ingot_stream_cancel(stream), INGOT_UNSUPPORTED, "\"cuda:0\"", "cannot stop");
    OK(ingot_stream_wait(stream));
    ingot_stream_release(stream);
    stream = own;
    ingot_event_release(start);
    ingot_event_release(end);
    ingot_buffer_release(out);
    ingot_kernel_release(kernel);
    close_all();
    CHECK(fake->live() == 0);
}

static char messages[256];

static void keep_message(void *context, int level, const char *message) {
    (void)context;
    size_t used = strlen(messages);
    snprintf(messages + used, sizeof messages - used, "%d %s\n", level, message);
}

static void logging(void) {
    load_fake();
    open_with(NULL);
    ingot_set_log_function(keep_message, NULL);
    ingot_buffer *out;
    OK(ingot_buffer_create(device, 256, &out));
    ingot_kernel *kernel = kernel_named("log"), *deep = kernel_named("log_deep");
    OK(run_one(kernel, out, 0));
    CHECK(!*messages);
    OK(ingot_stream_wait(stream));
    CHECK(!strncmp(messages, "16 answer 41\n1 a text\n0 kernel \"log\": 3 more", 44));
    messages[0] = 0;
    OK(ingot_stream_wait(stream));
    CHECK(!*messages); /* it was read once */
    OK(run_one(deep, out, 0));
    FAILS(ingot_stream_wait(stream), INGOT_KERNEL_FAULT, "log_deep", "12 levels deep");
    OK(ingot_stream_wait(stream)); /* the device goes on */
    /* What a graph runs writes messages whenever it likes. */
    ingot_stream *captured;
    int native;
    unsigned char block[128] = {0};
    const uint64_t address = ingot_buffer_address(out);
    memcpy(block + ingot_cuda_buffers_at(), &address, sizeof address);
    OK(ingot_stream_wrap(device, &native, &captured));
    setenv("FAKE_CUDA_CAPTURING", "1", 1);
    OK(run_in(captured, kernel, out, 0));
    unsetenv("FAKE_CUDA_CAPTURING");
    for (int replays = 0; replays < 2; replays++) {
        messages[0] = 0;
        kernel_log(block, (unsigned[]){1, 1, 1}, 32, 0);
        OK(ingot_stream_wait(captured));
        CHECK(!strncmp(messages, "16 answer 41", 12));
    }
    ingot_stream_release(captured);
    ingot_kernel_release(kernel);
    ingot_kernel_release(deep);
    ingot_buffer_release(out);
    close_all();
    CHECK(fake->live() == 0);
}

/* Threadgroup variables of more than a module may have are dynamic memory. */
static void large_statics(void) {
    load_fake();
    open_with(&(ingot_device_desc){.threadgroup_memory = 100 << 10});
    ingot_buffer *out;
    OK(ingot_buffer_create(device, 256, &out));
    fake->clear_log();
    ingot_kernel *kernel = kernel_named("large");
    CHECK(strstr(fake->log(), "attribute 8 = 232448"));
    fake->clear_log();
    OK(run_one(kernel, out, 0));
    CHECK(strstr(fake->log(), "  60000 bytes of shared memory"));
    OK(ingot_stream_wait(stream));
    ingot_kernel_release(kernel);
    ingot_buffer_release(out);
    close_all();
}

/* Works on a stream of its own and on the shared one; returns how many calls failed. */
static void *work(void *kernel) {
    ingot_stream *own = NULL;
    ingot_buffer *buffer = NULL;
    size_t wrong = ingot_stream_create(device, &own) != INGOT_OK;
    wrong += ingot_buffer_create(device, 256, &buffer) != INGOT_OK;
    const ingot_arg arg = {.buffer = buffer};
    const ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {64}, .group = {32}, .args = &arg, .arg_count = 1};
    for (int i = 0; i < 100; i++) {
        uint32_t marks[64] = {0};
        wrong += ingot_stream_dispatch(own, &desc) != INGOT_OK;
        wrong += ingot_stream_dispatch(stream, &desc) != INGOT_OK;
        wrong += ingot_stream_download(own, buffer, 0, marks, sizeof marks) != INGOT_OK;
        wrong += marks[63] != 64;
        wrong += i % 10 == 0 && ingot_stream_wait(stream) != INGOT_OK;
    }
    ingot_stream_release(own);
    ingot_buffer_release(buffer);
    return (void *)(uintptr_t)wrong;
}

static void threads(void) {
    pthread_t workers[4];
    load_fake();
    open_with(NULL);
    ingot_kernel *kernel = kernel_named("mark");
    for (int i = 0; i < 4; i++) {
        CHECK(!pthread_create(&workers[i], NULL, work, kernel));
    }
    for (int i = 0; i < 4; i++) {
        void *wrong = NULL;
        pthread_join(workers[i], &wrong);
        CHECK(wrong == NULL);
    }
    ingot_kernel_release(kernel);
    close_all();
    CHECK(fake->live() == 0);
}

int main(void) {
    static const test_group groups[] = {no_library,
                                        no_device,
                                        newer_device,
                                        old_device,
                                        opening,
                                        code,
                                        events,
                                        parameter_block,
                                        threads,
                                        logging,
                                        large_statics,
                                        many_registers,
                                        capture,
                                        calls_of_a_dispatch,
                                        early_start,
                                        no_early_start,
                                        page_locked,
                                        cubins,
                                        capture_elsewhere,
                                        panels};
    return run_groups(groups, sizeof groups / sizeof groups[0]);
}
