/* The vectoriser's analyses on small kernels: shapes, divergence, loops and the order. */
#include "analysis_harness.h"

#define TID "  %tid = call i32 @__ingot_thread_position_in_threadgroup(i32 0)\n"
#define GID "  %gid = call i32 @__ingot_thread_position_in_grid(i32 0)\n"
#define PTR "  %p = call ptr @__ingot_arg_device(i32 0)\n"

static void test_integer_shapes(void) {
    struct analysed a =
        analyse_text(DECLARATIONS "define void @k() {\n" TID GID PTR "  %n = load i32, ptr %p\n"
                                  "  %times4 = shl i32 %tid, 2\n"
                                  "  %times12 = mul i32 %tid, 12\n"
                                  "  %minus = sub i32 %n, %tid\n"
                                  "  %group = lshr i32 %gid, 5\n"
                                  "  %group64 = udiv i32 %gid, 64\n"
                                  "  %in8 = lshr i32 %gid, 3\n"
                                  "  %lane = and i32 %tid, 31\n"
                                  "  %first = and i32 %tid, -32\n"
                                  "  %low = and i32 %tid, 7\n"
                                  "  %rem = urem i32 %tid, 32\n"
                                  "  %back = lshr exact i32 %times4, 2\n"
                                  "  %orred = or disjoint i32 %times4, 3\n"
                                  "  %flip = xor i32 %times4, 1\n"
                                  "  %xored = xor i32 %tid, 1\n"
                                  "  %scaled = mul i32 %tid, %n\n"
                                  "  %bit = trunc i32 %tid to i1\n"
                                  "  %narrow = trunc i32 %tid to i16\n"
                                  "  %wide = zext i16 %narrow to i32\n"
                                  "  %byte = trunc i32 %gid to i8\n"
                                  "  %unbyte = zext i8 %byte to i32\n"
                                  "  %same = sub i32 %tid, %lane\n"
                                  "  ret void\n}\n",
                     false);
    CHECK(a.status == INGOT_OK);
    CHECK(is_linear(&a, "tid", 1) && value_named(&a, "tid")->align_log2 == 5);
    CHECK(is_uniform(&a, "n") && is_uniform(&a, "p"));
    CHECK(is_linear(&a, "times4", 4) && value_named(&a, "times4")->align_log2 == 7);
    CHECK(is_linear(&a, "times12", 12) && value_named(&a, "times12")->no_wrap);
    CHECK(is_linear(&a, "minus", -1) && !value_named(&a, "minus")->no_wrap);
    CHECK(is_uniform(&a, "group") && is_uniform(&a, "group64"));
    CHECK(is_varying(&a, "in8"));
    CHECK(is_linear(&a, "lane", 1) && is_uniform(&a, "first") && is_varying(&a, "low"));
    CHECK(is_linear(&a, "rem", 1));
    CHECK(is_linear(&a, "back", 1) && is_linear(&a, "orred", 4) && is_linear(&a, "flip", 4));
    CHECK(is_varying(&a, "xored") && is_varying(&a, "scaled") && is_varying(&a, "bit"));
    CHECK(is_linear(&a, "narrow", 1) && is_linear(&a, "wide", 1));
    CHECK(is_varying(&a, "unbyte") || value_named(&a, "unbyte")->no_wrap);
    CHECK(is_uniform(&a, "same"));
    analysed_free(&a);
}

static void test_addresses(void) {
    struct analysed a =
        analyse_text(DECLARATIONS "%S = type { float, [3 x i32] }\ndefine void @k() {\n" TID GID PTR
                                  "  %n = load i32, ptr %p\n"
                                  "  %g = zext i32 %gid to i64\n"
                                  "  %x = getelementptr float, ptr %p, i64 %g\n"
                                  "  %v = load float, ptr %x\n"
                                  "  %off = add i32 %gid, %n\n"
                                  "  %o = zext i32 %off to i64\n"
                                  "  %o2 = add i64 %o, 7\n"
                                  "  %y = getelementptr float, ptr %p, i64 %o2\n"
                                  "  %w = load float, ptr %y\n"
                                  "  %cut = trunc i64 %o to i32\n"
                                  "  %s = sext i32 %off to i64\n"
                                  "  %f = getelementptr %S, ptr %p, i64 %s, i32 1, i64 2\n"
                                  "  %big = add i32 %gid, 2147483632\n"
                                  "  %sbig = sext i32 %big to i64\n"
                                  "  %hash = mul i32 %gid, -1640531535\n"
                                  "  %shash = sext i32 %hash to i64\n"
                                  "  %q = getelementptr i8, ptr %p, i32 %tid\n"
                                  "  %i = ptrtoint ptr %x to i64\n"
                                  "  %c = addrspacecast ptr %x to ptr addrspace(1)\n"
                                  "  %fixed = load i32, ptr %p\n"
                                  "  %old = atomicrmw add ptr %p, i32 1 monotonic\n"
                                  "  %safe = add nuw i32 %gid, %n\n"
                                  "  %safe64 = zext i32 %safe to i64\n"
                                  "  ret void\n}\n",
                     false);
    CHECK(is_linear(&a, "g", 1) && is_linear(&a, "x", 4) && is_varying(&a, "v"));
    CHECK(is_linear(&a, "off", 1) && !value_named(&a, "off")->no_wrap);
    CHECK(is_checked(&a, "o", 1) && is_checked(&a, "o2", 1) && is_checked(&a, "y", 4));
    CHECK(is_varying(&a, "w") && is_varying(&a, "cut"));
    CHECK(is_linear(&a, "s", 1) && is_linear(&a, "f", 16));
    CHECK(is_varying(&a, "sbig") && is_varying(&a, "shash"));
    CHECK(is_linear(&a, "q", 1) && is_linear(&a, "i", 4) && is_linear(&a, "c", 4));
    CHECK(is_uniform(&a, "fixed") && is_varying(&a, "old"));
    CHECK(is_linear(&a, "safe64", 1));
    analysed_free(&a);
}

static void test_uniform_comparisons(void) {
    struct analysed a =
        analyse_text(DECLARATIONS "define void @k() {\n" TID PTR "  %n = load i32, ptr %p\n"
                                  "  %n32 = shl i32 %n, 5\n"
                                  "  %a = icmp ult i32 %tid, 32\n"
                                  "  %b = icmp ugt i32 %tid, 63\n"
                                  "  %c = icmp ult i32 %tid, 33\n"
                                  "  %d = icmp eq i32 %tid, 0\n"
                                  "  %e = icmp slt i32 %tid, %n32\n"
                                  "  %f = icmp ult i32 %tid, %n\n"
                                  "  %g = icmp ugt i32 96, %tid\n"
                                  "  ret void\n}\n",
                     false);
    CHECK(is_uniform(&a, "a") && is_uniform(&a, "b") && is_uniform(&a, "e") && is_uniform(&a, "g"));
    CHECK(is_varying(&a, "c") && is_varying(&a, "d") && is_varying(&a, "f"));
    analysed_free(&a);
}

static void test_diamond(void) {
    struct analysed a = analyse_text(
        DECLARATIONS "define void @k() {\nentry:\n" TID PTR "  %n = load i32, ptr %p\n"
                     "  %c = icmp eq i32 %tid, %n\n"
                     "  br i1 %c, label %yes, label %no\n"
                     "yes:\n  %u = icmp eq i32 %n, 4\n  br i1 %u, label %deep, label %inner\n"
                     "deep:\n  br label %inner\n"
                     "inner:\n  %m = phi i32 [ 1, %yes ], [ 2, %deep ]\n  br label %join\n"
                     "no:\n  br label %join\n"
                     "join:\n  %v = phi i32 [ 1, %inner ], [ 2, %no ]\n"
                     "  %w = phi i32 [ %n, %inner ], [ %n, %no ]\n"
                     "  br label %end\n"
                     "end:\n  ret void\n}\n",
        false);
    CHECK(block_of(&a, "entry")->branch_divergent && !block_of(&a, "entry")->divergent);
    CHECK(block_of(&a, "yes")->divergent && !block_of(&a, "yes")->branch_divergent);
    CHECK(block_of(&a, "deep")->divergent && block_of(&a, "no")->divergent);
    CHECK(!block_of(&a, "inner")->phis_divergent && is_uniform(&a, "m"));
    CHECK(block_of(&a, "join")->phis_divergent && !block_of(&a, "join")->divergent);
    CHECK(is_varying(&a, "v") && is_uniform(&a, "w"));
    CHECK(block_of(&a, "join")->mask_of == block_named(&a, "entry"));
    CHECK(block_of(&a, "inner")->mask_of == block_named(&a, "yes"));
    CHECK(block_of(&a, "no")->mask_of == block_named(&a, "no"));
    CHECK(block_of(&a, "join")->idom == block_named(&a, "entry"));
    CHECK(block_of(&a, "entry")->ipdom == block_named(&a, "join"));
    CHECK(block_of(&a, "yes")->ipdom == block_named(&a, "inner"));
    analysed_free(&a);
}

static void test_divergent_loop(void) {
    struct analysed a =
        analyse_text(DECLARATIONS "define void @k() {\nentry:\n" TID PTR "  %n = load i32, ptr %p\n"
                                  "  br label %loop\n"
                                  "loop:\n  %i = phi i32 [ 0, %entry ], [ %next, %loop ]\n"
                                  "  %lin = phi i32 [ %tid, %entry ], [ %lin2, %loop ]\n"
                                  "  %next = add i32 %i, 1\n"
                                  "  %lin2 = add i32 %lin, %n\n"
                                  "  %c = icmp ult i32 %next, %tid\n"
                                  "  br i1 %c, label %loop, label %exit\n"
                                  "exit:\n  %count = phi i32 [ %next, %loop ]\n"
                                  "  %still = phi i32 [ %n, %loop ]\n"
                                  "  %late = phi i32 [ %lin, %loop ]\n"
                                  "  ret void\n}\n",
                     false);
    CHECK(a.analysis.loop_count == 1 && a.analysis.loops[0].divergent);
    CHECK(is_uniform(&a, "i") && is_uniform(&a, "next") && is_linear(&a, "lin", 1));
    CHECK(is_varying(&a, "count") && is_uniform(&a, "still") && is_varying(&a, "late"));
    CHECK(block_of(&a, "loop")->divergent && !block_of(&a, "exit")->divergent);
    CHECK(block_of(&a, "exit")->phis_divergent && block_of(&a, "exit")->mask_of == 0);
    CHECK(block_of(&a, "loop")->mask_of == block_named(&a, "loop"));
    analysed_free(&a);
}

/* A divergent `continue` leaves the loop uniform; a divergent `break` does not. */
static void test_continue_and_break(void) {
    static const char *const targets[2] = {"latch", "exit"};
    for (int breaks = 0; breaks < 2; breaks++) {
        struct ig_text text = {0};
        ig_text_puts(&text, DECLARATIONS "define void @k() {\nentry:\n" TID PTR
                                         "  %n = load i32, ptr %p\n  br label %loop\n");
        ig_text_printf(&text,
                       "loop:\n  %%i = phi i32 [ 0, %%entry ], [ %%next, %%latch ]\n"
                       "  %%c = icmp eq i32 %%i, %%tid\n"
                       "  br i1 %%c, label %%%s, label %%body\n"
                       "body:\n  br label %%latch\n"
                       "latch:\n  %%v = phi i32 [ 1, %%body ]%s\n",
                       targets[breaks], breaks ? "" : ", [ 2, %loop ]");
        ig_text_printf(&text,
                       "  %%next = add i32 %%i, 1\n"
                       "  %%more = icmp ult i32 %%next, %%n\n"
                       "  br i1 %%more, label %%loop, label %%exit\n"
                       "exit:\n  %%end = phi i32 [ %%next, %%latch ]%s\n  ret void\n}\n",
                       breaks ? ", [ %i, %loop ]" : "");
        struct analysed a = analyse_text(ig_text_string(&text), false);
        ig_text_free(&text);
        CHECK(a.analysis.loops[0].divergent == (breaks == 1));
        CHECK(is_varying(&a, "end") == (breaks == 1));
        CHECK(block_of(&a, "latch")->phis_divergent == (breaks == 0));
        CHECK(block_of(&a, "body")->divergent);
        CHECK(block_of(&a, "latch")->divergent == (breaks == 1));
        CHECK(is_uniform(&a, "i"));
        CHECK(block_of(&a, "exit")->mask_of == 0);
        analysed_free(&a);
    }
}

/* A divergent exit from two loops at once makes both divergent. */
static void test_nested_break(void) {
    struct analysed a = analyse_text(
        DECLARATIONS "define void @k() {\nentry:\n" TID PTR "  %n = load i32, ptr %p\n"
                     "  br label %outer\n"
                     "outer:\n  %i = phi i32 [ 0, %entry ], [ %i2, %outlatch ]\n"
                     "  br label %inner\n"
                     "inner:\n  %j = phi i32 [ 0, %outer ], [ %j2, %inlatch ]\n"
                     "  %s = add i32 %i, %j\n"
                     "  %c = icmp eq i32 %s, %tid\n"
                     "  br i1 %c, label %away, label %inlatch\n"
                     "inlatch:\n  %j2 = add i32 %j, 1\n"
                     "  %m = icmp ult i32 %j2, %n\n"
                     "  br i1 %m, label %inner, label %outlatch\n"
                     "outlatch:\n  %i2 = add i32 %i, 1\n"
                     "  %m2 = icmp ult i32 %i2, %n\n"
                     "  br i1 %m2, label %outer, label %done\n"
                     "away:\n  %found = phi i32 [ %i, %inner ]\n  br label %end\n"
                     "done:\n  br label %end\n"
                     "end:\n  %r = phi i32 [ %found, %away ], [ -1, %done ]\n  ret void\n}\n",
        false);
    CHECK(a.status == INGOT_OK);
    if (!a.status) {
        CHECK(a.analysis.loop_count == 2);
        CHECK(a.analysis.loops[0].divergent && a.analysis.loops[1].divergent);
        CHECK(a.analysis.loops[1].parent == 0 && a.analysis.loops[0].parent == IGV_NONE);
        CHECK(is_varying(&a, "found") && is_varying(&a, "r") && is_uniform(&a, "i"));
        CHECK(block_of(&a, "away")->divergent && block_of(&a, "done")->divergent);
        CHECK(block_of(&a, "end")->phis_divergent && !block_of(&a, "end")->divergent);
    }
    analysed_free(&a);
}

static void check_order(const struct analysed *a) {
    const struct igv_analysis *analysis = &a->analysis;
    for (unsigned b = 0; b < analysis->block_count; b++) {
        for (unsigned s = 0; s < analysis->blocks[b].successor_count; s++) {
            unsigned to = analysis->blocks[b].successors[s];
            bool back = analysis->blocks[to].loop != IGV_NONE &&
                        analysis->loops[analysis->blocks[to].loop].header == to &&
                        analysis->loops[analysis->blocks[to].loop].latch == b;
            CHECK(to > b || back);
        }
        for (unsigned l = 0; l < analysis->loop_count; l++) {
            bool inside = false;
            for (unsigned in = analysis->blocks[b].loop; in != IGV_NONE;
                 in = analysis->loops[in].parent) {
                inside = inside || in == l;
            }
            CHECK(inside == igv_in_loop(&analysis->loops[l], b));
        }
    }
    for (unsigned l = 0; l < analysis->loop_count; l++) {
        CHECK(analysis->loops[l].first == analysis->loops[l].header);
        CHECK(analysis->loops[l].last == analysis->loops[l].latch);
        CHECK(!igv_in_loop(&analysis->loops[l], analysis->loops[l].preheader));
    }
}

/* Random control flow: a chain of blocks with forward edges and back edges, through prepare. */
static void test_random_graphs(void) {
    unsigned seed = 12345;
    for (int round = 0; round < 60; round++) {
        struct ig_text text = {0};
        unsigned count = 4 + (unsigned)round % 14;
        ig_text_puts(&text, DECLARATIONS "define void @k() {\nentry:\n" TID PTR
                                         "  %n = load i32, ptr %p\n  br label %b0\n");
        for (unsigned b = 0; b < count; b++) {
            seed = seed * 1664525u + 1013904223u;
            unsigned one = (seed >> 10) % count, two = (seed >> 20) % (count + 1);
            ig_text_printf(&text, "b%u:\n  %%v%u = load volatile i32, ptr %%p\n", b, b);
            ig_text_printf(&text, "  %%c%u = icmp eq i32 %%v%u, %s\n", b, b,
                           seed & 64 ? "%tid" : "%n");
            ig_text_printf(&text, "  br i1 %%c%u, label %%b%u, label %%b%u\n", b, one ? one : b + 1,
                           two ? two : b + 1);
        }
        ig_text_printf(&text, "b%u:\n  ret void\n}\n", count);
        struct analysed a = analyse_text(ig_text_string(&text), true);
        CHECK(a.status == INGOT_OK);
        if (a.status) {
            fprintf(stderr, "%s\n%s", ig_error_text(&a.error), ig_text_string(&text));
        } else {
            check_order(&a);
        }
        analysed_free(&a);
        ig_text_free(&text);
    }
}

static void test_private_memory(void) {
    struct analysed a =
        analyse_text(DECLARATIONS "define void @k() {\n" TID PTR "  %n = load i32, ptr %p\n"
                                  "  %fast = alloca [16 x float], align 4\n"
                                  "  %bytes = alloca [16 x i32], align 4\n"
                                  "  %kept = alloca [4 x float], align 16\n"
                                  "  %i = zext i32 %n to i64\n"
                                  "  %e = getelementptr [16 x float], ptr %fast, i64 0, i64 %i\n"
                                  "  store float 1.0, ptr %e, align 4\n"
                                  "  %t = zext i32 %tid to i64\n"
                                  "  %ev = getelementptr [16 x float], ptr %fast, i64 0, i64 %t\n"
                                  "  %x = load float, ptr %ev, align 4\n"
                                  "  store i32 1, ptr %bytes, align 4\n"
                                  "  %b = getelementptr i8, ptr %bytes, i64 3\n"
                                  "  %y = load i8, ptr %b, align 1\n"
                                  "  store ptr %kept, ptr %p\n"
                                  "  %z = load float, ptr %kept, align 4\n"
                                  "  ret void\n}\n",
                     false);
    CHECK(value_named(&a, "fast")->private_granule == 4 && is_linear(&a, "fast", 4));
    CHECK(value_named(&a, "e")->private_granule == 4 && is_linear(&a, "e", 4));
    CHECK(is_linear(&a, "ev", 4 + 32 * 4) && is_varying(&a, "x"));
    CHECK(value_named(&a, "bytes")->private_granule == 1 && is_linear(&a, "b", 1));
    CHECK(value_named(&a, "kept")->private_granule == 0 && is_linear(&a, "kept", 16));
    CHECK(is_varying(&a, "z") && is_varying(&a, "y"));
    analysed_free(&a);
}

static void test_general_ids(void) {
    struct analysed a = analyse_text(DECLARATIONS "define void @k() {\n" TID
                                                  "  %y = call i32 @__ingot_thread_position_in_"
                                                  "threadgroup(i32 1)\n"
                                                  "  %lane = call i32 @__ingot_thread_index_in_"
                                                  "simdgroup()\n"
                                                  "  ret void\n}\n",
                                     false);
    CHECK(is_linear(&a, "tid", 1) && is_uniform(&a, "y") && is_linear(&a, "lane", 1));
    struct igv_request request = {.module = a.module,
                                  .kernel = a.kernel,
                                  .target = &analysis_target,
                                  .ids = INGOT_CPU_IDS_GENERAL};
    CHECK(igv_analyse(&a.arena, &request, &a.analysis, &a.error) == INGOT_OK);
    CHECK(is_varying(&a, "tid") && is_varying(&a, "y") && is_linear(&a, "lane", 1));
    analysed_free(&a);
}

static void test_refusals(void) {
    struct analysed a = analyse_text(
        DECLARATIONS "define void @k(i1 %c) {\nentry:\n  br i1 %c, label %a, label %b\n"
                     "a:\n  br i1 %c, label %b, label %x\n"
                     "b:\n  br i1 %c, label %a, label %x\nx:\n  ret void\n}\n",
        false);
    CHECK(a.status == INGOT_COMPILE_ERROR && strstr(ig_error_text(&a.error), "irreducible"));
    analysed_free(&a);
    a = analyse_text(DECLARATIONS "define void @k() {\nentry:\n  br label %a\n"
                                  "a:\n  br label %a\n}\n",
                     false);
    CHECK(a.status == INGOT_COMPILE_ERROR);
    analysed_free(&a);
}

int main(void) {
    test_integer_shapes();
    test_addresses();
    test_uniform_comparisons();
    test_diamond();
    test_divergent_loop();
    test_continue_and_break();
    test_nested_break();
    test_random_graphs();
    test_private_memory();
    test_general_ids();
    test_refusals();
    return check_report();
}
