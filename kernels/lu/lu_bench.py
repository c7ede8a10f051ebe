"""lu in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import in_float, positive, small_batches


def lu(c):
    import torch
    return in_float(lambda a: tuple(torch.linalg.lu_factor(a))[0], c.make("a"))


def solve(c):
    import torch
    return in_float(torch.linalg.solve, positive(c.make("a")), c.make("b"))


TORCH = {"lu": lu, "solve": solve}
TARGETS = {"solve": small_batches}
GPU_SANITIZER_PARTS = {"solve": 2, "lu": 1}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    from limit_case import of_matrices, positive

    return {"lu": of_matrices(torch.linalg.lu_factor, by_extent=True),
            "solve": of_matrices(lambda a: torch.linalg.solve(a, a), positive, by_extent=True)}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch
    from shape_case import general, matrices, product_error, solution_error, system

    def multiplied(result):
        p, low, up = torch.lu_unpack(result[0], (result[1] + 1).to(torch.int32))  # ingot's pivots count from 0
        return p @ low @ up

    return {"lu": matrices("lu", general, lambda a: torch.linalg.lu_factor_ex(a)[:2], ingot.ops.lu, 2 / 3,
                           product_error(multiplied), shown=False),
            "solve": matrices("solve", system, lambda a, b: torch.linalg.solve_ex(a, b)[0],
                              lambda a, b: ingot.ops.solve(a, b, check=False), 2 / 3, solution_error)}
