"""Names of the enumerations that the operators take as integers, and a look at what should be a tensor."""
from __future__ import annotations

REDUCTIONS = {"mean": 0, "sum": 1, "none": 2}
BAG_MODES = {"sum": 0, "mean": 1, "max": 2}
EPILOGUES = {None: 0, "none": 0, "relu": 1, "silu": 2, "swish": 2, "gelu": 3, "gelu_tanh": 4}
GELU_FORMULAS = {"none": 0, "tanh": 1}


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
