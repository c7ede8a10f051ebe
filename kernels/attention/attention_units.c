/* Attention of bfloat by the matrix units of CPUs: attention_units.h. */
#include "attention/attention_problem.h"
#include "attention/attention_sizes.h"

enum { LANES = ATTENTION_LANES, LEAST = 16, MOST_DEPTH = 128 };

static bool applies(struct igo_call *call, const struct attention_problem *p,
                    struct igo_launch *launch) {
    const struct attention_args *args = &p->args;
    const uint32_t biased =
        ATTENTION_MASK_BOOL | ATTENTION_MASK_F32 | ATTENTION_MASK_SAME | ATTENTION_ALIBI;
    const uint32_t most = args->depth > args->value_depth ? args->depth : args->value_depth;
    igo_launch_kernel(launch, "attention_units_%u_bf16", most > 64 ? 128 : 64);
    return p->q->type == INGOT_SCALAR_BF16 && args->queries >= LEAST && args->keys >= LEAST &&
           args->depth && args->depth % LANES == 0 && args->value_depth &&
           args->value_depth % LANES == 0 && most <= MOST_DEPTH && !(args->flags & biased) &&
           args->scale > 0 && igo_has_kernel(call, launch);
}

bool igo_attention_by_units(struct igo_call *call, const struct attention_problem *p) {
    const struct attention_args *args = &p->args;
    struct igo_launch launch = {0};
    if (!applies(call, p, &launch)) {
        return false;
    }
    const int64_t blocks = (args->keys + ATTENTION_UNIT_KEYS - 1) / ATTENTION_UNIT_KEYS;
    const int64_t rows = blocks * ATTENTION_UNIT_KEYS * p->key_heads * p->batches;
    const int64_t key_size = rows * args->depth, value_size = rows * args->value_depth;
    ingot_tensor keys = igo_scratch_tensor(call, INGOT_SCALAR_BF16, 1, &key_size);
    ingot_tensor values = igo_scratch_tensor(call, INGOT_SCALAR_BF16, 1, &value_size);
    struct igo_launch pack = {.group = {LANES, 1, 1}, .whole_simdgroups = true};
    igo_launch_kernel(&pack, "attention_units_pack_bf16");
    igo_attention_bind(&pack, p->k);
    igo_attention_bind(&pack, p->v);
    igo_launch_tensor(&pack, &keys, NULL);
    igo_launch_tensor(&pack, &values, NULL);
    igo_launch_bytes(&pack, args, sizeof *args);
    pack.threadgroups[0] = (uint32_t)blocks;
    pack.threadgroups[1] = p->key_heads;
    pack.threadgroups[2] = p->batches;
    igo_dispatch(call, &pack);

    igo_attention_bind(&launch, p->q);
    igo_launch_tensor(&launch, &keys, NULL);
    igo_launch_tensor(&launch, &values, NULL);
    igo_attention_bind(&launch, p->out);
    igo_attention_bind(&launch, p->lse);
    igo_launch_bytes(&launch, args, sizeof *args);
    launch.threadgroups[0] = (args->queries + LANES - 1) / LANES;
    launch.threadgroups[1] = args->heads;
    launch.threadgroups[2] = p->batches;
    launch.group[0] = LANES;
    launch.group[1] = launch.group[2] = 1;
    launch.whole_simdgroups = true;
    igo_dispatch(call, &launch);
    igo_scratch_release(call, keys.buffer);
    igo_scratch_release(call, values.buffer);
    return true;
}
