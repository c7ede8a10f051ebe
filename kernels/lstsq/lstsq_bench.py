"""lstsq in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import in_float


def lstsq(c):
    import torch
    return in_float(lambda a, b: torch.linalg.lstsq(a, b, driver="gelsy").solution, c.make("a"), c.make("b"))


TORCH = {"lstsq": lstsq}
GPU_SANITIZER_PARTS = {"lstsq": 3}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    from limit_case import of_matrices

    return {"lstsq": of_matrices(lambda a: torch.linalg.lstsq(a, a))}
