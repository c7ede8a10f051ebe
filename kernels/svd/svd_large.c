/* svd of more than 64 columns: the launches that svd_large.h describes. */
#include "eigh/spectrum.h"
#include "svd/svd.h"
#include "triangular/product.h"

struct scratch {
    ingot_tensor states, columns, plain, gram, values, vectors, work;
};
enum { SCRATCH_TENSORS = sizeof(struct scratch) / sizeof(ingot_tensor) };

/* `groups` threadgroups of `simds` SIMD-groups for each of the part's matrices, with `shared` bytes
 * of threadgroup memory. */
struct step {
    const char *kernel;
    uint32_t groups, simds, shared;
};

/* The tensors, then the arguments. */
static void launch_step(struct igo_call *call, const struct svd_args *args, struct step step,
                        const ingot_tensor *const *tensors, size_t count) {
    struct igo_launch launch = {.kernel = step.kernel, .whole_simdgroups = true};
    for (size_t i = 0; i < count; i++) {
        igo_launch_tensor(&launch, tensors[i], NULL);
    }
    igo_launch_bytes(&launch, args, sizeof *args);
    launch.threadgroups[0] = step.groups;
    launch.threadgroups[1] = args->matrices;
    launch.threadgroups[2] = 1;
    launch.group[0] = 32 * step.simds;
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroup_lengths[0] = step.shared;
    launch.threadgroup_length_count = step.shared ? 1 : 0;
    igo_dispatch(call, &launch);
}

#define STEP(kernel, groups, simds, shared, ...)                                                   \
    launch_step(call, &args, (struct step){kernel, groups, simds, shared},                         \
                (const ingot_tensor *const[]){__VA_ARGS__},                                        \
                sizeof((const ingot_tensor *const[]){__VA_ARGS__}) / sizeof(const ingot_tensor *))

static struct igo_block rows_of(const ingot_tensor *tensor, int64_t row, int64_t rows) {
    return igo_block_in(tensor->buffer, 0, row, row * rows);
}

/* a'a, and with the eigenvectors the columns that Jacobi begins with. */
static void begin_alone(struct igo_call *call, struct svd_args args, const struct scratch *s,
                        const struct svd_part *part) {
    const uint32_t count = args.count, fours = (count + 3) / 4;
    STEP("svd_scale", 1, 1, 0, &part->a, &s->states);
    STEP("svd_fill", args.length, 1, 0, &part->a, &s->states, &s->columns, &s->plain);
    STEP("svd_compare", 1, 1, 0, &s->states, &s->columns);
    STEP("svd_form_gram", fours * ((count + 63) / 64), 1, 0, &s->states, &s->columns, &s->plain,
         &s->gram);
    igo_eigh(call, count, args.matrices, &s->gram, &s->values, &s->vectors);
    STEP("svd_start", fours * ((args.padded + 63) / 64), 1, 0, &s->states, &s->columns, &s->vectors,
         &s->work);
}

static void begin_shared(struct igo_call *call, struct svd_args args, const struct scratch *s,
                         const struct svd_part *part) {
    const uint32_t count = args.count;
    STEP("svd_scale_shared", 1, 32, 0, &part->a, &s->states);
    STEP("svd_fill", args.length, 1, 0, &part->a, &s->states, &s->columns, &s->plain);
    STEP("svd_compare_shared", 1, 32, 0, &s->states, &s->columns);
    const struct igo_block columns = rows_of(&s->columns, args.columns_row, count);
    const struct igo_product gram = {.a = columns,
                                     .b = igo_block_transposed(columns),
                                     .c = rows_of(&s->gram, count, count),
                                     .m = count,
                                     .n = count,
                                     .k = args.padded,
                                     .batch = args.matrices,
                                     .alpha = 1};
    igo_product(call, &gram);
    igo_eigh(call, count, args.matrices, &s->gram, &s->values, &s->vectors);
    const struct igo_product start = {.a = igo_block_transposed(rows_of(&s->vectors, count, count)),
                                      .b = columns,
                                      .c = rows_of(&s->work, args.row, count),
                                      .m = count,
                                      .n = args.padded,
                                      .k = count,
                                      .batch = args.matrices,
                                      .alpha = 1};
    igo_product(call, &start);
    STEP("svd_start_shared", count, 1, 0, &s->states, &s->columns, &s->vectors, &s->work);
}

static void decompose(struct igo_call *call, struct svd_args args, bool shared,
                      const struct scratch *s, const struct svd_part *part) {
    const uint32_t count = args.count;
    (shared ? begin_shared : begin_alone)(call, args, s, part);
    for (args.sweep = 0; args.sweep < SVD_MAX_SWEEPS && !call->failed; args.sweep++) {
        for (args.round = 0; args.round + 1 < args.blocks && !call->failed; args.round++) {
            if (shared) {
                STEP("svd_rotate_shared", args.blocks / 2, 32, 0, &s->states, &s->work);
            } else {
                STEP("svd_rotate", args.blocks / 2, 1, SVD_SHARED_FLOATS * 4, &s->states, &s->work);
            }
        }
    }
    STEP("svd_measure", count, 1, 0, &s->states, &s->work);
    STEP("svd_order", (count + 31) / 32, 1, 0, &s->states, &part->s);
    if (args.vectors) {
        STEP("svd_normalise", count, 1, 0, &s->states, &s->work);
        STEP("svd_make_up", 1, 1, 0, &s->states, &s->work);
        STEP("svd_store", args.length, 1, 0, &s->states, &s->work, &part->u, &part->vh);
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
        decompose(call, args, plan->shared, &s, &part);
    }
    for (size_t i = 0; i < SCRATCH_TENSORS; i++) {
        if (all[i].buffer) {
            igo_scratch_release(call, all[i].buffer);
        }
    }
}
