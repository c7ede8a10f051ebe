/* Quantised weights in double precision. */
#include "quantise/quantise_reference.h"

#include <stdlib.h>

struct igh_quantised_slots igh_quantised_at(int first, const int64_t *n) {
    return (struct igh_quantised_slots){
        .packed = first,
        .scales = first + 1,
        .biases = n[4] ? first + 2 : -1,
        .n = n[0],
        .k = n[1],
        .bits = (uint32_t)n[2],
        .group = (uint32_t)n[3],
    };
}

void igh_quantised_inputs(struct igh_run *run, struct igh_quantised_slots slots) {
    const int64_t words[] = {slots.n, slots.k * slots.bits / 32},
                  groups[] = {slots.n, slots.k / slots.group};
    double step = 1.0 / (1u << (slots.bits - 1));
    igh_input(run, slots.packed, "packed", INGOT_SCALAR_U32, 2, words,
              (struct igh_fill){IGH_INTEGER, 0, 4294967296.0});
    igh_input(run, slots.scales, "scales", run->type, 2, groups,
              (struct igh_fill){IGH_UNIFORM, 0.5 * step, 1.5 * step});
    igh_no_specials(run, slots.scales);
    if (slots.biases >= 0) {
        igh_input(run, slots.biases, "biases", run->type, 2, groups,
                  (struct igh_fill){IGH_UNIFORM, -1.2, -0.8});
        igh_no_specials(run, slots.biases);
    }
}

double *igh_quantised_values(const struct igh_run *run, struct igh_quantised_slots slots) {
    const int64_t count = slots.n * slots.k;
    const uint32_t bits = slots.bits;
    double *out = malloc(((size_t)count + 1) * sizeof *out);
    const double *words = igh_values(run, slots.packed), *scale = igh_values(run, slots.scales),
                 *bias = slots.biases >= 0 ? igh_values(run, slots.biases) : NULL;
    for (int64_t i = 0; out && i < count; i++) {
        uint32_t word = (uint32_t)words[i * bits / 32];
        double q = word >> (i * bits % 32) & ((1u << bits) - 1);
        int64_t g = i / slots.group;
        out[i] = bias ? scale[g] * q + bias[g] : scale[g] * (q - (1 << (bits - 1)));
    }
    return out;
}

ingot_quantised igh_quantised(const struct igh_run *run, struct igh_quantised_slots slots) {
    return (ingot_quantised){.packed = igh_tensor(run, slots.packed),
                             .scales = igh_tensor(run, slots.scales),
                             .biases = slots.biases >= 0 ? igh_tensor(run, slots.biases) : NULL,
                             .bits = slots.bits,
                             .group = slots.group};
}
