"""Steps of Adam over many tensors at once, and clipping by the norm of all gradients."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from ingot.ops.direct import direct_in_place

_grad_norm = torch.ops.ingot.grad_norm.default
_adamw, _adam = direct_in_place("adamw_"), direct_in_place("adam_")


def grad_norm(grads: Sequence[Tensor]) -> Tensor:
    """The 2-norm of all gradients together: float32 []. The order of the sums is fixed; of none it is 0."""
    grads = list(grads)
    return _grad_norm(grads) if grads else torch.zeros(())


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
