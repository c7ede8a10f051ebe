/* Products of float32 matrices as steps of another operation's call, on many threadgroups: the
 * updates of blocked factorisations. */
#ifndef INGOT_KERNELS_PRODUCT_H
#define INGOT_KERNELS_PRODUCT_H

#include "ops/call.h"
#include "triangular/triangular_args.h"

/* A matrix inside a buffer: its first element and its strides, in elements; `matrix`: from one of a
 * batch to the next. */
struct igo_block {
    ingot_arg memory;
    int64_t first, row, column, matrix;
};
/* A dense tensor's matrices from (row, column) on. */
struct igo_block igo_block_of(const ingot_tensor *tensor, int64_t row, int64_t column);
/* The same in a scratch buffer, rows `stride` and matrices `matrix` apart. */
struct igo_block igo_block_in(ingot_buffer *buffer, int64_t first, int64_t stride, int64_t matrix);
struct igo_block igo_block_transposed(struct igo_block block);
struct igo_block igo_block_at(struct igo_block block, int64_t row, int64_t column);

struct igo_product {
    struct igo_block a, b, c; /* c's rows or columns are contiguous, a's and b's too */
    uint32_t m, n, k, batch;
    float alpha;
    bool add;               /* to c */
    enum product_part part; /* of c; tiles on its border are written whole */
    uint32_t parts;         /* of k, sums of their own: c_part apart; 0 and 1: one */
    int64_t c_part;
};
/* c may be a or b's memory where it is one tile high (wide), of igo_product_tile() rows. */
bool igo_product(struct igo_call *call, const struct igo_product *product);
/* How igo_product would launch it, for kernels of other folders on product_tiles.h: fills the grid
 * and the threads, binds a, b, c and the arguments. `wide`: tiles of 128 instead of 64. */
void igo_product_launch(struct igo_call *call, const struct igo_product *product,
                        struct igo_launch *launch, struct product_args *args, bool *wide);
/* The number of parts of k that fill the device. */
uint32_t igo_product_parts(const struct igo_call *call, const struct igo_product *product);

enum { IGO_PRODUCT_TILE = 16 * PRODUCT_PER };

#endif
