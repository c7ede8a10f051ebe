"""torch.ops.ingot on mps tensors by device metal, in torch's command buffer. Run under `pytest --ingot-mps` with
INGOT_METAL_BRIDGE, as test_mps.py does."""
import os

import pytest

torch = pytest.importorskip("torch")
from ingot.mps import bridge  # noqa: E402


def why_not() -> str | None:
    if not torch.backends.mps.is_available() or not os.environ.get("INGOT_METAL_BRIDGE"):
        return "needs device mps and INGOT_METAL_BRIDGE: test_mps.py runs this file with both"
    try:
        bridge.compiler()
    except RuntimeError as error:
        return str(error)
    return None


pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@pytest.fixture(scope="module", autouse=True)
def metal():
    from ingot.mps import on_metal

    on_metal.use_metal()
    on_metal.use_metal()  # the second time it does nothing


def has_work() -> bool:
    """Is something encoded or committed that nobody has waited for?"""
    from ingot import _C

    return _C.mps_has_work()


def test_work_stays_in_torchs_command_buffer_until_somebody_looks():
    x = torch.arange(64.0, device="mps").reshape(4, 16)
    weight = torch.full((16,), 2.0, device="mps")
    y = torch.ops.ingot.rms_norm(x, weight, 1e-5)
    assert y.device.type == "mps" and has_work()  # neither run nor waited for
    expected = torch.nn.functional.rms_norm(x.cpu(), (16,), weight.cpu(), 1e-5)
    torch.testing.assert_close(y.cpu(), expected)
    assert not has_work()


def test_order_with_operators_around():
    x = torch.ones(8, 32, device="mps")
    for _ in range(4):
        x = torch.ops.ingot.softmax(x) * 32 + 1  # torch's operators see what was encoded, and the next sees theirs
    assert torch.equal(x.cpu(), torch.full((8, 32), 2.0))


def test_views_begin_where_they_should():
    whole = torch.arange(80.0, device="mps").reshape(5, 16)
    part = whole[2:4]
    y = torch.ops.ingot.softmax(part)
    torch.testing.assert_close(y.cpu(), torch.softmax(part.cpu(), -1))
    assert torch.equal(whole.cpu(), torch.arange(80.0).reshape(5, 16))


def test_mixed_devices_are_refused():
    with pytest.raises(RuntimeError, match="weight is on device cpu, but x is on mps"):
        torch.ops.ingot.rms_norm(torch.ones(2, 4, device="mps"), torch.ones(4), 1e-5)


def test_gradients():
    x = torch.arange(8.0, device="mps", requires_grad=True)
    y = torch.ops.ingot.softmax(x[None])
    y[0, 3].backward()
    other = torch.arange(8.0, requires_grad=True)
    torch.softmax(other, -1)[3].backward()
    torch.testing.assert_close(x.grad.cpu(), other.grad)


def test_neighbours_in_the_command_buffer():
    """An extension's kernel and an operator's in one command buffer, in the order of the calls."""
    library = torch.mps.compile_shader(
        "kernel void add_one(device float *x, uint i [[thread_position_in_grid]]) { x[i] += 1; }")
    x = torch.zeros(4, 8, device="mps")
    y = torch.ops.ingot.softmax(x)  # 1/8 each
    library.add_one(y)
    z = torch.ops.ingot.softmax(y)
    y.zero_()  # after z was made of it
    assert torch.equal(z.cpu(), torch.full((4, 8), 0.125)) and y.sum().item() == 0
