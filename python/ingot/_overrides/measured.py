"""Where ingot was measured to be faster than torch, by operator and type; made by bench/override_limits.py.

MEASURED has the (least, most) number of elements of the largest input. What is not listed was not
faster, or not measured, and stays with torch. Names with _direct are for calls without gradients.
Measured with torch 2.15.0+cu132 and 2 threads, 2026-11-15.
"""

from __future__ import annotations

import torch

__all__ = ["ANY", "LARGEST_MEASURED", "LEAST_RIGHT_SIDES", "MEASURED"]

ANY = 1 << 62
F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16

MEASURED: dict[str, dict[torch.dtype, tuple[int, int]]] = {
    # activations
    "silu": {F32: (1 << 14, ANY), BF16: (1 << 14, ANY)},
    "silu_backward": {F32: (1 << 14, ANY), BF16: (1 << 14, ANY)},
    "gelu": {F32: (1, 1 << 16), BF16: (1, 1 << 20)},
    "gelu_backward": {F32: (1, ANY), BF16: (1, ANY)},
    "gelu_tanh": {F32: (1 << 12, ANY), BF16: (1 << 10, ANY)},
    "gelu_tanh_backward": {F32: (1 << 12, ANY), BF16: (1 << 12, ANY)},
    "silu_mul": {F32: (1 << 12, ANY), BF16: (1 << 12, ANY)},
    "gelu_mul": {F32: (1, ANY), BF16: (1, ANY)},
    "gelu_tanh_mul": {F32: (1 << 10, ANY), BF16: (1 << 10, ANY)},
    # rows
    "softmax": {F32: (1 << 16, ANY), BF16: (1 << 16, ANY)},
    "log_softmax": {F32: (1 << 18, ANY), BF16: (1 << 18, ANY)},
    "log_softmax_backward": {F32: (1 << 16, ANY), BF16: (1 << 16, ANY)},
    "layer_norm": {BF16: (1 << 20, ANY)},
    "layer_norm_direct": {F32: (1 << 18, ANY), BF16: (1 << 16, ANY)},
    "rms_norm": {F32: (1, ANY), BF16: (1, ANY)},
    "rms_norm_direct": {F32: (1, ANY), BF16: (1, ANY)},
    "cross_entropy": {F32: (1 << 18, ANY), BF16: (1 << 20, ANY)},
    # embedding_bag: indices times row length
    "embedding_bag": {F32: (1, 1 << 12), BF16: (1, 1 << 12)},
    "embedding_bag_mean": {F32: (1, ANY), BF16: (1, ANY)},
    "embedding_bag_backward": {F32: (1 << 20, ANY)},
    # attention: queries times keys times heads
    "attention": {F32: (1, ANY), BF16: (1, ANY)},
    "attention_decode": {F32: (1, ANY), BF16: (1, ANY)},
    "attention_backward": {F32: (1 << 15, 1 << 17), BF16: (1, 1 << 17)},
    "attention_backward_causal": {F32: (1 << 15, ANY), BF16: (1, ANY)},
    # products: elements of the matrix, and rows of the other factor
    "linear": {F32: (1 << 18, ANY), BF16: (1, 1 << 18)},
    "linear_rows": {F32: (1, 1 << 2)},
    # linear algebra: elements of a; LARGEST_MEASURED bounds the matrix
    "qr": {F32: (1, ANY)},
    "cholesky": {F32: (1 << 14, ANY)},
    "lu": {F32: (1 << 14, ANY)},
    "solve": {F32: (1, ANY)},
    "triangular_solve": {F32: (1 << 12, ANY)},
    "lstsq": {F32: (1, ANY)},
    "eigh": {F32: (1, ANY)},
    "eigvalsh": {F32: (1 << 12, ANY)},
    "svd": {F32: (1, ANY)},
    "svdvals": {F32: (1 << 12, ANY)},
    # optimizers: elements of all parameters; fused_adamw against torch's fused step
    "adamw": {F32: (1, ANY)},
}

# Matrices of more rows or columns than this stay with torch.
LARGEST_MEASURED = {"cholesky": 512, "lu": 256, "eigh": 32}

# A triangular solve of fewer right sides than this stays with torch.
LEAST_RIGHT_SIDES = 16
