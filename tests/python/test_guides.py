"""The Python of README.md and docs/guide/**/*.md runs, a process for each page.

A block behind a comment `<!-- not run: REASON -->` is left out. tests/docs runs the shell blocks of the same pages."""
import os
import pathlib
import re
import subprocess
import sys

import forked_python
import pytest

pytest.importorskip("torch")
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/guide/**/*.md"))]
BLOCK = re.compile(r"^(?P<skip><!-- not run: [^\n]+ -->\n)?```python[^\n]*\n(?P<code>.*?)^```",
                   re.MULTILINE | re.DOTALL)


def code(page: pathlib.Path) -> str:
    """All Python blocks of a page that are to run, each on the lines it has there."""
    text, lines = page.read_text(), []
    for match in BLOCK.finditer(text):
        if not match["skip"]:
            lines += [""] * (text.count("\n", 0, match.start("code")) - len(lines))
            lines += match["code"].splitlines()
    return "\n".join(lines) + "\n"


WITH_CODE = [page for page in PAGES if code(page).strip()]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_code_of_guide(page: pathlib.Path, tmp_path: pathlib.Path) -> None:
    script = tmp_path / f"test_{page.stem.replace('-', '_')}.py"
    script.write_text(code(page))
    # A page whose code is a test file is run as one.
    if "\ndef test_" in script.read_text():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", script]
        done = subprocess.run(command, cwd=tmp_path, env=os.environ, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300)
    else:
        done = forked_python.run([script], cwd=tmp_path)
    assert done.returncode == 0, f"{page.name}:\n{done.stdout}\n{done.stderr}"


def test_pages_that_must_have_code_have_it() -> None:
    expected = {"README", "python", "ci", "debugging", "models", "operations", "torch-compile", "porting-from-cuda",
                "mlx", "overrides", "mps"}
    assert {page.stem for page in WITH_CODE} >= expected


def test_links_of_the_documents_lead_somewhere() -> None:
    linked = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    bad = [f"{page.name}: {target}" for page in linked for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text())
           if not (page.parent / target).exists()]
    assert not bad
