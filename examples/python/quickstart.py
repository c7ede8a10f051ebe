"""Quick start: two Metal kernels, called from Python on torch tensors.

On Linux ingot compiles the kernels for the CPU and runs them on the tensors' own memory. On a Mac the tensors
are on "mps" and the same calls go to torch.mps.compile_shader.

    python examples/python/quickstart.py
"""
import torch

import ingot

device = "mps" if torch.backends.mps.is_available() else "cpu"

SOURCE = """
#include <metal_stdlib>
using namespace metal;

kernel void fill(device float *out, constant float &value, uint i [[thread_position_in_grid]]) {
    out[i] = value;
}

kernel void axpy(device float *y, device const float *x, constant float &alpha, uint i [[thread_position_in_grid]]) {
    y[i] += alpha * x[i];
}
"""

library = ingot.compile_shader(SOURCE)
print("kernels:", ", ".join(name for name in dir(library) if not name.startswith("_")))

# Arguments go to buffers 0, 1, 2 … in order. Without `threads` there is one thread for each element of the
# first tensor; the last threadgroup may be partial, so 1000 elements are fine.
y = torch.empty(1000, device=device)
library.fill(y, 3.0)

x = torch.arange(1000, dtype=torch.float32, device=device)
library.axpy(y, x, 0.5)
torch.testing.assert_close(y, 3.0 + 0.5 * x)
print("fill, then axpy:", y[:4].tolist(), "…")

# The group size is the kernel's affair, or yours; the result here is the same with each.
for group in (1, 32, 100, library.axpy.max_threads_per_threadgroup):
    library.fill(y, 0.0, group_size=group)
    library.axpy(y, x, -1.0, group_size=group)
    torch.testing.assert_close(y, -x)
print("and the same with groups of 1, 32, 100 and", library.axpy.max_threads_per_threadgroup, "threads")

# Errors are Python exceptions, with the place in the Metal source.
try:
    ingot.compile_shader("kernel void broken(device float *x) { x[0] = y; }")
    raise SystemExit("a kernel that uses an undeclared name compiled")
except SyntaxError as error:
    print("a mistake in a kernel:", str(error).strip().splitlines()[0])
