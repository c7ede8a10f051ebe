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
