"""svd in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import in_float


def svd(c):
    import torch
    if not c.has("u"):
        return in_float(torch.linalg.svdvals, c.make("a"))
    return in_float(lambda a: tuple(torch.linalg.svd(a, full_matrices=False)), c.make("a"))


TORCH = {"svd": svd}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    from limit_case import of_matrices

    return {"svd": of_matrices(lambda a: torch.linalg.svd(a, full_matrices=False), by_extent=True),
            "svdvals": of_matrices(torch.linalg.svdvals)}
