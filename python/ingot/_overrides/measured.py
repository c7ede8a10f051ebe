"""Where ingot was measured to be faster than torch, by operator and type; made by bench/override_limits.py.

MEASURED has the (least, most) number of elements of the largest input. What is not listed was not
faster, or not measured, and stays with torch. Names with _direct are for calls without gradients.
"""

from __future__ import annotations

import torch

__all__ = ["ANY", "LARGEST_LSTSQ", "LARGEST_MEASURED", "LEAST_RIGHT_SIDES", "MEASURED", "TALL"]

ANY = 1 << 62
F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16

MEASURED: dict[str, dict[torch.dtype, tuple[int, int]]] = {
    # activations
    "silu": {F32: (1 << 18, 1 << 24), BF16: (1 << 18, ANY)},
    "silu_backward": {F32: (1 << 19, ANY), BF16: (1 << 17, ANY)},
    "gelu_tanh": {F32: (1 << 13, ANY), BF16: (1 << 13, ANY)},
    "gelu_backward": {F32: (1 << 16, ANY), BF16: (1 << 16, 1 << 24)},
    "gelu_tanh_backward": {F32: (1 << 15, ANY), BF16: (1 << 15, ANY)},
    "silu_mul": {F32: (1 << 15, ANY), BF16: (1 << 15, ANY)},
    "gelu_mul": {F32: (1 << 15, ANY), BF16: (1 << 15, ANY)},
    "gelu_tanh_mul": {F32: (1 << 14, ANY), BF16: (1 << 14, ANY)},
    # rows
    "softmax": {F32: (1 << 18, 1 << 24), BF16: (1 << 17, ANY)},
    "log_softmax": {F32: (1 << 18, ANY), BF16: (1 << 18, ANY)},
    "log_softmax_backward": {F32: (1 << 22, ANY), BF16: (1 << 18, ANY)},
    "layer_norm": {BF16: (1 << 19, ANY)},
    "layer_norm_direct": {BF16: (1 << 19, ANY)},
    "rms_norm": {F32: (1, ANY), BF16: (1, ANY)},
    "rms_norm_direct": {F32: (1, ANY), BF16: (1, ANY)},
    "cross_entropy": {F32: (1 << 18, ANY), BF16: (1 << 18, ANY)},
    # embedding_bag: indices times row length
    "embedding_bag": {F32: (1 << 22, ANY), BF16: (1 << 22, ANY)},
    "embedding_bag_mean": {F32: (1 << 22, ANY)},
    "embedding_bag_backward": {F32: (1 << 20, ANY)},
    # attention: queries times keys times heads
    "attention": {F32: (1 << 17, ANY), BF16: (1 << 17, ANY)},
    "attention_decode": {F32: (1 << 17, ANY), BF16: (1 << 17, ANY)},
    "attention_backward_causal": {F32: (1 << 17, ANY)},
    # linear algebra: elements of a; LARGEST bounds the matrix
    "qr": {F32: (1 << 12, ANY)},
    "cholesky": {F32: (1 << 14, ANY)},
    "lu": {F32: (1 << 16, ANY)},
    "solve": {F32: (1 << 14, ANY)},
    "triangular_solve": {F32: (1 << 14, ANY)},
    "lstsq": {F32: (1 << 14, ANY)},
    "eigh": {F32: (1 << 12, ANY)},
    "svd": {F32: (1 << 12, ANY)},
    # optimizers: elements of all parameters
    "adamw": {F32: (0, ANY)},  # against torch's default; its fused step is as fast
}

# Matrices of more rows or columns than this stay with torch.
LARGEST_MEASURED = {"eigh": 64, "lu": 256, "solve": 256}

# A triangular solve of fewer right sides than this stays with torch.
LEAST_RIGHT_SIDES = 16

# Least squares: any matrix of up to 64 rows and columns, larger ones with so many times as many rows as columns.
LARGEST_LSTSQ, TALL = 64, 8
