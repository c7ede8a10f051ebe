/*
 * Groupwise quantised weights, 4 and 8 bits.
 *
 * A matrix [n, k] is cut into groups of 32, 64 or 128 consecutive elements of a row (k is a
 * multiple of the group). An element is an unsigned number q of `bits` bits, and stands for scale *
 * q + bias            with biases, or scale * (q - 2^(bits - 1))  without: symmetric. A zero point
 * z, as others store it, is the bias -scale * z.
 *
 * packed   u32 [n, k * bits / 32], or the same bytes as u8 [n, k * bits / 8]: element i of a row is
 * at bit i * bits, counted from the lowest bit of the first byte (low nibble first) scales   [n, k
 * / group], float32 or a half type biases   the same shape and type as scales, or NULL All are
 * dense.
 */
#ifndef INGOT_OPS_QUANTISED_H
#define INGOT_OPS_QUANTISED_H

#include "ingot/ops.h"
#include "ingot/ops/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ingot_quantised {
    const ingot_tensor *packed;
    const ingot_tensor *scales;
    const ingot_tensor *biases; /* NULL: symmetric */
    uint32_t bits;              /* 4 or 8 */
    uint32_t group;             /* 32, 64 or 128 */
} ingot_quantised;

/* Finds scales (and biases) and rounds to the nearest q. With biases, the least and the largest
 * element of a group are met up to the scales' rounding; without, the one with the largest
 * magnitude is. */
typedef struct ingot_quantise_desc {
    const ingot_tensor *x; /* [n, k] */
    ingot_quantised out;
} ingot_quantise_desc;
INGOT_API ingot_status ingot_op_quantise(ingot_ops *ops, ingot_stream *stream,
                                         const ingot_quantise_desc *desc);

/* out [n, k] in any float type, rounded once. */
typedef struct ingot_dequantise_desc {
    ingot_quantised x;
    const ingot_tensor *out;
} ingot_dequantise_desc;
INGOT_API ingot_status ingot_op_dequantise(ingot_ops *ops, ingot_stream *stream,
                                           const ingot_dequantise_desc *desc);

/* out [m, n] = x [m, k] times the transposed weights [n, k], plus bias [n]; x and out may have rank
 * 1 (m = 1). x, bias and out have one type. Up to 8 vectors at once are read together (decoding);
 * more go by eights: for many, use ingot_op_quantised_matmul. */
typedef struct ingot_quantised_matvec_desc {
    const ingot_tensor *x;
    ingot_quantised weights;
    const ingot_tensor *bias; /* NULL: none */
    const ingot_tensor *out;
} ingot_quantised_matvec_desc;
INGOT_API ingot_status ingot_op_quantised_matvec(ingot_ops *ops, ingot_stream *stream,
                                                 const ingot_quantised_matvec_desc *desc);

/* The same product for many rows of x: out [..., n] = epilogue(x [..., k] by the transposed weights
 * + bias). The weights are turned into numbers of x's type by panels of rows that stay in the
 * cache, each multiplied at once; few rows go to quantised_matvec. x and out have one stride from
 * row to row. */
typedef struct ingot_quantised_matmul_desc {
    const ingot_tensor *x;
    ingot_quantised weights;
    const ingot_tensor *bias; /* [n], NULL: none */
    const ingot_tensor *out;
    ingot_epilogue epilogue;
} ingot_quantised_matmul_desc;
INGOT_API ingot_status ingot_op_quantised_matmul(ingot_ops *ops, ingot_stream *stream,
                                                 const ingot_quantised_matmul_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
