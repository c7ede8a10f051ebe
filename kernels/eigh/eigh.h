/* What the host files of eigh share. */
#ifndef INGOT_KERNELS_EIGH_H
#define INGOT_KERNELS_EIGH_H

#include "eigh/eigh_args.h"
#include "ops/call.h"

extern const struct igo_library igo_library_eigh;

struct eigh_plan {
    struct eigh_args args;
    uint64_t count; /* matrices */
    ingot_tensor a, values, vectors;
    bool has_vectors;
    uint32_t simd, rows, jacobi, quick, whole, divide;
};

/* Matrices from number `first` on, of `elements` float32 each. */
static inline ingot_tensor eigh_part(const ingot_tensor *t, uint64_t first, uint64_t elements) {
    ingot_tensor part = *t;
    part.offset += first * elements * 4;
    return part;
}

/* With vectors, on GPUs. False when rows are too long for threadgroup memory. */
bool eigh_divide(struct igo_call *call, const struct eigh_plan *plan);

#endif
