"""Steps of Adam and AdamW over many tensors at once, and clipping by the norm of all gradients, for PyTorch; see
python/ingot/_torch/describe.py. The optimisers of ingot.optim are in adamw_optim.py.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from ingot._overrides.dispatch import function
from ingot._overrides.limits import limits, within
from ingot._torch.describe import direct_in_place, operator

OPS = ("adam_", "adamw_", "clip_grad_norm_", "grad_norm")


@operator
class AdamW:
    schema = ("adamw_(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] exp_avgs, Tensor(c!)[] exp_avg_sqs,"
              " Tensor(d!)[] max_exp_avg_sqs, Tensor(e!)[] masters, Tensor? norm, float lr, float beta1,"
              " float beta2, float eps, float weight_decay, int step, bool maximize, bool amsgrad, float max_norm)"
              " -> ()")


@operator
class Adam:
    schema = ("adam_(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] exp_avgs, Tensor(c!)[] exp_avg_sqs,"
              " Tensor(d!)[] max_exp_avg_sqs, Tensor(e!)[] masters, Tensor? norm, float lr, float beta1,"
              " float beta2, float eps, float weight_decay, int step, bool maximize, bool amsgrad, float max_norm)"
              " -> ()")


@operator
class GradNorm:
    """Its gradient: each tensor divided by the norm, 0 where that is 0."""

    schema = "grad_norm(Tensor[] grads) -> Tensor"

    def fake(grads):
        torch._check(len(grads) > 0, lambda: "grad_norm: the list of gradients is empty")
        return grads[0].new_empty((), dtype=torch.float32)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(output, *inputs[0])

    def backward(ctx, d_norm):
        norm, *tensors = ctx.saved_tensors
        factor = (d_norm / norm).masked_fill(norm == 0, 0)
        return [(tensor * factor).to(tensor.dtype) for tensor in tensors]


_adamw, _adam = direct_in_place("adamw_"), direct_in_place("adam_")


def grad_norm(grads: Sequence[Tensor]) -> Tensor:
    """The 2-norm of all gradients together: float32 []. The order of the sums is fixed; of none it is 0."""
    grads = list(grads)
    return GradNorm(grads) if grads else torch.zeros(())


def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float,
                    error_if_nonfinite: bool = False) -> Tensor:
    """Scales the parameters' gradients in place so that their norm is at most max_norm; returns the norm before.

    As torch.nn.utils.clip_grad_norm_ with the 2-norm. Parameters without a gradient are left out.
    """
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    try:
        grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
    except AttributeError as error:
        raise TypeError(f"clip_grad_norm_: parameters have to be tensors, but {error}") from None
    with torch.no_grad():
        norm = grad_norm(grads)
        if error_if_nonfinite and not bool(torch.isfinite(norm)):
            raise RuntimeError(f"clip_grad_norm_: the norm of {len(grads)} gradients is {norm.item()}, not finite")
        factor = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
        for grad in grads:
            grad.mul_(factor)
    return norm


def _step(operator, params, grads, exp_avgs, exp_avg_sqs, step, lr, betas, eps, weight_decay, max_exp_avg_sqs,
          masters, norm, max_norm, maximize):
    """The call that adamw_ and adam_ share."""
    if not params:
        return
    with torch.no_grad():
        operator(list(params), list(grads), list(exp_avgs), list(exp_avg_sqs), list(max_exp_avg_sqs), list(masters),
                 norm, lr, *betas, eps, weight_decay, step, maximize, len(max_exp_avg_sqs) > 0, max_norm)


def adamw_(params: Sequence[Tensor], grads: Sequence[Tensor], exp_avgs: Sequence[Tensor],
           exp_avg_sqs: Sequence[Tensor], *, step: int, lr: float = 1e-3,
           betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
           max_exp_avg_sqs: Sequence[Tensor] = (), masters: Sequence[Tensor] = (), norm: Tensor | None = None,
           max_norm: float = 0.0, maximize: bool = False) -> None:
    """One step of AdamW over many tensors, in place and in one launch per pair of types.

    All lists have one length, and their members the parameters' shapes. The states are float32; gradients have the
    parameter's type or float32. step counts from 1. max_exp_avg_sqs turns amsgrad on. masters: float32 copies of
    half parameters that are updated instead, and rounded into params. norm and max_norm clip: norm is the result of
    grad_norm. ingot.optim.AdamW keeps all of this for you.
    """
    _step(_adamw, params, grads, exp_avgs, exp_avg_sqs, step, lr, betas, eps, weight_decay,
          max_exp_avg_sqs, masters, norm, max_norm, maximize)


def adam_(params: Sequence[Tensor], grads: Sequence[Tensor], exp_avgs: Sequence[Tensor],
          exp_avg_sqs: Sequence[Tensor], *, step: int, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
          eps: float = 1e-8, weight_decay: float = 0.0, max_exp_avg_sqs: Sequence[Tensor] = (),
          masters: Sequence[Tensor] = (), norm: Tensor | None = None, max_norm: float = 0.0,
          maximize: bool = False) -> None:
    """One step of Adam (weight decay added to the gradient); arguments as adamw_."""
    _step(_adam, params, grads, exp_avgs, exp_avg_sqs, step, lr, betas, eps, weight_decay,
          max_exp_avg_sqs, masters, norm, max_norm, maximize)


# ---- the override: elements of all parameters; fused_adamw against torch's fused step --------------------

limits("optimizers", "adamw", "fused_adamw", float32_only=True)
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
def override(
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
    update = AdamW if decoupled_weight_decay else Adam
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
