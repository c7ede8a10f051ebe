"""matmul in torch, for bench/torch_compare.py and bench/override_limits.py."""


def matmul(c):
    import torch
    import torch.nn.functional as F
    a, b = c.make("a"), c.make("b")
    bias = c.optional("bias")
    a = a.mT if "transpose_a" in c.flags else a
    b = b.mT if "transpose_b" in c.flags else b
    act = next((f for name, f in (("silu", F.silu), ("relu", F.relu),
                                  ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh")),
                                  ("gelu", F.gelu)) if name in c.flags), None)

    def f(x, y, z):
        if z is not None and x.dim() == 2 and y.dim() == 2:
            out = torch.addmm(z, x, y)
        else:
            out = torch.matmul(x, y) if z is None else torch.matmul(x, y) + z
        return act(out) if act else out
    return f, (a, b, bias)


TORCH = {"matmul": matmul}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    import torch.nn.functional as F
    from limit_case import BOTH, F32, Limit, normal

    def linear(rows: int | None = None, weight: int = 1 << 20):
        """Rows of x times a matrix that is about square; elements are the matrix's, or the rows of x."""
        def make(dtype, elements):
            of_weight = elements if rows else weight
            n = 1 << (of_weight.bit_length() // 2)
            x, w = normal(rows or elements, of_weight // n, dtype=dtype), normal(n, of_weight // n, dtype=dtype)
            return torch.no_grad()(lambda: F.linear(x, w))
        return make

    of = "the matrix; of linear_rows, rows of the other factor"
    return {"linear": Limit(BOTH, range(12, 25), linear(1), of=of),
            "linear_rows": Limit((F32,), range(0, 6), linear(), of=of)}
