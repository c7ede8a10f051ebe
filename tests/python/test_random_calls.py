"""Thousands of calls with wrong arguments neither crash the interpreter nor give results of another shape."""
import pathlib

import forked_python
import pytest

pytest.importorskip("torch")


@pytest.mark.parametrize("seed", [1, 2])
def test_random_calls(seed: int) -> None:
    program = pathlib.Path(__file__).with_name("random_calls.py")
    result = forked_python.run([program, "--seed", seed, "--calls", 3000], timeout=120)
    assert result.returncode == 0, f"seed {seed}, status {result.returncode}\n{result.stdout}\n{result.stderr[-4000:]}"
