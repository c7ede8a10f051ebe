#ifndef INGOT_KERNELS_EIGH_ARGS_H
#define INGOT_KERNELS_EIGH_ARGS_H

#include "common/args.h"

/* Matrices are dense and row-major. */
struct eigh_args {
    uint32_t count; /* matrices */
    uint32_t n;
    uint32_t upper;     /* which triangle is read */
    uint32_t vectors;   /* are they wanted? */
    uint32_t per_group; /* matrices of a threadgroup (Jacobi) */

    /* The rest is of the tridiagonal method; scratch memory per matrix, see eigh_plan. */
    uint32_t step;      /* column that is being reduced */
    uint32_t ld;        /* floats from row to row: n rounded up to 32 */
    uint32_t tile;      /* floats from tile to tile of Q */
    uint32_t rotations; /* that one round of QL may record */
    uint32_t sweeps;    /* likewise */
};

/* Divide and conquer: rows b * n >> levels are where leaf b begins; at `level` 1 << level leaves
 * are joined. */
struct eigh_divide_args {
    uint32_t n, ld;
    uint32_t levels, level;
    uint32_t turn; /* which of two arrays of values is the present one */
};
/* Floats of scratch memory: arrays of ld for joins, and what a leaf has. */
#define EIGH_JOINT_ARRAYS 14
#define EIGH_LEAF         32
#define EIGH_LEAF_FLOATS  (33 * 32 + 64)

/* Scalars of one matrix, at the start of its `state`. */
struct eigh_state {
    float scale;
    uint32_t odd;    /* not all finite */
    uint32_t next;   /* eigenvalue that QL works on; n: done */
    uint32_t sweeps; /* recorded in this round */
    uint32_t total;  /* sweeps in all */
    uint32_t reserved[3];
};

#endif
