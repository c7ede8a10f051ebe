"""What all tests of the Python package share: where the build is, and random numbers that repeat.

The tests run against the package that is importable: `make test` puts build/python on PYTHONPATH, and names the
build folder by INGOT_BUILD and the compiler by INGOTC.
"""
import os
import pathlib
import random
import sys
from collections.abc import Callable

import pytest

from ingot import _onednn

TORCH_IS_LIMITED = _onednn.settle()  # before a test file imports torch, or starts a process that does
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LONGEST = ("test_wheel.py", "test_examples.py", "test_compile.py", "test_mps.py", "test_guides.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--share FOLDER`: several processes, each with this option, run every file once between them."""
    parser.addoption("--share", metavar="FOLDER", type=pathlib.Path,
                     help="leave out files that another process with the same (at first empty) FOLDER has begun")
    parser.addoption("--shard", metavar="I/N", default="1/1", help="only every Nth file, from the Ith on")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The files of this shard. Those that take longest come first, so that no process is left with one at the end."""
    shard, shards = (int(number) for number in config.getoption("--shard").split("/"))
    files = sorted({item.path for item in items})
    others = [item for item in items if files.index(item.path) % shards != shard - 1]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]
    if config.getoption("--share"):
        items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Shared files: who makes the mark of a file runs it. True says that nothing is left to do for the test."""
    folder = item.config.getoption("--share")
    if not folder:
        return None
    mark = folder / item.path.name
    try:
        with mark.open("x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return None if mark.read_text() == str(os.getpid()) else True
    return None


def pytest_report_header() -> list[str]:
    """Which ingot, torch and NumPy are tested."""
    import numpy

    import ingot

    where = os.path.dirname(getattr(ingot, "_C", ingot).__file__)  # on a Mac there is no extension
    lines = [f"ingot {ingot.__version__} ({where}), NumPy {numpy.__version__}"]
    try:
        import torch

        lines.append(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    except ImportError:
        lines.append("no torch: tests that need it are skipped")
    return lines + ([TORCH_IS_LIMITED] if TORCH_IS_LIMITED else [])


@pytest.fixture(scope="session")
def repository() -> pathlib.Path:
    """The checkout that these tests are part of."""
    return REPOSITORY


@pytest.fixture(scope="session")
def build_folder() -> pathlib.Path:
    """The build folder whose package is tested; skips where an installed one is."""
    import ingot

    named = os.environ.get("INGOT_BUILD")
    folder = pathlib.Path(named) if named else pathlib.Path(ingot._C.__file__).resolve().parents[2]
    if not (folder / "CMakeCache.txt").exists():
        pytest.skip(f"{folder} is no build folder: the package is installed, not built here")
    return folder


@pytest.fixture(scope="session")
def compiled_library(build_folder) -> Callable[[str], pathlib.Path]:
    """The path of a library of tests/air, which the build has made as Apple's compiler would."""

    def find(name: str) -> pathlib.Path:
        path = build_folder / "air" / f"{name}.metallib"
        if not path.exists():
            pytest.skip(f"{path} is not built")
        return path

    return find


@pytest.fixture(autouse=True)
def repeatable() -> None:
    """Every test starts with the same random numbers, whatever ran before it."""
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
