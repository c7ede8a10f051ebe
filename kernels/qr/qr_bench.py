"""qr in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import in_float


def qr(c):
    import torch
    mode = "complete" if "complete" in c.flags else "reduced"
    mode = mode if c.has("q") else "r"
    return in_float(lambda a: tuple(torch.linalg.qr(a, mode)), c.make("a"))


TORCH = {"qr": qr}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    from limit_case import of_matrices

    return {"qr": of_matrices(torch.linalg.qr, by_extent=True)}
