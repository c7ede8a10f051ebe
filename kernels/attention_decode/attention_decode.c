/* The launches of attention for few queries, which attention and attention_paged share. */
#include "attention/attention_problem.h"

/* No operation of its own: attention and attention_paged launch these kernels. */
const struct igo_library igo_library_attention_decode = {.name = "attention_decode"};

/* Kernels of the first phase: for any problem, attention_decode_wide.h, attention_decode_tiles.h */
enum kind { ANY, WIDE, TILES };
enum { TILE_SIMDS = 4, REDUCE_SIMDS = 4 }; /* SIMD-groups to a threadgroup */
enum { DECODE_SET = 4 };                   /* rows, of attention_decode_tiles.h */

static bool is_biased(const struct attention_args *args) {
    return args->flags &
           (ATTENTION_MASK_BOOL | ATTENTION_MASK_F32 | ATTENTION_MASK_SAME | ATTENTION_ALIBI);
}

static enum kind kind_of(const struct attention_decode *decode) {
    const struct attention_problem *p = decode->problem;
    const struct attention_args *args = &p->args;
    if (!decode->wide || !args->keys || !igo_aligned(p->k, 16) || !igo_aligned(p->v, 16)) {
        return ANY;
    }
    if (decode->wide > 1 && p->q->type != INGOT_SCALAR_F32 && args->scale > 0 &&
        args->depth % 8 == 0 && args->value_depth % 8 == 0 && args->value_depth) {
        return TILES;
    }
    const bool fits = args->depth == args->value_depth && (args->depth == 64 || args->depth == 128);
    return fits && !is_biased(args) ? WIDE : ANY;
}

/* The elements that a kernel of attention_decode_tiles.h has room for in a row. */
static uint32_t room_of_tiles(const struct attention_args *args) {
    const uint32_t depth = args->depth > args->value_depth ? args->depth : args->value_depth;
    const uint32_t room = (depth + 63) / 64 * 64;
    return room == 192 && is_biased(args) ? 256 : room; /* which there is no kernel for */
}

static uint32_t rows_at_once(enum kind kind, uint32_t rows, const struct attention_args *args) {
    /* registers hold no more, or there is no kernel */
    const bool few = kind == TILES && (room_of_tiles(args) > 192 || is_biased(args));
    return rows > 4 && !few ? 8 : rows > 1 || kind == TILES ? 4 : 1;
}

static void name_kernel(struct igo_launch *launch, enum kind kind, uint32_t together,
                        const struct attention_problem *p) {
    const struct attention_args *args = &p->args;
    const char *type = igo_type_name(p->q->type);
    if (kind == TILES) {
        igo_launch_kernel(launch, "attention_decode_tiles_%u_%u_%s", room_of_tiles(args), together,
                          type);
    } else if (kind == WIDE) {
        igo_launch_kernel(launch, "attention_decode_wide_%u_%u_%s", args->depth, together, type);
    } else {
        igo_launch_kernel(launch, "attention_decode_%u_%u_%s",
                          igo_attention_depth_class(args) > 128 ? 8 : 4, together, type);
    }
    if (kind != ANY) {
        igo_launch_constant_bool(launch, "decode_paged", args->flags & ATTENTION_PAGED);
    }
    if (kind == TILES) {
        igo_launch_constant_bool(launch, "decode_biased", is_biased(args));
    }
}

/* The keys of a partition for the tiles' kernels: threadgroups run `slots` at a time, and each
 * costs as much as EXTRA keys besides its own, as does the reduction. A multiple of LEAST, so that
 * small problems have the same partitions, and so the same bits, whatever else is computed with
 * them. */
static uint32_t partition_of_tiles(uint64_t keys, uint64_t others, uint64_t slots) {
    enum { LEAST = 128, EXTRA = 96, TURNS = 8 };
    const uint64_t at_most = TURNS * slots * LEAST;
    uint64_t best = (keys + LEAST - 1) / LEAST * LEAST, parts;
    uint64_t best_cost = (others + slots - 1) / slots * (keys + EXTRA);
    uint64_t partition = keys * others / at_most * LEAST;
    do {
        partition += LEAST;
        parts = (keys + partition - 1) / partition;
        const uint64_t turns = (parts * others + slots - 1) / slots;
        const uint64_t cost = turns * (partition + EXTRA) + EXTRA;
        if (parts > 1 && cost < best_cost) {
            best = partition;
            best_cost = cost;
        }
    } while (parts * others > slots && parts > 1);
    return (uint32_t)best;
}

/* The keys of a partition: as many as asked for, or, on GPUs, fewer, so that there are enough of
 * them for a large one. `others` is how many threadgroups there are to each. */
static uint32_t partition_of(const struct attention_decode *decode, enum kind kind,
                             uint32_t together, uint64_t others) {
    enum { ENOUGH = 960, LEAST = 256, MULTIPROCESSORS = 132 };
    const struct attention_args *args = &decode->problem->args;
    const uint32_t keys = args->keys;
    uint32_t partition = decode->partition;
    if (kind == TILES) {
        const bool large = together > DECODE_SET || room_of_tiles(args) > 128;
        return partition_of_tiles(keys, others, MULTIPROCESSORS * (large ? 2 : 3));
    }
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
    uint32_t rows = args.group * args.queries, together = rows_at_once(kind, rows, &args);
    uint32_t row_groups = (rows + together - 1) / together;
    args.partition =
        partition_of(decode, kind, together, (uint64_t)p->batches * p->key_heads * row_groups);
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
    launch.group[0] = (kind == TILES ? TILE_SIMDS : 1) * ATTENTION_LANES;
    launch.whole_simdgroups = true;
    igo_dispatch(call, &launch);

    if (!whole) {
        struct igo_launch reduce = {.library = &igo_library_attention_decode};
        igo_launch_kernel(&reduce, "attention_reduce%s_%s", decode->wide ? "_wide" : "",
                          igo_type_name(p->q->type));
        igo_attention_bind(&reduce, p->out);
        igo_attention_bind(&reduce, p->lse);
        igo_launch_tensor(&reduce, &partial, NULL);
        igo_launch_tensor(&reduce, &extremes, NULL);
        igo_launch_bytes(&reduce, &args, sizeof args);
        reduce.threadgroups[0] = args.queries;
        reduce.threadgroups[1] = args.heads;
        reduce.threadgroups[2] = p->batches;
        reduce.group[0] = decode->wide ? REDUCE_SIMDS * ATTENTION_LANES : ATTENTION_LANES;
        reduce.whole_simdgroups = true;
        igo_dispatch(call, &reduce);
    }
    igo_scratch_release(call, partial.buffer);
    igo_scratch_release(call, extremes.buffer);
    return !call->failed;
}
