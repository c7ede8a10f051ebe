"""The sanitizer from Python: ingot.sanitize(), and pytest --ingot-sanitize in a process of its own."""
from __future__ import annotations

import os
import textwrap

import forked_python

KERNEL = '''
import torch, ingot
library = ingot.compile_shader("""
#include <metal_stdlib>
using namespace metal;
kernel void ones(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 1;
}
""")
'''


def run(arguments, folder, **environment):
    return forked_python.run(arguments, cwd=folder, env={**os.environ, **environment})


def test_pytest_option(tmp_path):
    """A finding fails its test with the report, and the others go on; a view counts as it is bound."""
    tests = '''
    def test_past_the_end():
        library.ones(torch.zeros(3), threads=5)

    def test_many_past_the_end():
        library.ones(torch.zeros(3), threads=50000)

    def test_view():
        library.ones(torch.zeros(8)[2:4], threads=3)

    def test_fine():
        x = torch.zeros(5)
        library.ones(x, threads=5)
        assert x.sum() == 5
    '''
    (tmp_path / "test_kernels.py").write_text("import ingot\n" + KERNEL + textwrap.dedent(tests))
    done = run(["-m", "pytest", "-p", "ingot.pytest_plugin", "--ingot-sanitize=bounds", "-q", "-p", "no:cacheprovider",
                "test_kernels.py"], tmp_path)
    assert "3 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "store of 4 bytes at offset 12, outside of buffer(0) \"x\", which has 12 bytes" in done.stdout
    assert "offset 8, outside of buffer(0) \"x\", which has 8 bytes" in done.stdout
    assert done.returncode == 1


def test_findings(tmp_path):
    script = '''
    import ingot
    checks = ingot.sanitize("bounds,arithmetic")
    ''' + textwrap.indent(KERNEL, "    ") + '''
    with checks as findings:
        library.ones(torch.zeros(4), threads=4)
    assert len(findings) == 0, list(findings)
    with checks as findings:
        library.ones(torch.zeros(4), threads=6)
    (finding,) = findings
    assert finding["kind"] == "bounds" and finding["kernel"] == "ones" and finding["line"] == 5, finding
    assert finding["argument"] == "x" and finding["index"] == 0 and finding["bytes"] == 16, finding
    assert finding["offset"] == 16 and finding["count"] == 2 and finding["thread"] == (4, 0, 0), finding
    try:
        ingot.sanitize("race")
    except RuntimeError as error:
        print("refused:", error)
    '''
    done = run(["-c", textwrap.dedent(script)], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refused: kernels have run already"), done.stdout


def test_released(tmp_path):
    """A pointer that a kernel kept, to a tensor that is gone."""
    script = '''
    import torch, ingot
    checks = ingot.sanitize("bounds")
    library = ingot.compile_shader("""
        struct slot { device float *at; };
        kernel void keep(device slot &kept, device float *x) { kept.at = x + 1; }
        kernel void use(device float *y, device const slot &kept) {
            y[0] = kept.at[0];
        }
    """)
    y, kept, x = torch.ones(1), torch.zeros(1, dtype=torch.int64), torch.full((1 << 22,), 7.0)
    with checks as findings:
        library.keep(kept, x, threads=1)
        del x
        library.use(y, kept, threads=1)
    (finding,) = findings
    assert finding["kernel"] == "use" and finding["line"] == 5 and y[0] == 0, (finding, y)
    print(finding["message"])
    '''
    done = run(["-c", textwrap.dedent(script)], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "load of 4 bytes at address" in done.stdout
    assert "which is in no buffer: one that was there was released" in done.stdout, done.stdout


def test_mps_checks_bounds(tmp_path):
    """--ingot-mps alone: what would end the process fails its test; views and lists count as they are bound."""
    tests = '''
    import pytest, torch
    library = torch.mps.compile_shader("""
        kernel void ones(device float *x, uint i [[thread_position_in_grid]]) { x[i] = 1; }
        kernel void pick(device float *x, constant metal::array<device float *, 2> &rows,
                         uint i [[thread_position_in_grid]]) {
            x[i] = rows[i][i];
        }
    """)
    def zeros(n):
        return torch.zeros(n, device="mps")

    @pytest.mark.parametrize("threads", [5, 50_000, 50_000_000])
    def test_past_the_end(threads):
        library.ones(zeros(3), threads=threads)

    def test_view():
        library.ones(zeros(8)[2:4], threads=3)

    def test_list_element():
        library.pick(zeros(2), [zeros(4)[0:1], zeros(4)[1:2]], threads=2)

    def test_fails_by_itself():
        library.ones(zeros(3), threads=5)
        raise ValueError("its own")

    @pytest.fixture
    def broken():
        library.ones(zeros(3), threads=5)

    def test_setup(broken):
        pass

    def test_fine():
        x = zeros(5)
        library.ones(x, threads=5)
        assert x.sum() == 5
        library.pick(x, [x[:1], zeros(2)], threads=2)
        assert x.tolist() == [1, 0, 1, 1, 1]
        import ingot.ops as ops  # built long before, so without checks
        assert ops.silu(torch.zeros(3)).tolist() == [0, 0, 0]
    '''
    (tmp_path / "test_kernels.py").write_text(textwrap.dedent(tests))
    options = ["-p", "ingot.pytest_plugin", "--ingot-mps", "-q", "-p", "no:cacheprovider"]
    done = run(["-m", "pytest", *options, "test_kernels.py"], tmp_path, INGOT_SANITIZE="")
    assert "6 failed, 1 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "store of 4 bytes at offset 12, outside of buffer(0) \"x\", which has 12 bytes" in done.stdout
    assert "offset 8, outside of buffer(0) \"x\", which has 8 bytes" in done.stdout
    assert "which is in no buffer" in done.stdout and "ValueError: its own" in done.stdout
