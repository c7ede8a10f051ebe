"""Thousands of calls with wrong arguments neither crash the interpreter nor give results of another shape."""
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch")


@pytest.mark.parametrize("seed", [1, 2])
def test_random_calls(seed: int) -> None:
    program = pathlib.Path(__file__).with_name("random_calls.py")
    result = subprocess.run([sys.executable, str(program), "--seed", str(seed), "--calls", "3000"],
                            capture_output=True, text=True, timeout=120, env=os.environ)
    assert result.returncode == 0, f"seed {seed}, status {result.returncode}\n{result.stdout}\n{result.stderr[-4000:]}"
