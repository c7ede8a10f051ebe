/* lu of few large matrices on GPUs, in panels of 32 columns: three launches each. */
#include "lu/lu.h"
#include "lu/lu_args.h"
#include "triangular/product.h"

enum { MOST_THREADS = 512 };

struct panel {
    const struct lu_matrices *all;
    ingot_buffer *kept, *moves;
    struct lu_columns_args args;
};

static void launch_columns(struct igo_call *call, const struct panel *p) {
    const uint32_t rows = p->args.rows - p->args.first;
    const uint32_t each = rows <= 2 * MOST_THREADS ? 2 : rows <= 4 * MOST_THREADS ? 4 : 8;
    struct igo_launch launch = {.whole_simdgroups = true};
    igo_launch_kernel(&launch, "lu_columns_%u", each);
    igo_launch_buffer(&launch, p->all->memory.buffer, p->all->memory.offset);
    igo_launch_buffer(&launch, p->kept, 0);
    igo_launch_buffer(&launch, p->all->pivots.buffer, p->all->pivots.offset);
    igo_launch_buffer(&launch, p->all->info.buffer, p->all->info.offset);
    igo_launch_buffer(&launch, p->moves, 0);
    igo_launch_bytes(&launch, &p->args, sizeof p->args);
    launch.group[0] = ((rows + each - 1) / each + 31) / 32 * 32;
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroups[0] = p->all->batch;
    launch.threadgroups[1] = launch.threadgroups[2] = 1;
    igo_dispatch(call, &launch);
}

static void launch_exchange(struct igo_call *call, const struct panel *p) {
    const uint32_t others = p->args.columns - p->args.width;
    if (others == 0) {
        return;
    }
    struct igo_launch launch = {
        .kernel = "lu_exchange",
        .group = {LU_EXCHANGE_THREADS, 1, 1},
        .threadgroups = {p->all->batch, (others + LU_EXCHANGE_THREADS - 1) / LU_EXCHANGE_THREADS,
                         1}};
    igo_launch_buffer(&launch, p->all->memory.buffer, p->all->memory.offset);
    igo_launch_buffer(&launch, p->moves, 0);
    igo_launch_bytes(&launch, &p->args, sizeof p->args);
    igo_dispatch(call, &launch);
}

static void update(struct igo_call *call, const struct panel *p) {
    const struct lu_columns_args *args = &p->args;
    const uint32_t end = args->first + args->width;
    if (end >= args->rows || end >= args->columns) {
        return;
    }
    const struct igo_block all = {.memory = p->all->memory,
                                  .row = args->stride,
                                  .column = 1,
                                  .matrix = (int64_t)args->matrix};
    const struct igo_product product = {.a = igo_block_at(all, end, args->first),
                                        .b = igo_block_at(all, args->first, end),
                                        .c = igo_block_at(all, end, end),
                                        .m = args->rows - end,
                                        .n = args->columns - end,
                                        .k = args->width,
                                        .batch = p->all->batch,
                                        .alpha = -1,
                                        .add = true};
    igo_product(call, &product);
}

void lu_in_products(struct igo_call *call, const struct lu_matrices *matrices) {
    struct panel p = {
        .all = matrices,
        .kept = igo_scratch(call,
                            sizeof(float) * (uint64_t)matrices->batch * matrices->rows * LU_PANEL),
        .moves = igo_scratch(call, sizeof(uint32_t) * 2 * LU_PANEL * (uint64_t)matrices->batch),
        .args = {.matrix = (uint64_t)matrices->rows * matrices->stride,
                 .rows = matrices->rows,
                 .columns = matrices->columns,
                 .stride = matrices->stride,
                 .steps = matrices->steps},
    };
    for (; p.args.first < p.args.steps && !call->failed; p.args.first += LU_PANEL) {
        const uint32_t left = p.args.steps - p.args.first;
        p.args.width = left < LU_PANEL ? left : LU_PANEL;
        launch_columns(call, &p);
        launch_exchange(call, &p);
        update(call, &p);
    }
    if (p.kept) {
        igo_scratch_release(call, p.kept);
    }
    if (p.moves) {
        igo_scratch_release(call, p.moves);
    }
}
