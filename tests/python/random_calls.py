"""Random calls of operators and kernels with wrong, odd and huge arguments: a program that must end by itself.

    python random_calls.py [--seed N] [--seconds S] [--kinds operators] [--trace]

Each call starts from good arguments, of which one or two are replaced. It may succeed, or raise one of the
documented exceptions; a result must have the shape and type that the operator's shape function gives, and memory
that was not passed must stay as it was. --trace prints each call before it is made, to find one that crashes.
"""
from __future__ import annotations

import argparse
import faulthandler
import math
import random
import sys
import time
import warnings
from collections import Counter
from typing import Any

import numpy as np
import torch

import ingot
import ingot.ops  # noqa: F401
from op_samples import SAMPLES

EXPECTED = (RuntimeError, TypeError, ValueError, IndexError, MemoryError)
NUMBERS = [0, 1, -1, 2, 7, 2**31, -2**31, 2**32, 2**63 - 1, -2**63, 2**64, 10**30, 0.0, -0.0, 0.5, -2.5, 1e38, 1e308,
           math.inf, -math.inf, math.nan, True, False]
OTHERS = [None, "x", "", b"abcd", (), [], {}, object(), 1j, [1, 2], [1.5], [None], ["a"], torch.float32, torch.Tensor,
          np.float32(1.5), np.int64(3), slice(None)]
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.uint8, torch.int16,
          torch.int32, torch.int64, torch.bool, torch.complex64]

SOURCE = """
kernel void copy(device float* y, device const float* x, uint i [[thread_position_in_grid]]) {
    if (i < 8) y[i] = x[i];
}
kernel void scale(device float* y, constant float& a, constant int& n, uint i [[thread_position_in_grid]]) {
    if (i < 8) y[i] = a * n;
}
kernel void shared(device float* y, threadgroup float* t [[threadgroup(0)]],
                   uint i [[thread_position_in_threadgroup]]) {
    t[i] = y[0];
}
constant int factor [[function_constant(0)]];
kernel void times(device float* y, constant float3& v) { y[0] = v.x * factor; }
"""


class Subclass(torch.Tensor):
    """A tensor class of a user's."""


class Wrapper(torch.Tensor):
    """A tensor without memory of its own."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Wrapper:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __repr__(self) -> str:
        return "Wrapper()"

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise NotImplementedError(f"Wrapper does not take part in {function}")


def freed(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor without its storage."""
    result = tensor.clone()
    result.untyped_storage().resize_(0)
    return result


def conjugated(tensor: torch.Tensor) -> torch.Tensor:
    """A view whose values are not what is in memory."""
    return torch.complex(tensor.float(), tensor.float()).conj()


ODD = [
    lambda t: t.to("meta"), lambda t: t.to_sparse(), freed, conjugated, lambda t: t.as_subclass(Subclass), Wrapper,
    lambda t: torch._neg_view(t), lambda t: t.detach().requires_grad_(t.is_floating_point()),
    lambda t: torch.quantize_per_tensor(t.float(), 0.1, 0, torch.quint8), lambda t: t.numpy(), lambda t: t.tolist(),
    lambda t: torch.nested.nested_tensor([t, t]), lambda t: torch._efficientzerotensor(t.shape),
    lambda t: torch.nn.Parameter(t, requires_grad=False), lambda t: torch.full_like(t, math.nan),
    lambda t: torch.full_like(t, 2**31 - 1), lambda t: -torch.ones_like(t), lambda t: t.float() * 1e30,
]
SHAPES = [
    lambda t, r: t.flatten(), lambda t, r: t.unsqueeze(0), lambda t, r: t.unsqueeze(-1), lambda t, r: t[..., :0],
    lambda t, r: t[:0], lambda t, r: t.mT, lambda t, r: t.sum(), lambda t, r: t[..., ::2],
    lambda t, r: t[..., :1].expand(t.shape), lambda t, r: t.expand(2, *t.shape), lambda t, r: t.new_zeros(()),
    lambda t, r: t.flatten()[:1].expand(r.choice([3, 1000])), lambda t, r: torch.cat([t, t]),
    lambda t, r: t.flatten()[:1].as_strided((3, 3), (0, 0)), lambda t, r: t.to(r.choice(DTYPES)),
    lambda t, r: t.reshape([1] * r.choice([5, 9, 20, 40]) + list(t.shape)),
]


def odd_tensor(tensor: torch.Tensor, chance: random.Random) -> Any:
    """Another tensor in the place of this one; itself where the change is not possible."""
    try:
        if chance.random() < 0.6:
            return chance.choice(SHAPES)(tensor, chance)
        return chance.choice(ODD)(tensor)
    except EXPECTED:
        return tensor


def replaced(value: Any, chance: random.Random) -> Any:
    """What a call might wrongly pass there."""
    if isinstance(value, torch.Tensor) and chance.random() < 0.75:
        return odd_tensor(value, chance)
    if isinstance(value, list) and value and chance.random() < 0.7:
        changed = list(value)
        place = chance.randrange(len(changed))
        if chance.random() < 0.2:
            return changed[:place]
        changed[place] = replaced(changed[place], chance)
        return changed
    return chance.choice(NUMBERS) if chance.random() < 0.6 else chance.choice(OTHERS)


def shapes(result: Any) -> list:
    """Shape and type of each result."""
    results = result if isinstance(result, (tuple, list)) else (result,)
    return [(tuple(t.shape), t.dtype) for t in results if isinstance(t, torch.Tensor)]


def plain(value: Any) -> bool:
    """Whether shape functions can be asked: an ordinary CPU tensor, or none."""
    if isinstance(value, (list, tuple)):
        return all(plain(item) for item in value)
    return not isinstance(value, torch.Tensor) or (type(value) is torch.Tensor and value.device.type == "cpu"
                                                   and value.layout == torch.strided and not value.is_quantized
                                                   and not value.is_nested)


def on_meta(value: Any) -> Any:
    """The same without data."""
    if isinstance(value, (list, tuple)):
        return type(value)(on_meta(item) for item in value)
    return value.to("meta") if isinstance(value, torch.Tensor) else value


def describe(value: Any) -> str:
    """Short, and safe for tensors that cannot be printed."""
    if isinstance(value, torch.Tensor):
        return f"{type(value).__name__}{tuple(value.shape) if not value.is_nested else '?'}:{value.dtype}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(describe(item) for item in value) + "]"
    return repr(value)[:40]


class Calls:
    """The calls, and how many ended how."""

    def __init__(self, seed: int, trace: bool) -> None:
        self.chance = random.Random(seed)
        self.trace = trace
        self.counts: Counter[str] = Counter()
        self.names = sorted(SAMPLES)
        self.library = ingot.compile_shader(SOURCE)
        self.specialised = self.library.times.specialize(factor=2)
        self.guard = torch.arange(65536.0)

    def attempt(self, label: str, function: Any, arguments: list, keywords: dict | None = None) -> Any:
        """One call; None where it raised."""
        text = f"{label}({', '.join(describe(value) for value in arguments)}, **{keywords})" if self.trace else label
        if self.trace:
            print(text, flush=True)
        try:
            result = function(*arguments, **(keywords or {}))
        except EXPECTED as error:
            assert str(error), f"{text}: {type(error).__name__} without a message"
            self.counts[type(error).__name__] += 1
            return None
        self.counts["done"] += 1
        return result

    def operator(self) -> None:
        """An operator with one or two arguments replaced."""
        name = self.chance.choice(self.names)
        good = self.chance.choice(SAMPLES[name])(self.chance.choice([torch.float32, torch.float16, torch.bfloat16]))
        arguments = list(good)
        for place in self.chance.sample(range(len(arguments)), min(len(arguments), self.chance.choice([1, 1, 1, 2]))):
            arguments[place] = replaced(arguments[place], self.chance)
        function = getattr(torch.ops.ingot, name).default
        result = self.attempt(name, function, arguments)
        if result is None or not all(plain(value) for value in arguments):
            return
        expected = function(*[on_meta(value) for value in arguments])
        assert shapes(result) == shapes(expected), \
            f"{name}({describe(arguments)}): {shapes(result)}, but the shape function gives {shapes(expected)}"

    def kernel(self) -> None:
        """A kernel with arguments or options replaced."""
        chance, library = self.chance, self.library
        name = chance.choice(["copy", "scale", "shared", "times"])
        arguments: list = [torch.zeros(8)]
        arguments += {"copy": [torch.ones(8)], "scale": [2.0, 3], "shared": [], "times": [[1.0, 2.0, 3.0, 0.0]]}[name]
        kernel, keywords = getattr(library, name), {}
        if name == "times":
            value = chance.choice([*NUMBERS, *OTHERS])  # compiling takes its time: these are not called
            self.attempt("specialize", kernel.specialize, [chance.choice([{0: value}, {value: 1}, value])]
                         if isinstance(value, (str, int)) else [value])
            kernel = self.specialised
        for option, usual in (("threads", [8, (8,), (4, 2)]), ("group_size", [1, 8, (4, 2)]),
                              ("arg_casts", ["fp16", {1: "int32"}]), ("error_buf_idx", [3]), ("wait", [True, False]),
                              ("threadgroup_memory", [32, [32]]), ("contiguous", ["copy", "refuse", "ignore"]),
                              ("time_limit", [5.0])):
            if chance.random() < 0.2:
                keywords[option] = chance.choice(usual if chance.random() < 0.7 else [*NUMBERS, *OTHERS])
        keywords["threads"] = bounded(keywords.get("threads", 8))
        if name != "shared" or chance.random() < 0.5:
            place = chance.randrange(len(arguments))
            arguments[place] = replaced(arguments[place], chance)
            if too_small(arguments[place]):
                return
        self.attempt(name, kernel, arguments, keywords)
        if keywords.get("wait", True) is not True:
            self.attempt("synchronize", ingot.synchronize, [])

    def run(self, number: int, seconds: float, kinds: str) -> None:
        """So many calls, or until the time is over; then whatever was not passed must be as it was."""
        makers = {"operators": [self.operator], "kernels": [self.kernel], "all": [self.operator, self.kernel]}[kinds]
        end, done = time.monotonic() + seconds, 0
        while done < number if number else time.monotonic() < end:
            self.chance.choice(makers)()
            done += 1
        assert torch.equal(self.guard, torch.arange(65536.0)), "memory that was not passed has changed"
        y = torch.zeros(8)
        self.library.copy(y, torch.arange(8.0))
        assert torch.equal(y, torch.arange(8.0))


def too_small(value: Any) -> bool:
    """Whether eight floats there would lie behind the end: nobody can know what a kernel reads."""
    if isinstance(value, np.ndarray):
        return value.nbytes < 32
    if not isinstance(value, torch.Tensor):
        return False
    try:
        if 0 < value.numel() * value.element_size() < 32:
            return True
        room = value.untyped_storage().nbytes() - value.storage_offset() * value.element_size()
    except (RuntimeError, NotImplementedError):
        return False
    return 0 < room < 32


def bounded(threads: Any) -> Any:
    """Not more threads than a short test can run."""
    return 8 if isinstance(threads, int) and threads > 100_000 else threads


def main() -> None:
    """Parses the command line and runs the calls."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--calls", type=int, default=0, help="so many calls, instead of a time")
    parser.add_argument("--kinds", choices=["operators", "kernels", "all"], default="all")
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    torch.manual_seed(options.seed)
    calls = Calls(options.seed, options.trace)
    calls.run(options.calls, options.seconds, options.kinds)
    print(dict(calls.counts))
    if calls.counts["done"] < 50 or calls.counts["RuntimeError"] + calls.counts["Error"] < 50:
        sys.exit("too few calls of either kind to mean anything")


if __name__ == "__main__":
    main()
