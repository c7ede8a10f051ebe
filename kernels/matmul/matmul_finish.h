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

#endif
