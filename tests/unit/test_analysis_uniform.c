/* What is uniform where lanes run apart (igv_find_uniform): scopes, joins, temporal divergence, any
 * control flow; and that it takes time in proportion to the kernel. */
#include <llvm-c/IRReader.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "compiler/analysis/analysis.h"

#define DECLARATIONS                                                                               \
    "declare i32 @__ingot_thread_position_in_threadgroup(i32)\n"                                   \
    "declare i32 @__ingot_thread_index_in_simdgroup()\n"                                           \
    "declare i32 @__ingot_simdgroup_index_in_threadgroup()\n"                                      \
    "declare i32 @__ingot_threads_per_threadgroup(i32)\n"                                          \
    "declare i32 @__ingot_simd_shuffle_b32(i32, i32)\n"                                            \
    "declare i32 @__ingot_simd_sum_u32(i32)\n"                                                     \
    "declare i32 @llvm.umin.i32(i32, i32)\n"                                                       \
    "declare i32 @unknown(i32)\n"

struct found {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMValueRef function;
    struct ig_arena arena;
    struct ig_error error;
    struct igv_analysis analysis;
};

static struct found find(const char *text, enum igv_scope scope) {
    struct found f = {.context = LLVMContextCreate()};
    char *message = NULL;
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test");
    if (LLVMParseIRInContext(f.context, buffer, &f.module, &message)) {
        fprintf(stderr, "the test's IR is wrong: %s\n%s\n", message, text);
        exit(2);
    }
    f.function = LLVMGetNamedFunction(f.module, "k");
    CHECK(igv_find_uniform(&f.arena, f.function, scope, &f.analysis, &f.error) == INGOT_OK);
    return f;
}

static void found_free(struct found *f) {
    ig_arena_free(&f->arena);
    ig_error_clear(&f->error);
    LLVMDisposeModule(f->module);
    LLVMContextDispose(f->context);
}

static bool varies(const struct found *f, const char *name) {
    for (unsigned i = 0; i < f->analysis.value_count; i++) {
        size_t length;
        LLVMValueRef value = f->analysis.values[i].value;
        if (!strcmp(LLVMGetValueName2(value, &length), name)) {
            return igv_varies(&f->analysis, value);
        }
    }
    fprintf(stderr, "there is no value %s\n", name);
    exit(2);
}

static const struct igv_block *block_named(const struct found *f, const char *name) {
    for (unsigned b = 0; b < f->analysis.block_count; b++) {
        if (!strcmp(LLVMGetBasicBlockName(f->analysis.blocks[b].block), name)) {
            return &f->analysis.blocks[b];
        }
    }
    fprintf(stderr, "there is no block %s\n", name);
    exit(2);
}

/* One kernel, three scopes: who is compared decides what is the same. */
static void test_scopes(void) {
    static const char text[] =
        DECLARATIONS "define void @k(ptr %p) {\n"
                     "  %tid = call i32 @__ingot_thread_position_in_threadgroup(i32 0)\n"
                     "  %lane = call i32 @__ingot_thread_index_in_simdgroup()\n"
                     "  %group = call i32 @__ingot_simdgroup_index_in_threadgroup()\n"
                     "  %size = call i32 @__ingot_threads_per_threadgroup(i32 0)\n"
                     "  %by_lane = call i32 @__ingot_threads_per_threadgroup(i32 %lane)\n"
                     "  %first = call i32 @__ingot_simd_shuffle_b32(i32 %tid, i32 0)\n"
                     "  %other = call i32 @__ingot_simd_shuffle_b32(i32 %lane, i32 %lane)\n"
                     "  %sum = call i32 @__ingot_simd_sum_u32(i32 %tid)\n"
                     "  %lanes = call i32 @__ingot_simd_sum_u32(i32 %lane)\n"
                     "  %least = call i32 @llvm.umin.i32(i32 %size, i32 3)\n"
                     "  %what = call i32 @unknown(i32 3)\n"
                     "  %n = load i32, ptr %p\n"
                     "  %live = load volatile i32, ptr %p\n"
                     "  %old = atomicrmw add ptr %p, i32 1 monotonic\n"
                     "  %private = alloca i32\n"
                     "  ret void\n}\n";
    struct found f = find(text, IGV_AMONG_LANES);
    CHECK(varies(&f, "tid") && varies(&f, "lane") && !varies(&f, "group") && !varies(&f, "size"));
    CHECK(varies(&f, "by_lane") && !varies(&f, "first") && varies(&f, "other"));
    CHECK(!varies(&f, "sum") && !varies(&f, "lanes") && !varies(&f, "least"));
    CHECK(varies(&f, "what") && !varies(&f, "n") && varies(&f, "live") && varies(&f, "old"));
    CHECK(varies(&f, "private"));
    found_free(&f);
    f = find(text, IGV_AMONG_SIMDGROUPS);
    CHECK(varies(&f, "tid") && !varies(&f, "lane") && varies(&f, "group") && !varies(&f, "size"));
    CHECK(!varies(&f, "by_lane") && varies(&f, "first") && !varies(&f, "other"));
    CHECK(varies(&f, "sum") && !varies(&f, "lanes") && !varies(&f, "least") && varies(&f, "what"));
    found_free(&f);
    f = find(text, IGV_AMONG_THREADS);
    CHECK(varies(&f, "tid") && varies(&f, "lane") && varies(&f, "group") && !varies(&f, "size"));
    CHECK(varies(&f, "first") && varies(&f, "sum") && varies(&f, "lanes") && !varies(&f, "least"));
    found_free(&f);
}

#define TID "  %tid = call i32 @__ingot_thread_position_in_threadgroup(i32 0)\n"

static void test_joins(void) {
    struct found f =
        find(DECLARATIONS "define void @k(i32 %n) {\nentry:\n" TID
                          "  %c = icmp eq i32 %tid, %n\n  br i1 %c, label %yes, label %no\n"
                          "yes:\n  br label %join\nno:\n  br label %join\n"
                          "join:\n  %v = phi i32 [ 1, %yes ], [ 2, %no ]\n"
                          "  %u = icmp eq i32 %n, 4\n  br i1 %u, label %more, label %end\n"
                          "more:\n  br label %end\n"
                          "end:\n  %w = phi i32 [ 1, %join ], [ 2, %more ]\n  ret void\n}\n",
             IGV_AMONG_LANES);
    CHECK(block_named(&f, "entry")->branch_divergent && !block_named(&f, "entry")->divergent);
    CHECK(block_named(&f, "yes")->divergent && block_named(&f, "no")->divergent);
    CHECK(block_named(&f, "join")->phis_divergent && !block_named(&f, "join")->divergent);
    CHECK(!block_named(&f, "join")->branch_divergent && !block_named(&f, "more")->divergent);
    CHECK(varies(&f, "v") && !varies(&f, "w"));
    unsigned join = igv_block_of(&f.analysis, block_named(&f, "join")->block);
    CHECK(igv_post_dominates(&f.analysis, join, 0) && !igv_post_dominates(&f.analysis, 1, 0));
    found_free(&f);
}

/* What a loop computes that lanes leave in different iterations differs after it, not inside. */
static void test_temporal(void) {
    static const char text[] =
        DECLARATIONS "define void @k(i32 %n) {\nentry:\n" TID "  br label %loop\n"
                     "loop:\n  %i = phi i32 [ 0, %entry ], [ %next, %loop ]\n"
                     "  %next = add i32 %i, 1\n  %c = icmp ult i32 %next, %LIMIT\n"
                     "  br i1 %c, label %loop, label %exit\n"
                     "exit:\n  %after = add i32 %next, 1\n  ret void\n}\n";
    for (int diverges = 0; diverges < 2; diverges++) {
        struct ig_text kernel = {0};
        const char *limit = strstr(text, "LIMIT");
        ig_text_printf(&kernel, "%.*s%s%s", (int)(limit - text), text, diverges ? "tid" : "n",
                       limit + 5);
        struct found f = find(ig_text_string(&kernel), IGV_AMONG_LANES);
        CHECK(varies(&f, "after") == (diverges == 1));
        CHECK(block_named(&f, "loop")->divergent == (diverges == 1));
        CHECK(!block_named(&f, "exit")->divergent);
        found_free(&f);
        ig_text_free(&kernel);
    }
}

/* Switches, ends that are never reached, loops without an end and with two entries. */
static void test_any_flow(void) {
    struct found f =
        find(DECLARATIONS "define void @k(i32 %n) {\nentry:\n" TID
                          "  switch i32 %tid, label %never [ i32 0, label %a\n i32 1, label %b\n"
                          " i32 2, label %b ]\n"
                          "never:\n  unreachable\n"
                          "a:\n  br label %meet\nb:\n  br label %meet\n"
                          "meet:\n  %v = phi i32 [ 1, %a ], [ 2, %b ]\n"
                          "  %c = icmp eq i32 %n, 0\n  br i1 %c, label %x, label %y\n"
                          "x:\n  br i1 %c, label %y, label %end\n"
                          "y:\n  br i1 %c, label %x, label %endless\n"
                          "endless:\n  br label %endless\n"
                          "end:\n  ret void\n}\n",
             IGV_AMONG_LANES);
    CHECK(block_named(&f, "a")->divergent && block_named(&f, "b")->divergent);
    CHECK(!block_named(&f, "meet")->divergent && varies(&f, "v"));
    CHECK(!block_named(&f, "x")->divergent && !block_named(&f, "endless")->divergent);
    found_free(&f);
}

/* SIMD-groups that part and meet at the counter of a loop; lanes are not looked at so closely. */
static void test_same_on_all_ways(void) {
    static const char text[] =
        DECLARATIONS "define void @k(i32 %n) {\nentry:\n"
                     "  %g = call i32 @__ingot_simdgroup_index_in_threadgroup()\n"
                     "  %l = call i32 @__ingot_thread_index_in_simdgroup()\n"
                     "  %x = add i32 %g, %l\n  %c = icmp eq i32 %x, 0\n  br label %loop\n"
                     "loop:\n  %i = phi i32 [ 0, %entry ], [ %next, %meet ]\n"
                     "  br i1 %c, label %one, label %two\n"
                     "one:\n  %a = add i32 %i, 1\n  br label %meet\n"
                     "two:\n  %b = add i32 %i, 1\n  br label %meet\n"
                     "meet:\n  %next = phi i32 [ %a, %one ], [ %b, %two ]\n"
                     "  %m = icmp ult i32 %next, %n\n  br i1 %m, label %loop, label %end\n"
                     "end:\n  ret void\n}\n";
    struct found f = find(text, IGV_AMONG_THREADS);
    CHECK(!varies(&f, "next") && !varies(&f, "i") && !block_named(&f, "meet")->divergent);
    found_free(&f);
    f = find(text, IGV_AMONG_LANES);
    CHECK(varies(&f, "next") && block_named(&f, "loop")->divergent);
    found_free(&f);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* `parts` of eleven instructions: divergent diamonds in a row, within one loop, each of which reads
 * what the one before computed. */
static double time_of(unsigned parts) {
    struct ig_text text = {0};
    ig_text_puts(&text, DECLARATIONS "define void @k(i32 %n) {\nentry:\n" TID "  br label %d0\n"
                                     "d0:\n  %v0 = phi i32 [ %tid, %entry ], [ %last, %latch ]\n"
                                     "  br label %a0\na0:\n");
    for (unsigned i = 0; i < parts; i++) {
        ig_text_printf(&text, "  %%s%u = add i32 %%v%u, 1\n  %%t%u = mul i32 %%s%u, 3\n", i, i, i,
                       i);
        ig_text_printf(&text, "  %%c%u = icmp ult i32 %%t%u, %%n\n", i, i);
        ig_text_printf(&text, "  br i1 %%c%u, label %%y%u, label %%n%u\n", i, i, i);
        ig_text_printf(&text, "y%u:\n  %%p%u = xor i32 %%t%u, 5\n  br label %%j%u\n", i, i, i, i);
        ig_text_printf(&text, "n%u:\n  %%q%u = sub i32 %%t%u, 5\n  br label %%j%u\n", i, i, i, i);
        ig_text_printf(&text, "j%u:\n  %%v%u = phi i32 [ %%p%u, %%y%u ], [ %%q%u, %%n%u ]\n", i,
                       i + 1, i, i, i, i);
        ig_text_printf(&text, "  br label %%a%u\na%u:\n", i + 1, i + 1);
    }
    ig_text_printf(&text,
                   "  br label %%latch\nlatch:\n  %%last = add i32 %%v%u, 1\n"
                   "  %%m = icmp ult i32 %%last, %%n\n  br i1 %%m, label %%d0, label %%end\n"
                   "end:\n  ret void\n}\n",
                   parts);
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module;
    char *message = NULL;
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        ig_text_string(&text), strlen(ig_text_string(&text)), "test");
    if (LLVMParseIRInContext(context, buffer, &module, &message)) {
        fprintf(stderr, "the test's IR is wrong: %s\n", message);
        exit(2);
    }
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct igv_analysis analysis;
    double start = seconds();
    CHECK(igv_find_uniform(&arena, LLVMGetNamedFunction(module, "k"), IGV_AMONG_LANES, &analysis,
                           &error) == INGOT_OK);
    double taken = seconds() - start;
    CHECK(analysis.value_count > 9 * parts);
    ig_arena_free(&arena);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    ig_text_free(&text);
    return taken;
}

/* Eight times the kernel may take sixteen times as long, not sixty-four times. */
static void test_time(void) {
    time_of(1000);
    double small = time_of(2500), large = time_of(20000);
    if (getenv("SHOW_TIMES")) {
        fprintf(stderr, "%.1f ms for 25,000 instructions, %.1f ms for 200,000\n", 1e3 * small,
                1e3 * large);
    }
    CHECK(large < 16 * small + 0.05);
}

int main(void) {
    test_scopes();
    test_joins();
    test_temporal();
    test_any_flow();
    test_same_on_all_ways();
    test_time();
    return check_report();
}
