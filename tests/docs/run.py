#!/usr/bin/env python3
"""Runs the examples of the guide: the shell blocks of README.md and docs/guide, against the output that they show.

usage: run.py BUILD [PAGE]...     exit status 1 when an example fails, or when a page of PAGES_WITH_EXAMPLES has none

In a page, in its order:
    ```c title="first.c"          the block is written to a file of that name, in the page's own empty folder
    ```console                    lines `$ COMMAND` are run there by bash; a command may go on behind a backslash
    <!-- not run: REASON -->      the next block is left out
    <!-- needs: PROGRAM -->       so is it, with a line that says so, where there is no such program
The lines below a command are what it prints, stdout and stderr together. `…` stands for any text in a line, and alone
on its line for any lines. No lines: whatever is printed is fine. A command must exit with 0, or with N where it ends
in `# exits with N`. Names of CPU levels are equal to each other, so that pages may show real ones.

Blocks of Python are run by tests/python/test_guides.py, which has torch.
"""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES_WITH_EXAMPLES = ["README.md", "docs/README.md", "docs/guide/first-kernel.md", "docs/guide/c.md",
                       "docs/guide/compiled-libraries.md", "docs/guide/debugging.md",
                       "docs/guide/metal4-tensors.md", "docs/guide/metal-programs.md",
                       "docs/guide/operations.md", "docs/guide/sanitizer.md", "docs/guide/profiling.md",
                       "docs/guide/cuda.md", "docs/guide/production.md",
                       "docs/guide/reference/commands.md", "docs/guide/reference/json.md"]
BLOCK = re.compile(r'^(?P<skip><!-- not run: [^\n]+ -->\n)?(?:<!-- needs: (?P<needs>[^\n]+) -->\n)?'
                   r'```(?P<language>\w*)(?: title="(?P<title>[^"\n]+)")?[^\n]*\n'
                   r"(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
TIMEOUT = 120


@dataclass
class Command:
    line: int
    text: str
    status: int
    expected: list[str]


def commands_of(body: str, first_line: int) -> list[Command]:
    found: list[Command] = []
    lines = body.splitlines()
    at = 0
    while at < len(lines):
        line, number = lines[at], first_line + at
        at += 1
        if not line.startswith("$ "):
            if not found:
                raise ValueError(f"line {number}: a console block starts with `$ `")
            found[-1].expected.append(line)
            continue
        text = line[2:]
        while text.endswith("\\") and at < len(lines):
            text += "\n" + lines[at]
            at += 1
        status = re.search(r"# exits with (\d+)\s*$", text)
        found.append(Command(number, text, int(status.group(1)) if status else 0, []))
    return found


def normalised(text: str) -> list[str]:
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    text = re.sub(r"\b(x86-64-v[34](-bf16(-amx)?)?|aarch64(-bf16)?)\b", "CPU-LEVEL", text)
    return [line.rstrip() for line in text.rstrip("\n").split("\n")] if text.strip() else []


def matches(expected: list[str], printed: list[str]) -> bool:
    """Does the output fit, with `…` for any text of a line and a line `…` for any lines?"""
    pattern = ""
    for line in expected:
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += "[^\n]*?".join(re.escape(part) for part in line.split("…")) + r"\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def environment(build: pathlib.Path, scratch: pathlib.Path) -> dict[str, str]:
    """Commands find what is built as if it were installed."""
    pkgconfig = scratch / "pkgconfig"
    pkgconfig.mkdir(exist_ok=True)
    (pkgconfig / "ingot.pc").write_text(
        f"Name: ingot\nDescription: as built\nVersion: 0\nCflags: -I{ROOT}/include\n"
        f"Libs: -L{build}/lib -Wl,-rpath,{build}/lib -lingot\n")
    tools = ("INGOT_PRELUDE", "INGOT_CLANG", "INGOT_LLD")
    keep = {name: text for name, text in os.environ.items() if not name.startswith("INGOT_") or name in tools}
    return {**keep, "PATH": f"{build}/bin:{os.environ['PATH']}", "NO_COLOR": "1", "LC_ALL": "C.UTF-8",
            "INGOTC": os.environ.get("INGOTC", f"{build}/bin/ingotc"), "INGOT_POLICY": "",
            "INGOT_CACHE_DIR": os.environ.get("INGOT_CACHE_DIR", f"{scratch}/cache"),
            "PKG_CONFIG_PATH": str(pkgconfig), "INGOT_SOURCE": str(ROOT), "INGOT_BUILD": str(build)}


def run_page(page: pathlib.Path, build: pathlib.Path) -> tuple[int, list[str]]:
    """How many commands ran, and what was wrong."""
    text, failures, count = page.read_text(), [], 0
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        work = scratch / "work"
        work.mkdir()
        variables = environment(build, scratch)
        for block in BLOCK.finditer(text):
            if block["skip"]:
                continue
            if block["needs"] and not shutil.which(block["needs"]):
                print(f"{page.name}: an example is skipped, {block['needs']} is not installed")
                continue
            if block["title"]:
                (work / block["title"]).write_text(block["body"])
            if block["language"] != "console":
                continue
            for command in commands_of(block["body"], text.count("\n", 0, block.start("body")) + 1):
                count += 1
                try:
                    done = subprocess.run(["bash", "-c", command.text], cwd=work, env=variables, timeout=TIMEOUT,
                                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                    status, printed = done.returncode, normalised(done.stdout.decode(errors="replace"))
                except subprocess.TimeoutExpired:
                    status, printed = -1, [f"no end after {TIMEOUT} s"]
                expected = normalised("\n".join(command.expected))
                if status != command.status or expected and not matches(expected, printed):
                    failures.append("\n".join([f"{page}:{command.line}: {command.text}",
                                               f"  status {status}, and the page says {command.status}; printed:",
                                               *(f"    {line}" for line in printed), "  the page shows:",
                                               *(f"    {line}" for line in expected)]))
    return count, failures


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__)
        return 2
    build = pathlib.Path(arguments[0]).resolve()
    pages = [pathlib.Path(a) for a in arguments[1:]]
    pages = pages or [ROOT / "README.md", ROOT / "docs/README.md", *sorted((ROOT / "docs/guide").rglob("*.md"))]
    must = {ROOT / page for page in PAGES_WITH_EXAMPLES}
    total, failed = 0, 0
    for page in pages:
        count, failures = run_page(page, build)
        if count == 0 and page in must:
            failures = [f"{page}: no example is left in it"]
        total, failed = total + count, failed + len(failures)
        for failure in failures:
            print(failure)
        if count:
            print(f"{page.name}: {count} commands, {len(failures)} failed")
    print(f"{total - failed} passed, {failed} failed")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
