"""The calls of torch that test_overrides.py makes with and without ingot: one or more for each operator."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.nn.functional as F

FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def well_conditioned(*shape: int) -> torch.Tensor:
    """Matrices far from singular, with singular values apart from each other."""
    a = torch.randn(*shape)
    k = min(shape[-2:])
    a[..., range(k), range(k)] += torch.arange(1, k + 1) * 3.0
    return a


def symmetric(*shape: int) -> torch.Tensor:
    a = well_conditioned(*shape)
    product = (a.unsqueeze(-2) * a.unsqueeze(-3)).sum(-1)  # no operator that is overridden
    return product / shape[-1] + torch.eye(shape[-1])


def up_to_sign(q: torch.Tensor, dim: int) -> torch.Tensor:
    """Vectors along `dim` with their largest element positive: signs are free in a factorisation."""
    largest = q.gather(dim, q.abs().argmax(dim, keepdim=True))
    return q * largest.sign()


class Case:
    """A call of torch that an operator is replaced in."""

    def __init__(
        self,
        operator: str,
        run: Callable[..., Any],
        *inputs: Callable[[], torch.Tensor],
        dtypes: tuple[torch.dtype, ...] = FLOATS,
        backward: str | None = None,
        compare: Callable[[Any], Any] = lambda result: result,
        name: str = "",
        exact: bool = True,
        optional: bool = False,
    ) -> None:
        self.operator, self.run, self.inputs, self.dtypes = operator, run, inputs, dtypes
        self.backward, self.compare, self.name, self.exact = backward, compare, name or operator, exact
        self.optional = optional  # not every torch calls this operator here

    def make(self, dtype: torch.dtype) -> list[torch.Tensor]:
        torch.manual_seed(3)
        made = [make() for make in self.inputs]
        return [x.to(dtype) if x.is_floating_point() else x for x in made]


F32 = (torch.float32,)
CASES = [
    Case("aten::silu", F.silu, lambda: torch.randn(7, 33), backward="aten::silu_backward"),
    Case("aten::gelu", F.gelu, lambda: torch.randn(7, 33), backward="aten::gelu_backward"),
    Case(
        "aten::gelu",
        lambda x: F.gelu(x, approximate="tanh"),
        lambda: torch.randn(7, 33),
        backward="aten::gelu_backward",
        name="gelu tanh",
    ),
    Case(
        "aten::_softmax",
        lambda x: F.softmax(x, -1),
        lambda: torch.randn(4, 5, 33),
        backward="aten::_softmax_backward_data",
    ),
    Case(
        "aten::_log_softmax",
        lambda x: F.log_softmax(x, 2),
        lambda: torch.randn(4, 5, 33),
        backward="aten::_log_softmax_backward_data",
    ),
    Case(
        "aten::layer_norm",
        lambda x, w, b: F.layer_norm(x, [33], w, b, 1e-4),
        lambda: torch.randn(4, 5, 33),
        lambda: torch.randn(33),
        lambda: torch.randn(33),
    ),
    Case(
        "aten::rms_norm",
        lambda x, w: F.rms_norm(x, [33], w, 1e-4),
        lambda: torch.randn(4, 5, 33),
        lambda: torch.randn(33),
    ),
    Case(
        "aten::rms_norm",
        lambda x: F.rms_norm(x, [33]),
        lambda: torch.randn(4, 33) * 1e-3,
        name="rms_norm without eps",
    ),
    Case(
        "aten::cross_entropy_loss",
        lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1),
        lambda: torch.randn(9, 33),
        lambda: torch.randint(33, (9,)),
    ),
    Case(
        "aten::cross_entropy_loss",
        lambda x, t: F.cross_entropy(x, t, reduction="sum", ignore_index=5),
        lambda: torch.randn(9, 33),
        lambda: torch.arange(9),
        name="cross_entropy sum",
    ),
    Case(
        "aten::cross_entropy_loss",
        lambda x, t: F.cross_entropy(x, t, reduction="none"),
        lambda: torch.randn(9, 33),
        lambda: torch.tensor([-100, 1, 2, 3, 4, 5, 6, 7, 32]),
        name="cross_entropy none",
    ),
    Case(
        "aten::_embedding_bag",
        lambda w, i, o: F.embedding_bag(i, w, o, mode="sum"),
        lambda: torch.randn(50, 16),
        lambda: torch.randint(50, (40,)),
        lambda: torch.tensor([0, 3, 3, 20]),
        backward="aten::_embedding_bag_backward",
    ),
    Case(
        "aten::_embedding_bag",
        lambda w, i: F.embedding_bag(i, w, mode="mean"),
        lambda: torch.randn(50, 16),
        lambda: torch.randint(50, (6, 7)),
        backward="aten::_embedding_bag_backward",
        name="embedding_bag mean",
    ),
    Case("aten::mm", torch.mm, lambda: torch.randn(3, 40), lambda: torch.randn(40, 27), exact=False),
    Case(
        "aten::mm",
        lambda x, w: torch.mm(x, w.t()),
        lambda: torch.randn(1, 300),
        lambda: torch.randn(33, 300),
        name="mm by columns",
        exact=False,
    ),
    Case(
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        F.scaled_dot_product_attention,
        *[lambda: torch.randn(2, 3, 17, 32)] * 3,
        backward="aten::_scaled_dot_product_flash_attention_for_cpu_backward",
    ),
    Case(
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
        *[lambda: torch.randn(2, 17, 3, 32).transpose(1, 2)] * 3,
        backward="aten::_scaled_dot_product_flash_attention_for_cpu_backward",
        name="causal attention",
    ),
    Case(
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
        lambda: torch.randn(2, 6, 17, 32),
        *[lambda: torch.randn(2, 2, 17, 32)] * 2,
        name="attention with shared heads",
        optional=True,
    ),
    Case(
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, torch.arange(17 * 19).view(17, 19) % 5 > 0),
        lambda: torch.randn(2, 3, 17, 32),
        *[lambda: torch.randn(2, 3, 19, 32)] * 2,
        name="masked attention",
    ),
    Case(
        "aten::linalg_qr",
        torch.linalg.qr,
        lambda: well_conditioned(3, 20, 12),
        dtypes=F32,
        compare=lambda r: (up_to_sign(r[0], -2), up_to_sign(r[1], -1)),
    ),
    Case("aten::linalg_cholesky_ex", torch.linalg.cholesky, lambda: symmetric(3, 12, 12), dtypes=F32),
    Case(
        "aten::linalg_cholesky_ex",
        lambda a: torch.linalg.cholesky(a, upper=True),
        lambda: symmetric(12, 12),
        dtypes=F32,
        name="cholesky upper",
    ),
    Case("aten::linalg_lu_factor_ex", torch.linalg.lu_factor, lambda: well_conditioned(3, 12, 9), dtypes=F32),
    Case(
        "aten::linalg_solve",
        torch.linalg.solve,
        lambda: well_conditioned(3, 12, 12),
        lambda: torch.randn(3, 12, 5),
        dtypes=F32,
    ),
    Case(
        "aten::linalg_solve_triangular",
        lambda a, b: torch.linalg.solve_triangular(a.triu(), b, upper=True),
        lambda: well_conditioned(3, 12, 12),
        lambda: torch.randn(3, 12, 5),
        dtypes=F32,
    ),
    Case(
        "aten::linalg_solve_triangular",
        lambda a, b: torch.linalg.solve_triangular(a.tril(), b, upper=False, left=False),
        lambda: well_conditioned(3, 12, 12),
        lambda: torch.randn(3, 5, 12),
        dtypes=F32,
        name="solve_triangular right",
    ),
    Case(
        "aten::linalg_lstsq",
        lambda a, b: torch.linalg.lstsq(a, b)[::2],
        lambda: well_conditioned(3, 20, 12),
        lambda: torch.randn(3, 20, 2),
        dtypes=F32,
        exact=False,
    ),
    Case(
        "aten::linalg_lstsq",
        lambda a, b: torch.linalg.lstsq(a, b).solution,
        lambda: well_conditioned(9, 12),
        lambda: torch.randn(9, 2),
        dtypes=F32,
        name="lstsq of a wide matrix",
        exact=False,
    ),
    Case(
        "aten::_linalg_eigh", torch.linalg.eigvalsh, lambda: symmetric(3, 12, 12), dtypes=F32, name="eigvalsh"
    ),
    Case(
        "aten::_linalg_svd", torch.linalg.svdvals, lambda: torch.randn(3, 9, 12), dtypes=F32, name="svdvals"
    ),
    Case(
        "aten::_linalg_eigh",
        torch.linalg.eigh,
        lambda: symmetric(3, 12, 12),
        dtypes=F32,
        compare=lambda r: (r[0], up_to_sign(r[1], -2)),
    ),
    Case(
        "aten::_linalg_svd",
        lambda a: torch.linalg.svd(a, full_matrices=False),
        lambda: well_conditioned(3, 20, 12),
        dtypes=F32,
        compare=lambda r: (up_to_sign(r[0], -2), r[1], up_to_sign(r[2], -1)),
    ),
]
