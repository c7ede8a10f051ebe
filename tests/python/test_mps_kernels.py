"""torch.mps.compile_shader on the emulated device. Run under `pytest --ingot-mps`, as test_mps.py does."""
import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    not torch.backends.mps.is_available(),
    reason="needs device mps: test_mps.py runs this file with --ingot-mps",
)

SOURCE = """
#include <metal_stdlib>
using namespace metal;
kernel void axpy(device float* y, device const float* x, constant float& a,
                 uint i [[thread_position_in_grid]]) {
    y[i] += a * x[i];
}
kernel void gather(device float* out, constant array<device float*, 3>& rows,
                   uint i [[thread_position_in_grid]]) {
    out[i] = rows[i][0];
}
"""


@pytest.fixture(scope="module")
def library():
    return torch.mps.compile_shader(SOURCE)


def test_kernels_run_on_mps_tensors(library):
    x, y = torch.arange(8.0, device="mps"), torch.ones(8, device="mps")
    library.axpy(y, x, 2.0)
    assert y.tolist() == [1 + 2 * i for i in range(8)]
    library.axpy(y[4:], x, torch.tensor(1.0), threads=(2,), group_size=(2,))
    assert y.tolist() == [1, 3, 5, 7, 9, 12, 13, 15]
    assert set(dir(library)) == {"axpy", "gather"}
    assert library.axpy.thread_execution_width == 32 and library.axpy.max_threads_per_threadgroup >= 256


def test_lists_of_tensors(library):
    rows = [torch.full((1,), float(i), device="mps") for i in range(3)]
    out = torch.zeros(3, device="mps")
    library.gather(out, rows)
    assert out.tolist() == [0, 1, 2]


def test_errors_are_those_of_torch(library):
    x = torch.ones(4, device="mps")
    with pytest.raises(SyntaxError):
        torch.mps.compile_shader("kernel void broken(device float* x) { nonsense }")
    with pytest.raises(RuntimeError, match="argument 1 .* on device cpu"):
        library.axpy(x, torch.ones(4), 1.0)
    with pytest.raises(RuntimeError):
        library.no_such_kernel(x)
    with pytest.raises(RuntimeError):
        library.axpy(1.0)
    with pytest.raises(ValueError):
        library.axpy(x, x, 1.0, threads=(4096,), group_size=(4096,))


def test_headers_of_torch_are_found():
    lib = torch.mps.compile_shader("""
    #include <c10/metal/special_math.h>
    kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i] = c10::metal::i0(x[i]); }
    """)
    x = torch.linspace(0, 4, 9, device="mps")
    expected = torch.special.i0(x.cpu())
    lib.f(x)
    torch.testing.assert_close(x.cpu(), expected, atol=1e-5, rtol=1e-5)


def test_kernel_in_an_autograd_function(library):
    class Axpy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, y, x, a):
            ctx.a = a
            out = y.clone()
            library.axpy(out, x, a)
            return out

        @staticmethod
        def backward(ctx, gradient):
            scaled = torch.zeros_like(gradient)
            library.axpy(scaled, gradient.contiguous(), ctx.a)
            return gradient, scaled, None

    y, x = (torch.ones(4, device="mps", requires_grad=True) for _ in range(2))
    Axpy.apply(y, x, 3.0).sum().backward()
    assert y.grad.tolist() == [1] * 4 and x.grad.tolist() == [3] * 4


def test_kernel_as_a_registered_operator(library):
    @torch.library.custom_op("ingot_test_mps_kernels::axpy", mutates_args=(), device_types="mps")
    def axpy(y: torch.Tensor, x: torch.Tensor, a: float) -> torch.Tensor:
        out = y.clone()
        library.axpy(out, x, a)
        return out

    ones = torch.ones(3, device="mps")
    assert torch.ops.ingot_test_mps_kernels.axpy(ones, ones, 2.0).tolist() == [3, 3, 3]


def test_compiled_functions():
    """torch.compile writes Metal for mps tensors: its kernels run too."""
    x = torch.linspace(0, 1, 64, device="mps")

    def function(x):
        return (torch.sin(x) * 2 + x.exp()).softmax(0)

    torch.testing.assert_close(torch.compile(function)(x), function(x), atol=1e-5, rtol=1e-5)


def test_ingots_own_interfaces_take_mps_tensors():
    import ingot
    import ingot.ops

    x = torch.arange(8.0, device="mps")
    y = torch.zeros_like(x)
    ingot.compile_shader(SOURCE).axpy(y, x, 1.0)
    assert torch.equal(x, y)
    leaf = torch.randn(4, 8, device="mps", requires_grad=True)
    result = ingot.ops.rms_norm(leaf, torch.ones(8, device="mps"))
    torch.testing.assert_close(result.cpu(), torch.nn.functional.rms_norm(leaf.detach().cpu(), (8,)),
                               atol=1e-4, rtol=1e-4)
    result.sum().backward()
    assert result.device.type == "mps" and leaf.grad.device.type == "mps"


def test_apples_libraries(tmp_path, compiled_library):
    if not hasattr(torch.mps, "load_metallib"):
        pytest.skip("this torch has no load_metallib")
    file = tmp_path / "apple.metallib"
    file.write_bytes(b"MTLB" + bytes(60))
    for source in (file, file.read_bytes()):
        with pytest.raises(RuntimeError, match="the Metal library is cut short: it has 64 bytes, its header has 88"):
            torch.mps.load_metallib(source)
    x = torch.arange(16, dtype=torch.float32, device="mps") - 6
    out = torch.zeros(24, device="mps")
    torch.mps.load_metallib(compiled_library("vectors")).vectors(x, out, threads=4, group_size=4)
    torch.testing.assert_close(out.cpu()[:16], (torch.arange(16) - 6).abs().float())

