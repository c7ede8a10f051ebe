"""The Python half of torch.ops.ingot.

An operation is described in its folder, kernels/NAME/NAME.py, which is ingot._operations.NAME here: schemas, shapes
without data, gradients, autocast, overrides, the functions of ingot.ops and the modules of ingot.nn. describe.py is
what that is written with. The extension defines the operators and their kernels from the same schemas. Everything is
registered once, by load().
"""
from __future__ import annotations

import threading
from importlib import import_module

from ingot import _onednn

_lock = threading.Lock()
_loaded = False
_failure: Exception | None = None


def load() -> None:
    """Registers every operator of torch.ops.ingot. Further calls do nothing.

    Raises ImportError where PyTorch is missing or too old to take operators from an extension.
    """
    global _loaded, _failure
    if _loaded:
        return
    with _lock:
        if _loaded:
            return
        if _failure is not None:  # half of the operators may be there, and no operator can be registered twice
            raise _failure
        _onednn.settle()
        try:
            import torch  # noqa: F401
        except ImportError as error:
            raise ImportError("ingot's operators need PyTorch 2.7 or newer, which is not installed") from error
        try:
            _register_all()
        except Exception as error:
            _failure = error
            raise
        _loaded = True


def _register_all() -> None:
    """The extension's part first, then the descriptions, which register the rest."""
    from ingot import _C, _operations
    from ingot._torch import registry

    if not registry.registered_before:
        registry.define_operators()
    from ingot._torch import describe

    for name in _operations.NAMES:
        import_module(f"ingot._operations.{name}")
    describe.finish()
    missing = set(describe.SCHEMAS) - describe.DESCRIBED
    if missing:
        raise ImportError(f"the extension has the operators {', '.join(sorted(missing))}, which no description has; "
                          "build it again")
    _C.torch_library = registry.library
