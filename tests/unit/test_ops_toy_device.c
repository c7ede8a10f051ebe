/*
 * Another kind of device, by the places that the architecture names and no others: a folder, which
 * is toy_device.c here, and a line in the table of kinds, which this program's own takes the place
 * of. Runs kernels on it through the public API, and asks what operations ask a device.
 */
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "check.h"
#include "ops/ops.h"

/* src/runtime/device_kinds.c with a line more. */
extern const struct ig_device_kind ig_cpu_device_kind, ig_toy_device_kind;
const struct ig_device_kind *const ig_device_kinds[] = {&ig_cpu_device_kind, &ig_toy_device_kind};
const size_t ig_device_kind_count = sizeof ig_device_kinds / sizeof *ig_device_kinds;

enum { COUNT = 100 };

static bool message_has(const char *text) {
    if (!strstr(ingot_error_message(), text)) {
        fprintf(stderr, "  got \"%s\"\n", ingot_error_message());
        return false;
    }
    return true;
}

/* A library with one kernel, whose code is `text` for `target`. */
static ingot_library *make_library(ingot_device *device, const char *target, const char *text) {
    static const struct ig_argument arguments[] = {
        {.name = "in",
         .type_name = "float",
         .kind = INGOT_ARGUMENT_BUFFER,
         .space = INGOT_SPACE_DEVICE,
         .index = 0,
         .slot = 0,
         .type_size = 4,
         .type_align = 4,
         .scalar = INGOT_SCALAR_F32,
         .components = 1,
         .active = 1},
        {.name = "out",
         .type_name = "float",
         .kind = INGOT_ARGUMENT_BUFFER,
         .space = INGOT_SPACE_DEVICE,
         .index = 1,
         .slot = 1,
         .type_size = 4,
         .type_align = 4,
         .scalar = INGOT_SCALAR_F32,
         .components = 1,
         .writable = 1,
         .active = 1},
    };
    const struct ig_code code = {.target = target, .bytes = text, .size = strlen(text)};
    const struct ig_variant variant = {.kernel = "sums",
                                       .constants = "",
                                       .max_threads = 1024,
                                       .arguments = arguments,
                                       .argument_count = 2,
                                       .codes = &code,
                                       .code_count = 1};
    const char *const names[] = {"sums"};
    const struct ig_archive archive = {.compiler = "by hand",
                                       .source_name = "sums.toy",
                                       .source = "",
                                       .options = "",
                                       .warnings = "",
                                       .kernels = names,
                                       .kernel_count = 1,
                                       .variants = &variant,
                                       .variant_count = 1};
    struct ig_error error = {0};
    void *bytes = NULL;
    size_t size = 0;
    ingot_library *library = NULL;
    CHECK(ig_archive_write(&archive, &bytes, &size, &error) == INGOT_OK);
    CHECK(!ingot_library_create_from_memory(device, bytes, size, &library));
    ig_error_clear(&error);
    free(bytes);
    return library;
}

struct setup {
    ingot_device *device;
    ingot_stream *stream;
    ingot_buffer *in, *out;
};

static ingot_status run(const struct setup *s, const char *code) {
    ingot_library *library = make_library(s->device, "toy-2", code);
    ingot_kernel *kernel = NULL;
    const ingot_kernel_desc desc = {.name = "sums"};
    ingot_status status = ingot_kernel_create(library, &desc, &kernel);
    if (!status) {
        const ingot_arg args[] = {{.buffer = s->in}, {.buffer = s->out}};
        const ingot_dispatch_desc dispatch = {
            .kernel = kernel, .threads = {COUNT}, .group = {32}, .args = args, .arg_count = 2};
        status = ingot_stream_dispatch(s->stream, &dispatch);
    }
    if (!status) {
        status = ingot_stream_wait(s->stream);
    }
    ingot_kernel_release(kernel);
    ingot_library_release(library);
    return status;
}

static void test_finding(void) {
    ingot_device_info info;
    ingot_device *device = NULL;
    CHECK(ingot_device_count() == 3); /* the CPU and two toys */
    CHECK(!ingot_device_describe(2, &info) && !strcmp(info.name, "toy:1"));
    CHECK(ingot_device_open("toys", NULL, &device) == INGOT_NOT_FOUND);
    CHECK(message_has("there is no device called \"toys\"; this build has: cpu, toy"));
    CHECK(ingot_device_open("toy:2", NULL, &device) == INGOT_NOT_FOUND);
    CHECK(message_has("there is no device \"toy:2\": this machine has 2 of kind \"toy\""));
}

static void test_kernels(const struct setup *s) {
    float *in = ingot_buffer_contents(s->in), *out = ingot_buffer_contents(s->out);
    for (int i = 0; i < COUNT; i++) {
        in[i] = (float)i;
    }
    CHECK(!run(s, "x 2 * 1 +"));
    bool good = true;
    for (int i = 0; i < COUNT; i++) {
        good = good && out[i] == (float)(2 * i + 1);
    }
    CHECK(good);
    CHECK(run(s, "6 x /") == INGOT_KERNEL_FAULT);
    CHECK(message_has("kernel \"sums\" failed: a division by 0 in thread 0"));
    CHECK(!ingot_stream_wait(s->stream)); /* the error was said once */
    CHECK(run(s, "x sqrt") == INGOT_BAD_ARCHIVE && message_has("\"sqrt\" is no toy code"));
}

static void test_refusals(const struct setup *s) {
    ingot_library *library = make_library(s->device, "toy-3", "x");
    ingot_kernel *kernel = NULL;
    ingot_stream *stream = NULL;
    const ingot_kernel_desc desc = {.name = "sums"};
    CHECK(ingot_kernel_create(library, &desc, &kernel) == INGOT_UNSUPPORTED);
    CHECK(message_has("holds no code of kernel \"sums\" for toy-2, only for toy-3"));
    ingot_library_release(library);
    /* What the interface lets a device leave out. */
    CHECK(ingot_stream_wrap(s->device, NULL, &stream) == INGOT_UNSUPPORTED);
    CHECK(message_has("device \"toy:1\" has no streams of other libraries"));
    CHECK(ingot_stream_cancel(s->stream) == INGOT_UNSUPPORTED);
    CHECK(message_has("device \"toy:1\" cannot stop what it has begun"));
}

static void test_streams(const struct setup *s) {
    float host[4] = {1, 2, 3, 4}, back[4] = {0};
    ingot_event *start = NULL, *end = NULL;
    double seconds = -1;
    CHECK(!ingot_event_create(s->device, &start) && !ingot_event_create(s->device, &end));
    CHECK(!ingot_event_done(end) && ingot_event_elapsed(start, end, &seconds));
    CHECK(!ingot_stream_record(s->stream, start));
    CHECK(!ingot_stream_upload(s->stream, s->in, 16, host, sizeof host));
    CHECK(!ingot_stream_copy(s->stream, s->in, 16, s->out, 0, sizeof host));
    CHECK(!ingot_stream_fill(s->stream, s->out, 0, 4, 0));
    CHECK(!ingot_stream_download(s->stream, s->out, 0, back, sizeof back));
    CHECK(back[0] == 0 && back[1] == 2 && back[2] == 3 && back[3] == 4);
    CHECK(!ingot_stream_record(s->stream, end) && !ingot_stream_wait_event(s->stream, end));
    CHECK(ingot_event_done(end) && !ingot_event_elapsed(start, end, &seconds) && seconds >= 0);
    ingot_event_release(start);
    ingot_event_release(end);
}

/* What an operation asks a device: limits and what it can do, and its name only to find rules. */
static void test_operations(const struct setup *s) {
    ingot_ops *ops = NULL;
    const ingot_ops_desc desc = {.policy_path = "",
                                 .policy_text = "toy axpy block=256\ntoy:toy-1 axpy wide=0\n"
                                                "cpu axpy simd=1\ntoy:toy-3 axpy simd=2\n"};
    CHECK(!ingot_ops_create(s->device, &desc, &ops));
    const struct igo_library *library = NULL;
    for (size_t i = 0; i < igo_archive_count; i++) {
        library = strcmp(igo_archives[i].library->name, "axpy") ? library : igo_archives[i].library;
    }
    CHECK(ops && library);
    struct igo_call call;
    igo_begin(&call, ops, s->stream, library, library->operations, &desc);
    CHECK(igo_policy(&call, INGOT_SCALAR_F32, NULL));
    CHECK(!strcmp(call.key, "axpy/f32/simd8.block256.wide0"));
    CHECK(igo_threadgroup_memory(&call) == 8192 &&
          igo_device_info(&call)->max_threadgroup_memory == 4096);
    CHECK(igo_batch_scratch_bytes(&call) == 1 << 16);
    CHECK(igo_has_concurrent_simdgroups(&call) && !igo_has_fast_reciprocal_root(&call));
    ingot_tensor small = ingot_tensor_contiguous(s->in, 0, INGOT_SCALAR_F32, 1, (int64_t[]){16}),
                 large = ingot_tensor_contiguous(s->in, 0, INGOT_SCALAR_F32, 1, (int64_t[]){17});
    CHECK(!igo_stores_past_caches(&call, &small) && igo_stores_past_caches(&call, &large));
    CHECK(igo_end(&call) == INGOT_OK);
    ingot_ops_release(ops);
}

int main(void) {
    struct setup s = {0};
    test_finding();
    CHECK(!ingot_device_open("toy:1", NULL, &s.device));
    if (!s.device) {
        return check_report();
    }
    CHECK(!ingot_stream_create(s.device, &s.stream));
    CHECK(!ingot_buffer_create(s.device, COUNT * 4, &s.in));
    CHECK(!ingot_buffer_create(s.device, COUNT * 4, &s.out));
    test_kernels(&s);
    test_refusals(&s);
    test_streams(&s);
    test_operations(&s);
    ingot_buffer_release(s.in);
    ingot_buffer_release(s.out);
    ingot_stream_release(s.stream);
    ingot_device_release(s.device);
    return check_report();
}
