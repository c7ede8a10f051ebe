/* How far results are from the reference, and the reference's gradients from differences. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/internal.h"

static struct igh_bound default_bound(const struct igh_run *run, int slot) {
    (void)run;
    (void)slot;
    return (struct igh_bound){.ulps = 0.51};
}

/* The error of one element as a share of what is allowed; infinite when one is NaN or infinite and
 * the other is not so in the same way. */
static double error_share(double got, double expected, ingot_scalar_type type,
                          const struct igh_bound *bound) {
    if (isnan(expected)) {
        return isnan(got) ? 0 : INFINITY;
    }
    if (isinf(expected) || isinf(got)) {
        if (got == expected) {
            return 0;
        }
        /* The exact value may lie beyond the type's largest number, or just below it. */
        double limit = type == INGOT_SCALAR_F16 ? 65504 : 0x1.fep127;
        return isinf(got) != isinf(expected) && got * expected > 0 && !isinf(expected) &&
                       fabs(expected) >= limit * (1 - 0x1p-7)
                   ? 0
                   : INFINITY;
    }
    double allowed = bound->ulps * igh_ulp(type, expected) + bound->absolute;
    double difference = fabs(got - expected);
    return difference == 0 ? 0
           : isnan(got)    ? INFINITY
           : allowed > 0   ? difference / allowed
                           : INFINITY;
}

static void compare_slot(struct igh_run *run, int index) {
    const struct igh_tensor *slot = &run->slots[index];
    struct igh_bound bound = (run->suite->bound ? run->suite->bound : default_bound)(run, index);
    double *got = igh_got(run, index), worst = 0;
    if (!got) {
        ig_fail(&run->error, INGOT_OUT_OF_MEMORY, "no memory to compare %s", slot->name);
        return;
    }
    int64_t at = 0, count = igh_count(run, index);
    for (int64_t i = 0; i < count; i++) {
        double share = error_share(got[i], slot->expected[i], slot->tensor.type, &bound);
        if (share > worst || isnan(share)) {
            worst = share;
            at = i;
        }
    }
    igh_metric(run, slot->name, worst, 1);
    if (!(worst <= 1) && !run->error.status) {
        ig_fail(&run->error, INGOT_INTERNAL_ERROR, "%s[%lld] is %.9g; expected %.9g, within %.3g",
                slot->name, (long long)at, got[at], slot->expected[at],
                bound.ulps * igh_ulp(slot->tensor.type, slot->expected[at]) + bound.absolute);
    }
    free(got);
}

void igh_compare(struct igh_run *run) {
    for (int i = 0; i < IGH_MAX_SLOTS; i++) {
        if (run->slots[i].output && run->suite->reference) {
            compare_slot(run, i);
        }
    }
}

/* ---- gradients ---- */

enum { PROBES = 12 };

/* L = sum(out * upstream) in double */
static double loss(const struct igh_run *run, double *out) {
    const double *upstream = igh_values(run, run->suite->upstream);
    double sum = 0;
    run->suite->forward(run, out);
    for (int64_t i = 0, n = igh_count(run, run->suite->upstream); i < n; i++) {
        sum += out[i] * upstream[i];
    }
    return sum;
}

static double probe(struct igh_run *run, double *value, double *out) {
    /* Richardson: two central differences cancel the third-order term. */
    double kept = *value, step = 1e-3 * (fabs(kept) + 1), d[2];
    for (int i = 0; i < 2; i++) {
        double h = step / (1 << i);
        *value = kept + h;
        double above = loss(run, out);
        *value = kept - h;
        d[i] = (above - loss(run, out)) / (2 * h);
    }
    *value = kept;
    return (4 * d[1] - d[0]) / 3;
}

void igh_check_gradients(struct igh_run *run) {
    int64_t outputs = igh_count(run, run->suite->upstream);
    double *out = malloc(((size_t)outputs + 1) * sizeof *out);
    for (size_t g = 0; g < run->suite->gradient_count && out; g++) {
        int by = run->suite->gradients[g].by, gradient = run->suite->gradients[g].gradient;
        struct igh_tensor *input = &run->slots[by], *result = &run->slots[gradient];
        if (!input->name || !result->name) {
            continue;
        }
        int64_t count = igh_count(run, by);
        double worst = 0, scale = 0;
        for (int64_t i = 0; i < count; i++) {
            scale = fmax(scale, fabs(result->expected[i]));
        }
        for (int k = 0; k < PROBES && count; k++) {
            int64_t i = (int64_t)(igh_random(run) * (double)count);
            double numeric = probe(run, &input->values[i], out);
            worst = fmax(worst, fabs(numeric - result->expected[i]) / (scale + 1e-30));
        }
        char name[48];
        snprintf(name, sizeof name, "%s by differences", result->name);
        igh_metric(run, name, worst, 1e-6);
    }
    free(out);
}
