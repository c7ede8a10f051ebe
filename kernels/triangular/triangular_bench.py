"""triangular in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import in_float, positive


def triangular_solve(c):
    import torch
    upper = "upper" in c.flags
    a = positive(c.make("a"))
    a = a.triu() if upper else a.tril()
    left = "right" not in c.flags
    return in_float(lambda x, b: torch.linalg.solve_triangular(x, b, upper=upper, left=left), a, c.make("b"))


TORCH = {"triangular_solve": triangular_solve}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    from limit_case import of_matrices, positive

    return {"triangular_solve": of_matrices(lambda a: torch.linalg.solve_triangular(a, a, upper=False),
                                            lambda a: positive(a).tril())}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch
    from shape_case import matrices, solution_error, system

    def lower(maker, batch, n):
        a, b = system(maker, batch, n)
        return a.tril() / n + 2 * maker.identity(n), b

    return {"triangular_solve": matrices("triangular_solve", lower,
                                         lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
                                         lambda a, b: ingot.ops.triangular_solve(a, b, upper=False), 1,
                                         solution_error, shown=False)}
