"""The gradient of the norm of many tensors."""
from __future__ import annotations

from ingot._torch.registry import differentiate_list


def register() -> None:
    """Registers the gradient of grad_norm: each tensor divided by the norm, 0 where that is 0."""

    def setup(ctx, inputs, output):
        ctx.save_for_backward(output, *inputs[0])

    def backward(ctx, d_norm):
        norm, *tensors = ctx.saved_tensors
        factor = (d_norm / norm).masked_fill(norm == 0, 0)
        return [(tensor * factor).to(tensor.dtype) for tensor in tensors]

    differentiate_list("grad_norm", backward, setup)
