"""An extension in Objective-C++ on the emulated device mps. Run under `pytest --ingot-mps`, as test_mps.py does."""
import gc
import pathlib

import pytest

torch = pytest.importorskip("torch")
from ingot.mps import bridge  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
NONE, COMMIT, COMMIT_AND_WAIT, COMMIT_AND_CONTINUE, COMMIT_ADAPTIVE = range(5)  # at::mps::SyncType
EARLY = torch.arange(4.0, device="mps") if torch.backends.mps.is_available() else None  # before the bridge is there


def why_not() -> str | None:
    if not torch.backends.mps.is_available():
        return "needs device mps: test_mps.py runs this file with --ingot-mps"
    try:
        bridge.compiler()
    except RuntimeError as error:
        return str(error)
    return None


pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    from torch.utils import cpp_extension

    folder = tmp_path_factory.mktemp("extension")
    return cpp_extension.load("ingot_extension", [str(HERE / "mps_extension.mm")], build_directory=str(folder),
                              extra_ldflags=["-framework", "Metal", "-framework", "Foundation"])


def test_kernels_run_in_order_with_operators(extension):
    x = torch.arange(1000.0, device="mps")
    y = extension.scale(x + 1, 2.0)  # not committed by anybody
    assert torch.equal((y - 2).cpu(), torch.arange(1000.0) * 2)
    for step in range(5):
        y = extension.scale(y, 0.5) * 2
        extension.add_one(y, step % 2 == 0)
    assert y[0].item() == 7 and y.sum().item() == sum(2 * i + 7 for i in range(1000))
    x.zero_()  # an operator that writes comes after what was encoded before
    z = extension.scale(y, 1.0)
    y.zero_()
    assert z[1].item() == 9
    library = torch.mps.compile_shader(
        "kernel void twice(device float *x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }")
    extension.add_one(z, False)
    library.twice(z)
    extension.add_one(z, False)
    assert z[:2].tolist() == [17, 21]


def test_offsets_and_tensors_from_before_the_extension(extension):
    x = torch.arange(10.0, device="mps")
    extension.add_one(x[4:7], True)
    assert x.tolist() == [0, 1, 2, 3, 5, 6, 7, 7, 8, 9]
    assert extension.scale(x[8:], 10.0).tolist() == [80, 90]
    assert extension.scale(EARLY, 3.0).tolist() == [0, 3, 6, 9]
    assert extension.about(x[3:])[:2] == (40, 3.0)
    grown = torch.zeros(2, device="mps")
    grown.resize_(100).fill_(3)
    assert extension.scale(grown, 2.0).sum().item() == 600


def test_kernel_functions_and_parameters(extension):
    assert set(extension.names()) == {"scale", "add_one", "place", "wild"}
    assert extension.place([3, 2], [3, 1]).tolist() == [[3000000, 3000001, 3000002], [3001000, 3001001, 3001002]]
    assert extension.place([2, 2]).shape == (2, 2)
    assert extension.place([0, 2]).shape == (2, 0)  # nothing is dispatched
    assert extension.place([0, 2], [0, 1]).shape == (2, 0)
    assert extension.fill(3, "half", "2.5").tolist() == [2.5] * 3
    assert extension.fill(2, "int", "-7").tolist() == [-7] * 2
    with pytest.raises(ValueError, match="Threadgroup size exceeds 1024"):
        extension.misuse(EARLY, "group")


@pytest.mark.parametrize("kind", [NONE, COMMIT, COMMIT_AND_WAIT, COMMIT_AND_CONTINUE, COMMIT_ADAPTIVE])
def test_copies_and_kinds_of_synchronization(extension, kind):
    x, y = torch.arange(6.0, device="mps"), torch.zeros(6, device="mps")
    extension.add_one(x, False)
    extension.copy(x[1:], y[2:], 3, kind)
    extension.synchronize(kind)
    assert y.tolist() == [0, 0, 2, 3, 4, 0]


def test_streams_of_the_pool_and_handlers(extension):
    x = torch.zeros(8, device="mps")
    assert extension.in_pool(x) == 1 and x.tolist() == [1] * 8


def test_torch_waits_for_extensions(extension):
    x = torch.zeros(4, device="mps")
    extension.add_one(x, False)
    torch.mps.synchronize()
    assert extension.about(x)[1] == 1.0
    event = torch.mps.Event(enable_timing=True)
    extension.add_one(x, False)
    event.record()
    assert x.tolist() == [2] * 4


MISUSES = {
    "two encoders": "an encoder is open",
    "used after the end": "endEncoding was called before",
    "offset": "offset 20 passes the end of the buffer at index 0, which has 16 bytes",
    "no kernel": "Failed to create function state object for: missing",
    "operator in a block": "in a block on the mps stream's queue",
}


@pytest.mark.parametrize("what", MISUSES)
@pytest.mark.parametrize("way", ["function", "operator"])
def test_what_ends_a_process_on_a_mac_is_an_exception(extension, what, way):
    x = torch.arange(4.0, device="mps")
    call = extension.misuse if way == "function" else torch.ops.ingot_extension_test.misuse
    with pytest.raises(RuntimeError, match=MISUSES[what]):
        call(x, what)
    extension.synchronize(COMMIT_AND_WAIT)
    assert extension.scale(x, 2.0).tolist() == [0, 2, 4, 6]  # and all goes on


def test_an_encoder_left_open_is_told_where_the_work_is_given(extension):
    x = torch.arange(4.0, device="mps")
    extension.misuse(x, "left open")
    with pytest.raises(RuntimeError, match="released without endEncoding"):
        x + 1
    assert (x + 1).tolist() == [1, 2, 3, 4]


def test_errors_of_kernels_and_sources(extension):
    x = torch.arange(4.0, device="mps")
    extension.misuse(x, "fault")
    with pytest.raises(RuntimeError, match='bounds: kernel "wild": store of 4 bytes at offset 4398046511104'):
        torch.mps.synchronize()
    assert x.tolist() == [0, 1, 2, 3]
    with pytest.raises(SyntaxError, match="expected"):
        extension.misuse(x, "source")
    with pytest.raises(RuntimeError, match="scale takes float32"):
        extension.scale(x.to(torch.int32), 2.0)


def test_catch_in_objective_cxx(extension):
    assert "passes the end of the buffer" in extension.caught(EARLY)


def test_operators_of_the_extension_are_differentiable_around(extension):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return torch.ops.ingot_extension_test.scale(x, 3.0)

        @staticmethod
        def backward(context, gradient):
            return torch.ops.ingot_extension_test.scale(gradient.contiguous(), 3.0)

    x = torch.arange(4.0, device="mps", requires_grad=True)
    (Scale.apply(x * 2) ** 2).sum().backward()
    assert x.grad.tolist() == [72.0 * i for i in range(4)]


def test_objects_keep_the_memory(extension):
    x = torch.full((1000,), 5.0, device="mps")
    assert extension.about(x)[2] == 2  # the storage's, and the pool's
    extension.keep(x)
    del x
    gc.collect()
    torch.mps.current_allocated_memory()
    for _ in range(20):
        torch.full((1000,), 7.0, device="mps")
    torch.mps.current_allocated_memory()
    assert extension.release() == 5.0
