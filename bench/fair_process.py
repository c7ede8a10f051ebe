"""Settings of a process in which torch and ingot are compared; they are read when the libraries are loaded.

malloc keeps memory, so that fresh pages are not measured, and the threads of torch's OpenMP wait actively for
microseconds only. By default they do so for milliseconds after each operation, and have then taken the core that
ingot's worker needs; torch itself is as fast with either.
"""
import importlib.util
import os
import pathlib
import sys

MALLOC = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(256 << 20)}
ENVIRONMENT = {**MALLOC, "GOMP_SPINCOUNT": "2000"}


def start_fairly(threads: int) -> None:
    """Starts the program again with the settings that are missing. To be called before torch and ingot come."""
    if any(name not in os.environ for name in ENVIRONMENT):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**ENVIRONMENT, **os.environ})
    os.environ.setdefault("INGOT_THREADS", str(threads))
    settle_torch()


def settle_torch() -> None:
    """Where AMX kills torch's bfloat16 matmul, it goes without: see python/ingot/_onednn.py. The package itself may be
    missing where a benchmark runs build/bin/ingot, so the module is loaded by its path."""
    path = pathlib.Path(__file__).resolve().parents[1] / "python" / "ingot" / "_onednn.py"
    spec = importlib.util.spec_from_file_location("ingot_onednn", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.settle()
