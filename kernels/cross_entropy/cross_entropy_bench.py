"""cross_entropy in torch, for bench/torch_compare.py and bench/override_limits.py."""


def cross_entropy(c):
    import torch
    import torch.nn.functional as F
    logits = c.make("logits").requires_grad_()
    targets = torch.randint(0, logits.shape[-1], (logits.shape[0],))

    def f(x, t):
        return torch.autograd.grad(F.cross_entropy(x, t), x)
    if c.has("dlogits") or any(t["name"].startswith("dlogits") for t in c.slots.values()):
        return f, (logits, targets), True
    return F.cross_entropy, (logits.detach(), targets), True


TORCH = {"cross_entropy": cross_entropy}
FUSED = True


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    import torch.nn.functional as F
    from limit_case import BOTH, Limit, normal

    def make(dtype, elements):
        logits, targets = normal(max(elements // 256, 1), 256, dtype=dtype, grad=True), None
        targets = torch.randint(256, (logits.shape[0],))
        return lambda: torch.autograd.grad(F.cross_entropy(logits, targets), logits)

    return {"cross_entropy": Limit(BOTH, range(10, 24, 2), make)}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch.nn.functional as F
    from shape_case import Shape, with_gradients
    from shape_draws import VOCABULARIES, Row

    def draw_row(draw, op):
        vocabulary = draw.size(32000, 1 << 18, VOCABULARIES)
        return Row("rows", op, draw.any_float(), (draw.tokens(4096), vocabulary))

    def forward(make, row):
        targets = make.integers(row.sizes[1], row.sizes[0])
        return {"make": lambda: (make.normal(*row.sizes, dtype=row.dtype),), "compiled": True,
                "torch": lambda x: F.cross_entropy(x, targets), "ingot": lambda x: ingot.ops.cross_entropy(x, targets)}

    def training(make, row):
        case = forward(make, row)
        return {"make": case["make"], "torch": with_gradients(case["torch"]), "ingot": with_gradients(case["ingot"])}

    return {"cross_entropy": Shape("loss", draw_row, forward),
            "cross_entropy_training": Shape("loss", draw_row, training)}
