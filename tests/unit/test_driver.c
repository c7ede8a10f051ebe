/* The driver's passes on small pieces of LLVM IR, its command line, and its type names. */
#include <llvm-c/IRReader.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "compiler/driver/driver.h"

/* What clang makes of a kernel with two constants, one of them derived, and two arguments. */
static const char source[] =
    "target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-"
    "n8:16:32:64-S128\"\n"
    "target triple = \"x86_64-unknown-linux-gnu\"\n"
    "@\"\\01__ingot_fc_0\" = external addrspace(6) constant i8\n"
    "@\"\\01__ingot_fc_3\" = external addrspace(6) constant i32\n"
    "@derived = internal addrspace(6) global i32 0\n"
    "@x = private addrspace(1) constant [2 x i8] c\"x\\00\"\n"
    "@a = private addrspace(1) constant [2 x i8] c\"a\\00\"\n"
    "@t = private addrspace(1) constant [2 x i8] c\"t\\00\"\n"
    "@tx = private addrspace(1) constant [41 x i8] "
    "c\"const char *f() [T = metal::vec<half, 4>]\"\n"
    "@ta = private addrspace(1) constant [24 x i8] c\"const char *f() [T = P]\\00\"\n"
    "@note = private constant [16 x i8] c\"ingot.kernel:k1\\00\"\n"
    "@file = private constant [2 x i8] c\"f\\00\"\n"
    "@llvm.global.annotations = appending global [1 x {ptr, ptr, ptr, i32, ptr}] [{ptr, ptr, ptr,"
    " i32, ptr} {ptr @kernel_function, ptr @note, ptr @file, i32 1, ptr null}]\n"
    "@llvm.global_ctors = appending global [1 x {i32, ptr, ptr}] [{i32, ptr, ptr} {i32 65535, ptr "
    "@init_all, ptr null}]\n"
    "@llvm.used = appending global [1 x ptr] [ptr @kernel_function]\n"
    "define internal void @init_all() { call void @init_one()\n ret void }\n"
    "define internal void @init_one() {\n"
    "  %w = load i32, ptr addrspace(6) @\"\\01__ingot_fc_3\"\n"
    "  %d = mul i32 %w, 3\n"
    "  store i32 %d, ptr addrspace(6) @derived\n"
    "  ret void }\n"
    "declare void @__ingot_param(i32, i32, i32, i32, i64, i64, i32, i32, i32, i1, ptr, ptr)\n"
    "declare void @__ingot_max_threads(i32)\n"
    "declare ptr addrspace(1) @__ingot_arg_device(i32)\n"
    "declare i1 @__ingot_constant_defined(i32)\n"
    "declare i1 @__ingot_fast_math()\n"
    "define linkonce_odr void @other() { ret void }\n"
    "define void @kernel_function(ptr addrspace(1) %0) {\n"
    "  %flag = load i8, ptr addrspace(6) @\"\\01__ingot_fc_0\"\n"
    "  %active = trunc i8 %flag to i1\n"
    "  call void @__ingot_param(i32 3, i32 2, i32 3, i32 -1, i64 4, i64 4, i32 12, i32 1, i32 2,"
    " i1 true, ptr addrspacecast (ptr addrspace(1) @t to ptr), ptr addrspacecast (ptr addrspace(1)"
    " @ta to ptr))\n"
    "  call void @__ingot_param(i32 0, i32 1, i32 1, i32 -1, i64 8, i64 8, i32 10, i32 4, i32 2,"
    " i1 true, ptr addrspacecast (ptr addrspace(1) @x to ptr), ptr addrspacecast (ptr addrspace(1)"
    " @tx to ptr))\n"
    "  call void @__ingot_param(i32 2, i32 1, i32 6, i32 0, i64 48, i64 16, i32 0, i32 0, i32 1,"
    " i1 %active, ptr addrspacecast (ptr addrspace(1) @a to ptr), ptr addrspacecast (ptr "
    "addrspace(1) @ta to ptr))\n"
    "  call void @__ingot_max_threads(i32 256)\n"
    "  call void @other()\n"
    "  %p = call ptr addrspace(1) @__ingot_arg_device(i32 0)\n"
    "  %fast = call i1 @__ingot_fast_math()\n"
    "  %known = call i1 @__ingot_constant_defined(i32 3)\n"
    "  br i1 %known, label %yes, label %no\n"
    "yes:\n"
    "  %v = load i32, ptr addrspace(6) @derived\n"
    "  store i32 %v, ptr addrspace(1) %p\n"
    "  br label %no\n"
    "no:\n"
    "  %f = zext i1 %fast to i32\n"
    "  %q = getelementptr i32, ptr addrspace(1) %p, i32 1\n"
    "  store i32 %f, ptr addrspace(1) %q\n"
    "  ret void }\n";

struct run {
    struct ig_arena arena;
    struct ig_error error;
    LLVMContextRef context;
    LLVMModuleRef module;
    struct igc_command command;
    struct igc_reflection reflection;
    ingot_status status;
};

/* The pipeline up to reflection, with these constants. */
static void run_start(struct run *r, const char *ir, const char *first, const char *second) {
    *r = (struct run){.context = LLVMContextCreate()};
    char *arguments[] = {(char *)"ingotc", (char *)"x", (char *)"-o", (char *)"y", NULL, NULL};
    int count = 4;
    if (first) {
        arguments[count++] = (char *)(uintptr_t)first;
    }
    if (second) {
        arguments[count++] = (char *)(uintptr_t)second;
    }
    CHECK(!igc_command_parse(&r->arena, count, arguments, &r->command, &r->error));
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, strlen(ir), "test.ll");
    char *message = NULL;
    if (LLVMParseIRInContext(r->context, buffer, &r->module, &message)) {
        fprintf(stderr, "%s\n", message);
        exit(1);
    }
    struct igc_job job = igc_job_of(&r->command, NULL, "k1");
    struct igc_kernel kernel = {.arena = &r->arena,
                                .name = "k1",
                                .job = &job,
                                .reflection = &r->reflection,
                                .error = &r->error};
    igc_kernel_set_module(&kernel, r->module);
    r->status = igc_module_find(r->module, "k1", &kernel.function, &r->error);
    if (!r->status) {
        r->status = igc_scalar_machine(&kernel.machine, &r->error);
    }
    if (!r->status) {
        r->status = igc_run_passes(&kernel, igc_isolate_passes);
    }
    if (!r->status) {
        r->status = igc_run_passes(&kernel, igc_scalar_passes);
    }
    LLVMDisposeTargetMachine(kernel.machine);
}

static void run_end(struct run *r) {
    LLVMDisposeModule(r->module);
    LLVMContextDispose(r->context);
    ig_error_clear(&r->error);
    ig_arena_free(&r->arena);
}

static bool prints(struct run *r, const char *text) {
    char *all = LLVMPrintModuleToString(r->module);
    bool found = strstr(all, text) != NULL;
    if (!found) {
        fprintf(stderr, "not found: %s\n%s\n", text, all);
    }
    LLVMDisposeMessage(all);
    return found;
}

static void test_specialised(void) {
    struct run r;
    run_start(&r, source, "--const=3=05000000", "--const=0=01");
    CHECK(!strcmp(r.command.constants_key, "0:01;3:05000000"));
    CHECK(r.status == INGOT_OK);
    CHECK(prints(&r, "store i32 15, "));
    CHECK(prints(&r, "store i32 0, "));
    const struct igc_reflection *f = &r.reflection;
    CHECK(f->argument_count == 3 && f->max_threads == 256 && f->ordinal_count == 4);
    const struct ig_argument *a = f->arguments;
    CHECK(!strcmp(a[0].name, "x") && !strcmp(a[0].type_name, "half4") && a[0].index == 1 &&
          a[0].slot == 0 && a[0].writable && !a[0].is_reference && a[0].active);
    CHECK(!strcmp(a[1].name, "a") && !strcmp(a[1].type_name, "P") && a[1].index == 0 &&
          a[1].slot == 1 && a[1].is_reference && a[1].active && a[1].type_size == 48);
    CHECK(!strcmp(a[2].name, "t") && a[2].kind == INGOT_ARGUMENT_THREADGROUP && a[2].index == 0 &&
          a[2].slot == 0);
    CHECK(f->buffer_slots[0] == 0 && f->buffer_slots[2] == 1 && f->threadgroup_slots[3] == 0);
    run_end(&r);
}

static void test_missing(void) {
    struct run r;
    run_start(&r, source, "--const=0=00", "--fast-math"); /* 3 is only asked about */
    CHECK(r.status == INGOT_OK && !r.reflection.arguments[1].active);
    CHECK(prints(&r, "store i32 1, "));
    run_end(&r);
    run_start(&r, source, "--const=3=05000000", NULL);
    CHECK(r.status == INGOT_NOT_FOUND);
    CHECK(strstr(ig_error_text(&r.error), "kernel k1 needs function constant") &&
          strstr(ig_error_text(&r.error), "(index 0), which has no value"));
    run_end(&r);
    run_start(&r, source, "--const=3=0500000000", "--const=0=01");
    CHECK(r.status == INGOT_INVALID_ARGUMENT);
    CHECK(strstr(ig_error_text(&r.error), "has 4 bytes, but the value given has 5"));
    run_end(&r);
}

/* Without the question, the derived constant itself is what is missing. */
static void test_missing_derived(void) {
    char *changed = strdup(source);
    char *question = strstr(changed, "%known = call i1 @__ingot_constant_defined(i32 3)");
    memcpy(question, "%known = icmp eq ptr addrspace(1) %p, null         ", 49);
    struct run r;
    run_start(&r, changed, "--const=0=01", NULL);
    CHECK(r.status == INGOT_NOT_FOUND && strstr(ig_error_text(&r.error), "(index 3)"));
    run_end(&r);
    free(changed);
}

static void test_same_index(void) {
    char *changed = strdup(source);
    char *implicit = strstr(changed, "@__ingot_param(i32 0, i32 1, i32 1, i32 -1");
    memcpy(implicit, "@__ingot_param(i32 0, i32 1, i32 1, i32  0", 42);
    struct run r;
    run_start(&r, changed, "--const=0=01", NULL);
    CHECK(r.status == INGOT_COMPILE_ERROR);
    CHECK(strstr(ig_error_text(&r.error),
                 "a of kernel \"k1\" has [[buffer(0)]], which x has already"));
    run_end(&r);
    run_start(&r, changed, "--const=0=00", NULL); /* one of them is not there */
    CHECK(r.status == INGOT_OK);
    run_end(&r);
    free(changed);
}

static void test_types(void) {
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"const char *f() [T = float]", "float"},
        {"const char *f() [T = unsigned int]", "uint"},
        {"const char *f() [T = metal::__ingot_vec<unsigned int "
         "__attribute__((ext_vector_type(3)))>]",
         "uint3"},
        {"const char *f() [T = metal::packed_vec<_Float16, 3>]", "packed_half3"},
        {"const char *f() [T = metal::matrix<float, 4, 4>]", "float4x4"},
        {"const char *f() [T = metal::atomic<int>]", "atomic_int"},
        {"const char *f() [T = __bf16]", "bfloat"},
        {"const char *f() [T = const __attribute__((opencl_global)) Params]", "Params"},
        {"const char *f() [T = "
         "Block<metal::__ingot_vec<float __attribute__((ext_vector_type(4)))>, 2>]",
         "Block<vec<float, 4>, 2>"},
        {"const char *f() [T = unsigned_thing]", "unsigned_thing"},
        {"Plain", "Plain"},
        {"", ""},
    };
    struct ig_arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = igc_clean_type(&arena, cases[i].from);
        CHECK(got && !strcmp(got, cases[i].to));
    }
    ig_arena_free(&arena);
}

static ingot_status parse(const char *option, const char *value, const char *message) {
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct igc_command command;
    char *arguments[] = {
        (char *)"ingotc",        (char *)"s", (char *)"-o", (char *)"o", (char *)(uintptr_t)option,
        (char *)(uintptr_t)value};
    ingot_status status = igc_command_parse(&arena,
                                            value    ? 6
                                            : option ? 5
                                                     : 4,
                                            arguments, &command, &error);
    CHECK(!message || strstr(ig_error_text(&error), message));
    ig_error_clear(&error);
    ig_arena_free(&arena);
    return status;
}

static void test_options(void) {
    CHECK(!parse(NULL, NULL, NULL));
    CHECK(!parse("--target", "x86-64-v3", NULL));
    CHECK(!parse("-DA=1", NULL, NULL) && !parse("-D", "A", NULL) && !parse("-Idir", NULL, NULL));
    CHECK(!parse("--emit", "asm", NULL) && !parse("--msl-version", "310", NULL));
    CHECK(parse("--target", "z80", "not \"z80\"") == INGOT_INVALID_ARGUMENT);
    CHECK(parse("--const", "1", "INDEX=HEXBYTES") == INGOT_INVALID_ARGUMENT);
    CHECK(parse("--const", "1=0", "INDEX=HEXBYTES") == INGOT_INVALID_ARGUMENT);
    CHECK(parse("--const", "x=00", "INDEX=HEXBYTES") == INGOT_INVALID_ARGUMENT);
    CHECK(parse("--const", "1=0g", "INDEX=HEXBYTES") == INGOT_INVALID_ARGUMENT);
    CHECK(parse("--const", NULL, "no value after") == INGOT_INVALID_ARGUMENT);
    CHECK(parse("--what", NULL, "unknown option \"--what\"") == INGOT_INVALID_ARGUMENT);
    CHECK(parse("--emit", "wasm", "not \"wasm\"") == INGOT_INVALID_ARGUMENT);
    CHECK(parse("second.metal", NULL, "second SOURCE") == INGOT_INVALID_ARGUMENT);
}

int main(void) {
    igc_llvm_start();
    test_specialised();
    test_missing();
    test_missing_derived();
    test_same_index();
    test_types();
    test_options();
    return check_report();
}
