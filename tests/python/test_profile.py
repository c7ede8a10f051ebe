"""`ingot profile -- python3 …`: kernels of compile_shader, and an operator on torch's tensors, by name and line."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

BUILD = os.environ.get("INGOT_BUILD")
PROGRAM = """
import numpy
import torch

import ingot

library = ingot.compile_shader('''#include <metal_stdlib>
kernel void scatter(device float *out, device const float *in, uint i [[thread_position_in_grid]]) {
    out[i * 32] = in[i];
}
''')
out, x = numpy.zeros(32 * 1024, numpy.float32), numpy.ones(1024, numpy.float32)
library.scatter(out, x, threads=1024)
assert out.sum() == 1024
weight = torch.ones(64)
for _ in range(3):
    ingot.ops.rms_norm(torch.ones(8, 64), weight)
print("the program's own line")
"""


@pytest.mark.skipif(not BUILD, reason="INGOT_BUILD, which names the build folder, is not set")
def test_program() -> None:
    command = pathlib.Path(BUILD) / "bin" / "ingot"
    done = subprocess.run([command, "profile", "--json", "--no-ceilings", "--", sys.executable, "-c", PROGRAM],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "the program's own line" in done.stderr
    kernels = {kernel["name"]: kernel for kernel in json.loads(done.stdout)["kernels"]}
    scatter = kernels["scatter"]
    assert scatter["launches"] == 1 and scatter["launch"]["bytes_written"] == 4096
    [line] = [line for line in scatter["lines"] if "out[i * 32]" in line["text"]]
    assert line["executed"] == 32 and line["device_accesses"] == 64
    assert any("touches 32 lines of cache to store 128 bytes" in hint["text"] for hint in scatter["hints"])
    [norm] = [kernel for name, kernel in kernels.items() if name.startswith("rms_norm")]
    assert norm["launches"] == norm["counted_launches"] == 3
    assert norm["launch"]["bytes_written"] == 8 * 64 * 4 and norm["launch"]["flops"] > 8 * 64 * 3
