/* Scaling of matrix columns by powers of two. */
#ifndef INGOT_KERNELS_COMMON_COLUMNS_H
#define INGOT_KERNELS_COMMON_COLUMNS_H

/* A power of two, whose reciprocal is finite too, that brings a column whose largest absolute
 * value is `largest` near 1. Zero and what is not finite stay as they are. */
inline float column_scale(float largest) {
    if (!(largest > 0) || largest > 3.4e38f) {
        return 1;
    }
    uint exponent = as_type<uint>(largest) >> 23; /* 0 for denormals */
    return as_type<float>(clamp(254u - exponent, 1u, 253u) << 23);
}

#endif
