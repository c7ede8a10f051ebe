"""A benchmark that does not fool its reader: ingot's operators against torch's, measured in turns.

What it takes care of: results are compared before times are; the first calls, which compile and fault pages
in, do not count; both sides run in turns, so that a busy second hurts both; the median of many samples is
shown with the spread around it; and the share of memory bandwidth says what is left to gain.

    python examples/python/benchmark.py
"""
import statistics
import time

import torch
import torch.nn.functional as F

import ingot

device = "mps" if torch.backends.mps.is_available() else "cpu"
synchronize = torch.mps.synchronize if device == "mps" else (lambda: None)  # calls on CPU tensors wait

AXPY = ingot.compile_shader("""
kernel void axpy(device float *y, device const float *x, constant float &alpha, uint i [[thread_position_in_grid]]) {
    y[i] += alpha * x[i];
}
""").axpy


def sample(function, repeats: int) -> float:
    """Seconds for one of `repeats` calls."""
    synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        function()
    synchronize()
    return (time.perf_counter() - start) / repeats


def compare(name: str, torch_call, ingot_call, moved: int, rounds: int = 15) -> None:
    """Measures two functions in turns and prints a row."""
    torch.testing.assert_close(ingot_call(), torch_call(), rtol=1e-4, atol=1e-4)
    calls = (torch_call, ingot_call)
    repeats = max(1, int(2e-3 / max(sample(torch_call, 3), 1e-7)))  # samples of two milliseconds or more
    samples = ([], [])
    for turn in range(rounds):
        for side in ((0, 1) if turn % 2 else (1, 0)):
            samples[side].append(sample(calls[side], repeats))
    middle = [statistics.median(side) for side in samples]
    spread = [(max(side) - min(side)) / median for side, median in zip(samples, middle)]
    print(f"{name:28} torch {middle[0] * 1e6:8.1f} µs ±{spread[0] / 2:4.0%}   "
          f"ingot {middle[1] * 1e6:8.1f} µs ±{spread[1] / 2:4.0%}   "
          f"{middle[0] / middle[1]:5.2f}×   {moved / middle[1] / 1e9:5.1f} GB/s")


torch.manual_seed(0)
x, y = torch.randn(1 << 20, device=device), torch.zeros(1 << 20, device=device)
z = torch.zeros_like(y)


def torch_axpy() -> torch.Tensor:
    """y += 0 x: the same work each time, and a result that can be compared."""
    return y.add_(x, alpha=0.0)


def ingot_axpy() -> torch.Tensor:
    """The same by the kernel above."""
    AXPY(z, x, 0.0)
    return z


print(f"{device}, {torch.get_num_threads()} threads, torch {torch.__version__}")
compare("axpy, own kernel, 1M", torch_axpy, ingot_axpy, 3 * x.nbytes)
if device == "cpu":
    rows, weight = torch.randn(1024, 1024), torch.rand(1024)
    compare("silu, 1M", lambda: F.silu(x), lambda: ingot.ops.silu(x), 2 * x.nbytes)
    compare("rms_norm, 1024×1024", lambda: F.rms_norm(rows, (1024,), weight, 1e-6),
            lambda: ingot.ops.rms_norm(rows, weight, eps=1e-6), 2 * rows.nbytes)
    compare("softmax, 1024×1024", lambda: F.softmax(rows, -1), lambda: ingot.ops.softmax(rows), 2 * rows.nbytes)
    small = torch.randn(16)
    compare("silu of 16: the call's cost", lambda: F.silu(small), lambda: ingot.ops.silu(small), 2 * small.nbytes)
