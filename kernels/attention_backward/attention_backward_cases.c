/* The cases of the backward pass; the reference is checked by finite differences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/attention_cases.h"

#define TIMED (IGH_BENCH | IGH_TUNE)

/* Small ones: here the reference's gradients are checked by differences too. */
static const struct igh_case small_cases[] = {
    {.name = "1x1", .n = {1, 1, 1, 1, 1, 1}},
    {.name = "3x5, d4", .n = {1, 2, 1, 3, 5, 4, 3}, .flags = CAUSAL | ALIBI},
    {.name = "5x7, d8 4/2 heads", .n = {2, 4, 2, 5, 7, 8}},
    {.name = "9x6, d8 causal", .n = {1, 2, 2, 9, 6, 8}, .flags = CAUSAL},
    {.name = "9x12, d8 window 3", .n = {1, 2, 2, 9, 12, 8, 0, 3}},
    {.name = "6x9, d8 boolean mask", .n = {2, 2, 1, 6, 9, 8}, .flags = MASK_BOOL | MASK_NONE_SEEN},
    {.name = "6x9, d8 float32 mask", .n = {2, 2, 1, 6, 9, 8}, .flags = MASK_F32},
};

static const struct igh_case cases[] = {
    {.name = "no batch", .n = {0, 2, 2, 4, 4, 32}},
    {.name = "no queries", .n = {1, 2, 2, 0, 4, 32}},
    {.name = "no keys", .n = {1, 2, 2, 4, 0, 32}},
    {.name = "40x50, d64", .n = {2, 2, 2, 40, 50, 64}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "70x70, d32 causal", .n = {1, 2, 2, 70, 70, 32}, .flags = CAUSAL},
    {.name = "17x100, d80 causal 4/2 heads", .n = {1, 4, 2, 17, 100, 80}, .flags = CAUSAL},
    {.name = "70x20, d96 causal", .n = {1, 2, 2, 70, 20, 96}, .flags = CAUSAL},
    {.name = "50x50, d128 6/2 heads", .n = {1, 6, 2, 50, 50, 128}},
    {.name = "35x40, d192 v128", .n = {1, 2, 2, 35, 40, 192, 128}, .flags = CAUSAL},
    {.name = "35x40, d256", .n = {1, 1, 1, 35, 40, 256}},
    {.name = "19x23, d7 v13", .n = {1, 2, 2, 19, 23, 7, 13}},
    {.name = "90x90, window 16", .n = {1, 2, 2, 90, 90, 64, 0, 16}},
    {.name = "90x120, causal window 16", .n = {1, 2, 2, 90, 120, 64, 0, 16}, .flags = CAUSAL},
    {.name = "40x60, boolean mask", .n = {2, 2, 1, 40, 60, 64}, .flags = MASK_BOOL},
    {.name = "40x60, rows without keys",
     .n = {2, 2, 2, 40, 60, 64},
     .flags = MASK_BOOL | MASK_NONE_SEEN | MASK_ROWS},
    {.name = "40x60, float32 mask", .n = {2, 2, 2, 40, 60, 64}, .flags = MASK_F32 | CAUSAL},
    {.name = "40x60, mask of the type", .n = {1, 2, 2, 40, 60, 64}, .flags = MASK_SAME | MASK_ROWS},
    {.name = "40x60, ALiBi", .n = {1, 4, 2, 40, 60, 64}, .flags = ALIBI | CAUSAL},
    {.name = "40x60, scale 0.5", .n = {1, 2, 2, 40, 60, 32}, .f = {0.5}},
    {.name = "40x60, strided", .n = {2, 4, 2, 40, 60, 72}, .flags = STRIDED | CAUSAL},
    /* several blocks of both sides, in part hidden */
    {.name = "200x330, d64 causal 4/2 heads", .n = {1, 4, 2, 200, 330, 64}, .flags = CAUSAL},
    {.name = "20x300, d80 causal window 16", .n = {1, 1, 1, 20, 300, 80, 0, 16}, .flags = CAUSAL},
    {.name = "330x200, d88", .n = {1, 2, 1, 330, 200, 88}},
    {.name = "260x260, d128 window 70", .n = {1, 2, 2, 260, 260, 128, 0, 70}, .flags = CAUSAL},
    {.name = "150x170, d40 boolean mask 3/1 heads",
     .n = {2, 3, 1, 150, 170, 40},
     .flags = MASK_BOOL},
    {.name = "140x140, d160 causal", .n = {1, 2, 1, 140, 140, 160}, .flags = CAUSAL},
    {.name = "140x200, d224 ALiBi", .n = {1, 2, 2, 140, 200, 224}, .flags = ALIBI},
    {.name = "150x150, d72 rows apart", .n = {2, 4, 2, 150, 150, 72}, .flags = ROWS_APART | CAUSAL},
    {.name = "33x3, far apart", .n = {1, 1, 1, 33, 3, 16}, .flags = FAR},
    {.name = "1x8/8x512x64 causal", .n = {1, 8, 8, 512, 512, 64}, .flags = CAUSAL, .uses = TIMED},
    {.name = "1x8/8x1024x128", .n = {1, 8, 8, 1024, 1024, 128}, .uses = IGH_BENCH},
    {.name = "1x8/8x1024x128 causal",
     .n = {1, 8, 8, 1024, 1024, 128},
     .flags = CAUSAL,
     .uses = IGH_BENCH},
};

static void no_memory(struct igh_run *run) {
    ig_fail(&run->error, INGOT_OUT_OF_MEMORY, "no memory for the reference");
}

static void declare(struct igh_run *run) {
    const int64_t *n = run->test->n;
    attention_declare_inputs(run);
    const int64_t out[] = {n[N_BATCHES], n[N_HEADS], n[N_QUERIES],
                           n[N_VALUE_DEPTH] ? n[N_VALUE_DEPTH] : n[N_DEPTH]};
    if (run->for_speed) { /* any numbers will do */
        igh_input(run, OUT, "out", run->type, 4, out, (struct igh_fill){IGH_NORMAL, 0, 0.1});
        igh_input(run, LSE_OUT, "lse", INGOT_SCALAR_F32, 3, out,
                  (struct igh_fill){IGH_CONSTANT, 7, 0});
    } else { /* the forward operation makes them */
        igh_output(run, OUT, "out", run->type, 4, out);
        igh_output(run, LSE_OUT, "lse", INGOT_SCALAR_F32, 3, out);
    }
    igh_input(run, DOUT, "dout", run->type, 4, out, (struct igh_fill){IGH_NORMAL, 0, 1});
    static const char *const names[] = {"dq", "dk", "dv"};
    for (int i = 0; i < 3; i++) {
        igh_output(run, DQ + i, names[i], run->type, 4, igh_tensor(run, Q + i)->shape);
    }
    if (run->test->flags & STRIDED) {
        attention_swap_heads(run, DOUT, 3);
        for (int i = 0; i < 3; i++) {
            attention_swap_heads(run, DQ + i, 3);
        }
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_attention_desc forward = attention_desc_of(run);
    const ingot_attention_backward_desc backward = {.q = forward.q,
                                                    .k = forward.k,
                                                    .v = forward.v,
                                                    .out = forward.out,
                                                    .lse = forward.lse,
                                                    .dout = igh_tensor(run, DOUT),
                                                    .mask = forward.mask,
                                                    .slopes = forward.slopes,
                                                    .dq = igh_tensor(run, DQ),
                                                    .dk = igh_tensor(run, DK),
                                                    .dv = igh_tensor(run, DV),
                                                    .scale = forward.scale,
                                                    .causal = forward.causal,
                                                    .window = forward.window};
    ingot_status status = INGOT_OK;
    if (!run->for_speed) {
        status = ingot_op_attention(run->ops, run->stream, &forward);
        free(run->own); /* the forward call's variant, for the bound of what it made */
        run->own = strdup(ingot_ops_last_variant());
    }
    return status ? status : ingot_op_attention_backward(run->ops, run->stream, &backward);
}

static void reference(struct igh_run *run) {
    const struct attention_reference r = attention_reference_of(run);
    if (!attention_reference_forward(&r, igh_expected(run, OUT), igh_expected(run, LSE_OUT)) ||
        !attention_reference_backward(&r, igh_values(run, DOUT), igh_expected(run, DQ),
                                      igh_expected(run, DK), igh_expected(run, DV))) {
        no_memory(run);
    }
}

static void forward(const struct igh_run *run, double *out) {
    const struct attention_reference r = attention_reference_of(run);
    attention_reference_forward(&r, out, NULL);
}

/* Sums over queries or keys of products of order 1. An error of a score, which is its size times
 * 2^-24, is a relative error of its probability: so all errors grow with the spread of the scores.
 * With 16-bit types, out is rounded before its product with dout is taken, as in every
 * implementation that saves it. */
static struct igh_bound bound(const struct igh_run *run, int slot) {
    double rows =
        slot == DK || slot == DV
            ? (double)(run->test->n[N_QUERIES] * run->test->n[N_HEADS] / run->test->n[N_KEY_HEADS])
            : 1;
    double spread = fmax(1, run->test->f[0] * sqrt((double)run->test->n[N_DEPTH])); /* of scores */
    double absolute = (slot == DK || slot == DV ? 1e-6 : 2e-6) * sqrt(rows < 1 ? 1 : rows);
    if (run->type != INGOT_SCALAR_F32 && slot >= DQ) {
        absolute += igh_ulp(run->type, 1) * 2;
    }
    absolute *= spread;
    if (slot == OUT && run->own) {
        absolute += attention_rounding_of_weights(run, run->own);
    }
    return (struct igh_bound){.ulps = 1, .absolute = absolute};
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    double size = run->type == INGOT_SCALAR_F32 ? 4 : 2;
    double depth = (double)igh_tensor(run, Q)->shape[3];
    double value_depth = (double)igh_tensor(run, V)->shape[3];
    *bytes = size * (double)(2 * (igh_count(run, Q) + igh_count(run, K) + igh_count(run, V)) +
                             2 * igh_count(run, OUT));
    *flops = 2 * (3 * depth + 2 * value_depth) * attention_pairs(run); /* five products */
}

static const struct igh_suite differences = {
    .operation = "attention_backward",
    .types = IGH_FLOATS,
    IGH_CASES(small_cases),
    .size_names = attention_size_names,
    .number_names = attention_number_names,
    .flag_names = attention_flag_names,
    .declare = declare,
    .launch = launch,
    .reference = reference,
    .bound = bound,
    .forward = forward,
    .upstream = DOUT,
    .gradients = {{Q, DQ}, {K, DK}, {V, DV}},
    .gradient_count = 3,
};

static const struct igh_suite backward = {
    .operation = "attention_backward",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .size_names = attention_size_names,
    .number_names = attention_number_names,
    .flag_names = attention_flag_names,
    .declare = declare,
    .launch = launch,
    .reference = reference,
    .bound = bound,
    .cost = cost,
};

static const struct igh_suite *const suites[] = {&differences, &backward};
const struct igh_suites igh_suites_attention_backward = {suites, 2};
