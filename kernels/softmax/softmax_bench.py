"""softmax in torch, for bench/torch_compare.py and bench/override_limits.py."""
import math



def softmax(c):
    import torch
    x = c.make("x")
    if "causal" in c.flags:
        rows, columns = x.shape[-2:]
        mask = torch.full((rows, columns), -math.inf, dtype=x.dtype).triu(columns - rows + 1)
        return lambda a, m: torch.softmax(a + m, -1), (x, mask), True
    if c.has("mask"):
        mask = c.make("mask")
        if mask.dtype == torch.bool:
            mask[..., 0] = True
            return lambda a, m: torch.softmax(a.masked_fill(~m, -math.inf), -1), (x, mask), True
        return lambda a, m: torch.softmax(a + m.to(a.dtype), -1), (x, mask), True
    return lambda a: torch.softmax(a, -1), (x,), True


def softmax_backward(c):
    import torch
    return lambda d, y: torch.ops.aten._softmax_backward_data(d, y, -1, y.dtype), \
        (c.make("dy"), torch.softmax(c.make("y"), -1)), True


TORCH = {"softmax": softmax, "softmax_backward": softmax_backward}
FUSED = True
GPU_SANITIZER_PARTS = {"softmax": 1}


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    import torch.nn.functional as F
    from limit_case import BOTH, ROW_SIZES, Limit, by_rows, by_rows_gradient

    def gradient(d, y, dtype):
        return torch.ops.aten._softmax_backward_data(d, y, -1, dtype)

    return {"softmax": Limit(BOTH, ROW_SIZES, by_rows(lambda x: F.softmax(x, -1))),
            "softmax_backward": Limit(BOTH, ROW_SIZES, by_rows_gradient(gradient))}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch
    from ingot._operations.softmax import Backward
    from shape_case import row_backward, row_operation

    def rows(x):
        return torch.softmax(x, -1)

    def gradient(d, y):
        return torch.ops.aten._softmax_backward_data(d, y, -1, y.dtype)

    return {"softmax": row_operation("softmax", lambda *_: rows, lambda *_: ingot.ops.softmax, vocabulary=True),
            "softmax_backward": row_backward(rows, gradient, Backward.direct)}
