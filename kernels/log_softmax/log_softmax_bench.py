"""log_softmax in torch, for bench/torch_compare.py and bench/override_limits.py."""


def log_softmax(c):
    import torch
    return lambda x: torch.log_softmax(x, -1), (c.make("x"),), True


def log_softmax_backward(c):
    import torch
    return lambda d, y: torch.ops.aten._log_softmax_backward_data(d, y, -1, y.dtype), \
        (c.make("dy"), torch.log_softmax(c.make("y"), -1)), True


TORCH = {"log_softmax": log_softmax, "log_softmax_backward": log_softmax_backward}
FUSED = True


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    import torch.nn.functional as F
    from limit_case import BOTH, ROW_SIZES, Limit, by_rows, by_rows_gradient

    def gradient(d, y, dtype):
        return torch.ops.aten._log_softmax_backward_data(d, y, -1, dtype)

    return {"log_softmax": Limit(BOTH, ROW_SIZES, by_rows(lambda x: F.log_softmax(x, -1))),
            "log_softmax_backward": Limit(BOTH, ROW_SIZES, by_rows_gradient(gradient))}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch
    from ingot._operations.log_softmax import Backward
    from shape_case import row_backward, row_operation

    def rows(x):
        return torch.log_softmax(x, -1)

    def gradient(d, y):
        return torch.ops.aten._log_softmax_backward_data(d, y, -1, y.dtype)

    return {"log_softmax": row_operation("log_softmax", lambda *_: rows, lambda *_: ingot.ops.log_softmax,
                                         vocabulary=True, shown=False),
            "log_softmax_backward": row_backward(rows, gradient, Backward.direct)}
