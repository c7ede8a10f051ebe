/* cholesky on the host: one matrix per SIMD-group, or the blocked form, which works on the upper
 * factor; the lower one is transposed on the way in and out. */
#include "cholesky/cholesky_args.h"
#include "common/float_view.h"
#include "common/matrices.h"
#include "convert/convert.h"
#include "triangular/product.h"

enum { KNOB_SIMD, KNOB_TINY, KNOB_WHOLE, KNOB_PRODUCTS, KNOB_EACH };
static const ingot_ops_knob knobs[] = {
    {.name = "simd",
     .help = "SIMD-groups per threadgroup: small matrices, or strips of 32 columns",
     .fallback = 1,
     .minimum = 1,
     .maximum = 8,
     .power_of_two = true},
    {.name = "tiny",
     .help = "the largest n for which a lane takes a matrix, in batches that are worth it: `each`",
     .fallback = 0,
     .minimum = 0,
     .maximum = CHOLESKY_TINY},
    {.name = "whole",
     .help = "the largest n for which a threadgroup takes a matrix in one launch",
     .fallback = 0,
     .minimum = 0,
     .maximum = CHOLESKY_WHOLE},
    {.name = "products",
     .help = "1: larger ones in blocks of 64 rows, with products over many threadgroups",
     .fallback = 0,
     .minimum = 0,
     .maximum = 1},
    {.name = "each",
     .help = "a lane takes a matrix in batches of at least so many for every two columns; 0: of 32",
     .fallback = 0,
     .minimum = 0,
     .maximum = 32},
};

static const struct ingot_ops_info operations[] = {
    {.name = "cholesky",
     .family = "linear algebra",
     .summary = "a = l l' or u' u, for symmetric positive definite a",
     .limits = "extents up to 2^24",
     .variants =
         "one lane per matrix (up to 16), small (up to 64, in threadgroup memory) or blocked",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
};

extern const struct igo_library igo_library_cholesky;
const struct igo_library igo_library_cholesky = {
    .name = "cholesky", .operations = operations, .operation_count = 1, .convert = igo_convert};

enum { SMALL = 64, GROUP_BYTES = 32768 };

static void launch_small(struct igo_call *call, const ingot_tensor *a, const ingot_tensor *factor,
                         const ingot_arg *info, bool upper) {
    const struct cholesky_args args = {
        .batch = (uint64_t)igo_batch(a, 2), .n = (uint32_t)igo_matrix_rows(a), .upper = upper};
    const bool tiny = args.n <= igo_knob(call, KNOB_TINY) &&
                      igo_fills_lanes(args.batch, args.n, igo_knob(call, KNOB_EACH));
    const uint32_t chunks = (args.n + 31) / 32;
    const uint32_t bytes = (args.n + 3) / 4 * 4 * chunks * 32 * (uint32_t)sizeof(float);
    uint32_t simds = tiny ? 1 : igo_knob(call, KNOB_SIMD);
    while (simds > 1 && simds * bytes > GROUP_BYTES) {
        simds /= 2;
    }
    struct igo_launch launch = {.whole_simdgroups = true};
    if (tiny) {
        launch.kernel = "cholesky_tiny";
    } else {
        igo_launch_kernel(&launch, "cholesky_small_%u", chunks);
    }
    igo_launch_tensor(&launch, a, NULL);
    igo_launch_tensor(&launch, factor, NULL);
    igo_launch_buffer(&launch, info->buffer, info->offset);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.group[0] = 32 * simds;
    launch.group[1] = launch.group[2] = 1;
    const uint32_t matrices = tiny ? 32 : simds;
    igo_launch_threadgroups(&launch, (args.batch + matrices - 1) / matrices);
    launch.threadgroup_lengths[0] = simds * bytes;
    launch.threadgroup_length_count = !tiny;
    igo_dispatch(call, &launch);
}

static void launch_step(struct igo_call *call, const char *kernel, const ingot_tensor *u,
                        const ingot_arg *info, uint32_t first) {
    const struct cholesky_step_args args = {.n = (uint32_t)igo_matrix_rows(u), .first = first};
    const uint32_t batch = (uint32_t)igo_batch(u, 2), rest = args.n - first;
    struct igo_launch launch = {.kernel = kernel, .whole_simdgroups = true};
    igo_launch_tensor(&launch, u, NULL);
    launch.group[0] = 32;
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroups[0] = batch;
    launch.threadgroups[1] = launch.threadgroups[2] = 1;
    if (info) {
        igo_launch_buffer(&launch, info->buffer, info->offset);
    } else {
        const uint32_t strips = (rest - CHOLESKY_PANEL + 31) / 32;
        uint32_t simds = igo_knob(call, KNOB_SIMD);
        simds = simds < strips ? simds : strips;
        launch.group[0] = 32 * simds;
        launch.threadgroups[1] = (strips + simds - 1) / simds;
        launch.threadgroups[2] =
            (rest - CHOLESKY_PANEL + CHOLESKY_TILE_ROWS - 1) / CHOLESKY_TILE_ROWS;
    }
    igo_launch_bytes(&launch, &args, sizeof args);
    if (!info && kernel[sizeof "cholesky_" - 1] == 'r') {
        launch.threadgroups[2] = 1;
        launch.threadgroup_lengths[0] = launch.group[0] * 32 * (uint32_t)sizeof(float);
        launch.threadgroup_length_count = 1;
    }
    igo_dispatch(call, &launch);
}

static void launch_elements(struct igo_call *call, const char *kernel, const ingot_tensor *u,
                            const ingot_arg *info) {
    const struct cholesky_step_args args = {.n = (uint32_t)igo_matrix_rows(u)};
    struct igo_launch launch = {.kernel = kernel};
    igo_launch_tensor(&launch, u, NULL);
    if (info) {
        igo_launch_buffer(&launch, info->buffer, info->offset);
    }
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.group[0] = 32;
    launch.group[1] = 8;
    launch.group[2] = 1;
    launch.threads[0] = (args.n + 31) / 32 * 32;
    launch.threads[1] = args.n;
    launch.threads[2] = (uint32_t)igo_batch(u, 2);
    igo_dispatch(call, &launch);
}

/* ---- in products (cholesky_products.h) ---- */

static void launch_first(struct igo_call *call, const ingot_tensor *u, ingot_buffer *inverse,
                         const ingot_arg *info) {
    const struct cholesky_step_args args = {.n = (uint32_t)igo_matrix_rows(u)};
    struct igo_launch launch = {.kernel = "cholesky_first",
                                .group = {256, 1, 1},
                                .threadgroups = {(uint32_t)igo_batch(u, 2), 1, 1},
                                .whole_simdgroups = true};
    igo_launch_tensor(&launch, u, NULL);
    igo_launch_buffer(&launch, inverse, 0);
    igo_launch_buffer(&launch, info->buffer, info->offset);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(call, &launch);
}

static void launch_products(struct igo_call *call, const ingot_tensor *u, const ingot_arg *info) {
    const int64_t n = igo_matrix_rows(u), block = TRIANGULAR_BLOCK;
    const uint32_t batch = (uint32_t)igo_batch(u, 2);
    ingot_buffer *inverse = igo_scratch(call, sizeof(float) * (uint64_t)(batch * block * block));
    launch_first(call, u, inverse, info);
    for (int64_t first = 0; first + block < n && !call->failed; first += block) {
        const uint32_t rest = (uint32_t)(n - first - block);
        const struct igo_block right = igo_block_of(u, first, first + block);
        const struct igo_product rows = {
            .a = igo_block_transposed(igo_block_in(inverse, 0, block, block * block)),
            .b = right,
            .c = right,
            .m = (uint32_t)block,
            .n = rest,
            .k = (uint32_t)block,
            .batch = batch,
            .alpha = 1};
        igo_product(call, &rows);
        const struct igo_product update = {.a = igo_block_transposed(right),
                                           .b = right,
                                           .c = igo_block_of(u, first + block, first + block),
                                           .m = rest,
                                           .n = rest,
                                           .k = (uint32_t)block,
                                           .batch = batch,
                                           .alpha = -1,
                                           .add = true,
                                           .part = PRODUCT_UPPER};
        const struct cholesky_step_args step = {.n = (uint32_t)n,
                                                .first = (uint32_t)(first + block)};
        struct igo_launch launch = {0};
        struct product_args args;
        bool wide = false;
        igo_product_launch(call, &update, &launch, &args, &wide);
        launch.kernel = wide ? "cholesky_next_128" : "cholesky_next_64";
        igo_launch_bytes(&launch, &args, sizeof args);
        igo_launch_buffer(&launch, inverse, 0);
        igo_launch_buffer(&launch, info->buffer, info->offset);
        igo_launch_bytes(&launch, &step, sizeof step);
        igo_dispatch(call, &launch);
    }
    launch_elements(call, "cholesky_finish", u, info);
    if (inverse) {
        igo_scratch_release(call, inverse);
    }
}

/* The whole blocked form at once; its panel must fit into threadgroup memory. */
static bool launch_whole(struct igo_call *call, const ingot_tensor *u, const ingot_arg *info) {
    const struct cholesky_step_args args = {.n = (uint32_t)igo_matrix_rows(u)};
    const uint32_t chunks = (args.n + 31) / 32;
    const uint32_t bytes = CHOLESKY_PANEL * CHOLESKY_WHOLE * (uint32_t)sizeof(float);
    if (args.n > igo_knob(call, KNOB_WHOLE) ||
        bytes > igo_device_info(call)->max_threadgroup_memory) {
        return false;
    }
    struct igo_launch launch = {.kernel = "cholesky_whole", .whole_simdgroups = true};
    igo_launch_tensor(&launch, u, NULL);
    igo_launch_buffer(&launch, info->buffer, info->offset);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.group[0] = 32 * (chunks < 8 ? 2 * chunks : 16);
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroups[0] = (uint32_t)igo_batch(u, 2);
    launch.threadgroups[1] = launch.threadgroups[2] = 1;
    launch.threadgroup_lengths[0] = bytes;
    launch.threadgroup_length_count = 1;
    igo_dispatch(call, &launch);
    return true;
}

static bool same_view(const ingot_tensor *a, const ingot_tensor *b) {
    return a->buffer == b->buffer && a->offset == b->offset;
}

static void launch_steps(struct igo_call *call, const ingot_tensor *u, const ingot_arg *info) {
    const uint32_t n = (uint32_t)igo_matrix_rows(u);
    for (uint32_t first = 0; first < n && !call->failed; first += CHOLESKY_PANEL) {
        launch_step(call, "cholesky_diagonal", u, info, first);
        if (first + CHOLESKY_PANEL < n) {
            launch_step(call, "cholesky_rows", u, NULL, first);
            launch_step(call, "cholesky_update", u, NULL, first);
        }
    }
    launch_elements(call, "cholesky_clear", u, NULL);
}

static void launch_blocked(struct igo_call *call, const ingot_cholesky_desc *desc,
                           const ingot_arg *info) {
    const ingot_tensor from = desc->upper ? *desc->a : igo_transposed(desc->a);
    const ingot_tensor to = desc->upper ? *desc->factor : igo_transposed(desc->factor);
    struct igo_float_view u;
    if (!igo_view_output(call, &to, &u)) {
        return;
    }
    if (u.copied || !same_view(&from, &u.tensor)) {
        igo_convert(call, &from, &u.tensor);
    }
    if (launch_whole(call, &u.tensor, info)) {
    } else if (igo_knob(call, KNOB_PRODUCTS)) {
        launch_products(call, &u.tensor, info);
    } else {
        launch_steps(call, &u.tensor, info);
    }
    igo_view_store(call, &u);
    igo_view_release(call, &u);
}

static bool check(struct igo_call *call, const ingot_cholesky_desc *desc) {
    if (!igo_check_matrix(call, "a", desc->a)) {
        return false;
    }
    const int64_t n = igo_matrix_rows(desc->a);
    char text[160];
    IGO_REQUIRE(call, igo_matrix_columns(desc->a) == n,
                "a has shape %s; its matrices must be square", igo_shape_text(desc->a, text));
    if (!igo_matrix_like(call, "factor", desc->factor, "a", desc->a, n, n)) {
        return false;
    }
    igo_batch_integers(call, "info", desc->info, desc->a, 0, 0, true);
    igo_distinct(call, "factor", desc->factor);
    igo_no_overlap(call, "factor", desc->factor, "a", desc->a, true);
    if (desc->info && !call->failed) {
        igo_no_overlap(call, "info", desc->info, "a", desc->a, false);
        igo_no_overlap(call, "info", desc->info, "factor", desc->factor, false);
    }
    return !call->failed;
}

ingot_status ingot_op_cholesky(ingot_ops *ops, ingot_stream *stream,
                               const ingot_cholesky_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_cholesky, &operations[0], desc);
    if (call.failed || !check(&call, desc) || igo_batch(desc->a, 2) == 0) {
        return igo_end(&call);
    }
    const int64_t n = igo_matrix_rows(desc->a), batch = igo_batch(desc->a, 2);
    if (n == 0) {
        if (desc->info) {
            igo_blit_fill(&call, desc->info, 0);
        }
        return igo_end(&call);
    }
    struct igo_class class_text = {0};
    igo_class_word(&class_text, n <= SMALL ? "small" : "blocked");
    igo_class_size(&class_text, "n", (uint64_t)n, 4096);
    igo_policy(&call, desc->a->type, &class_text);

    ingot_buffer *own = desc->info ? NULL : igo_scratch(&call, sizeof(int32_t) * (uint64_t)batch);
    const ingot_arg info = {.buffer = desc->info ? desc->info->buffer : own,
                            .offset = desc->info ? desc->info->offset : 0};
    if (n <= SMALL) {
        struct igo_float_view a = {0}, factor = {0};
        igo_view_input(&call, desc->a, &a);
        igo_view_output(&call, desc->factor, &factor);
        if (!call.failed) {
            launch_small(&call, &a.tensor, &factor.tensor, &info, desc->upper);
        }
        igo_view_store(&call, &factor);
        igo_view_release(&call, &a);
        igo_view_release(&call, &factor);
    } else if (!call.failed) {
        launch_blocked(&call, desc, &info);
    }
    if (own) {
        igo_scratch_release(&call, own);
    }
    return igo_end(&call);
}
