"""ingot's operations as functions on PyTorch tensors.

Importing this module registers the operators as torch.ops.ingot.*; the functions here are the same with names for
enumerations, None for what is absent, and torch's conventions for shapes. Gradients, autocast, torch.compile and
torch.export work with all of them. Tensors are float32, float16 or bfloat16; arithmetic is float32.
"""
from ingot._torch import load as _load

_load()

from ingot.ops.activations import axpy, axpy_, convert, fill_, gelu, gelu_mul, silu, silu_mul  # noqa: E402
from ingot.ops.sequence import attention, attention_paged, cache_copy_, cache_write_, rope  # noqa: E402
from ingot.ops.embedding import embedding_bag  # noqa: E402
from ingot.ops.linalg import (EighResult, LstsqResult, LUResult, QRResult, SVDResult, cholesky, eigh,  # noqa: E402
                              eigvalsh, lstsq, lu, qr, solve, svd, svdvals, triangular_solve)
from ingot.ops.matrix import (QuantisedTensor, dequantise, linear, matmul, quantise, quantised_linear,  # noqa: E402
                              quantised_matmul, quantised_matvec)
from ingot.ops.rows import (add_rms_norm, cross_entropy, layer_norm, log_softmax, rms_norm, softmax)  # noqa: E402
from ingot.ops.training import adam_, adamw_, clip_grad_norm_, grad_norm  # noqa: E402

QuantizedTensor = QuantisedTensor
quantize, dequantize, quantized_linear = quantise, dequantise, quantised_linear
quantized_matmul, quantized_matvec = quantised_matmul, quantised_matvec
cache_write, cache_copy = cache_write_, cache_copy_

__all__ = [
    "EighResult", "LUResult", "LstsqResult", "QRResult", "QuantisedTensor", "QuantizedTensor", "SVDResult", "adam_",
    "adamw_", "add_rms_norm", "attention", "attention_paged", "axpy", "axpy_", "cache_copy", "cache_copy_",
    "cache_write", "cache_write_", "cholesky", "clip_grad_norm_", "convert", "cross_entropy", "dequantise",
    "dequantize", "eigh", "eigvalsh", "embedding_bag", "fill_", "gelu", "gelu_mul", "grad_norm", "layer_norm",
    "linear", "log_softmax", "lstsq", "lu", "matmul", "qr", "quantise", "quantised_linear", "quantised_matmul",
    "quantised_matvec", "quantize", "quantized_linear", "quantized_matmul", "quantized_matvec", "rms_norm", "rope",
    "silu", "silu_mul", "softmax", "solve", "svd", "svdvals", "triangular_solve",
]
