"""ingot.ops against torch in double precision: values in all three types, gradients, and gradients of gradients."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F

from ingot import ops
from op_samples import normal, targets

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
ROUNDING = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


@dataclass
class Case:
    """A call of ingot.ops, the same in torch, and the float arguments that both take."""

    name: str
    call: Callable
    reference: Callable
    shapes: list[tuple[int, ...]]
    twice: bool = True  # whether gradients of gradients are checked

    def arguments(self, dtype: torch.dtype) -> list[torch.Tensor]:
        """New random tensors."""
        return [normal(*shape, dtype=dtype, seed=index + 1) for index, shape in enumerate(self.shapes)]


def rms_norm(x, weight=None, eps=1e-6):
    normalised = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)
    return normalised if weight is None else normalised * weight


def attention(q, k, v, mask=None, causal=False, window=0, slopes=None, scale=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT * (scale or 1 / math.sqrt(q.shape[-1]))
    rows, columns = scores.shape[-2:]
    distance = torch.arange(rows).unsqueeze(1) + columns - rows - torch.arange(columns)
    if slopes is not None:
        scores = scores - slopes.to(scores.dtype).view(-1, q.shape[1], 1, 1) * distance.abs()
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask.to(scores.dtype)
    if causal:
        scores = scores.masked_fill(distance < 0, -math.inf)
    if window:
        scores = scores.masked_fill(distance.abs() >= window, -math.inf)
    return scores.softmax(-1) @ v


def rope(x, positions=None, offset=0, dims=None, interleaved=False, base=10000.0, scale=1.0):
    dims = dims or x.shape[-1]
    places = torch.arange(x.shape[2]) if positions is None else positions
    powers = base ** (-2.0 * torch.arange(dims // 2, dtype=torch.float64) / dims)
    angles = (places.double() + offset).unsqueeze(-1) * scale * powers
    angles = angles.unsqueeze(-3) if angles.dim() == 3 else angles
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    turned, rest = x[..., :dims], x[..., dims:]
    if interleaved:
        first, second = turned[..., 0::2], turned[..., 1::2]
        both = torch.stack([first * cos - second * sin, first * sin + second * cos], -1).flatten(-2)
    else:
        first, second = turned.chunk(2, -1)
        both = torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
    return torch.cat([both, rest], -1)


SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])
BOOLEAN_MASK = (torch.arange(5 * 7).view(5, 7) % 3 != 0)
QKV = [(2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 16)]
TARGETS = targets(6, 11)
INDICES, OFFSETS = torch.tensor([1, 3, 3, 9, 0, 2]), torch.tensor([0, 2, 5])

CASES = [
    Case("axpy", lambda x, y: ops.axpy(x, y, 0.7), lambda x, y: 0.7 * x + y, [(3, 5), (3, 5)]),
    Case("silu", ops.silu, F.silu, [(4, 33)]),
    Case("gelu", ops.gelu, F.gelu, [(4, 33)]),
    Case("gelu_tanh", lambda x: ops.gelu(x, "tanh"), lambda x: F.gelu(x, approximate="tanh"), [(4, 33)]),
    Case("silu_mul", ops.silu_mul, lambda gate, up: F.silu(gate) * up, [(4, 33), (4, 33)]),
    Case("gelu_mul", ops.gelu_mul, lambda gate, up: F.gelu(gate) * up, [(4, 33), (4, 33)]),
    Case("gelu_tanh_mul", lambda g, u: ops.gelu_mul(g, u, "tanh"),
         lambda g, u: F.gelu(g, approximate="tanh") * u, [(4, 33), (4, 33)]),
    Case("rms_norm", ops.rms_norm, rms_norm, [(2, 3, 40), (40,)]),
    Case("rms_norm_plain", ops.rms_norm, rms_norm, [(3, 40)]),
    Case("add_rms_norm", ops.add_rms_norm, lambda x, r, w: (rms_norm(x + r, w), x + r), [(3, 40), (3, 40), (40,)]),
    Case("add_rms_norm_sum", lambda x, r: ops.add_rms_norm(x, r)[1], lambda x, r: x + r, [(3, 40), (3, 40)]),
    Case("layer_norm", ops.layer_norm, lambda x, w, b: F.layer_norm(x, (40,), w, b), [(2, 3, 40), (40,), (40,)]),
    Case("layer_norm_plain", ops.layer_norm, lambda x: F.layer_norm(x, (40,)), [(3, 40)]),
    Case("layer_norm_bias", lambda x, b: ops.layer_norm(x, None, b), lambda x, b: F.layer_norm(x, (40,)) + b,
         [(3, 40), (40,)]),
    Case("softmax", lambda x: ops.softmax(x, scale=0.5), lambda x: (0.5 * x).softmax(-1), [(3, 40)]),
    Case("softmax_dim", lambda x: ops.softmax(x, dim=1), lambda x: x.softmax(1), [(3, 7, 5)]),
    Case("softmax_causal", lambda x: ops.softmax(x, causal=True),
         lambda x: x.masked_fill(torch.ones(5, 7).triu(3).bool(), -math.inf).softmax(-1), [(2, 5, 7)]),
    Case("softmax_mask", lambda x, mask: ops.softmax(x, mask, 0.5), lambda x, mask: (0.5 * x + mask).softmax(-1),
         [(2, 5, 7), (5, 7)]),
    Case("softmax_bool_mask", lambda x: ops.softmax(x, BOOLEAN_MASK),
         lambda x: x.masked_fill(~BOOLEAN_MASK, -math.inf).softmax(-1), [(2, 5, 7)]),
    Case("log_softmax", ops.log_softmax, lambda x: x.log_softmax(-1), [(3, 40)]),
    *[Case(f"cross_entropy_{reduction}",
           lambda x, r=reduction: ops.cross_entropy(x, TARGETS, reduction=r, label_smoothing=0.1),
           lambda x, r=reduction: F.cross_entropy(x, TARGETS, reduction=r, label_smoothing=0.1), [(6, 11)])
      for reduction in ("mean", "sum", "none")],
    Case("cross_entropy_image", lambda x: ops.cross_entropy(x, TARGETS.view(2, 3), reduction="none"),
         lambda x: F.cross_entropy(x, TARGETS.view(2, 3), reduction="none"), [(2, 11, 3)]),
    Case("attention", ops.attention, attention, QKV),
    Case("attention_causal", lambda q, k, v: ops.attention(q, k, v, causal=True),
         lambda q, k, v: attention(q, k, v, causal=True), QKV),
    Case("attention_window", lambda q, k, v: ops.attention(q, k, v, causal=True, window=3, scale=0.2),
         lambda q, k, v: attention(q, k, v, causal=True, window=3, scale=0.2), QKV),
    Case("attention_alibi", lambda q, k, v: ops.attention(q, k, v, alibi_slopes=SLOPES),
         lambda q, k, v: attention(q, k, v, slopes=SLOPES), QKV),
    Case("attention_mask", lambda q, k, v: ops.attention(q, k, v, mask=BOOLEAN_MASK),
         lambda q, k, v: attention(q, k, v, mask=BOOLEAN_MASK), QKV),
    Case("rope", ops.rope, rope, [(2, 3, 5, 8)]),
    Case("rope_positions", lambda x: ops.rope(x, torch.arange(5) * 2, offset=1, dims=4, interleaved=True, base=100.0),
         lambda x: rope(x, torch.arange(5) * 2, 1, 4, True, 100.0), [(2, 3, 5, 8)]),
    Case("matmul", ops.matmul, torch.matmul, [(2, 4, 9), (2, 9, 5)]),
    Case("matmul_vector", ops.matmul, torch.matmul, [(9,), (9, 5)]),
    Case("matmul_broadcast", ops.matmul, torch.matmul, [(3, 1, 4, 9), (2, 9, 5)]),
    Case("matmul_transposed", lambda a, b: ops.matmul(a, b, transpose_a=True, transpose_b=True),
         lambda a, b: a.mT @ b.mT, [(3, 9, 4), (5, 9)]),
    Case("linear", ops.linear, F.linear, [(2, 3, 9), (5, 9), (5,)]),
    *[Case(f"linear_{name}", lambda x, w, b, n=name: ops.linear(x, w, b, n),
           lambda x, w, b, f=function: f(F.linear(x, w, b)), [(2, 3, 9), (5, 9), (5,)])
      for name, function in (("silu", F.silu), ("gelu", F.gelu))],
    Case("embedding_bag_sum", lambda t: ops.embedding_bag(INDICES, t, OFFSETS, mode="sum"),
         lambda t: F.embedding_bag(INDICES, t, OFFSETS, mode="sum"), [(10, 6)], twice=False),
    Case("embedding_bag_mean", lambda t: ops.embedding_bag(INDICES.view(3, 2), t, mode="mean", padding_idx=3),
         lambda t: F.embedding_bag(INDICES.view(3, 2), t, mode="mean", padding_idx=3), [(10, 6)], twice=False),
    Case("embedding_bag_max", lambda t: ops.embedding_bag(INDICES, t, OFFSETS, mode="max"),
         lambda t: F.embedding_bag(INDICES, t, OFFSETS, mode="max"), [(10, 6)], twice=False),
    Case("embedding_bag_weighted",
         lambda t, w: ops.embedding_bag(INDICES, t, OFFSETS, mode="sum", per_sample_weights=w),
         lambda t, w: F.embedding_bag(INDICES, t, OFFSETS, mode="sum", per_sample_weights=w), [(10, 6), (6,)],
         twice=False),
    Case("grad_norm", lambda a, b: ops.grad_norm([a, b]),
         lambda a, b: torch.cat([a.flatten(), b.flatten()]).norm(), [(3, 4), (5,)]),
]
NAMES = [case.name for case in CASES]


def close(found, expected, tolerance: float) -> None:
    """Compares tensors or tuples of them, relative to the largest expected element."""
    found = found if isinstance(found, (tuple, list)) else (found,)
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert one.shape == other.shape
        scale = max(1.0, other.abs().max().item()) if other.numel() else 1.0
        torch.testing.assert_close(one.double(), other.double(), rtol=0, atol=tolerance * scale)


def weighted_sum(results) -> torch.Tensor:
    """A scalar of all results in which every element counts differently."""
    results = results if isinstance(results, tuple) else (results,)
    return sum((result * torch.linspace(-1, 1, result.numel()).view(result.shape).to(result.dtype)).sum()
               for result in results)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_values(case: Case, dtype: torch.dtype):
    arguments = case.arguments(dtype)
    found = case.call(*arguments)
    expected = case.reference(*[argument.double() for argument in arguments])
    first = found[0] if isinstance(found, tuple) else found
    assert first.dtype == (torch.float32 if case.name == "grad_norm" else dtype)
    close(found, expected, ROUNDING[dtype])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_gradients(case: Case, dtype: torch.dtype):
    arguments = [argument.requires_grad_() for argument in case.arguments(dtype)]
    found = torch.autograd.grad(weighted_sum(case.call(*arguments)), arguments)
    doubles = [argument.detach().double().requires_grad_() for argument in arguments]
    expected = torch.autograd.grad(weighted_sum(case.reference(*doubles)), doubles)
    assert all(one.dtype == dtype for one in found)
    close(found, expected, 3 * ROUNDING[dtype])


@pytest.mark.parametrize("case", [case for case in CASES if case.twice],
                         ids=[case.name for case in CASES if case.twice])
def test_gradients_of_gradients(case: Case):
    def second(function, arguments):
        gradients = torch.autograd.grad(weighted_sum(function(*arguments)), arguments, create_graph=True)
        total = sum((gradient * gradient).sum() for gradient in gradients)
        if not total.requires_grad:  # the function is linear: its gradient is constant
            return [torch.zeros_like(argument) for argument in arguments]
        return [torch.zeros_like(argument) if gradient is None else gradient for gradient, argument in
                zip(torch.autograd.grad(total, arguments, allow_unused=True), arguments)]

    arguments = [argument.requires_grad_() for argument in case.arguments(torch.float32)]
    doubles = [argument.detach().double().requires_grad_() for argument in arguments]
    close(second(case.call, arguments), second(case.reference, doubles), 2e-4)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_inputs_with_gaps_and_turned_inputs_give_the_same(case: Case):
    arguments = case.arguments(torch.float32)
    expected = case.call(*arguments)
    with_gaps = [torch.stack([argument, argument + 1], -1)[..., 0] for argument in arguments]
    close(case.call(*with_gaps), expected, 1e-6)
    turned = [argument.mT.contiguous().mT if argument.dim() > 1 else argument for argument in arguments]
    turned = [argument.requires_grad_() for argument in turned]
    results = case.call(*turned)
    close(results, expected, 1e-6)
    plain = [argument.detach().contiguous().requires_grad_() for argument in turned]
    found = torch.autograd.grad(weighted_sum(results), turned)
    close(found, torch.autograd.grad(weighted_sum(case.call(*plain)), plain), 1e-5)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_embedding_bag_gradient_is_linear_in_the_output_gradient(mode: str):
    table = normal(10, 6).requires_grad_()
    d_out = normal(3, 6, seed=2).requires_grad_()
    (d_table,) = torch.autograd.grad(ops.embedding_bag(INDICES, table, OFFSETS, mode=mode), table, d_out,
                                     create_graph=True)
    weights = normal(10, 6, seed=3)
    (found,) = torch.autograd.grad((d_table * weights).sum(), d_out)
    close(found, F.embedding_bag(INDICES, weights, OFFSETS, mode=mode), 1e-5)


@pytest.mark.parametrize("name", ["silu", "rms_norm", "softmax", "attention", "matmul"])
def test_gradients_by_finite_differences(name: str):
    case = next(case for case in CASES if case.name == name)
    arguments = [argument.requires_grad_() for argument in case.arguments(torch.float32)]
    gradients = torch.autograd.grad(weighted_sum(case.call(*arguments)), arguments)
    step = 1e-2
    for index, gradient in enumerate(gradients):
        direction = normal(*gradient.shape, seed=9)

        def along(amount: float) -> float:
            moved = [argument.detach() for argument in arguments]
            moved[index] = moved[index] + amount * direction
            return weighted_sum(case.call(*moved).double()).item()

        difference = (along(step) - along(-step)) / (2 * step)
        assert difference == pytest.approx((gradient * direction).sum().item(), rel=2e-2, abs=2e-2)


@pytest.mark.parametrize("special", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("m, n, k", [(40, 200, 90), (60, 400, 64), (136, 264, 328)])
def test_products_of_halves_keep_infinities(m, n, k, turned, special):
    """Small whole numbers have nothing in the lower parts that matrix units of CPUs see: no product may become NaN."""
    torch.manual_seed(m)
    a, b = torch.randint(-8, 8, (m, k)).half(), torch.randint(-8, 8, (k, n)).half()
    a[3, 5], b[7, 11], b[5, 2] = special, -special, special
    if turned:
        b = b.t().contiguous().t()
    torch.testing.assert_close(ops.matmul(a, b).double(), a.double() @ b.double(), rtol=0, atol=0, equal_nan=True)
