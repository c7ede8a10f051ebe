"""rope in torch, for bench/torch_compare.py."""
import math


def rope(c):
    import torch
    x = c.make("x")
    length, row = x.shape[-2:]
    dims = int(c.sizes.get("dims") or row)
    angles = torch.outer(torch.arange(length).float(), 10000.0 ** (-torch.arange(0, dims, 2).float() / dims))
    cos, sin = angles.cos(), angles.sin()
    sign = -1 if c.row["operation"] == "rope_backward" else 1

    def half(a, co, si):
        p, q = a[..., :dims // 2], a[..., dims // 2:dims]
        return torch.cat((p * co - q * si, q * co + p * si, a[..., dims:]), -1).to(a.dtype)

    def pairs(a, co, si):
        p, q = a[..., 0:dims:2], a[..., 1:dims:2]
        turned = torch.stack((p * co - q * si, q * co + p * si), -1).flatten(-2)
        return torch.cat((turned, a[..., dims:]), -1).to(a.dtype)
    return (pairs if "interleaved" in c.flags else half), (x, cos, sign * sin), True


TORCH = {"rope": rope, "rope_backward": rope}
FUSED = True


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch
    from shape_case import TYPES, Shape, Shown
    from shape_draws import BATCHES, Row

    def draw_row(draw, op):
        queries, _, size = draw.heads()
        return Row("rows", op, draw.any_float(), (draw.choice(BATCHES[:8]), queries, draw.tokens(8192), size // 2 * 2))

    def case(make, row):
        *_, length, size = row.sizes
        angles = make.normal(length, size // 2)
        cos, sin = angles.cos(), angles.sin()

        def rotate(x):
            first, second = x.chunk(2, -1)
            return torch.cat((first * cos - second * sin, first * sin + second * cos), -1).to(x.dtype)

        return {"make": lambda: (make.normal(*row.sizes, dtype=row.dtype),), "torch": rotate, "compiled": True,
                "ingot": lambda x: ingot.ops.rope(x, cos=cos, sin=sin),
                "bytes": 2 * math.prod(row.sizes) * TYPES[row.dtype].itemsize}

    table = tuple(Shown(Row("rows", "rope", dtype, (4, 32, 4096, 128)), (2, 2, 64, 128)) for dtype in ("f32", "bf16"))
    return {"rope": Shape("others", draw_row, case, shown=table)}
