"""Calls that skip autograd's steps in Python where no gradient is asked for: about a third of a small call."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ingot import _C
from ingot._torch.inplace import count_versions, written_arguments
from ingot._torch.registry import direct

__all__ = ["direct", "direct_in_place"]


def direct_in_place(name: str) -> Callable[..., None]:
    """The same for an operator that changes its arguments: their versions are counted here.

    Callers see to it that gradients are off, as torch's optimizers do.
    """
    target = getattr(torch.ops.ingot, name).default
    written = written_arguments(target)
    is_compiling, transforms_active = torch.compiler.is_compiling, torch._C._are_functorch_transforms_active
    below_autograd, exclude = torch._C._AutoDispatchBelowAutograd, torch._C._ExcludeDispatchKeyGuard
    counting = torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView)

    def dispatched(*inputs: Any) -> None:
        with below_autograd(), exclude(counting):
            target(*inputs)

    run = _C.torch_direct(name, dispatched, None) or dispatched

    def call(*inputs: Any) -> None:
        if is_compiling() or transforms_active() or torch.is_grad_enabled():
            target(*inputs)
            return
        count_versions(written, inputs)
        run(*inputs)

    return call
