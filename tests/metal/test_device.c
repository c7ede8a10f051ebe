/* The device "metal" through the public API: what every device does. On Linux its Metal is
 * libingot-metal ($INGOT_METAL_BRIDGE). */
#include <stdlib.h>
#include <string.h>

#include "../unit/check.h"
#include "ingot/ingot.h"

static ingot_device *device;
static ingot_stream *stream;

static void check_ok(ingot_status status, int line) {
    CHECK(status == INGOT_OK);
    if (status) {
        fprintf(stderr, "  line %d: %s\n", line, ingot_error_message());
    }
}
#define OK(call) check_ok(call, __LINE__)

static void check_fails(ingot_status got, ingot_status wanted, const char *text, int line) {
    const bool good = got == wanted && strstr(ingot_error_message(), text);
    CHECK(good);
    if (!good) {
        fprintf(stderr, "  line %d: %s, \"%s\" without \"%s\"\n", line, ingot_status_name(got),
                ingot_error_message(), text);
    }
}
#define FAILS(call, status, text) check_fails(call, status, text, __LINE__)

static const char source[] =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "constant uint stride [[function_constant(2)]];\n"
    "constant uint used = is_function_constant_defined(stride) ? stride : 1;\n"
    "struct Params { uint first; float scale; };\n"
    "kernel void count(device uint *out [[buffer(0)]], constant Params &p [[buffer(1)]],\n"
    "    uint id [[thread_position_in_grid]]) { out[id] = p.first + used * id; }\n"
    "kernel void turn(device const uint *in [[buffer(0)]], device uint *out [[buffer(2)]],\n"
    "    threadgroup uint *shared [[threadgroup(0)]], uint t [[thread_position_in_threadgroup]],\n"
    "    uint n [[threads_per_threadgroup]]) {\n"
    "  shared[t] = in[t]; threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "  out[t] = shared[n - 1 - t]; }\n";

struct params {
    uint32_t first;
    float scale;
};

static ingot_kernel *kernel_of(ingot_library *library, const char *name, const uint32_t *step) {
    const ingot_constant constant = {.name = "stride", .bytes = step, .size = 4};
    const ingot_kernel_desc desc = {
        .name = name, .constants = &constant, .constant_count = step ? 1 : 0};
    ingot_kernel *kernel = NULL;
    OK(ingot_kernel_create(library, &desc, &kernel));
    return kernel;
}

static ingot_status count(ingot_kernel *kernel, ingot_buffer *out, uint64_t offset, uint32_t first,
                          uint32_t threads) {
    const struct params params = {first, 1};
    const ingot_arg args[] = {{.buffer = out, .offset = offset},
                              {.bytes = &params, .size = sizeof params}};
    const ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {threads}, .group = {32}, .args = args, .arg_count = 2};
    return ingot_stream_dispatch(stream, &desc);
}

static void test_reflection(ingot_library *library, ingot_kernel *kernel) {
    ingot_kernel_info info;
    ingot_argument_info argument;
    ingot_constant_info constant;
    CHECK(ingot_library_kernel_count(library) == 2);
    CHECK(ingot_library_constant_count(library) == 1);
    OK(ingot_library_constant_info(library, 0, &constant));
    CHECK(!strcmp(constant.name, "stride") && constant.index == 2 && !constant.required);
    OK(ingot_kernel_get_info(kernel, &info));
    CHECK(info.argument_count == 2 && info.thread_execution_width == 32);
    CHECK(info.max_threads_per_threadgroup >= 32);
    OK(ingot_kernel_argument_info(kernel, 0, &argument));
    CHECK(!strcmp(argument.name, "out") && argument.writable && argument.type_size == 4);
    OK(ingot_kernel_argument_info(kernel, 1, &argument));
    CHECK(argument.index == 1 && !argument.writable && argument.type_size == 8);
}

static void test_results(ingot_library *library, ingot_kernel *plain) {
    const uint32_t seven = 7;
    ingot_kernel *by_seven = kernel_of(library, "count", &seven);
    ingot_kernel *turn = kernel_of(library, "turn", NULL);
    ingot_buffer *out = NULL, *turned = NULL;
    OK(ingot_buffer_create(device, 2 << 20, &out)); /* of pages, zero */
    CHECK(((const char *)ingot_buffer_contents(out))[(2 << 20) - 1] == 0);
    OK(ingot_buffer_create(device, 4096, &turned));
    OK(count(plain, out, 0, 100, 70)); /* the last threadgroup is partial */
    OK(count(by_seven, out, 1024, 1, 64));
    const ingot_arg args[] = {{.buffer = out}, {0}, {.buffer = turned, .offset = 64}};
    const uint32_t lengths[] = {256};
    const ingot_dispatch_desc desc = {.kernel = turn,
                                      .threads = {64},
                                      .group = {64},
                                      .args = args,
                                      .arg_count = 3,
                                      .threadgroup_lengths = lengths,
                                      .threadgroup_length_count = 1};
    OK(ingot_stream_dispatch(stream, &desc));
    OK(ingot_stream_copy(stream, turned, 64, out, 2048, 256));
    OK(ingot_stream_fill(stream, out, 3072, 4, 0xab));
    OK(ingot_stream_wait(stream));
    const uint32_t *words = ingot_buffer_contents(out);
    CHECK(words[0] == 100 && words[69] == 169 && words[70] == 0);
    CHECK(words[256] == 1 && words[256 + 63] == 1 + 7 * 63);
    CHECK(words[512] == 163 && words[512 + 63] == 100);
    CHECK(words[768] == 0xabababab && words[769] == 0);
    ingot_buffer_release(turned);
    ingot_buffer_release(out);
    ingot_kernel_release(turn);
    ingot_kernel_release(by_seven);
}

static void test_launches(ingot_kernel *kernel) {
    ingot_buffer *out = NULL;
    OK(ingot_buffer_create(device, 256, &out));
    const ingot_arg one[] = {{.buffer = out}};
    ingot_dispatch_desc desc = {.kernel = kernel, .threads = {32}, .args = one, .arg_count = 1};
    FAILS(ingot_stream_dispatch(stream, &desc), INGOT_LAUNCH_ERROR, "count");
    const struct params params = {5, 1};
    const ingot_arg args[] = {{.buffer = out}, {.bytes = &params, .size = sizeof params}};
    desc.args = args;
    desc.arg_count = 2;
    desc.group[0] = 2048;
    FAILS(ingot_stream_dispatch(stream, &desc), INGOT_LAUNCH_ERROR, "2048");
    desc.group[0] = 0; /* one that fits */
    OK(ingot_stream_dispatch(stream, &desc));
    OK(ingot_stream_wait(stream));
    CHECK(((const uint32_t *)ingot_buffer_contents(out))[31] == 36);
    ingot_buffer_release(out);
}

static void test_wrapped(ingot_kernel *kernel) {
    char *memory = calloc(1, 3 * 4096);
    ingot_buffer *out = NULL;
    OK(ingot_buffer_wrap(device, memory + 1000, 4096, NULL, NULL, &out));
    CHECK(ingot_buffer_contents(out) == (void *)(memory + 1000));
    OK(count(kernel, out, 8, 9, 32));
    ingot_buffer_release(out); /* waits */
    uint32_t first, last;
    memcpy(&first, memory + 1008, 4);
    memcpy(&last, memory + 1008 + 31 * 4, 4);
    CHECK(first == 9 && last == 40);
    free(memory);
}

static void test_events(ingot_kernel *kernel) {
    ingot_event *start = NULL, *end = NULL;
    ingot_stream *second = NULL, *first = stream;
    ingot_buffer *out = NULL;
    double seconds = -1, from = 0, to = 0;
    OK(ingot_event_create(device, &start));
    OK(ingot_event_create(device, &end));
    OK(ingot_stream_create(device, &second));
    OK(ingot_buffer_create(device, 4096, &out));
    OK(ingot_stream_record(stream, start));
    OK(count(kernel, out, 0, 3, 32));
    OK(ingot_stream_record(stream, end));
    OK(ingot_stream_wait_event(second, end));
    stream = second;
    OK(count(kernel, out, 0, 50, 32)); /* behind the other */
    OK(ingot_stream_wait(second));
    stream = first;
    CHECK(((const uint32_t *)ingot_buffer_contents(out))[0] == 50);
    OK(ingot_event_wait(end));
    CHECK(ingot_event_done(start) && ingot_event_done(end));
    OK(ingot_event_elapsed(start, end, &seconds));
    OK(ingot_event_time(start, &from));
    OK(ingot_event_time(end, &to));
    CHECK(seconds >= 0 && seconds < 60 && to >= from);
    OK(ingot_stream_wait(stream));
    ingot_buffer_release(out);
    ingot_stream_release(second);
    ingot_event_release(end);
    ingot_event_release(start);
}

static void test_errors(ingot_library *library) {
    const ingot_source_desc wrong = {.source = "kernel void k() { int x = nothing; }\n",
                                     .name = "wrong.metal"};
    const ingot_kernel_desc missing = {.name = "missing"};
    ingot_library *none = NULL;
    ingot_kernel *kernel = NULL;
    ingot_buffer *buffer = NULL;
    FAILS(ingot_library_create_from_source(device, &wrong, &none), INGOT_COMPILE_ERROR,
          "wrong.metal:1:");
    FAILS(ingot_kernel_create(library, &missing, &kernel), INGOT_NOT_FOUND, "missing");
    FAILS(ingot_buffer_create(device, UINT64_MAX / 2, &buffer), INGOT_INVALID_ARGUMENT, "bytes");
    FAILS(ingot_stream_cancel(stream), INGOT_UNSUPPORTED, "metal");
    CHECK(!none && !kernel && !buffer);
}

int main(void) {
    ingot_library *library = NULL;
    const ingot_source_desc desc = {.source = source, .name = "device.metal"};
    OK(ingot_device_open("metal", NULL, &device));
    if (!device) {
        return check_report();
    }
    OK(ingot_stream_create(device, &stream));
    OK(ingot_library_create_from_source(device, &desc, &library));
    ingot_kernel *plain = kernel_of(library, "count", NULL);
    test_reflection(library, plain);
    test_results(library, plain);
    test_launches(plain);
    test_wrapped(plain);
    test_events(plain);
    test_errors(library);
    ingot_kernel_release(plain);
    ingot_library_release(library);
    ingot_stream_release(stream);
    ingot_device_release(device);
    return check_report();
}
