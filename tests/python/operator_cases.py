"""One call of every operator of torch.ops.ingot, with what PyTorch makes of the same numbers.

A case is a function of a dtype that gives the arguments and the expected results, computed in float64 or by
PyTorch itself. A result of None is not compared (its value is free, such as the signs of singular vectors).
"""
from __future__ import annotations

from typing import Any, Callable

import torch
import torch.nn.functional as F

Case = tuple[list[Any], list[Any]]
CASES: dict[str, Callable[[torch.dtype], Case]] = {}
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
TOLERANCE = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def case(function: Callable[[torch.dtype], Case]) -> Callable[[torch.dtype], Case]:
    CASES[function.__name__] = function
    return function


def results_of(schema: str, arguments: list[Any], returned: Any) -> list[Any]:
    """What a call returned, as a list; what it changed, for an operator that returns nothing."""
    if schema.endswith("-> ()"):
        assert returned is None
        names = [part.strip() for part in schema.partition(" -> ")[0].strip("()").split(",")]
        return [argument for argument, declared in zip(arguments, names) if "!)" in declared]
    return list(returned) if isinstance(returned, tuple) else [returned]


def close(result: Any, expected: Any, tolerance: float, device: str = "cpu") -> None:
    """Values on the device against those expected, wherever they are; None is not compared."""
    if expected is None:
        return
    if isinstance(expected, list):
        assert len(result) == len(expected)
        for one, other in zip(result, expected):
            close(one, other, tolerance, device)
        return
    assert result.device.type == device and result.shape == expected.shape
    torch.testing.assert_close(result.detach().cpu().double(), expected.detach().cpu().double(), rtol=tolerance,
                               atol=tolerance)


def normal(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(*shape).to(dtype)


def gradients(function: Callable[..., torch.Tensor], d_out: torch.Tensor,
              *inputs: torch.Tensor) -> list[torch.Tensor]:
    """The gradients of a PyTorch function in float64."""
    wide = [x.double().requires_grad_() for x in inputs]
    return list(torch.autograd.grad(function(*wide), wide, d_out.double()))


@case
def fill_(dtype: torch.dtype) -> Case:
    return [normal(3, 5, dtype=dtype), 1.5], [torch.full((3, 5), 1.5)]


@case
def axpy_(dtype: torch.dtype) -> Case:
    x, y = normal(3, 5, dtype=dtype), normal(3, 5, dtype=dtype)
    return [y, x, 0.5], [y.double() + 0.5 * x.double()]


@case
def axpy(dtype: torch.dtype) -> Case:
    x, y = normal(3, 5, dtype=dtype), normal(3, 5, dtype=dtype)
    return [x, y, 0.5], [y.double() + 0.5 * x.double()]


@case
def convert(dtype: torch.dtype) -> Case:
    x = normal(3, 5, dtype=torch.float32)
    return [x, dtype], [x.to(dtype)]


def _activation_cases(name: str, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    def forward(dtype: torch.dtype) -> Case:
        x = normal(4, 33, dtype=dtype)
        return [x], [function(x.double())]

    def backward(dtype: torch.dtype) -> Case:
        x, d_out = normal(4, 33, dtype=dtype), normal(4, 33, dtype=dtype)
        return [d_out, x], gradients(function, d_out, x)

    def mul(dtype: torch.dtype) -> Case:
        gate, up = normal(4, 33, dtype=dtype), normal(4, 33, dtype=dtype)
        return [gate, up], [function(gate.double()) * up.double()]

    def mul_backward(dtype: torch.dtype) -> Case:
        gate, up, d_out = (normal(4, 33, dtype=dtype) for _ in range(3))
        return [d_out, gate, up], gradients(lambda g, u: function(g) * u, d_out, gate, up)

    made = {"": forward, "_backward": backward, "_mul": mul, "_mul_backward": mul_backward}
    CASES.update({name + suffix: function for suffix, function in made.items()})


_activation_cases("silu", F.silu)
_activation_cases("gelu", F.gelu)
_activation_cases("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"))


def _rms(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return F.rms_norm(x, x.shape[-1:], weight, 1e-6)


@case
def rms_norm(dtype: torch.dtype) -> Case:
    x, weight = normal(2, 3, 48, dtype=dtype), normal(48, dtype=dtype)
    return [x, weight, 1e-6], [_rms(x.double(), weight.double())]


@case
def rms_norm_backward(dtype: torch.dtype) -> Case:
    d_out, x, weight = normal(6, 48, dtype=dtype), normal(6, 48, dtype=dtype), normal(48, dtype=dtype)
    return [d_out, x, weight, 1e-6], gradients(_rms, d_out, x, weight)


@case
def add_rms_norm(dtype: torch.dtype) -> Case:
    x, residual, weight = normal(6, 48, dtype=dtype), normal(6, 48, dtype=dtype), normal(48, dtype=dtype)
    total = (x.float() + residual.float()).to(dtype)
    return [x, residual, weight, 1e-6], [_rms(total.double(), weight.double()), total]


@case
def add_rms_norm_backward(dtype: torch.dtype) -> Case:
    d_out, d_sum, total = (normal(6, 48, dtype=dtype) for _ in range(3))
    weight = normal(48, dtype=dtype)
    d_x, d_weight = gradients(_rms, d_out, total, weight)
    return [d_out, d_sum, total, weight, 1e-6], [d_x + d_sum.double(), d_weight]


@case
def layer_norm(dtype: torch.dtype) -> Case:
    x, weight, bias = normal(6, 48, dtype=dtype), normal(48, dtype=dtype), normal(48, dtype=dtype)
    return [x, weight, bias, 1e-5], [F.layer_norm(x.double(), (48,), weight.double(), bias.double())]


@case
def layer_norm_backward(dtype: torch.dtype) -> Case:
    d_out, x, weight = normal(6, 48, dtype=dtype), normal(6, 48, dtype=dtype), normal(48, dtype=dtype)
    expected = gradients(lambda x, w, b: F.layer_norm(x, (48,), w, b), d_out, x, weight, torch.zeros(48))
    return [d_out, x, weight, 1e-5], expected


@case
def softmax(dtype: torch.dtype) -> Case:
    x, mask = normal(2, 4, 6, 9, dtype=dtype), torch.rand(6, 9) > 0.3
    mask[:, 0] = True
    seen = mask & torch.ones(6, 9, dtype=torch.bool).tril(3)
    scores = (x.double() * 0.5).masked_fill(~seen, float("-inf"))
    return [x, mask, 0.5, True, 3], [scores.softmax(-1)]


@case
def softmax_backward(dtype: torch.dtype) -> Case:
    d_out, out = normal(6, 9, dtype=dtype), normal(6, 9, dtype=dtype).softmax(-1)
    d, y = d_out.double(), out.double()
    return [d_out, out, 0.5], [0.5 * y * (d - (d * y).sum(-1, keepdim=True))]


@case
def log_softmax(dtype: torch.dtype) -> Case:
    x = normal(6, 9, dtype=dtype)
    return [x], [x.double().log_softmax(-1)]


@case
def log_softmax_backward(dtype: torch.dtype) -> Case:
    d_out, out = normal(6, 9, dtype=dtype), normal(6, 9, dtype=dtype).log_softmax(-1)
    return [d_out, out], [d_out.double() - out.double().exp() * d_out.double().sum(-1, keepdim=True)]


def _labels() -> torch.Tensor:
    return torch.tensor([1, 0, -100, 8, 3, 3])


@case
def cross_entropy(dtype: torch.dtype) -> Case:
    x = normal(6, 9, dtype=dtype)
    return [x, _labels(), 0, 0.1, -100], [F.cross_entropy(x.double(), _labels(), label_smoothing=0.1)]


@case
def cross_entropy_backward(dtype: torch.dtype) -> Case:
    x, d_loss = normal(6, 9, dtype=dtype), normal(6, dtype=dtype)
    expected = gradients(lambda x: F.cross_entropy(x, _labels(), reduction="none"), d_loss, x)
    return [d_loss, x, _labels(), 2, 0.0, -100], expected


def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype))


def _attention_inputs(dtype: torch.dtype) -> list[torch.Tensor]:
    shapes = ((2, 4, 5, 16), (2, 2, 7, 16), (2, 2, 7, 8), (5, 7))
    return [normal(*shape, dtype=dtype) for shape in shapes]


def _log_sums(q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    return (q.double() @ k.double().mT / q.shape[-1] ** 0.5 + mask.double()).logsumexp(-1)


@case
def attention(dtype: torch.dtype) -> Case:
    q, k, v, mask = _attention_inputs(dtype)
    expected = [_attend(q.double(), k.double(), v.double(), mask), _log_sums(q, k, mask)]
    return [q, k, v, mask, None, 0.0, False, 0], expected


@case
def attention_backward(dtype: torch.dtype) -> Case:
    q, k, v, mask = _attention_inputs(dtype)
    out = _attend(q.double(), k.double(), v.double(), mask)
    d_out = normal(2, 4, 5, 8, dtype=dtype)
    expected = gradients(lambda q, k, v: _attend(q, k, v, mask), d_out, q, k, v)
    return [d_out, q, k, v, out.to(dtype), _log_sums(q, k, mask).float(), mask, None, 0.0, False, 0], expected


@case
def attention_paged(dtype: torch.dtype) -> Case:
    q = normal(2, 4, 1, 16, dtype=dtype)
    keys, values = normal(6, 2, 4, 16, dtype=dtype), normal(6, 2, 4, 8, dtype=dtype)
    table, lengths = torch.tensor([[5, 0, 2], [1, 3, 0]]), torch.tensor([9, 6])
    expected = []
    for b in range(2):
        k, v = (cache[table[b]].transpose(0, 1).flatten(1, 2)[:, :lengths[b]].double()
                for cache in (keys, values))
        expected.append(_attend(q[b : b + 1].double(), k[None], v[None], torch.zeros(1, int(lengths[b]))))
    return [q, keys, values, table, lengths, None, 0.0, 0, 0], [torch.cat(expected)]


@case
def cache_write_(dtype: torch.dtype) -> Case:
    key, value = normal(3, 2, 16, dtype=dtype), normal(3, 2, 8, dtype=dtype)
    keys, values = normal(6, 2, 4, 16, dtype=dtype), normal(6, 2, 4, 8, dtype=dtype)
    slots, expected = torch.tensor([5, -1, 22]), [keys.clone(), values.clone()]
    for cache, rows in zip(expected, (key, value)):
        cache[1, :, 1], cache[5, :, 2] = rows[0], rows[2]
    return [key, value, slots, keys, values], expected


@case
def cache_copy_(dtype: torch.dtype) -> Case:
    keys, values = normal(6, 2, 4, 16, dtype=dtype), normal(6, 2, 4, 8, dtype=dtype)
    expected = [keys.clone(), values.clone()]
    for cache in expected:
        cache[4], cache[0] = cache[1], cache[5]
    return [keys, values, torch.tensor([[1, 4], [5, 0]])], expected


def _turn(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    angles = positions[:, None].double() * 10000.0 ** (-torch.arange(half).double() / half)
    first, second = x.double().split(half, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


@case
def rope(dtype: torch.dtype) -> Case:
    x, positions = normal(2, 3, 5, 16, dtype=dtype), torch.tensor([0, 7, 3, 100, 1])
    return [x, positions, None, None, 2, 0, False, 10000.0, 1.0], [_turn(x, positions + 2)]


@case
def rope_backward(dtype: torch.dtype) -> Case:
    x, positions = normal(2, 3, 5, 16, dtype=dtype), torch.tensor([0, 7, 3, 100, 1])
    return [x, positions, None, None, 2, 0, False, 10000.0, 1.0], [_turn(x, -positions - 2)]


@case
def matmul(dtype: torch.dtype) -> Case:
    a, b, bias = normal(3, 5, 7, dtype=dtype), normal(3, 9, 7, dtype=dtype), normal(9, dtype=dtype)
    return [a, b, bias, False, True, 1], [F.relu(a.double() @ b.double().mT + bias.double())]


def _quantised(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Packed numbers, scales and biases, and the float64 matrix [12, 64] that they stand for."""
    numbers = torch.randint(0, 16, (12, 64))
    scales, biases = (torch.rand(12, 2) + 0.5).to(dtype) / 16, normal(12, 2, dtype=dtype)
    packed = (numbers[:, 0::2] | numbers[:, 1::2] << 4).to(torch.uint8)
    scale, bias = (each.double().repeat_interleave(32, 1) for each in (scales, biases))
    return packed, scales, biases, numbers.double() * scale + bias


@case
def quantise(dtype: torch.dtype) -> Case:
    """Numbers that lie on the grid of 16 levels come back as they are."""
    numbers = torch.randint(0, 16, (12, 64))
    numbers[:, 0::32], numbers[:, 1::32] = 0, 15
    x = (numbers * 0.125 - 1).to(dtype)
    packed = (numbers[:, 0::2] | numbers[:, 1::2] << 4).to(torch.uint8)
    return [x, 4, 32, True], [packed, torch.full((12, 2), 0.125), torch.full((12, 2), -1.0)]


@case
def dequantise(dtype: torch.dtype) -> Case:
    packed, scales, biases, wide = _quantised(dtype)
    return [packed, scales, biases, 4, 32, dtype], [wide]


@case
def quantised_matvec(dtype: torch.dtype) -> Case:
    packed, scales, biases, wide = _quantised(dtype)
    x, bias = normal(3, 64, dtype=dtype), normal(12, dtype=dtype)
    return [x, packed, scales, biases, 4, 32, bias], [x.double() @ wide.T + bias.double()]


@case
def quantised_matmul(dtype: torch.dtype) -> Case:
    packed, scales, biases, wide = _quantised(dtype)
    x, bias = normal(2, 20, 64, dtype=dtype), normal(12, dtype=dtype)
    return [x, packed, scales, biases, 4, 32, bias, 2], [F.silu(x.double() @ wide.T + bias.double())]


@case
def embedding_bag(dtype: torch.dtype) -> Case:
    table, indices = normal(10, 6, dtype=dtype), torch.tensor([1, 2, 9, 4, 4])
    rows = [table[[1, 2]].amax(0), torch.zeros(6, dtype=dtype), table[[9, 4, 4]].amax(0)]
    return [table, indices, torch.tensor([0, 2, 2]), None, 2, False, None], [torch.stack(rows), None]


@case
def embedding_bag_backward(dtype: torch.dtype) -> Case:
    d_out, table = normal(3, 6, dtype=dtype), normal(10, 6, dtype=dtype)
    indices, offsets = torch.tensor([1, 2, 9, 4, 4]), torch.tensor([0, 2, 2])
    weights, largest = normal(5, dtype=dtype), torch.empty(0, dtype=torch.int32)

    def bags(table: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return F.embedding_bag(indices, table, offsets, mode="sum", per_sample_weights=weights)

    expected = gradients(bags, d_out, table, weights)
    return [d_out, table, indices, offsets, weights, largest, 0, False, None], expected


def _adam_case(dtype: torch.dtype, optimizer: type) -> Case:
    params = [normal(3, 5, dtype=dtype), normal(7, dtype=dtype)]
    grads = [normal(3, 5, dtype=dtype), normal(7, dtype=dtype)]
    states = [[torch.zeros_like(p, dtype=torch.float32) for p in params] for _ in range(3)]
    wide = [p.double().requires_grad_() for p in params]
    for parameter, grad in zip(wide, grads):
        parameter.grad = grad.double()
    reference = optimizer(wide, lr=0.1, betas=(0.8, 0.9), eps=1e-8, weight_decay=0.2, amsgrad=True)
    reference.step()
    names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    expected = [wide, *[[reference.state[p][name] for p in wide] for name in names], []]
    return [params, grads, *states, [], None, 0.1, 0.8, 0.9, 1e-8, 0.2, 1, False, True, 0.0], expected


@case
def adamw_(dtype: torch.dtype) -> Case:
    return _adam_case(dtype, torch.optim.AdamW)


@case
def adam_(dtype: torch.dtype) -> Case:
    return _adam_case(dtype, torch.optim.Adam)


@case
def grad_norm(dtype: torch.dtype) -> Case:
    grads = [normal(3, 5, dtype=dtype), normal(7, dtype=dtype)]
    return [grads], [sum(g.double().square().sum() for g in grads).sqrt()]


def _definite(dtype: torch.dtype) -> torch.Tensor:
    a = torch.randn(2, 5, 5)
    return (a @ a.mT / 5 + torch.eye(5)).to(dtype)


@case
def qr(dtype: torch.dtype) -> Case:
    a = normal(2, 6, 4, dtype=dtype)
    return [a, False], [None, None]


@case
def cholesky(dtype: torch.dtype) -> Case:
    a = _definite(dtype)
    return [a, False], [torch.linalg.cholesky(a.double()), torch.zeros(2)]


@case
def lu(dtype: torch.dtype) -> Case:
    a = normal(2, 5, 5, dtype=dtype)
    factors, pivots = torch.linalg.lu_factor(a.double())
    return [a], [factors, pivots - 1, torch.zeros(2)]


@case
def solve(dtype: torch.dtype) -> Case:
    a, b = _definite(dtype), normal(2, 5, 3, dtype=dtype)
    return [a, b], [torch.linalg.solve(a.double(), b.double()), torch.zeros(2)]


@case
def triangular_solve(dtype: torch.dtype) -> Case:
    a, b = _definite(dtype).tril().contiguous(), normal(2, 5, 3, dtype=dtype)
    expected = torch.linalg.solve_triangular(a.double(), b.double(), upper=False)
    return [a, b, False, False, False, False], [expected]


@case
def lstsq(dtype: torch.dtype) -> Case:
    a, b = normal(2, 8, 3, dtype=dtype), normal(2, 8, 2, dtype=dtype)
    return [a, b, 0.0], [torch.linalg.lstsq(a.double(), b.double()).solution, torch.full((2,), 3)]


@case
def eigh(dtype: torch.dtype) -> Case:
    a = _definite(dtype)
    return [a, False], [torch.linalg.eigvalsh(a.double()), None]


@case
def eigvalsh(dtype: torch.dtype) -> Case:
    a = _definite(dtype)
    return [a, True], [torch.linalg.eigvalsh(a.double(), UPLO="U")]


@case
def svd(dtype: torch.dtype) -> Case:
    a = normal(2, 6, 4, dtype=dtype)
    return [a], [None, torch.linalg.svdvals(a.double()), None]


@case
def svdvals(dtype: torch.dtype) -> Case:
    a = normal(2, 6, 4, dtype=dtype)
    return [a], [torch.linalg.svdvals(a.double())]
