"""cholesky in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import in_float, positive


def cholesky(c):
    import torch
    return in_float(lambda a: torch.linalg.cholesky(a), positive(c.make("a")))


TORCH = {"cholesky": cholesky}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    from limit_case import of_matrices, positive

    return {"cholesky": of_matrices(torch.linalg.cholesky, positive, by_extent=True)}
