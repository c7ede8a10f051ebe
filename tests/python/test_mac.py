"""The package on a Mac: Python alone, without the extension, whose kernels torch.mps compiles and runs.

Elsewhere a process stands for a Mac: it says that it is one, has no extension, and a torch.mps that notes its calls.
"""
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

REAL = sys.platform == "darwin"
AS_ON_A_MAC = """
import sys, types
sys.platform = "darwin"
sys.modules["ingot._C"] = None
calls = []
torch = types.ModuleType("torch")
def compile_shader(source):
    if "syntax error" in source:
        raise SyntaxError(source)
    return types.SimpleNamespace(scale=lambda *arguments, **options: calls.append((arguments, options)))
torch.mps = types.SimpleNamespace(compile_shader=compile_shader)
torch.backends = types.SimpleNamespace(mps=types.SimpleNamespace(is_available=lambda: True, is_built=lambda: True))
sys.modules["torch"] = torch
import ingot
"""


def on_a_mac(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", AS_ON_A_MAC + code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=os.environ, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_package_comes_without_the_extension() -> None:
    assert on_a_mac("print(ingot.__version__ != '', hasattr(ingot, 'Kernel'))").split() == ["True", "False"]


def test_kernels_go_to_torch() -> None:
    said = on_a_mac("""
library = ingot.compile_shader("kernel void scale(device float *x, constant float &by) { x[0] *= by; }")
library.scale("x", 2.0, threads=4, wait=False)
print(calls)
""")
    assert said.strip() == "[(('x', 2.0), {'threads': 4})]"


def test_errors_are_torchs() -> None:
    assert on_a_mac("""
try:
    ingot.compile_shader("a syntax error")
except SyntaxError as error:
    print(error)
""").strip() == "a syntax error"


def test_mps_is_not_emulated() -> None:
    assert on_a_mac("import ingot.mps; ingot.mps.enable(); print(ingot.mps.is_enabled())").strip() == "False"


def test_the_wheel_has_python_alone(repository: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """What `pip install .` builds on a Mac: every Python file of the package, and nothing that was compiled."""
    pytest.importorskip("scikit_build_core", reason="building a wheel needs scikit-build-core")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("INGOT", "PYTHON", "PYTEST"))}
    done = subprocess.run([sys.executable, "-m", "pip", "wheel", repository, "--no-build-isolation", "--no-deps",
                           "--no-index", "--disable-pip-version-check", "-w", tmp_path,
                           "--config-settings", f"build-dir={tmp_path / 'build'}",
                           "--config-settings", "cmake.define.INGOT_ONLY_PYTHON=ON"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, env=clean)
    assert done.returncode == 0, done.stdout
    (wheel,) = tmp_path.glob("ingot-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {str(path.relative_to(repository / "python")) for path in (repository / "python/ingot").rglob("*.py")}
    assert sources <= names
    assert not [name for name in names if name.endswith((".so", ".dylib", ".a")) or "/bin/" in name]


@pytest.mark.skipif(not REAL, reason="this machine is no Mac")
def test_a_kernel_runs_on_the_gpu() -> None:
    torch = pytest.importorskip("torch")
    if not torch.backends.mps.is_available():
        pytest.skip("torch finds no mps device")
    import ingot

    source = "kernel void twice(device float *x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }"
    library = ingot.compile_shader(source)
    x = torch.arange(8.0, device="mps")
    library.twice(x)
    assert x.tolist() == [2.0 * i for i in range(8)]
