/* What the two host files of svd share. */
#ifndef INGOT_KERNELS_SVD_H
#define INGOT_KERNELS_SVD_H

#include "common/matrices.h"
#include "svd/svd_args.h"

enum { SVD_SHARED_FLOATS = 128 + 2 * 32 + 64 }; /* svd_shared of jacobi.h */

struct svd_plan { /* tensors are dense float32; u and vh are s when they are not wanted */
    struct svd_args args;
    uint64_t count; /* matrices */
    ingot_tensor a, u, s, vh;
    bool shared; /* svd_shared.h */
};

struct svd_part {
    ingot_tensor a, u, s, vh;
};
/* The tensors from matrix `first` on. */
struct svd_part svd_part(const struct svd_plan *plan, uint64_t first);

/* More than 64 columns. */
void svd_large(struct igo_call *call, const struct svd_plan *plan);

#endif
