"""eigh in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import in_float, small_batches


def eigh(c):
    import torch
    a = c.make("a")
    f = torch.linalg.eigh if c.has("vectors") else torch.linalg.eigvalsh
    return in_float(lambda x: tuple(f(x)) if c.has("vectors") else f(x), (a + a.mT).contiguous())


TORCH = {"eigh": eigh}
TARGETS = {"eigh": small_batches}
GPU_SANITIZER_PARTS = {"eigh": 2}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    from limit_case import of_matrices, positive

    return {"eigh": of_matrices(torch.linalg.eigh, positive, by_extent=True),
            "eigvalsh": of_matrices(torch.linalg.eigvalsh, positive)}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch
    from shape_case import definite, matrices, product_error

    def multiplied(result):
        values, vectors = result
        return (vectors * values.unsqueeze(-2)) @ vectors.mT

    return {"eigh": matrices("eigh", definite, torch.linalg.eigh, ingot.ops.eigh, 9, product_error(multiplied), True)}
