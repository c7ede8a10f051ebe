"""The operators that change their arguments: version counters, a refusal where autograd would be misled, and views
whose memory holds the negative or the conjugate of their values."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ingot import _C
from ingot._torch.registry import library, operator


def tensors_of(argument: Any) -> list[Tensor]:
    """The tensors of an argument, which is one or a list of them."""
    if isinstance(argument, Tensor):
        return [argument]
    return list(argument) if isinstance(argument, (list, tuple)) else []


def written_arguments(target: Any) -> list[int]:
    """The positions of the arguments that an operator changes."""
    return [index for index, argument in enumerate(target._schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write]


def resolved(argument: Any) -> Any:
    """The argument with its values in memory as they are; itself where they are so already."""
    if isinstance(argument, Tensor):
        return argument.resolve_neg().resolve_conj()
    return [resolved(item) for item in argument] if isinstance(argument, (list, tuple)) else argument


def count_versions(written: list[int], arguments: Sequence[Any]) -> None:
    """Tells autograd that the arguments at these positions change."""
    torch.autograd.graph.increment_version([tensor for index in written for tensor in tensors_of(arguments[index])])


def register(name: str) -> None:
    """Checks under Autograd, counts versions under ADInplaceOrView, resolves views below."""
    target = operator(name)
    written = written_arguments(target)
    names = [argument.name for argument in target._schema.arguments]

    def check(keyset: Any, *arguments: Any) -> None:
        if torch.is_grad_enabled():
            for index, argument in enumerate(arguments):
                if any(tensor.requires_grad for tensor in tensors_of(argument)):
                    raise RuntimeError(f"ingot::{name} changes its arguments and has no gradient, but "
                                       f"{names[index]} requires one; call it under torch.no_grad()")
        with torch._C._AutoDispatchBelowAutograd():
            target.redispatch(keyset & torch._C._after_autograd_keyset, *arguments)

    def count_and_go_on(keyset: Any, *arguments: Any) -> None:
        count_versions(written, arguments)
        target.redispatch(keyset & torch._C._after_ADInplaceOrView_keyset, *arguments)

    def resolve_and_copy_back(*arguments: Any) -> None:
        # torch's own step for such views takes the result of the operator, and these have none
        values = [resolved(argument) for argument in arguments]
        target(*values)
        for index in written:
            for view, value in zip(tensors_of(arguments[index]), tensors_of(values[index])):
                if view is not value:
                    view.copy_(value)

    for key in ("Negative", "Conjugate"):
        library.impl(name, resolve_and_copy_back, key)
    library.impl(name, check, "Autograd", with_keyset=True)
    library.impl(name, count_and_go_on, "ADInplaceOrView", with_keyset=True)


def direct_in_place(name: str) -> Callable[..., None]:
    """torch.ops.ingot.NAME past autograd, for an operator that changes its arguments: their versions are counted here.

    Callers see to it that gradients are off, as torch's optimizers do.
    """
    target = operator(name)
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
