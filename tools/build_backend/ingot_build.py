"""The build back end of pyproject.toml: scikit-build-core's, which says on the terminal how far it is.

pip shows nothing of a build but its end, and compiling the kernels takes minutes. So a line comes every few seconds, on
the terminal itself, if there is one; `pip install -v .` shows everything, as ever.
"""
from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator

from scikit_build_core import build as _backend
from scikit_build_core.build import *  # noqa: F403 (the hooks that are not here)

SECONDS_BETWEEN_LINES = 5.0
STEP = re.compile(rb"\[(\d+/\d+)\] (.*)")
TOLD = re.compile(rb"-- (ingot: .*)")  # message(STATUS "ingot: …") of CMake


class Progress:
    """Copies a stream of bytes; lines about steps are also shown, but not too often."""

    def __init__(self, source: int, copy: int, terminal) -> None:
        self.source, self.copy, self.terminal = source, copy, terminal
        self.shown = time.monotonic()

    def show(self, line: bytes) -> None:
        step, told = STEP.match(line), TOLD.match(line)
        now = time.monotonic()
        if told:
            self.terminal.write(b"\n  " + told[1] + b"\n")
        elif step and now - self.shown >= SECONDS_BETWEEN_LINES:
            self.shown = now
            self.terminal.write(b"\n  ingot: step " + step[1] + b", " + step[2][:90] + b"\n")

    def run(self) -> None:
        rest = b""
        while block := os.read(self.source, 65536):
            os.write(self.copy, block)
            *lines, rest = (rest + block).split(b"\n")
            with contextlib.suppress(OSError):
                for line in lines:
                    self.show(line)


@contextlib.contextmanager
def on_the_terminal() -> Iterator[None]:
    """While it lasts, what processes write to stdout is looked at for steps."""
    try:
        terminal = None if os.isatty(1) else open("/dev/tty", "wb", buffering=0)
    except OSError:
        terminal = None
    if terminal is None:
        yield
        return
    kept = os.dup(1)
    source, sink = os.pipe()
    os.dup2(sink, 1)
    os.close(sink)
    thread = threading.Thread(target=Progress(source, kept, terminal).run)
    thread.start()
    try:
        yield
    finally:
        os.dup2(kept, 1)  # the pipe's last writer is gone then
        thread.join()
        os.close(kept)
        os.close(source)
        terminal.close()


def build_wheel(wheel_directory: str, config_settings=None, metadata_directory=None) -> str:
    with on_the_terminal():
        return _backend.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory: str, config_settings=None, metadata_directory=None) -> str:
    with on_the_terminal():
        return _backend.build_editable(wheel_directory, config_settings, metadata_directory)
