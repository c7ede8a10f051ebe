"""MLX's kernels against NumPy, as Apple's compiler made them and from source, and PyTorch's against torch.
compiled_cases.py and the files beside it have the launches.

None of them is part of the project. INGOT_MLX_METALLIB names mlx.metallib of a wheel of mlx-metal for macOS,
INGOT_MLX_SOURCE a checkout of MLX, whose kernels on Metal 4's tensors (*_nax.metal) are run, INGOT_TORCH_DYLIB
libtorch_cpu.dylib of a wheel of torch for macOS; INGOT_COMPILED_CASES=N runs every Nth case (10).
"""

import os
import pathlib
import subprocess
from functools import cache

import numpy as np
import pytest

import compiled_cases
import compiled_gather_cases
import compiled_more_cases
import compiled_torch_cases
import ingot
from compiled_launch import launch

LIBRARY = os.environ.get("INGOT_MLX_METALLIB", "")
SOURCE = os.environ.get("INGOT_MLX_SOURCE", "")
DYLIB = os.environ.get("INGOT_TORCH_DYLIB", "")
EVERY = int(os.environ.get("INGOT_COMPILED_CASES", "10"))
INGOT = os.path.join(os.environ.get("INGOT_BUILD", "build"), "bin", "ingot")
FAMILIES = compiled_cases.FAMILIES + compiled_more_cases.FAMILIES + compiled_gather_cases.FAMILIES


def files():
    sources = sorted(pathlib.Path(SOURCE, "mlx").rglob("*_nax.metal")) if SOURCE else []
    return [path for path in (LIBRARY, DYLIB) if path] + [str(path) for path in sources]


@cache
def library_of(path):
    if path in (LIBRARY, DYLIB):
        return ingot.load_metallib(path)
    return ingot.compile_shader(pathlib.Path(path).read_text(), name=path, include_dirs=[SOURCE], msl_version="4.0")


def chosen():
    cases = []
    for path in files():
        options = [] if path in (LIBRARY, DYLIB) else ["-I", SOURCE, "--msl-version", "4.0"]
        command = [INGOT, "inspect", path, "--names", *options]
        names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        families = compiled_torch_cases.FAMILIES if path == DYLIB else FAMILIES
        cases += [(path, case) for family in families for case in family(sorted(set(names)))]
    return cases[::EVERY]


def test_a_wrong_value_is_noticed():
    out = compiled_cases.Out("float32", np.array([1.0, 2.0, 3.0]), 1e-6)
    assert not out.differs(np.array([1, 2, 3], "f4"))
    assert "1 of 3 values differ, the first at [1]" in out.differs(np.array([1, 2.5, 3], "f4"))
    assert "got nan" in out.differs(np.array([1, np.nan, 3], "f4"))
    raw = compiled_cases.encode("bfloat16", np.array([1.0, 1.00390625, -3.0]))
    assert compiled_cases.decode("bfloat16", raw).tolist() == [1.0, 1.0, -3.0]


@pytest.mark.skipif(not files(), reason="no library and no source is named")
@pytest.mark.parametrize(("path", "case"), chosen(), ids=lambda part: getattr(part, "kernel", None))
def test_compiled_kernel(path, case):
    assert not launch(library_of(path), case)
