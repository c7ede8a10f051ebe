/*
 * Activations, alone (silu, gelu, gelu_tanh) and times a second input (SwiGLU and its like), with
 * their gradients.
 *
 *   silu       x / (1 + exp(-x))
 *   gelu       x/2 * (1 + erf(x / sqrt(2)))
 *   gelu_tanh  x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
 *
 * All tensors of a call have one type (float32, float16, bfloat16) and one shape; each may have
 * a row stride of its own, as long as its last dimension is contiguous and the dimensions before
 * it can be walked with one stride. So gate and up may be the two halves of one tensor. An output
 * may be the same view as an input, or else must be apart from all inputs. Computed in float32.
 */
#ifndef INGOT_OPS_POINTWISE_H
#define INGOT_OPS_POINTWISE_H

#include "ingot/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out = f(x) */
typedef struct ingot_activation_desc {
    const ingot_tensor *x;
    const ingot_tensor *out;
} ingot_activation_desc;
INGOT_API ingot_status ingot_op_silu(ingot_ops *ops, ingot_stream *stream,
                                     const ingot_activation_desc *desc);
INGOT_API ingot_status ingot_op_gelu(ingot_ops *ops, ingot_stream *stream,
                                     const ingot_activation_desc *desc);
INGOT_API ingot_status ingot_op_gelu_tanh(ingot_ops *ops, ingot_stream *stream,
                                          const ingot_activation_desc *desc);

/* d_x = d_out * f'(x) */
typedef struct ingot_activation_backward_desc {
    const ingot_tensor *x;
    const ingot_tensor *d_out;
    const ingot_tensor *d_x;
} ingot_activation_backward_desc;
INGOT_API ingot_status ingot_op_silu_backward(ingot_ops *ops, ingot_stream *stream,
                                              const ingot_activation_backward_desc *desc);
INGOT_API ingot_status ingot_op_gelu_backward(ingot_ops *ops, ingot_stream *stream,
                                              const ingot_activation_backward_desc *desc);
INGOT_API ingot_status ingot_op_gelu_tanh_backward(ingot_ops *ops, ingot_stream *stream,
                                                   const ingot_activation_backward_desc *desc);

/* out = f(gate) * up */
typedef struct ingot_activation_mul_desc {
    const ingot_tensor *gate;
    const ingot_tensor *up;
    const ingot_tensor *out;
} ingot_activation_mul_desc;
INGOT_API ingot_status ingot_op_silu_mul(ingot_ops *ops, ingot_stream *stream,
                                         const ingot_activation_mul_desc *desc);
INGOT_API ingot_status ingot_op_gelu_mul(ingot_ops *ops, ingot_stream *stream,
                                         const ingot_activation_mul_desc *desc);
INGOT_API ingot_status ingot_op_gelu_tanh_mul(ingot_ops *ops, ingot_stream *stream,
                                              const ingot_activation_mul_desc *desc);

/* d_gate = d_out * up * f'(gate), d_up = d_out * f(gate) */
typedef struct ingot_activation_mul_backward_desc {
    const ingot_tensor *gate;
    const ingot_tensor *up;
    const ingot_tensor *d_out;
    const ingot_tensor *d_gate;
    const ingot_tensor *d_up;
} ingot_activation_mul_backward_desc;
INGOT_API ingot_status ingot_op_silu_mul_backward(ingot_ops *ops, ingot_stream *stream,
                                                  const ingot_activation_mul_backward_desc *desc);
INGOT_API ingot_status ingot_op_gelu_mul_backward(ingot_ops *ops, ingot_stream *stream,
                                                  const ingot_activation_mul_backward_desc *desc);
INGOT_API ingot_status ingot_op_gelu_tanh_mul_backward(
    ingot_ops *ops, ingot_stream *stream, const ingot_activation_mul_backward_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
