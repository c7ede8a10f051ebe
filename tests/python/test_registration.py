"""The operators as the extension registers them: values, layouts, errors, memory and threads."""
from __future__ import annotations

import gc
import os
import pathlib
import resource
import threading
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from ingot import _C  # noqa: E402
from operator_cases import CASES, FLOATS, TOLERANCE, close, results_of  # noqa: E402

LIBRARY = os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")
HAS_LISTS = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 10)
_C.torch_register(LIBRARY)
SCHEMAS = _C.torch_schemas()


def call(name: str, arguments: list[Any]) -> list[Any]:
    """Calls an operator; gives what it returned, or for one that ends in _ what it changed."""
    takes_lists = "[]" in SCHEMAS[name]
    if takes_lists and not HAS_LISTS:
        result = _C.torch_call(name, *arguments)
    else:
        result = getattr(torch.ops.ingot, name)(*arguments)
    return results_of(SCHEMAS[name], arguments, result)


def contiguous(results: list[Any]) -> None:
    for result in results:
        if isinstance(result, torch.Tensor):
            assert result.is_contiguous() and result.device.type == "cpu" and not result.requires_grad


def test_every_schema_has_a_case() -> None:
    assert set(CASES) == set(SCHEMAS)


@pytest.mark.parametrize("name", CASES)
def test_schema_is_what_torch_has(name: str) -> None:
    declared = str(getattr(torch.ops.ingot, name).default._schema)
    assert declared.startswith(f"ingot::{name}(")
    assert declared.count("Tensor") == SCHEMAS[name].count("Tensor")


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_values(name: str, dtype: torch.dtype) -> None:
    arguments, expected = CASES[name](dtype)
    results = call(name, arguments)
    assert len(results) == len(expected)
    if not name.endswith("_"):
        contiguous(results)
    tolerance = TOLERANCE[dtype] * (4 if name in HARD else 1)
    for result, wanted in zip(results, expected):
        close(result, wanted, tolerance)


HARD = {"lu", "solve", "lstsq", "triangular_solve", "quantised_matmul", "quantised_matvec"}


def turned(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers with gaps between them, dimensions in the opposite order, and an odd start."""
    if tensor.dim() == 0:
        return torch.stack([tensor, tensor])[1]
    shape = [2 * extent for extent in reversed(tensor.shape)]
    room = torch.zeros(*shape, dtype=tensor.dtype).flatten()
    room = torch.cat([room, room[:1]])[1:].view(shape)
    view = room.permute(*reversed(range(tensor.dim())))[tuple(slice(0, None, 2) for _ in shape)]
    return view.copy_(tensor)


def turned_argument(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return turned(value)
    return [turned(tensor) for tensor in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", CASES)
def test_any_layout_gives_the_same(name: str) -> None:
    """Operators take tensors of any strides, and write into them where they change arguments."""
    arguments, expected = CASES[name](torch.float32)
    strange = [turned_argument(value) for value in arguments]
    plain = call(name, arguments)
    for result, same, wanted in zip(call(name, strange), plain, expected):
        close(result, wanted, 8e-5)
        close(result, same if wanted is not None else None, 1e-6)


@pytest.mark.parametrize("name", CASES)
def test_other_types_are_refused(name: str) -> None:
    arguments, _ = CASES[name](torch.float32)

    def widen(value: Any) -> Any:
        if isinstance(value, list):
            return [widen(tensor) for tensor in value]
        return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    with pytest.raises(RuntimeError, match=f"^{name}: .*float64"):
        call(name, [widen(value) for value in arguments])


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("fill_", "grad_norm")])
def test_other_shapes_are_refused(name: str) -> None:
    """A tensor with a dimension too many in place of any of the tensors is an error, or is not looked at."""
    arguments, _ = CASES[name](torch.float32)
    refused = 0
    for index, value in enumerate(arguments):
        if not isinstance(value, torch.Tensor) or value.numel() == 0:
            continue
        wrong = list(arguments)
        wrong[index] = torch.stack([value, value]).unsqueeze(0).repeat(1, 1, *[1] * value.dim())
        try:
            call(name, wrong)
        except RuntimeError as error:
            assert str(error).startswith(f"{name}: "), error
            refused += 1
    if name in ("adamw_", "adam_"):
        arguments[1] = arguments[1][:1]
        with pytest.raises(RuntimeError, match="grads has 1 tensors, but params has 2"):
            call(name, arguments)
    elif sum(isinstance(value, torch.Tensor) for value in arguments) > 1:
        assert refused > 0


def test_messages_name_both_sides() -> None:
    x = torch.zeros(4, 8)
    ops = torch.ops.ingot
    with pytest.raises(RuntimeError, match=r"silu_mul: up has shape \[4, 4\], but gate has \[4, 8\]"):
        ops.silu_mul(x, x[:, :4])
    with pytest.raises(RuntimeError, match=r"rms_norm: weight has shape \[7\].*7, but must be 8"):
        ops.rms_norm(x, torch.zeros(7))
    with pytest.raises(RuntimeError, match="up has type .*, but gate has"):
        ops.silu_mul(x, x.half())
    with pytest.raises(RuntimeError, match="x has 9 dimensions; at most 8"):
        ops.silu(torch.zeros([1] * 9))
    with pytest.raises(RuntimeError, match="reduction is 7"):
        ops.cross_entropy(x, torch.zeros(4, dtype=torch.int64), 7)
    with pytest.raises(RuntimeError, match="window is -1"):
        ops.attention(x[None, None], x[None, None], x[None, None], None, None, 0.0, False, -1)
    with pytest.raises(RuntimeError, match=r"matmul: a has shape \[2, 1, 4, 8\], whose batch is neither"):
        ops.matmul(x.expand(2, 1, 4, 8), torch.zeros(3, 8, 5))
    with pytest.raises(RuntimeError, match="silu: x has type .*complex"):
        ops.silu(torch.zeros(3, dtype=torch.complex64))
    with pytest.raises(RuntimeError, match="eps is"):
        ops.rms_norm(x, None, float("nan"))


def test_torch_refuses_what_does_not_fit_the_schema() -> None:
    for arguments in ([], [3], [None], [torch.zeros(3), 4], ["x"]):
        with pytest.raises((RuntimeError, TypeError)):
            torch.ops.ingot.silu(*arguments)


def test_devices_do_not_mix() -> None:
    x = torch.zeros(4, 8)
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.ops.ingot.silu_mul(x, x.to("meta"))
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.ops.ingot.silu(x.to_sparse())


def test_overlap_is_refused() -> None:
    x = torch.zeros(9)
    with pytest.raises(RuntimeError, match="axpy_: .*overlaps"):
        torch.ops.ingot.axpy_(x[1:], x[:-1])


def test_absent_outputs_are_empty() -> None:
    x = torch.randn(4, 8)
    d_x, d_weight, d_bias = torch.ops.ingot.layer_norm_backward(x, x)
    assert d_x.shape == (4, 8) and d_weight.shape == d_bias.shape == (0,)
    assert torch.ops.ingot.rms_norm_backward(x, x)[1].shape == (0,)
    assert torch.ops.ingot.quantise(torch.randn(2, 64))[2].shape == (0,)
    bags, largest = torch.ops.ingot.embedding_bag(x, torch.tensor([[1, 2]]))
    assert bags.shape == (1, 8) and largest.shape == (0,)


def test_scalars_and_nothing() -> None:
    """Rank 0 stays rank 0; a dimension of 0 gives a result of 0 elements."""
    ops = torch.ops.ingot
    result = ops.silu(torch.tensor(1.0))
    assert result.shape == () and abs(result.item() - 0.7310586) < 1e-6
    assert ops.silu(torch.zeros(0, 3)).shape == (0, 3)
    assert ops.rms_norm(torch.zeros(0, 8)).shape == (0, 8)
    assert ops.matmul(torch.zeros(3, 0), torch.zeros(0, 2)).eq(0).all()
    assert ops.svdvals(torch.zeros(2, 0, 3)).shape == (2, 0)
    with pytest.raises(RuntimeError, match="rms_norm: x has 0 dimensions"):
        ops.rms_norm(torch.tensor(1.0))


def test_expanded_inputs() -> None:
    """Rows that are the same memory again and again are read like any others."""
    row, weight = torch.randn(8), torch.randn(1).expand(8)
    x = row.expand(2, 3, 8)
    torch.testing.assert_close(torch.ops.ingot.silu(x), torch.nn.functional.silu(x))
    torch.testing.assert_close(torch.ops.ingot.softmax(x), x.softmax(-1))
    expected = torch.nn.functional.rms_norm(x, (8,), weight, 1e-6)
    torch.testing.assert_close(torch.ops.ingot.rms_norm(x, weight), expected)
    column = torch.randn(3, 1).expand(3, 8)
    expected = torch.nn.functional.silu(x[0]) * column
    torch.testing.assert_close(torch.ops.ingot.silu_mul(x[0], column), expected)
    torch.testing.assert_close(torch.ops.ingot.matmul(x, column.T), x @ column.T)


def test_a_failed_copy_back_is_an_error() -> None:
    y = torch.zeros(1).expand(4)
    with pytest.raises(RuntimeError, match="axpy_: torch could not copy"):
        torch.ops.ingot.axpy_(y, torch.ones(4))


def test_zero_means_zero() -> None:
    """eps, scale and the betas are what was given, also where the C interface has 0 for a default."""
    x = torch.randn(4, 8)
    expected = x / x.square().mean(-1, keepdim=True).sqrt()
    torch.testing.assert_close(torch.ops.ingot.rms_norm(x, None, 0.0), expected)
    torch.testing.assert_close(torch.ops.ingot.softmax(x, None, 0.0), torch.full((4, 8), 0.125))
    params, grads = [torch.zeros(3)], [torch.ones(3)]
    states = [[torch.zeros(3)], [torch.zeros(3)]]
    call("adamw_", [params, grads, *states, [], [], None, 0.5, 0.0, 0.0, 0.0, 0.0, 1, False, False, 0.0])
    torch.testing.assert_close(params[0], torch.full((3,), -0.5))
    torch.testing.assert_close(states[0][0], torch.ones(3))


def test_negative_and_conjugate_views() -> None:
    z = torch.randn(4, 8, dtype=torch.complex64)
    x = z.conj().imag
    assert x.is_neg()
    torch.testing.assert_close(torch.ops.ingot.silu(x), torch.nn.functional.silu(-z.imag))
    y = torch.ones(4, 8)
    torch.ops.ingot.axpy_(y, x, 2.0)
    torch.testing.assert_close(y, 1 - 2 * z.imag)


def test_columns_are_not_copied_for_products() -> None:
    a, b = torch.randn(5, 7), torch.randn(9, 7)
    torch.testing.assert_close(torch.ops.ingot.matmul(a, b.T), a @ b.T)
    torch.testing.assert_close(torch.ops.ingot.matmul(a.T, b.T, None, True), a @ b.T)
    torch.testing.assert_close(torch.ops.ingot.matmul(b, a.T, None, False, False, 1), torch.relu(b @ a.T))


def test_optimiser_walks_transposed_weights() -> None:
    """Weights that lie by columns, as their gradients and states do, are updated where they are."""
    weight, grad = torch.randn(4, 6).T, torch.randn(4, 6).T
    states = [torch.zeros(4, 6).T, torch.zeros(4, 6).T]
    wide = weight.double().clone().requires_grad_()
    wide.grad = grad.double()
    torch.optim.AdamW([wide], lr=0.1, weight_decay=0.1).step()
    lists = [[weight], [grad], [states[0]], [states[1]], [], []]
    call("adamw_", [*lists, None, 0.1, 0.9, 0.999, 1e-8, 0.1, 1, False, False, 0.0])
    torch.testing.assert_close(weight.double(), wide.detach(), rtol=1e-5, atol=1e-6)


def test_clipping_by_norm() -> None:
    grads = [torch.full((4,), 3.0), torch.full((3,), 4.0)]
    norm = call("grad_norm", [grads])[0]
    assert norm.shape == () and abs(norm.item() - 84**0.5) < 1e-4
    states = [[torch.zeros_like(g) for g in grads] for _ in range(3)]
    lists = [states[0], grads, states[1], states[2], [], []]
    call("adam_", [*lists, norm, 0.1, 0.5, 0.5, 1e-8, 0.0, 1, False, False, 1.0])
    torch.testing.assert_close(states[1][0], 0.5 * grads[0] / norm, rtol=1e-4, atol=1e-5)


def _resident() -> int:
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _least_growth(rounds: int, call: Callable[[], object], count: int) -> int:
    """Of the memory in use, over a round of calls. What leaks does so in every round; what other threads and caches of
    the process take, they take in one."""
    growths = []
    for _ in range(rounds):
        gc.collect()
        before = _resident()
        for _ in range(count):
            call()
        gc.collect()
        growths.append(_resident() - before)
    return min(growths)


def test_nothing_leaks() -> None:
    """Results, optional arguments, copies and failed calls keep no memory: 64 KiB a call would show."""
    x, weight = torch.randn(64, 256), torch.randn(256)
    turned_x = turned(x)
    grads = [torch.randn(64) for _ in range(8)]

    def once() -> None:
        torch.ops.ingot.rms_norm(x, weight)
        torch.ops.ingot.silu(turned_x)
        call("grad_norm", [grads])
        with pytest.raises(RuntimeError):
            torch.ops.ingot.layer_norm(x, weight, weight[:7])
        with pytest.raises(RuntimeError):
            torch.ops.ingot.silu_mul(turned_x, turned_x[:7])

    for _ in range(200):
        once()
    assert _least_growth(2, once, 1000) < 4 << 20


def test_small_things_do_not_leak() -> None:
    """100,000 calls with optional arguments: 32 bytes that stay behind in each would be 3 MB."""
    x, weight = torch.randn(1, 16), torch.randn(16)
    for _ in range(2000):
        torch.ops.ingot.rms_norm(x, weight)
    assert _least_growth(3, lambda: torch.ops.ingot.rms_norm(x, weight), 100_000) < 3 << 19


def test_arguments_are_released() -> None:
    """The operator's own references to its arguments are gone after the call, also after a failure."""
    x = torch.randn(8)
    uses = torch._C._storage_Use_Count if hasattr(torch._C, "_storage_Use_Count") else None
    if uses is None:
        pytest.skip("this torch does not count uses of storages")
    storage = x.untyped_storage()
    before = uses(storage._cdata)
    for _ in range(10):
        torch.ops.ingot.silu(x)
        torch.ops.ingot.layer_norm(x[None], x, x)
        call("grad_norm", [[x, x]])
        with pytest.raises(RuntimeError):
            torch.ops.ingot.layer_norm(x[None], x, x[:3])
    assert uses(storage._cdata) == before


def test_eight_threads() -> None:
    x, weight = torch.randn(32, 128), torch.randn(128)
    expected = torch.nn.functional.rms_norm(x, (128,), weight, 1e-6)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for i in range(100):
                torch.testing.assert_close(torch.ops.ingot.rms_norm(x, weight), expected)
                with pytest.raises(RuntimeError, match=rf"shape \[{i + 1}\]"):
                    torch.ops.ingot.rms_norm(x, torch.zeros(i + 1))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_registering_twice_does_nothing() -> None:
    _C.torch_register(LIBRARY)
    assert torch.ops.ingot.silu(torch.zeros(3)).eq(0).all()
    with pytest.raises(TypeError):
        _C.torch_register(3)


def test_what_python_is_to_implement() -> None:
    assert _C.torch_unimplemented() == ([] if HAS_LISTS else ["adamw_", "adam_", "grad_norm"])


@pytest.mark.skipif(HAS_LISTS, reason="torch 2.10 and newer pass lists through the dispatcher")
def test_torch_call_refuses_nonsense() -> None:
    nonsense = ([], ["nothing"], [3], ["grad_norm"], ["grad_norm", 3], ["grad_norm", [3]])
    for arguments in nonsense:
        with pytest.raises((TypeError, RuntimeError)):
            _C.torch_call(*arguments)
