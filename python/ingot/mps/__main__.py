"""`python -m ingot.mps [--mac] FILE …` and `python -m ingot.mps -m MODULE …`: the program, with device mps."""
from __future__ import annotations

import os
import runpy
import sys

from ingot.mps import enable
from ingot.mps.as_mac import pretend
from ingot.mps.environment import tell_children


def main() -> int:
    """Runs the program in this process; processes that it starts see the device too."""
    words = sys.argv[1:]
    is_as_mac = words[:1] == ["--mac"]
    words = words[is_as_mac:]
    if not words or words[0] in ("-h", "--help") or (words[0] == "-m" and len(words) == 1):
        print("usage: python -m ingot.mps [--mac] FILE [ARGUMENT]...\n"
              "       python -m ingot.mps -m MODULE [ARGUMENT]...\n"
              "--mac: FILE finds that sys.platform is darwin (a setup.py that asks)")
        return 0 if words and words[0] != "-m" else 2
    tell_children()
    enable()
    if is_as_mac:
        pretend()
    if words[0] == "-m":
        sys.argv = words[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
        runpy.run_path(words[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
