/* Rotary position embedding (rope). */
#ifndef INGOT_OPS_POSITION_H
#define INGOT_OPS_POSITION_H

#include "ingot/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Turns pairs of the first `dims` elements of each row of x, [B, H, S, D]: pair i of a row at
 * position p by the angle p * scale * base^(-2i / dims). Pairs are (i, i + dims/2), or (2i, 2i + 1)
 * when interleaved. Elements from `dims` on are copied. The position of row s is offset + s, or
 * offset + positions[…][s]. Angles are exact to float32 for positions of any size.
 *
 * With tables, the angle's cosine and sine are those of row p of cos and sin, and base and scale
 * are not used; a position that the tables do not have gives NaN.
 *
 * Computed in float32. x and out may have any strides with a contiguous last dimension.
 */
typedef struct ingot_rope_desc {
    const ingot_tensor *x;         /* float32, float16 or bfloat16 */
    const ingot_tensor *out;       /* type and shape of x; may be the same view */
    const ingot_tensor *positions; /* optional: int32 or int64, [S] or [B, S] */
    const ingot_tensor *cos;       /* optional, both or none: [positions, dims/2], float32 or */
    const ingot_tensor *sin;       /* the type of x, any row stride */
    int64_t offset;
    int64_t dims; /* even, at most 1024; 0 = D */
    bool interleaved;
    double base;  /* 0 = 10000 */
    double scale; /* 0 = 1 */
} ingot_rope_desc;
INGOT_API ingot_status ingot_op_rope(ingot_ops *ops, ingot_stream *stream,
                                     const ingot_rope_desc *desc);

/* The gradient: the same with the angles turned back. x is the gradient of the output, out that of
 * the input. */
INGOT_API ingot_status ingot_op_rope_backward(ingot_ops *ops, ingot_stream *stream,
                                              const ingot_rope_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
