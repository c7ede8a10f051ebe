"""How Python processes that others start find device mps too."""
from __future__ import annotations

import os


def tell_children() -> None:
    """Puts the folder with a sitecustomize.py first in their path, and says that it is wanted."""
    folder = os.path.dirname(os.path.abspath(__file__))
    entries = [os.path.join(folder, "children"), os.path.dirname(os.path.dirname(folder))]
    present = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    others = [entry for entry in present if entry not in entries]
    os.environ["PYTHONPATH"] = os.pathsep.join([entries[0], *others, entries[1]])
    os.environ["INGOT_MPS"] = "1"
