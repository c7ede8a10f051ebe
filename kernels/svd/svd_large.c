/* svd of more than 64 columns: the launches that svd_large.h describes. */
#include "eigh/spectrum.h"
#include "svd/svd.h"

struct scratch {
    ingot_tensor states, columns, plain, gram, values, vectors, work;
};
enum { SCRATCH_TENSORS = sizeof(struct scratch) / sizeof(ingot_tensor) };

/* `groups` SIMD-groups, each a threadgroup, for each of the part's matrices; the tensors, then the
 * arguments. */
static void launch_step(struct igo_call *call, const struct svd_args *args, const char *kernel,
                        uint32_t groups, const ingot_tensor *const *tensors, size_t count,
                        uint32_t shared) {
    struct igo_launch launch = {.kernel = kernel, .whole_simdgroups = true};
    for (size_t i = 0; i < count; i++) {
        igo_launch_tensor(&launch, tensors[i], NULL);
    }
    igo_launch_bytes(&launch, args, sizeof *args);
    launch.threadgroups[0] = groups;
    launch.threadgroups[1] = args->matrices;
    launch.threadgroups[2] = 1;
    launch.group[0] = 32;
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroup_lengths[0] = shared;
    launch.threadgroup_length_count = shared ? 1 : 0;
    igo_dispatch(call, &launch);
}

#define STEP(kernel, groups, shared, ...)                                                          \
    launch_step(call, &args, kernel, groups, (const ingot_tensor *const[]){__VA_ARGS__},           \
                sizeof((const ingot_tensor *const[]){__VA_ARGS__}) / sizeof(const ingot_tensor *), \
                shared)

static void decompose(struct igo_call *call, struct svd_args args, const struct scratch *s,
                      const struct svd_part *part) {
    const uint32_t count = args.count, fours = (count + 3) / 4;
    STEP("svd_scale", 1, 0, &part->a, &s->states);
    STEP("svd_fill", args.length, 0, &part->a, &s->states, &s->columns, &s->plain);
    STEP("svd_compare", 1, 0, &s->states, &s->columns);
    STEP("svd_form_gram", fours * ((count + 63) / 64), 0, &s->states, &s->columns, &s->plain,
         &s->gram);
    igo_eigh(call, count, args.matrices, &s->gram, &s->values, &s->vectors);
    STEP("svd_start", fours * ((args.padded + 63) / 64), 0, &s->states, &s->columns, &s->vectors,
         &s->work);
    for (args.sweep = 0; args.sweep < SVD_MAX_SWEEPS && !call->failed; args.sweep++) {
        for (args.round = 0; args.round + 1 < args.blocks && !call->failed; args.round++) {
            STEP("svd_rotate", args.blocks / 2, SVD_SHARED_FLOATS * 4, &s->states, &s->work);
        }
    }
    STEP("svd_measure", count, 0, &s->states, &s->work);
    STEP("svd_order", (count + 31) / 32, 0, &s->states, &part->s);
    if (args.vectors) {
        STEP("svd_normalise", count, 0, &s->states, &s->work);
        STEP("svd_make_up", 1, 0, &s->states, &s->work);
        STEP("svd_store", args.length, 0, &s->states, &s->work, &part->u, &part->vh);
    }
}

static ingot_tensor floats(struct igo_call *call, uint64_t count) {
    const int64_t shape[] = {(int64_t)count};
    return igo_scratch_tensor(call, INGOT_SCALAR_F32, 1, shape);
}

void svd_large(struct igo_call *call, const struct svd_plan *plan) {
    struct svd_args args = plan->args;
    const uint64_t n = args.count;
    /* Rows that are not a power of two apart do not fall on each other's cache sets; chunks are
     * read in twos. */
    args.columns_row = args.padded + 32;
    args.plain_row = (args.count + 31) / 32 * 32 + 32;
    args.blocks = (args.count + 63) / 64 * 2;
    const uint64_t sizes[SCRATCH_TENSORS] = {
        sizeof(struct svd_state) / 4 + 2 * n,
        n * args.columns_row,
        (uint64_t)args.length * args.plain_row,
        n * n,
        n,
        n * n,
        n * args.row,
    };
    uint64_t each = 0;
    for (size_t i = 0; i < SCRATCH_TENSORS; i++) {
        each += 4 * sizes[i];
    }
    uint64_t most =
        each < 2 * igo_batch_scratch_bytes(call) ? 2 * igo_batch_scratch_bytes(call) / each : 1;
    most = most < plan->count ? most : plan->count;
    /* What tiles of four rows and 64 columns read past the end. */
    const uint64_t beyond = 4 * (uint64_t)args.columns_row + 64;
    ingot_tensor all[SCRATCH_TENSORS];
    for (size_t i = 0; i < SCRATCH_TENSORS; i++) {
        all[i] = floats(call, most * sizes[i] + beyond);
    }
    const struct scratch s = {all[0], all[1], all[2], all[3], all[4], all[5], all[6]};
    for (uint64_t at = 0; at < plan->count && !call->failed; at += most) {
        args.matrices = (uint32_t)(plan->count - at < most ? plan->count - at : most);
        struct svd_part part = svd_part(plan, at);
        decompose(call, args, &s, &part);
    }
    for (size_t i = 0; i < SCRATCH_TENSORS; i++) {
        if (all[i].buffer) {
            igo_scratch_release(call, all[i].buffer);
        }
    }
}
