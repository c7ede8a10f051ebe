"""Calls that skip autograd's steps in Python where no gradient is asked for: about a third of a small call."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ingot._torch.inplace import count_versions, written_arguments
from ingot._torch.registry import any_requires_grad, forward_gradients_active

def direct(name: str) -> Callable[..., Any]:
    """torch.ops.ingot.NAME, called below autograd where nothing is to be differentiated.

    While a graph is traced or a transform of torch.func is active, calls go the ordinary way.
    """
    target = getattr(torch.ops.ingot, name).default
    is_compiling, transforms_active = torch.compiler.is_compiling, torch._C._are_functorch_transforms_active
    below_autograd, is_grad_enabled = torch._C._AutoDispatchBelowAutograd, torch.is_grad_enabled

    def call(*inputs: Any) -> Any:
        if is_compiling() or transforms_active() or forward_gradients_active() or \
                (is_grad_enabled() and any_requires_grad(*inputs)):
            return target(*inputs)
        with below_autograd():
            return target(*inputs)

    return call


def direct_in_place(name: str) -> Callable[..., None]:
    """The same for an operator that changes its arguments: their versions are counted here.

    Callers see to it that gradients are off, as torch's optimizers do.
    """
    target = getattr(torch.ops.ingot, name).default
    written = written_arguments(target)
    is_compiling, transforms_active = torch.compiler.is_compiling, torch._C._are_functorch_transforms_active
    below_autograd, exclude = torch._C._AutoDispatchBelowAutograd, torch._C._ExcludeDispatchKeyGuard
    counting = torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView)

    def call(*inputs: Any) -> None:
        if is_compiling() or transforms_active() or torch.is_grad_enabled():
            target(*inputs)
            return
        count_versions(written, inputs)
        with below_autograd(), exclude(counting):
            target(*inputs)

    return call
