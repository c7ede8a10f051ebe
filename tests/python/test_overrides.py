"""Overrides: torch's operators carried out by ingot, handed on where ingot cannot, and restored exactly."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from override_cases import CASES, FLOATS, Case, symmetric
from torch.utils._python_dispatch import TorchDispatchMode

import ingot
from ingot import _C
from ingot._overrides.limits import GROUPS as LIMITS
from ingot._overrides.measured import LARGEST_MEASURED, MEASURED

GROUPS = (
    "activations",
    "embedding_bag",
    "normalization",
    "softmax",
    "cross_entropy",
    "attention",
    "matmul",
    "linalg",
    "optimizers",
)
NONE = dict.fromkeys(GROUPS, False)
ALWAYS = dict.fromkeys(GROUPS, "always")
TOLERANCE = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


@pytest.fixture(autouse=True)
def torch_as_it_was():
    """Every test starts and ends without overrides."""
    ingot.disable_overrides()
    ingot.reset_override_counts()
    yield
    ingot.disable_overrides()


BY_TYPE = [
    pytest.param(case, dtype, id=f"{case.name} {str(dtype)[6:]}") for case in CASES for dtype in case.dtypes
]


def tensors(result: Any) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else list(result)


def assert_close(found: Any, expected: Any, dtype: torch.dtype) -> None:
    for x, y in zip(tensors(found), tensors(expected), strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        scale = max(float(y.abs().max()), 1.0) if y.numel() else 1.0
        assert float((x.double() - y.double()).abs().max()) <= TOLERANCE[dtype] * scale


def skip_what_torch_does_not_call(case: Case, name: str) -> None:
    if case.optional and name not in ingot.override_counts():
        pytest.skip(f"torch {torch.__version__} does not call {name} here")


@pytest.mark.parametrize("case, dtype", BY_TYPE)
def test_results_are_torchs_with_the_same_strides(case, dtype):
    expected = case.run(*case.make(dtype))
    with ingot.overrides(**ALWAYS):
        found = case.run(*case.make(dtype))
    # Where nothing asks for gradients, torch has an operator of its own for bags.
    name = case.operator.replace("_embedding_bag", "_embedding_bag_forward_only")
    skip_what_torch_does_not_call(case, name)
    assert ingot.override_counts()[name].replaced == 1, ingot.override_report()
    assert [x.stride() for x in tensors(found)] == [x.stride() for x in tensors(expected)]
    assert_close(case.compare(found), case.compare(expected), dtype)


def gradients(case: Case, dtype: torch.dtype) -> list[torch.Tensor]:
    inputs = [x.requires_grad_() if x.is_floating_point() else x for x in case.make(dtype)]
    results = [x for x in tensors(case.compare(case.run(*inputs))) if x.is_floating_point()]
    torch.manual_seed(5)
    sum((x * torch.randn_like(x)).sum() for x in results).backward()
    return [x.grad for x in inputs if x.is_floating_point()]


@pytest.mark.parametrize("case, dtype", BY_TYPE)
def test_gradients_are_torchs(case, dtype):
    expected = gradients(case, dtype)
    with ingot.overrides(**ALWAYS):
        found = gradients(case, dtype)
    skip_what_torch_does_not_call(case, case.operator)
    counts = ingot.override_counts()
    assert counts[case.operator].replaced >= 1, ingot.override_report()
    if case.backward:
        assert counts[case.backward].replaced == 1, ingot.override_report()
    for x, y in zip(found, expected, strict=True):
        assert_close(x, y, dtype)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_double_is_handed_on_unchanged(case):
    expected = tensors(case.run(*case.make(torch.float64)))
    expected_gradients = gradients(case, torch.float64)
    with ingot.overrides(**ALWAYS):
        found = tensors(case.run(*case.make(torch.float64)))
        found_gradients = gradients(case, torch.float64)
    skip_what_torch_does_not_call(case, case.operator)
    assert not any(count.replaced for count in ingot.override_counts().values()), ingot.override_report()
    assert ingot.override_counts()[case.operator].passed >= 1
    for x, y in zip(found + found_gradients, expected + expected_gradients, strict=True):
        assert x.stride() == y.stride()
        if case.exact:
            assert torch.equal(x, y)
        else:  # older versions of torch differ from call to call, with the alignment of the memory
            torch.testing.assert_close(x, y, rtol=1e-10, atol=1e-12)


def complex_qr():
    return torch.linalg.qr(torch.randn(4, 4, dtype=torch.complex64))


HANDED_ON = {
    "a transposed input": lambda: F.silu(torch.randn(5, 6).T),
    "a strided input": lambda: F.silu(torch.randn(5, 6)[:, ::2]),
    "an empty input": lambda: F.silu(torch.randn(0, 6)),
    "softmax over the first dimension": lambda: F.softmax(torch.randn(5, 6), 0),
    "a norm over two dimensions": lambda: F.layer_norm(torch.randn(5, 6, 7), [6, 7]),
    "a norm with a weight of another type": lambda: F.rms_norm(
        torch.randn(5, 6).bfloat16(), [6], torch.randn(6)
    ),
    "class weights": lambda: F.cross_entropy(torch.randn(6, 5).T, torch.arange(5), weight=torch.rand(6)),
    "probabilities as targets": lambda: F.cross_entropy(torch.randn(6, 5).T, torch.rand(5, 6)),
    "bags by maximum": lambda: F.embedding_bag(torch.randint(9, (3, 4)), torch.randn(9, 5), mode="max"),
    "bags with padding": lambda: F.embedding_bag(
        torch.randint(9, (3, 4)), torch.randn(9, 5), mode="sum", padding_idx=2
    ),
    "a causal mask that is no square": lambda: F.scaled_dot_product_attention(
        torch.randn(1, 2, 3, 8), torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8), is_causal=True
    ),
    "complex numbers": complex_qr,
    "qr without q": lambda: torch.linalg.qr(torch.randn(5, 4), mode="r"),
    "full matrices": lambda: torch.linalg.svd(torch.randn(5, 4)),
    "one right side for many matrices": lambda: torch.linalg.solve(torch.randn(3, 4, 4), torch.randn(4)),
    "a solution from the right": lambda: torch.linalg.solve(torch.randn(4, 4), torch.randn(2, 4), left=False),
}


@pytest.mark.parametrize("what", HANDED_ON)
def test_what_ingot_does_not_take_is_torchs_bit_for_bit(what):
    torch.manual_seed(1)
    expected = tensors(HANDED_ON[what]())
    torch.manual_seed(1)
    with ingot.overrides(**ALWAYS):
        found = tensors(HANDED_ON[what]())
    counts = ingot.override_counts()
    assert sum(count.passed for count in counts.values()) >= 1 and not any(
        count.replaced for count in counts.values()
    )
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == y.dtype and x.stride() == y.stride()
        assert torch.equal(torch.nan_to_num(x), torch.nan_to_num(y))


RAISES = {
    "index out of range": lambda: F.embedding_bag(torch.tensor([[1, 9]]), torch.randn(9, 5)),
    "target out of range": lambda: F.cross_entropy(torch.randn(5, 6), torch.tensor([0, 1, 2, 3, 6])),
    "singular matrix": lambda: torch.linalg.solve(torch.ones(4, 4), torch.randn(4, 2)),
    "not positive definite": lambda: torch.linalg.cholesky(-torch.eye(4)),
    "not finite": lambda: torch.linalg.eigh(torch.full((4, 4), float("nan"))),
    "wrong shape": lambda: F.rms_norm(torch.randn(5, 6), [7]),
    "not square": lambda: torch.linalg.eigh(torch.randn(4, 5)),
    "unknown mode": lambda: torch.linalg.qr(torch.randn(4, 4), mode="half"),
    "unknown approximation": lambda: F.gelu(torch.randn(4), approximate="cube"),
}


@pytest.mark.parametrize("what", RAISES)
def test_errors_are_torchs(what):
    with pytest.raises(Exception) as expected:
        RAISES[what]()
    with ingot.overrides(**ALWAYS), pytest.raises(type(expected.value)) as found:
        RAISES[what]()
    assert str(found.value).splitlines()[0] == str(expected.value).splitlines()[0]


def dispatch_tables() -> dict[str, str]:
    """Everything the dispatcher knows of the operators that can be replaced."""
    names = [line.split()[0] for line in ingot.override_report().splitlines()[1:]]
    return {
        name: torch._C._dispatch_dump(name) + torch._C._dispatch_dump_table(name)
        for name in names
        if "::" in name
    }


def test_disabling_restores_the_dispatcher_exactly():
    before, adam = dispatch_tables(), torch.optim.adam.adam if hasattr(torch.optim, "adam") else None
    x = torch.randn(1000)
    expected = F.silu(x)
    for _ in range(3):
        ingot.enable_overrides(**ALWAYS)
        assert dispatch_tables() != before
        F.silu(x)
        ingot.disable_overrides()
        assert dispatch_tables() == before
    assert torch.equal(F.silu(x), expected)
    assert ingot.override_counts()["aten::silu"].replaced == 3
    if adam is not None:
        assert torch.optim.adam.adam is adam


def states() -> dict[str, str]:
    """Each operator's state: off, if faster, always or not in torch."""
    rows = [line.split() for line in ingot.override_report().splitlines()[1:]]
    return {row[0]: " ".join(row[2:-2]) for row in rows}


def test_configurations_nest_and_survive_exceptions():
    ingot.enable_overrides(**{**NONE, "softmax": True})
    assert states()["aten::_softmax"] == "if faster" and states()["aten::silu"] == "off"
    with pytest.raises(KeyError):
        with ingot.overrides(**{**NONE, "activations": "always"}):
            assert states()["aten::silu"] == "always" and states()["aten::_softmax"] == "off"
            with ingot.overrides(**NONE):
                assert set(states().values()) <= {"off", "not in torch"}
            assert states()["aten::silu"] == "always"
            raise KeyError
    assert states()["aten::_softmax"] == "if faster" and states()["aten::silu"] == "off"
    ingot.enable_overrides(**NONE)
    assert set(states().values()) <= {"off", "not in torch"}


def test_wrong_configurations():
    with pytest.raises(ValueError, match="softmax='sometimes'"):
        ingot.enable_overrides(softmax="sometimes")
    with pytest.raises(TypeError):
        ingot.enable_overrides(convolution=True)
    assert set(states().values()) <= {"off", "not in torch"}


def test_sizes_that_are_not_faster_stay_with_torch(monkeypatch):
    monkeypatch.setitem(MEASURED, "silu", {torch.float32: (1 << 18, 1 << 19)})
    monkeypatch.setitem(MEASURED, "eigh", {torch.float32: (1 << 12, 1 << 62)})
    monkeypatch.setitem(LARGEST_MEASURED, "eigh", 64)
    with ingot.overrides():
        F.silu(torch.randn((1 << 18) - 1))
        F.silu(torch.randn(1 << 18))
        F.silu(torch.randn(1 << 19))
        F.silu(torch.randn((1 << 19) + 1))
        F.silu(torch.randn(1 << 18).bfloat16().half())
        torch.linalg.eigh(symmetric(200, 200))
    counts = ingot.override_counts()
    assert counts["aten::silu"] == (2, 3)
    assert counts["aten::_linalg_eigh"] == (0, 1)


def test_the_limits_are_those_of_operations_that_exist():
    names = {name for group in LIMITS.values() for name in group} | {"silu_mul", "gelu_mul", "gelu_tanh_mul"}
    assert set(MEASURED) <= names and set(LARGEST_MEASURED) <= names
    for spans in MEASURED.values():
        assert spans and all(0 <= least <= most for least, most in spans.values())


def test_inference_mode_and_no_grad():
    x, w = torch.randn(8, 32), torch.randn(32)
    expected = F.rms_norm(x, [32], w, 1e-5), F.silu(x)
    with ingot.overrides(**ALWAYS):
        for mode in (torch.inference_mode, torch.no_grad):
            with mode():
                assert_close((F.rms_norm(x, [32], w, 1e-5), F.silu(x)), expected, torch.float32)
                assert torch.equal(F.rms_norm(x.double(), [32]), F.rms_norm(x.double(), [32]))
    assert ingot.override_counts()["aten::rms_norm"] == (2, 4)
    assert ingot.override_counts()["aten::silu"].replaced == 2


def test_autocast_comes_first():
    x = torch.randn(8, 32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        expected = F.softmax(torch.nn.functional.linear(x, torch.eye(32)), -1)
    with ingot.overrides(**ALWAYS), torch.autocast("cpu", dtype=torch.bfloat16):
        found = F.softmax(torch.nn.functional.linear(x, torch.eye(32)), -1)
    assert found.dtype == expected.dtype
    assert_close(found, expected, found.dtype)
    assert ingot.override_counts()["aten::_softmax"].replaced == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "case", [case for case in CASES if case.dtypes == FLOATS], ids=lambda case: case.name
)
def test_types_under_autocast_are_torchs(case, dtype):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        expected = case.run(*case.make(dtype))
        with ingot.overrides(**ALWAYS):
            found = case.run(*case.make(dtype))
    assert_close(found, expected, torch.bfloat16)


def test_other_devices_and_subclasses_are_left_alone():
    class Own(torch.Tensor):
        pass

    with ingot.overrides(**ALWAYS):
        assert F.silu(torch.empty(5, device="meta")).device.type == "meta"
        assert F.rms_norm(torch.empty(5, 4, device="meta"), [4]).device.type == "meta"
        x = torch.randn(4, 8).as_subclass(Own)
        assert type(F.rms_norm(x, [8])) is Own
        assert not any(count.replaced for count in ingot.override_counts().values())
        assert type(F.linear(x, torch.randn(3, 8))) is Own
        assert "aten::linear" not in ingot.override_counts() or not ingot.override_counts()["aten::linear"].replaced
        assert type(F.silu(x)) is Own  # an ordinary tensor to the CPU's kernels, whichever they are


class Seen(TorchDispatchMode):
    """Writes down the operators that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("gradients", [True, False])
def test_modes_see_the_operators(gradients):
    x = torch.randn(4, 8)
    with ingot.overrides(**ALWAYS), torch.set_grad_enabled(gradients), Seen() as seen:
        F.silu(x)
        F.rms_norm(x, [8])
    assert seen.names == ["aten.silu.default", "ingot.rms_norm.default"]


@pytest.mark.parametrize("mode", ["always", True])
def test_shapes_may_be_symbols(mode):
    def block(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.silu(F.layer_norm(F.rms_norm(x, x.shape[-1:], w, 1e-5), x.shape[-1:]))

    with ingot.overrides(**dict.fromkeys(GROUPS, mode)):
        compiled = torch.compile(block, backend="aot_eager", dynamic=True, fullgraph=True)
        for width in (8, 12):
            x, w = torch.randn(3, width, requires_grad=True), torch.rand(width)
            assert_close(compiled(x, w).detach(), block(x, w).detach(), torch.float32)


def test_a_norm_without_gradients_has_limits_of_its_own(monkeypatch):
    """It then costs less than torch's composition even for a few elements."""
    if "aten::rms_norm" not in _C.override_names():
        pytest.skip(f"torch {torch.__version__} cannot hand rms_norm's arguments to C")
    monkeypatch.setitem(MEASURED, "rms_norm", {torch.float32: (17, 1 << 62)})
    monkeypatch.setitem(MEASURED, "rms_norm_direct", {torch.float32: (16, 16)})
    x, w = torch.randn(2, 8), torch.rand(8, requires_grad=True)
    with ingot.overrides():
        F.rms_norm(x, [8], w, 1e-5)
        assert ingot.override_counts()["aten::rms_norm"] == (0, 1)
        with torch.no_grad():
            F.rms_norm(x, [8], w, 1e-5)
        with torch.inference_mode():
            F.rms_norm(x, [8], w, 1e-5)
        F.rms_norm(x, [8], w.detach(), 1e-5)
    assert ingot.override_counts()["aten::rms_norm"] == (3, 1)


def test_forward_gradients_go_through_the_dispatcher():
    x, tangent = torch.randn(3, 8), torch.randn(3, 8)
    with ingot.overrides(**ALWAYS), torch.no_grad(), torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, tangent)
        with pytest.raises(RuntimeError, match="(?i)forward|jvp"):
            F.rms_norm(dual, [8])


LINEAR = {
    "one row": ((1, 1, 96), True),
    "rows of a batch": ((2, 2, 96), True),
    "rows without a bias": ((3, 96), False),
    "many rows": ((5, 7, 96), True),
}


def needs_linear() -> None:
    if "aten::linear" not in _C.override_names():
        pytest.skip(f"torch {torch.__version__} has no way for linear to go to C")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("what", LINEAR)
def test_linear_without_gradients_is_replaced(what, dtype):
    needs_linear()
    torch.manual_seed(4)
    shape, biased = LINEAR[what]
    x, layer = torch.randn(shape).to(dtype), torch.nn.Linear(96, 70, biased, dtype=dtype)
    with torch.no_grad():
        expected = layer(x)
        with ingot.overrides(**ALWAYS):
            found = layer(x)
    assert ingot.override_counts() == {"aten::linear": (1, 0)}
    assert found.stride() == expected.stride()
    assert_close(found, expected, dtype)


def test_linear_with_a_gradient_is_torchs_composition():
    needs_linear()
    x, layer = torch.randn(2, 96, requires_grad=True), torch.nn.Linear(96, 70, bias=False)
    gradient = torch.randn(2, 70)
    with ingot.overrides(**ALWAYS):
        layer(x).backward(gradient)
    found = [x.grad, layer.weight.grad]
    assert ingot.override_counts()["aten::linear"] == (0, 1)
    assert ingot.override_counts()["aten::mm"] == (2, 1)  # the weight's gradient has a factor by columns
    x.grad = layer.weight.grad = None
    layer(x).backward(gradient)
    for a, b in zip(found, [x.grad, layer.weight.grad], strict=True):
        assert_close(a, b, torch.float32)


def test_products_have_limits_of_rows_and_elements(monkeypatch):
    monkeypatch.setitem(MEASURED, "linear", {torch.float32: (1 << 12, 1 << 62)})
    monkeypatch.setitem(MEASURED, "linear_rows", {torch.float32: (1, 2)})
    with ingot.overrides(), torch.no_grad():
        for rows, columns in ((1, 64), (2, 64), (3, 64), (1, 63)):
            torch.mm(torch.randn(rows, 64), torch.randn(64, columns))
        torch.mm(torch.randn(1, 64), torch.randn(64, 64)[:, ::2])
        torch.mm(torch.randn(64, 2)[:, 0:1].t(), torch.randn(64, 64))
        with pytest.raises(RuntimeError, match="cannot be multiplied|mat1 and mat2"):
            torch.mm(torch.randn(1, 63), torch.randn(64, 64))
    assert ingot.override_counts()["aten::mm"] == (2, 5)


def test_errors_of_linear_are_torchs():
    needs_linear()
    with ingot.overrides(**ALWAYS), torch.no_grad():
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied|size mismatch"):
            F.linear(torch.randn(2, 5), torch.randn(3, 4))
        with pytest.raises(RuntimeError, match="expand|size|shape"):
            F.linear(torch.randn(2, 4), torch.randn(3, 4), torch.randn(5))
        with pytest.raises(RuntimeError, match="dtype|type"):
            F.linear(torch.randn(2, 4), torch.randn(3, 4).double())
        assert F.linear(torch.randn(4), torch.randn(3, 4)).shape == (3,)
        assert F.linear(torch._neg_view(torch.ones(1, 4)), torch.ones(3, 4)).tolist() == [[-4.0] * 3]
        assert F.linear(torch.ones(1, 4), torch.ones(3, 4).to_sparse()).tolist() == [[4.0] * 3]
    assert not ingot.override_counts()["aten::linear"].replaced


HELD = {
    "linear": lambda x: F.linear(x, x[:64], x[0]),
    "mm": lambda x: torch.mm(x, x[:64]),
    "silu": lambda x: F.silu(x),
    "gelu": lambda x: F.gelu(x),
    "softmax": lambda x: F.softmax(x, -1),
    "layer_norm": lambda x: F.layer_norm(x, [64], x[0]),
    "rms_norm": lambda x: F.rms_norm(x, [64], x[0]),
    "attention": lambda x: F.scaled_dot_product_attention(*x.view(4, 1, 4, 64, 64)[:3]),
    "an error": lambda x: F.rms_norm(x, [3], x[0]),
    "an error of gelu": lambda x: F.gelu(x, approximate="cube"),
}


@pytest.mark.parametrize("mode", ["always", True])
@pytest.mark.parametrize("what", HELD)
def test_memory_is_let_go_of(what, mode):
    """Arguments and results, of calls that go either way, and of those that torch raises for."""

    def call() -> None:
        x = torch.randn(1024, 64)
        if what.startswith("an error"):
            with pytest.raises(RuntimeError):
                HELD[what](x)
        else:
            HELD[what](x)

    with ingot.overrides(**dict.fromkeys(GROUPS, mode)):
        call()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as found:
            for _ in range(3):
                call()
    usage = [row.self_cpu_memory_usage for row in found.key_averages()]
    assert max(usage) >= 3 * 1024 * 64 * 4 and sum(usage) < 3 * 1024  # the smallest result, of each call


def test_compiled_functions_give_the_same_results():
    def block(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.softmax(F.silu(F.rms_norm(x, [16], w, 1e-5)), -1)

    x, w = torch.randn(4, 16), torch.randn(16)
    expected = block(x, w)
    with ingot.overrides(**ALWAYS):
        compiled = torch.compile(block, backend="aot_eager", fullgraph=True)
        assert_close(compiled(x, w), expected, torch.float32)
    assert_close(compiled(x, w), expected, torch.float32)


def train(kind: type, steps: int, **options: Any) -> list[torch.Tensor]:
    torch.manual_seed(2)
    model = torch.nn.Sequential(torch.nn.Linear(12, 20), torch.nn.Tanh(), torch.nn.Linear(20, 3))
    optimizer = kind(model.parameters(), lr=0.01, **options)
    x, y = torch.randn(64, 12), torch.randn(64, 3)
    for _ in range(steps):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
    moments = [value for state in optimizer.state.values() for _, value in sorted(state.items())]
    return [p.detach() for p in model.parameters()] + moments


@pytest.mark.parametrize(
    "options",
    [{}, {"amsgrad": True}, {"maximize": True}, {"weight_decay": 0.1}, {"fused": True}, {"foreach": True}],
    ids=str,
)
@pytest.mark.parametrize("kind", [torch.optim.AdamW, torch.optim.Adam])
def test_adam_has_torchs_curve(kind, options):
    steps = 5 if "maximize" in options else 30
    expected = train(kind, steps, **options)
    with ingot.overrides(**{**NONE, "optimizers": "always"}):
        found = train(kind, steps, **options)
    assert ingot.override_counts()["torch.optim.adam.adam"] == (steps, 0)
    for x, y in zip(found, expected, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5)


def test_torchs_own_fused_step_stays_unless_asked_for():
    with ingot.overrides():
        train(torch.optim.AdamW, 2)
        train(torch.optim.AdamW, 3, fused=True)
    assert ingot.override_counts()["torch.optim.adam.adam"] == (2, 3)


def test_adam_of_double_is_torchs():
    def run() -> torch.Tensor:
        torch.manual_seed(0)
        p = torch.nn.Parameter(torch.randn(5, dtype=torch.float64))
        optimizer = torch.optim.AdamW([p])
        p.grad = torch.ones_like(p)
        optimizer.step()
        return p.detach()

    expected = run()
    with ingot.overrides(**ALWAYS):
        assert torch.equal(run(), expected)
    assert ingot.override_counts()["torch.optim.adam.adam"] == (0, 1)


def test_many_threads_call_overridden_operators():
    x = torch.randn(64, 256)
    expected = F.softmax(F.silu(x), -1)
    wrong: list[float] = []

    def work() -> None:
        for _ in range(50):
            difference = float((F.softmax(F.silu(x), -1) - expected).abs().max())
            if not difference <= 1e-6:
                wrong.append(difference)

    with ingot.overrides(**ALWAYS):
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
    counts = ingot.override_counts()
    assert counts["aten::silu"].passed == 0 and counts["aten::silu"].replaced > 0


def test_a_training_step_matches():
    def run() -> list[torch.Tensor]:
        torch.manual_seed(4)
        layers = [
            torch.nn.Linear(32, 64),
            torch.nn.SiLU(),
            torch.nn.LayerNorm(64),
            torch.nn.Linear(64, 64),
            torch.nn.GELU(approximate="tanh"),
            torch.nn.RMSNorm(64, eps=1e-5),
            torch.nn.Linear(64, 10),
        ]
        model = torch.nn.Sequential(*layers)
        x, targets = torch.randn(16, 32), torch.randint(10, (16,))
        loss = F.cross_entropy(model(x), targets)
        loss.backward()
        return [loss.detach(), *[p.grad for p in model.parameters()]]

    expected = run()
    with ingot.overrides(**ALWAYS):
        found = run()
    assert_close(found, expected, torch.float32)
    replaced = {name for name, count in ingot.override_counts().items() if count.replaced}
    assert {
        "aten::silu",
        "aten::silu_backward",
        "aten::layer_norm",
        "aten::gelu",
        "aten::gelu_backward",
        "aten::rms_norm",
        "aten::cross_entropy_loss",
    } <= replaced
