"""Random numbers on device mps: generators of their own, which are CPU generators below."""
from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import Any, Iterator

import torch

_NativeGenerator = torch._C.Generator
_DEVICE = torch.device("mps", 0)


class _GeneratorMeta(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, _NativeGenerator)

    def __call__(cls, device: Any = "cpu") -> Any:
        device = torch.device(device)
        if device.type != "mps":
            return _NativeGenerator(device=device)
        return MpsGenerator("cpu")


class MpsGenerator(_NativeGenerator):
    """A generator that says it is on mps:0."""

    @property
    def device(self) -> torch.device:
        return _DEVICE

    def graphsafe_get_state(self) -> Any:
        raise RuntimeError("graphsafe_get_state is not supported by generators on mps")


class Generator(metaclass=_GeneratorMeta):
    """Stands for torch.Generator: the same, and device="mps" too."""


_default: MpsGenerator | None = None


def default_generator() -> MpsGenerator:
    """The generator that operators on mps tensors use when none is given."""
    global _default
    if _default is None:
        _default = MpsGenerator("cpu")
        _default.manual_seed(torch.initial_seed())
    return _default


_seeded_cache: dict[Any, tuple[int, bool]] = {}


def _kind(operator: Any) -> tuple[int, bool]:
    """The place of an operator's generator argument (-1: none), and whether it draws numbers without one."""
    found = _seeded_cache.get(operator)
    if found is None:
        names = [argument.name for argument in operator._schema.arguments]
        place = names.index("generator") if "generator" in names else -1
        found = (place, place < 0 and torch.Tag.nondeterministic_seeded in operator.tags)
        _seeded_cache[operator] = found
    return found


def for_operator(operator: Any, args: list, kwargs: dict) -> Any:
    """Sees to it that a random operator draws from the mps generator: by its argument, or in this context."""
    place, draws = _kind(operator)
    if place >= 0:
        if place < len(args):
            if args[place] is None:
                args[place] = default_generator()
        elif kwargs.get("generator") is None:
            kwargs["generator"] = default_generator()
    return _as_cpu_default() if draws else nullcontext()


@contextmanager
def _as_cpu_default() -> Iterator[None]:
    mine = default_generator()
    others = torch.default_generator.get_state()
    torch.default_generator.set_state(mine.get_state())
    try:
        yield
    finally:
        mine.set_state(torch.default_generator.get_state())
        torch.default_generator.set_state(others)
