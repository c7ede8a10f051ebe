"""quantised_matvec in torch, for bench/torch_compare.py."""
from torch_case import float_product


def twice_for_a_vector(c):
    return 2.0 if "4 bits" in c.row["case"] and c.shape("x")[0] == 1 else None


TORCH = {"quantised_matvec": float_product}
TARGETS = {"quantised_matvec": twice_for_a_vector}
HAS_GGML = ("quantised_matvec",)


def shape_linear(make, row):
    """Against torch's product of the weights in row.dtype."""
    import ingot.ops
    import torch.nn.functional as F
    m, n, k = row.sizes
    bits, group = int(row.options[0].split()[0]), int(row.options[1].split()[-1])

    def inputs():
        weights = ingot.ops.quantise(make.normal(n, k, dtype=row.dtype), bits, group)
        x = make.normal(m, k, dtype=row.dtype)
        return x, weights.packed, weights.scales, weights.dequantise(x.dtype)

    def mine(x, packed, scales, _):
        return ingot.ops.quantised_linear(x, ingot.ops.QuantisedTensor(packed, scales, None, bits, group))

    return {"make": inputs, "torch": lambda x, p, s, w: F.linear(x, w), "ingot": mine}


def shape_matvec(make, row):
    """A vector times weights of 4 bits; torch's product of int4, which packs them otherwise, where it has one."""
    import ingot.ops
    import torch
    from shape_case import distance
    _, n, k = row.sizes
    group = 128
    has_int4 = make.device != "cpu" and hasattr(torch, "_weight_int4pack_mm")

    def inputs():
        weights = ingot.ops.quantise(make.normal(n, k, dtype="bf16"), 4, group)
        packed = make.integers(256, n, k // 2, dtype=torch.uint8)
        return (make.normal(1, k, dtype="bf16"), weights.packed, weights.scales,
                torch._convert_weight_to_int4pack(packed, 8) if has_int4 else packed,
                make.normal(k // group, n, 2, dtype="bf16"))

    def mine(x, packed, scales, *_):
        return ingot.ops.quantised_matvec(x, ingot.ops.QuantisedTensor(packed, scales, None, 4, group))

    def error(result, _, x, packed, scales, *rest):
        weights = ingot.ops.QuantisedTensor(packed, scales.float(), None, 4, group)
        return distance(result, x.float() @ weights.dequantise(torch.float32).T)

    def other(x, _, __, packed, zeros):
        return torch._weight_int4pack_mm(x, packed, group, zeros)

    return {"make": inputs, "torch": other if has_int4 else None, "ingot": mine, "compare": error, "sets": 4,
            "bytes": n * k // 2 + n * k // group * 2, "flops": 0}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    from shape_case import TYPES, Shape, Shown
    from shape_draws import LENGTHS, Row

    def draw_row(draw, op):
        model, group = draw.model(), draw.choice((32, 64, 128))
        k, n = draw.choice([(model[0], model[1]), (model[1], model[0]), (model[0], model[0])])
        if draw.random() < 0.3:
            k, n = draw.hidden(128, 16384), draw.hidden(16, 16384)
        m = draw.size(1, 64, (1, 2, 4, 8, 16, 32, 64)) if draw.random() < 0.6 else draw.size(65, 8192, LENGTHS)
        bits = draw.choice((4, 4, 8))
        return Row("quantised, m to 64" if m <= 64 else "quantised, m above 64", op, draw.float16(),
                   (m, n, max(k // group, 1) * group), (f"{bits} bits", f"groups of {group}"))

    def cost(row):
        m, n, k = row.sizes
        return (m * k + n * k + m * n) * TYPES[row.dtype].itemsize, 2 * m * n * k

    shown = Shown(Row("quantised", "quantised_matvec", "bf16", (1, 16384, 16384)), (1, 256, 256),
                  shape="16384x16384, 4 bits by 128")
    return {"quantised_linear": Shape("quantised", draw_row, shape_linear, cost),
            "quantised_matvec": Shape("quantised", None, shape_matvec, cost, shown=(shown,))}
