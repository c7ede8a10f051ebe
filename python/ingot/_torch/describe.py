"""What a description kernels/NAME/NAME.py is written with.

An operator of torch.ops.ingot is a class under @operator. It is a form to fill in: no objects are made of it, and
its functions are plain ones. The fields:

    schema        "rms_norm(Tensor x, float eps=1e-6) -> Tensor", as PyTorch writes it. The build reads it too, for the
                  table of the extension, so it is a literal.
    fake          of all arguments: what comes out, without data, for torch.compile. Left out where nothing does.
    autocast      lower(...), float32(...) or widest(...) of argument names; left out, autocast changes nothing.
    on_host       names of arguments that are on the CPU whatever the device of the others.

and how it is differentiated, which only operators that change their arguments (their name ends in _) leave out:

    setup, backward   as torch.library.register_autograd takes them: setup(ctx, inputs, output), backward(ctx, *grads)
    formula           of all arguments: the same from differentiable operators of PyTorch. For backward operators, which
                      are differentiated rarely; it runs in backward only, in float32 at least.
    no_gradient       why there is none

Fields can be inherited, from a class without @operator. The kernel is the C function torch_op_NAME in NAME_torch.c,
beside the description. Gradients are registered where the class stands, the rest by finish(), when all descriptions
are read. The class becomes an Operator: calling it is
calling torch.ops.ingot.NAME, and its member `direct` is the same past the dispatcher.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ingot import _C
from ingot._torch import autocast, inplace, registry
from ingot._torch.autocast import float32, lower, widest
from ingot._torch.inplace import direct_in_place
from ingot._torch.registry import at_least_float32, ctx_needs, direct, refuse_gradient_of

__all__ = ["Operator", "absent", "at_least_float32", "choice", "count_dimensions", "ctx_needs", "direct",
           "direct_in_place", "float32", "like", "like_or_absent", "lower", "operator", "refuse_gradient_of", "widest"]

SCHEMAS = _C.torch_schemas()
DESCRIBED: set[str] = set()
_fakes: list[tuple[str, Callable, tuple[int, ...]]] = []
_autocast_rules: list[tuple[str, autocast.Autocast]] = []
FIELDS = {"schema", "fake", "autocast", "on_host", "setup", "backward", "formula", "no_gradient"}


class Operator:
    """torch.ops.ingot.NAME.default, as a function."""

    def __init__(self, name: str) -> None:
        self.name, self.overload = name, registry.operator(name)

    def __call__(self, *arguments: Any) -> Any:
        return self.overload(*arguments)

    @functools.cached_property
    def direct(self) -> Callable[..., Any]:
        """The same past the dispatcher where nobody is to see the call there; see registry.direct."""
        return registry.direct(self.name)


def operator(description: type) -> Operator:
    """Registers what the class describes; see above."""
    fields = _fields_of(description)
    schema = fields.get("schema", "")
    name = schema.partition("(")[0]
    if schema != f"{name}{SCHEMAS.get(name)}":
        raise ImportError(f"{_where(description)} has the schema {schema!r}, but the extension was built with "
                          f"{name + SCHEMAS[name] if name in SCHEMAS else 'none of this name'!r}; build it again")
    described = Operator(name)
    if not registry.registered_before:
        try:
            _register(described, fields)
        except TypeError as error:
            raise TypeError(f"{_where(description)} {error}") from None
    DESCRIBED.add(name)
    return described


def _where(description: type) -> str:
    """File, line and name, for messages."""
    return f"{inspect.getfile(description)}:{inspect.getsourcelines(description)[1]}: {description.__name__}"


def _fields_of(description: type) -> dict[str, Any]:
    """The fields of the class and of its bases; an unknown one is a TypeError."""
    fields: dict[str, Any] = {}
    for part in reversed(description.__mro__[:-1]):
        for field, value in vars(part).items():
            if not (field.startswith("__") and field.endswith("__")):
                fields[field] = value
    for field in fields:
        if field not in FIELDS:
            raise TypeError(f"{_where(description)} has {field}, which is none of {', '.join(sorted(FIELDS))}")
    return fields


def _register(described: Operator, fields: dict[str, Any]) -> None:
    """Everything that PyTorch takes from Python."""
    name, arguments = described.name, [argument.name for argument in described.overload._schema.arguments]
    rule = fields.get("autocast", float32())
    for field, named in (("autocast", rule.arguments + rule.followers), ("on_host", fields.get("on_host", ()))):
        for argument in named:
            if argument not in arguments:
                raise TypeError(f"has {argument} in {field}, which is none of its arguments {', '.join(arguments)}")
    if "fake" not in fields and described.overload._schema.returns:
        raise TypeError("returns something, and has no fake that says what")
    _register_gradient(described, fields)
    on_host = tuple(arguments.index(argument) for argument in fields.get("on_host", ()))
    _fakes.append((name, fields.get("fake", lambda *arguments: None), on_host))
    if rule.arguments:
        _autocast_rules.append((name, rule))


def finish() -> None:
    """Registers the fakes and the autocast rules: all of one kind together takes half the time."""
    while _fakes:
        registry.register_fake(*_fakes.pop())
    while _autocast_rules:
        autocast.register(*_autocast_rules.pop())


def _register_gradient(described: Operator, fields: dict[str, Any]) -> None:
    """By setup and backward, a formula, a refusal, or the checks for what is changed in place."""
    name, schema = described.name, described.overload._schema
    ways = [way for way in ("backward", "formula", "no_gradient") if way in fields]
    if schema.is_mutable:
        if ways:
            raise TypeError(f"changes its arguments and has {ways[0]}; such an operator has no gradient")
        inplace.register(name)
    elif len(ways) != 1:
        raise TypeError(f"has {' and '.join(ways) or 'none of backward, formula and no_gradient'}; one of them says "
                        "what its gradient is")
    elif "formula" in fields:
        registry.differentiate_by(name, fields["formula"], _leading_tensors(schema))
    elif "no_gradient" in fields:
        registry.refuse_gradient(name, fields["no_gradient"])
    elif any(isinstance(argument.type, torch.ListType) for argument in schema.arguments):
        registry.differentiate_list(name, fields["backward"], fields["setup"])
    else:
        registry.differentiate(name, fields["backward"], fields["setup"])


def _leading_tensors(schema: Any) -> int:
    """How many arguments at the beginning are tensors, or may be."""
    count = 0
    for argument in schema.arguments:
        if "Tensor" not in str(argument.type):
            break
        count += 1
    return count


# ---- for fakes ---------------------------------------------------------------------------------------------


def like(tensor: Tensor) -> Tensor:
    """A contiguous tensor of the same shape and type."""
    return tensor.new_empty(tensor.shape)


def absent(tensor: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """What stands for an output that does not apply."""
    return tensor.new_empty((0,), dtype=dtype)


def like_or_absent(tensor: Tensor | None, other: Tensor) -> Tensor:
    """Like the optional tensor, or the empty tensor that stands for it."""
    return absent(other) if tensor is None else like(tensor)


# ---- for the functions of ingot.ops ------------------------------------------------------------------------


def choice(function: str, argument: str, value: object, names: dict) -> int:
    """The number of a name, or a ValueError that lists the names."""
    try:
        return names[value]
    except (KeyError, TypeError):
        known = ", ".join(repr(name) for name in names)
        raise ValueError(f"{function}: {argument} is {value!r}, but must be one of {known}") from None


def count_dimensions(function: str, argument: str, tensor: object) -> int:
    """A tensor's number of dimensions, or a TypeError for what is no tensor."""
    try:
        return tensor.dim()
    except AttributeError:
        raise TypeError(f"{function}: {argument} has to be a tensor, not {type(tensor).__name__}") from None
