"""What compile_shader has beyond torch's: constants, threadgroup memory, queues, archives, closing, error buffers."""
import os
import subprocess
import sys
import threading
import time
import types
import weakref

import forked_python
import numpy as np
import pytest

import ingot

torch = pytest.importorskip("torch")

SOURCE = """
#include <metal_stdlib>
using namespace metal;
constant int FACTOR [[function_constant(0)]];
constant bool WITH_BIAS [[function_constant(1)]];
constant float2 RANGE [[function_constant(2)]];
constant bool has_bias = is_function_constant_defined(WITH_BIAS) && WITH_BIAS;

kernel void scale(device float* x, constant float& bias [[buffer(1), function_constant(has_bias)]],
                  uint i [[thread_position_in_grid]]) {
    x[i] = x[i] * FACTOR + (has_bias ? bias : 0.0f);
}
kernel void bounds(device float* x) { x[0] = RANGE.x; x[1] = RANGE.y; }
kernel void reverse(device float* x, threadgroup float* shared [[threadgroup(0)]],
                    uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    shared[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = shared[n - 1 - i];
}
kernel void add(device float* x, constant float& a, uint i [[thread_position_in_grid]]) { x[i] += a; }
kernel void slow(device float* x, constant uint& n, uint i [[thread_position_in_grid]]) {
    float v = x[i];
    for (uint k = 0; k < n; k++) v = v * 0.5f + 1.0f;
    x[i] = v;
}
kernel void stray(device float* x) { x[1ul << 40] = 1; }
struct Inputs { array<device const float *, 2> items; };
kernel void sum_inputs(device float* out, constant Inputs& in, uint i [[thread_position_in_grid]]) {
    out[i] = in.items[0][i] + in.items[1][i];
}
"""


@pytest.fixture(scope="module")
def lib():
    return ingot.compile_shader(SOURCE)


# ---- function constants ----


def test_specialize_by_name_and_by_index(lib):
    x = torch.ones(3)
    lib.scale.specialize(FACTOR=3)(x)
    assert x.tolist() == [3, 3, 3]
    lib.scale.specialize({0: 2, "WITH_BIAS": True})(x, 0.5)
    assert x.tolist() == [6.5, 6.5, 6.5]


def test_an_argument_that_constants_leave_out(lib):
    kernel = lib.scale.specialize(FACTOR=1, WITH_BIAS=False)
    assert [argument.active for argument in kernel.arguments] == [True, False]
    x = torch.ones(1)
    kernel(x, None)
    kernel(x)
    assert x.item() == 1


def test_vector_constants(lib):
    x = torch.zeros(2)
    lib.bounds.specialize(RANGE=(0.25, 4.0))(x)
    assert x.tolist() == [0.25, 4.0]
    with pytest.raises(TypeError, match="2 components are needed"):
        lib.bounds.specialize(RANGE=1.0)


def test_constants_that_are_wrong(lib):
    with pytest.raises(RuntimeError, match=r"no function constant 'ABSENT': the library has FACTOR \(0\)"):
        lib.scale.specialize(ABSENT=1)
    with pytest.raises(RuntimeError, match=r"call scale.specialize\(NAME=value\) first.* FACTOR"):
        lib.scale(torch.zeros(2))
    with pytest.raises(RuntimeError, match="no function constant 17"):
        lib.scale.specialize({17: 1})
    with pytest.raises(RuntimeError, match='constant 0 "FACTOR": 1.5 is not a value of type int'):
        lib.scale.specialize(FACTOR=1.5)
    with pytest.raises(RuntimeError, match="4294967296 is not a value of type int"):
        lib.scale.specialize(FACTOR=2**32)
    with pytest.raises(RuntimeError, match="given twice"):
        lib.scale.specialize({0: 1}, FACTOR=2)
    with pytest.raises(TypeError, match="dictionary"):
        lib.scale.specialize([1])


def test_a_kernel_without_its_constant(lib):
    with pytest.raises(RuntimeError, match="FACTOR"):
        lib.scale(torch.ones(1))


# ---- threadgroup memory ----


def test_threadgroup_memory(lib):
    x = torch.arange(64.0)
    lib.reverse(x, group_size=64, threadgroup_memory=[64 * 4])
    assert x.tolist() == list(range(63, -1, -1))
    lib.reverse(x, group_size=64, threadgroup_memory=256)
    assert x.tolist() == list(range(64))


def test_threadgroup_memory_that_is_wrong(lib):
    x = torch.arange(64.0)
    with pytest.raises(RuntimeError, match='threadgroup argument 0 "shared".*0 bytes'):
        lib.reverse(x, group_size=64)
    with pytest.raises(RuntimeError, match="more than the 32768"):
        lib.reverse(x, group_size=64, threadgroup_memory=1 << 20)
    with pytest.raises(RuntimeError, match="no argument there"):
        lib.add(x, 1.0, threadgroup_memory=[16])
    with pytest.raises(TypeError, match="threadgroup_memory"):
        lib.reverse(x, group_size=64, threadgroup_memory="much")


# ---- queues ----


def test_queued_work_is_done_after_synchronize(lib):
    x = torch.zeros(1000)
    for _ in range(50):
        lib.add(x, 1.0, wait=False)
    ingot.synchronize()
    assert torch.equal(x, torch.full((1000,), 50.0))


def test_queued_work_starts_by_itself(lib):
    x = torch.zeros(64)
    for _ in range(20):  # by then it is known to be short
        lib.add(x, 1.0)
    lib.add(x, 1.0, wait=False)
    end, done = time.monotonic() + 20, torch.full((64,), 21.0)
    while not torch.equal(x, done) and time.monotonic() < end:
        time.sleep(0.001)
    assert torch.equal(x, done)


def test_a_tensor_freed_while_its_kernel_is_queued(lib):
    x = torch.zeros(4096)
    gone = weakref.ref(x.untyped_storage())
    view = x[:]
    lib.slow(view, 2000, wait=False)
    lib.sum_inputs(torch.zeros(64), [torch.ones(64), torch.ones(64)], wait=False)
    for _ in range(20):
        lib.add(torch.ones(4096), 1.0, wait=False)
    del x, view
    torch.full((4096,), -1.0)
    ingot.synchronize()
    ingot._C.synchronize()
    assert gone() is None, "and then it is let go"


def test_queued_arrays_are_kept_and_let_go(lib):
    x = np.zeros(256, np.float32)
    before = sys.getrefcount(x)
    lib.add(x, 1.0, wait=False)
    ingot.synchronize()
    assert x.sum() == 256
    assert sys.getrefcount(x) == before


def test_the_error_of_queued_work(lib):
    x = torch.zeros(4)
    lib.stray(x, threads=1, wait=False)
    lib.add(x, 1.0, wait=False)
    with pytest.raises(RuntimeError, match='kernel "stray"'):
        ingot.synchronize()
    assert x.sum() == 0, "what came after it was dropped"
    lib.add(x, 1.0)
    assert x.sum() == 4


# ---- threads and processes ----


def test_many_threads(lib):
    failures = []

    def work(seed: int) -> None:
        try:
            x = torch.full((300,), float(seed))
            for k in range(100):
                lib.add(x, 1.0, wait=k % 3 == 0)
            ingot.synchronize()
            assert torch.equal(x, torch.full((300,), seed + 100.0))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_threads_that_compile_the_same_kernel_at_once():
    lib = ingot.compile_shader("kernel void k(device float* x) { x[0] = 29; }", use_cache=False)
    results = []

    def work() -> None:
        x = torch.zeros(1)
        lib.k(x)
        results.append(x.item())

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [29] * 6


def test_a_forked_child_uses_kernels_of_its_parent(lib):
    x = torch.zeros(1000)
    lib.add(x, 1.0)
    lib.slow(x, 2000, wait=False)
    child = os.fork()
    if child == 0:
        y = np.zeros(1000, np.float32)
        for _ in range(10):
            lib.add(y, 1.0)
        lib.scale.specialize(FACTOR=3)(y)
        ingot.synchronize()
        os._exit(0 if (y == 30).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    ingot.synchronize()


class Doubled(torch.utils.data.Dataset):
    """Items that a kernel of the parent process makes."""

    def __init__(self, lib) -> None:
        self.lib = lib

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        x = torch.full((100,), float(index))
        self.lib.add(x, float(index))
        return x


def test_forked_workers_of_a_data_loader(lib):
    loader = torch.utils.data.DataLoader(Doubled(lib), batch_size=2, num_workers=2, multiprocessing_context="fork")
    assert torch.equal(torch.cat(list(loader)), 2 * torch.arange(8.0)[:, None].expand(8, 100))


def test_a_process_that_ends_with_work_in_the_queue():
    program = f"""
import numpy, ingot
lib = ingot.compile_shader({SOURCE!r})
x = numpy.zeros(100000, numpy.float32)
for _ in range(200):
    lib.slow(x, 500, wait=False)
del x
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_import_needs_no_torch_and_no_numpy():
    program = "import sys, ingot; assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_numpy_alone_is_enough():
    program = """
import sys
sys.modules["torch"] = None
import numpy, ingot
x = numpy.zeros(4, numpy.float32)
source = "#include \\"absent.h\\"\\nkernel void k(device float* x) {}"
try:
    ingot.compile_shader(source)
except SyntaxError as error:
    assert "absent.h" in str(error)
lib = ingot.compile_shader("kernel void k(device float* x, uint i [[thread_position_in_grid]]) { x[i] = i; }")
lib.k(x)
ingot.synchronize()
assert x.tolist() == [0, 1, 2, 3]
for name in ("mps", "nn", "ops", "optim", "patch", "enable_overrides"):
    try:
        getattr(ingot, name).enable()  # where there is no torch, only mps gets so far
    except ImportError as error:
        assert "PyTorch 2.7 or newer, which is not installed" in str(error), (name, error)
    else:
        raise AssertionError(name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_tensors_by_dlpack():
    """As with a torch that lacks the C functions by which tensors are read otherwise."""
    program = """
import torch, ingot
lib = ingot.compile_shader("kernel void k(device float* x, constant float& a, uint i [[thread_position_in_grid]])"
                           "{ x[i] += i * a; }")
x = torch.ones(6, requires_grad=True) * 1
lib.k(x[2:], torch.tensor(2.0))
lib.k(x, 1.0, wait=False)
ingot.synchronize()
assert x.tolist() == [1, 2, 3, 6, 9, 12], x
try:
    lib.k(torch.zeros(2, device="meta"), 1.0)
except RuntimeError as error:
    print(error)
"""
    done = forked_python.run(["-c", program], env=dict(os.environ, INGOT_TENSORS="dlpack"), timeout=120)
    assert done.returncode == 0, done.stderr
    assert "argument 0" in done.stdout


def test_threads_are_as_many_as_torch_uses():
    program = """
import os, torch, ingot
torch.set_num_threads(3)
child = os.fork()
if child == 0:
    os.environ["INGOT_THREADS"] = "2"
    os._exit(ingot._C.thread_count())
print(ingot._C.thread_count(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    environment = {name: value for name, value in os.environ.items() if name != "INGOT_THREADS"}
    done = forked_python.run(["-c", program], env=environment, timeout=120)
    assert done.stdout == "3 2\n", done.stderr


# ---- closing ----


def test_a_closed_library_raises():
    lib = ingot.compile_shader("kernel void k(device float* x) { x[0] = 1; }\nkernel void other(device float* x) {}")
    used, unused = lib.k, lib.other
    used(torch.zeros(1))
    lib.close()
    lib.close()
    assert lib.closed
    for call in (lambda: used(torch.zeros(1)), lambda: unused(torch.zeros(1)), lambda: lib.k.arguments,
                 lambda: used.max_threads_per_threadgroup, lambda: used.specialize({0: 1})):
        with pytest.raises(ingot.Error, match="its library is closed"):
            call()


def test_kernels_outlive_their_library():
    kernel = ingot.compile_shader("kernel void k(device float* x) { x[0] = 5; }").k
    x = torch.zeros(1)
    kernel(x)
    assert x.item() == 5


def test_with_statement():
    with ingot.compile_shader("kernel void k(device float* x) {}") as lib:
        assert not lib.closed
    assert lib.closed


# ---- archives ----


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    compiler = os.environ.get("INGOTC")
    if not compiler:
        pytest.skip("INGOTC does not name a compiler")
    folder = tmp_path_factory.mktemp("archive")
    (folder / "k.metal").write_text("kernel void seven(device float* x) { x[0] = 7; }\n")
    subprocess.run([compiler, str(folder / "k.metal"), "-o", str(folder / "k.ingot")], check=True)
    return folder / "k.ingot"


def test_load_metallib(archive):
    for source in (archive, str(archive), archive.read_bytes(), bytearray(archive.read_bytes())):
        x = torch.zeros(1)
        ingot.load_metallib(source).seven(x)
        assert x.item() == 7


def test_load_metallib_errors(archive, tmp_path):
    with pytest.raises(TypeError, match="bytes or a path"):
        ingot.load_metallib(3)
    with pytest.raises(RuntimeError, match="absent.ingot"):
        ingot.load_metallib(tmp_path / "absent.ingot")
    for bad in (b"", b"MTLB" + bytes(100), archive.read_bytes()[:200]):
        with pytest.raises(RuntimeError):
            ingot.load_metallib(bad)


# ---- errors that kernels report ----

REPORTS = """
#include <c10/metal/error.h>
using namespace c10::metal;
kernel void check(device float* x, constant float& limit, device ErrorMessages* errors,
                  uint i [[thread_position_in_grid]]) {
    if (x[i] > limit) { TORCH_REPORT_ERROR(errors, "element ", i, " is too large"); return; }
    x[i] += 1;
}
"""


@pytest.fixture
def reporting():
    include = os.path.join(os.path.dirname(torch.__file__), "include", "c10", "metal", "error.h")
    if not os.path.exists(include):
        pytest.skip(f"torch {torch.__version__} has no c10/metal/error.h")
    return ingot.compile_shader(REPORTS)


def test_reported_errors_surface_at_synchronize(reporting):
    x = torch.arange(8.0)
    reporting.check(x, 5.5, error_buf_idx=2)
    with pytest.raises(RuntimeError, match="element 6 is too large") as caught:
        ingot.synchronize()
    assert "element 7 is too large" in str(caught.value)
    assert isinstance(caught.value, getattr(torch, "AcceleratorError", RuntimeError))
    ingot.synchronize()
    assert x.tolist() == [1, 2, 3, 4, 5, 6, 6, 7]


def test_more_reports_than_there_is_room_for(reporting):
    reporting.check(torch.full((500,), 9.0), 1.0, error_buf_idx=2, wait=False)
    with pytest.raises(RuntimeError):
        ingot.synchronize()
    ingot.check_errors()


@pytest.mark.parametrize("index", [-1, 64, 2**40])
def test_error_buffer_index_out_of_range(lib, index):
    with pytest.raises((RuntimeError, OverflowError)):
        lib.add(torch.zeros(2), 1.0, error_buf_idx=index)
    with pytest.raises(TypeError):
        lib.add(torch.zeros(2), 1.0, error_buf_idx="two")


# ---- a Mac ----


@pytest.fixture
def mac(monkeypatch):
    """A stand-in for a Mac's torch.mps: there is no Mac here. Its kernels only note their calls."""
    calls = []
    compiled = []

    def compile_shader(source):
        compiled.append(source)
        return types.SimpleNamespace(k=lambda *args, **options: calls.append((args, options)))

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch, "mps", types.SimpleNamespace(compile_shader=compile_shader))
    return types.SimpleNamespace(calls=calls, compiled=compiled)


class OnMps:
    """What says that it is on mps."""

    device = torch.device("mps")


def test_on_a_mac_calls_with_mps_tensors_go_to_torch(mac):
    lib = ingot.compile_shader("kernel void k(device float* x, constant float& a) { x[0] = a; }")
    assert dir(lib) == ["k"] and not mac.compiled
    x = torch.zeros(2)
    lib.k(x, 3.0)
    assert x[0] == 3 and not mac.compiled
    there = OnMps()
    lib.k(there, 3.0, threads=2, wait=False)
    lib.k([there], 4.0, threads=1)
    assert mac.calls == [((there, 3.0), {"threads": 2}), (([there], 4.0), {"threads": 1})]
    assert len(mac.compiled) == 1
    with pytest.raises(TypeError, match="threadgroup_memory"):
        lib.k(there, 1.0, threadgroup_memory=16)
    with pytest.raises(RuntimeError, match="absent"):
        lib.absent
    with pytest.raises(SyntaxError):
        ingot.compile_shader("no Metal")


def test_on_a_mac_without_the_extension_everything_goes_to_torch(mac, monkeypatch):
    from ingot import shader

    monkeypatch.setattr(shader, "_C", None)
    lib = ingot.compile_shader("source")
    assert mac.compiled == ["source"] and "k" in dir(lib)
    lib.k(1.0, threads=1)
    assert mac.calls == [((1.0,), {"threads": 1})]


def test_kernels_in_namespaces():
    library = ingot.compile_shader(
        """
        namespace a { kernel void k(device float *x) { x[0] = 1; } }
        namespace b { kernel void k(device float *x) { x[0] = 2; } kernel void alone(device float *x) { x[0] = 3; } }
        """
    )
    assert dir(library) == ["a::k", "b::alone", "b::k"]
    x = np.zeros(1, np.float32)
    for name, value in {"a::k": 1, "b::k": 2, "b::alone": 3, "alone": 3}.items():
        library[name](x, threads=1)
        assert x[0] == value
    with pytest.raises(ingot.Error, match="no kernel 'k'"):
        library.k


TENSORS = """
#include <metal_stdlib>
#include <metal_tensor>
using namespace metal;
kernel void transpose_sum(tensor<device const float, dextents<int, 2>> x, tensor<device float, extents<int, 3, 4>> y,
                          uint2 at [[thread_position_in_grid]]) {
    y[at.x, at.y] += x[at.y, at.x] + x.get_extent(0) * 100 + x.load(-1, 0) + x.load(0, x.get_extent(1));
}
"""


def test_tensors_are_bound_with_their_strides():
    kernel = ingot.compile_shader(TENSORS, msl_version="4.0").transpose_sum
    x = torch.arange(12.0).reshape(3, 4)
    for given in (x, x.T.contiguous().T, x.numpy()):
        y = torch.ones(4, 3)
        kernel(given, y, threads=(3, 4), group_size=(3, 4))
        assert torch.equal(y, 1 + x.T + 400)
    assert kernel.arguments[0].type == "tensor<float, extents<int, dynamic_extent, dynamic_extent>, tensor_handle>"
    with pytest.raises(ingot.Error, match='argument 0 "x": a tensor of 0 dimensions was given'):
        kernel(torch.tensor(1.0), torch.ones(4, 3), threads=(3, 4))
