"""The wheel: built from the checkout, installed into an empty virtual environment, used from another folder.

tests/packages/in_roots.sh tries it in systems of their own.
"""
import importlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest

pytest.importorskip("scikit_build_core", reason="building a wheel needs scikit-build-core")


def run(command: list, **options) -> subprocess.CompletedProcess:
    """Runs a command; its output is the message when it fails."""
    done = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=900, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done


def clean_environment(**more: str) -> dict[str, str]:
    """The environment without what leads to the build folder."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("INGOT", "PYTHON", "PYTEST"))}
    return {**kept, **more}


@pytest.fixture(scope="module")
def wheel(repository: pathlib.Path, build_folder: pathlib.Path,
          tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A wheel of this checkout; the kernel archives are those that the build has made.

    Not optimised, to build it sooner: what is in the wheel counts here, not how fast it is.
    """
    target = tmp_path_factory.mktemp("dist")
    settings = ["--config-settings", f"build-dir={build_folder / 'wheel'}",
                "--config-settings", "cmake.define.INGOT_PORTABLE=ON",
                "--config-settings", "cmake.define.CMAKE_C_FLAGS_RELWITHDEBINFO=-O0 -DNDEBUG"]
    archives = [folder / "kernels" for folder in (build_folder, repository / "build")
                if (folder / "kernels" / "axpy.ingot").exists()]
    if archives:
        settings += ["--config-settings", f"cmake.define.INGOT_KERNEL_ARCHIVES={archives[0]}"]
    run([sys.executable, "-m", "pip", "wheel", repository, "--no-build-isolation", "--no-deps", "--no-index",
         "--disable-pip-version-check", "-w", target, *settings], env=clean_environment())
    (made,) = target.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """An environment with NumPy and the wheel, and nothing else; NumPy is linked, not downloaded."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=True, symlinks=True)
    packages = site_packages(folder)
    for entry in pathlib.Path(sysconfig.get_path("purelib")).glob("numpy*"):
        (packages / entry.name).symlink_to(entry)
    run([folder / "bin/python", "-m", "pip", "install", "--no-index", "--disable-pip-version-check", wheel],
        env=clean_environment())
    return folder


def site_packages(environment: pathlib.Path) -> pathlib.Path:
    """Where the packages of a virtual environment are."""
    (found,) = environment.glob("lib/python*/site-packages")
    return found


def python(environment: pathlib.Path, folder: pathlib.Path, code: str, **more: str) -> str:
    """Runs code in the environment, from a folder of its own and with an empty kernel cache."""
    command = [environment / "bin/python", "-c", code]
    return run(command, cwd=folder, env=clean_environment(INGOT_CACHE_DIR=str(folder / "cache"), **more)).stdout


def test_a_build_says_on_the_terminal_how_far_it_is(repository: pathlib.Path, tmp_path: pathlib.Path,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    """`pip install .` keeps what a build writes to itself; the build back end shows steps beside it."""
    monkeypatch.syspath_prepend(str(repository / "tools/build_backend"))
    backend = importlib.import_module("ingot_build")
    monkeypatch.setattr(backend, "SECONDS_BETWEEN_LINES", 0.0)
    said = b"-- ingot: 29 archives of kernels are taken\n-- other\n[1/2] Building C object a.o\nnoise\n[2/2] Linking\n"
    source, sink = os.pipe()
    os.write(sink, said)
    os.close(sink)
    with open(tmp_path / "terminal", "w+b", buffering=0) as terminal, open(tmp_path / "copy", "w+b") as copy:
        backend.Progress(source, copy.fileno(), terminal).run()
    os.close(source)
    assert (tmp_path / "copy").read_bytes() == said
    assert (tmp_path / "terminal").read_text().split("\n  ")[1:] == [
        "ingot: 29 archives of kernels are taken\n", "ingot: step 1/2, Building C object a.o\n",
        "ingot: step 2/2, Linking\n"]


def test_wheel_is_for_every_python_from_3_10_on(wheel: pathlib.Path) -> None:
    assert re.fullmatch(r"ingot-[0-9.]+-py3-none-\w+\.whl", wheel.name), wheel.name


def test_wheel_carries_library_compiler_prelude_and_headers(wheel: pathlib.Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    wanted = {"ingot/_C.so", "ingot/__init__.py", "ingot/lib/libingot.so", "ingot/bin/ingotc", "ingot/bin/ingot",
              "ingot/share/ingot/prelude/metal_stdlib", "ingot/include/ingot/ingot.h", "ingot/include/ingot/ops.h",
              "ingot/_operations/__init__.py", "ingot/_operations/exported_ops.py", "ingot/_operations/adamw_optim.py"}
    assert wanted <= names, f"missing: {wanted - names}"
    stray = [name for name in names
             if name.endswith((".a", ".pyc", ".cmake", ".pc", "_bench.py")) or "tests/" in name or "kernels/" in name]
    assert not stray


def needs(file: pathlib.Path) -> tuple[set[str], dict[str, tuple[int, int]]]:
    """The libraries that a program or library needs, and symbols with the glibc that they need."""
    listed = run(["readelf", "--wide", "--dynamic", "--dyn-syms", file]).stdout
    libraries = set(re.findall(r"\(NEEDED\).*\[(.*)\]", listed))
    symbols = re.findall(r" UND (\w+)@GLIBC_(\d+)\.(\d+)", listed)
    return libraries, {name: (int(major), int(minor)) for name, major, minor in symbols}


@pytest.fixture(scope="module")
def unpacked(wheel: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder / "ingot"


def programs_and_libraries(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*")
             if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"}
    assert {"_C.so", "lib/libingot.so", "bin/ingot", "bin/ingotc", "bin/ingot-cuda-worker"} <= found.keys()
    return found


def bundles_clang(folder: pathlib.Path) -> bool:
    return "clang and lld included" in run([make_executable(folder / "bin/ingotc"), "--version"]).stdout


def make_executable(path: pathlib.Path) -> pathlib.Path:
    path.chmod(0o755)  # zipfile does not
    return path


def test_what_is_in_it_needs_nothing_but_glibc_2_27(unpacked: pathlib.Path) -> None:
    if not bundles_clang(unpacked):
        pytest.skip("LLVM's static libraries are not installed, so that ingotc needs libLLVM.so")
    system = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libgcc_s.so.1"}
    for name, path in programs_and_libraries(unpacked).items():
        libraries, symbols = needs(path)
        strange = {library for library in libraries - system if not library.startswith("ld-linux")}
        assert strange == ({"libingot.so"} if name in ("_C.so", "bin/ingot") else set()), (name, strange)
        new = {symbol: version for symbol, version in symbols.items() if version > (2, 27)}
        assert not new, f"{name} needs {new}: cmake/old_glibc/versions.h may ask for older versions"
    assert needs(unpacked / "bin/ingotc") == (set(), {})
    assert "libgcc_s.so.1" not in needs(unpacked / "lib/libingot.so")[0]


def test_no_folder_of_the_build_is_in_it(unpacked: pathlib.Path, repository: pathlib.Path) -> None:
    for name, path in programs_and_libraries(unpacked).items():
        found = set(re.findall(re.escape(os.fsencode(repository)) + rb"[\w./-]*", path.read_bytes()))
        assert not found, f"{name}: {sorted(found)[:5]}"


def test_it_is_at_most_150_mb(unpacked: pathlib.Path) -> None:
    assert sum(path.stat().st_size for path in unpacked.rglob("*") if path.is_file()) <= 150e6


def test_it_compiles_where_no_llvm_is(unpacked: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """In a root of its own, which has the C library, the wheel's files and nothing else."""
    if not bundles_clang(unpacked):
        pytest.skip("LLVM's static libraries are not installed, so that ingotc needs libLLVM.so")
    enter = ["unshare", "--mount", "--net", "--map-root-user"]
    if subprocess.run([*enter, "true"], capture_output=True).returncode:
        pytest.skip("no namespaces for users here")
    root = tmp_path / "root"
    libraries = run(["ldd", make_executable(unpacked / "bin/ingot")]).stdout
    for path in {pathlib.Path(found) for found in re.findall(r"(/\S*lib\S*/\S+) \(0x", libraries)
                 if not found.startswith(str(unpacked))}:
        copy = root / path.relative_to("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
        copy.chmod(0o755)
    for folder in ("proc", "dev", "tmp", "ingot"):
        (root / folder).mkdir()
    (root / "dev/null").touch()
    (root / "tmp/k.metal").write_text(
        "#include <metal_stdlib>\n"
        "kernel void k(device float *x, uint i [[thread_position_in_grid]]) { x[i] = metal::sin(x[i]) + i; }")
    done = run([*enter, "sh", "-euc", f"""
mount --rbind /proc '{root}/proc'
mount --bind /dev/null '{root}/dev/null'
mount --bind '{unpacked}' '{root}/ingot'
PATH=$PATH:/usr/sbin:/sbin
exec env -i HOME=/tmp "$(command -v chroot)" '{root}' /ingot/bin/ingot run /tmp/k.metal k --threads 4 'f32[4]'
"""])
    assert "= 0 1 2 3" in done.stdout, done.stdout


SMOKE = """
import sys
import numpy
import ingot
assert "torch" not in sys.modules
x = numpy.arange(10, dtype=numpy.float32)
library = ingot.compile_shader('''
#include <metal_stdlib>
kernel void twice(device float *x, uint i [[thread_position_in_grid]]) { x[i] = metal::fma(x[i], 2.0f, 1.0f); }
''')
library.twice(x)
assert (x == numpy.arange(10) * 2 + 1).all(), x
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "libingot" in line}
assert all(path.startswith(sys.prefix) for path in loaded) and loaded, loaded
print("smoke: ok", ingot.__version__)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="the loaded libraries are read from /proc")
def test_smoke_in_an_empty_environment_with_numpy_only(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert "smoke: ok" in python(installed, tmp_path, SMOKE)
    with pytest.raises(AssertionError, match="No module named 'torch'"):
        python(installed, tmp_path, "import torch")


def run_by_threads(wheel: pathlib.Path, repository: pathlib.Path, interpreter: str, folder: pathlib.Path) -> str:
    """Installs the wheel alone into a new environment of that Python, and has many threads use it there."""
    environment = clean_environment(INGOT_CACHE_DIR=str(folder / "cache"))
    run([interpreter, "-m", "venv", folder / "environment"], env=environment)
    run([folder / "environment/bin/python", "-m", "pip", "install", "--no-index", "--no-deps",
         "--disable-pip-version-check", wheel], env=environment)
    return run([folder / "environment/bin/python", repository / "tests/packages/threads.py"], cwd=folder,
               env=environment).stdout


def test_many_threads_use_it_without_numpy(wheel: pathlib.Path, repository: pathlib.Path,
                                           tmp_path: pathlib.Path) -> None:
    assert "8 threads: ok" in run_by_threads(wheel, repository, sys.executable, tmp_path)


OTHER_PYTHONS = [path for path in os.environ.get("INGOT_PYTHONS", "").split(":") if path]


@pytest.mark.parametrize("interpreter", OTHER_PYTHONS or [""])
def test_other_pythons_use_the_same_wheel(wheel: pathlib.Path, repository: pathlib.Path, tmp_path: pathlib.Path,
                                          interpreter: str) -> None:
    if not interpreter:
        pytest.skip("INGOT_PYTHONS names no other Pythons: INGOT_PYTHONS=/opt/3.10/bin/python3:/opt/3.14t/bin/python3")
    assert "8 threads: ok" in run_by_threads(wheel, repository, interpreter, tmp_path)


def test_the_module_looks_into_no_object(wheel: pathlib.Path, build_folder: pathlib.Path) -> None:
    """Objects of free-threaded Pythons have another layout: src/python/python.h lets functions do what headers do.

    The wheel's module was built without optimisation, so that functions of the headers are functions in it.
    """
    listed = run(["nm", build_folder / "wheel/python/ingot/_C.so"]).stdout
    assert {"Py_IncRef", "Py_DecRef", "PyObject_Type"} <= set(re.findall(r" U (\w+)", listed))
    assert " w PyUnstable_Module_SetGIL" in listed
    of_headers = set(re.findall(r" t (_?Py\w+)", listed))
    assert of_headers <= {"PyType_HasFeature"}, of_headers  # which calls PyType_GetFlags


def test_prelude_is_the_wheels_own(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    header = site_packages(installed) / "ingot/share/ingot/prelude/ingot_prelude.h"
    original = header.read_text()
    header.write_text(original + "\nenum { from_this_wheel = 42 };\n")
    try:
        output = python(installed, tmp_path, """
import numpy, ingot
x = numpy.zeros(1, numpy.int32)
ingot.compile_shader('''#include <metal_stdlib>
kernel void k(device int *x) { x[0] = from_this_wheel; }''').k(x)
print(x[0])
""")
    finally:
        header.write_text(original)
    assert output.split() == ["42"]


def test_the_command_works(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    environment = clean_environment(INGOT_CACHE_DIR=str(tmp_path / "cache"))
    output = run([installed / "bin/ingot", "devices"], cwd=tmp_path, env=environment).stdout
    assert "cpu" in output
    (tmp_path / "k.metal").write_text("kernel void k(device float *x) { x[0] = 1; }")
    output = run([installed / "bin/python", "-m", "ingot", "check", "k.metal"], cwd=tmp_path, env=environment).stdout
    assert "1 passed, 0 failed" in output


def test_missing_clang_and_missing_llvm_say_how_to_get_them(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    code = """
import ingot
try:
    ingot.compile_shader("kernel void k(device float *x) { x[0] = 1; }").k
except RuntimeError as error:
    print(error)
"""
    assert "clang" in python(installed, tmp_path, code, INGOT_CLANG="/nowhere/clang")
    broken = tmp_path / "ingotc"  # what the dynamic linker does when libLLVM is not installed
    broken.write_text("#!/bin/sh\necho 'error while loading shared libraries: libLLVM.so.19.1' >&2\nexit 127\n")
    broken.chmod(0o755)
    message = python(installed, tmp_path, code, INGOTC=str(broken))
    assert "libLLVM.so.19.1" in message and "apt-get install clang-19" in message, message


def test_a_clang_in_the_path_is_left_alone(installed: pathlib.Path, unpacked: pathlib.Path,
                                           tmp_path: pathlib.Path) -> None:
    """It may be of any version; the wheel has its own."""
    if not bundles_clang(unpacked):
        pytest.skip("LLVM's static libraries are not installed, so that ingotc runs clang and lld as programs")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    for version in ("", "-19", "-20", "-21"):
        for tool in ("clang", "ld.lld"):
            program = foreign / (tool + version)
            program.write_text(f"#!/bin/sh\necho {program.name} >>'{foreign}/ran'\nexit 1\n")
            program.chmod(0o755)
    assert "smoke: ok" in python(installed, tmp_path, SMOKE, PATH=f"{foreign}:{os.environ['PATH']}")
    assert not (foreign / "ran").exists(), (foreign / "ran").read_text()


@pytest.fixture(scope="module")
def installed_with_torch(installed: pathlib.Path) -> pathlib.Path:
    """The same environment after torch and pytest came: those of the running one, by a .pth file."""
    pytest.importorskip("torch")
    (site_packages(installed) / "more.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return installed


def test_with_torch(installed_with_torch: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert "operators: ok" in python(installed_with_torch, tmp_path, SMOKE + """
import torch
x = torch.randn(4, 64)
library.twice(x)
torch.testing.assert_close(ingot.ops.silu(x), torch.nn.functional.silu(x))
print("operators: ok")
""")


def test_pytest_finds_the_plugin(installed_with_torch: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "test_on_mps.py").write_text("""
import pytest, torch

@pytest.mark.skipif(not torch.backends.mps.is_available(), reason="needs MPS")
def test_kernel():
    x = torch.arange(8.0, device="mps")
    library = torch.mps.compile_shader(
        "kernel void k(device float *x, uint i [[thread_position_in_grid]]) { x[i] += 1; }")
    library.k(x)
    assert x.device.type == "mps" and x.cpu().tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
""")
    environment = clean_environment(INGOT_CACHE_DIR=str(tmp_path / "cache"))
    command = [installed_with_torch / "bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_on_mps.py"]
    assert "1 passed" in run([*command, "--ingot-mps"], cwd=tmp_path, env=environment).stdout
