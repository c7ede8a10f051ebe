/* The backward of rms_norm, which add_rms_norm's shares. */
#ifndef INGOT_KERNELS_RMS_NORM_BACKWARD_H
#define INGOT_KERNELS_RMS_NORM_BACKWARD_H

#include "ops/rows.h"

enum { RMS_NORM_BACKWARD_KNOBS = 4 };
extern const ingot_ops_knob rms_norm_backward_knobs[RMS_NORM_BACKWARD_KNOBS];
extern const struct igo_library igo_library_rms_norm;

struct rms_norm_backward {
    const char *x_name;
    const ingot_tensor *x, *weight, *dy, *rstd;
    const ingot_tensor *add; /* added to dx; may be NULL */
    const char *add_name;
    const ingot_tensor *dx, *dweight;
    float eps;
};

/* Checks and launches. The operation's knobs are rms_norm_backward_knobs. */
void rms_norm_backward_run(struct igo_call *call, const struct rms_norm_backward *backward);

#endif
