"""Keeps torch's bfloat16 matmul away from AMX instructions that the machine announces but cannot run.

Some hypervisors show AMX (`amx_tile` in /proc/cpuinfo) and end a process with SIGILL at its first AMX instruction.
torch multiplies bfloat16 matrices by oneDNN, which believes what the processor announces. settle() finds out in a
child process, and limits oneDNN to AVX-512 by ONEDNN_MAX_CPU_ISA where the child is killed.

Requires: nothing; the module imports neither torch nor the rest of ingot, so that a benchmark may load it by its path.
Provides: settle(), to be called before torch's first matmul. oneDNN reads the variable at its first use, so a call
after `import torch` is early enough.
Does not: touch a variable that the user has set; look at anything where the processor announces no AMX.

The answer holds for one boot and one installation of torch. It is kept in the cache folder, in `torch-probe`.
"""
from __future__ import annotations

import hashlib
import importlib.util
import os
import signal
import subprocess
import sys

__all__ = ["settle"]

VARIABLE = "ONEDNN_MAX_CPU_ISA"
OLD_VARIABLE = "DNNL_MAX_CPU_ISA"  # oneDNN still reads it
WITHOUT_AMX = "AVX512_CORE_FP16"
CPU_INFO = "INGOT_CPUINFO"  # a file instead of /proc/cpuinfo, for tests
RECORD = "torch-probe"
SECONDS = 120  # a cold import of torch from a slow disk takes tens of seconds

# The sizes are beyond those below which torch has loops of its own.
_PROBE = """
import sys
sys.path[:] = sys.argv[1:]
import torch
for size in (64, 256):
    a = torch.ones(size, size, dtype=torch.bfloat16)
    torch.nn.functional.linear(a @ a, a, a[0])
"""

_settled: str | None = None


def settle() -> str | None:
    """Sets ONEDNN_MAX_CPU_ISA if torch's bfloat16 matmul is killed without it, and says so in a line on stderr.

    Returns that line, or None where nothing was to be done. Later calls return the same and do nothing.
    """
    global _settled
    if _settled is None:
        _settled = _decide() or ""
    return _settled or None


def _decide() -> str | None:
    if VARIABLE in os.environ or OLD_VARIABLE in os.environ or not _announces_amx():
        return None
    key = _key()
    if key is None:
        return None
    killed_by = _recalled(key)
    if killed_by is None:
        killed_by = _tried()
        if killed_by is None:
            return None
        _record(key, killed_by)
    if not killed_by:
        return None
    os.environ[VARIABLE] = WITHOUT_AMX
    line = (f"ingot: this machine announces AMX, but torch's bfloat16 matmul is killed there by {killed_by}; "
            f"{VARIABLE}={WITHOUT_AMX} is set for this process and its children")
    print(line, file=sys.stderr)
    return line


def _announces_amx() -> bool:
    """Whether the first processor has amx_tile. Only its part of the file is read: a large machine's is long."""
    try:
        with open(os.environ.get(CPU_INFO, "/proc/cpuinfo"), encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("flags"):
                    return "amx_tile" in line.split()
    except OSError:
        pass
    return False


def _key() -> str | None:
    """What the answer depends on: the boot, and which torch. None where there is no torch."""
    module = sys.modules.get("torch")
    origin = getattr(module, "__file__", None)
    if origin is None:
        try:
            spec = importlib.util.find_spec("torch")
        except (ImportError, ValueError):
            return None
        origin = spec.origin if spec else None
    if origin is None:
        return None
    try:
        changed = os.stat(origin).st_mtime_ns
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
    except OSError:
        return None
    return hashlib.sha256(f"{boot} {origin} {changed} {sys.executable}".encode()).hexdigest()


# ---- the child process ----


def _killed_by(environment: dict[str, str]) -> str | None:
    """The signal that killed the probe, "" where none did, None where the probe says nothing."""
    command = [sys.executable, "-S", "-c", _PROBE, *sys.path]  # -S: no sitecustomize, which may lead here again
    try:
        status = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, timeout=SECONDS).returncode
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if status >= 0:
        return "" if status == 0 else None
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def _tried() -> str | None:
    """As _killed_by, where the variable helps; None also where it does not."""
    if not sys.executable:
        return None
    killed_by = _killed_by(dict(os.environ))
    if not killed_by:
        return killed_by
    with_limit = _killed_by({**os.environ, VARIABLE: WITHOUT_AMX})
    if with_limit == "":
        return killed_by
    print(f"ingot: torch's bfloat16 matmul is killed by {killed_by} on this machine, and {VARIABLE}={WITHOUT_AMX} does "
          f"not help ({with_limit or 'it fails'}); nothing is set", file=sys.stderr)
    return None


# ---- the record of an answer ----


def _folder() -> str | None:
    """The cache folder, by the rules of src/base/file.c. None: it is not private, or nothing is to be kept."""
    if os.environ.get("INGOT_CACHE_LIMIT") == "0" or not hasattr(os, "geteuid"):
        return None
    named = os.environ.get("INGOT_CACHE_DIR")
    base, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    choices = [named] if named else [os.path.join(root, *rest) for root, rest in
                                     ((base, ["ingot"]), (home, [".cache", "ingot"])) if root.startswith("/")]
    for path in choices:
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
            info = os.stat(path)
        except OSError:
            continue
        if info.st_uid == os.geteuid() and not info.st_mode & 0o022:
            return path
    return None


def _recalled(key: str) -> str | None:
    folder = _folder()
    if folder is None:
        return None
    try:
        with open(os.path.join(folder, RECORD), encoding="ascii") as file:
            of, _, killed_by = file.read(200).rstrip("\n").partition(" ")
    except (OSError, ValueError):
        return None
    return killed_by if of == key else None


def _record(key: str, killed_by: str) -> None:
    """A file that cannot be written costs the next process a second, nothing else."""
    folder = _folder()
    if folder is None:
        return
    path = os.path.join(folder, RECORD)
    try:
        with open(f"{path}.{os.getpid()}", "w", encoding="ascii") as file:
            file.write(f"{key} {killed_by}\n")
        os.replace(f"{path}.{os.getpid()}", path)
    except OSError:
        pass
