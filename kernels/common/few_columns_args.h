/* Of kernels for few columns, on the host and in kernels. */
#ifndef INGOT_KERNELS_COMMON_FEW_COLUMNS_ARGS_H
#define INGOT_KERNELS_COMMON_FEW_COLUMNS_ARGS_H

#define FEW_CHUNKS 4  /* of 32 columns at most */
#define FEW_AHEAD  32 /* rows that are prefetched */
#define FEW_ROWS   8  /* that a SIMD-group takes at a time, of one chunk; of more, as many fewer */

#endif
