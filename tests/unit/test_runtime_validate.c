/* The launch validator: one case per refusal, with the words its message must hold. */
#include <stdint.h>

#include "runtime_support.h"

struct params {
    uint32_t a, b, c;
};

static const struct ig_argument arguments[] = {
    BUFFER_ARGUMENT("data", "float4", 0, 16),
    REFERENCE_ARGUMENT("params", "Params", 1, 12),
    CONSTANT_ARGUMENT("table", "float", 2, 4),
    {.name = "optional",
     .type_name = "float",
     .kind = INGOT_ARGUMENT_BUFFER,
     .space = INGOT_SPACE_DEVICE,
     .index = 4,
     .slot = 3,
     .type_size = 4,
     .type_align = 4,
     .active = 0},
    THREADGROUP_ARGUMENT("shared", "float", 1, 4),
};

static const struct test_kernel kernels[] = {
    {.name = "work",
     .arguments = arguments,
     .argument_count = 5,
     .max_threads = 512,
     .static_bytes = 1000,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  if (s == 0) { ((uint32_t *)g->buffers[0])[g->group_position[0]] =\n"
             "    ((uint32_t *)g->buffers[1])[2] + g->threadgroup_offsets[1]; } }\n"
             "KERNEL(0, 1008, run)\n"},
    {.name = "empty",
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {}\nKERNEL(0, 0, run)\n"},
};

static ingot_device *device;
static ingot_stream *stream;
static ingot_kernel *work, *empty;
static ingot_buffer *data;
static struct params params = {1, 2, 3};
static float table[8];
static uint32_t lengths[2] = {0, 256};

/* A right launch; each case changes one thing of a copy. */
struct launch {
    ingot_arg args[6];
    ingot_dispatch_desc desc;
};

static void right_launch(struct launch *launch) {
    memset(launch, 0, sizeof *launch);
    launch->args[0].buffer = data;
    launch->args[1] = (ingot_arg){.bytes = &params, .size = sizeof params};
    launch->args[2] = (ingot_arg){.bytes = table, .size = sizeof table};
    launch->desc = (ingot_dispatch_desc){.kernel = work,
                                         .threadgroups = {4},
                                         .group = {64},
                                         .args = launch->args,
                                         .arg_count = 3,
                                         .threadgroup_lengths = lengths,
                                         .threadgroup_length_count = 2};
}

static struct launch l;

#define RIGHT()                                                                                    \
    do {                                                                                           \
        OK(ingot_stream_dispatch(stream, &l.desc));                                                \
        OK(ingot_stream_wait(stream));                                                             \
        right_launch(&l);                                                                          \
    } while (0)
#define WRONG(...)                                                                                 \
    do {                                                                                           \
        FAILS(ingot_stream_dispatch(stream, &l.desc), INGOT_LAUNCH_ERROR, __VA_ARGS__);            \
        OK(ingot_stream_wait(stream));                                                             \
        right_launch(&l);                                                                          \
    } while (0)

static void test_sizes(void) {
    l.desc.group[0] = 1024;
    WRONG("\"work\"", "1024", "512");
    l.desc.group[0] = 32, l.desc.group[1] = 32;
    WRONG("\"work\"", "32 x 32 x 1 = 1024", "512");
    l.desc.group[0] = UINT32_MAX, l.desc.group[1] = UINT32_MAX, l.desc.group[2] = UINT32_MAX;
    WRONG("\"work\"", "512");
    l.desc.group[0] = 0, l.desc.group[1] = 8;
    WRONG("\"work\"", "0 x 8 x 0");
    l.desc.threads[0] = 64;
    WRONG("\"work\"", "both threads and threadgroups");
    l.desc.threadgroups[0] = 0;
    WRONG("\"work\"", "neither threads nor threadgroups");
    l.desc.threadgroups[0] = UINT32_MAX;
    WRONG("\"work\"", "4294967295", "axis 0");
    for (int axis = 0; axis < 3; axis++) {
        l.desc.threadgroups[axis] = UINT32_MAX, l.desc.group[axis] = 1;
    }
    WRONG("\"work\"", "4294967295 x 4294967295 x 4294967295", "9223372036854775807");
    l.desc.threadgroups[0] = 0, l.desc.threads[1] = 1; /* an empty grid */
    RIGHT();
    l.desc.kernel = empty;
    l.desc.arg_count = l.desc.threadgroup_length_count = 0;
    l.desc.threadgroups[0] = 0, l.desc.threads[0] = 1, l.desc.group[0] = 2000;
    WRONG("\"empty\"", "2000", "1024");
}

static void test_arguments(void) {
    l.args[0].buffer = NULL;
    WRONG("\"work\"", "argument 0 \"data\"", "float4", "missing");
    l.desc.arg_count = 2;
    WRONG("\"work\"", "argument 2 \"table\"", "missing");
    l.desc.arg_count = 6, l.args[5].buffer = data;
    WRONG("\"work\"", "buffer index 5", "no argument there", "highest index is 2");
    l.desc.arg_count = 6; /* absent ones are no surplus */
    RIGHT();
    l.desc.arg_count = 5, l.args[4].buffer = data; /* inactive: may be given */
    RIGHT();
    l.args[1].size = 16;
    WRONG("\"work\"", "argument 1 \"params\"", "16 bytes were given", "Params has 12 bytes");
    l.args[1].bytes = NULL;
    WRONG("\"work\"", "argument 1 \"params\"", "bytes is NULL", "12 bytes");
    l.args[2].size = 4;
    RIGHT();
    l.args[2].size = 6;
    WRONG("\"work\"", "argument 2 \"table\"", "6 bytes", "float has 4");
    l.args[0].offset = 8;
    WRONG("\"work\"", "argument 0 \"data\"", "offset 8", "multiple of 16");
    l.args[0].offset = 4096;
    WRONG("\"work\"", "argument 0 \"data\"", "offset 4096", "4096 bytes");
    l.args[0].offset = UINT64_MAX - 15;
    WRONG("\"work\"", "argument 0 \"data\"", "past the end");
    l.args[0].offset = 4080;
    RIGHT();
    ingot_buffer *small = NULL, *crooked = NULL;
    static _Alignas(16) char memory[64];
    OK(ingot_buffer_create(device, 8, &small));
    l.args[0].buffer = small;
    WRONG("\"work\"", "argument 0 \"data\"", "8 bytes", "float4 has 16");
    l.args[1] = (ingot_arg){.buffer = small};
    WRONG("\"work\"", "argument 1 \"params\"", "8 bytes", "Params has 12");
    OK(ingot_buffer_wrap(device, memory + 4, 60, NULL, NULL, &crooked));
    l.args[0].buffer = crooked;
    WRONG("\"work\"", "argument 0 \"data\"", "not aligned to 16");
    l.args[0].bytes = memory, l.args[0].size = 16;
    WRONG("\"work\"", "argument 0 \"data\"", "both a buffer and 16 bytes");
    ingot_buffer_release(small);
    ingot_buffer_release(crooked);
}

static void test_threadgroup_memory(void) {
    uint32_t large[] = {0, 40000}, surplus[] = {16, 16}, none[] = {0, 2};
    l.desc.threadgroup_lengths = large;
    WRONG("\"work\"", "41008 bytes", "1000 static", "32768");
    l.desc.threadgroup_lengths = surplus;
    WRONG("\"work\"", "16 bytes", "threadgroup index 0");
    l.desc.threadgroup_lengths = none;
    WRONG("\"work\"", "threadgroup argument 1 \"shared\"", "2 bytes", "at least 4");
    l.desc.threadgroup_length_count = 0;
    WRONG("\"work\"", "threadgroup argument 1 \"shared\"", "0 bytes");
    l.desc.threadgroup_lengths = NULL;
    WRONG("\"work\"", "threadgroup_lengths is NULL");
    RIGHT();
    const uint32_t *result = ingot_buffer_contents(data);
    CHECK(result[3] == 3 + 1008); /* the dynamic part follows the static one, 16-aligned */
}

static void test_devices(void) {
    ingot_device *other = NULL;
    ingot_stream *foreign = NULL;
    ingot_buffer *far = NULL;
    OK(ingot_device_open("cpu", &(ingot_device_desc){.worker_threads = 1}, &other));
    OK(ingot_stream_create(other, &foreign));
    OK(ingot_buffer_create(other, 64, &far));
    FAILS(ingot_stream_dispatch(foreign, &l.desc), INGOT_LAUNCH_ERROR, "\"work\"",
          "another opened device");
    l.args[0].buffer = far;
    WRONG("\"work\"", "argument 0 \"data\"", "another opened device");
    FAILS(ingot_stream_copy(stream, far, 0, data, 0, 4), INGOT_INVALID_ARGUMENT, "source",
          "another opened device");
    ingot_buffer_release(far);
    ingot_stream_release(foreign);
    ingot_device_release(other);
    FAILS(ingot_device_open("gpu", NULL, &other), INGOT_NOT_FOUND, "\"gpu\"");
    FAILS(ingot_device_open("cpu:7", NULL, &other), INGOT_NOT_FOUND, "\"cpu:7\"");
    FAILS(ingot_device_open("cpu", &(ingot_device_desc){.cpu_level = "x86-64-v9"}, &other),
          INGOT_INVALID_ARGUMENT, "x86-64-v9");
    FAILS(ingot_device_open("cpu", &(ingot_device_desc){.threadgroup_memory = 1u << 30}, &other),
          INGOT_UNSUPPORTED, "1073741824", "1048576");
}

/* NULLs are refused everywhere and crash nowhere. */
static void test_nulls(void) {
    ingot_buffer *buffer = NULL;
    FAILS(ingot_stream_dispatch(NULL, &l.desc), INGOT_INVALID_ARGUMENT, "stream is NULL");
    FAILS(ingot_stream_dispatch(stream, NULL), INGOT_INVALID_ARGUMENT, "desc is NULL");
    l.desc.kernel = NULL;
    FAILS(ingot_stream_dispatch(stream, &l.desc), INGOT_INVALID_ARGUMENT, "kernel is NULL");
    FAILS(ingot_buffer_create(device, 0, &buffer), INGOT_INVALID_ARGUMENT, "0 bytes");
    FAILS(ingot_buffer_create(device, UINT64_MAX, &buffer), INGOT_INVALID_ARGUMENT,
          "18446744073709551615");
    if (ingot_buffer_create(device, (uint64_t)1 << 45, &buffer) != INGOT_OK) {
        CHECK(strstr(ingot_error_message(), "35184372088832"));
    }
    ingot_buffer_release(buffer);
    FAILS(ingot_buffer_create(NULL, 4, &buffer), INGOT_INVALID_ARGUMENT, "device is NULL");
    FAILS(ingot_buffer_wrap(device, NULL, 4, NULL, NULL, &buffer), INGOT_INVALID_ARGUMENT,
          "memory is NULL");
    FAILS(ingot_stream_wait(NULL), INGOT_INVALID_ARGUMENT, "stream is NULL");
    FAILS(ingot_device_get_info(device, NULL), INGOT_INVALID_ARGUMENT, "info is NULL");
    FAILS(ingot_device_describe(99, &(ingot_device_info){0}), INGOT_NOT_FOUND, "99");
    ingot_buffer_release(NULL);
    ingot_stream_release(NULL);
    ingot_kernel_release(NULL);
    ingot_library_release(NULL);
    ingot_event_release(NULL);
    ingot_device_release(NULL);
    CHECK(!strcmp(ingot_status_name(INGOT_LAUNCH_ERROR), "INGOT_LAUNCH_ERROR"));
    CHECK(!strcmp(ingot_status_name((ingot_status)77), "INGOT_UNKNOWN_STATUS"));
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", INGOT_VERSION_MAJOR, INGOT_VERSION_MINOR,
             INGOT_VERSION_PATCH);
    CHECK(!strcmp(ingot_version(), version));
}

static void test_reflection(void) {
    ingot_kernel_info info;
    ingot_argument_info argument;
    OK(ingot_kernel_get_info(work, &info));
    CHECK(info.max_threads_per_threadgroup == 512 && info.argument_count == 5);
    CHECK(info.thread_execution_width == 32 && info.static_threadgroup_memory_length == 1000);
    OK(ingot_kernel_argument_info(work, 1, &argument));
    CHECK(!strcmp(argument.name, "params") && argument.is_reference && argument.type_size == 12);
    OK(ingot_kernel_argument_info(work, 3, &argument));
    CHECK(!argument.active && argument.index == 4);
    FAILS(ingot_kernel_argument_info(work, 5, &argument), INGOT_INVALID_ARGUMENT, "position 5",
          "5 arguments");
}

static void test_tensor_arguments(void) {
    const int64_t extents[] = {3, 5, 7}, strides[] = {1, 8, -4}, wrong[] = {3, -1};
    const int64_t huge[] = {INT64_MAX, INT64_MAX};
    ingot_tensor_argument t;
    OK(ingot_tensor_argument_of(data, 16, 3, extents, NULL, &t));
    CHECK(t.address == ingot_buffer_address(data) + 16);
    CHECK(t.extents[2] == 7 && t.strides[0] == 1 && t.strides[1] == 3 && t.strides[2] == 15);
    OK(ingot_tensor_argument_of(data, 0, 3, extents, strides, &t));
    CHECK(t.strides[1] == 8 && t.strides[2] == -4 && t.extents[3] == 0);
    FAILS(ingot_tensor_argument_of(data, 0, 0, extents, NULL, &t), INGOT_INVALID_ARGUMENT,
          "rank 0");
    FAILS(ingot_tensor_argument_of(data, 0, 17, extents, NULL, &t), INGOT_INVALID_ARGUMENT,
          "rank 17", "16");
    FAILS(ingot_tensor_argument_of(data, 4097, 1, extents, NULL, &t), INGOT_INVALID_ARGUMENT,
          "offset 4097", "4096 bytes");
    FAILS(ingot_tensor_argument_of(data, 0, 2, wrong, NULL, &t), INGOT_INVALID_ARGUMENT,
          "extent 1 is -1");
    FAILS(ingot_tensor_argument_of(data, 0, 2, huge, NULL, &t), INGOT_INVALID_ARGUMENT, "2^63");
    FAILS(ingot_tensor_argument_of(NULL, 0, 1, extents, NULL, &t), INGOT_INVALID_ARGUMENT,
          "buffer");
}

int main(void) {
    ingot_library *library = NULL;
    ingot_device_info info;
    void *bytes = NULL;
    size_t size = 0;
    OK(ingot_device_open(NULL, NULL, &device));
    OK(ingot_device_get_info(device, &info));
    CHECK(test_archive(info.target, kernels, 2, NULL, 0, &bytes, &size));
    OK(ingot_library_create_from_memory(device, bytes, size, &library));
    free(bytes);
    OK(ingot_kernel_create(library, &(ingot_kernel_desc){.name = "work"}, &work));
    OK(ingot_kernel_create(library, &(ingot_kernel_desc){.name = "empty"}, &empty));
    ingot_library_release(library); /* kernels stand alone */
    OK(ingot_stream_create(device, &stream));
    OK(ingot_buffer_create(device, 4096, &data));
    right_launch(&l);
    RIGHT();
    test_sizes();
    test_arguments();
    test_threadgroup_memory();
    test_devices();
    test_nulls();
    test_reflection();
    test_tensor_arguments();
    ingot_buffer_release(data);
    ingot_stream_release(stream);
    ingot_kernel_release(work);
    ingot_kernel_release(empty);
    ingot_device_release(device);
    return check_report();
}
