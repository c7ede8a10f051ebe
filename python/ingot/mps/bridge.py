"""The bridge to extensions in Objective-C++: built from extension/ for the PyTorch that is installed, and kept.

It is a library that defines what PyTorch declares for extensions on mps, and a compiler's command in front of
ingot-c++ that links it. Both lie in ingot's cache, by what they were made from.
"""
from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile

import torch

from ingot import _C

_SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "extension")
LIBRARY = "libingot-torch.so"
_COMMAND = "ingot-torch-c++"
_CLANG = "clang"  # a folder for PATH, where the command has the name that setup.py files of Macs call

_WRAPPER = """#!/bin/sh
# ingot-c++ for extensions of PyTorch: what links is linked with the bridge, in front of PyTorch's libraries.
for argument in "$@"; do
    case $argument in
    -c | -S | -E | -M | -MM | -fsyntax-only | --version | -v | -print-* | -dump*) exec {compiler} {defines} "$@" ;;
    esac
done
exec {compiler} -Wl,--no-as-needed -L{folder} -Wl,-rpath,{folder} -lingot-torch -Wl,--as-needed "$@"
"""


def compiler() -> str:
    """The path of ingot-c++: $INGOT_CXX, in the package, in the build folder, or on $PATH."""
    extension = os.path.dirname(os.path.abspath(_C.__file__))
    candidates = [
        os.environ.get("INGOT_CXX"),
        os.path.join(extension, "bin", "ingot-c++"),
        os.path.normpath(os.path.join(extension, "..", "..", "bin", "ingot-c++")),
        shutil.which("ingot-c++"),
    ]
    for path in candidates:
        if path and os.access(path, os.X_OK):
            return path
    raise RuntimeError(
        "extensions in Objective-C++ are compiled by ingot-c++ of libingot-metal, which was not found: build ingot "
        "where clang and GNUstep's development files are, and put its bin folder into PATH or the path into INGOT_CXX"
    )


def _flags() -> list[str]:
    include = os.path.join(os.path.dirname(torch.__file__), "include")
    folders = [include, os.path.join(include, "torch", "csrc", "api", "include"), sysconfig.get_path("include")]
    abi = int(torch.compiled_with_cxx11_abi())
    standard = "c++20" if torch.torch_version.TorchVersion(torch.__version__) >= (2, 11) else "c++17"
    return [*(part for folder in folders for part in ("-isystem", folder)), f"-std={standard}", "-O1", "-fPIC",
            f"-D_GLIBCXX_USE_CXX11_ABI={abi}"]


def _key(command: list[str]) -> str:
    digest = hashlib.sha256("\0".join([*command, torch.__version__, _C.version, _WRAPPER, _CLANG]).encode())
    for name in sorted(os.listdir(_SOURCES)):
        with open(os.path.join(_SOURCES, name), "rb") as file:
            digest.update(name.encode() + b"\0" + file.read())
    return digest.hexdigest()[:24]


def _build(folder: str, command: list[str]) -> None:
    """Fills a folder beside the wanted one, which then takes its name."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(folder), prefix="torch-bridge-new-") as made:
        library = os.path.join(made, LIBRARY)
        torch_libraries = os.path.join(os.path.dirname(torch.__file__), "lib")
        run = [*command, "-shared", os.path.join(_SOURCES, "bridge.mm"), "-o", library, f"-Wl,-soname,{LIBRARY}",
               f"-L{torch_libraries}", f"-Wl,-rpath,{torch_libraries}", "-lc10", "-ltorch_cpu"]
        done = subprocess.run(run, capture_output=True, text=True)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            raise RuntimeError(
                f"the bridge to extensions could not be built for PyTorch {torch.__version__} (2.15 is tested):\n"
                + "\n".join(errors[:10]) + f"\n{shlex.join(run)}"
            )
        wrapper = os.path.join(made, _COMMAND)
        with open(wrapper, "w") as file:
            file.write(_WRAPPER.format(compiler=shlex.quote(command[0]), folder=shlex.quote(folder),
                                       defines="-DFMT_HEADER_ONLY=1"))
        os.chmod(wrapper, 0o755)
        os.mkdir(os.path.join(made, _CLANG))
        os.symlink(os.path.join("..", _COMMAND), os.path.join(made, _CLANG, "clang++"))
        os.chmod(made, 0o755)
        try:
            os.rename(made, folder)
        except OSError:  # another process was faster
            if not os.path.exists(os.path.join(folder, _COMMAND)):
                raise
        else:
            os.mkdir(made)  # for the end of the with statement


def command() -> str:
    """The compiler's command for extensions; it is built when there is none yet, which takes half a minute."""
    run = [compiler(), *_flags()]
    folder = os.path.join(_C.cache()[0], "torch-bridge-" + _key(run))
    path = os.path.join(folder, _COMMAND)
    if not os.access(path, os.X_OK):
        _build(folder, run)
    return path


def clang_folder() -> str:
    """A folder whose `clang++` is the command."""
    return os.path.join(os.path.dirname(command()), _CLANG)
