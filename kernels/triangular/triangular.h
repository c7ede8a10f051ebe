/* Triangular systems as steps of another operation's call. */
#ifndef INGOT_KERNELS_TRIANGULAR_H
#define INGOT_KERNELS_TRIANGULAR_H

#include "ops/call.h"

extern const struct igo_library igo_library_triangular;

struct igo_triangular {
    const ingot_tensor *a;     /* float32, dense, [..., rows >= n, columns >= n] */
    const ingot_tensor *b, *x; /* float32, dense, [..., n, columns]; may be the same */
    int64_t n;
    bool upper, transposed, unit;
    uint32_t simds;  /* strips of 32 columns per threadgroup */
    uint32_t blocks; /* the least n for blocks of 64 rows and products; 0: never */
    int64_t a_row;   /* from row to row of a, if not its columns */
};
bool igo_triangular_solve(struct igo_call *call, const struct igo_triangular *system);

#endif
