"""Calls of ingot.ops past the dispatcher: the same results, and the ordinary way wherever someone is to see them."""
from __future__ import annotations

import threading

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import ingot.ops as ops
from ingot import _C
from ingot._torch.registry import direct

ORDINARY = torch.ops.ingot.rms_norm.default
pytestmark = pytest.mark.skipif(_C.torch_direct("rms_norm", ORDINARY, None) is None,
                                reason=f"torch {torch.__version__} cannot hand tensors to C")


def run_of(name: str, calls: list):
    """The operator past the dispatcher; calls that do not go there are written to `calls`."""

    def ordinary(*inputs):
        calls.append("ordinary")
        return getattr(torch.ops.ingot, name).default(*inputs)

    def gradient(*inputs):
        calls.append("gradient")
        return getattr(torch.ops.ingot, name).default(*inputs)

    return _C.torch_direct(name, ordinary, gradient)


class FunctionMode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class DispatchMode(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


def profiler():
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])


@pytest.mark.parametrize("around", [
    FunctionMode, DispatchMode, profiler, lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    torch.autograd.forward_ad.dual_level,
], ids=["function mode", "dispatch mode", "profiler", "autocast", "forward gradients"])
def test_who_is_to_see_a_call_sees_it(around):
    calls: list[str] = []
    run, x = run_of("silu", calls), torch.randn(4, 8)
    expected = run(x)
    assert calls == []
    with around():
        found = run(x)
    assert calls == ["ordinary"]
    assert torch.equal(found, expected)
    run(x)
    assert calls == ["ordinary"]


def test_profilers_show_the_operators():
    with profiler() as profile:
        ops.rms_norm(torch.randn(4, 8))
    assert "ingot::rms_norm" in {row.key for row in profile.key_averages()}


class Own(torch.Tensor):
    pass


@pytest.mark.parametrize("make", [
    lambda x: x.as_subclass(Own), lambda x: torch._neg_view(x), lambda x: x.to("meta"),
], ids=["a subclass", "a negative view", "another device"])
def test_tensors_that_are_not_plain_go_the_ordinary_way(make):
    calls: list[str] = []
    x = torch.randn(4, 8)
    found, expected = run_of("silu", calls)(make(x)), torch.ops.ingot.silu(make(x))
    assert calls == ["ordinary"] and type(found) is type(expected)
    if found.device.type == "cpu":
        assert torch.equal(found, expected)


def test_transforms_and_tracing():
    x = torch.randn(3, 4, 8)
    torch.testing.assert_close(torch.func.vmap(ops.silu)(x), ops.silu(x))
    exported = torch.export.export(torch.nn.Sequential(Activation()), (x,))
    assert "ingot.silu" in str(exported.graph)
    traced = torch.fx.experimental.proxy_tensor.make_fx(ops.silu)(x)
    assert "ingot.silu" in str(traced.graph)


class Activation(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.silu(x)


def test_gradients_are_written_down_where_they_are_asked_for():
    calls: list[str] = []
    run = run_of("rms_norm", calls)
    x, w = torch.randn(4, 8), torch.rand(8, requires_grad=True)
    assert run(x, w, 1e-6).requires_grad and calls == ["gradient"]
    with torch.no_grad():
        assert not run(x, w, 1e-6).requires_grad and calls == ["gradient"]
    with torch.inference_mode():
        assert run(x, w, 1e-6).is_inference() and calls == ["gradient"]
    assert not run(x, w.detach(), 1e-6).requires_grad and calls == ["gradient"]
    found = torch.autograd.grad(ops.rms_norm(x, w).square().sum(), w)[0]
    expected = torch.autograd.grad(torch.nn.functional.rms_norm(x, (8,), w, 1e-6).square().sum(), w)[0]
    torch.testing.assert_close(found, expected)


def test_second_gradients():
    x = torch.randn(4, 8, requires_grad=True)

    def second(function):
        first = torch.autograd.grad(function(x).sum(), x, create_graph=True)[0]
        return torch.autograd.grad(first.square().sum(), x)[0]

    torch.testing.assert_close(second(ops.silu), second(torch.nn.functional.silu), rtol=1e-4, atol=1e-5)


DEFAULTS = {"rms_norm": 1, "layer_norm": 1, "softmax": 1, "rope": 1, "attention": 3, "matmul": 2, "quantise": 1}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_the_schemas(name):
    torch.manual_seed(0)
    inputs = [torch.randn(1, 2, 64, 64) for _ in range(DEFAULTS[name])]
    inputs = [x[0, 0] for x in inputs] if name == "quantise" else inputs
    calls: list[str] = []
    found, expected = run_of(name, calls)(*inputs), getattr(torch.ops.ingot, name)(*inputs)
    assert calls == []
    assert isinstance(found, tuple) == isinstance(expected, tuple)
    for x, y in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, expected)), strict=True):
        assert torch.equal(x, y)


@pytest.mark.parametrize("inputs", [
    (), (None,), ("x",), (torch.ones(3, 4), "w"), (torch.ones(3, 4), None, "1"), (torch.ones(3, 4), None, 1e-6, 1),
    (torch.ones(3, 4), torch.ones(5)), (torch.ones(3, 4, dtype=torch.float64),), (torch.ones(3, 4).to_sparse(),),
], ids=str)
def test_errors_are_those_of_the_ordinary_way(inputs):
    with pytest.raises(Exception) as expected:
        ORDINARY(*inputs)
    with pytest.raises(type(expected.value)) as found:
        direct("rms_norm")(*inputs)
    assert str(found.value).splitlines()[0] == str(expected.value).splitlines()[0]


def test_unknown_operators_are_refused():
    with pytest.raises(ValueError, match='"nothing"'):
        _C.torch_direct("nothing", ORDINARY, None)


def test_many_threads():
    x = torch.randn(64, 128)
    expected, wrong = ops.softmax(ops.silu(x)), []

    def work() -> None:
        for _ in range(100):
            if not torch.equal(ops.softmax(ops.silu(x)), expected):
                wrong.append(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_zeros_are_seen_at_once_where_they_can_be():
    zeros = torch.zeros(2, 3, dtype=torch.int32)
    assert _C.torch_all_zero(zeros) and _C.torch_all_zero(zeros[1:]) and _C.torch_all_zero(torch.tensor(0).int())
    for place in range(6):
        one = zeros.clone()
        one.view(-1)[place] = 1
        assert not _C.torch_all_zero(one)
    cut = torch.zeros(8, dtype=torch.int32)
    cut.untyped_storage().resize_(4)
    for other in (zeros.long(), zeros.float(), zeros.mT, zeros[:, :2], cut, zeros.to("meta"), [0], None):
        assert not _C.torch_all_zero(other)
    with torch.profiler.profile():
        assert not _C.torch_all_zero(zeros)
