"""attention in torch, for bench/torch_compare.py and bench/override_limits.py."""


def attention_inputs(c):
    import torch
    q, k, v = c.make("q"), c.make("k"), c.make("v")
    causal = "causal" in c.flags
    extra = {"enable_gqa": q.shape[1] != k.shape[1]}
    if c.has("mask"):
        mask = c.make("mask")
        extra["attn_mask"] = mask if mask.dtype == torch.bool else mask.to(q.dtype)
    elif causal and q.shape[2] == k.shape[2]:
        extra["is_causal"] = True
    elif causal and q.shape[2] > 1:
        rows, columns = q.shape[2], k.shape[2]
        extra["attn_mask"] = torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows)
    return (q, k, v), extra


def attention(c):
    import torch.nn.functional as F
    inputs, extra = attention_inputs(c)
    return (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **extra)), inputs


TORCH = {"attention": attention}
TARGETS = {"attention": lambda c: 0.6}
GPU_SANITIZER_PARTS = {"attention": 1}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    from limit_case import BOTH, Limit, normal

    aten = torch.ops.aten

    def calls(queries: int | None, causal: bool = False, backward: bool = False):
        """8 heads of 64; elements are heads × queries × keys."""
        def make(dtype, elements):
            keys = elements // 8 if queries else max(int((elements / 8) ** 0.5), 1)
            q = normal(1, 8, queries or keys, 64, dtype=dtype)
            k, v = normal(1, 8, keys, 64, dtype=dtype), normal(1, 8, keys, 64, dtype=dtype)
            forward = aten._scaled_dot_product_flash_attention_for_cpu
            if not backward:
                return lambda: forward(q, k, v, 0.0, causal)
            out, lse = forward(q, k, v, 0.0, causal)
            gradient = aten._scaled_dot_product_flash_attention_for_cpu_backward
            return lambda: gradient(out, q, k, v, out, lse, 0.0, causal)
        return make

    of = "the scores, for all heads"
    return {"attention": Limit(BOTH, range(9, 22, 2), calls(None), of=of),
            "attention_decode": Limit(BOTH, range(8, 16), calls(1), of=of),
            "attention_backward": Limit(BOTH, range(11, 22, 2), calls(None, backward=True), of=of),
            "attention_backward_causal": Limit(BOTH, range(11, 22, 2), calls(None, True, True), of=of)}


def shape_case(make, row, rows):
    """`rows` queries per head and torch's and ingot's attention with the mask of the row's options."""
    import ingot.ops
    import torch
    import torch.nn.functional as F
    batch, queries, keys, length, size = row.sizes
    own, others = {}, {"enable_gqa": queries != keys}
    if "window" in row.options:
        own = {"causal": True, "window": max(length // 4, 1)}
        at = torch.arange(length, device=make.device)
        offset = at - at[length - rows:, None]
        others["attn_mask"] = (offset <= 0) & (offset > -own["window"])
    elif "causal" in row.options:
        own["causal"] = True
        if rows == length:
            others["is_causal"] = True
        else:
            others["attn_mask"] = torch.ones(rows, length, dtype=torch.bool, device=make.device).tril(length - rows)

    def inputs():
        return tuple(make.normal(batch, heads, n, size, dtype=row.dtype)
                     for heads, n in ((queries, rows), (keys, length), (keys, length)))

    return {"make": inputs, "torch": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **others),
            "ingot": lambda q, k, v: ingot.ops.attention(q, k, v, **own)}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    from shape_case import TYPES, Shape, Shown, with_gradients
    from shape_draws import BATCHES, LENGTHS, Row

    def draw_row(draw, op):
        queries, keys, size = draw.heads()
        length = draw.size(16, 16384, LENGTHS)
        options = [draw.choice(("full", "causal", "causal", "window"))]
        if op == "attention" and draw.random() < 0.2:
            options.append("cross")
        return Row("attention", op, draw.float16() if draw.random() < 0.85 else "f32",
                   (draw.choice(BATCHES[:9]), queries, keys, length, size), tuple(o for o in options if o != "full"))

    def cost(row, times=1):
        batch, queries, keys, length, head = row.sizes
        part = 0.5 if "causal" in row.options else 1
        return (4 * batch * queries * length * head * TYPES[row.dtype].itemsize,
                times * part * 4 * batch * queries * length * length * head)

    def forward(make, row):
        length = row.sizes[3]
        return shape_case(make, row, max(length // 3, 1) if "cross" in row.options else length)

    def training(make, row):
        case = forward(make, row)
        return {"make": case["make"], "torch": with_gradients(case["torch"]), "ingot": with_gradients(case["ingot"]),
                "limit": {"f32": 1e-4, "f16": 8e-3, "bf16": 6e-2}[row.dtype]}

    def show(dtype, batch, queries, keys, length):
        return Shown(Row("attention", "attention", dtype, (batch, queries, keys, length, 128), ("causal",)),
                     (1, queries // 8, keys // 8, 64, 128), "sdpa_causal" + ("_gqa" if queries != keys else ""),
                     f"{batch}x{queries}/{keys}x{length}x128")

    table = tuple(show(dtype, 4, 32, keys, 4096) for dtype in ("f32", "bf16") for keys in (32, 8))
    return {"attention": Shape("attention", draw_row, forward, cost, 2, (*table, show("bf16", 1, 32, 8, 16384))),
            "attention_training": Shape("attention", draw_row, training, lambda row: cost(row, 3.5))}
