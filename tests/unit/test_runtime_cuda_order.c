/*
 * Kernels that start early (programmatic stream serialization) wait for what is ahead of them
 * before they touch memory: tests/fake_cuda executes their PTX and takes nothing of the kernel
 * ahead for granted before griddepcontrol.wait. Here: that it finds every way to be wrong, in code
 * by hand and in compiled code that was changed, and that chains of right ones, with other work
 * between them, pass.
 */
#include "runtime_cuda_support.h"

enum { WORDS = 64, BLOCK_BYTES = 64, MAX_CODE = 4096 };

/* data[i] = 3 data[i] + 1. %r4 is i, %rd1 the buffer, %rd4 the address of its element. */
static const char head[] = ".version 7.8\n"
                           ".target sm_90\n"
                           ".address_size 64\n"
                           ".visible .entry ingot_kernel(.param .align 16 .b8 block[64])\n"
                           "{\n"
                           ".reg .pred %p<2>;\n"
                           ".reg .b32 %r<9>;\n"
                           ".reg .b64 %rd<5>;\n"
                           ".shared .align 16 .b8 place[256];\n"
                           "ld.param.u64 %rd1, [block+56];\n"
                           "cvta.to.global.u64 %rd2, %rd1;\n"
                           "mov.u32 %r1, %ctaid.x;\n"
                           "mov.u32 %r2, %ntid.x;\n"
                           "mov.u32 %r3, %tid.x;\n"
                           "mad.lo.s32 %r4, %r1, %r2, %r3;\n"
                           "mul.wide.u32 %rd3, %r4, 4;\n"
                           "add.s64 %rd4, %rd2, %rd3;\n"
                           "setp.eq.u32 %p1, %r3, 31;\n"
                           "mov.u32 %r7, place;\n";
static const char tail[] = "ld.global.u32 %r5, [%rd4];\n"
                           "mad.lo.s32 %r5, %r5, 3, 1;\n"
                           "st.global.u32 [%rd4], %r5;\n"
                           "ret;\n"
                           "}\n";

#define WAIT "griddepcontrol.wait;\n"

static const struct {
    const char *name, *middle;
    const char *wrong; /* the instruction that is to be named; NULL: all is well */
} orders[] = {
    {"waits", WAIT, NULL},
    {"triggers", "griddepcontrol.launch_dependents;\n" WAIT, NULL},
    {"triggers_after", WAIT "griddepcontrol.launch_dependents;\n", NULL},
    {"works_before", "st.shared.u32 [%r7], %r4;\nld.param.u32 %r6, [block];\n" WAIT, NULL},
    {"serial", "ld.global.u32 %r6, [%rd4];\n", NULL}, /* not launched early */
    {"loads", "ld.global.u32 %r6, [%rd4];\n" WAIT, "ld.global.u32"},
    {"loads_constant", "ld.global.nc.u32 %r6, [%rd4];\n" WAIT, "ld.global.nc.u32"},
    {"loads_generic", "ld.u32 %r6, [%rd1];\n" WAIT, "ld.u32"},
    {"stores", "st.global.u32 [%rd4], %r4;\n" WAIT, "st.global.u32"},
    {"adds", "atom.global.add.u32 %r6, [%rd4], 1;\n" WAIT, "atom.global.add.u32"},
    {"reduces", "red.global.add.u32 [%rd4], 1;\n" WAIT, "red.global.add.u32"},
    {"copies", "cp.async.ca.shared.global [%r7], [%rd4], 4;\n" WAIT, "cp.async.ca.shared.global"},
    {"some_wait", "@!%p1 " WAIT, "ld.global.u32"},
    {"some_end", "@%p1 ret;\n" WAIT, "ret"},
    {"never_waits", "// " WAIT, "ld.global.u32"},
    {"triggers_only", "griddepcontrol.launch_dependents;\n// " WAIT, "ld.global.u32"},
    {"ends", "ret;\n// " WAIT, "ret"},
};
#define ORDERS (sizeof orders / sizeof orders[0])

static void make_orders(void) {
    static char text[ORDERS][MAX_CODE];
    struct ig_variant variants[ORDERS] = {0};
    struct ig_code codes[ORDERS];
    const char *names[ORDERS];
    for (size_t i = 0; i < ORDERS; i++) {
        int size = snprintf(text[i], MAX_CODE, "%s%s%s", head, orders[i].middle, tail);
        CHECK(size < MAX_CODE && ingot_cuda_block_bytes(one_argument, 1) == BLOCK_BYTES);
        names[i] = orders[i].name;
        codes[i] = (struct ig_code){.target = "sm_90", .bytes = text[i], .size = (size_t)size + 1};
        variants[i] = (struct ig_variant){.kernel = names[i],
                                          .constants = "",
                                          .max_threads = 1024,
                                          .static_threadgroup_bytes = 256,
                                          .argument_count = 1,
                                          .arguments = one_argument,
                                          .code_count = 1,
                                          .codes = &codes[i]};
    }
    make_library_of(variants, names, ORDERS);
}

static void open_orders(void) {
    OK(ingot_device_open("cuda", NULL, &device));
    make_orders();
    OK(ingot_stream_create(device, &stream));
}

/* All of `words` are `value` in the buffer. */
static bool holds(ingot_buffer *data, uint32_t value) {
    uint32_t words[WORDS] = {0};
    OK(ingot_stream_download(stream, data, 0, words, sizeof words));
    for (int i = 0; i < WORDS; i++) {
        if (words[i] != value) {
            return false;
        }
    }
    return true;
}

/* ---- one kernel behind another ---- */

static size_t which; /* of the orders */

static void pair(void) {
    load_fake();
    open_orders();
    ingot_buffer *data;
    ingot_kernel *first = kernel_named("waits"), *second = kernel_named(orders[which].name);
    OK(ingot_buffer_create(device, WORDS * 4, &data));
    OK(ingot_stream_fill(stream, data, 0, WORDS * 4, 0));
    OK(run_one(first, data, 0));
    OK(run_one(second, data, 0));
    if (orders[which].wrong) {
        FAILS(ingot_stream_wait(stream), INGOT_KERNEL_FAULT, orders[which].name,
              orders[which].wrong, "griddepcontrol.wait, with an early start");
    } else {
        CHECK(holds(data, 4));
    }
    ingot_kernel_release(first);
    ingot_kernel_release(second);
    ingot_buffer_release(data);
    close_all();
}

/* What is never launched early may do as it likes. */
static void serial(void) {
    setenv("INGOT_CUDA_SERIAL", "1", 1);
    load_fake();
    open_orders();
    ingot_buffer *data;
    ingot_kernel *kernel = kernel_named("loads");
    OK(ingot_buffer_create(device, WORDS * 4, &data));
    OK(ingot_stream_fill(stream, data, 0, WORDS * 4, 0));
    OK(run_one(kernel, data, 0));
    CHECK(holds(data, 1));
    ingot_kernel_release(kernel);
    ingot_buffer_release(data);
    close_all();
}

/* ---- chains ---- */

#define EARLY "cuLaunchKernelEx\n  attribute 6 = 1\n  0 bytes of shared memory\n"

/* Three kernels, of which the second lets the third start before it has itself waited. The third
 * waits for the end of the second, which is not before the end of the first. */
static void chain(void) {
    load_fake();
    open_orders();
    ingot_buffer *data;
    ingot_kernel *a = kernel_named("waits"), *b = kernel_named("triggers");
    OK(ingot_buffer_create(device, WORDS * 4, &data));
    OK(ingot_stream_fill(stream, data, 0, WORDS * 4, 0));
    fake->clear_log();
    OK(run_one(a, data, 0));
    OK(run_one(b, data, 0));
    OK(run_one(a, data, 0));
    CHECK(!strcmp(fake->log(), EARLY EARLY EARLY));
    CHECK(holds(data, 13));
    ingot_kernel_release(a);
    ingot_kernel_release(b);
    ingot_buffer_release(data);
    close_all();
}

/* Copies, fills, events and another stream between such kernels go to the driver where they stand,
 * on the kernels' stream. */
static void work_between(void) {
    load_fake();
    open_orders();
    ingot_buffer *data, *copy;
    ingot_event *event;
    ingot_stream *other;
    ingot_kernel *a = kernel_named("waits"), *b = kernel_named("triggers");
    OK(ingot_buffer_create(device, WORDS * 4, &data));
    OK(ingot_buffer_create(device, WORDS * 4, &copy));
    OK(ingot_event_create(device, &event));
    OK(ingot_stream_create(device, &other));
    fake->clear_log();
    OK(ingot_stream_fill(stream, data, 0, WORDS * 4, 0));
    OK(run_one(a, data, 0));
    OK(ingot_stream_copy(stream, data, 0, copy, 0, WORDS * 4));
    OK(run_one(b, copy, 0));
    OK(ingot_stream_record(stream, event));
    OK(ingot_stream_wait_event(other, event));
    OK(run_in(other, b, copy, 0));
    OK(ingot_stream_record(other, event));
    OK(ingot_stream_wait_event(stream, event));
    OK(run_one(a, copy, 0));
    const char *calls = fake->log();
    static const char *const in_order[] = {
        "cuMemsetD8Async",   "cuLaunchKernelEx",  "cuMemcpyDtoDAsync", "cuLaunchKernelEx",
        "cuEventRecord",     "cuStreamWaitEvent", "cuLaunchKernelEx",  "cuEventRecord",
        "cuStreamWaitEvent", "cuLaunchKernelEx"};
    for (size_t i = 0; calls && i < sizeof in_order / sizeof in_order[0]; i++) {
        calls = strstr(calls, in_order[i]);
        calls = calls ? calls + strlen(in_order[i]) : NULL;
    }
    CHECK(calls != NULL && !strstr(calls, "cuLaunchKernel"));
    OK(ingot_stream_wait(other));
    CHECK(holds(copy, 40) && holds(data, 1));
    ingot_stream_release(other);
    ingot_event_release(event);
    ingot_kernel_release(a);
    ingot_kernel_release(b);
    ingot_buffer_release(copy);
    ingot_buffer_release(data);
    close_all();
}

/* ---- compiled code ---- */

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "struct Params { uint count; uint add; };\n"
    "kernel void add(device uint *data [[buffer(0)]], constant Params &params [[buffer(1)]],\n"
    "                uint i [[thread_position_in_grid]]) {\n"
    "    if (i < params.count)\n"
    "        data[i] += params.add;\n"
    "}\n";

enum change { NOTHING, NO_WAIT, WAIT_LATER };
static enum change changed;

/* The PTX with its wait in a comment, or behind the first load of global memory (before it there
 * are generic ones, of the parameters). */
static char *change_code(const char *text, enum change change) {
    const char *wait = strstr(text, INGOT_CUDA_WAIT);
    const char *load = wait ? strstr(wait, "ld.global") : NULL;
    const char *next = load ? strchr(load, '\n') : NULL;
    char *made = NULL;
    CHECK(next != NULL);
    if (!next ||
        asprintf(&made, "%.*s%s%.*s%s%s", (int)(wait - text), text, change == NOTHING ? "" : "//",
                 (int)(next + 1 - wait), wait, change == WAIT_LATER ? WAIT : "", next + 1) < 0) {
        return NULL;
    }
    return made;
}

static bool compile(char **bytes, size_t *size) {
    char *folder = NULL, *input = NULL, *output = NULL;
    if (ig_folder_temporary(&folder, NULL) != INGOT_OK ||
        asprintf(&input, "%s/add.metal", folder) < 0 ||
        asprintf(&output, "%s/add.ingot", folder) < 0) {
        return false;
    }
    ig_file_write(input, source, strlen(source), NULL);
    const char *argv[] = {getenv("INGOTC"), input, "--target", "sm_90", "-o", output, NULL};
    bool good = test_run_compiler(argv, output, bytes, size);
    ig_folder_remove(folder);
    free(folder);
    free(input);
    free(output);
    return good;
}

static bool make_changed(void) {
    struct ig_arena arena = {0};
    struct ig_archive archive;
    char *bytes = NULL;
    size_t size = 0;
    if (!compile(&bytes, &size) ||
        ig_archive_read(&arena, bytes, size, &archive, NULL) != INGOT_OK) {
        return false;
    }
    struct ig_variant variant = archive.variants[0];
    struct ig_code code = variant.codes[0];
    char *text = change_code(code.bytes, changed);
    if (text) {
        code.bytes = text;
        code.size = strlen(text) + 1;
        variant.codes = &code;
        make_library_of(&variant, archive.kernels, 1);
    }
    free(text);
    ig_arena_free(&arena);
    free(bytes);
    return text != NULL;
}

/* The parameters are in a buffer: their loads are the first that the compiler can move. */
static void compiled(void) {
    load_fake();
    OK(ingot_device_open("cuda", NULL, &device));
    OK(ingot_stream_create(device, &stream));
    CHECK(make_changed());
    if (!library) {
        return;
    }
    ingot_buffer *data, *params;
    const uint32_t values[] = {WORDS, 5};
    ingot_kernel *kernel = kernel_named("add");
    OK(ingot_buffer_create(device, WORDS * 4, &data));
    OK(ingot_buffer_create(device, sizeof values, &params));
    OK(ingot_stream_upload(stream, params, 0, values, sizeof values));
    OK(ingot_stream_fill(stream, data, 0, WORDS * 4, 0));
    const ingot_arg args[] = {{.buffer = data}, {.buffer = params}};
    const ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {WORDS}, .group = {32}, .args = args, .arg_count = 2};
    OK(ingot_stream_dispatch(stream, &desc));
    OK(ingot_stream_dispatch(stream, &desc));
    if (changed == NOTHING) {
        CHECK(holds(data, 10));
    } else {
        FAILS(ingot_stream_wait(stream), INGOT_KERNEL_FAULT, "kernel \"add\"", ": ld.",
              "before griddepcontrol.wait, with an early start");
    }
    ingot_kernel_release(kernel);
    ingot_buffer_release(params);
    ingot_buffer_release(data);
    close_all();
}

int main(void) {
    for (which = 0; which < ORDERS; which++) {
        run_group(pair);
    }
    run_group(serial);
    run_group(chain);
    run_group(work_between);
    if (!getenv("INGOTC")) {
        puts("left out: compiled code that was changed; $INGOTC names no compiler");
    }
    for (changed = NOTHING; getenv("INGOTC") && changed <= WAIT_LATER; changed++) {
        run_group(compiled);
    }
    return check_report();
}
