/*
 * Large kernels: long blocks are cut without changing what they compute, and the work of the passes
 * whose time once grew faster than the kernel does not.
 */
#include <dlfcn.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/process.h"
#include "check.h"
#include "compiler/cpu/cpu.h"
#include "compiler/driver/driver.h"

enum { STEPS = 3000, PIECE = 50, ROUNDS = 7 };

/* ---- cutting ---- */

/* A loop of one block of STEPS steps x = x * 3 + step, and a variable in the middle of a long first
 * block: uint32_t steps(uint32_t x) */
static void write_steps(struct ig_text *text) {
    ig_text_puts(text, "target triple = \"x86_64-unknown-linux-gnu\"\n"
                       "define i32 @steps(i32 %x) {\nstart:\n  %s0 = add i32 %x, 0\n");
    for (int i = 0; i < STEPS; i++) {
        ig_text_printf(text, "  %%s%d = xor i32 %%s%d, %d\n", i + 1, i, i);
    }
    ig_text_printf(text,
                   "  %%variable = alloca i32\n  store i32 %%s%d, ptr %%variable\n"
                   "  br label %%loop\nloop:\n"
                   "  %%round = phi i32 [ 0, %%start ], [ %%next, %%loop ]\n"
                   "  %%v0 = phi i32 [ %%s%d, %%start ], [ %%v%d, %%loop ]\n",
                   STEPS, STEPS, STEPS);
    for (int i = 0; i < STEPS; i++) {
        ig_text_printf(text, "  %%m%d = mul i32 %%v%d, 3\n  %%v%d = add i32 %%m%d, %d\n", i, i,
                       i + 1, i, i);
    }
    ig_text_printf(text,
                   "  %%next = add i32 %%round, 1\n  %%more = icmp ult i32 %%next, %d\n"
                   "  br i1 %%more, label %%loop, label %%done\ndone:\n"
                   "  %%last = phi i32 [ %%v%d, %%loop ]\n"
                   "  %%first = load i32, ptr %%variable\n"
                   "  %%sum = add i32 %%last, %%first\n  ret i32 %%sum\n}\n",
                   ROUNDS, STEPS);
}

static uint32_t expected_steps(uint32_t x) {
    for (uint32_t i = 0; i < STEPS; i++) {
        x ^= i;
    }
    uint32_t first = x;
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < STEPS; i++) {
            x = x * 3 + i;
        }
    }
    return x + first;
}

static void check_blocks(LLVMValueRef function) {
    unsigned blocks = 0, longest = 0, misplaced = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
        unsigned length = 0;
        for (LLVMValueRef in = LLVMGetFirstInstruction(b); in; in = LLVMGetNextInstruction(in)) {
            length++;
            misplaced += LLVMIsAAllocaInst(in) && b != LLVMGetEntryBasicBlock(function);
        }
        blocks++;
        longest = length > longest ? length : longest;
    }
    CHECK(blocks >= 3 * STEPS / (2 * PIECE));
    CHECK(longest <= 2 * PIECE + 1);
    CHECK(misplaced == 0);
}

static void run_steps(const void *bytes, size_t size) {
    struct ig_error error = {0};
    char *folder = NULL, path[4096];
    CHECK(!ig_folder_temporary(&folder, &error));
    snprintf(path, sizeof path, "%s/steps.so", folder);
    CHECK(!ig_file_write(path, bytes, size, &error));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    uint32_t (*steps)(uint32_t) = NULL;
    if (library) {
        *(void **)&steps = dlsym(library, "steps");
    }
    CHECK(steps);
    for (uint32_t x = 0; steps && x < 5; x++) {
        CHECK(steps(x * 1000003) == expected_steps(x * 1000003));
    }
    if (library) {
        dlclose(library);
    }
    ig_folder_remove(folder);
    free(folder);
    ig_error_clear(&error);
}

/* Cut here, or by the emission, which finds the loop's block too long. */
static void test_cut(bool here) {
    struct ig_text text = {0};
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    LLVMContextRef context = LLVMContextCreate();
    LLVMTargetMachineRef machine;
    LLVMModuleRef module;
    LLVMMemoryBufferRef object = NULL;
    char *message = NULL;
    write_steps(&text);
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text.data, text.size, "steps.ll");
    if (igc_machine_create(igc_target_find("x86-64-v3"), &machine, &error) ||
        LLVMParseIRInContext(context, buffer, &module, &message)) {
        fprintf(stderr, "%s\n", message ? message : ig_error_text(&error));
        exit(1);
    }
    if (here) {
        igc_cut_long_blocks(module, PIECE);
        CHECK(!LLVMVerifyModule(module, LLVMReturnStatusAction, &message));
        LLVMDisposeMessage(message);
        check_blocks(LLVMGetNamedFunction(module, "steps"));
    }
    CHECK(!igc_emit_guarded(module, machine, &(struct igc_code_options){.reduce = igv_reduce_large},
                            &object, &error));
    const void *shared = NULL;
    size_t size = 0;
    if (object) {
        CHECK(!igc_link(&arena, LLVMGetBufferStart(object), LLVMGetBufferSize(object), &shared,
                        &size, &error));
        run_steps(shared, size);
        LLVMDisposeMemoryBuffer(object);
    }
    LLVMDisposeTargetMachine(machine);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    ig_text_free(&text);
    ig_error_clear(&error);
    ig_arena_free(&arena);
}

/* ---- time ---- */

/* What programs write that write kernels: a line per value, each of which uses earlier ones. */
static void write_kernel(struct ig_text *text, int lines) {
    ig_text_puts(text, "#include <metal_stdlib>\nusing namespace metal;\n"
                       "kernel void k(device float *x [[buffer(0)]], device const float *y "
                       "[[buffer(1)]], constant uint &m [[buffer(2)]], "
                       "uint i [[thread_position_in_grid]]) {\nfloat t0 = y[i];\n");
    for (int n = 1; n < lines; n++) {
        const int before = n - 1, earlier = n > 9 ? n - 9 : 0;
        ig_text_printf(text, "float t%d = t%d", n, before);
        switch (n % 6) {
        case 0:
            ig_text_printf(text, " * y[i + %d] + t%d;\n", n, earlier);
            break;
        case 1:
            ig_text_printf(text, "; if (t%d > %d) t%d = y[uint(t%d) & m];\n", earlier, n, n,
                           before);
            break;
        case 2:
            ig_text_printf(text, " > 0 ? t%d : t%d + 1;\n", earlier, before);
            break;
        case 3:
            ig_text_printf(text, "; for (uint j = 0; j < m; j++) t%d += t%d * y[j + %d];\n", n,
                           before, n);
            break;
        case 4:
            ig_text_printf(text, " + exp(t%d);\n", earlier);
            break;
        default:
            ig_text_printf(text, "; x[i + %d] = t%d;\n", n, n);
        }
    }
    ig_text_printf(text, "x[i] = t%d;\n}\n", lines - 1);
}

/* What ingotc --time-report says of one source. Uses the text up. */
static void compile(const char *compiler, const char *folder, struct ig_text *text,
                    struct ig_text *report) {
    char source[4096], output[4096];
    snprintf(source, sizeof source, "%s/source.metal", folder);
    snprintf(output, sizeof output, "%s/output.ingot", folder);
    const char *const arguments[] = {
        compiler, source, "-o", output, "--target", "x86-64-v4", "--check", "--time-report", NULL};
    struct ig_process process = {.arguments = arguments};
#if defined(__SANITIZE_ADDRESS__)
    process.memory = SIZE_MAX; /* a sanitized compiler maps terabytes of shadow */
#endif
    struct ig_process_result result = {0};
    struct ig_error error = {0};
    CHECK(!ig_file_write(source, text->data, text->size, &error));
    CHECK(!ig_process_run(&process, &result, &error) && !result.signal && result.exit_code == 0);
    ig_text_append(report, result.errors.data, result.errors.size);
    ig_process_result_free(&result);
    ig_text_free(text);
    ig_error_clear(&error);
}

/* "   1.23 ms     4 x  NAME, 567 steps": 567 of the pass, or how often it ran; 0 if it did not. */
static uint64_t number_of(const struct ig_text *report, const char *pass, bool steps) {
    char name[64];
    snprintf(name, sizeof name, "x  %s%s", pass, steps ? ", " : "");
    const char *found = strstr(ig_text_string(report), name);
    while (found && !steps && found > report->data && found[-1] != 's') {
        found--;
    }
    return found ? strtoull(found + (steps ? strlen(name) : 0), NULL, 10) : 0;
}

struct work {
    uint64_t size, slots, code;
};

static struct work work_for_lines(const char *compiler, const char *folder, int lines) {
    struct ig_text text = {0}, report = {0};
    write_kernel(&text, lines);
    compile(compiler, folder, &text, &report);
    struct work work = {.size = number_of(&report, "choose-versions", true),
                        .slots = number_of(&report, "cleanup", true) +
                                 number_of(&report, "promote-slots", true),
                        .code = number_of(&report, "machine code", true)};
    ig_text_free(&report);
    printf("%d lines: %llu instructions; %llu steps for slots, %llu for machine code\n", lines,
           (unsigned long long)work.size, (unsigned long long)work.slots,
           (unsigned long long)work.code);
    return work;
}

static uint64_t clang_runs_for_kernels(const char *compiler, const char *folder, int kernels) {
    struct ig_text text = {0}, report = {0};
    for (int i = 0; i < kernels; i++) {
        ig_text_printf(&text,
                       "kernel void k%d(device float *x [[buffer(0)]], "
                       "uint i [[thread_position_in_grid]]) { x[i] *= %d; }\n",
                       i, i);
    }
    compile(compiler, folder, &text, &report);
    uint64_t runs = number_of(&report, "clang", false);
    ig_text_free(&report);
    return runs;
}

/* Loops within loops, all to be unrolled, of COUNT by COUNT copies of a few instructions. */
static uint64_t size_of_unrolled(const char *compiler, const char *folder, int count) {
    struct ig_text text = {0}, report = {0};
    ig_text_printf(&text,
                   "kernel void k(device float *x [[buffer(0)]], device const float *y "
                   "[[buffer(1)]], uint i [[thread_position_in_grid]]) {\n"
                   "float sums[%d];\n_Pragma(\"clang loop unroll(full)\") "
                   "for (short a = 0; a < %d; a++) {\n  sums[a] = 0;\n#pragma unroll\n"
                   "  for (short b = 0; b < %d; b++) {\n"
                   "    float v = y[(a * 77 + b) * 64 + i]; sums[a] += v * v + y[b] * v;\n  }\n}\n"
                   "for (short a = 0; a < %d; a++) x[a * 64 + i] = sums[a];\n}\n",
                   count, count, count, count);
    compile(compiler, folder, &text, &report);
    uint64_t size = number_of(&report, "choose-versions", true);
    ig_text_free(&report);
    printf("loops of %d by %d: %llu instructions\n", count, count, (unsigned long long)size);
    return size;
}

/* Small loops are unrolled as the source asks; the copies of large ones are bounded. */
static void test_unrolling(const char *compiler, const char *folder) {
    uint64_t small = size_of_unrolled(compiler, folder, 8);
    uint64_t large = size_of_unrolled(compiler, folder, 64);
    CHECK(small > 8 * 8 * 4);
    CHECK(large > small && large < 64 * 64);
}

/* A tower of functions, each of which calls the one below three times: of 3 to the power of LEVELS
 * copies of the lowest one, if all were inlined. */
static uint64_t size_of_tower(const char *compiler, const char *folder, int levels) {
    struct ig_text text = {0}, report = {0};
    ig_text_printf(&text, "struct Wide { uint v[8]; };\nWide f0(Wide a, Wide b) {\n"
                          "  for (int i = 0; i < 8; i++) {\n    ulong c = 0;\n"
                          "    for (int j = 0; j < 8; j++) {\n"
                          "      c += ulong(a.v[i]) * b.v[j] + a.v[j];\n"
                          "      a.v[j] = uint(c); c >>= 32;\n    }\n  }\n  return a;\n}\n");
    for (int i = 1; i <= levels; i++) {
        ig_text_printf(&text, "Wide f%d(Wide a, Wide b) { return f%d(f%d(a, b), f%d(b, a)); }\n", i,
                       i - 1, i - 1, i - 1);
    }
    ig_text_printf(&text,
                   "kernel void k(device Wide *x [[buffer(0)]], uint i "
                   "[[thread_position_in_grid]]) { x[i] = f%d(x[i], x[i + 1]); }\n",
                   levels);
    compile(compiler, folder, &text, &report);
    uint64_t size = number_of(&report, "choose-versions", true);
    ig_text_free(&report);
    printf("a tower of %d levels: %llu instructions\n", levels, (unsigned long long)size);
    return size;
}

/* Functions stay functions where the copies would be many. */
static void test_towers(const char *compiler, const char *folder) {
    uint64_t small = size_of_tower(compiler, folder, 3);
    uint64_t large = size_of_tower(compiler, folder, 6);
    CHECK(small > 500 && small < 27 * 500);
    CHECK(large < 8 * small);
}

/* Steps do not depend on the machine. Three times as many lines took nine times as many while
 * LLVM's quadratic passes saw them. Most of what one small kernel costs is clang, which many share.
 */
static void test_work(void) {
    const char *compiler = getenv("INGOTC");
    if (!compiler) {
        printf("work left out: INGOTC does not name the compiler\n");
        return;
    }
    struct ig_error error = {0};
    char *folder = NULL;
    CHECK(!ig_folder_temporary(&folder, &error));
    struct work small = work_for_lines(compiler, folder, 500);
    struct work large = work_for_lines(compiler, folder, 1500);
    CHECK(small.size > 1000 && large.size > 2 * small.size && large.size < 4 * small.size);
    CHECK(small.slots && large.slots * 2 * small.size < small.slots * 3 * large.size);
    CHECK(small.code && large.code * 2 * small.size < small.code * 3 * large.size);
    uint64_t runs = clang_runs_for_kernels(compiler, folder, 12);
    CHECK(runs == 1);
    test_unrolling(compiler, folder);
    test_towers(compiler, folder);
    ig_folder_remove(folder);
    free(folder);
    ig_error_clear(&error);
}

int main(void) {
    test_cut(true);
    test_cut(false);
    test_work();
    return check_report();
}
