"""attention_paged in torch, for bench/torch_compare.py."""


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
