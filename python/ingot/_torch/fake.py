"""What each operator returns, without data: shapes, types and strides as the kernels produce them (contiguous).

They run on fake and meta tensors, also with symbolic sizes, and serve torch.compile and torch.export.
"""
from __future__ import annotations

import torch
from torch import Tensor

from ingot._torch.registry import fake


def like(tensor: Tensor) -> Tensor:
    """A contiguous tensor of the same shape and type."""
    return tensor.new_empty(tensor.shape)


def absent(tensor: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """What stands for an output that does not apply."""
    return tensor.new_empty((0,), dtype=dtype)


def like_or_absent(tensor: Tensor | None, other: Tensor) -> Tensor:
    """Like the optional tensor, or the empty tensor that stands for it."""
    return absent(other) if tensor is None else like(tensor)


def register() -> None:
    """Registers the shape functions of all operators."""
    register_pointwise()
    register_rows()
    register_attention()
    register_matrix()
    register_embedding_and_training()
    register_linalg()


def register_pointwise() -> None:
    """fill, axpy, convert and the activations."""

    @fake("fill_")
    def fill_(out, value):
        return None

    @fake("axpy_")
    def axpy_(y, x, alpha=1.0):
        return None

    @fake("axpy")
    def axpy(x, y, alpha=1.0):
        return like(y)

    @fake("convert")
    def convert(x, dtype):
        return x.new_empty(x.shape, dtype=dtype)

    @fake("silu", "gelu", "gelu_tanh")
    def activation(x):
        return like(x)

    @fake("silu_backward", "gelu_backward", "gelu_tanh_backward")
    def activation_backward(d_out, x):
        return like(x)

    @fake("silu_mul", "gelu_mul", "gelu_tanh_mul")
    def activation_mul(gate, up):
        return like(gate)

    @fake("silu_mul_backward", "gelu_mul_backward", "gelu_tanh_mul_backward")
    def activation_mul_backward(d_out, gate, up):
        return like(gate), like(up)


def register_rows() -> None:
    """Norms, softmax and cross entropy."""

    @fake("rms_norm")
    def rms_norm(x, weight=None, eps=1e-6):
        return like(x)

    @fake("rms_norm_backward")
    def rms_norm_backward(d_out, x, weight=None, eps=1e-6):
        return like(x), like_or_absent(weight, x)

    @fake("add_rms_norm")
    def add_rms_norm(x, residual, weight=None, eps=1e-6):
        return like(x), like(x)

    @fake("add_rms_norm_backward")
    def add_rms_norm_backward(d_out, d_sum, sum, weight=None, eps=1e-6):
        return like(sum), like_or_absent(weight, sum)

    @fake("layer_norm")
    def layer_norm(x, weight=None, bias=None, eps=1e-5):
        return like(x)

    @fake("layer_norm_backward")
    def layer_norm_backward(d_out, x, weight=None, eps=1e-5):
        return like(x), like_or_absent(weight, x), like_or_absent(weight, x)

    @fake("softmax")
    def softmax(x, mask=None, scale=1.0, causal=False, causal_offset=0):
        return like(x)

    @fake("softmax_backward")
    def softmax_backward(d_out, out, scale=1.0):
        return like(out)

    @fake("log_softmax")
    def log_softmax(x):
        return like(x)

    @fake("log_softmax_backward")
    def log_softmax_backward(d_out, out):
        return like(out)

    @fake("cross_entropy")
    def cross_entropy(logits, targets, reduction=0, label_smoothing=0.0, ignore_index=-100):
        return logits.new_empty((logits.shape[0],) if reduction == 2 else ())

    @fake("cross_entropy_backward")
    def cross_entropy_backward(d_loss, logits, targets, reduction=0, label_smoothing=0.0, ignore_index=-100):
        return like(logits)


def register_attention() -> None:
    """Attention, its caches, and rope."""

    @fake("attention")
    def attention(q, k, v, mask=None, slopes=None, scale=0.0, causal=False, window=0):
        rows = q.shape[:-1]
        return q.new_empty((*rows, v.shape[-1])), q.new_empty(rows, dtype=torch.float32)

    @fake("attention_backward")
    def attention_backward(d_out, q, k, v, out, lse, mask=None, slopes=None, scale=0.0, causal=False, window=0):
        return like(q), like(k), like(v)

    @fake("attention_paged")
    def attention_paged(q, key_cache, value_cache, block_table, lengths, slopes=None, scale=0.0, window=0,
                        max_length=0):
        return q.new_empty((*q.shape[:-1], value_cache.shape[-1]))

    @fake("cache_write_")
    def cache_write_(key, value, slots, key_cache, value_cache):
        return None

    @fake("cache_copy_")
    def cache_copy_(key_cache, value_cache, pairs):
        return None

    @fake("rope", "rope_backward")
    def rope(x, positions=None, cos=None, sin=None, offset=0, dims=0, interleaved=False, base=10000.0, scale=1.0):
        return like(x)


def register_matrix() -> None:
    """matmul and quantised weights."""

    @fake("matmul")
    def matmul(a, b, bias=None, transpose_a=False, transpose_b=False, epilogue=0):
        rows, inner = (a.shape[-1], a.shape[-2]) if transpose_a else (a.shape[-2], a.shape[-1])
        inner_b, columns = (b.shape[-1], b.shape[-2]) if transpose_b else (b.shape[-2], b.shape[-1])
        torch._check(inner == inner_b, lambda: f"matmul: a has {inner} columns and b has {inner_b} rows")
        batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return a.new_empty((*batch, rows, columns))

    @fake("quantise")
    def quantise(x, bits=4, group=64, with_biases=False):
        rows, columns = x.shape
        scales = x.new_empty((rows, columns // group))
        packed = x.new_empty((rows, columns * bits // 8), dtype=torch.uint8)
        return packed, scales, like(scales) if with_biases else absent(x)

    @fake("dequantise")
    def dequantise(packed, scales, biases, bits, group, dtype):
        return scales.new_empty((scales.shape[0], scales.shape[1] * group), dtype=dtype)

    @fake("quantised_matvec")
    def quantised_matvec(x, packed, scales, biases, bits, group, bias=None):
        return x.new_empty((*x.shape[:-1], packed.shape[0]))

    @fake("quantised_matmul")
    def quantised_matmul(x, packed, scales, biases, bits, group, bias=None, epilogue=0):
        return x.new_empty((*x.shape[:-1], packed.shape[0]))


def register_embedding_and_training() -> None:
    """Embedding bags, optimisers and the gradients' norm."""

    @fake("embedding_bag")
    def embedding_bag(table, indices, offsets=None, sample_weights=None, mode=0, include_last_offset=False,
                      padding_index=None):
        bags = indices.shape[0] if offsets is None else offsets.shape[0] - int(include_last_offset)
        out = table.new_empty((bags, table.shape[1]))
        largest = out.new_empty(out.shape, dtype=torch.int32) if mode == 2 else absent(table, torch.int32)
        return out, largest

    @fake("embedding_bag_backward")
    def embedding_bag_backward(d_out, table, indices, offsets, sample_weights, largest, mode=0,
                               include_last_offset=False, padding_index=None):
        return like(table), like_or_absent(sample_weights, table)

    @fake("adamw_", "adam_")
    def adam_(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, masters, norm, lr, beta1, beta2, eps,
              weight_decay, step, maximize, amsgrad, max_norm):
        return None

    @fake("grad_norm")
    def grad_norm(grads):
        torch._check(len(grads) > 0, lambda: "grad_norm: the list of gradients is empty")
        return grads[0].new_empty((), dtype=torch.float32)


def register_linalg() -> None:
    """Decompositions and solvers."""

    def batch_of(a, dtype=torch.int32):
        return a.new_empty(a.shape[:-2], dtype=dtype)

    @fake("qr")
    def qr(a, complete=False):
        batch, rows, columns = a.shape[:-2], a.shape[-2], a.shape[-1]
        inner = rows if complete else torch.sym_min(rows, columns)
        return a.new_empty((*batch, rows, inner)), a.new_empty((*batch, inner, columns))

    @fake("cholesky")
    def cholesky(a, upper=False):
        return like(a), batch_of(a)

    @fake("lu")
    def lu(a):
        pivots = a.new_empty((*a.shape[:-2], torch.sym_min(a.shape[-2], a.shape[-1])), dtype=torch.int32)
        return like(a), pivots, batch_of(a)

    @fake("solve")
    def solve(a, b):
        return like(b), batch_of(a)

    @fake("triangular_solve")
    def triangular_solve(a, b, upper=False, transposed=False, unit=False, right=False):
        return like(b)

    @fake("lstsq")
    def lstsq(a, b, rcond=0.0):
        return b.new_empty((*b.shape[:-2], a.shape[-1], b.shape[-1])), batch_of(a)

    @fake("eigh")
    def eigh(a, upper=False):
        return a.new_empty(a.shape[:-1]), like(a)

    @fake("eigvalsh")
    def eigvalsh(a, upper=False):
        return a.new_empty(a.shape[:-1])

    @fake("svd")
    def svd(a):
        batch, rows, columns = a.shape[:-2], a.shape[-2], a.shape[-1]
        inner = torch.sym_min(rows, columns)
        return (a.new_empty((*batch, rows, inner)), a.new_empty((*batch, inner)),
                a.new_empty((*batch, inner, columns)))

    @fake("svdvals")
    def svdvals(a):
        return a.new_empty((*a.shape[:-2], torch.sym_min(a.shape[-2], a.shape[-1])))
