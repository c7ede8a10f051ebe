"""Whose memory kernels work on: torch, NumPy, DLPack, the array interface; strides, views, read-only arrays."""
import gc
import sys

import numpy as np
import pytest

import ingot

torch = pytest.importorskip("torch")

SOURCE = """
kernel void twice(device float* out, device const float* in, uint i [[thread_position_in_grid]]) { out[i] = 2 * in[i]; }
kernel void fill(device float* x, uint i [[thread_position_in_grid]]) { x[i] = i; }
kernel void bytes(device uchar* out, device const uchar* in, uint i [[thread_position_in_grid]]) { out[i] = in[i]; }
"""


@pytest.fixture(scope="module")
def lib():
    return ingot.compile_shader(SOURCE)


class Interface:
    """Only the array interface."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Exporter:
    """Only DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, *, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("wrap", [lambda x: x, Interface, Exporter, torch.from_numpy, memoryview])
def test_results_are_in_the_caller_s_memory(lib, wrap):
    array = np.zeros(16, np.float32)
    if wrap is memoryview:
        with pytest.raises(TypeError):
            lib.fill(wrap(array))
        return
    lib.fill(wrap(array))
    assert array.tolist() == list(range(16))


def test_kinds_mix(lib):
    out = torch.zeros(4)
    lib.twice(out, np.arange(4, dtype=np.float32))
    assert out.tolist() == [0, 2, 4, 6]
    lib.twice(out, Exporter(np.ones(4, np.float32)))
    assert out.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("dtype", [
    torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.uint8, torch.int16, torch.int32,
    torch.int64, torch.bool, torch.complex64, torch.uint16, torch.uint32,
])
def test_every_dtype_is_bytes(lib, dtype):
    x = torch.arange(1, 17).to(dtype)
    y = torch.zeros_like(x)
    lib.bytes(y, x, threads=16 * x.element_size())
    assert torch.equal(x.view(torch.uint8), y.view(torch.uint8))


def test_subclasses_parameters_and_tensors_with_gradients(lib):
    class Mine(torch.Tensor):
        pass

    x = torch.ones(4).as_subclass(Mine)
    lib.fill(x)
    assert torch.Tensor(x).tolist() == [0, 1, 2, 3]
    parameter = torch.nn.Parameter(torch.ones(4))
    lib.fill(parameter)
    assert parameter.tolist() == [0, 1, 2, 3]
    product = torch.ones(4, requires_grad=True) * 2
    out = torch.zeros(4)
    lib.twice(out, product)
    assert out.tolist() == [4, 4, 4, 4]


def test_views_begin_at_their_offset(lib):
    x = torch.zeros(10)
    lib.fill(x[4:7])
    assert x.tolist() == [0, 0, 0, 0, 0, 1, 2, 0, 0, 0]
    array = np.zeros(10, np.float32)
    lib.fill(array[4:7])
    assert array.tolist() == x.tolist()


def test_a_view_reaches_to_the_end_of_its_storage(lib):
    x = torch.zeros(10)
    lib.fill(x[4:7], threads=6)
    assert x.tolist() == [0, 0, 0, 0, 0, 1, 2, 3, 4, 5]


# ---- strides ----


def strided(kind):
    """A 4 x 6 array of zeros and its transpose."""
    base = torch.zeros(4, 6) if kind == "torch" else np.zeros((4, 6), np.float32)
    return base, base.T


@pytest.mark.parametrize("kind", ["torch", "numpy"])
def test_strides_are_ignored_by_default(lib, kind):
    base, view = strided(kind)
    lib.fill(view)
    assert base.reshape(-1).tolist() == list(range(24))


@pytest.mark.parametrize("kind", ["torch", "numpy"])
def test_refuse(lib, kind):
    base, view = strided(kind)
    with pytest.raises(RuntimeError, match='argument 0 "x".*24 elements in 2 dimensions is not contiguous'):
        lib.fill(view, contiguous="refuse")
    lib.fill(base, contiguous="refuse")


@pytest.mark.parametrize("kind", ["torch", "numpy"])
def test_copy(lib, kind):
    base, view = strided(kind)
    lib.fill(view, contiguous="copy")
    assert view.reshape(-1).tolist() == list(range(24))
    out = torch.zeros(24)
    lib.twice(out, view, contiguous="copy")
    assert out.tolist() == [2 * k for k in range(24)]


def test_copy_of_queued_work_waits(lib):
    base, view = strided("torch")
    lib.fill(view, contiguous="copy", wait=False)
    assert view.reshape(-1).tolist() == list(range(24))


def test_contiguous_as_the_library_s_default():
    lib = ingot.compile_shader(SOURCE, contiguous="refuse")
    with pytest.raises(RuntimeError, match="not contiguous"):
        lib.fill(strided("torch")[1])
    lib.fill(strided("torch")[1], contiguous="ignore")
    with pytest.raises(ValueError, match="'often'"):
        lib.fill(torch.zeros(2), contiguous="often")
    with pytest.raises(TypeError, match="contiguous"):
        lib.fill(torch.zeros(2), contiguous=1)


def test_copy_with_a_broadcast_input(lib):
    out = torch.zeros(4)
    lib.twice(out, torch.ones(1).expand(4), contiguous="copy")
    assert out.tolist() == [2, 2, 2, 2]


STRUCTS = """
struct fill { float value; uint count; };
kernel void put(device float* x, constant fill& f, uint i [[thread_position_in_grid]]) {
    if (i < f.count) x[i] = f.value;
}
kernel void set(device fill* f, uint i [[thread_position_in_grid]]) { f[i].value = i; f[i].count = 2 * i; }
"""
FILL = np.dtype([("value", "f4"), ("count", "u4")])


def test_arrays_of_structs():
    lib = ingot.compile_shader(STRUCTS)
    x = np.zeros(4, np.float32)
    lib.put(x, np.array([(2.5, 3)], FILL))
    assert x.tolist() == [2.5, 2.5, 2.5, 0]
    f = np.zeros(3, FILL)
    lib.set(f)
    assert f["value"].tolist() == [0, 1, 2] and f["count"].tolist() == [0, 2, 4]
    f.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        lib.set(f)
    with pytest.raises(TypeError, match="field 1 of the array's structs is >u4, whose bytes are in another order"):
        lib.put(x, np.zeros(1, [("value", "f4"), ("count", ">u4")]))


# ---- what cannot be bound ----


def test_read_only_arrays(lib):
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    with pytest.raises(RuntimeError, match='argument 0 "out": the array is read-only'):
        lib.twice(array, np.ones(4, np.float32))
    out = np.zeros(4, np.float32)
    lib.twice(out, array)
    with pytest.raises(RuntimeError, match="read-only"):
        lib.fill(Interface(array))


def test_a_number_for_an_output(lib):
    with pytest.raises(RuntimeError, match="argument 0.*may write"):
        lib.fill(np.float32(3), threads=1)


@pytest.mark.parametrize("array", [
    np.array(["a", "b"]), np.array([object()]), np.array(["2020-01-01"], dtype="datetime64[D]"),
    np.zeros(4, dtype=">f4"),
])
def test_arrays_that_hold_no_numbers(lib, array):
    with pytest.raises(TypeError, match="argument 0"):
        lib.fill(array)


def test_other_devices(lib):
    with pytest.raises(RuntimeError, match='argument 0 "x": the tensor is on device meta'):
        lib.fill(torch.zeros(4, device="meta"))


def test_tensors_without_plain_memory(lib):
    with pytest.raises(RuntimeError, match="argument 0.*sparse"):
        lib.fill(torch.zeros(4).to_sparse())
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.zeros(4)
    with pytest.raises(RuntimeError, match="argument 0.*is fake.*torch.library.custom_op"):
        lib.fill(fake)


def test_a_storage_that_was_taken_away(lib):
    x = torch.zeros(4)
    x.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="4 elements, but its storage of 0 bytes"):
        lib.fill(x)


@pytest.mark.parametrize("interface", [
    None, {}, {"typestr": "<f4"}, {"typestr": "<f4", "shape": (4,), "data": None},
    {"typestr": "zz", "shape": (4,), "data": (0, False)}, {"typestr": "<f4", "shape": ("a",), "data": (0, False)},
    {"typestr": "<f4", "shape": (4,), "strides": (1, 2), "data": (0, False)}, {"typestr": 3},
])
def test_broken_array_interfaces(lib, interface):
    class Broken:
        __array_interface__ = interface

    with pytest.raises((RuntimeError, TypeError, ValueError)):
        lib.fill(Broken())


def test_broken_dlpack(lib):
    class Broken:
        def __init__(self, result, device=(1, 0)):
            self.result = result
            self.device = device

        def __dlpack__(self):
            if isinstance(self.result, Exception):
                raise self.result
            return self.result

        def __dlpack_device__(self):
            return self.device

    with pytest.raises(KeyError):
        lib.fill(Broken(KeyError("mine")))
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        lib.fill(Broken(None))
    with pytest.raises(RuntimeError, match="device of DLPack type 2"):
        lib.fill(Broken(None, device=(2, 0)))


def test_no_references_are_lost_or_kept(lib):
    x, array = torch.zeros(8), np.zeros(8, np.float32)
    before = sys.getrefcount(x), sys.getrefcount(array)
    for _ in range(100):
        lib.twice(x, array)
        lib.twice(array, x, contiguous="copy")
        with pytest.raises(RuntimeError):
            lib.twice(x, array, 1.0, [x])
    gc.collect()
    assert (sys.getrefcount(x), sys.getrefcount(array)) == before
