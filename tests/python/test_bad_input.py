"""Input that no caller should give: a documented exception that names what was wrong, and never a crash."""
from __future__ import annotations

import importlib
import inspect
import textwrap
import time

import forked_python
import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402

import ingot  # noqa: E402
import ingot.ops  # noqa: E402

SOURCE = """
kernel void copy(device float* y, device const float* x, uint i [[thread_position_in_grid]]) { y[i] = x[i]; }
kernel void scale(device float* y, constant float& a, uint i [[thread_position_in_grid]]) { y[i] *= a; }
struct Pair { metal::array<device float*, 2> p; };
kernel void through(constant Pair& pair, uint i [[thread_position_in_grid]]) { pair.p[1][i] = pair.p[0][i]; }
kernel void wait_for(device metal::atomic_uint* flag) {
    while (metal::atomic_load_explicit(flag, metal::memory_order_relaxed) == 0u) {}
}
constant int factor [[function_constant(0)]];
kernel void times(device float* y) { y[0] *= factor; }
"""


@pytest.fixture(scope="module")
def lib():
    return ingot.compile_shader(SOURCE)


def freed(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor without its storage; even printing it crashes torch."""
    tensor.untyped_storage().resize_(0)
    return tensor


def run(program: str) -> str:
    """What a program prints; it must end well."""
    traces = "import faulthandler; faulthandler.enable()\n"
    result = forked_python.run(["-c", traces + textwrap.dedent(program)], timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


# ---- values that messages must not print ----

@pytest.mark.parametrize("option", ["threads", "group_size", "arg_casts", "threadgroup_memory", "error_buf_idx",
                                    "contiguous", "time_limit"])
def test_options_that_cannot_be_printed(lib, option):
    with pytest.raises((RuntimeError, TypeError), match="has to be"):
        lib.copy(torch.zeros(4), torch.ones(4), **{option: freed(torch.ones(3))})


def test_numbers_of_thousands_of_digits(lib):
    number = 10**5000
    y = torch.ones(2)
    for call in (lambda: lib.scale(y, number), lambda: lib.copy(y, y, threads=number),
                 lambda: lib.times.specialize(factor=number), lambda: lib.times.specialize({number: 1})):
        with pytest.raises(ingot.Error, match="'int'"):
            call()


def test_constants_from_odd_dictionaries(lib):
    class Odd(dict):
        def items(self):
            return [1, 2]

    with pytest.raises(TypeError, match="pairs are needed"):
        lib.times.specialize(Odd(factor=1))
    with pytest.raises(TypeError, match="by name or index"):
        lib.times.specialize({None: 1})


# ---- memory that is not there ----

def test_storage_that_was_freed_or_cut(lib):
    with pytest.raises(RuntimeError, match='argument 1 "x".*8 elements.*0 bytes'):
        lib.copy(torch.zeros(8), freed(torch.ones(8)))
    short = torch.ones(())
    short.untyped_storage().resize_(2)
    with pytest.raises(RuntimeError, match='argument 1 "a".*1 elements.*2 bytes'):
        lib.scale(torch.zeros(8), short)


@pytest.mark.parametrize("make", [lambda: torch.randn(4, 6), lambda: torch.randn(4, 6).t()],
                         ids=["rows", "columns"])
def test_operators_on_storage_that_was_freed(make):
    with pytest.raises(RuntimeError, match="storage of 96 bytes, but its storage has 0"):
        torch.ops.ingot.silu(freed(make()))
    with pytest.raises(RuntimeError, match="storage of 96 bytes, but its storage has 0"):
        torch.ops.ingot.fill_(freed(make()), 1.0)


def test_expanded_and_reversed_arrays(lib):
    y = torch.zeros(8)
    reverse = np.arange(8, dtype=np.float32)[::-1]
    for short in (torch.ones(1).expand(8), reverse, np.broadcast_to(np.float32(1), 8)):
        with pytest.raises(RuntimeError, match='argument 1 "x".*8 elements of 4 bytes have only 4 bytes'):
            lib.copy(y, short)
    with pytest.raises(RuntimeError, match="have only 4 bytes"):
        lib.through([torch.ones(1).expand(8), y], threads=8)
    lib.copy(y, reverse, contiguous="copy")
    assert y.tolist() == list(range(7, -1, -1))
    lib.scale(y, torch.tensor([2.0]).expand(8))  # one value is all that a reference reads
    assert y[0] == 14


@pytest.mark.parametrize("how", ["refuse", "copy"])
def test_elements_of_lists_that_are_not_contiguous(lib, how):
    with pytest.raises(RuntimeError, match="element 1 of the list is not contiguous"):
        lib.through([torch.ones(4), torch.ones(8)[::2]], threads=4, contiguous=how)


@pytest.mark.parametrize("interface, message", [
    ({"shape": (-1,), "data": (4096, False)}, "the size -1 in dimension 0"),
    ({"shape": (2**40, 2**40), "data": (4096, False)}, "the size 1099511627776 in dimension 1"),
    ({"shape": (), "data": (0, False)}, "no memory"),
])
def test_array_interfaces_that_cannot_be(lib, interface, message):
    class Array:
        __array_interface__ = {"typestr": "<f4", "version": 3, **interface}

    with pytest.raises(RuntimeError, match=message):
        lib.copy(torch.zeros(4), Array())


def test_arrays_of_elements_without_bytes(lib):
    with pytest.raises(TypeError, match="holds no numbers"):
        lib.copy(torch.zeros(4), np.zeros(4, dtype="V0"))


@pytest.mark.parametrize("value", [2.0, [2.0, 3.0], np.float32(2)])
def test_numbers_where_the_kernel_writes(lib, value):
    with pytest.raises(RuntimeError, match='argument 0 "y".*may write'):
        lib.scale(value, 2.0, threads=1)


def test_views_of_negatives_and_conjugates_change_in_place():
    y = torch._neg_view(torch.ones(4))
    torch.ops.ingot.axpy_(y, torch.ones(4), 3.0)
    assert y.is_neg() and y.tolist() == [2.0] * 4
    with pytest.raises(RuntimeError, match="complex"):
        torch.ops.ingot.fill_(torch.ones(4, dtype=torch.complex64).conj(), 1.0)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_indices_behind_the_table(mode):
    with pytest.raises(RuntimeError, match="2 of the 4 indices are not between 0 and 9"):
        ingot.ops.embedding_bag(torch.tensor([1, 10, 2, -1]), torch.randn(10, 6), torch.tensor([0, 2]), mode=mode)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_targets_that_are_no_class(dtype):
    logits, targets = torch.randn(4, 5), torch.tensor([1, 7, -100, 9], dtype=dtype)
    with pytest.raises(IndexError, match="Target 7 is out of bounds: there are 5 classes"):
        ingot.ops.cross_entropy(logits, targets)
    with pytest.raises(IndexError, match="Target -1 is out of bounds"):
        ingot.ops.cross_entropy(logits.requires_grad_(), torch.tensor([1, -1, 2, 3], dtype=dtype))
    with pytest.raises(IndexError, match="Target 5 is out of bounds"):
        ingot.ops.cross_entropy(torch.randn(2, 5, 3), torch.full((2, 3), 5, dtype=dtype))
    with pytest.raises(IndexError, match="Target -100 is out of bounds.*ignore_index is 7"):
        ingot.ops.cross_entropy(logits, targets, ignore_index=7)
    with pytest.raises(RuntimeError, match="Target 7 is out of bounds"):
        torch.ops.ingot.cross_entropy_backward(torch.tensor(1.0), logits, targets)
    targets[1], targets[3] = 4, 0
    expected = torch.nn.functional.cross_entropy(logits, targets.long())
    torch.testing.assert_close(ingot.ops.cross_entropy(logits, targets), expected)


# ---- time ----

def test_a_kernel_that_never_ends_is_stopped(lib):
    start = time.monotonic()
    with pytest.raises(ingot.Error, match="time limit of 0.2 s") as caught:
        lib.wait_for(torch.zeros(1, dtype=torch.int32), time_limit=0.2)
    assert caught.value.status == "INGOT_TIMEOUT" and time.monotonic() - start < 30
    lib.wait_for(torch.ones(1, dtype=torch.int32), time_limit=float("inf"))


@pytest.mark.parametrize("limit", [0, -1, float("nan"), "long", torch.ones(2)])
def test_time_limits_that_are_none(lib, limit):
    with pytest.raises(TypeError, match="time_limit has to be a number of seconds above 0"):
        lib.wait_for(torch.ones(1, dtype=torch.int32), time_limit=limit)


# ---- what is no tensor ----

FUNCTIONS = sorted(name for name in ingot.ops.__all__ if not inspect.isclass(getattr(ingot.ops, name)))


@pytest.mark.parametrize("value", [None, "text", 3], ids=repr)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_tensor_where_one_is_needed(name, value):
    function = getattr(ingot.ops, name)
    needed = [parameter for parameter in inspect.signature(function).parameters.values()
              if parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        function(*[value] * len(needed))


def test_none_is_named():
    x = torch.ones(2, 2)
    for call in (lambda: ingot.ops.softmax(None), lambda: ingot.ops.matmul(x, None),
                 lambda: ingot.ops.cross_entropy(None, None), lambda: ingot.ops.solve(None, x)):
        with pytest.raises(TypeError, match=r"[a-z_]+: [a-z]+ has to be a tensor, not NoneType"):
            call()


# ---- interpreters ----

def test_a_subinterpreter_is_refused_and_the_main_one_goes_on():
    text = run(f"""
        import sys
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        import numpy, ingot
        lib = ingot.compile_shader({SOURCE!r})
        other = interpreters.create("legacy") if sys.version_info >= (3, 13) else interpreters.create()
        interpreters.run_string(other, '''
        import sys
        sys.path[:0] = %r
        try:
            import ingot
        except ImportError as error:
            print(error, flush=True)
        '''.replace(chr(10) + ' ' * 8, chr(10)) % sys.path)
        interpreters.destroy(other)
        y = numpy.ones(4, "f4")
        lib.scale(y, 2.0)
        try:
            lib.scale(y, "x")
        except ingot.ArgumentError:
            print(y)
        """)
    assert "main interpreter only" in text and "[2. 2. 2. 2.]" in text


def test_a_second_import_is_the_same_extension():
    text = run("""
        import sys, torch, ingot, ingot.ops
        error = ingot.Error
        for name in [name for name in sys.modules if name == "ingot" or name.startswith("ingot.")]:
            del sys.modules[name]
        import ingot, ingot.ops
        x = torch.ones(2, requires_grad=True)
        ingot.ops.silu(x).sum().backward()
        print(ingot.Error is error, x.grad)
        """)
    assert text.startswith("True tensor([0.9277, 0.9277])")


def test_reloading_the_package_changes_nothing():
    error = ingot.Error
    assert importlib.reload(ingot).Error is error
    assert torch.allclose(ingot.ops.silu(torch.ones(2)), torch.nn.functional.silu(torch.ones(2)))
