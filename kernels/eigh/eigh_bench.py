"""eigh in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import in_float


def eigh(c):
    import torch
    a = c.make("a")
    f = torch.linalg.eigh if c.has("vectors") else torch.linalg.eigvalsh
    return in_float(lambda x: tuple(f(x)) if c.has("vectors") else f(x), (a + a.mT).contiguous())


TORCH = {"eigh": eigh}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    from limit_case import of_matrices, positive

    return {"eigh": of_matrices(torch.linalg.eigh, positive, by_extent=True),
            "eigvalsh": of_matrices(torch.linalg.eigvalsh, positive)}
