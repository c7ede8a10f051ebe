/* Products of Householder reflections in blocks of up to 64, as steps of another operation's call:
 * h0 h1 ... = 1 - v t v', with a reflection 1 - tau v v' for each column of v. One whose tau is 0
 * has a v of zeros. */
#ifndef INGOT_KERNELS_REFLECTORS_H
#define INGOT_KERNELS_REFLECTORS_H

#include "triangular/product.h"

enum { IGO_REFLECTORS = TRIANGULAR_BLOCK };

/* Makes the triangles t, 64 by 64 each, of `blocks` blocks of each of `batch` matrices. */
struct igo_reflectors {
    struct igo_block v; /* rows x width; `matrix`: from block to block and matrix to matrix */
    uint32_t rows, width;
    ingot_buffer *taus, *t;
    uint64_t first_tau, tau_matrix; /* 64 for each block, with any number after `width` */
    uint64_t first_t, t_matrix;     /* 4096 for each block */
    uint32_t blocks, batch;
};
/* Floats of scratch memory that it needs. */
uint64_t igo_reflector_floats(const struct igo_call *call, const struct igo_reflectors *reflectors);
bool igo_reflector_triangles(struct igo_call *call, const struct igo_reflectors *reflectors,
                             ingot_buffer *scratch);

struct igo_reflection {
    struct igo_block v, target; /* v: rows x width; target: rows x columns */
    ingot_buffer *t;
    uint64_t first_t, t_matrix; /* of the block's triangle; from one of a batch to the next */
    uint32_t rows, width, columns, batch;
    bool adjoint; /* t' instead of t */
};
/* Floats of scratch memory that igo_reflect needs. */
uint64_t igo_reflect_floats(const struct igo_call *call, const struct igo_reflection *reflection);
bool igo_reflect(struct igo_call *call, const struct igo_reflection *reflection,
                 ingot_buffer *scratch);

#endif
