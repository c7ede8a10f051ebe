/* The host side of kernels for rows of few columns: several rows to a SIMD-group at a time. */
#ifndef INGOT_KERNELS_COMMON_FEW_COLUMNS_HOST_H
#define INGOT_KERNELS_COMMON_FEW_COLUMNS_HOST_H

#include "common/few_columns_args.h"
#include "ops/rows.h"

/* Launches them for such rows, "KERNEL_few_CHUNKS_TYPE"; false: the matrix is for other kernels.
 * It is for rows of up to `most` columns. After igo_matrix_policy. */
bool igo_launch_few(const struct igo_call *call, struct igo_launch *launch,
                    struct igo_matrix *matrix, const char *kernel, uint32_t most);

#endif
