"""The Python of README.md, docs/python.md and docs/guides/*.md runs, a process for each page; links lead somewhere."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("torch")
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "python.md", *sorted(ROOT.glob("docs/guides/*.md"))]
LINKED = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def code(page: pathlib.Path) -> str:
    """All Python blocks of a page, each on the lines it has there."""
    text, lines = page.read_text(), []
    for match in BLOCK.finditer(text):
        lines += [""] * (text.count("\n", 0, match.start(1)) - len(lines))
        lines += match.group(1).splitlines()
    return "\n".join(lines) + "\n"


WITH_CODE = [page for page in PAGES if "```python" in page.read_text()]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_code_of_guide(page: pathlib.Path, tmp_path: pathlib.Path) -> None:
    script = tmp_path / f"test_{page.stem.replace('-', '_')}.py"
    script.write_text(code(page))
    # A page whose code is a test file is run as one.
    is_test = "\ndef test_" in script.read_text()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"] if is_test else [sys.executable]
    done = subprocess.run([*command, script], cwd=tmp_path, env=os.environ, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300)
    assert done.returncode == 0, f"{page.name}:\n{done.stdout}"


def test_links_of_the_documents_lead_somewhere() -> None:
    bad = [f"{page.name}: {target}" for page in LINKED for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text())
           if not (page.parent / target).exists()]
    assert not bad
