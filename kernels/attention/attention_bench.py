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
