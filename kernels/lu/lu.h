/* What the host files of lu share. */
#ifndef INGOT_KERNELS_LU_H
#define INGOT_KERNELS_LU_H

#include "ops/call.h"

/* Matrices of [batch][rows][stride] float32, factored in place in `steps` steps; columns beyond the
 * steps are carried along. */
struct lu_matrices {
    ingot_arg memory;
    uint32_t batch, rows, columns, stride, steps;
    ingot_arg pivots, info;
};

/* Few large matrices on a GPU (lu_products.h): up to LU_COLUMNS_ROWS rows. */
void lu_in_products(struct igo_call *call, const struct lu_matrices *matrices);

#endif
