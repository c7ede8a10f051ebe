"""Rotary position embedding of all heads at once, in both layouts that models use.

A three-dimensional grid: x is the pair of dimensions, y the position, z batch × head. "halves" (GPT-NeoX,
Llama as published on hubs) turns dimension d with d + D/2; "pairs" (the paper, GPT-J) turns 2d with 2d + 1. A
model trained with one and run with the other speaks nonsense, so it pays to test it.

    python examples/python/rope.py
"""
import torch

import ingot

device = "mps" if torch.backends.mps.is_available() else "cpu"

SOURCE = """
#include <metal_stdlib>
using namespace metal;

kernel void rope(device float *out, device const float *in, constant float &base, constant long &offset,
                 constant long &interleaved,
                 uint3 at [[thread_position_in_grid]], uint3 grid [[threads_per_grid]]) {
    uint half_dims = grid.x, pair = at.x, position = at.y;
    ulong start = (ulong(at.z) * grid.y + position) * 2 * half_dims;
    ulong first = start + (interleaved ? 2 * pair : pair);
    ulong second = interleaved ? first + 1 : first + half_dims;

    // precise:: because far positions make large angles
    float angle = float(position + offset) * precise::powr(base, -float(pair) / half_dims);
    float c = precise::cos(angle), s = precise::sin(angle);
    float a = in[first], b = in[second];
    out[first] = a * c - b * s;
    out[second] = a * s + b * c;
}
"""
kernel = ingot.compile_shader(SOURCE).rope


def rope(x: torch.Tensor, offset: int = 0, interleaved: bool = False, base: float = 10000.0) -> torch.Tensor:
    """Turns (batch, heads, length, dimensions) by their positions, from `offset` on."""
    batch, heads, length, dimensions = x.shape
    out = torch.empty_like(x)
    kernel(out, x, base, offset, int(interleaved), threads=(dimensions // 2, length, batch * heads),
           group_size=(min(dimensions // 2, 32), 1, 1))
    return out


def expected(x: torch.Tensor, offset: int, interleaved: bool) -> torch.Tensor:
    """The same by complex numbers, in double precision."""
    x = x.cpu().double()
    half = x.shape[-1] // 2
    angle = torch.outer(torch.arange(x.shape[-2]).double() + offset, 10000.0 ** (-torch.arange(half) / half))
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    turned = torch.polar(torch.ones_like(angle), angle) * torch.complex(a, b)
    parts = (turned.real, turned.imag)
    return torch.stack(parts, -1).flatten(-2).float() if interleaved else torch.cat(parts, -1).float()


torch.manual_seed(0)
x = torch.randn(2, 12, 50, 64, device=device)
for interleaved in (False, True):
    for offset in (0, 1000):
        wanted = expected(x, offset, interleaved)
        torch.testing.assert_close(rope(x, offset, interleaved).cpu(), wanted, rtol=1e-3, atol=1e-3)
        if device == "cpu":
            ours = ingot.ops.rope(x, offset=offset, interleaved=interleaved)
            torch.testing.assert_close(ours, wanted, rtol=1e-3, atol=1e-3)
    print(f"{'pairs' if interleaved else 'halves'}: 12 heads, positions 0–49 and 1000–1049, as complex numbers say")

# What it is for: scores depend on the distance of two positions only.
q, k = torch.randn(64, device=device), torch.randn(64, device=device)
rows = torch.stack([q, k])[:, None, None, :].expand(2, 1, 50, 64).contiguous()
turned = rope(rows)
scores = [torch.dot(turned[0, 0, at], turned[1, 0, at - 7]).item() for at in (7, 20, 49)]
assert max(scores) - min(scores) < 1e-2, scores
print("the score of two tokens seven apart, anywhere:", ", ".join(f"{score:.3f}" for score in scores))
