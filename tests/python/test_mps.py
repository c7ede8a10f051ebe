"""ingot.mps in processes of their own, as it has to start before the first backward pass of a process."""
import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys

import forked_python
import pytest

pytest.importorskip("torch")
from ingot.mps import bridge, extensions  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "INGOT_MPS"}


def run(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=ENVIRONMENT)


def run_script(script: str, torch_is_imported: bool = True) -> str:
    arguments = ["-c", script]
    result = forked_python.run(arguments, env=ENVIRONMENT, timeout=600) if torch_is_imported else run(*arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_suites_under_the_option():
    files = [str(HERE / name) for name in ("test_mps_device.py", "test_mps_kernels.py", "test_mps_extension.py")]
    result = run("-m", "pytest", "--ingot-mps", "-q", "-p", "no:cacheprovider", *files)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", result.stdout).group(1)) > 60


def test_operators_by_device_metal():
    try:
        bridge.compiler()
    except RuntimeError as error:
        pytest.skip(str(error))
    command = [sys.executable, "-m", "pytest", "--ingot-mps", "-q", "-p", "no:cacheprovider",
               str(HERE / "test_mps_on_metal.py")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=900,
                            env={**ENVIRONMENT, "INGOT_METAL_BRIDGE": "1"})
    assert result.returncode == 0 and "6 passed" in result.stdout, result.stdout[-6000:] + result.stderr[-2000:]


@pytest.mark.parametrize("sources, flags, expected", [
    (["a.cpp", "b.mm"], [], True),
    (["a.cpp"], [None, ["-O2"], {"cxx": ["-O2"], "nvcc": []}], False),
    (["a.cpp"], [["-O2"], ["-framework", "Metal"]], True),
    (["a.cpp"], [{"cxx": ["-x", "objective-c++"]}, None], True),
])
def test_which_extensions_are_in_objective_cxx(sources, flags, expected):
    assert extensions._has_objective_cxx(sources, *flags) is expected


def test_setup_files_of_macs(tmp_path):
    """With setuptools' own build_ext, a clang++ of its own choice, and an extension for darwin alone."""
    try:
        bridge.compiler()
    except RuntimeError as error:
        pytest.skip(str(error))
    (tmp_path / "small.mm").write_text("""
        #include <Python.h>
        #import <Foundation/Foundation.h>
        static PyModuleDef module = {PyModuleDef_HEAD_INIT, "small", nullptr, -1, nullptr};
        PyMODINIT_FUNC PyInit_small() {
            PyObject *made = PyModule_Create(&module);
            PyModule_AddIntConstant(made, "length", [@"four" length]);
            return made;
        }""")
    (tmp_path / "asked.py").write_text("import sys\nplatform = sys.platform\n")
    (tmp_path / "setup.py").write_text("""
import platform, sys
import asked
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
import torch.utils.cpp_extension

assert asked.platform == "linux" and (platform.system(), platform.machine()) == ("Darwin", "arm64")

class Build(build_ext):
    def build_extension(self, extension):
        self.compiler.src_extensions.append(".mm")
        compile = self.compiler._compile

        def compile_by_clang(*arguments):
            self.compiler.compiler_so = ["clang++", *self.compiler.compiler_so[1:]]
            return compile(*arguments)

        self.compiler._compile = compile_by_clang
        super().build_extension(extension)

found = [Extension("small", ["small.mm"], extra_link_args=["-framework", "Foundation"])]
setup(name="small", cmdclass={"build_ext": Build}, ext_modules=found if sys.platform == "darwin" else [])
""")
    for words in (["--mac", "setup.py", "build_ext", "--inplace"], ["-m", "ask"]):
        (tmp_path / "ask.py").write_text("import small\nassert small.length == 4\n")
        done = subprocess.run([sys.executable, "-m", "ingot.mps", *words], cwd=tmp_path, env=ENVIRONMENT, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        assert done.returncode == 0, done.stdout


def test_commands_of_the_guide_to_extensions(tmp_path):
    try:
        bridge.compiler()
    except RuntimeError as error:
        pytest.skip(str(error))
    spec = importlib.util.spec_from_file_location("guides", HERE.parent / "docs" / "run.py")
    guides = importlib.util.module_from_spec(spec)
    sys.modules["guides"] = guides  # dataclasses look there
    spec.loader.exec_module(guides)
    text = (HERE.parents[1] / "docs" / "guide" / "mps-extensions.md").read_text()
    commands = []
    for block in guides.BLOCK.finditer(text):
        if block["title"]:
            (tmp_path / block["title"]).write_text(block["body"])
        if block["language"] == "console":
            commands += guides.commands_of(block["body"], 1)
    assert len(commands) == 2 and len(list(tmp_path.iterdir())) == 3
    for command in commands:
        words = shlex.split(command.text)
        words[:1] = [sys.executable] if words[0] == "python" else [sys.executable, "-m", "pytest"]
        done = subprocess.run(words, cwd=tmp_path, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=900)
        printed = guides.normalised(done.stdout)
        assert done.returncode == 0 and guides.matches(guides.normalised("\n".join(command.expected)), printed), printed


def test_disable_restores_everything():
    run_script("""
import platform, torch, ingot.mps, torch.serialization
owners = [torch, torch._C, torch.mps, torch.backends.mps, torch.UntypedStorage, platform,
          torch.accelerator, torch.random, torch.library, torch.Tensor, torch.storage]
snapshot = lambda: [dict(vars(owner)) for owner in owners] + [list(torch.serialization._package_registry)]
def refusal():
    try:
        torch.ones(1, device="mps")
    except Exception as error:
        return type(error), str(error)
assert not torch.backends.mps.is_available()
before, refused = snapshot(), refusal()
with ingot.mps.emulate():
    assert torch.backends.mps.is_available() and ingot.mps.is_enabled()
    x = torch.ones(2, device="mps", requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
    del x
assert not ingot.mps.is_enabled() and not torch.backends.mps.is_available() and not torch.mps.is_available()
for old, new in zip(before, snapshot()):
    if isinstance(old, list):
        assert old == new
        continue
    changed = {name for name in {*old, *new} if old.get(name, old) is not new.get(name, new)}
    assert not changed, changed
assert refused is not None and refusal() == refused, (refused, refusal())
accelerator = torch.accelerator.current_accelerator()
assert accelerator is None or accelerator.type != "mps"
ingot.mps.enable()
assert torch.ones(2, device="mps").sum().item() == 2
""")


def test_enable_after_a_backward_pass_says_so():
    run_script("""
import torch, ingot.mps
torch.ones(1, requires_grad=True).sum().backward()
try:
    ingot.mps.enable()
except RuntimeError as error:
    assert "first backward pass" in str(error), error
else:
    raise SystemExit("no error")
assert not ingot.mps.is_enabled() and not torch.backends.mps.is_available()
""")


@pytest.mark.parametrize("attempt", range(3))
def test_a_process_may_end_right_behind_a_backward_pass(attempt):
    """PyTorch's thread still frees tensors then; without a wait every second process was ended by it."""
    run_script("""
import sys, torch, ingot.mps
ingot.mps.enable()
sys.setswitchinterval(100)  # nobody else gets the interpreter before the end
x = torch.ones(1, device="mps", requires_grad=True)
(x * 1).sum().backward()
""")


def test_import_needs_no_torch():
    run_script("import sys, ingot.mps; assert 'torch' not in sys.modules", torch_is_imported=False)


def test_option_reaches_child_processes_and_conftest(tmp_path):
    (tmp_path / "conftest.py").write_text("import torch\nAVAILABLE = torch.backends.mps.is_available()\n")
    (tmp_path / "test_inner.py").write_text("""
import subprocess, sys, torch
from conftest import AVAILABLE

def test_conftest_saw_it():
    assert AVAILABLE

def test_child():
    script = '''
import torch
print(torch.ones(2, device="mps").sum().item(), torch.__spec__.loader is torch.__loader__)'''
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.strip() == "2.0 True", result.stderr
""")
    result = run("-m", "pytest", "--ingot-mps", "-q", str(tmp_path))
    assert result.returncode == 0 and "2 passed" in result.stdout, result.stdout + result.stderr
