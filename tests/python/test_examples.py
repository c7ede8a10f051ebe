"""Every script of examples/python runs to its end; each checks its own results."""
import os
import pathlib
import subprocess
import sys

import forked_python
import pytest

pytest.importorskip("torch")
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"
MODULES = {"small_model.py"}  # imported by the others
ARGUMENTS = {"train_transformer.py": ["200"]}  # the fewest steps with which it checks all that it checks
IN_A_NEW_PROCESS = {"quickstart.py"}  # which imports torch itself, as a user's does
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if path.name not in MODULES)


def test_there_is_one_for_each_start() -> None:
    assert {"quickstart.py", "silu_autotune.py", "rms_norm.py", "layer_norm.py", "softmax.py", "attention.py",
            "rope.py", "matvec_4bit.py", "simdgroup_matmul.py", "benchmark.py", "train_transformer.py",
            "distributed.py"} <= set(SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS)
def test_example(script: str, tmp_path: pathlib.Path) -> None:
    arguments = [FOLDER / script, *ARGUMENTS.get(script, [])]
    if script in IN_A_NEW_PROCESS:
        done = subprocess.run([sys.executable, *arguments], cwd=tmp_path, env=os.environ, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    else:
        done = forked_python.run(arguments, cwd=tmp_path)
    assert done.returncode == 0, f"{script} failed:\n{done.stdout}\n{done.stderr}"
    assert done.stdout.strip(), f"{script} printed nothing"


ON_MPS = ("quickstart.py", "rms_norm.py", "layer_norm.py", "softmax.py", "attention.py", "rope.py", "matvec_4bit.py",
          "simdgroup_matmul.py")


def test_examples_take_their_mps_path(tmp_path: pathlib.Path) -> None:
    """As on a Mac: the scripts find an mps device, here the emulated one, in one process."""
    code = f"""
import runpy, sys
import ingot.mps
ingot.mps.enable()
for script in {ON_MPS!r}:
    result = runpy.run_path(f"{FOLDER}/{{script}}", run_name="__main__")
    assert result["device"] == "mps", script
"""
    done = forked_python.run(["-c", code], cwd=tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
