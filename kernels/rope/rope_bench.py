"""rope in torch, for bench/torch_compare.py."""


def rope(c):
    import torch
    x = c.make("x")
    length, row = x.shape[-2:]
    dims = int(c.sizes.get("dims") or row)
    angles = torch.outer(torch.arange(length).float(), 10000.0 ** (-torch.arange(0, dims, 2).float() / dims))
    cos, sin = angles.cos(), angles.sin()
    sign = -1 if c.row["operation"] == "rope_backward" else 1

    def half(a, co, si):
        p, q = a[..., :dims // 2], a[..., dims // 2:dims]
        return torch.cat((p * co - q * si, q * co + p * si, a[..., dims:]), -1).to(a.dtype)

    def pairs(a, co, si):
        p, q = a[..., 0:dims:2], a[..., 1:dims:2]
        turned = torch.stack((p * co - q * si, q * co + p * si), -1).flatten(-2)
        return torch.cat((turned, a[..., dims:]), -1).to(a.dtype)
    return (pairs if "interleaved" in c.flags else half), (x, cos, sign * sin), True


TORCH = {"rope": rope, "rope_backward": rope}
