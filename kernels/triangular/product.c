/* Products of float32 matrices on the host: the tile's size, and the launch. */
#include "triangular/product.h"

#include "common/matrices.h"
#include "triangular/triangular.h"

/* Threadgroups that fill a large GPU; the least k from which larger tiles pay: below, memory is
 * what takes the time, and more threadgroups wait for it together. */
enum { GROUPS = 264, WIDE_DEPTH = 96 };

struct igo_block igo_block_of(const ingot_tensor *tensor, int64_t row, int64_t column) {
    const int64_t columns = igo_matrix_columns(tensor);
    return (struct igo_block){.memory = {.buffer = tensor->buffer, .offset = tensor->offset},
                              .first = row * columns + column,
                              .row = columns,
                              .column = 1,
                              .matrix = igo_matrix_rows(tensor) * columns};
}

struct igo_block igo_block_in(ingot_buffer *buffer, int64_t first, int64_t stride, int64_t matrix) {
    return (struct igo_block){
        .memory = {.buffer = buffer}, .first = first, .row = stride, .column = 1, .matrix = matrix};
}

struct igo_block igo_block_transposed(struct igo_block block) {
    const int64_t row = block.row;
    block.row = block.column;
    block.column = row;
    return block;
}

struct igo_block igo_block_at(struct igo_block block, int64_t row, int64_t column) {
    block.first += row * block.row + column * block.column;
    return block;
}

static uint32_t tiles(uint32_t extent, uint32_t per) {
    return (extent + 16 * per - 1) / (16 * per);
}

uint32_t igo_product_parts(const struct igo_call *call, const struct igo_product *p) {
    (void)call;
    const uint64_t groups =
        (uint64_t)tiles(p->m, PRODUCT_PER) * tiles(p->n, PRODUCT_PER) * p->batch;
    const uint64_t most = (p->k + 127) / 128, wanted = (GROUPS + groups - 1) / groups;
    return (uint32_t)(wanted < most ? wanted : most ? most : 1);
}

void igo_product_launch(struct igo_call *call, const struct igo_product *p,
                        struct igo_launch *launch, struct product_args *args, bool *wide) {
    (void)call;
    const struct igo_block *a = &p->a, *b = &p->b, *c = &p->c;
    const uint32_t parts = p->parts > 1 ? p->parts : 1;
    const uint64_t tiles_128 =
        (uint64_t)tiles(p->m, PRODUCT_PER_WIDE) * tiles(p->n, PRODUCT_PER_WIDE) * p->batch * parts;
    *wide = p->k >= WIDE_DEPTH && p->m > IGO_PRODUCT_TILE && p->n > IGO_PRODUCT_TILE &&
            tiles_128 / (p->part == PRODUCT_WHOLE ? 1 : 2) >= GROUPS;
    const uint32_t per = *wide ? PRODUCT_PER_WIDE : PRODUCT_PER;
    *args = (struct product_args){.a_first = a->first,
                                  .a_row = a->row,
                                  .a_column = a->column,
                                  .a_matrix = a->matrix,
                                  .b_first = b->first,
                                  .b_row = b->row,
                                  .b_column = b->column,
                                  .b_matrix = b->matrix,
                                  .c_first = c->first,
                                  .c_row = c->row,
                                  .c_matrix = c->matrix,
                                  .c_part = p->c_part,
                                  .m = p->m,
                                  .n = p->n,
                                  .k = p->k,
                                  .depth = ((p->k + parts - 1) / parts + 7) / 8 * 8,
                                  .batch = p->batch,
                                  .part = (uint32_t)p->part,
                                  .add = p->add,
                                  .alpha = p->alpha};
    args->fours = c->memory.offset % 16 == 0 && c->first % 4 == 0 && c->row % 4 == 0 &&
                  c->matrix % 4 == 0 && p->c_part % 4 == 0;
    igo_launch_buffer(launch, a->memory.buffer, a->memory.offset);
    igo_launch_buffer(launch, b->memory.buffer, b->memory.offset);
    igo_launch_buffer(launch, c->memory.buffer, c->memory.offset);
    launch->whole_simdgroups = true;
    launch->group[0] = PRODUCT_THREADS;
    launch->group[1] = launch->group[2] = 1;
    launch->threadgroups[0] = p->batch * parts;
    launch->threadgroups[1] = tiles(p->n, per);
    launch->threadgroups[2] = tiles(p->m, per);
}

bool igo_product(struct igo_call *call, const struct igo_product *product) {
    struct igo_product p = *product;
    if (p.m == 0 || p.n == 0 || call->failed) {
        return !call->failed;
    }
    if (p.c.column != 1) { /* c' = b' a' */
        const struct igo_block a = p.a;
        p.a = igo_block_transposed(p.b);
        p.b = igo_block_transposed(a);
        p.c = igo_block_transposed(p.c);
        const uint32_t m = p.m;
        p.m = p.n;
        p.n = m;
        p.part = p.part == PRODUCT_UPPER   ? PRODUCT_LOWER
                 : p.part == PRODUCT_LOWER ? PRODUCT_UPPER
                                           : PRODUCT_WHOLE;
    }
    struct igo_launch launch = {.library = &igo_library_triangular};
    struct product_args args;
    bool wide = false;
    igo_product_launch(call, &p, &launch, &args, &wide);
    launch.kernel = wide ? "product_128" : "product_64";
    igo_launch_bytes(&launch, &args, sizeof args);
    return igo_dispatch(call, &launch);
}
