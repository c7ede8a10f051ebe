"""A pointwise kernel, and a search for its best launch: SiLU with a few group sizes and elements per thread.

Two things to know before believing such a search: the first call of a kernel compiles, so it does not count,
and candidates are measured in turns, so that a noisy second hurts all of them alike.

    python examples/python/silu_autotune.py
"""
import itertools
import time

import torch

import ingot

device = "mps" if torch.backends.mps.is_available() else "cpu"
synchronize = torch.mps.synchronize if device == "mps" else ingot.synchronize

# PER_THREAD is a macro: one library for each value, as constants in the source make unrolled loops.
SOURCE = """
#include <metal_stdlib>
using namespace metal;

kernel void silu(device const float *x, device float *y, constant long &count, uint i [[thread_position_in_grid]]) {
    long first = long(i) * PER_THREAD;
    for (int k = 0; k < PER_THREAD; k++) {
        long at = first + k;
        if (at < count) {
            float v = x[at];
            y[at] = v / (1.0f + exp(-v));
        }
    }
}
"""


def make(per_thread: int, group: int):
    """A function of (x, y) that runs one candidate."""
    kernel = ingot.compile_shader(f"#define PER_THREAD {per_thread}\n{SOURCE}").silu

    def run(x: torch.Tensor, y: torch.Tensor) -> None:
        threads = -(-x.numel() // per_thread)
        kernel(x, y, x.numel(), threads=threads, group_size=min(group, threads))

    return run


def autotune(candidates: dict, x: torch.Tensor, y: torch.Tensor, rounds: int = 7) -> dict:
    """The best time of each candidate, measured in turns."""
    best = dict.fromkeys(candidates, float("inf"))
    for _, (name, run) in itertools.product(range(rounds), candidates.items()):
        synchronize()
        start = time.perf_counter()
        run(x, y)
        synchronize()
        best[name] = min(best[name], time.perf_counter() - start)
    return best


x = torch.randn(1 << 20, device=device)
y = torch.empty_like(x)
expected = torch.nn.functional.silu(x)
candidates = {(per_thread, group): make(per_thread, group) for per_thread in (1, 4) for group in (32, 256, 1024)}
for name, run in candidates.items():
    y.zero_()
    run(x, y)  # compiles, and is checked: a fast candidate that is wrong is of no use
    torch.testing.assert_close(y, expected, msg=lambda text: f"candidate {name}: {text}")

best = autotune(candidates, x, y)
for (per_thread, group), seconds in sorted(best.items(), key=lambda item: item[1]):
    rate = x.nbytes * 2 / seconds / 1e9
    print(f"{per_thread} per thread, groups of {group:4}: {seconds * 1e6:7.1f} µs, {rate:5.1f} GB/s")
print("best:", min(best, key=best.get))

if device == "cpu":
    torch.testing.assert_close(ingot.ops.silu(x), expected)
    print("ingot.ops.silu, which comes tuned, agrees")
