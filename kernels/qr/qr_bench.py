"""qr in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import in_float, small_batches


def qr(c):
    import torch
    mode = "complete" if "complete" in c.flags else "reduced"
    mode = mode if c.has("q") else "r"
    return in_float(lambda a: tuple(torch.linalg.qr(a, mode)), c.make("a"))


TORCH = {"qr": qr}
TARGETS = {"qr": small_batches}
GPU_SANITIZER_PARTS = {"qr": 6}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    from limit_case import of_matrices

    return {"qr": of_matrices(torch.linalg.qr, by_extent=True)}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch
    from shape_case import general, matrices, product_error

    return {"qr": matrices("qr", general, torch.linalg.qr, ingot.ops.qr, 8 / 3, product_error(lambda r: r[0] @ r[1]))}
