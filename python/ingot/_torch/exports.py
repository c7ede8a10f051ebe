"""What ingot.ops, ingot.nn and ingot.optim take over from the descriptions of the operations."""
from __future__ import annotations

import inspect
from typing import Any


def adopt(module: str, members: dict[str, Any], names: list[str]) -> None:
    """Makes functions and classes say that they are of the module where users see them; pickles name it."""
    for name in names:
        if inspect.isclass(members[name]) or inspect.isfunction(members[name]):
            members[name].__module__ = module
