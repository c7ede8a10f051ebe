"""How operators are registered: one library object, and short forms for fakes, gradients and refusals.

What there is to register is described in kernels/NAME/NAME.py, by describe.py.
"""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ingot import _C

NAMESPACE = "ingot"
library = torch.library.Library(NAMESPACE, "FRAGMENT")
# The extension is loaded once per process and holds what was registered; these modules may be imported again: by a
# test that empties sys.modules, for one.
registered_before = hasattr(_C, "torch_library")


def define_operators() -> None:
    """Has the extension define the operators and their kernels in the PyTorch that is loaded."""
    folder = Path(torch.__file__).parent / "lib"
    for name in ("libtorch_cpu.so", "libtorch_cpu.dylib"):
        if (folder / name).exists():
            _C.torch_register(str(folder / name))
            prepare_direct_calls()
            if sys.platform == "darwin" and torch.backends.mps.is_available():
                _C.torch_register_mps(str(folder / name))
            for missing in _C.torch_unimplemented():  # lists have no C interface before PyTorch 2.10
                for key in ("CPU", "CUDA") if _C.torch_has_cuda() else ("CPU",):
                    library.impl(missing, functools.partial(_C.torch_call, missing), key)
            return
    raise ImportError(f"PyTorch {torch.__version__} has no libtorch_cpu in {folder}, where ingot's operators "
                      "are registered")


# While one of these is included in a thread's keys, someone is to see its calls at the dispatcher.
WATCHED = ("Python", "PythonDispatcher", "PreDispatch", "FuncTorchDynamicLayerFrontMode", "Functionalize", "Tracer")


def prepare_direct_calls() -> None:
    """Tells the extension what it asks about before a call goes past the dispatcher."""
    keys = torch._C.DispatchKey
    names = (*WATCHED, "AutogradCPU", "AutocastCPU", "AutocastCUDA")
    numbers = {name: int(getattr(keys, name)) for name in names if hasattr(keys, name)}
    _C.torch_prepare(Tensor, torch.nn.Parameter, forward_ad, numbers,
                     [numbers[name] for name in WATCHED if name in numbers])


def _any_requires_grad(*inputs: Any) -> bool:
    """Whether a tensor among the inputs requires a gradient; torch._C has it from PyTorch 2.8."""
    return any(isinstance(value, Tensor) and value.requires_grad for value in inputs)


any_requires_grad = getattr(torch._C, "_any_requires_grad", _any_requires_grad)


def forward_gradients_active() -> bool:
    """Whether torch.autograd.forward_ad is in use, which the operators do not take part in."""
    return forward_ad._current_level >= 0


def operator(name: str) -> Any:
    """The operator's only overload, torch.ops.ingot.NAME.default."""
    return getattr(torch.ops.ingot, name).default


def _refuse_mixed_devices(name: str, values: Any) -> None:
    """Meta tensors among others would otherwise give results without data on the others' device."""
    first = None
    for value in values:
        for tensor in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(tensor, Tensor):
                first = tensor.device if first is None else first
                if tensor.device != first:
                    raise RuntimeError(f"{name}: one tensor is on {first}, another on {tensor.device}")


GRADIENTS: dict[str, Callable[..., Any]] = {}  # by operator: runs it, and writes its gradient down


def direct(name: str) -> Callable[..., Any]:
    """torch.ops.ingot.NAME for plain tensors past the dispatcher, where nobody is to see the call there.

    While a graph is traced, a mode, autocast or a transform of torch.func is active, or a profiler runs, calls go the
    ordinary way.
    """
    target, is_compiling = operator(name), torch.compiler.is_dynamo_compiling

    def with_gradient(*inputs: Any) -> Any:
        return GRADIENTS.get(name, target)(*inputs)

    run = _C.torch_direct(name, target, GRADIENTS.get(name, with_gradient))
    if run is None:  # before PyTorch 2.14
        return _direct_below_autograd(target)

    def call(*inputs: Any) -> Any:
        return target(*inputs) if is_compiling() else run(*inputs)

    return call


def _direct_below_autograd(target: Any) -> Callable[..., Any]:
    """The next best: below autograd where nothing is to be differentiated."""
    is_compiling, transforms_active = torch.compiler.is_compiling, torch._C._are_functorch_transforms_active
    below_autograd, is_grad_enabled = torch._C._AutoDispatchBelowAutograd, torch.is_grad_enabled

    def call(*inputs: Any) -> Any:
        if is_compiling() or transforms_active() or forward_gradients_active() or \
                (is_grad_enabled() and any_requires_grad(*inputs)):
            return target(*inputs)
        with below_autograd():
            return target(*inputs)

    return call


def register_fake(name: str, function: Callable, on_host: tuple[int, ...] = ()) -> None:
    """Registers the shape function of an operator, which is called with all of its arguments.

    on_host: places of arguments that are on the CPU whatever the others' device.
    """
    arguments = operator(name)._schema.arguments
    required = [place for place, argument in enumerate(arguments) if isinstance(argument.type, torch.TensorType)]
    defaults = [(argument.name, argument.default_value) for argument in arguments]

    @functools.wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        args += tuple(options.get(argument, default) for argument, default in defaults[len(args):])
        for place in required:  # None reaches this far where another argument is a meta tensor
            if args[place] is None:
                raise RuntimeError(f"{name}: argument {place} is None, but a tensor is needed")
        _refuse_mixed_devices(name, (value for place, value in enumerate(args) if place not in on_host))
        return function(*args)

    _register_meta(f"{NAMESPACE}::{name}", checked)


def _register_meta(qualified: str, function: Callable) -> None:
    """What torch.library.register_fake does, without its search for the caller's line and module in the sources, which
    takes longer than all else of `import ingot.ops`. Where this torch has other insides, by that function itself."""
    try:
        entry = torch._library.simple_registry.singleton.find(qualified)
        library._registration_handles.append(entry.fake_impl.register(function, __file__, lib=library))
    except (AttributeError, TypeError):
        torch.library.register_fake(qualified, function, lib=library)


def differentiate(name: str, backward: Callable, setup: Callable) -> None:
    """Registers a gradient: setup(ctx, inputs, output) keeps what backward(ctx, *grads) needs.

    Does what torch.library.register_autograd does, with less work per call: about half of its time.
    """
    target = operator(name)
    defaults = tuple(argument.default_value for argument in target._schema.arguments)
    below_autograd, after_autograd = torch._C._AutoDispatchBelowAutograd, torch._C._after_autograd_keyset
    redispatch = target.redispatch

    run, allows_bypass, count = _C.torch_direct(name, target, None), _C.torch_allows_bypass, len(defaults)

    class Direct(torch.autograd.Function):
        """The operator as autograd sees it, past the dispatcher."""

        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            output = run(*inputs)
            setup(ctx, inputs if len(inputs) == count else inputs + defaults[len(inputs):], output)
            return output

    Direct.backward = staticmethod(backward)
    Direct.__name__ = Direct.__qualname__ = f"{name}_gradient"
    apply_directly = Direct.apply

    @functools.cache  # made when it is first needed: half of the classes are not
    def dispatched() -> Callable[..., Any]:
        class Gradient(torch.autograd.Function):
            """The same through the dispatcher; the last input is its key set."""

            @staticmethod
            def forward(ctx: Any, *inputs: Any) -> Any:
                keys, inputs = inputs[-1], inputs[:-1]
                with below_autograd():
                    output = redispatch(keys, *inputs)
                    setup(ctx, inputs + defaults[len(inputs):], output)
                return output

            @staticmethod
            def backward(ctx: Any, *grads: Tensor | None) -> tuple:
                found = backward(ctx, *grads)
                return (*found, None) if isinstance(found, tuple) else (found, None)

        Gradient.__name__ = Gradient.__qualname__ = f"{name}_gradient"
        return Gradient.apply

    def with_gradient(keys: Any, *inputs: Any) -> Any:
        if (torch.is_grad_enabled() and any_requires_grad(*inputs)) or forward_gradients_active():
            return apply_directly(*inputs) if run and allows_bypass() else dispatched()(*inputs, keys & after_autograd)
        with below_autograd():
            return redispatch(keys & after_autograd, *inputs)

    GRADIENTS[name] = apply_directly
    library.impl(name, with_gradient, "Autograd", with_keyset=True)


def differentiate_list(name: str, backward: Callable, setup: Callable) -> None:
    """The same for an operator that takes lists of tensors."""
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
