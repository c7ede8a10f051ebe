"""Where ingot was measured to be faster, by operator and type.

MEASURED follows bench/results/ops-cpu.md: the (least, most) number of elements of the largest
input. The least is where the gain is worth what a replacement adds to a call: 3 to 10 µs, and
some 50 for composites with gradients, which autograd then runs from Python. What is not listed
was not faster, or not measured, and stays with torch.
"""

from __future__ import annotations

from typing import Any

import torch

from ingot import _C

__all__ = [
    "LARGEST_LSTSQ",
    "LEAST_RIGHT_SIDES",
    "MEASURED",
    "TALL",
    "always",
    "fits",
    "plain",
    "set_always",
    "within",
]

ANY = 1 << 62
F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
FLOATS = (F32, F16, BF16)

MEASURED: dict[str, dict[torch.dtype, tuple[int, int]]] = {
    # activations
    "silu": {F32: (1 << 18, 1 << 24), BF16: (1 << 18, ANY)},
    "silu_backward": {F32: (1 << 19, ANY), BF16: (1 << 17, ANY)},
    "gelu_tanh": {F32: (1 << 13, ANY), BF16: (1 << 13, ANY)},
    "gelu_backward": {F32: (1 << 16, ANY), BF16: (1 << 16, 1 << 24)},
    "gelu_tanh_backward": {F32: (1 << 15, ANY), BF16: (1 << 15, ANY)},
    "silu_mul": {F32: (1 << 15, ANY), BF16: (1 << 15, ANY)},
    "gelu_mul": {F32: (1 << 15, ANY), BF16: (1 << 15, ANY)},
    "gelu_tanh_mul": {F32: (1 << 14, ANY), BF16: (1 << 14, ANY)},
    # rows
    "softmax": {F32: (1 << 18, 1 << 24), BF16: (1 << 17, ANY)},
    "log_softmax": {F32: (1 << 18, ANY), BF16: (1 << 18, ANY)},
    "log_softmax_backward": {F32: (1 << 22, ANY), BF16: (1 << 18, ANY)},
    "layer_norm": {BF16: (1 << 19, ANY)},
    "rms_norm": {F32: (1 << 14, ANY), BF16: (1 << 14, ANY)},
    "rms_norm_direct": {F32: (1, ANY), F16: (1, ANY), BF16: (1, ANY)},
    "cross_entropy": {F32: (1 << 18, ANY), BF16: (1 << 18, ANY)},
    # embedding_bag: indices times row length
    "embedding_bag": {F32: (1 << 22, ANY), BF16: (1 << 22, ANY)},
    "embedding_bag_mean": {F32: (1 << 22, ANY)},
    "embedding_bag_backward": {F32: (1 << 20, ANY)},
    # attention: queries times keys times heads
    "attention": {F32: (1 << 17, ANY), BF16: (1 << 17, ANY)},
    "attention_backward_causal": {F32: (1 << 17, ANY)},
    # linear algebra: elements of a; LARGEST bounds the matrix
    "qr": {F32: (1 << 12, ANY)},
    "cholesky": {F32: (1 << 14, ANY)},
    "lu": {F32: (1 << 16, ANY)},
    "solve": {F32: (1 << 14, ANY)},
    "triangular_solve": {F32: (1 << 14, ANY)},
    "lstsq": {F32: (1 << 14, ANY)},
    "eigh": {F32: (1 << 12, ANY)},
    "svd": {F32: (1 << 12, ANY)},
    # optimizers: elements of all parameters
    "adamw": {F32: (0, ANY)},  # against torch's default; its fused step is as fast
}

# Matrices of more rows or columns than this stay with torch.
LARGEST_MEASURED = {"eigh": 64, "lu": 256, "solve": 256}

# A triangular solve of fewer right sides than this stays with torch.
LEAST_RIGHT_SIDES = 16

# Least squares: any matrix of up to 64 rows and columns, larger ones with so many times as many rows as columns.
LARGEST_LSTSQ, TALL = 64, 8

# torch has no half types here, so there is nothing to replace.
_FLOAT32_ONLY = frozenset(
    (
        "qr",
        "cholesky",
        "lu",
        "solve",
        "triangular_solve",
        "lstsq",
        "eigh",
        "eigvalsh",
        "svd",
        "svdvals",
        "adamw",
        "fused_adamw",
    )
)

_always: frozenset[str] = frozenset()


def set_always(names: frozenset[str]) -> None:
    """The operations that take every input they can, whether that is faster or not."""
    global _always
    _always = names
    _C.override_limits({name: _spans(name) for name in (*MEASURED, *names)})


def _spans(name: str) -> tuple[int, ...]:
    """The least and most elements of each type, in a row, as the extension takes them."""
    never, everything = (1, 0), (1, ANY)
    found = MEASURED.get(name, {})
    spans = [everything if always(name) else found.get(dtype, never) for dtype in FLOATS]
    return tuple(number for span in spans for number in span)


def plain(*tensors: Any) -> bool:
    """Whether all (None is let through) are ordinary tensors on the CPU, not a subclass with ways of its own."""
    for x in tensors:
        if x is None:
            continue
        if type(x) is not torch.Tensor and type(x) is not torch.nn.Parameter:
            return False
        if x.device.type != "cpu":
            return False
    return True


def within(name: str, dtype: torch.dtype, elements: int, extent: int = 0, force: bool = False) -> bool:
    """Whether an operation takes this much of this type, in matrices of at most `extent`."""
    if force or always(name):
        return elements > 0 and dtype in ((F32,) if name in _FLOAT32_ONLY else FLOATS)
    span = MEASURED.get(name, {}).get(dtype)
    return span is not None and span[0] <= elements <= span[1] and extent <= LARGEST_MEASURED.get(name, ANY)


def always(name: str) -> bool:
    """Whether an operation takes every input it can."""
    return name in _always


def fits(name: str, x: Any, force: bool = False) -> bool:
    """within() for a single plain, contiguous tensor."""
    return within(name, x.dtype, x.numel(), force=force) and x.is_contiguous() and plain(x)
