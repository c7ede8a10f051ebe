"""tools/count on a small repository whose numbers are known."""
import pathlib
import shutil
import subprocess
import sys

import pytest

LINES = "".join(f"    total_of_everything = total_of_everything * {i} + something;\n" for i in range(6))
FILES = {
    "src/compiler/ir/builtins.c": 'int f(void) {\n    return strcmp(name, "__ingot_barrier");\n}\n',
    "src/compiler/nvptx/a.c": '#include "compiler/driver/driver.h"\n\nvoid igp_emit(int a, int b) {\n'
                              '    if (!strcmp(name, "__ingot_barrier")) {\n        igc_stage();\n    }\n'
                              '    /* strcmp(name, "nv.turn") in a comment is none */\n'
                              '    make("nv.turn");\n    LLVMGetNextBasicBlock(block);\n    is_gpu = true;\n}\n',
    "src/compiler/nvptx/nvptx.h": "void igp_emit(int a, int b);\n",
    "src/compiler/driver/driver.h": '#include "compiler/nvptx/nvptx.h"\nvoid igc_stage(void);\n',
    "src/compiler/driver/b.c": 'void igc_stage(void) {\n    igp_emit(1, 2);\n    if (target->is_gpu) {\n    }\n'
                               '    if (!strcmp(kind, "cuda")) {\n    }\n}\n\n'
                               "static int wide(int a, int b, int c, int d, int (*e)(int, int), int f,\n"
                               "                int g, int h) {\n    return a;\n}\n",
    "src/base/long.c": "int long_one(void) {\n" + "    go();\n" * 79 + "}\n" + "int x;\n" * 801,
    "src/base/copy_a.c": "int copy_a(void) {\n" + LINES + "    return 1;\n}\n",
    "src/base/copy_b.c": "int copy_b(void) {\n" + LINES + "    return 2;\n}\n",
    "src/python/table.c": "const char *names[] = {ingot_op_log_softmax_backward};\n",
    "python/x.py": "def log_softmaxes(): pass\n",
    "bench/x.py": "log_softmax\n",
    "kernels/log_softmax/log_softmax.policy": "cpu log_softmax\n",
    "kernels/log_softmax/log_softmax.c": "int x;\n",
    "prelude/ingot_builtins.h": "void __ingot_barrier(void);\n",
    "tests/a.c": 'strcmp(name, "__ingot_barrier") log_softmax\n',
}
EXPECTED = {"names": "1", "literals": "2", "includes": "2", "symbols": "2", "includes-below": "2", "symbols-below": "2",
            "walks": "1", "loops": "0",
            "device-tests": "2", "device-names": "1", "log-softmax": "1", "log-softmax-shown": "2",
            "operation": "1 (log_softmax)", "builtin": "3 (__ingot_barrier)", "long-files": "1", "long-functions": "1",
            "parameters": "1", "copies": "1", "copies-python": "0"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A repository with FILES in its working tree, and without any in its only commit."""
    root, source = tmp_path_factory.mktemp("count"), pathlib.Path(__file__).resolve().parents[2]
    (root / "tools").mkdir()
    shutil.copy(source / "tools" / "count", root / "tools" / "count")
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org", "-C", str(root)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "tools/count"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "empty"], check=True)
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def count(root: pathlib.Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, root / "tools" / "count", *arguments], stdout=subprocess.PIPE, text=True,
                          timeout=120)
    assert done.returncode == 0
    return done.stdout


def column(table: str) -> dict[str, str]:
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {row[0]: row[2] for row in rows}


def test_the_numbers_of_the_working_tree(checkout: pathlib.Path) -> None:
    assert column(count(checkout)) == EXPECTED


def test_the_numbers_of_a_commit(checkout: pathlib.Path) -> None:
    assert {number.split()[0] for number in column(count(checkout, "HEAD")).values()} == {"0"}


def test_what_a_row_has_counted(checkout: pathlib.Path) -> None:
    assert count(checkout, "--list", "names") == \
        'src/compiler/nvptx/a.c:4: if (!strcmp(name, "__ingot_barrier")) {\n'
    assert "wide, 8 parameters" in count(checkout, "--list", "parameters")
    assert "long_one, 81 lines" in count(checkout, "--list", "long-functions")
    assert "copy_a.c:2 and src/base/copy_b.c:2: 6 lines" in count(checkout, "--list", "copies")


def test_a_number_above_its_limit_fails(checkout: pathlib.Path) -> None:
    done = subprocess.run([sys.executable, checkout / "tools" / "count", "--check"], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "5 passed, 6 failed" in done.stdout, done.stdout
    assert "walks: 1 walks over blocks by hand, outside ir/, at most 0:\n  src/compiler/nvptx/a.c:9" in done.stdout
