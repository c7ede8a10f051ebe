/* Attention forward on the host: few queries go to the two-phase kernels of attention_decode,
 * others to one of the kernels here. */
#include "attention/attention_problem.h"
#include "attention/attention_sizes.h"

enum { KNOB_DECODE, KNOB_PARTITION, KNOB_STEP, KNOB_TILES, KNOB_WIDE, KNOB_BLOCKS, KNOB_FILL };
enum { TILE = 8, TILE_KEYS = 32, BLOCKS_OF_UNITS = 1 };
enum { BLOCK_SIMDS = 4 }; /* SIMD-groups to a threadgroup of attention_blocks.h */
static const ingot_ops_knob knobs[] = {
    {.name = "decode",
     .help = "up to so many queries go to the two-phase kernels",
     .fallback = 8,
     .minimum = 0,
     .maximum = 64},
    {.name = "partition",
     .help = "decoding: keys to a partition; where simdgroup_matrix is used (see wide) they follow "
             "from the shape",
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
     .help =
         "queries to a SIMD-group, 16 or 32, where types, sizes and alignment allow it; 64: of "
         "half and bfloat to four SIMD-groups at once; 1: of bfloat by matrix units of CPUs; 0: "
         "never",
     .fallback = 32,
     .minimum = 0,
     .maximum = 64},
    {.name = "fill",
     .help = "blocks: 16 queries to a SIMD-group where 32 make fewer threadgroups than this; four "
             "SIMD-groups at once where there are an eighth as many",
     .fallback = 256,
     .minimum = 0,
     .maximum = 65536},
};

static const struct ingot_ops_info operations[] = {
    {.name = "attention",
     .family = "attention",
     .summary = "softmax(scale q kT + bias) v: causal, window, mask, ALiBi, grouped heads",
     .limits = "head sizes up to 256; dense last dimensions",
     .variants =
         "type; room for heads of 32 to 256; mask or ALiBi; few queries: two-phase kernels; else "
         "tiles or a query to a lane",
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

/* What attention_blocks.h, attention_warpgroups.h and attention_floats.h want; the last two take no
 * mask and no ALiBi. */
static bool blocks_apply(const struct attention_problem *p) {
    const struct attention_args *args = &p->args;
    return args->depth && args->depth % TILE == 0 && args->value_depth % TILE == 0 && args->keys &&
           args->scale > 0 && igo_aligned(p->q, 16) && igo_aligned(p->k, 16) &&
           igo_aligned(p->v, 16) && igo_aligned(p->out, 16);
}

static bool is_biased(const struct attention_problem *p) {
    return p->args.flags &
           (ATTENTION_MASK_BOOL | ATTENTION_MASK_F32 | ATTENTION_MASK_SAME | ATTENTION_ALIBI);
}

/* Of attention_blocks.h without a bias. */
static const uint32_t block_rooms[] = {32, 64, 96, 128, 192, 256};

/* The elements that a kernel has room for in a row: the least of `sizes`, which ascend, that holds
 * the problem's. */
static uint32_t room_for(const struct attention_args *args, const uint32_t *sizes) {
    const uint32_t depth = args->depth > args->value_depth ? args->depth : args->value_depth;
    while (*sizes < depth) {
        sizes++;
    }
    return *sizes;
}

/* Tiles of queries to a SIMD-group of attention_blocks.h, and its threadgroup memory: queries, and
 * two places for keys and values. 0: it is not used. */
static uint32_t block_rows(const struct igo_call *call, const struct attention_problem *p,
                           struct igo_launch *launch, uint32_t depth) {
    const uint32_t wanted = igo_knob(call, KNOB_BLOCKS), queries = 2 * 16 * BLOCK_SIMDS;
    const uint32_t line = 2 * (depth + ATTENTION_BLOCK_PAD);
    const uint64_t groups =
        (uint64_t)((p->args.queries + queries - 1) / queries) * p->args.heads * p->batches;
    const bool large =
        wanted > 16 && depth <= 128 && !is_biased(p) && groups >= igo_knob(call, KNOB_FILL);
    const uint32_t tiles = large ? 4 : 2;
    launch->threadgroup_lengths[0] = tiles * TILE * BLOCK_SIMDS * line;
    launch->threadgroup_lengths[1] = 2 * ATTENTION_BLOCK_KEYS * line;
    launch->threadgroup_lengths[2] = launch->threadgroup_lengths[1];
    launch->threadgroup_length_count = 3;
    const uint32_t all = launch->threadgroup_lengths[0] + 2 * launch->threadgroup_lengths[1];
    return wanted > BLOCKS_OF_UNITS && blocks_apply(p) && all <= igo_threadgroup_memory(call)
               ? tiles
               : 0;
}

static uint64_t groups_of(const struct attention_problem *p, uint32_t queries) {
    return (uint64_t)((p->args.queries + queries - 1) / queries) * p->args.heads * p->batches;
}

static uint64_t rounded(uint32_t count, uint32_t step) {
    return (uint64_t)(count + step - 1) / step * step;
}

/* Whether attention_blocks.h is faster, though attention_warpgroups.h could be used: where there
 * are few threadgroups, heads are small, or the one block of keys and queries would be half empty.
 */
static bool prefers_blocks(const struct igo_call *call, const struct attention_problem *p,
                           uint32_t depth) {
    enum { WIDE = 128, NARROW = 64, FEW = 8 };
    const struct attention_args *args = &p->args;
    const uint64_t alone =
        rounded(args->queries, NARROW) * rounded(args->keys, ATTENTION_BLOCK_KEYS);
    const uint64_t together = rounded(args->queries, WIDE) * rounded(args->keys, WIDE);
    return depth <= 32 || groups_of(p, WIDE) < igo_knob(call, KNOB_FILL) / FEW ||
           (args->keys <= WIDE && alone < together);
}

/* Of heads up to 64: twelve where the card has less to do in all then, a multiprocessor after the
 * other. */
static uint32_t simds_for(const struct attention_problem *p, uint32_t depth) {
    enum { FEW = 8, MANY = 12, MULTIPROCESSORS = 132 };
    const uint64_t few = (groups_of(p, 16 * FEW) + MULTIPROCESSORS - 1) / MULTIPROCESSORS;
    const uint64_t many = (groups_of(p, 16 * MANY) + MULTIPROCESSORS - 1) / MULTIPROCESSORS;
    return depth <= 64 && many * MANY < few * FEW ? MANY : FEW;
}

/* SIMD-groups to a threadgroup of attention_warpgroups.h, and its threadgroup memory. 0: it is not
 * used. */
static uint32_t warpgroup_simds(struct igo_call *call, const struct attention_problem *p,
                                struct igo_launch *launch) {
    const uint32_t least = room_for(&p->args, block_rooms);
    const uint32_t depth = room_for(&p->args, (const uint32_t[]){64, 96, 128, 160, 192, 256});
    const uint32_t lines = (depth + ATTENTION_WARPGROUP_LINE - 1) / ATTENTION_WARPGROUP_LINE;
    const uint32_t simds = simds_for(p, depth), queries = 16 * simds;
    const uint32_t keys = ATTENTION_WARPGROUP_KEYS(depth);
    const uint32_t row = 2 * lines * ATTENTION_WARPGROUP_LINE;
    if (igo_knob(call, KNOB_BLOCKS) <= 32 || !blocks_apply(p) || is_biased(p) ||
        prefers_blocks(call, p, least) ||
        (queries + 4 * keys) * row > igo_threadgroup_memory(call)) {
        return 0;
    }
    igo_launch_kernel(launch, "attention_warpgroups_%ux%u_%s", depth, simds,
                      igo_type_name(p->q->type));
    launch->threadgroup_lengths[0] = queries * row;
    launch->threadgroup_lengths[1] = launch->threadgroup_lengths[2] = 2 * keys * row;
    launch->threadgroup_length_count = 3;
    const bool found = igo_has_kernel(call, launch);
    if (!found) { /* archives may be without code of that level */
        *launch = (struct igo_launch){0};
    }
    return found ? simds : 0;
}

/* The elements that attention_floats.h has room for in a row, if it is used, and its threadgroup
 * memory: queries, keys, values, weights. 0: it is not. */
static uint32_t floats_depth(const struct igo_call *call, const struct attention_problem *p,
                             struct igo_launch *launch) {
    const uint32_t depth = room_for(&p->args, (const uint32_t[]){64, 128, 256});
    const uint32_t lines[] = {FLOATS_QUERIES * (depth + FLOATS_PAD),
                              FLOATS_KEYS * (depth + FLOATS_PAD), FLOATS_KEYS * depth,
                              FLOATS_QUERIES * FLOATS_WEIGHT_LINE};
    uint32_t all = 0;
    for (int i = 0; i < 4; i++) {
        all += launch->threadgroup_lengths[i] = 4 * lines[i];
    }
    launch->threadgroup_length_count = 4;
    const bool fits = depth <= 128 && all <= igo_threadgroup_memory(call);
    return igo_knob(call, KNOB_BLOCKS) > BLOCKS_OF_UNITS && fits && blocks_apply(p) && !is_biased(p)
               ? depth
               : 0;
}

static void launch_forward(struct igo_call *call, const struct attention_problem *p) {
    uint32_t together = igo_knob(call, KNOB_TILES), rows = ATTENTION_LANES;
    const bool is_float = p->q->type == INGOT_SCALAR_F32;
    struct igo_launch launch = {0};
    const uint32_t warpgroups = is_float ? 0 : warpgroup_simds(call, p, &launch);
    const uint32_t depth =
        room_for(&p->args, is_biased(p) ? (const uint32_t[]){64, 128, 256} : block_rooms);
    const uint32_t tiles = is_float || warpgroups ? 0 : block_rows(call, p, &launch, depth);
    const uint32_t floats = is_float ? floats_depth(call, p, &launch) : 0;
    if (floats) {
        together = FLOATS_THREADS / ATTENTION_LANES;
        rows = FLOATS_QUERIES;
        igo_launch_kernel(&launch, "attention_floats_%u_f32", floats);
    } else if (warpgroups) {
        together = warpgroups;
        rows = 16 * together;
    } else if (tiles) {
        together = BLOCK_SIMDS;
        rows = together * tiles * TILE;
        igo_launch_kernel(&launch, "attention_blocks_%u_%ux%u_%s", depth, together, tiles,
                          igo_type_name(p->q->type));
        igo_launch_constant_bool(&launch, "attention_biased", is_biased(p));
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
    } else if (igo_knob(&call, KNOB_BLOCKS) != BLOCKS_OF_UNITS ||
               !igo_attention_by_units(&call, &p)) {
        launch_forward(&call, &p);
    }
    return igo_end(&call);
}
