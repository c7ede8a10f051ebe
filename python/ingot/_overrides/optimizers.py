"""torch.optim.Adam and AdamW: the step of all parameters of a group in one call."""
from __future__ import annotations

from typing import Any

import torch

from ingot._overrides.dispatch import function
from ingot._overrides.limits import plain, within

ops = torch.ops.ingot


def _same_kind(tensors: Any, like: Any) -> bool:
    """Dense float32 tensors on the CPU, one for each parameter and of its size."""
    if len(tensors) != len(like):
        return False
    for x, p in zip(tensors, like):
        if not plain(x) or x.layout != torch.strided or x.dtype != torch.float32:
            return False
        if x.shape != p.shape or not x.is_contiguous():
            return False
    return True


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
    if not params or differentiable or capturable or has_complex or grad_scale is not None or found_inf is not None:
        return NotImplemented
    if not (beta1 > 0 and beta2 > 0 and eps > 0):
        return NotImplemented
    elements = sum(p.numel() for p in params)
    # torch's fused step is fast on large parameters, so their mean size decides.
    name, size = ("fused_adamw", elements // len(params)) if fused else ("adamw", elements)
    if not within(name, torch.float32, size):
        return NotImplemented
    if not all(_same_kind(tensors, params) for tensors in (params, grads, exp_avgs, exp_avg_sqs)):
        return NotImplemented
    if amsgrad and not _same_kind(max_exp_avg_sqs, params):
        return NotImplemented
    steps = {step.item() for step in state_steps}
    if len(steps) != 1 or not plain(*state_steps):
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
