/* What a kernel can do to the process, and what others in the process can do to how that is caught:
 * stacks that do not fit, wild addresses for the log, handlers of signals that came later. The
 * kernels are C text, see runtime_support.h. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>

#include "runtime_support.h"

static const struct ig_argument one_buffer[] = {BUFFER_ARGUMENT("out", "uint", 0, 4)};

#define STACK_KERNEL(FLAGS, STACK)                                                                 \
    "static void run(G *g, uint32_t s, uint32_t mask) { *(uint32_t *)g->buffers[0] = 1; }\n"       \
    "const struct ingot_cpu_kernel ingot_kernel = {INGOT_CPU_ABI_VERSION, " FLAGS ", 0, " STACK    \
    ",\n  {0, 0, run}, {0}};\n"

static const struct test_kernel kernels[] = {
    {.name = "fine",
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  *(uint32_t *)g->buffers[0] += 1; }\n"
             "KERNEL(0, 0, run)\n"},
    {.name = "wild",
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  *(volatile uint32_t *)((char *)g->buffers[0] + (1ull << 60)) = 1; }\n"
             "KERNEL(0, 0, run)\n"},
    {.name = "huge",
     .arguments = one_buffer,
     .argument_count = 1,
     .code = STACK_KERNEL("0", "INGOT_CPU_STACK_MIB + 5000")},
    {.name = "large_with_barriers",
     .arguments = one_buffer,
     .argument_count = 1,
     .code = STACK_KERNEL("1", "64 << 20")},
    {.name = "below_its_stack", /* 100,000 bytes below what it said it needs, and the margin */
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  volatile char *here = __builtin_frame_address(0);\n"
             "  here[-(4096 + (256 << 10) + 100000)] = 1; }\n"
             "KERNEL(0, 0, run)\n"},
    {.name = "log_format",
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  g->services->log(g, 2, (const char *)8, 0, 0); }\n"
             "KERNEL(0, 0, run)\n"},
    {.name = "log_string",
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  uint64_t args[2] = {7, (uint64_t)1 << 60};\n"
             "  g->services->log(g, 2, \"%d %s\", 2, args); }\n"
             "KERNEL(0, 0, run)\n"},
    {.name = "log_long", /* 20,000 letters */
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "static char text[20001];\n"
             "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  for (int i = 0; i < 20000; i++) text[i] = 'a' + i % 26;\n"
             "  uint64_t args[2] = {(uint64_t)(uintptr_t)text, (uint64_t)(uintptr_t)\"end\"};\n"
             "  g->services->log(g, 2, \"%s|%s\", 2, args); }\n"
             "KERNEL(0, 0, run)\n"},
};
#define KERNEL_COUNT (sizeof kernels / sizeof kernels[0])

static ingot_device *device;
static ingot_library *library;
static ingot_stream *stream;
static ingot_buffer *out;

static ingot_kernel *get(const char *name) {
    ingot_kernel *kernel = NULL;
    ingot_kernel_desc desc = {.name = name};
    OK(ingot_kernel_create(library, &desc, &kernel));
    return kernel;
}

static ingot_status run(ingot_kernel *kernel, uint32_t group) {
    ingot_arg args[] = {{.buffer = out}};
    ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {group}, .group = {group}, .args = args, .arg_count = 1};
    ingot_status status = ingot_stream_dispatch(stream, &desc);
    return status ? status : ingot_stream_wait(stream);
}

static ingot_status run_named(const char *name, uint32_t group) {
    ingot_kernel *kernel = get(name);
    ingot_status status = run(kernel, group);
    ingot_kernel_release(kernel);
    return status;
}

static void test_stacks(void) {
    /* Before the others: threads keep the largest stacks that they needed. */
    FAILS(run_named("below_its_stack", 32), INGOT_KERNEL_FAULT, "\"below_its_stack\"", "SIGSEGV");
    FAILS(run_named("huge", 32), INGOT_LAUNCH_ERROR, "\"huge\"", "5242880000", "163840000");
    /* 16 of them are exactly as much as there may be. */
    OK(run_named("large_with_barriers", 512));
    FAILS(run_named("large_with_barriers", 513), INGOT_LAUNCH_ERROR, "\"large_with_barriers\"",
          "1140850688", "1073741824");
    OK(run_named("large_with_barriers", 512));
    OK(run_named("fine", 32));
}

/* ---- the log ---- */

static char logged[32768];

static void on_log(void *context, int level, const char *message) {
    (void)context;
    (void)level;
    snprintf(logged, sizeof logged, "%s", message);
}

static void test_log(void) {
    ingot_set_log_function(on_log, NULL);
    FAILS(run_named("log_format", 1), INGOT_KERNEL_FAULT, "\"log_format\"", "SIGSEGV", "0x8");
    FAILS(run_named("log_string", 1), INGOT_KERNEL_FAULT, "\"log_string\"", "SIGSEGV");
    CHECK(!logged[0]);
    OK(run_named("log_long", 1));
    CHECK(strlen(logged) == 20000 + 4 && !strcmp(logged + 20000, "|end"));
    CHECK(logged[0] == 'a' && logged[19999] == 'a' + 19999 % 26);
    ingot_set_log_function(NULL, NULL);
}

/* ---- handlers ---- */

static sigjmp_buf place;
static volatile sig_atomic_t first_calls, later_calls, leaving_calls;
static struct sigaction before_leaving;

static void on_first(int number) {
    (void)number;
    first_calls++;
    siglongjmp(place, 1);
}

static void on_later(int number) {
    (void)number;
    later_calls++;
    siglongjmp(place, 1);
}

/* As Python's faulthandler: it puts back what was there, and lets that have the signal. */
static void on_leaving(int number) {
    leaving_calls++;
    sigaction(number, &before_leaving, NULL);
    raise(number);
}

static void install(void (*handler)(int), struct sigaction *before) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, before);
}

static void fault_outside_of_kernels(void) {
    if (!sigsetjmp(place, 1)) {
        volatile char *nothing = (volatile char *)(uintptr_t)4096;
        *nothing = 1;
    }
}

static void check_kernels(void) {
    sig_atomic_t calls = first_calls + later_calls + leaving_calls;
    ingot_kernel *wild = get("wild");
    for (int i = 0; i < 3; i++) {
        FAILS(run(wild, 32), INGOT_KERNEL_FAULT, "\"wild\"", "SIGSEGV");
        OK(run_named("fine", 32));
    }
    ingot_kernel_release(wild);
    CHECK(first_calls + later_calls + leaving_calls == calls);
}

static void test_handlers(void) {
    ingot_kernel *wild = get("wild");
    check_kernels();
    fault_outside_of_kernels();
    CHECK(first_calls == 1);

    install(on_later, NULL); /* with a kernel that is there already */
    FAILS(run(wild, 32), INGOT_KERNEL_FAULT, "\"wild\"", "SIGSEGV");
    check_kernels();
    for (int i = 1; i <= 3; i++) { /* it leaves by a jump each time */
        fault_outside_of_kernels();
        CHECK(later_calls == i && first_calls == 1);
        FAILS(run(wild, 32), INGOT_KERNEL_FAULT, "\"wild\"", "SIGSEGV");
        check_kernels();
    }

    install(on_leaving, &before_leaving);
    check_kernels(); /* a new kernel looks at once */
    fault_outside_of_kernels();
    CHECK(leaving_calls == 1 && later_calls == 4 && first_calls == 1);
    check_kernels();
    fault_outside_of_kernels();
    CHECK(leaving_calls == 1 && later_calls == 5 && first_calls == 1);
    check_kernels();
    ingot_kernel_release(wild);
}

int main(void) {
    ingot_device_info info;
    void *bytes = NULL;
    size_t size = 0;
    install(on_first, NULL);
    OK(ingot_device_open("cpu", &(ingot_device_desc){.worker_threads = 2}, &device));
    OK(ingot_device_get_info(device, &info));
    CHECK(test_archive(info.target, kernels, KERNEL_COUNT, NULL, 0, &bytes, &size));
    OK(ingot_library_create_from_memory(device, bytes, size, &library));
    free(bytes);
    OK(ingot_stream_create(device, &stream));
    OK(ingot_buffer_create(device, 4096, &out));
    test_stacks();
    test_log();
    test_handlers();
    ingot_buffer_release(out);
    ingot_stream_release(stream);
    ingot_library_release(library);
    ingot_device_release(device);
    return check_report();
}
