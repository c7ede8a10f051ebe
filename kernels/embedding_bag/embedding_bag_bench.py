"""embedding_bag in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import gradients


def embedding_inputs(c):
    import torch
    rows = c.shape("table")[0]
    indices = c.make("indices", 0, rows)
    offsets = None
    if c.has("offsets"):
        count = c.shape("offsets")[0]
        offsets = (torch.arange(count) * (indices.numel() // max(count, 1))).to(indices.dtype)
    mode = next((m for m in ("mean", "max") if m in c.flags), "sum")
    weights = c.make("sample_weights") if c.has("sample_weights") else None
    return c.make("table"), indices, offsets, mode, weights


def embedding_bag(c):
    import torch.nn.functional as F
    table, indices, offsets, mode, weights = embedding_inputs(c)
    return (lambda i, t, o, w: F.embedding_bag(i, t, o, mode=mode, per_sample_weights=w)), \
        (indices, table, offsets, weights), True


def embedding_bag_backward(c):
    import torch.nn.functional as F
    table, indices, offsets, mode, weights = embedding_inputs(c)
    return gradients(lambda t: F.embedding_bag(indices, t, offsets, mode=mode, per_sample_weights=weights), [table],
                     c.make("d_out"))


TORCH = {"embedding_bag": embedding_bag, "embedding_bag_backward": embedding_bag_backward}
FUSED = True


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    import torch.nn.functional as F
    from limit_case import BOTH, F32, Limit, normal

    def bag(mode: str, backward: bool):
        """Bags of 32 indices into rows of 64."""
        def make(dtype, elements):
            count = max(elements // 64, 32)
            table, indices = normal(50_000, 64, dtype=dtype, grad=backward), torch.randint(50_000, (count,))
            offsets = torch.arange(0, count, 32)
            if not backward:
                return torch.no_grad()(lambda: F.embedding_bag(indices, table, offsets, mode=mode))
            return lambda: torch.autograd.grad(F.embedding_bag(indices, table, offsets, mode=mode).sum(), table)
        return make

    of = "the rows that are looked up"
    return {"embedding_bag": Limit(BOTH, range(12, 25, 2), bag("sum", False), of=of),
            "embedding_bag_mean": Limit(BOTH, range(12, 25, 2), bag("mean", False), of=of),
            "embedding_bag_backward": Limit((F32,), range(14, 25, 2), bag("sum", True), of=of)}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch
    import torch.nn.functional as F
    from shape_case import TYPES, Shape, Shown
    from shape_draws import BATCHES, VOCABULARIES, Row

    def draw_row(draw, op):
        return Row("rows", op, draw.choice(("f32", "bf16")),
                   (draw.size(1000, 1 << 18, VOCABULARIES), draw.hidden(8, 4096), draw.size(1, 16384, BATCHES),
                    draw.size(1, 128, (1, 8, 20, 64))))

    def cost(row):
        table, width, bags, length = row.sizes
        return (table + bags * length) * width * TYPES[row.dtype].itemsize, 0

    def case(make, row):
        table, width, bags, length = row.sizes
        indices = make.integers(table, bags * length)
        offsets = torch.arange(0, bags * length, length, device=make.device)
        return {"make": lambda: (make.normal(table, width, dtype=row.dtype),),
                "torch": lambda t: F.embedding_bag(indices, t, offsets, mode="sum"),
                "ingot": lambda t: ingot.ops.embedding_bag(indices, t, offsets, mode="sum"),
                "bytes": (bags * length + bags) * width * TYPES[row.dtype].itemsize}

    table = tuple(Shown(Row("rows", "embedding_bag", dtype, (1_000_000, 128, 16384, 64)), (1000, 128, 64, 8),
                        "embedding_bag_sum", "1Mx128, 16384 bags of 64") for dtype in ("f32", "bf16"))
    return {"embedding_bag": Shape("others", draw_row, case, cost, shown=table)}
