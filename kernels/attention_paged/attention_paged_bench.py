"""attention_paged in torch, for bench/torch_compare.py."""
from attention_bench import shape_case
from attention_decode_bench import cost, draw_row


def attention_paged(c):
    """torch has no paged cache: plain attention over a cache that is in one piece already."""
    import torch
    import torch.nn.functional as F
    q = c.make("q")
    blocks, heads, block, dim = c.shape("key_cache")
    length = min(blocks // q.shape[0], c.shape("block_table")[1]) * block
    k = torch.randn(q.shape[0], heads, length, dim).to(q.dtype)
    v = torch.randn(q.shape[0], heads, length, c.shape("value_cache")[3]).to(q.dtype)
    return (lambda a, b, d: F.scaled_dot_product_attention(a, b, d, enable_gqa=a.shape[1] != heads)), (q, k, v)


def cache_write(c):
    import torch
    blocks, heads, block, _ = c.shape("key_cache")
    slots = torch.randperm(blocks * block)[:c.shape("key")[0]]

    def f(key, value, keys, values):
        keys[slots // block, :, slots % block] = key
        values[slots // block, :, slots % block] = value
    return f, (c.make("key"), c.make("value"), c.make("key_cache"), c.make("value_cache"))


TORCH = {"attention_paged": attention_paged, "cache_write": cache_write}
TARGETS = {"attention_paged": lambda c: 0.6}
GPU_SANITIZER_PARTS = {"attention_paged": 1}


def shape_paged(make, row):
    """Keys and values in blocks of 16 that lie in any order; torch has them in one piece, its best case."""
    import ingot.ops
    import torch
    import torch.nn.functional as F
    plain = shape_case(make, row, 1)
    batch, _, keys, length, size = row.sizes
    blocks = -(-length // 16)
    order = torch.randperm(batch * blocks, device=make.device)
    table = order.view(batch, blocks).to(torch.int32)
    lengths = torch.full((batch,), length, dtype=torch.int32, device=make.device)

    def inputs():
        q, k, v = plain["make"]()
        caches = []
        for one in (k, v):
            padded = F.pad(one, (0, 0, 0, blocks * 16 - length)).view(batch, keys, blocks, 16, size)
            cache = torch.empty(batch * blocks, keys, 16, size, device=make.device, dtype=one.dtype)
            cache[order] = padded.transpose(1, 2).reshape(batch * blocks, keys, 16, size)
            caches.append(cache)
        return q, k, v, *caches

    return {"make": inputs, "torch": lambda q, k, v, *_: plain["torch"](q, k, v), "flops": 0,
            "ingot": lambda q, k, v, kc, vc: ingot.ops.attention_paged(q, kc, vc, table, lengths, max_length=length)}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    from shape_case import Shape
    return {"paged_decode": Shape("decode", draw_row, shape_paged, cost)}
