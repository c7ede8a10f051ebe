"""MLX's kernels as Apple's compiler made them, against NumPy: compiled_cases.py and compiled_more_cases.py have the
launches.

The library is not part of the project. INGOT_MLX_METALLIB names mlx.metallib of a wheel of mlx-metal for macOS;
INGOT_COMPILED_CASES=N runs every Nth case (10).
"""

import os
import subprocess

import numpy as np
import pytest

import compiled_cases
import compiled_more_cases

LIBRARY = os.environ.get("INGOT_MLX_METALLIB", "")
EVERY = int(os.environ.get("INGOT_COMPILED_CASES", "10"))
INGOT = os.path.join(os.environ.get("INGOT_BUILD", "build"), "bin", "ingot")
SHORT = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "bool_": "bool"}


def chosen():
    if not LIBRARY:
        return []
    names = subprocess.run(
        [INGOT, "inspect", LIBRARY, "--names"], capture_output=True, text=True, check=True
    ).stdout.split()
    families = compiled_cases.FAMILIES + compiled_more_cases.FAMILIES
    return [case for family in families for case in family(names)][::EVERY]


def test_a_wrong_value_is_noticed():
    out = compiled_cases.Out("float32", np.array([1.0, 2.0, 3.0]), 1e-6)
    assert not out.differs(np.array([1, 2, 3], "f4"))
    assert "1 of 3 values differ, the first at [1]" in out.differs(np.array([1, 2.5, 3], "f4"))
    assert "got nan" in out.differs(np.array([1, np.nan, 3], "f4"))
    raw = compiled_cases.encode("bfloat16", np.array([1.0, 1.00390625, -3.0]))
    assert compiled_cases.decode("bfloat16", raw).tolist() == [1.0, 1.0, -3.0]


@pytest.mark.skipif(not LIBRARY, reason="INGOT_MLX_METALLIB does not name a library")
@pytest.mark.parametrize("case", chosen(), ids=lambda case: case.kernel)
def test_compiled_kernel(case, tmp_path):
    arguments, outputs = [], []
    for at, argument in enumerate(case.arguments):
        path = tmp_path / f"{at}.npy"
        if isinstance(argument, compiled_cases.Out):
            name = SHORT.get(argument.type) or argument.type.replace("uint", "u").replace("int", "i")
            arguments.append(f"{name}[{np.asarray(argument.expected).size}]={path}")
            outputs.append((path, argument))
        elif isinstance(argument, str):
            arguments.append(argument)
        else:
            np.save(path, argument)
            arguments.append(str(path))
    constants = [word for name, value in case.constants.items() for word in ("--const", f"{name}={str(value).lower()}")]
    command = [INGOT, "run", "--quiet", LIBRARY, case.kernel, *case.grid, *constants, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert not ran.returncode, ran.stderr
    assert outputs
    for path, output in outputs:
        assert not output.differs(np.load(path)), output.differs(np.load(path))
