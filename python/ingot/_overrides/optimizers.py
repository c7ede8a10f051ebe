"""torch.optim.Adam and AdamW: the step of all parameters of a group in one call."""

from __future__ import annotations

from typing import Any

import torch

from ingot._overrides.dispatch import function
from ingot._overrides.limits import within

ops = torch.ops.ingot
_PLAIN = {torch.Tensor, torch.nn.Parameter}


def _dense_float32(tensors: Any) -> bool:
    """Whether all are dense float32 tensors on the CPU, and no subclass. (There may be hundreds.)"""
    return (
        set(map(type, tensors)) <= _PLAIN
        and {x.layout for x in tensors} <= {torch.strided}
        and {x.dtype for x in tensors} <= {torch.float32}
        and all([x.is_cpu for x in tensors])
        and all(map(torch.Tensor.is_contiguous, tensors))
    )


@function("optimizers", "torch.optim.adam.adam")
def adam(
    params: Any,
    grads: Any,
    exp_avgs: Any,
    exp_avg_sqs: Any,
    max_exp_avg_sqs: Any,
    state_steps: Any,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Any = None,
    found_inf: Any = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: Any,
    beta2: Any,
    lr: Any,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> Any:
    if (
        not params
        or differentiable
        or capturable
        or has_complex
        or grad_scale is not None
        or found_inf is not None
    ):
        return NotImplemented
    if not (beta1 > 0 and beta2 > 0 and eps > 0):
        return NotImplemented
    elements = sum(map(torch.Tensor.numel, params))
    if not within("fused_adamw" if fused else "adamw", torch.float32, elements):
        return NotImplemented
    states = [params, grads, exp_avgs, exp_avg_sqs, *([max_exp_avg_sqs] if amsgrad else [])]
    if not all(map(_dense_float32, states)) or not _dense_float32(state_steps):
        return NotImplemented
    if any([x.shape != p.shape for tensors in states[1:] for x, p in zip(tensors, params)]):
        return NotImplemented
    steps = set(map(torch.Tensor.item, state_steps))
    if len(steps) != 1:
        return NotImplemented
    update = ops.adamw_ if decoupled_weight_decay else ops.adam_
    update(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        max_exp_avg_sqs if amsgrad else [],
        [],
        None,
        float(lr),
        float(beta1),
        float(beta2),
        eps,
        weight_decay,
        int(steps.pop()) + 1,
        maximize,
        amsgrad,
        0.0,
    )
    torch._foreach_add_(state_steps, 1)
    return None
