"""The sanitizer: checks in kernels on the CPU (docs/guide/sanitizer.md)."""
from __future__ import annotations

from typing import Any

from ingot import _C


class Findings:
    """What the sanitizer has found; `ingot.sanitize()` gives one.

    As a context manager it begins with an empty list and holds what was found inside when the block ends.
    """

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []

    def take(self) -> list[dict[str, Any]]:
        """Waits for queued kernels; the findings since the last call."""
        return _C.findings()

    def __enter__(self) -> Findings:
        self.take()
        self.items = []
        return self

    def __exit__(self, *_: object) -> None:
        self.items = self.take()

    def __iter__(self):
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.items[index]


def sanitize(kinds: str = "default") -> Findings:
    """Kernels on the CPU get checks of these kinds, for the rest of the process: "bounds,race", "default", "all".

    To be called before the first kernel runs. Reports go to stderr, and to what is returned:

        with ingot.sanitize() as findings:
            library.kernel(x)
        assert not findings
    """
    _C.sanitize(kinds)
    return Findings()
