"""Gradients of the norms, softmax, log_softmax and cross entropy; second ones by torch's own operators."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ingot._torch.registry import ctx_needs, differentiate, differentiate_by, direct

REDUCTIONS = ("mean", "sum", "none")


def register() -> None:
    """Registers the gradients."""
    register_rms_norm()
    register_add_rms_norm()
    register_layer_norm()
    register_softmax()
    register_log_softmax()
    register_cross_entropy()


def leading(tensor: Tensor) -> list[int]:
    """The dimensions before the last one."""
    return list(range(tensor.dim() - 1))


def sum_rows(tensor: Tensor) -> Tensor:
    """The sum over all dimensions but the last, in float32 at least."""
    if tensor.dim() == 1:
        return tensor
    return tensor.sum(leading(tensor))


def rms_norm_gradients(d_out: Tensor, x: Tensor, weight: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
    """rms_norm_backward from differentiable operators."""
    reciprocal = torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)
    normal = x * reciprocal
    weighted = d_out if weight is None else d_out * weight
    d_x = reciprocal * (weighted - normal * (weighted * normal).mean(-1, keepdim=True))
    return d_x, x.new_empty(0) if weight is None else sum_rows(d_out * normal)


def layer_norm_gradients(d_out: Tensor, x: Tensor, weight: Tensor | None,
                         eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """layer_norm_backward from differentiable operators."""
    centred = x - x.mean(-1, keepdim=True)
    reciprocal = torch.rsqrt((centred * centred).mean(-1, keepdim=True) + eps)
    normal = centred * reciprocal
    weighted = d_out if weight is None else d_out * weight
    d_x = reciprocal * (weighted - weighted.mean(-1, keepdim=True)
                        - normal * (weighted * normal).mean(-1, keepdim=True))
    if weight is None:
        return d_x, x.new_empty(0), x.new_empty(0)
    return d_x, sum_rows(d_out * normal), sum_rows(d_out)


def cross_entropy_gradient(d_loss: Tensor, logits: Tensor, targets: Tensor, reduction: int,
                           label_smoothing: float, ignore_index: int) -> Tensor:
    """cross_entropy_backward from differentiable operators."""
    counted = targets != ignore_index
    wanted = F.one_hot(torch.where(counted, targets, 0).long(), logits.shape[1]).to(logits.dtype)
    wanted = wanted * (1 - label_smoothing) + label_smoothing / logits.shape[1]
    per_row = d_loss / counted.sum() if reduction == 0 else d_loss
    factor = torch.where(counted, per_row, 0).unsqueeze(1)
    return (torch.softmax(logits, 1) - wanted) * factor


def register_rms_norm() -> None:
    """x and weight."""
    backward_operator = direct("rms_norm_backward")

    def setup(ctx, inputs, output):
        x, weight, ctx.eps = inputs
        ctx.save_for_backward(x, weight)

    def backward(ctx, d_out):
        x, weight = ctx.saved_tensors
        d_x, d_weight = backward_operator(d_out, x, weight, ctx.eps)
        return d_x, None if weight is None else d_weight, None

    differentiate("rms_norm", backward, setup)
    differentiate_by("rms_norm_backward", rms_norm_gradients, 3)


def register_add_rms_norm() -> None:
    """x, residual (the same gradient) and weight, from the gradients of both outputs."""
    backward_operator = direct("add_rms_norm_backward")

    def setup(ctx, inputs, output):
        _, _, weight, ctx.eps = inputs
        ctx.save_for_backward(output[1], weight)
        ctx.set_materialize_grads(False)

    def backward(ctx, d_out, d_sum):
        total, weight = ctx.saved_tensors
        if d_out is None:
            return d_sum, d_sum, None, None
        d_x, d_weight = backward_operator(d_out, d_sum, total, weight, ctx.eps)
        return d_x, d_x, None if weight is None else d_weight, None

    def gradients(d_out, d_sum, total, weight, eps):
        d_x, d_weight = rms_norm_gradients(d_out, total, weight, eps)
        return d_x if d_sum is None else d_x + d_sum, d_weight

    differentiate("add_rms_norm", backward, setup)
    differentiate_by("add_rms_norm_backward", gradients, 4)


def register_layer_norm() -> None:
    """x, weight and bias."""
    backward_operator = direct("layer_norm_backward")

    def setup(ctx, inputs, output):
        x, weight, bias, ctx.eps = inputs
        ctx.save_for_backward(x, weight)
        ctx.bias_dtype = None if bias is None else bias.dtype

    def backward(ctx, d_out):
        x, weight = ctx.saved_tensors
        d_x, d_weight, d_bias = backward_operator(d_out, x, weight, ctx.eps)
        if weight is None:
            d_weight = None
            d_bias = sum_rows(d_out.float()).to(ctx.bias_dtype) if ctx_needs(ctx, 2) else None
        return d_x, d_weight, d_bias if ctx_needs(ctx, 2) else None, None

    differentiate("layer_norm", backward, setup)
    differentiate_by("layer_norm_backward", layer_norm_gradients, 3)


def register_softmax() -> None:
    """x, and a mask that is added: its gradient is that of x before the scale, summed to its shape."""
    backward_operator = direct("softmax_backward")

    def setup(ctx, inputs, output):
        x, mask, ctx.scale, _, _ = inputs
        ctx.save_for_backward(output)
        ctx.mask = None if mask is None else (mask.shape, mask.dtype)

    def backward(ctx, d_out):
        (out,) = ctx.saved_tensors
        d_x = backward_operator(d_out, out, ctx.scale) if ctx_needs(ctx, 0) else None
        d_mask = None
        if ctx_needs(ctx, 1):
            shape, dtype = ctx.mask
            d_mask = backward_operator(d_out, out, 1.0).float().sum_to_size(shape).to(dtype)
        return d_x, d_mask, None, None, None

    def gradient(d_out, out, scale):
        return scale * out * (d_out - (out * d_out).sum(-1, keepdim=True))

    differentiate("softmax", backward, setup)
    differentiate_by("softmax_backward", gradient, 2)


def register_log_softmax() -> None:
    """x."""
    backward_operator = direct("log_softmax_backward")

    def setup(ctx, inputs, output):
        ctx.save_for_backward(output)

    def backward(ctx, d_out):
        return backward_operator(d_out, *ctx.saved_tensors)

    differentiate("log_softmax", backward, setup)
    differentiate_by("log_softmax_backward",
                     lambda d_out, out: d_out - torch.exp(out) * d_out.sum(-1, keepdim=True), 2)


def register_cross_entropy() -> None:
    """The logits."""
    backward_operator = direct("cross_entropy_backward")

    def setup(ctx, inputs, output):
        logits, targets, *ctx.options = inputs
        ctx.save_for_backward(logits, targets)

    def backward(ctx, d_loss):
        logits, targets = ctx.saved_tensors
        d_logits = backward_operator(d_loss.float(), logits, targets, *ctx.options)
        return d_logits, None, None, None, None

    differentiate("cross_entropy", backward, setup)
    differentiate_by("cross_entropy_backward", cross_entropy_gradient, 3)
