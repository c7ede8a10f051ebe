/* The tensors of attention cases, forward and backward. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/attention_cases.h"

const char *const attention_size_names[] = {
    "batches", "heads", "key_heads", "queries", "keys", "head_size", "value_size", "window", NULL};
const char *const attention_number_names[] = {"scale", NULL};
const char *const attention_flag_names[] = {"causal",       "mask_bool",  "mask_f32", "mask_same",
                                            "mask_rows",    "alibi",      "lse",      "strided",
                                            "whole_window", "expanded",   "far",      "none_seen",
                                            "rows_apart",   "words_of_q", NULL};

void attention_swap_heads(struct igh_run *run, int slot, int64_t offset) {
    const ingot_tensor *t = igh_tensor(run, slot);
    const int64_t *shape = t->shape;
    const int64_t strides[4] = {shape[1] * shape[2] * shape[3], shape[3], shape[1] * shape[3], 1};
    igh_strides(run, slot, strides, offset);
}

static void declare_mask(struct igh_run *run) {
    const int64_t *n = run->test->n;
    uint32_t flags = run->test->flags;
    bool rows = flags & MASK_ROWS;
    const int64_t shape[4] = {n[N_BATCHES], 1, n[N_QUERIES], n[N_KEYS]};
    const int64_t count = (rows ? 1 : n[N_BATCHES]) * n[N_QUERIES] * n[N_KEYS];
    ingot_scalar_type type = flags & MASK_BOOL  ? INGOT_SCALAR_BOOL
                             : flags & MASK_F32 ? INGOT_SCALAR_F32
                                                : run->type;
    igh_input(run, MASK, "mask", type, rows ? 2 : 4, rows ? shape + 2 : shape,
              (struct igh_fill){IGH_NORMAL, 0, 1});
    double *values = malloc(((size_t)count + 1) * sizeof *values);
    for (int64_t i = 0; values && i < count; i++) {
        double hidden = igh_random(run) < 0.25;
        if (flags & MASK_NONE_SEEN && i / n[N_KEYS] % 3 == 1) {
            hidden = 1;
        }
        values[i] = flags & MASK_BOOL ? 1 - hidden : hidden != 0 ? -INFINITY : igh_random(run);
    }
    if (values) {
        igh_set(run, MASK, values, true);
    }
    free(values);
}

void attention_declare_inputs(struct igh_run *run) {
    const int64_t *n = run->test->n;
    uint32_t flags = run->test->flags;
    const int64_t value_depth = n[N_VALUE_DEPTH] ? n[N_VALUE_DEPTH] : n[N_DEPTH];
    const struct igh_fill normal = {IGH_NORMAL, 0, 1};
    const int64_t q[] = {n[N_BATCHES], n[N_HEADS], n[N_QUERIES], n[N_DEPTH]};
    const int64_t k[] = {n[N_BATCHES], n[N_KEY_HEADS], n[N_KEYS], n[N_DEPTH]};
    const int64_t v[] = {n[N_BATCHES], n[N_KEY_HEADS], n[N_KEYS], value_depth};
    igh_input(run, Q, "q", run->type, 4, q, normal);
    igh_input(run, K, "k", run->type, 4, k, normal);
    igh_input(run, V, "v", run->type, 4, v, normal);
    if (flags & STRIDED) {
        for (int slot = Q; slot <= V; slot++) {
            attention_swap_heads(run, slot, 3);
        }
    }
    if (flags & ROWS_APART) {
        for (int slot = Q; slot <= V; slot++) {
            attention_swap_heads(run, slot, 8);
        }
    }
    if (flags & WORDS_OF_Q) {
        const int64_t strides[4] = {q[1] * q[2] * q[3], q[2] * q[3], q[3], 1};
        igh_strides(run, Q, strides, 2);
    }
    if (flags & FAR) {
        const int64_t step = ((int64_t)1 << 31) / (n[N_KEYS] - 1) + 64;
        const int64_t strides[4] = {step, n[N_DEPTH], step, 1};
        igh_strides(run, K, strides, 0);
    }
    if (flags & (MASK_BOOL | MASK_F32 | MASK_SAME)) {
        declare_mask(run);
    }
    if (flags & ALIBI) {
        igh_input(run, SLOPES, "slopes", INGOT_SCALAR_F32, 1, &n[N_HEADS],
                  (struct igh_fill){IGH_UNIFORM, 0.01, 0.5});
        igh_no_specials(run, SLOPES);
    }
}

struct attention_reference attention_reference_of(const struct igh_run *run) {
    const int64_t *n = run->test->n;
    uint32_t flags = run->test->flags;
    struct attention_reference r = {
        .batches = n[N_BATCHES],
        .heads = n[N_HEADS],
        .key_heads = n[N_KEY_HEADS],
        .queries = n[N_QUERIES],
        .keys = n[N_KEYS],
        .depth = n[N_DEPTH],
        .value_depth = n[N_VALUE_DEPTH] ? n[N_VALUE_DEPTH] : n[N_DEPTH],
        .window = n[N_WINDOW],
        .causal = flags & CAUSAL,
        .scale = run->test->f[0] != 0 ? (float)run->test->f[0]
                                      : 1 / sqrt((double)(n[N_DEPTH] ? n[N_DEPTH] : 1)),
        .q = igh_values(run, Q),
        .k = igh_values(run, K),
        .v = igh_values(run, V),
        .mask = igh_tensor(run, MASK) ? igh_values(run, MASK) : NULL,
        .mask_is_bool = flags & MASK_BOOL,
        .mask_shape = {flags & MASK_ROWS ? 1 : n[N_BATCHES], 1, n[N_QUERIES], n[N_KEYS]},
        .slopes = igh_tensor(run, SLOPES) ? igh_values(run, SLOPES) : NULL,
    };
    return r;
}

double attention_pairs(const struct igh_run *run) {
    const int64_t *n = run->test->n;
    double pairs = 0;
    for (int64_t i = 0; i < n[N_QUERIES]; i++) {
        int64_t position = i + n[N_KEYS] - n[N_QUERIES], first = 0, end = n[N_KEYS];
        if (run->test->flags & CAUSAL && end > position + 1) {
            end = position + 1;
        }
        if (n[N_WINDOW] && first < position - n[N_WINDOW] + 1) {
            first = position - n[N_WINDOW] + 1;
        }
        if (n[N_WINDOW] && end > position + n[N_WINDOW]) {
            end = position + n[N_WINDOW];
        }
        pairs += end > first ? (double)(end - first) : 0;
    }
    return pairs * (double)(n[N_BATCHES] * n[N_HEADS]);
}

/* Did a call of that variant go to attention_blocks.h or attention_warpgroups.h, which make numbers
 * of the type of the weights? */
static bool has_rounded_weights(const struct igh_run *run, const char *variant) {
    const int64_t *n = run->test->n, value_depth = n[N_VALUE_DEPTH] ? n[N_VALUE_DEPTH] : n[N_DEPTH];
    const uint32_t unaligned = STRIDED | WORDS_OF_Q;
    const char *blocks = strstr(variant, ".blocks");
    if (blocks && !strncmp(blocks, ".blocks1.", 9)) { /* attention_units.h */
        return run->type == INGOT_SCALAR_BF16 && n[N_QUERIES] >= 16 && n[N_KEYS] >= 16 &&
               run->test->f[0] >= 0 && n[N_DEPTH] % 32 == 0 && n[N_DEPTH] <= 128 &&
               value_depth % 32 == 0 && value_depth <= 128 &&
               !(run->test->flags & (MASK_BOOL | MASK_F32 | MASK_SAME | ALIBI));
    }
    return run->type != INGOT_SCALAR_F32 && blocks && blocks[7] != '0' && n[N_QUERIES] > 8 &&
           run->test->f[0] >= 0 && n[N_DEPTH] % 8 == 0 && value_depth % 8 == 0 &&
           !(run->test->flags & unaligned);
}

/* A weight has an error of 2^-8 (bfloat) or 2^-11 (half) of itself at most, so that a result has
 * that much of the weighted mean of the values' magnitudes. Where a weight is below the normal
 * numbers of half, the error is 2^-25 instead; the sum of weights is at least 2^7 there. */
double attention_rounding_of_weights(const struct igh_run *run, const char *variant) {
    if (!has_rounded_weights(run, variant)) {
        return 0;
    }
    struct attention_reference r = attention_reference_of(run);
    const size_t values = (size_t)igh_count(run, V), results = (size_t)igh_count(run, OUT);
    double *v = malloc((values + results + 1) * sizeof *v), mean = 0, largest = 0;
    for (size_t i = 0; v && i < values; i++) {
        v[i] = fabs(r.v[i]);
        largest = fmax(largest, v[i]);
    }
    r.v = v;
    if (v && attention_reference_forward(&r, v + values, NULL)) {
        for (size_t i = 0; i < results; i++) {
            mean = fmax(mean, v[values + i]);
        }
    }
    free(v);
    return run->type == INGOT_SCALAR_BF16
               ? ldexp(mean, -8)
               : ldexp(mean, -11) + ldexp(largest * (double)run->test->n[N_KEYS], -32);
}

ingot_attention_desc attention_desc_of(const struct igh_run *run) {
    return (ingot_attention_desc){.q = igh_tensor(run, Q),
                                  .k = igh_tensor(run, K),
                                  .v = igh_tensor(run, V),
                                  .out = igh_tensor(run, OUT),
                                  .lse = igh_tensor(run, LSE_OUT),
                                  .mask = igh_tensor(run, MASK),
                                  .slopes = igh_tensor(run, SLOPES),
                                  .scale = (float)run->test->f[0],
                                  .causal = run->test->flags & CAUSAL,
                                  .window = (uint32_t)run->test->n[N_WINDOW]};
}
