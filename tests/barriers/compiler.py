#!/usr/bin/env python3
"""ingotc without one barrier: takes it out of the source that comes by, and starts the compiler.

BARRIER_COMPILER is the compiler, BARRIER_AT is FILE:LINE:COLUMN-ORDER, such as kernels/lu/lu.metal:120:0 (the first
barrier of line 120). Where the barrier was in the source, the file BARRIER_SEEN is made.
"""
from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

BARRIER = re.compile(r"\b(?:threadgroup|simdgroup)_barrier\([^;]*\);")
MARKER = re.compile(r'# (\d+) "([^"]*)"')


def without(source: str, file: str, line: int, which: int) -> tuple[str, bool]:
    """The preprocessed source without that barrier, and whether it was there."""
    here, number, out, seen = "", 0, [], False
    for text in source.split("\n"):
        marker = MARKER.match(text)
        if marker:
            number, here = int(marker.group(1)) - 1, marker.group(2).strip("<>")
        else:
            number += 1
            is_file = here == file or ("/" not in here and here == pathlib.PurePath(file).name)
            found = list(BARRIER.finditer(text)) if is_file and number == line else []
            if which < len(found):
                text = text[: found[which].start()] + ";" + text[found[which].end():]
                seen = True
        out.append(text)
    return "\n".join(out), seen


def main() -> int:
    command = [os.environ["BARRIER_COMPILER"], *sys.argv[1:]]
    if "-" not in sys.argv[1:]:
        return subprocess.call(command)
    file, line, which = os.environ["BARRIER_AT"].rsplit(":", 2)
    source, seen = without(sys.stdin.buffer.read().decode(), file, int(line), int(which))
    if seen:
        pathlib.Path(os.environ["BARRIER_SEEN"]).touch()
    return subprocess.run(command, input=source.encode(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
