/* The launches of attention for few queries, which attention and attention_paged share. */
#include "attention/attention_problem.h"

/* No operation of its own: attention and attention_paged launch these kernels. */
const struct igo_library igo_library_attention_decode = {.name = "attention_decode"};

/* Kernels of the first phase: for any problem, attention_decode_wide.h, attention_decode_tiles.h */
enum kind { ANY, WIDE, TILES };

static enum kind kind_of(const struct attention_decode *decode) {
    const struct attention_problem *p = decode->problem;
    const struct attention_args *args = &p->args;
    const uint32_t biased =
        ATTENTION_MASK_BOOL | ATTENTION_MASK_F32 | ATTENTION_MASK_SAME | ATTENTION_ALIBI;
    if (!decode->wide || args->depth != args->value_depth ||
        (args->depth != 64 && args->depth != 128) || args->flags & biased || !args->keys ||
        !igo_aligned(p->k, 16) || !igo_aligned(p->v, 16)) {
        return ANY;
    }
    return decode->wide > 1 && p->q->type != INGOT_SCALAR_F32 && args->scale > 0 ? TILES : WIDE;
}

static uint32_t rows_at_once(enum kind kind, uint32_t rows) {
    return rows > 4 ? 8 : rows > 1 || kind == TILES ? 4 : 1;
}

static void name_kernel(struct igo_launch *launch, enum kind kind, uint32_t together,
                        const struct attention_problem *p) {
    const struct attention_args *args = &p->args;
    const char *type = igo_type_name(p->q->type);
    if (kind == TILES) {
        igo_launch_kernel(launch, "attention_decode_tiles_%u_%u_%s", args->depth, together, type);
    } else if (kind == WIDE) {
        igo_launch_kernel(launch, "attention_decode_wide_%u_%u_%s", args->depth, together, type);
    } else {
        igo_launch_kernel(launch, "attention_decode_%u_%u_%s",
                          igo_attention_depth_class(args) > 128 ? 8 : 4, together, type);
    }
    if (kind != ANY) {
        igo_launch_constant_bool(launch, "decode_paged", args->flags & ATTENTION_PAGED);
    }
}

/* The keys of a partition: as many as asked for, or, on GPUs, fewer, so that there are enough of
 * them for a large one. `others` is how many SIMD-groups there are to each. */
static uint32_t partition_of(const struct attention_decode *decode, uint32_t keys,
                             uint64_t others) {
    enum { ENOUGH = 960, LEAST = 256 };
    uint32_t partition = decode->partition;
    while (decode->wide && partition > LEAST &&
           (keys / partition + (keys % partition > 0)) * others < ENOUGH) {
        partition /= 2;
    }
    return partition;
}

bool igo_attention_decode(struct igo_call *call, const struct attention_decode *decode) {
    const struct attention_problem *p = decode->problem;
    struct attention_args args = p->args;
    const enum kind kind = kind_of(decode);
    uint32_t rows = args.group * args.queries, together = rows_at_once(kind, rows);
    uint32_t row_groups = (rows + together - 1) / together;
    args.partition =
        partition_of(decode, args.keys, (uint64_t)p->batches * p->key_heads * row_groups);
    args.partitions = args.keys / args.partition + (args.keys % args.partition > 0);
    args.partitions += args.partitions == 0;

    int64_t parts = (int64_t)p->batches * args.heads * args.queries * args.partitions;
    bool whole = args.partitions == 1;
    const int64_t partial_shape[] = {whole ? 1 : parts, whole ? 1 : args.value_depth};
    const int64_t extremes_shape[] = {whole ? 1 : parts, 2};
    ingot_tensor partial = igo_scratch_tensor(call, INGOT_SCALAR_F32, 2, partial_shape);
    ingot_tensor extremes = igo_scratch_tensor(call, INGOT_SCALAR_F32, 2, extremes_shape);

    struct igo_launch launch = {.library = &igo_library_attention_decode};
    name_kernel(&launch, kind, together, p);
    igo_attention_bind(&launch, p->q);
    igo_attention_bind(&launch, p->k);
    igo_attention_bind(&launch, p->v);
    igo_attention_bind(&launch, p->out);
    igo_attention_bind(&launch, p->lse);
    igo_attention_bind(&launch, p->mask);
    igo_attention_bind(&launch, p->slopes);
    igo_attention_bind(&launch, decode->block_table);
    igo_attention_bind(&launch, decode->lengths);
    igo_launch_tensor(&launch, &partial, NULL);
    igo_launch_tensor(&launch, &extremes, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.threadgroups[0] = args.partitions;
    launch.threadgroups[1] = p->key_heads * row_groups;
    launch.threadgroups[2] = p->batches;
    launch.group[0] = ATTENTION_LANES;
    launch.whole_simdgroups = true;
    igo_dispatch(call, &launch);

    if (!whole) {
        struct igo_launch reduce = {.library = &igo_library_attention_decode};
        igo_launch_kernel(&reduce, "attention_reduce_%s", igo_type_name(p->q->type));
        igo_attention_bind(&reduce, p->out);
        igo_attention_bind(&reduce, p->lse);
        igo_launch_tensor(&reduce, &partial, NULL);
        igo_launch_tensor(&reduce, &extremes, NULL);
        igo_launch_bytes(&reduce, &args, sizeof args);
        reduce.threadgroups[0] = args.queries;
        reduce.threadgroups[1] = args.heads;
        reduce.threadgroups[2] = p->batches;
        reduce.group[0] = decode->wide ? 4 * ATTENTION_LANES : ATTENTION_LANES;
        reduce.whole_simdgroups = true;
        igo_dispatch(call, &reduce);
    }
    igo_scratch_release(call, partial.buffer);
    igo_scratch_release(call, extremes.buffer);
    return !call->failed;
}
