"""How operators are registered: one library object, and short forms for fakes, gradients and refusals."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ingot import _C

NAMESPACE = "ingot"
library = torch.library.Library(NAMESPACE, "FRAGMENT")


def define_operators() -> None:
    """Has the extension define the operators and their kernels in the PyTorch that is loaded."""
    folder = Path(torch.__file__).parent / "lib"
    for name in ("libtorch_cpu.so", "libtorch_cpu.dylib"):
        if (folder / name).exists():
            _C.torch_register(str(folder / name))
            return
    raise ImportError(f"PyTorch {torch.__version__} has no libtorch_cpu in {folder}, where ingot's operators "
                      "are registered")


def operator(name: str) -> Any:
    """The operator's only overload, torch.ops.ingot.NAME.default."""
    return getattr(torch.ops.ingot, name).default


def fake(*names: str) -> Callable[[Callable], Callable]:
    """Registers the decorated function as the shape function of the operators."""

    def register(function: Callable) -> Callable:
        for name in names:
            torch.library.register_fake(f"{NAMESPACE}::{name}", function, lib=library)
        return function

    return register


def differentiate(name: str, backward: Callable, setup: Callable) -> None:
    """Registers a gradient: setup(ctx, inputs, output) keeps what backward(ctx, *grads) needs."""
    torch.library.register_autograd(f"{NAMESPACE}::{name}", backward, setup_context=setup, lib=library)


def refuse_gradient(name: str, reason: str) -> None:
    """Makes backward through the operator an error that says why."""

    def setup(ctx: Any, inputs: tuple, output: Any) -> None:
        pass

    def backward(ctx: Any, *grads: Tensor) -> None:
        raise RuntimeError(f"ingot::{name} has no gradient: {reason}")

    differentiate(name, backward, setup)


def differentiate_by(name: str, reference: Callable, tensors: int) -> None:
    """Makes a backward operator differentiable by a composition of torch's own operators.

    `reference` takes the operator's arguments and computes the same from differentiable operators; the first
    `tensors` of them are tensors or None. It runs in backward only, in float32 at least.
    """

    def setup(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.save_for_backward(*inputs[:tensors])
        ctx.rest = inputs[tensors:]

    def backward(ctx: Any, *grads: Tensor | None) -> tuple:
        saved = ctx.saved_tensors
        wanted = [index for index in range(tensors) if ctx_needs(ctx, index)]
        keep_graph = torch.is_grad_enabled()
        with torch.enable_grad():
            arguments: list[Any] = list(saved)
            if not keep_graph:
                arguments = [t if t is None else t.detach() for t in arguments]
                for index in wanted:
                    arguments[index].requires_grad_()
            inner = [t if t is None or not t.is_floating_point() else at_least_float32(t) for t in arguments]
            outputs = reference(*inner, *ctx.rest)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            pairs = [(out, grad.to(out.dtype)) for out, grad in zip(outputs, grads)
                     if grad is not None and out is not None and out.requires_grad]
        results: list[Any] = [None] * (tensors + len(ctx.rest))
        if pairs:
            found = torch.autograd.grad([out for out, _ in pairs], [arguments[index] for index in wanted],
                                        [grad for _, grad in pairs], allow_unused=True, create_graph=keep_graph)
            for index, grad in zip(wanted, found):
                results[index] = grad
        return tuple(results)

    differentiate(name, backward, setup)


def ctx_needs(ctx: Any, index: int) -> bool:
    """Whether input `index` needs a gradient; inputs left at their default were not passed and need none."""
    needs = ctx.needs_input_grad
    return index < len(needs) and bool(needs[index])


def at_least_float32(tensor: Tensor) -> Tensor:
    """Half types as float32; float32 and float64 as they are."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def refuse_gradient_of(operator_name: str, argument: str, tensor: Tensor | None) -> None:
    """Raises where a tensor that the operator's gradient leaves out asks for one."""
    if tensor is not None and tensor.requires_grad:
        raise RuntimeError(f"ingot::{operator_name} has no gradient for {argument}, but {argument} requires one; "
                           "detach it, or use PyTorch's own operator")
