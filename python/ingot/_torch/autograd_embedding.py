"""Gradients of embedding bags: dense ones, of the table and of the sample weights."""
from __future__ import annotations

from ingot._torch.registry import ctx_needs, differentiate, operator, refuse_gradient_of

SUM, MEAN, MAX = 0, 1, 2


def register() -> None:
    """Registers the gradients."""
    register_embedding_bag()
    register_embedding_bag_backward()


def register_embedding_bag() -> None:
    """The table and the sample weights."""
    backward_operator = operator("embedding_bag_backward")

    def setup(ctx, inputs, output):
        table, indices, offsets, sample_weights, *ctx.options = inputs
        ctx.save_for_backward(table, indices, offsets, sample_weights, output[1])
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    def backward(ctx, d_out, d_largest):
        if d_out is None:
            return (None,) * 7
        d_table, d_sample_weights = backward_operator(d_out, *ctx.saved_tensors, *ctx.options)
        return (d_table, None, None, d_sample_weights if ctx_needs(ctx, 3) else None, None, None, None)

    differentiate("embedding_bag", backward, setup)


def register_embedding_bag_backward() -> None:
    """The table's gradient is linear in d_out: its own gradient is the bags of its rows. That of the sample
    weights and that of max have none."""
    forward_operator = operator("embedding_bag")

    def setup(ctx, inputs, output):
        _, table, indices, offsets, sample_weights, _, *ctx.options = inputs
        refuse_gradient_of("embedding_bag_backward", "sample_weights", sample_weights)
        ctx.save_for_backward(indices, offsets, sample_weights)

    def backward(ctx, d_d_table, d_d_weights):
        if ctx.options[0] == MAX:
            raise RuntimeError("ingot::embedding_bag_backward has no gradient with mode max")
        indices, offsets, sample_weights = ctx.saved_tensors
        d_d_out, _ = forward_operator(d_d_table, indices, offsets, sample_weights, *ctx.options)
        return (d_d_out, *(None,) * 8)

    differentiate("embedding_bag_backward", backward, setup)
