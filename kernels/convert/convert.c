/* convert on the host: dimensions are put in the order of the target's strides and joined where
 * both sides allow it; what is left over four dimensions, or is too long for one grid, becomes
 * several launches. */
#include "convert/convert.h"

#include "common/matrices.h"
#include "convert/convert_args.h"
#include "ingot/ops/convert.h"

enum { KNOB_GROUP };
static const ingot_ops_knob knobs[] = {
    {.name = "group",
     .help = "threads per threadgroup",
     .fallback = 256,
     .minimum = 32,
     .maximum = 1024,
     .power_of_two = true},
};

static const struct ingot_ops_info operations[] = {
    {.name = "convert",
     .family = "conversion",
     .summary = "to = from, between float types and layouts",
     .limits = "",
     .variants = "both types; dense or strided",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
};

const struct igo_library igo_library_convert = {
    .name = "convert", .operations = operations, .operation_count = 1};

struct dimension {
    int64_t extent, from, to;
};

struct copy {
    struct dimension dims[INGOT_MAX_RANK]; /* outermost first */
    uint32_t rank;
    ingot_tensor from, to; /* buffer, offset and type are used */
    uint32_t from_size, to_size;
    uint32_t group;
};

static uint32_t type_size(ingot_scalar_type type) {
    return type == INGOT_SCALAR_F32 ? 4 : 2;
}

/* Dimensions by falling target stride, those of size 1 left out, neighbours joined. */
static void plan(const ingot_tensor *from, const ingot_tensor *to, struct copy *copy) {
    struct dimension sorted[INGOT_MAX_RANK];
    uint32_t count = 0;
    for (uint32_t i = 0; i < to->rank; i++) {
        if (to->shape[i] == 1) {
            continue;
        }
        struct dimension d = {to->shape[i], from->strides[i], to->strides[i]};
        uint32_t at = count++;
        for (; at > 0 && sorted[at - 1].to < d.to; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = d;
    }
    copy->rank = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct dimension *last = copy->rank ? &copy->dims[copy->rank - 1] : NULL;
        const struct dimension *d = &sorted[i];
        if (last && last->from == d->from * d->extent && last->to == d->to * d->extent) {
            *last = (struct dimension){last->extent * d->extent, d->from, d->to};
        } else {
            copy->dims[copy->rank++] = *d;
        }
    }
}

static void launch_line(struct igo_call *call, const struct copy *copy, uint64_t count) {
    struct igo_launch launch = {.library = &igo_library_convert};
    igo_launch_kernel(&launch, "convert_line_%s_%s", igo_type_name(copy->from.type),
                      igo_type_name(copy->to.type));
    const struct convert_line_args args = {.count = count};
    igo_launch_tensor(&launch, &copy->from, NULL);
    igo_launch_tensor(&launch, &copy->to, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_launch_threads(&launch, (count + 3) / 4, copy->group);
    igo_dispatch(call, &launch);
}

/* When the target is dense along its last dimension and the source along another, that one is put
 * second to last. */
static bool make_tiles(struct copy *copy) {
    const uint32_t last = copy->rank - 1;
    if (copy->rank < 2 || copy->dims[last].to != 1 || copy->dims[last].extent < 8) {
        return false;
    }
    for (uint32_t i = 0; i < last; i++) {
        if (copy->dims[i].from == 1 && copy->dims[i].extent >= 8) {
            const struct dimension d = copy->dims[i];
            for (uint32_t k = i; k + 1 < last; k++) {
                copy->dims[k] = copy->dims[k + 1];
            }
            copy->dims[last - 1] = d;
            return true;
        }
    }
    return false;
}

static void launch_strided(struct igo_call *call, struct copy *copy) {
    const bool tiles = make_tiles(copy);
    struct igo_launch launch = {.library = &igo_library_convert};
    igo_launch_kernel(&launch, "convert_%s_%s_%s", tiles ? "tile" : "strided",
                      igo_type_name(copy->from.type), igo_type_name(copy->to.type));
    struct convert_args args;
    for (uint32_t i = 0; i < 4; i++) {
        const struct dimension *d =
            i + copy->rank >= 4 ? &copy->dims[i + copy->rank - 4] : &(struct dimension){1, 0, 0};
        args.extents[i] = (uint32_t)d->extent;
        args.from_strides[i] = d->from;
        args.to_strides[i] = d->to;
    }
    igo_launch_tensor(&launch, &copy->from, NULL);
    igo_launch_tensor(&launch, &copy->to, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    if (tiles) {
        launch.group[0] = 32;
        launch.group[1] = launch.group[2] = 1;
        launch.threadgroups[0] = (args.extents[3] + 31) / 32;
        launch.threadgroups[1] = (args.extents[2] + 31) / 32;
        launch.threadgroups[2] = args.extents[0] * args.extents[1];
        launch.whole_simdgroups = true;
        igo_dispatch(call, &launch);
        return;
    }
    uint32_t x = 1;
    while (x < copy->group && x < args.extents[3]) {
        x *= 2;
    }
    launch.group[0] = x;
    launch.group[1] = copy->group / x;
    launch.group[2] = 1;
    launch.threads[0] = (args.extents[3] + x - 1) / x * x;
    launch.threads[1] = (args.extents[2] + launch.group[1] - 1) / launch.group[1] * launch.group[1];
    launch.threads[2] = args.extents[0] * args.extents[1];
    igo_dispatch(call, &launch);
}

enum { LONGEST = 1 << 30 };

/* A dimension that must be walked on the host, and the longest step along it; -1 when none. */
static int dimension_to_split(const struct copy *copy, int64_t *step) {
    *step = 1;
    if (copy->rank > 4) {
        return 0;
    }
    *step = LONGEST;
    for (uint32_t i = 0; i < copy->rank; i++) {
        if (copy->dims[i].extent > LONGEST) {
            return (int)i;
        }
    }
    *step = 1;
    if (copy->rank == 4 && copy->dims[0].extent * copy->dims[1].extent > LONGEST) {
        return 0;
    }
    return -1;
}

static void encode(struct igo_call *call, struct copy *copy) {
    int64_t step;
    int split = dimension_to_split(copy, &step);
    if (copy->rank == 0 || (copy->rank == 1 && copy->dims[0].from == 1 && copy->dims[0].to == 1)) {
        launch_line(call, copy, copy->rank ? (uint64_t)copy->dims[0].extent : 1);
    } else if (split < 0) {
        launch_strided(call, copy);
    } else {
        const struct dimension d = copy->dims[split];
        for (int64_t at = 0; at < d.extent && !call->failed; at += step) {
            struct copy part = *copy;
            part.from.offset += (uint64_t)(at * d.from) * copy->from_size;
            part.to.offset += (uint64_t)(at * d.to) * copy->to_size;
            part.dims[split].extent = d.extent - at < step ? d.extent - at : step;
            if (part.dims[split].extent == 1) {
                part.rank--;
                for (uint32_t i = (uint32_t)split; i < part.rank; i++) {
                    part.dims[i] = part.dims[i + 1];
                }
            }
            encode(call, &part);
        }
    }
}

static bool convert(struct igo_call *call, const ingot_tensor *from, const ingot_tensor *to,
                    uint32_t group) {
    if (call->failed || igo_count(to) == 0) {
        return !call->failed;
    }
    struct copy copy = {.from = *from,
                        .to = *to,
                        .from_size = type_size(from->type),
                        .to_size = type_size(to->type),
                        .group = group};
    plan(from, to, &copy);
    encode(call, &copy);
    return !call->failed;
}

bool igo_convert(struct igo_call *call, const ingot_tensor *from, const ingot_tensor *to) {
    return convert(call, from, to, knobs[KNOB_GROUP].fallback);
}

ingot_status ingot_op_convert(ingot_ops *ops, ingot_stream *stream,
                              const ingot_convert_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_convert, &operations[0], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    igo_tensor(&call, "from", desc->from, IGO_FLOATS, 0, INGOT_MAX_RANK);
    igo_tensor(&call, "to", desc->to, IGO_FLOATS, 0, INGOT_MAX_RANK);
    if (call.failed) {
        return igo_end(&call);
    }
    igo_same_shape(&call, "to", desc->to, "from", desc->from);
    igo_distinct(&call, "to", desc->to);
    igo_no_overlap(&call, "to", desc->to, "from", desc->from, false);
    if (call.failed || igo_count(desc->to) == 0) {
        return igo_end(&call);
    }
    struct igo_class class_text = {0};
    igo_class_word(&class_text, igo_type_name(desc->to->type));
    igo_class_word(&class_text,
                   igo_is_dense(desc->from) && igo_is_dense(desc->to) ? "dense" : "strided");
    igo_policy(&call, desc->from->type, &class_text);
    if (!call.failed) {
        convert(&call, desc->from, desc->to, igo_knob(&call, KNOB_GROUP));
    }
    return igo_end(&call);
}
