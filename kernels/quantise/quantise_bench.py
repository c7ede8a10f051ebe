"""quantise in torch, for bench/torch_compare.py."""
from torch_case import float_product


def quantise(c):
    """Groupwise, symmetric 8-bit codes as the cheapest comparable work: scales, rounding, no packing."""
    import torch
    x = c.make("x")
    group = int(c.sizes.get("group") or 32)

    def f(a):
        g = a.reshape(a.shape[0], -1, group)
        scale = g.abs().amax(-1, keepdim=True) / 7
        return (g / scale).round_().clamp_(-8, 7).to(torch.int8), scale
    return f, (x,), True


def dequantise(c):
    import torch
    rows, row = c.shape("out")
    groups = c.shape("scales")[1]
    codes = torch.randint(-8, 8, (rows, groups, row // groups), dtype=torch.int8)
    scales = torch.rand(rows, groups, 1).to(c.dtype("out"))
    return lambda a, s: (a.to(s.dtype) * s).reshape(rows, row), (codes, scales), True


TORCH = {"quantise": quantise, "dequantise": dequantise, "quantised_matmul": float_product}
