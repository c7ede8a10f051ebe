/* The cases of attention_paged and cache_write (which also copies blocks). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/attention_reference.h"
#include "harness/harness.h"

/* n: batches, heads, key heads, queries, longest, head size, head size of v (0 = the same), window,
 * block; the last sequence has the longest length, the others are shorter. */
enum {
    N_BATCHES,
    N_HEADS,
    N_KEY_HEADS,
    N_QUERIES,
    N_LONGEST,
    N_DEPTH,
    N_VALUE_DEPTH,
    N_WINDOW,
    N_BLOCK
};
enum { ALIBI = 1, LSE = 2, SHORT = 4 /* the first sequence has no positions */ };
enum { Q, K, V, TABLE, LENGTHS, SLOPES, OUT, LSE_OUT };
#define TIMED (IGH_BENCH | IGH_TUNE)

static const struct igh_case paged_cases[] = {
    {.name = "1 position", .n = {1, 1, 1, 1, 1, 32, 0, 0, 16}, .flags = LSE},
    {.name = "no batch", .n = {0, 1, 1, 1, 30, 32, 0, 0, 16}},
    {.name = "100, d64 block 16",
     .n = {3, 4, 4, 1, 100, 64, 0, 0, 16},
     .flags = LSE | SHORT,
     .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "700, d128 block 32 8/2 heads", .n = {2, 8, 2, 1, 700, 128, 0, 0, 32}, .flags = LSE},
    {.name = "700, d80 block 16, 4 queries", .n = {2, 4, 2, 4, 700, 80, 0, 0, 16}, .flags = LSE},
    {.name = "200, d256 block 64", .n = {2, 2, 1, 2, 200, 256, 0, 0, 64}},
    {.name = "77, d40 v24 block 5", .n = {2, 2, 1, 3, 77, 40, 24, 0, 5}, .flags = LSE},
    {.name = "600, window 100", .n = {2, 2, 2, 2, 600, 64, 0, 100, 16}, .flags = LSE},
    {.name = "600, ALiBi", .n = {2, 4, 2, 1, 600, 64, 0, 0, 16}, .flags = LSE | ALIBI},
    {.name = "20, 16/1 heads", .n = {2, 16, 1, 1, 20, 64, 0, 0, 16}},
    {.name = "4500, d8 block 64", .n = {1, 2, 2, 1, 4500, 8, 0, 0, 64}, .flags = LSE},
    {.name = "40, 40 queries", .n = {2, 2, 1, 40, 40, 64, 0, 0, 16}},
    {.name = "4x32/8x1x2048x128 block 16", .n = {4, 32, 8, 1, 2048, 128, 0, 0, 16}, .uses = TIMED},
    {.name = "1x32/8x1x4096x128 block 32", .n = {1, 32, 8, 1, 4096, 128, 0, 0, 32}, .uses = TIMED},
};

static int64_t value_depth_of(const struct igh_run *run) {
    const int64_t *n = run->test->n;
    return n[N_VALUE_DEPTH] ? n[N_VALUE_DEPTH] : n[N_DEPTH];
}

static int64_t length_of(const struct igh_run *run, int64_t b) {
    const int64_t *n = run->test->n;
    if (b == 0 && run->test->flags & SHORT) {
        return 0;
    }
    return n[N_LONGEST] - (n[N_BATCHES] - 1 - b) * n[N_LONGEST] / (n[N_BATCHES] + 1);
}

static int64_t row_blocks(const struct igh_run *run) {
    return (run->test->n[N_LONGEST] + run->test->n[N_BLOCK] - 1) / run->test->n[N_BLOCK];
}

/* Blocks of a sequence are scattered: a permutation of all, and three that nobody uses. */
static int64_t block_of(const struct igh_run *run, int64_t b, int64_t block) {
    int64_t count = run->test->n[N_BATCHES] * row_blocks(run), step = 7;
    while (count % step == 0) {
        step += 2;
    }
    return (b * row_blocks(run) + block) * step % count + 3;
}

static void declare_table(struct igh_run *run) {
    const int64_t *n = run->test->n;
    const int64_t table[] = {n[N_BATCHES], row_blocks(run)};
    igh_input(run, TABLE, "block_table", INGOT_SCALAR_I32, 2, table, (struct igh_fill){0});
    igh_input(run, LENGTHS, "lengths", INGOT_SCALAR_I32, 1, table, (struct igh_fill){0});
    double *values = malloc((size_t)(table[0] * table[1] + 1) * sizeof *values);
    for (int64_t i = 0; values && i < table[0] * table[1]; i++) {
        values[i] = (double)block_of(run, i / table[1], i % table[1]);
    }
    if (values) {
        igh_set(run, TABLE, values, true);
    }
    for (int64_t b = 0; values && b < table[0]; b++) {
        values[b] = (double)length_of(run, b);
    }
    if (values) {
        igh_set(run, LENGTHS, values, true);
    }
    free(values);
}

static void declare_paged(struct igh_run *run) {
    const int64_t *n = run->test->n;
    const struct igh_fill normal = {IGH_NORMAL, 0, 1};
    const int64_t blocks = n[N_BATCHES] * row_blocks(run) + 3;
    const int64_t q[] = {n[N_BATCHES], n[N_HEADS], n[N_QUERIES], n[N_DEPTH]};
    const int64_t k[] = {blocks, n[N_KEY_HEADS], n[N_BLOCK], n[N_DEPTH]};
    const int64_t v[] = {blocks, n[N_KEY_HEADS], n[N_BLOCK], value_depth_of(run)};
    const int64_t out[] = {n[N_BATCHES], n[N_HEADS], n[N_QUERIES], value_depth_of(run)};
    igh_input(run, Q, "q", run->type, 4, q, normal);
    igh_input(run, K, "key_cache", run->type, 4, k, normal);
    igh_input(run, V, "value_cache", run->type, 4, v, normal);
    declare_table(run);
    if (run->test->flags & ALIBI) {
        igh_input(run, SLOPES, "slopes", INGOT_SCALAR_F32, 1, &n[N_HEADS],
                  (struct igh_fill){IGH_UNIFORM, 0.01, 0.5});
    }
    igh_output(run, OUT, "out", run->type, 4, out);
    if (run->test->flags & LSE) {
        igh_output(run, LSE_OUT, "lse", INGOT_SCALAR_F32, 3, out);
    }
}

static ingot_status launch_paged(struct igh_run *run) {
    const ingot_attention_paged_desc desc = {.q = igh_tensor(run, Q),
                                             .key_cache = igh_tensor(run, K),
                                             .value_cache = igh_tensor(run, V),
                                             .block_table = igh_tensor(run, TABLE),
                                             .lengths = igh_tensor(run, LENGTHS),
                                             .out = igh_tensor(run, OUT),
                                             .lse = igh_tensor(run, LSE_OUT),
                                             .slopes = igh_tensor(run, SLOPES),
                                             .window = (uint32_t)run->test->n[N_WINDOW],
                                             .max_length = (uint32_t)run->test->n[N_LONGEST]};
    return ingot_op_attention_paged(run->ops, run->stream, &desc);
}

/* A sequence's rows of a cache as [key heads, length, depth]. */
static double *gather(const struct igh_run *run, int slot, int64_t b) {
    const ingot_tensor *cache = igh_tensor(run, slot);
    const int64_t heads = cache->shape[1], block = cache->shape[2], depth = cache->shape[3];
    const int64_t length = length_of(run, b);
    double *rows = malloc((size_t)(heads * length * depth + 1) * sizeof *rows);
    for (int64_t i = 0; rows && i < heads * length; i++) {
        int64_t h = i / length, t = i % length;
        int64_t from = (block_of(run, b, t / block) * heads + h) * block + t % block;
        memcpy(rows + i * depth, igh_values(run, slot) + from * depth,
               (size_t)depth * sizeof *rows);
    }
    return rows;
}

static void reference_paged(struct igh_run *run) {
    const int64_t *n = run->test->n;
    for (int64_t b = 0; b < n[N_BATCHES]; b++) {
        double *k = gather(run, K, b), *v = gather(run, V, b);
        const int64_t rows = n[N_HEADS] * n[N_QUERIES];
        const struct attention_reference r = {
            .batches = 1,
            .heads = n[N_HEADS],
            .key_heads = n[N_KEY_HEADS],
            .queries = n[N_QUERIES],
            .keys = length_of(run, b),
            .depth = n[N_DEPTH],
            .value_depth = value_depth_of(run),
            .window = n[N_WINDOW],
            .causal = true,
            .scale = 1 / sqrt((double)n[N_DEPTH]),
            .q = igh_values(run, Q) + b * rows * n[N_DEPTH],
            .k = k,
            .v = v,
            .slopes = igh_tensor(run, SLOPES) ? igh_values(run, SLOPES) : NULL,
        };
        if (!k || !v ||
            !attention_reference_forward(
                &r, igh_expected(run, OUT) + b * rows * r.value_depth,
                igh_tensor(run, LSE_OUT) ? igh_expected(run, LSE_OUT) + b * rows : NULL)) {
            ig_fail(&run->error, INGOT_OUT_OF_MEMORY, "no memory for the reference");
        }
        free(k);
        free(v);
    }
}

static struct igh_bound bound_paged(const struct igh_run *run, int slot) {
    (void)run;
    (void)slot;
    return (struct igh_bound){.ulps = 1, .absolute = 2e-6};
}

/* A sequence's rows of a cache in a buffer of their own: [1, key heads, length, depth]. A head's
 * rows of a block are copied together: tools that watch memory take long for each copy. */
static ingot_tensor gathered(struct igh_run *run, int slot, int64_t b, ingot_status *status) {
    const ingot_tensor *cache = igh_tensor(run, slot);
    const int64_t heads = cache->shape[1], block = cache->shape[2], depth = cache->shape[3];
    const int64_t length = length_of(run, b), shape[] = {1, heads, length, depth};
    const size_t row = (size_t)depth * (run->type == INGOT_SCALAR_F32 ? 4 : 2);
    ingot_buffer *buffer = NULL;
    if (!*status) {
        *status = ingot_buffer_create(run->device, (size_t)(heads * length) * row + 1, &buffer);
    }
    const int64_t parts = (length + block - 1) / block;
    for (int64_t i = 0; !*status && i < heads * parts; i++) {
        const int64_t h = i / parts, part = i % parts, first = part * block;
        const int64_t rows = length - first < block ? length - first : block;
        const int64_t from = (block_of(run, b, part) * heads + h) * block;
        *status = ingot_stream_copy(run->stream, cache->buffer, (uint64_t)from * row, buffer,
                                    (uint64_t)(h * length + first) * row, (uint64_t)rows * row);
    }
    return ingot_tensor_contiguous(buffer, 0, run->type, 4, shape);
}

/* The same bits as attention on contiguous keys and values. Few queries only: then both use the
 * same kernels with the same partitions. */
static void verify_paged(struct igh_run *run) {
    const int64_t *n = run->test->n;
    double different = 0;
    ingot_status status = INGOT_OK;
    for (int64_t b = 0; b < n[N_BATCHES] && n[N_QUERIES] <= 4 && !status; b++) {
        ingot_tensor k = gathered(run, K, b, &status), v = gathered(run, V, b, &status);
        ingot_tensor q = *igh_tensor(run, Q), out = *igh_tensor(run, OUT);
        const size_t size = run->type == INGOT_SCALAR_F32 ? 4 : 2;
        const size_t bytes = (size_t)(n[N_HEADS] * n[N_QUERIES] * out.shape[3]) * size;
        const char *all = igh_bytes(run, OUT);
        char *other = malloc(bytes + 1);
        if (!all || !other) {
            status = INGOT_OUT_OF_MEMORY;
        }
        q.offset = (uint64_t)(b * q.strides[0]) * size;
        out.buffer = NULL;
        q.shape[0] = out.shape[0] = 1;
        if (!status) {
            status = ingot_buffer_create(run->device, bytes, &out.buffer);
        }
        const ingot_attention_desc desc = {.q = &q,
                                           .k = &k,
                                           .v = &v,
                                           .out = &out,
                                           .slopes = igh_tensor(run, SLOPES),
                                           .causal = true,
                                           .window = (uint32_t)n[N_WINDOW]};
        if (!status) {
            status = ingot_op_attention(run->ops, run->stream, &desc);
        }
        if (!status) {
            status = ingot_stream_download(run->stream, out.buffer, 0, other, bytes);
        }
        if (!status) {
            different += memcmp(all + (size_t)b * bytes, other, bytes) != 0;
        }
        free(other);
        ingot_buffer_release(k.buffer);
        ingot_buffer_release(v.buffer);
        ingot_buffer_release(out.buffer);
    }
    if (status) {
        ig_fail(&run->error, status, "contiguous: %s", ingot_error_message());
    } else {
        igh_metric(run, "sequences that differ from contiguous ones", different, 0);
    }
}

static void cost_paged(const struct igh_run *run, double *bytes, double *flops) {
    const int64_t *n = run->test->n;
    double positions = 0, depths = (double)(n[N_DEPTH] + value_depth_of(run));
    for (int64_t b = 0; b < n[N_BATCHES]; b++) {
        positions += (double)length_of(run, b);
    }
    *bytes = (run->type == INGOT_SCALAR_F32 ? 4 : 2) *
             (positions * (double)n[N_KEY_HEADS] * depths +
              (double)(igh_count(run, Q) + igh_count(run, OUT)));
    *flops = 2 * depths * positions * (double)(n[N_HEADS] * n[N_QUERIES]);
}

static const char *const paged_sizes[] = {"batches", "heads",     "key_heads",  "queries",
                                          "longest", "head_size", "value_size", "window",
                                          "block",   NULL};
static const char *const paged_flags[] = {"alibi", "lse", "short", NULL};

static const struct igh_suite paged = {
    .operation = "attention_paged",
    .types = IGH_FLOATS,
    IGH_CASES(paged_cases),
    .size_names = paged_sizes,
    .flag_names = paged_flags,
    .declare = declare_paged,
    .launch = launch_paged,
    .reference = reference_paged,
    .bound = bound_paged,
    .verify = verify_paged,
    .cost = cost_paged,
};

/* ---- the cache: rows written to slots, then blocks copied ---- */

/* n: tokens, heads, head size, head size of v, block, blocks */
enum { KEY, VALUE, SLOTS, KEY_CACHE, VALUE_CACHE };
enum { SLOTS_64 = 1, STRIDED = 2 };

static const struct igh_case write_cases[] = {
    {.name = "no tokens", .n = {0, 2, 32, 32, 16, 3}},
    {.name = "1 token", .n = {1, 1, 1, 1, 1, 1}},
    {.name = "37 tokens, d80", .n = {37, 3, 80, 80, 16, 6}},
    {.name = "37 tokens, d33 v7, 64-bit slots", .n = {37, 3, 33, 7, 16, 6}, .flags = SLOTS_64},
    {.name = "50 tokens, strided", .n = {50, 4, 64, 64, 32, 5}, .flags = STRIDED},
    {.name = "2048x8x128 block 16",
     .n = {2048, 8, 128, 128, 16, 200},
     .flags = SLOTS_64,
     .uses = TIMED},
};

static int64_t slot_of(const struct igh_run *run, int64_t token) {
    int64_t count = run->test->n[4] * run->test->n[5], step = 11;
    while (count % step == 0) {
        step += 2;
    }
    if (token % 7 == 3) { /* some are left out */
        return token % 2 ? -1 : count + token;
    }
    return token * step % count;
}

static void declare_write(struct igh_run *run) {
    const int64_t *n = run->test->n;
    const struct igh_fill normal = {IGH_NORMAL, 0, 1};
    const int64_t key[] = {n[0], n[1], n[2]}, value[] = {n[0], n[1], n[3]};
    const int64_t keys[] = {n[5], n[1], n[4], n[2]}, values[] = {n[5], n[1], n[4], n[3]};
    igh_input(run, KEY, "key", run->type, 3, key, normal);
    igh_input(run, VALUE, "value", run->type, 3, value, normal);
    if (run->test->flags & STRIDED) {
        const int64_t strides[] = {n[1] * n[2] * 3, n[2], 1};
        igh_strides(run, KEY, strides, n[2]);
    }
    igh_input(run, SLOTS, "slots",
              run->test->flags & SLOTS_64 ? INGOT_SCALAR_I64 : INGOT_SCALAR_I32, 1, n,
              (struct igh_fill){0});
    double *slots = malloc((size_t)(n[0] + 1) * sizeof *slots);
    for (int64_t i = 0; slots && i < n[0]; i++) {
        slots[i] = (double)slot_of(run, i);
    }
    if (slots) {
        igh_set(run, SLOTS, slots, true);
    }
    free(slots);
    igh_inout(run, KEY_CACHE, "key_cache", run->type, 4, keys, normal);
    igh_inout(run, VALUE_CACHE, "value_cache", run->type, 4, values, normal);
}

static const int64_t copied[][2] = {{0, 2}, {2, 1}};

static ingot_status launch_write(struct igh_run *run) {
    const ingot_cache_write_desc desc = {.key = igh_tensor(run, KEY),
                                         .value = igh_tensor(run, VALUE),
                                         .slots = igh_tensor(run, SLOTS),
                                         .key_cache = igh_tensor(run, KEY_CACHE),
                                         .value_cache = igh_tensor(run, VALUE_CACHE)};
    return ingot_op_cache_write(run->ops, run->stream, &desc);
}

static ingot_status launch_copy(struct igh_run *run) {
    const ingot_cache_copy_desc desc = {.key_cache = igh_tensor(run, KEY_CACHE),
                                        .value_cache = igh_tensor(run, VALUE_CACHE),
                                        .pairs = copied,
                                        .pair_count = run->test->n[5] > 2 ? 2 : 0};
    ingot_status status = launch_write(run);
    return status ? status : ingot_op_cache_copy(run->ops, run->stream, &desc);
}

static void write_expected(struct igh_run *run, int rows, int cache) {
    const ingot_tensor *t = igh_tensor(run, cache);
    const int64_t heads = t->shape[1], block = t->shape[2], depth = t->shape[3];
    double *to = igh_expected(run, cache);
    memcpy(to, igh_values(run, cache), (size_t)igh_count(run, cache) * sizeof *to);
    for (int64_t i = 0; i < run->test->n[0] * heads; i++) {
        int64_t token = i / heads, slot = slot_of(run, token);
        if (slot < 0 || slot >= t->shape[0] * block) {
            continue;
        }
        int64_t row = (slot / block * heads + i % heads) * block + slot % block;
        memcpy(to + row * depth, igh_values(run, rows) + i * depth, (size_t)depth * sizeof *to);
    }
}

static void reference_write(struct igh_run *run) {
    write_expected(run, KEY, KEY_CACHE);
    write_expected(run, VALUE, VALUE_CACHE);
}

static void reference_copy(struct igh_run *run) {
    reference_write(run);
    for (int cache = KEY_CACHE; cache <= VALUE_CACHE; cache++) {
        const ingot_tensor *t = igh_tensor(run, cache);
        const int64_t size = t->shape[1] * t->shape[2] * t->shape[3];
        double *to = igh_expected(run, cache);
        for (int i = 0; i < 2 && t->shape[0] > 2; i++) {
            memcpy(to + copied[i][1] * size, to + copied[i][0] * size, (size_t)size * sizeof *to);
        }
    }
}

static struct igh_bound bound_exact(const struct igh_run *run, int slot) {
    (void)run;
    (void)slot;
    return (struct igh_bound){0};
}

static void cost_write(const struct igh_run *run, double *bytes, double *flops) {
    *bytes = (run->type == INGOT_SCALAR_F32 ? 4 : 2) * 2.0 * 6 / 7 *
             (double)(igh_count(run, KEY) + igh_count(run, VALUE));
    *flops = 0;
}

static const char *const write_sizes[] = {"tokens", "heads",  "head_size", "value_size",
                                          "block",  "blocks", NULL};
static const char *const write_flags[] = {"slots_64", "strided", NULL};

static const struct igh_suite write = {
    .operation = "cache_write",
    .types = IGH_FLOATS,
    IGH_CASES(write_cases),
    .size_names = write_sizes,
    .flag_names = write_flags,
    .declare = declare_write,
    .launch = launch_write,
    .reference = reference_write,
    .bound = bound_exact,
    .cost = cost_write,
};

static const struct igh_suite copy = {
    .operation = "cache_copy",
    .types = IGH_FLOATS,
    .cases = write_cases,
    .case_count = sizeof write_cases / sizeof *write_cases - 1,
    .size_names = write_sizes,
    .flag_names = write_flags,
    .declare = declare_write,
    .launch = launch_copy,
    .reference = reference_copy,
    .bound = bound_exact,
};

static const struct igh_suite *const suites[] = {&paged, &write, &copy};
const struct igh_suites igh_suites_attention_paged = {suites, sizeof suites / sizeof *suites};
