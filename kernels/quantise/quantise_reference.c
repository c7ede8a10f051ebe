/* Quantised weights in double precision. */
#include "quantise/quantise_reference.h"

#include <stdlib.h>

void igh_quantised_inputs(struct igh_run *run, int packed, int scales, int biases, int64_t n,
                          int64_t k, uint32_t bits, uint32_t group, double size,
                          ingot_scalar_type scale_type) {
    const int64_t words[] = {n, k * bits / 32}, groups[] = {n, k / group};
    double step = size / (1u << (bits - 1));
    igh_input(run, packed, "packed", INGOT_SCALAR_U32, 2, words,
              (struct igh_fill){IGH_INTEGER, 0, 4294967296.0});
    igh_input(run, scales, "scales", scale_type, 2, groups,
              (struct igh_fill){IGH_UNIFORM, 0.5 * step, 1.5 * step});
    igh_no_specials(run, scales);
    if (biases >= 0) {
        igh_input(run, biases, "biases", scale_type, 2, groups,
                  (struct igh_fill){IGH_UNIFORM, -1.2 * size, -0.8 * size});
        igh_no_specials(run, biases);
    }
}

double *igh_quantised_values(const struct igh_run *run, int packed, int scales, int biases,
                             int64_t n, int64_t k, uint32_t bits, uint32_t group) {
    double *out = malloc(((size_t)(n * k) + 1) * sizeof *out);
    const double *words = igh_values(run, packed), *scale = igh_values(run, scales),
                 *bias = biases >= 0 ? igh_values(run, biases) : NULL;
    for (int64_t i = 0; out && i < n * k; i++) {
        uint32_t word = (uint32_t)words[i * bits / 32];
        double q = word >> (i * bits % 32) & ((1u << bits) - 1);
        int64_t g = i / group;
        out[i] = bias ? scale[g] * q + bias[g] : scale[g] * (q - (1 << (bits - 1)));
    }
    return out;
}

ingot_quantised igh_quantised(const struct igh_run *run, int packed, int scales, int biases,
                              uint32_t bits, uint32_t group) {
    return (ingot_quantised){.packed = igh_tensor(run, packed),
                             .scales = igh_tensor(run, scales),
                             .biases = biases >= 0 ? igh_tensor(run, biases) : NULL,
                             .bits = bits,
                             .group = group};
}
