"""cholesky in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import in_float, positive, small_batches


def cholesky(c):
    import torch
    return in_float(lambda a: torch.linalg.cholesky(a), positive(c.make("a")))


TORCH = {"cholesky": cholesky}
TARGETS = {"cholesky": small_batches}
GPU_SANITIZER_PARTS = {"cholesky": 1}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    from limit_case import of_matrices, positive

    return {"cholesky": of_matrices(torch.linalg.cholesky, positive, by_extent=True)}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch
    from shape_case import definite, matrices

    return {"cholesky": matrices("cholesky", definite, lambda a: torch.linalg.cholesky_ex(a)[0],
                                 lambda a: ingot.ops.cholesky(a, check=False), 1 / 3)}
