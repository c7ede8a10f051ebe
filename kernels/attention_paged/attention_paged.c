/* Attention over a paged cache, and what keeps such a cache: writing new rows, copying blocks. */
#include <string.h>

#include "attention/attention_problem.h"
#include "attention_paged/attention_paged_args.h"

enum { PAGED, WRITE, COPY };
enum { KNOB_PARTITION, KNOB_WIDE };
static const ingot_ops_knob knobs[] = {
    {.name = "partition",
     .help = "keys to a partition; where simdgroup_matrix is used (see wide) they follow from the "
             "shape",
     .fallback = 256,
     .minimum = 32,
     .maximum = 65536,
     .power_of_two = true},
    {.name = "wide",
     .help = "decoding where rows are aligned: 1: a lane takes eight neighbours of a row; 2: and "
             "products of half and bfloat are by simdgroup_matrix",
     .fallback = 2,
     .minimum = 0,
     .maximum = 2},
};

static const struct ingot_ops_info operations[] = {
    [PAGED] = {.name = "attention_paged",
               .family = "attention",
               .summary = "attention of new queries over a paged key and value cache",
               .limits = "head sizes up to 256; caches dense",
               .variants = "type; head size up to 64, 128, 256; rows that share a key head",
               .types = IGO_FLOATS,
               .knobs = knobs,
               .knob_count = sizeof knobs / sizeof *knobs},
    [WRITE] = {.name = "cache_write",
               .family = "attention",
               .summary = "rows of new tokens into their slots of a paged cache",
               .limits = "caches dense",
               .variants = "size of an element, type of the slots",
               .types = IGO_FLOATS},
    [COPY] = {.name = "cache_copy",
              .family = "attention",
              .summary = "whole blocks of paged caches copied by blits",
              .limits = "caches dense",
              .variants = "none",
              .types = IGO_FLOATS},
};

const struct igo_library igo_library_attention_paged = {.name = "attention_paged",
                                                        .operations = operations,
                                                        .operation_count =
                                                            sizeof operations / sizeof *operations};

/* Both caches: present, dense, of the same type, blocks, heads and block size. */
static bool check_caches(struct igo_call *call, const char *key_name, const ingot_tensor *key,
                         const char *value_name, const ingot_tensor *value) {
    igo_tensor(call, key_name, key, IGO_FLOATS, 4, 4);
    igo_tensor(call, value_name, value, IGO_FLOATS, 4, 4);
    if (call->failed) {
        return false;
    }
    igo_dense(call, key_name, key);
    igo_dense(call, value_name, value);
    igo_same_type(call, value_name, value, key_name, key);
    igo_extent(call, value_name, value, 0, key->shape[0], "the blocks of the key cache");
    igo_extent(call, value_name, value, 1, key->shape[1], "the heads of the key cache");
    igo_extent(call, value_name, value, 2, key->shape[2], "the block size of the key cache");
    return IGO_REQUIRE(call, key->shape[1] > 0 && key->shape[2] > 0 && key->shape[2] <= 1 << 20,
                       "%s has %lld heads and blocks of %lld; there must be at least one head, and "
                       "1 to %d positions to a block",
                       key_name, (long long)key->shape[1], (long long)key->shape[2], 1 << 20);
}

/* ---- attention ---- */

static bool check_paged(struct igo_call *call, const ingot_attention_paged_desc *desc) {
    const ingot_tensor *q = desc->q, *k = desc->key_cache, *v = desc->value_cache;
    igo_tensor(call, "q", q, IGO_FLOATS, 4, 4);
    igo_tensor(call, "out", desc->out, IGO_FLOATS, 4, 4);
    if (!check_caches(call, "key_cache", k, "value_cache", v)) {
        return false;
    }
    igo_tensor(call, "block_table", desc->block_table, IGO_TYPE(INGOT_SCALAR_I32), 2, 2);
    igo_tensor(call, "lengths", desc->lengths, IGO_TYPE(INGOT_SCALAR_I32), 1, 1);
    if (call->failed) {
        return false;
    }
    igo_same_type(call, "key_cache", k, "q", q);
    igo_same_type(call, "out", desc->out, "q", q);
    igo_dense_tail(call, "q", q, 1);
    igo_dense_tail(call, "out", desc->out, 1);
    igo_dense(call, "block_table", desc->block_table);
    igo_dense(call, "lengths", desc->lengths);
    igo_extent(call, "key_cache", k, 3, q->shape[3], "the head size of q");
    igo_extent(call, "out", desc->out, 0, q->shape[0], "the batches of q");
    igo_extent(call, "out", desc->out, 1, q->shape[1], "the heads of q");
    igo_extent(call, "out", desc->out, 2, q->shape[2], "the queries of q");
    igo_extent(call, "out", desc->out, 3, v->shape[3], "the head size of value_cache");
    igo_extent(call, "block_table", desc->block_table, 0, q->shape[0], "the batches of q");
    igo_extent(call, "lengths", desc->lengths, 0, q->shape[0], "the batches of q");
    IGO_REQUIRE(call, q->shape[1] > 0 && q->shape[1] % k->shape[1] == 0,
                "the heads of q, %lld, are not a multiple of those of key_cache, %lld",
                (long long)q->shape[1], (long long)k->shape[1]);
    IGO_REQUIRE(call, q->shape[3] <= 256 && v->shape[3] <= 256,
                "the head size of q is %lld and that of value_cache %lld; at most 256 is taken",
                (long long)q->shape[3], (long long)v->shape[3]);
    IGO_REQUIRE(call, q->shape[0] <= 65535 && q->shape[1] <= 65535,
                "q has %lld batches of %lld heads; at most 65535 of each are taken",
                (long long)q->shape[0], (long long)q->shape[1]);
    int64_t longest = desc->block_table->shape[1] * k->shape[2];
    IGO_REQUIRE(call, longest <= ATTENTION_NO_LIMIT / 2 && q->shape[2] <= ATTENTION_NO_LIMIT / 2,
                "there are %lld queries, and %lld blocks of %lld in a row of block_table; at most "
                "%d positions are taken",
                (long long)q->shape[2], (long long)desc->block_table->shape[1],
                (long long)k->shape[2], ATTENTION_NO_LIMIT / 2);
    return IGO_REQUIRE(call, desc->max_length <= longest,
                       "max_length is %u, but block_table has room for %lld positions",
                       desc->max_length, (long long)longest);
}

static void fill_args(struct attention_problem *p, const ingot_attention_paged_desc *desc) {
    struct attention_args *args = &p->args;
    const ingot_tensor *k = desc->key_cache;
    int64_t longest = desc->block_table->shape[1] * k->shape[2];
    args->heads = (uint32_t)p->q->shape[1];
    args->group = (uint32_t)(p->q->shape[1] / k->shape[1]);
    args->queries = (uint32_t)p->q->shape[2];
    args->keys = desc->max_length ? desc->max_length : (uint32_t)longest;
    args->blocks = k->shape[0] < UINT32_MAX ? (uint32_t)k->shape[0] : UINT32_MAX;
    if (args->blocks == 0) {
        args->keys = 0;
    }
    args->depth = (uint32_t)p->q->shape[3];
    args->value_depth = (uint32_t)desc->value_cache->shape[3];
    args->block = (uint32_t)k->shape[2];
    args->max_blocks = (uint32_t)desc->block_table->shape[1];
    args->flags |= ATTENTION_PAGED;
    p->batches = (uint32_t)p->q->shape[0];
    p->key_heads = (uint32_t)k->shape[1];
    p->nothing = p->batches == 0 || args->queries == 0 || (args->value_depth == 0 && !p->lse);
    igo_attention_strides(args->q_stride, p->q);
    igo_attention_strides(args->k_stride, desc->key_cache);
    igo_attention_strides(args->v_stride, desc->value_cache);
    igo_attention_strides(args->out_stride, p->out);
}

ingot_status ingot_op_attention_paged(ingot_ops *ops, ingot_stream *stream,
                                      const ingot_attention_paged_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_attention_paged, &operations[PAGED], desc);
    if (call.failed || !check_paged(&call, desc)) {
        return igo_end(&call);
    }
    struct attention_problem p = {.q = desc->q,
                                  .k = desc->key_cache,
                                  .v = desc->value_cache,
                                  .out = desc->out,
                                  .lse = desc->lse,
                                  .slopes = desc->slopes,
                                  .scale = desc->scale,
                                  .causal = true,
                                  .window = desc->window};
    fill_args(&p, desc);
    igo_attention_lse(&call, &p);
    igo_attention_slopes(&call, &p);
    igo_attention_sight(&call, &p);
    const struct attention_input inputs[] = {{"q", p.q},
                                             {"key_cache", p.k},
                                             {"value_cache", p.v},
                                             {"block_table", desc->block_table},
                                             {"lengths", desc->lengths},
                                             {"slopes", p.slopes}};
    igo_attention_apart(&call, &p, inputs, sizeof inputs / sizeof *inputs);
    if (call.failed || p.nothing) {
        return igo_end(&call);
    }

    igo_attention_policy(&call, &p);
    const struct attention_decode decode = {.problem = &p,
                                            .block_table = desc->block_table,
                                            .lengths = desc->lengths,
                                            .partition = igo_knob(&call, KNOB_PARTITION),
                                            .wide = igo_knob(&call, KNOB_WIDE)};
    igo_attention_decode(&call, &decode);
    return igo_end(&call);
}

/* ---- writing ---- */

static bool check_rows(struct igo_call *call, const char *name, const ingot_tensor *rows,
                       const ingot_tensor *cache, int64_t tokens) {
    igo_same_type(call, name, rows, "key_cache", cache);
    igo_dense_tail(call, name, rows, 1);
    igo_extent(call, name, rows, 0, tokens, "the tokens of key");
    igo_extent(call, name, rows, 1, cache->shape[1], "the heads of the cache");
    igo_extent(call, name, rows, 2, cache->shape[3], "the head size of the cache");
    return !call->failed;
}

static struct cache_rows rows_of(const ingot_tensor *rows) {
    return (struct cache_rows){.token_stride = rows->strides[0],
                               .head_stride = rows->strides[1],
                               .depth = (uint32_t)rows->shape[2]};
}

ingot_status ingot_op_cache_write(ingot_ops *ops, ingot_stream *stream,
                                  const ingot_cache_write_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_attention_paged, &operations[WRITE], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    const ingot_tensor *key = desc->key, *value = desc->value, *slots = desc->slots;
    const ingot_tensor *caches[] = {desc->key_cache, desc->value_cache};
    static const char *const names[] = {"key_cache", "value_cache"};
    igo_tensor(&call, "key", key, IGO_FLOATS, 3, 3);
    igo_tensor(&call, "value", value, IGO_FLOATS, 3, 3);
    igo_tensor(&call, "slots", slots, IGO_INDICES, 1, 1);
    if (!check_caches(&call, names[0], caches[0], names[1], caches[1])) {
        return igo_end(&call);
    }
    check_rows(&call, "key", key, caches[0], key->shape[0]);
    check_rows(&call, "value", value, caches[1], key->shape[0]);
    igo_extent(&call, "slots", slots, 0, key->shape[0], "the tokens of key");
    igo_dense(&call, "slots", slots);
    IGO_REQUIRE(&call, key->shape[0] <= INT32_MAX && caches[0]->shape[1] <= 65535,
                "there are %lld tokens and %lld heads; at most %d and 65535 are taken",
                (long long)key->shape[0], (long long)caches[0]->shape[1], INT32_MAX);
    for (int i = 0; i < 2; i++) {
        igo_no_overlap(&call, names[i], caches[i], "key", key, false);
        igo_no_overlap(&call, names[i], caches[i], "value", value, false);
        igo_no_overlap(&call, names[i], caches[i], "slots", slots, false);
    }
    igo_no_overlap(&call, names[1], caches[1], names[0], caches[0], false);
    if (call.failed || key->shape[0] == 0 || caches[0]->shape[0] == 0) {
        return igo_end(&call);
    }

    struct igo_class shape = {0};
    igo_class_size(&shape, "n", (uint64_t)key->shape[0], 1u << 20);
    igo_policy(&call, key->type, &shape);
    const struct cache_write_args args = {.key = rows_of(key),
                                          .value = rows_of(value),
                                          .slots = caches[0]->shape[0] * caches[0]->shape[2],
                                          .tokens = (uint32_t)key->shape[0],
                                          .heads = (uint32_t)caches[0]->shape[1],
                                          .block = (uint32_t)caches[0]->shape[2]};
    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "cache_write_%u_%s", key->type == INGOT_SCALAR_F32 ? 4 : 2,
                      igo_type_name(slots->type));
    igo_attention_bind(&launch, key);
    igo_attention_bind(&launch, value);
    igo_attention_bind(&launch, slots);
    igo_attention_bind(&launch, caches[0]);
    igo_attention_bind(&launch, caches[1]);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.threadgroups[0] = args.tokens;
    launch.threadgroups[1] = args.heads;
    launch.threadgroups[2] = 1;
    launch.group[0] = ATTENTION_LANES;
    launch.whole_simdgroups = true;
    igo_dispatch(&call, &launch);
    return igo_end(&call);
}

/* ---- copying ---- */

static bool copy_block(struct igo_call *call, const ingot_tensor *from, const ingot_tensor *to,
                       const int64_t pair[2]) {
    ingot_tensor source = *from, target = *to;
    uint64_t size = (uint64_t)(to->shape[1] * to->shape[2] * to->shape[3]) *
                    (to->type == INGOT_SCALAR_F32 ? 4 : 2);
    source.offset += (uint64_t)pair[0] * size;
    target.offset += (uint64_t)pair[1] * size;
    source.shape[0] = target.shape[0] = 1;
    return size == 0 || igo_blit_copy(call, &source, &target);
}

static void check_pairs(struct igo_call *call, const ingot_cache_copy_desc *desc,
                        const ingot_tensor *from) {
    IGO_REQUIRE(call, desc->pairs || desc->pair_count == 0,
                "pairs is missing, but pair_count is %zu", desc->pair_count);
    for (size_t i = 0; i < desc->pair_count && !call->failed; i++) {
        const int64_t *pair = desc->pairs[i];
        IGO_REQUIRE(call,
                    pair[0] >= 0 && pair[0] < from->shape[0] && pair[1] >= 0 &&
                        pair[1] < desc->key_cache->shape[0],
                    "pair %zu copies block %lld to %lld; there are %lld and %lld blocks", i,
                    (long long)pair[0], (long long)pair[1], (long long)from->shape[0],
                    (long long)desc->key_cache->shape[0]);
        IGO_REQUIRE(call, from != desc->key_cache || pair[0] != pair[1],
                    "pair %zu copies block %lld to itself", i, (long long)pair[0]);
    }
}

ingot_status ingot_op_cache_copy(ingot_ops *ops, ingot_stream *stream,
                                 const ingot_cache_copy_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_attention_paged, &operations[COPY], desc);
    if (call.failed ||
        !check_caches(&call, "key_cache", desc->key_cache, "value_cache", desc->value_cache)) {
        return igo_end(&call);
    }
    const ingot_tensor *from[] = {desc->key_cache, desc->value_cache};
    const ingot_tensor *to[] = {desc->key_cache, desc->value_cache};
    static const char *const names[] = {"key_cache", "value_cache"};
    if (desc->from_key_cache || desc->from_value_cache) {
        from[0] = desc->from_key_cache;
        from[1] = desc->from_value_cache;
        if (!check_caches(&call, "from_key_cache", from[0], "from_value_cache", from[1])) {
            return igo_end(&call);
        }
        for (int i = 0; i < 2; i++) {
            igo_same_type(&call, names[i], to[i], "the cache it comes from", from[i]);
            for (int d = 1; d < 4; d++) {
                igo_extent(&call, names[i], to[i], d, from[i]->shape[d],
                           "that of the cache it comes from");
            }
            igo_no_overlap(&call, names[i], to[i], "the cache it comes from", from[i], false);
        }
    }
    if (!call.failed) {
        check_pairs(&call, desc, from[0]);
    }
    for (size_t i = 0; i < desc->pair_count && !call.failed; i++) {
        for (int c = 0; c < 2; c++) {
            copy_block(&call, from[c], to[c], desc->pairs[i]);
        }
    }
    return igo_end(&call);
}
