"""lu in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import in_float, positive


def lu(c):
    import torch
    return in_float(lambda a: tuple(torch.linalg.lu_factor(a))[0], c.make("a"))


def solve(c):
    import torch
    return in_float(torch.linalg.solve, positive(c.make("a")), c.make("b"))


TORCH = {"lu": lu, "solve": solve}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    from limit_case import of_matrices, positive

    return {"lu": of_matrices(torch.linalg.lu_factor, by_extent=True),
            "solve": of_matrices(lambda a: torch.linalg.solve(a, a), positive, by_extent=True)}
