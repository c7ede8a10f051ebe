#ifndef INGOT_KERNELS_ADAMW_ARGS_H
#define INGOT_KERNELS_ADAMW_ARGS_H

#include "common/args.h"

/* An address: a pointer in kernels, a number on the host. */
#ifdef __METAL_VERSION__
typedef device uchar *adam_bytes;
typedef device float *adam_floats;
#else
typedef uint64_t adam_bytes;
typedef uint64_t adam_floats;
#endif

/* One parameter in the table of a launch. Blocks of all parameters are numbered through. */
struct adam_entry {
    adam_bytes param;
    adam_bytes grad;
    adam_floats exp_avg;
    adam_floats exp_avg_sq;
    adam_floats max_exp_avg_sq; /* with adam_amsgrad */
    adam_floats master;         /* with adam_master */
    uint64_t count;             /* elements */
    uint64_t first_block;
    uint32_t grad_type; /* of grad_norm: 0 float, 1 half, 2 bfloat */
    uint32_t reserved[3];
};

struct adam_args {
    uint64_t entries;
    uint64_t blocks;
    uint32_t block;   /* elements, a multiple of 128 */
    float grad_scale; /* 1, or -1 to maximise */
    float max_norm;   /* gradients are scaled down to it; 0: they are not */
    float decay;      /* parameters are multiplied by it */
    float l2;         /* times the parameter, added to the gradient */
    float beta1_rest; /* 1 - beta1 */
    float beta2;
    float beta2_rest; /* 1 - beta2 */
    float bias2;      /* 1 / (1 - beta2^step) */
    float eps;
    float step_size; /* lr / (1 - beta1^step) */
    uint32_t reserved;
};

/* What is added to the norm before max_norm is divided by it. */
#define ADAM_NORM_EPS 1e-6f

#endif
