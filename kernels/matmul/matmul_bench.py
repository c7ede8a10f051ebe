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
TARGETS = {"matmul": lambda c: 0.6 if c.type == "f32" else None}
GPU_SANITIZER_PARTS = {"matmul": 1}


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


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch
    from shape_case import TYPES, Shape, Shown
    from shape_draws import LAYOUTS, Row

    def draw_row(draw, op):
        dtype = draw.choice(("f32", "f16", "bf16"))
        model = draw.model()
        pairs = [(model[0], model[1]), (model[1], model[0]), (model[0], model[0]), (model[0], model[5]),
                 (model[0], (model[2] + 2 * model[3]) * model[4])]
        k, n = draw.choice(pairs) if draw.random() < 0.5 else (draw.hidden(16, 16384), draw.hidden(16, 16384))
        m = draw.size(1, 128, (1, 2, 4, 8, 16, 32, 64)) if draw.random() < 0.5 else draw.tokens(16384)
        options = [draw.choice(LAYOUTS), draw.choice(("nn", "nt", "nt", "tn", "tt"))]
        return Row("linear f32" if dtype == "f32" else "linear 16 bits", op, dtype, (m, n, k),
                   tuple(o for o in options if o not in ("dense", "nn")))

    def cost(row):
        m, n, k = row.sizes
        return (m * k + n * k + m * n) * TYPES[row.dtype].itemsize, 2 * m * n * k

    def case(make, row):
        m, n, k = row.sizes
        way = next((o for o in row.options if o in ("nt", "tn", "tt")), "nn")
        turn_a, turn_b = (side == "t" for side in way)

        def inputs():
            return (make.laid_out(row, *((k, m) if turn_a else (m, k))),
                    make.laid_out(row, *((n, k) if turn_b else (k, n))))

        return {"make": inputs, "torch": lambda a, b: torch.matmul(a.mT if turn_a else a, b.mT if turn_b else b),
                "ingot": lambda a, b: ingot.ops.matmul(a, b, transpose_a=turn_a, transpose_b=turn_b)}

    def show(dtype, sizes, name="", shape="", *options):
        return Shown(Row("linear", "matmul", dtype, sizes, options), (min(sizes[0], 64), 64, 64), name, shape)

    table = [row for dtype in ("f32", "bf16") for row in (
        show(dtype, (1, 16384, 16384), "matvec", "16384x16384", "nt"), show(dtype, (4096,) * 3, shape="4096"),
        show(dtype, (4096,) * 3, "", "4096 nt", "nt"))]
    return {"matmul": Shape("linear", draw_row, case, cost, shown=(*table, show("bf16", (8192,) * 3, shape="8192")))}
