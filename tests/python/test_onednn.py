"""Machines that announce AMX and cannot run it: torch's bfloat16 matmul is kept away from it.

A torch of this file's own stands for the real one: it kills its process by a signal at a bfloat16 matmul unless
ONEDNN_MAX_CPU_ISA is as it should be, as torch does on such a machine. Every decision is made in a process of its own,
since it is made once per process.
"""
import os
import pathlib
import subprocess
import sys

import pytest

FAKE_TORCH = '''
import os, signal, types

with open(os.environ["FAKE_LOG"], "a") as log:
    log.write(os.environ.get("ONEDNN_MAX_CPU_ISA", "unset") + "\\n")
bfloat16 = "bfloat16"

def multiply():
    if os.environ.get("ONEDNN_MAX_CPU_ISA") not in os.environ["FAKE_SURVIVES"].split():
        os.kill(os.getpid(), getattr(signal, os.environ["FAKE_SIGNAL"]))

class Matrix:
    def __getitem__(self, index): return self
    def __matmul__(self, other): multiply(); return self

def ones(*shape, dtype): assert dtype == bfloat16; return Matrix()
nn = types.SimpleNamespace(functional=types.SimpleNamespace(linear=lambda x, weight, bias: multiply()))
'''
SAYS = "ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16 is set"
ASK = """
import os
from ingot import _onednn
_onednn.settle()
_onednn.settle()
print(os.environ.get("ONEDNN_MAX_CPU_ISA"))
"""


class Machine:
    """A processor, a torch and a cache folder of their own."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.log, self.cache = folder, folder / "log", folder / "cache"
        (folder / "fake" / "torch").mkdir(parents=True)
        self.torch = folder / "fake" / "torch" / "__init__.py"
        self.torch.write_text(FAKE_TORCH)
        self.announce("fpu sse2 avx512f amx_bf16 amx_tile amx_int8")

    def announce(self, flags: str) -> None:
        (self.folder / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\n")

    def run(self, code: str = ASK, **environment: str) -> subprocess.CompletedProcess:
        settings = {**os.environ, "INGOT_CPUINFO": str(self.folder / "cpuinfo"), "INGOT_CACHE_DIR": str(self.cache),
                    "PYTHONPATH": os.pathsep.join([str(self.folder / "fake"), os.environ.get("PYTHONPATH", "")]),
                    "FAKE_LOG": str(self.log), "FAKE_SURVIVES": "AVX512_CORE_FP16", "FAKE_SIGNAL": "SIGILL",
                    "PYTHONDONTWRITEBYTECODE": "1"}
        for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "INGOT_CACHE_LIMIT"):
            settings.pop(name, None)
        return subprocess.run([sys.executable, "-c", code], env={**settings, **environment}, cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)

    def answer(self, **environment: str) -> str:
        done = self.run(**environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def imports(self) -> list[str]:
        """The variable, each time torch was imported."""
        return self.log.read_text().split() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> Machine:
    return Machine(tmp_path)


def test_the_variable_is_set_where_matmul_is_killed(machine: Machine) -> None:
    done = machine.run()
    assert (done.returncode, done.stdout.strip()) == (0, "AVX512_CORE_FP16")
    assert machine.imports() == ["unset", "AVX512_CORE_FP16"]  # in children: the second shows that it helps
    assert done.stderr.count(SAYS) == 1 and done.stderr.count("\n") == 1
    assert "SIGILL" in done.stderr


def test_the_answer_is_kept_and_still_said(machine: Machine) -> None:
    machine.answer()
    done = machine.run()
    assert done.stdout.strip() == "AVX512_CORE_FP16" and SAYS in done.stderr
    assert len(machine.imports()) == 2  # those of the first run


def test_a_matmul_that_works_is_left_alone(machine: Machine) -> None:
    done = machine.run(FAKE_SIGNAL="SIGCONT")
    assert (done.stdout.strip(), done.stderr) == ("None", "")
    assert machine.answer() == "None"  # kept too
    assert machine.imports() == ["unset"]


def test_another_torch_is_tried_again(machine: Machine) -> None:
    assert machine.answer(FAKE_SIGNAL="SIGCONT") == "None"
    os.utime(machine.torch, (1, 1))
    assert machine.answer() == "AVX512_CORE_FP16"


def test_a_damaged_record_is_no_answer(machine: Machine) -> None:
    machine.answer()
    (machine.cache / "torch-probe").write_bytes(b"\xff\x00 nonsense")
    assert machine.answer() == "AVX512_CORE_FP16"
    assert len(machine.imports()) == 4


def test_a_folder_that_others_may_write_is_not_believed(machine: Machine) -> None:
    machine.answer(FAKE_SIGNAL="SIGCONT")
    machine.cache.chmod(0o777)
    assert machine.answer() == "AVX512_CORE_FP16"


@pytest.mark.parametrize("name", ["ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"])
def test_what_the_user_has_set_stays(machine: Machine, name: str) -> None:
    done = machine.run(**{name: "AVX2"})
    assert done.stdout.strip() == ("AVX2" if name == "ONEDNN_MAX_CPU_ISA" else "None")
    assert done.stderr == "" and machine.imports() == []


def test_nothing_is_tried_without_amx(machine: Machine) -> None:
    machine.announce("fpu sse2 avx512f")
    assert machine.answer() == "None" and machine.imports() == []


def test_where_the_variable_does_not_help_it_is_not_set(machine: Machine) -> None:
    done = machine.run(FAKE_SURVIVES="nothing")
    assert done.stdout.strip() == "None"
    assert "does not help (SIGILL)" in done.stderr


def test_a_torch_that_cannot_be_imported_is_not_judged(machine: Machine) -> None:
    machine.torch.write_text("raise ImportError('half installed')\n")
    done = machine.run()
    assert (done.stdout.strip(), done.stderr) == ("None", "")
    assert not (machine.cache / "torch-probe").exists()


def test_mps_settles_before_it_touches_torch(machine: Machine) -> None:
    """ingot.mps.enable ends with an error of the fake torch, which has no more to offer, but with the variable set."""
    code = """
import os, ingot.mps
try:
    ingot.mps.enable()
except AttributeError:
    print(os.environ.get("ONEDNN_MAX_CPU_ISA"))
"""
    assert machine.run(code).stdout.strip() == "AVX512_CORE_FP16"


def test_the_operators_settle_before_they_touch_torch(machine: Machine) -> None:
    code = """
import os, ingot
try:
    ingot.ops
except (AttributeError, ImportError):
    print(os.environ.get("ONEDNN_MAX_CPU_ISA"))
"""
    assert machine.run(code).stdout.strip() == "AVX512_CORE_FP16"


def test_the_benchmarks_settle_without_the_package(machine: Machine, repository: pathlib.Path) -> None:
    code = """
import os, sys
from fair_process import settle_torch
settle_torch()
assert "ingot" not in sys.modules
print(os.environ.get("ONEDNN_MAX_CPU_ISA"))
"""
    path = os.pathsep.join([str(machine.folder / "fake"), str(repository / "bench")])
    assert machine.run(code, PYTHONPATH=path).stdout.strip() == "AVX512_CORE_FP16"


def test_pytest_says_so(machine: Machine, repository: pathlib.Path) -> None:
    """tests/python itself, on such a machine: the header of the run has the line, and children inherit the variable."""
    code = f"""
import os, sys
sys.path.insert(0, {str(repository / "tests" / "python")!r})
import conftest
print(conftest.TORCH_IS_LIMITED)
import subprocess
print(subprocess.run([sys.executable, "-c", "import os; print(os.environ['ONEDNN_MAX_CPU_ISA'])"],
                     stdout=subprocess.PIPE, text=True).stdout)
"""
    lines = machine.run(code).stdout.split("\n")
    assert SAYS in lines[0] and lines[1] == "AVX512_CORE_FP16"
