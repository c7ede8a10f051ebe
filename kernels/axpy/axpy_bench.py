"""axpy in torch, for bench/torch_compare.py."""


def axpy(c):
    return lambda x, y: y.add_(x, alpha=1.5), (c.make("x"), c.make("y")), True


TORCH = {"axpy": axpy}
FUSED = True
