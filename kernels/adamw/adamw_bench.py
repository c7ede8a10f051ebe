"""adamw in torch, for bench/torch_compare.py and bench/override_limits.py."""


def many(c):
    """The tensors of an optimiser's step."""
    import torch
    return [torch.randn(c.sizes["size"]).to(c.dtype()) for _ in range(c.sizes["tensors"])]


def adamw(c):
    import torch
    parameters = [torch.nn.Parameter(t) for t in many(c)]
    for p in parameters:
        p.grad = torch.randn_like(p)
    kind = torch.optim.AdamW if c.row["operation"] == "adamw" else torch.optim.Adam
    to_compile = kind(parameters, lr=1e-3, foreach=True)
    return kind(parameters, lr=1e-3, fused=True).step, (), lambda: to_compile.step()


def grad_norm(c):
    import torch
    values = many(c)
    return lambda: torch.nn.utils.get_total_norm(values), ()


TORCH = {"adamw": adamw, "grad_norm": grad_norm, "adam": adamw}
FUSED = True


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    from limit_case import F32, Limit, normal

    def step(fused: bool):
        def make(dtype, elements):
            parameters = [torch.nn.Parameter(normal(max(elements // 16, 1))) for _ in range(16)]
            for parameter in parameters:
                parameter.grad = torch.randn_like(parameter)
            return torch.optim.AdamW(parameters, fused=fused).step
        return make

    of = "all parameters; fused_adamw against torch's fused step"
    return {"adamw": Limit((F32,), range(8, 24, 3), step(False), of=of),
            "fused_adamw": Limit((F32,), range(8, 24, 3), step(True), of=of)}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.optim
    import torch
    from shape_case import Shape, Shown, compare_results
    from shape_draws import BATCHES, Row

    class Step:
        """A step over parameters of its own; the parameters, the same at the start in all, are what it gives."""

        def __init__(self, kind, make, count, elements):
            torch.manual_seed(1)
            self.parameters = [make.normal(elements).requires_grad_() for _ in range(count)]
            for parameter in self.parameters:
                parameter.grad = torch.randn_like(parameter)
            self.optimizer = kind(self.parameters)

        def __call__(self):
            self.optimizer.step()
            return self.parameters

    def draw_row(draw, op):
        return Row("rows", op, "f32", (draw.size(1, 128, BATCHES), draw.size(16, 1 << 22, [1 << 20, 4096 * 4096])))

    def case(make, row):
        count, elements = row.sizes
        return {"make": tuple, "sets": 1, "limit": 1e-4, "bytes": 28 * count * elements,
                "torch": Step(lambda p: torch.optim.AdamW(p, lr=1e-3, fused=True), make, count, elements),
                "ingot": Step(lambda p: ingot.optim.AdamW(p, lr=1e-3), make, count, elements),
                "compare": lambda result, other: compare_results(tuple(result), tuple(other))}

    table = (Shown(Row("rows", "adamw", "f32", (1, 64 << 20)), (1, 4096), "adamw_fused", "64Mi params"),
             Shown(Row("rows", "adamw", "f32", (100, 1 << 20)), (100, 64), "adamw_fused", "100 of 1Mi params"))
    return {"adamw": Shape("others", draw_row, case, lambda row: (2 * 28 * row.sizes[0] * row.sizes[1], 0),
                           shown=table)}
