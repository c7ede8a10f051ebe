"""CUDA tensors in the operators and in kernels: values, torch's streams, graphs, errors.

Most of it needs a GPU, and says so where there is none. INGOT_CUDA_KERNELS names an archive of cuda_kernels.metal
where there is no compiler:

    ingotc tests/python/cuda_kernels.metal -o FILE --variants tests/python/cuda_kernels.variants --target sm_90
"""
from __future__ import annotations

import concurrent.futures
import ctypes
import functools
import os
import pathlib
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import ingot  # noqa: E402
import ingot.nn  # noqa: E402
import ingot.ops  # noqa: E402
import ingot.optim  # noqa: E402
import operator_cases  # noqa: E402
from operator_cases import CASES, TOLERANCE, results_of  # noqa: E402

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device on this machine")
SCHEMAS = ingot._C.torch_schemas()
HARD = {"lu", "solve", "lstsq", "triangular_solve", "quantised_matmul", "quantised_matvec"}
ON_HOST = {"cache_copy_": (2,)}  # arguments that the host reads


def moved(name: str, arguments: list[Any], device: str) -> list[Any]:
    """The arguments on a device, but for those that belong to the host."""
    def move(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.to(device)
        return [move(item) for item in value] if isinstance(value, list) else value

    return [value if index in ON_HOST.get(name, ()) else move(value) for index, value in enumerate(arguments)]


def call(name: str, arguments: list[Any]) -> list[Any]:
    """What the operator returned, or for one that ends in _ what it changed."""
    return results_of(SCHEMAS[name], arguments, getattr(torch.ops.ingot, name)(*arguments))


close = functools.partial(operator_cases.close, device="cuda")


@pytest.fixture(scope="module")
def kernels() -> ingot.ShaderLibrary:
    """cuda_kernels.metal, compiled here or ahead."""
    archive = os.environ.get("INGOT_CUDA_KERNELS")
    if archive:
        return ingot.load_metallib(archive)
    return ingot.compile_shader(pathlib.Path(__file__).with_name("cuda_kernels.metal").read_text())


# ---- what can be seen without a GPU ----


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_operators_are_registered_for_cuda(name: str) -> None:
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    assert has_kernel(f"ingot::{name}", "CUDA") == (torch.version.cuda is not None)
    assert has_kernel(f"ingot::{name}", "CPU")


@pytest.mark.parametrize("name", ["matmul", "rms_norm", "attention", "softmax"])
def test_autocast_rules_are_registered_for_cuda(name: str) -> None:
    if not torch.amp.is_autocast_available("cuda"):
        pytest.skip(f"torch {torch.__version__} has no autocast for cuda")
    assert torch._C._dispatch_has_kernel_for_dispatch_key(f"ingot::{name}", "AutocastCUDA")


@pytest.mark.skipif(torch.version.cuda is None, reason=f"torch {torch.__version__} is built without CUDA")
@pytest.mark.parametrize("name", sorted(CASES))
def test_shapes_without_data_stay_on_cuda(name: str) -> None:
    """torch.compile sees CUDA tensors without their data: results must be on their device."""
    from torch._subclasses import FakeTensorMode

    arguments, expected = CASES[name](torch.float32)
    with FakeTensorMode() as mode:
        def fake(value: Any, device: str) -> Any:
            if isinstance(value, torch.Tensor):
                return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)
            return [fake(item, device) for item in value] if isinstance(value, list) else value

        inputs = [fake(value, "cpu" if index in ON_HOST.get(name, ()) else "cuda")
                  for index, value in enumerate(arguments)]
        results = call(name, inputs)
    assert mode is not None and len(results) == len(expected)
    for result, wanted in zip(results, expected):
        if isinstance(result, torch.Tensor):
            assert result.device.type == "cuda"
            assert wanted is None or result.shape == wanted.shape


# ---- operators ----


@gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", sorted(CASES))
def test_values(name: str, dtype: torch.dtype) -> None:
    arguments, expected = CASES[name](dtype)
    results = call(name, moved(name, arguments, "cuda"))
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected):
        close(result, wanted, TOLERANCE[dtype] * (4 if name in HARD else 1))


@gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_large_rows(dtype: torch.dtype) -> None:
    x = torch.randn(513, 4096, device="cuda", dtype=dtype)
    weight = torch.randn(4096, device="cuda", dtype=dtype)
    tolerance = TOLERANCE[dtype]
    wide = x.double()
    close(ingot.ops.rms_norm(x, weight), F.rms_norm(wide, (4096,), weight.double(), 1e-6), tolerance)
    close(ingot.ops.softmax(x), wide.softmax(-1), tolerance)
    close(ingot.ops.silu(x.t()), F.silu(wide.t()), tolerance)


@gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_attention_with_scratch_memory(dtype: torch.dtype) -> None:
    """Decoding over a long cache splits it, and its parts are in scratch memory."""
    q = torch.randn(2, 8, 1, 64, device="cuda", dtype=dtype)
    k, v = (torch.randn(2, 2, 5000, 64, device="cuda", dtype=dtype) for _ in range(2))
    wide = [x.float().repeat_interleave(8 // x.shape[1], 1) for x in (q, k, v)]
    close(ingot.ops.attention(q, k, v), F.scaled_dot_product_attention(*wide), TOLERANCE[dtype])


@gpu
def test_gradients() -> None:
    x, weight = torch.randn(64, 256, device="cuda"), torch.randn(256, device="cuda")
    d_out = torch.randn(64, 256, device="cuda")

    def gradients(function: Any) -> list[torch.Tensor]:
        inputs = [x.clone().requires_grad_(), weight.clone().requires_grad_()]
        return list(torch.autograd.grad(function(*inputs), inputs, d_out))

    for mine, other in ((lambda x, w: ingot.ops.rms_norm(x, w), lambda x, w: F.rms_norm(x, (256,), w, 1e-6)),
                        (lambda x, w: ingot.ops.silu(x) * w, lambda x, w: F.silu(x) * w),
                        (lambda x, w: ingot.ops.softmax(x) * w, lambda x, w: x.softmax(-1) * w)):
        for one, wanted in zip(gradients(mine), gradients(other)):
            close(one, wanted, 2e-4)


@gpu
def test_a_model_trains_as_with_torch() -> None:
    def losses(ingots: bool) -> list[float]:
        torch.manual_seed(1)
        norm = ingot.nn.RMSNorm(64) if ingots else torch.nn.RMSNorm(64, eps=1e-6)
        model = torch.nn.Sequential(torch.nn.Linear(32, 64), norm, torch.nn.SiLU(), torch.nn.Linear(64, 8)).cuda()
        optimizer = (ingot.optim.AdamW if ingots else torch.optim.AdamW)(model.parameters(), lr=1e-2)
        x, y = torch.randn(128, 32).cuda(), torch.randn(128, 8).cuda()
        found = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    mine, other = losses(True), losses(False)
    assert mine[-1] < 0.8 * mine[0]
    assert mine == pytest.approx(other, rel=1e-3)


@gpu
def test_autocast() -> None:
    a, b = torch.randn(64, 64, device="cuda"), torch.randn(64, 64, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert ingot.ops.matmul(a, b).dtype == torch.bfloat16
        assert ingot.ops.rms_norm(a.bfloat16()).dtype == torch.float32


# ---- streams ----


@gpu
def test_work_is_on_the_current_stream(kernels: ingot.ShaderLibrary) -> None:
    """A stream that is behind in its work: what is queued on it there is seen in order, with no waiting."""
    side = torch.cuda.Stream()
    x = torch.zeros(1 << 20, device="cuda")
    kernels.slow_fill(x, 0.0, 1)
    kernels.scale(x, ingot.ops.silu(x), 1.0)  # loading code may wait
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)  # about 0.1 s
        kernels.slow_fill(x, 2.0, 1000)
        y = ingot.ops.silu(x)
        kernels.scale(y, y, 3.0)
        done = side.record_event()
    assert not done.query(), "the calls waited for the work"
    torch.cuda.current_stream().wait_event(done)
    expected = 3 * F.silu(torch.tensor(2.0))
    assert torch.allclose(y.cpu(), expected.expand_as(y))


@gpu
def test_operators_do_not_wait() -> None:
    x = torch.randn(1 << 20, device="cuda")
    ingot.ops.silu(x)
    torch.cuda.synchronize()
    torch.cuda._sleep(200_000_000)
    y = x
    for _ in range(10):
        y = ingot.ops.silu(y)
    assert not torch.cuda.current_stream().query(), "the calls waited for the work"
    expected = x.clone()
    for _ in range(10):
        expected = F.silu(expected)
    torch.testing.assert_close(y, expected)


@gpu
def test_scratch_memory_of_two_streams() -> None:
    """Each stream has scratch memory of its own while their work overlaps."""
    q = torch.randn(4, 8, 1, 64, device="cuda")
    k, v = (torch.randn(4, 8, 3000, 64, device="cuda") for _ in range(2))
    expected = F.scaled_dot_product_attention(q, k, v)
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(4)]
    results = []
    for number in range(32):
        with torch.cuda.stream(streams[number % 4]):
            results.append(ingot.ops.attention(q, k, v))
    torch.cuda.synchronize()
    for result in results:
        close(result, expected, 2e-5)


@gpu
def test_a_stream_of_another_library(kernels: ingot.ShaderLibrary) -> None:
    """A stream that the driver made, which torch only knows the address of."""
    driver, native = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    torch.cuda.current_stream().synchronize()
    assert driver.cuStreamCreate(ctypes.byref(native), 1) == 0
    outside = torch.cuda.ExternalStream(native.value)
    x = torch.zeros(1 << 16, device="cuda")
    outside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(outside):
        kernels.slow_fill(x, 2.0, 1000)
        y = ingot.ops.silu(x)
        kernels.scale(y, y, 3.0)
    outside.synchronize()
    expected = 3 * F.silu(torch.tensor(2.0))
    assert torch.allclose(y.cpu(), expected.expand_as(y))
    assert driver.cuStreamDestroy_v2(native) == 0


@gpu
def test_threads_with_streams_of_their_own(kernels: ingot.ShaderLibrary) -> None:
    q = torch.randn(2, 8, 1, 64, device="cuda")
    k, v = (torch.randn(2, 8, 2000, 64, device="cuda") for _ in range(2))
    expected = F.scaled_dot_product_attention(q, k, v)
    torch.cuda.synchronize()

    def work(number: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        results = []
        with torch.cuda.stream(torch.cuda.Stream()):
            for step in range(20):
                filled = torch.empty(1000, device="cuda")
                kernels.slow_fill(filled, float(number), 1)
                kernels.scale(filled, filled, float(step))
                results.append((ingot.ops.attention(q, k, v), filled))
            torch.cuda.current_stream().synchronize()
        return results

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for number, results in enumerate(pool.map(work, range(4))):
            for step, (attended, filled) in enumerate(results):
                close(attended, expected, 2e-5)
                assert filled.eq(float(number * step)).all()


# ---- graphs ----


def captured(function: Any, warm: int = 3) -> torch.cuda.CUDAGraph:
    """The graph of a function, after the usual calls on a side stream."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warm):
            function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph


@gpu
def test_graph_of_operators_and_kernels(kernels: ingot.ShaderLibrary) -> None:
    x, weight = torch.randn(32, 512, device="cuda"), torch.randn(512, device="cuda")
    q, k = torch.randn(1, 4, 1, 64, device="cuda"), torch.randn(1, 4, 4000, 64, device="cuda")
    out, attended = torch.zeros(32, 512, device="cuda"), torch.zeros_like(q)

    def step() -> None:
        y = ingot.ops.softmax(ingot.ops.rms_norm(x, weight))
        kernels.scale(out, y, 2.0)
        attended.copy_(ingot.ops.attention(q, k, k))  # uses scratch memory

    graph = captured(step)
    for seed in range(3):
        torch.manual_seed(seed)
        x.copy_(torch.randn(32, 512))
        q.copy_(torch.randn_like(q))
        out.zero_()
        attended.zero_()
        graph.replay()
        filler = [torch.randn(1 << 20, device="cuda") for _ in range(4)]  # would overwrite memory given back
        close(out, 2 * F.rms_norm(x, (512,), weight, 1e-6).softmax(-1), 2e-5)
        close(attended, F.scaled_dot_product_attention(q, k, k), 2e-5)
        assert len(filler) == 4


@gpu
@pytest.mark.parametrize("name", sorted(CASES))
def test_graph_of_each_operator(name: str) -> None:
    arguments, expected = CASES[name](torch.float32)
    arguments = moved(name, arguments, "cuda")
    tensors = [t for value in arguments for t in (value if isinstance(value, list) else [value])
               if isinstance(t, torch.Tensor)]
    before = [t.clone() for t in tensors]
    results: list[Any] = []

    def step() -> None:
        results[:] = call(name, arguments)

    graph = captured(step, warm=1)
    for tensor, original in zip(tensors, before):
        tensor.copy_(original)
    graph.replay()
    for result, wanted in zip(results, expected):
        close(result, wanted, TOLERANCE[torch.float32] * (4 if name in HARD else 1))


# ---- kernels ----


@gpu
def test_kernels_take_cuda_tensors(kernels: ingot.ShaderLibrary) -> None:
    x = torch.randn(1000, device="cuda")
    y = torch.empty_like(x)
    kernels.scale(y, x, 3.0)
    torch.testing.assert_close(y, 3 * x)
    kernels.scale(y, x, torch.tensor(2.0))  # a 0-dim CPU tensor is a number
    torch.testing.assert_close(y, 2 * x)
    kernels.scale(y, x, torch.tensor(4.0, device="cuda"))  # one on the GPU is memory
    torch.testing.assert_close(y, 4 * x)
    kernels.scale(y[500:], x[500:], 5.0)
    torch.testing.assert_close(y, torch.cat([4 * x[:500], 5 * x[500:]]))


@gpu
def test_kernels_with_bfloat_groups_and_constants(kernels: ingot.ShaderLibrary) -> None:
    y = torch.zeros(100, device="cuda", dtype=torch.bfloat16)
    kernels.add_index(y, 5)
    torch.testing.assert_close(y.float(), torch.arange(5.0, 105.0, device="cuda"))
    x = torch.arange(1000.0, device="cuda")
    sums = torch.zeros(4, device="cuda")
    kernels.group_sums(sums, x, threads=1000, group_size=256)
    torch.testing.assert_close(sums, torch.stack([part.sum() for part in x.split(256)]))
    z = torch.zeros_like(x)
    kernels["raise"].specialize(power=3)(z, x)
    torch.testing.assert_close(z, x**3)
    kernels.reverse_in_group(x, threads=512, group_size=256, threadgroup_memory=1024)
    assert x[:3].tolist() == [255.0, 254.0, 253.0]


@gpu
def test_lists_of_tensors_are_addresses(kernels: ingot.ShaderLibrary) -> None:
    parts = [torch.randn(300, device="cuda") for _ in range(3)]
    y = torch.zeros(300, device="cuda")
    kernels.add_three(y, parts)
    torch.testing.assert_close(y, parts[0] + parts[1] + parts[2])


@gpu
def test_strides_can_be_copied(kernels: ingot.ShaderLibrary) -> None:
    x, y = torch.randn(20, 30, device="cuda"), torch.zeros(30, 20, device="cuda")
    kernels.scale(y.t(), x, 2.0, contiguous="copy")
    torch.testing.assert_close(y.t(), 2 * x)


@gpu
def test_empty_tensors(kernels: ingot.ShaderLibrary) -> None:
    empty = torch.zeros(0, device="cuda")
    kernels.scale(empty, empty, 2.0)
    assert ingot.ops.silu(empty).shape == (0,)
    assert ingot.ops.rms_norm(torch.zeros(0, 8, device="cuda")).is_cuda


@gpu
def test_synchronize_and_wait(kernels: ingot.ShaderLibrary) -> None:
    x = torch.zeros(1 << 16, device="cuda")
    kernels.slow_fill(x, 1.0, 100_000, wait=True)
    assert torch.cuda.current_stream().query()
    kernels.slow_fill(x, 2.0, 100_000)
    ingot.synchronize()
    assert torch.cuda.current_stream().query()
    assert x.eq(2).all()


# ---- errors ----


@gpu
def test_devices_do_not_mix(kernels: ingot.ShaderLibrary) -> None:
    here, there = torch.zeros(8, device="cuda"), torch.zeros(8)
    with pytest.raises(RuntimeError, match='argument 1 "x": the tensor is on device cpu, but .* device cuda:0'):
        kernels.scale(here, there, 1.0)
    with pytest.raises(RuntimeError, match='argument 1 "x": the array is on device cpu, but .* device cuda:0'):
        kernels.scale(here, there.numpy(), 1.0)
    with pytest.raises(RuntimeError, match="is on device cpu, but gate is on cuda:0"):
        torch.ops.ingot.silu_mul(here, there)
    pairs = torch.tensor([[0, 1]], device="cuda")
    caches = [torch.zeros(2, 1, 1, 8, device="cuda") for _ in range(2)]
    with pytest.raises(RuntimeError, match="pairs is on device cuda:0, but its numbers are read by the host"):
        torch.ops.ingot.cache_copy_(*caches, pairs)


@gpu
def test_launches_are_validated(kernels: ingot.ShaderLibrary) -> None:
    x = torch.zeros(8, device="cuda")
    with pytest.raises(ValueError):
        kernels.scale(x, x, 1.0, threads=8, group_size=4096)
    with pytest.raises(RuntimeError):
        kernels.scale(x, x)
    with pytest.raises(RuntimeError, match="factor"):
        kernels.scale(x, x, 1)
    with pytest.raises(RuntimeError):
        torch.ops.ingot.rms_norm(x.double())
