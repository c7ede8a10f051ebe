/* Attention forward on the host: few queries go to the two-phase kernels of attention_decode,
 * others to one of the kernels here. */
#include "attention/attention_problem.h"
#include "attention/attention_sizes.h"

enum { KNOB_DECODE, KNOB_PARTITION, KNOB_STEP, KNOB_TILES, KNOB_WIDE, KNOB_BLOCKS, KNOB_FILL };
enum { TILE = 8, TILE_KEYS = 32 };
enum { BLOCK_SIMDS = 4 }; /* SIMD-groups to a threadgroup of attention_blocks.h */
static const ingot_ops_knob knobs[] = {
    {.name = "decode",
     .help = "up to so many queries go to the two-phase kernels",
     .fallback = 8,
     .minimum = 0,
     .maximum = 64},
    {.name = "partition",
     .help = "decoding: keys to a partition",
     .fallback = 256,
     .minimum = 32,
     .maximum = 65536,
     .power_of_two = true},
    {.name = "step",
     .help = "rows that a lane takes at once",
     .fallback = 8,
     .minimum = 2,
     .maximum = 8,
     .power_of_two = true},
    {.name = "tiles",
     .help = "SIMD-groups to a threadgroup of the simdgroup_matrix kernel; 0: a query to a lane",
     .fallback = 4,
     .minimum = 0,
     .maximum = 16},
    {.name = "wide",
     .help = "decoding where rows are aligned: 1: a lane takes eight neighbours of a row; 2: and "
             "products of half and bfloat are by simdgroup_matrix",
     .fallback = 2,
     .minimum = 0,
     .maximum = 2},
    {.name = "blocks",
     .help = "queries to a SIMD-group, 16 or 32, where types, sizes and alignment allow it; 64: of "
             "half and bfloat to four SIMD-groups at once; 0: never",
     .fallback = 32,
     .minimum = 0,
     .maximum = 64},
    {.name = "fill",
     .help = "blocks: 16 queries to a SIMD-group where 32 make fewer threadgroups than this",
     .fallback = 256,
     .minimum = 0,
     .maximum = 65536},
};

static const struct ingot_ops_info operations[] = {
    {.name = "attention",
     .family = "attention",
     .summary = "softmax(scale q kT + bias) v: causal, window, mask, ALiBi, grouped heads",
     .limits = "head sizes up to 256; dense last dimensions",
     .variants = "type; head size up to 64, 128, 256; few queries: two-phase kernels; else "
                 "simdgroup_matrix tiles or a query to a lane",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
};

const struct igo_library igo_library_attention = {
    .name = "attention", .operations = operations, .operation_count = 1};

/* Rows of a SIMD-group of the simdgroup_matrix kernel. */
static uint32_t tile_queries(const struct attention_args *args) {
    return igo_attention_depth_class(args) > 128 ? TILE : 2 * TILE;
}

/* The simdgroup_matrix kernel takes whole tiles, and may read q after it has written out. */
static bool tiles_apply(const struct attention_problem *p) {
    const struct attention_args *args = &p->args;
    return args->depth > 0 && args->depth % TILE == 0 && args->value_depth % TILE == 0 &&
           args->queries >= tile_queries(args) && args->keys >= TILE_KEYS &&
           p->q->buffer != p->out->buffer;
}

/* What attention_blocks.h wants, and attention_floats.h of float. */
static bool blocks_apply(const struct attention_problem *p) {
    const struct attention_args *args = &p->args;
    const uint32_t biased =
        ATTENTION_MASK_BOOL | ATTENTION_MASK_F32 | ATTENTION_MASK_SAME | ATTENTION_ALIBI;
    const uint32_t out = p->q->type == INGOT_SCALAR_F32 ? 16 : 4;
    return (args->depth == 64 || args->depth == 128) && args->depth == args->value_depth &&
           !(args->flags & biased) && args->keys && args->scale > 0 && igo_aligned(p->q, 16) &&
           igo_aligned(p->k, 16) && igo_aligned(p->v, 16) && igo_aligned(p->out, out);
}

/* Tiles of queries to a SIMD-group of attention_blocks.h, and its threadgroup memory: queries, and
 * two places for keys and values. 0: it is not used. */
static uint32_t block_rows(const struct igo_call *call, const struct attention_problem *p,
                           struct igo_launch *launch) {
    const uint32_t wanted = igo_knob(call, KNOB_BLOCKS), queries = 2 * 16 * BLOCK_SIMDS;
    const uint32_t line = 2 * (p->args.depth + ATTENTION_BLOCK_PAD);
    const uint64_t groups =
        (uint64_t)((p->args.queries + queries - 1) / queries) * p->args.heads * p->batches;
    const uint32_t tiles = wanted > 16 && groups >= igo_knob(call, KNOB_FILL) ? 4 : 2;
    launch->threadgroup_lengths[0] = tiles * TILE * BLOCK_SIMDS * line;
    launch->threadgroup_lengths[1] = 2 * ATTENTION_BLOCK_KEYS * line;
    launch->threadgroup_lengths[2] = launch->threadgroup_lengths[1];
    launch->threadgroup_length_count = 3;
    const uint32_t all = launch->threadgroup_lengths[0] + 2 * launch->threadgroup_lengths[1];
    return wanted && blocks_apply(p) && all <= igo_threadgroup_memory(call) ? tiles : 0;
}

/* Whether attention_warpgroups.h is used, and its threadgroup memory. */
static bool takes_warpgroups(struct igo_call *call, const struct attention_problem *p,
                             struct igo_launch *launch) {
    const uint32_t queries = 16 * ATTENTION_WARPGROUP_SIMDS, row = 2 * p->args.depth;
    const uint32_t bytes = (queries + 4 * ATTENTION_WARPGROUP_KEYS) * row;
    const uint64_t groups =
        (uint64_t)((p->args.queries + queries - 1) / queries) * p->args.heads * p->batches;
    if (igo_knob(call, KNOB_BLOCKS) <= 32 || groups < igo_knob(call, KNOB_FILL) / 2 ||
        !blocks_apply(p) || !igo_aligned(p->out, 16) || bytes > igo_threadgroup_memory(call)) {
        return false;
    }
    igo_launch_kernel(launch, "attention_warpgroups_%u_%s", p->args.depth,
                      igo_type_name(p->q->type));
    launch->threadgroup_lengths[0] = queries * row;
    launch->threadgroup_lengths[1] = launch->threadgroup_lengths[2] =
        2 * ATTENTION_WARPGROUP_KEYS * row;
    launch->threadgroup_length_count = 3;
    const bool found = igo_has_kernel(call, launch);
    if (!found) { /* archives may be without code of that level */
        *launch = (struct igo_launch){0};
    }
    return found;
}

/* Whether attention_floats.h is used, and its threadgroup memory: queries, keys, values, weights.
 */
static bool takes_floats(const struct igo_call *call, const struct attention_problem *p,
                         struct igo_launch *launch) {
    const uint32_t depth = p->args.depth;
    const uint32_t lines[] = {FLOATS_QUERIES * (depth + FLOATS_PAD),
                              FLOATS_KEYS * (depth + FLOATS_PAD), FLOATS_KEYS * depth,
                              FLOATS_QUERIES * FLOATS_WEIGHT_LINE};
    uint32_t all = 0;
    for (int i = 0; i < 4; i++) {
        all += launch->threadgroup_lengths[i] = 4 * lines[i];
    }
    launch->threadgroup_length_count = 4;
    return igo_knob(call, KNOB_BLOCKS) && blocks_apply(p) && all <= igo_threadgroup_memory(call);
}

static void launch_forward(struct igo_call *call, const struct attention_problem *p) {
    uint32_t together = igo_knob(call, KNOB_TILES), rows = ATTENTION_LANES;
    const bool is_float = p->q->type == INGOT_SCALAR_F32;
    struct igo_launch launch = {0};
    const bool warpgroups = !is_float && takes_warpgroups(call, p, &launch);
    const uint32_t tiles = is_float || warpgroups ? 0 : block_rows(call, p, &launch);
    if (is_float && takes_floats(call, p, &launch)) {
        together = FLOATS_THREADS / ATTENTION_LANES;
        rows = FLOATS_QUERIES;
        igo_launch_kernel(&launch, "attention_floats_%u_f32", p->args.depth);
    } else if (warpgroups) {
        together = ATTENTION_WARPGROUP_SIMDS;
        rows = 16 * together;
    } else if (tiles) {
        together = BLOCK_SIMDS;
        rows = together * tiles * TILE;
        igo_launch_kernel(&launch, "attention_blocks_%u_%ux%u_%s", p->args.depth, together, tiles,
                          igo_type_name(p->q->type));
    } else if (together && tiles_apply(p)) {
        launch = (struct igo_launch){0};
        rows = together * tile_queries(&p->args);
        igo_launch_kernel(&launch, "attention_tiles_%u_%s", igo_attention_depth_class(&p->args),
                          igo_type_name(p->q->type));
    } else {
        launch = (struct igo_launch){0};
        together = 1;
        igo_launch_kernel(&launch, "attention_lanes_%u_%s", igo_knob(call, KNOB_STEP),
                          igo_type_name(p->q->type));
    }
    const ingot_tensor *tensors[] = {p->q, p->k, p->v, p->out, p->lse, p->mask, p->slopes};
    for (int i = 0; i < 7; i++) {
        igo_attention_bind(&launch, tensors[i]);
    }
    igo_launch_bytes(&launch, &p->args, sizeof p->args);
    launch.threadgroups[0] = (p->args.queries + rows - 1) / rows;
    launch.threadgroups[1] = p->args.heads;
    launch.threadgroups[2] = p->batches;
    launch.group[0] = together * ATTENTION_LANES;
    launch.whole_simdgroups = true;
    igo_dispatch(call, &launch);
}

ingot_status ingot_op_attention(ingot_ops *ops, ingot_stream *stream,
                                const ingot_attention_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_attention, &operations[0], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    struct attention_problem p = {.q = desc->q,
                                  .k = desc->k,
                                  .v = desc->v,
                                  .out = desc->out,
                                  .lse = desc->lse,
                                  .mask = desc->mask,
                                  .slopes = desc->slopes,
                                  .scale = desc->scale,
                                  .causal = desc->causal,
                                  .window = desc->window};
    if (igo_attention_check(&call, &p)) {
        const struct attention_input inputs[] = {
            {"q", p.q}, {"k", p.k}, {"v", p.v}, {"mask", p.mask}, {"slopes", p.slopes}};
        igo_attention_apart(&call, &p, inputs, sizeof inputs / sizeof *inputs);
    }
    if (call.failed || p.nothing) {
        return igo_end(&call);
    }

    igo_attention_policy(&call, &p);
    const struct attention_decode decode = {.problem = &p,
                                            .partition = igo_knob(&call, KNOB_PARTITION),
                                            .wide = igo_knob(&call, KNOB_WIDE)};
    if (p.args.queries <= igo_knob(&call, KNOB_DECODE)) {
        igo_attention_decode(&call, &decode);
    } else {
        launch_forward(&call, &p);
    }
    return igo_end(&call);
}
