"""svd in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import in_float, small_batches


def svd(c):
    import torch
    if not c.has("u"):
        return in_float(torch.linalg.svdvals, c.make("a"))
    return in_float(lambda a: tuple(torch.linalg.svd(a, full_matrices=False)), c.make("a"))


TORCH = {"svd": svd}
TARGETS = {"svd": small_batches}
GPU_SANITIZER_PARTS = {"svd": 4}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    from limit_case import of_matrices

    return {"svd": of_matrices(lambda a: torch.linalg.svd(a, full_matrices=False), by_extent=True),
            "svdvals": of_matrices(torch.linalg.svdvals)}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch
    from shape_case import general, matrices, product_error

    def multiplied(result):
        u, s, vh = result
        return (u * s.unsqueeze(-2)) @ vh

    return {"svd": matrices("svd", general, lambda a: torch.linalg.svd(a, full_matrices=False), ingot.ops.svd, 20,
                            product_error(multiplied), True)}
