"""Linear algebra: values against torch.linalg in double, gradients against its autograd, the formulas themselves by
gradcheck in double, and what is refused."""
from __future__ import annotations

import pytest
import torch

from ingot import ops
from ingot._operations import cholesky, eigh, lstsq, lu, qr
from ingot._operations.triangular import triangular_solve_gradients
from op_samples import normal, positive_definite, triangular


def symmetric(*shape: int) -> torch.Tensor:
    """Symmetric matrices whose eigenvalues are well apart."""
    vectors = torch.linalg.qr(normal(*shape).double())[0]
    return (vectors * torch.arange(1.0, shape[-1] + 1).double()) @ vectors.mT


def apart(*shape: int) -> torch.Tensor:
    """Matrices whose singular values are well apart."""
    u, s, vh = torch.linalg.svd(normal(*shape).double(), full_matrices=False)
    return u @ torch.diag_embed(torch.arange(s.shape[-1], 0, -1).double().expand_as(s)) @ vh


# name: (ingot's function, torch's, double arguments). The functions are made independent of free signs.
CASES = {
    "qr": (lambda a: abs(ops.qr(a).R), lambda a: abs(torch.linalg.qr(a).R),
           [normal(2, 6, 4).double()]),
    "qr_projection": (lambda a: (lambda q: q @ q.mT)(ops.qr(a).Q[..., :3]),
                      lambda a: (lambda q: q @ q.mT)(torch.linalg.qr(a).Q[..., :3]), [normal(2, 6, 4).double()]),
    "qr_wide": (lambda a: abs(ops.qr(a).R), lambda a: abs(torch.linalg.qr(a).R), [normal(3, 5).double()]),
    "qr_complete_square": (lambda a: abs(ops.qr(a, "complete").R), lambda a: abs(torch.linalg.qr(a).R),
                           [normal(4, 4).double()]),
    "cholesky": (ops.cholesky, torch.linalg.cholesky, [positive_definite(2, 5, 5).double()]),
    "cholesky_upper": (lambda a: ops.cholesky(a, upper=True), lambda a: torch.linalg.cholesky(a, upper=True),
                       [positive_definite(5, 5).double()]),
    "lu": (lambda a: ops.lu(a).LU, lambda a: torch.linalg.lu_factor(a).LU, [normal(2, 5, 5).double()]),
    "solve": (ops.solve, torch.linalg.solve, [positive_definite(2, 5, 5).double(), normal(2, 5, 3).double()]),
    "solve_vector": (ops.solve, torch.linalg.solve, [positive_definite(2, 5, 5).double(), normal(2, 5).double()]),
    "solve_broadcast": (ops.solve, torch.linalg.solve, [positive_definite(5, 5).double(), normal(3, 5, 2).double()]),
    "triangular_lower": (lambda a, b: ops.triangular_solve(a, b, upper=False),
                         lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
                         [triangular(2, 5, 5).double(), normal(2, 5, 3).double()]),
    "triangular_upper_right_unit": (
        lambda a, b: ops.triangular_solve(a, b, upper=True, left=False, unitriangular=True),
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=True, left=False, unitriangular=True),
        [0.3 * triangular(5, 5, upper=True).double(), normal(3, 5).double()]),
    "triangular_transposed": (lambda a, b: ops.triangular_solve(a, b, upper=False, transposed=True),
                              lambda a, b: torch.linalg.solve_triangular(a.mT, b, upper=True),
                              [triangular(5, 5).double(), normal(5, 3).double()]),
    "lstsq_tall": (lambda a, b: ops.lstsq(a, b).solution, lambda a, b: torch.linalg.pinv(a) @ b,
                   [normal(2, 7, 4).double(), normal(2, 7, 3).double()]),
    "lstsq_wide": (lambda a, b: ops.lstsq(a, b).solution, lambda a, b: torch.linalg.pinv(a) @ b,
                   [normal(3, 6).double(), normal(3, 2).double()]),
    "eigvalsh": (ops.eigvalsh, torch.linalg.eigvalsh, [symmetric(2, 5, 5)]),
    "eigh": (lambda a: (lambda r: (r.eigenvalues, r.eigenvectors ** 2))(ops.eigh((a + a.mT) / 2)),
             lambda a: (lambda r: (r.eigenvalues, r.eigenvectors ** 2))(torch.linalg.eigh((a + a.mT) / 2)),
             [symmetric(2, 5, 5)]),
    "svdvals": (ops.svdvals, torch.linalg.svdvals, [apart(2, 6, 4)]),
    "svd_tall": (lambda a: (lambda r: (r.U ** 2, r.S, r.Vh ** 2))(ops.svd(a)),
                 lambda a: (lambda r: (r.U ** 2, r.S, r.Vh ** 2))(torch.linalg.svd(a, full_matrices=False)),
                 [apart(2, 6, 4)]),
    "svd_wide": (lambda a: (lambda r: (r.U ** 2, r.S, r.Vh ** 2))(ops.svd(a)),
                 lambda a: (lambda r: (r.U ** 2, r.S, r.Vh ** 2))(torch.linalg.svd(a, full_matrices=False)),
                 [apart(3, 5)]),
}


def as_tuple(value) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def weighted_sum(results) -> torch.Tensor:
    return sum((result * torch.linspace(-1, 2, result.numel(), dtype=result.dtype).view(result.shape)).sum()
               for result in as_tuple(results))


def close(found, expected, tolerance: float) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        torch.testing.assert_close(one.double(), other.double(), rtol=0,
                                   atol=tolerance * max(1.0, other.abs().max().item()))


@pytest.mark.parametrize("name", CASES)
def test_values(name: str):
    call, reference, doubles = CASES[name]
    close(as_tuple(call(*[a.float() for a in doubles])), as_tuple(reference(*doubles)), 2e-5)


@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str):
    call, reference, doubles = CASES[name]
    singles = [a.float().requires_grad_() for a in doubles]
    doubles = [a.clone().requires_grad_() for a in doubles]
    found = torch.autograd.grad(weighted_sum(call(*singles)), singles)
    expected = torch.autograd.grad(weighted_sum(reference(*doubles)), doubles)
    close(found, expected, 1e-4)


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_gradients(name: str):
    call, reference, doubles = CASES[name]

    def second(function, arguments):
        gradients = torch.autograd.grad(weighted_sum(function(*arguments)), arguments, create_graph=True)
        return torch.autograd.grad(sum((g * g).sum() for g in gradients), arguments)

    found = second(call, [a.float().requires_grad_() for a in doubles])
    close(found, second(reference, [a.clone().requires_grad_() for a in doubles]), 1e-3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_types_are_computed_in_float32(dtype: torch.dtype):
    a = positive_definite(6, 6, dtype=dtype)
    torch.testing.assert_close(ops.cholesky(a), torch.linalg.cholesky(a.float()).to(dtype), rtol=2e-2, atol=2e-2)
    a.requires_grad_()
    ops.eigvalsh(a).sum().backward()
    assert a.grad.dtype == dtype
    torch.testing.assert_close(a.grad, torch.eye(6, dtype=dtype), rtol=0, atol=2e-2)


def with_formula(forward, formula, needs_inputs: bool = False):
    """A function in double whose backward is ingot's formula, for gradcheck."""

    class Checked(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            outputs = as_tuple(forward(*inputs))
            ctx.save_for_backward(*(inputs if needs_inputs else ()), *outputs)
            ctx.mark_non_differentiable(*[output for output in outputs if not output.is_floating_point()])
            return outputs

        @staticmethod
        def backward(ctx, *gradients):
            return formula(*ctx.saved_tensors, *gradients)

    return Checked.apply


def signs_of(r: torch.Tensor) -> torch.Tensor:
    return r.diagonal(dim1=-2, dim2=-1).sign()


def positive_qr(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The decomposition with a positive diagonal, which is unique."""
    q, r = torch.linalg.qr(a)
    sign = signs_of(r)
    return q * sign.unsqueeze(-2), r * sign.unsqueeze(-1)


FORMULAS = {
    "qr": (positive_qr, qr.qr_gradient, False, [normal(5, 3).double()]),
    "qr_wide": (positive_qr, qr.qr_gradient, False, [normal(3, 5).double()]),
    "cholesky": (lambda a: torch.linalg.cholesky((a + a.mT) / 2),
                 lambda factor, g: cholesky.cholesky_gradient(factor, g, False), False,
                 [positive_definite(4, 4).double()]),
    "lu": (lambda a: (lambda r: (r.LU, r.pivots - 1))(torch.linalg.lu_factor(a)),
           lambda factors, pivots, g, _: lu.lu_gradient(factors, pivots, g), False, [normal(4, 4).double()]),
    "triangular_solve": (lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
                         lambda a, b, x, g: triangular_solve_gradients(a, x, g, False, False, False,
                                                                                       False),
                         True, [triangular(4, 4).double(), normal(4, 2).double()]),
    "lstsq_tall": (lambda a, b: torch.linalg.pinv(a) @ b, lstsq.lstsq_gradients, True,
                   [normal(5, 3).double(), normal(5, 2).double()]),
    "lstsq_wide": (lambda a, b: torch.linalg.pinv(a) @ b, lstsq.lstsq_gradients, True,
                   [normal(3, 5).double(), normal(3, 2).double()]),
    "eigvalsh": (lambda a: (lambda r: (r.eigenvalues, r.eigenvectors))(torch.linalg.eigh((a + a.mT) / 2)),
                 lambda values, vectors, d, _: eigh.eigh_gradient(values, vectors, d, None), False,
                 [symmetric(4, 4)]),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formula_by_gradcheck_in_double(name: str):
    forward, formula, needs_inputs, arguments = FORMULAS[name]
    checked = with_formula(forward, formula, needs_inputs)
    arguments = [argument.clone().requires_grad_() for argument in arguments]

    def differentiable(*inputs):
        outputs = checked(*inputs)
        return outputs[0] if name in ("eigvalsh", "lu") else outputs

    assert torch.autograd.gradcheck(differentiable, arguments)


def test_cholesky_raises_where_torch_does():
    a = torch.stack([torch.eye(3), torch.diag(torch.tensor([1.0, -2.0, 3.0]))])
    with pytest.raises(torch.linalg.LinAlgError, match="pivot 2 is not positive.*matrix 1 of 2"):
        ops.cholesky(a)
    assert torch.equal(ops.cholesky(a, check=False)[0], torch.eye(3))


def test_solve_raises_for_singular_matrices():
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        ops.solve(torch.zeros(3, 3), torch.ones(3))
    assert torch.equal(ops.solve(torch.zeros(3, 3), torch.ones(3), check=False), torch.zeros(3))


def test_lstsq_of_low_rank_solves_and_refuses_the_gradient():
    a = torch.ones(4, 2, requires_grad=True)
    result = ops.lstsq(a, torch.ones(4, 1))
    assert int(result.rank) == 1
    torch.testing.assert_close(result.solution, torch.full((2, 1), 0.5))
    with pytest.raises(RuntimeError, match="full rank 2, but one has rank 1"):
        result.solution.sum().backward()


def test_gradients_that_do_not_exist_are_refused():
    with pytest.raises(RuntimeError, match="5 x 3.*complete=False"):
        ops.qr(normal(5, 3).requires_grad_(), "complete").Q.sum().backward()
    with pytest.raises(RuntimeError, match="square matrices, not for 3 x 4"):
        ops.lu(normal(3, 4).requires_grad_()).LU.sum().backward()


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="'economy'"):
        ops.qr(normal(3, 3), "economy")
    with pytest.raises(ValueError, match="UPLO is 'X'"):
        ops.eigh(normal(3, 3), "X")
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        ops.triangular_solve(normal(3), normal(3, 1), upper=True)
    for call in (ops.cholesky, ops.eigh):
        with pytest.raises(RuntimeError):
            call(normal(3, 4))
    with pytest.raises(RuntimeError):
        ops.svd(normal(3, 3).double())


@pytest.mark.parametrize("rows,columns", [(0, 0), (0, 3), (3, 0)])
def test_empty_matrices(rows: int, columns: int):
    a = torch.empty(2, rows, columns)
    assert ops.svd(a).S.shape == (2, 0)
    assert ops.qr(a).R.shape == (2, 0, columns)
    assert ops.lu(a).LU.shape == a.shape
    assert ops.lstsq(a, torch.empty(2, rows, 1)).solution.shape == (2, columns, 1)
    if rows == columns:
        assert ops.cholesky(a).shape == a.shape
        assert ops.eigh(a).eigenvalues.shape == (2, 0)
        assert ops.solve(a, torch.empty(2, 0, 3)).shape == (2, 0, 3)
