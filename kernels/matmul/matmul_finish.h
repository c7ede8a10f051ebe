/* What becomes of a sum on its way out: bias, activation, and where it goes. */
#ifndef INGOT_KERNELS_MATMUL_FINISH_H
#define INGOT_KERNELS_MATMUL_FINISH_H

#include "common/activation.h"
#include "matmul/matmul_args.h"

inline float epilogue(float x, uint which) {
    switch (which) {
    case 1:
        return x < 0 ? 0.0f : x; // keeps NaN
    case 2:
        return silu_function::value(x);
    case 3:
        return gelu_function::value(x);
    case 4:
        return gelu_tanh_function::value(x);
    default:
        return x;
    }
}

template <typename T>
inline void finish(float sum, uint row, uint column, device const T *bias, device T *out,
                   constant matmul_args &args) {
    if (args.out_transposed) {
        uint swap = row;
        row = column, column = swap;
    }
    if (args.has_bias) {
        sum += float(args.bias_step ? bias[column] : bias[0]);
    }
    out[row * args.out_stride + column] = T(epilogue(sum, args.epilogue));
}

// An element of the result on its way out: a part's sum as it is, or finished. `parts` are floats;
// where there is only one part, something of any alignment is bound instead.
template <typename T>
inline void put(float sum, ulong part, uint row, uint column, device const T *bias, device T *out,
                device uchar *parts, constant matmul_args &args) {
    if (args.parts > 1) {
        ((device float *)parts)[(part * args.m + row) * args.n + column] = sum;
    } else {
        finish(sum, row, column, bias, out, args);
    }
}

/* A sum of products, in its type. Of bfloat a NaN has zeros behind what a bfloat has, so rounding
 * by an addition never makes a number of it. */
template <typename T> inline T rounded_sum(float sum) {
    if constexpr (is_same_v<T, bfloat>) {
        const uint bits = as_type<uint>(sum);
        return as_type<bfloat>(ushort((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
    }
    return T(sum);
}

/* A sum of products of bfloat that CPUs make by pairs or matrix units: these have taken what is too
 * small to be normal for zeros before. */
template <typename T> inline T rounded_products(float sum) {
#ifdef __INGOT__
    if constexpr (is_same_v<T, bfloat>) {
        return as_type<bfloat>(ushort(__ingot_bfloat_of_sum(sum)));
    }
#endif
    return rounded_sum<T>(sum);
}

/* Is the result what the sums are, row by row? */
inline bool has_straight_way(constant matmul_args &args) {
    return args.parts == 1 && !args.has_bias && args.epilogue == 0 && !args.out_transposed;
}

/* Lines of a block on their way out, `across` of each, from the first one's place on; memory has
 * what is along a line side by side. OF_PRODUCTS: no other arithmetic was done with the sums. */
template <uint LINE, bool OF_PRODUCTS = false, typename T>
inline void put_lines(threadgroup const float *from, uint lines, uint across, uint row0,
                      uint column0, bool turned, ulong plane, device const T *bias, device T *out,
                      device uchar *parts, constant matmul_args &args, uint lane) {
    if (args.parts == 1 && !args.has_bias && args.epilogue == 0) {
        out += turned ? column0 * args.out_stride + row0 : row0 * args.out_stride + column0;
        for (uint l = 0; l < lines; l++) {
            threadgroup const float *line = from + l * LINE;
            device T *to = out + l * args.out_stride;
            for (uint x = 0; x < across; x += 32) {
                if (x + lane < across) {
                    to[x + lane] = OF_PRODUCTS ? rounded_products<T>(line[x + lane])
                                               : rounded_sum<T>(line[x + lane]);
                }
            }
        }
        return;
    }
    for (uint l = 0; l < lines; l++) {
        threadgroup const float *line = from + l * LINE;
        for (uint x = 0; x < across; x += 32) {
            if (x + lane < across) {
                uint row = row0 + (turned ? x + lane : l),
                     column = column0 + (turned ? l : x + lane);
                put(line[x + lane], plane, row, column, bias, out, parts, args);
            }
        }
    }
}

#endif
