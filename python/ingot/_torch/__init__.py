"""The Python half of torch.ops.ingot.

The extension defines the operators and their CPU kernels; this package adds what PyTorch takes from Python:
shapes without data (fake.py), gradients (autograd_*.py), autocast (autocast.py) and the version counters of the
operators that change their arguments (inplace.py). Everything is registered once, by load().
"""
from __future__ import annotations

import threading

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
    """The extension's part first, then the modules of this package.

    The extension is loaded once per process and holds what was registered, since these modules may be imported
    again: by a test that empties sys.modules, for one.
    """
    from ingot import _C

    if hasattr(_C, "torch_library"):
        return
    from ingot._torch import registry

    registry.define_operators()
    from ingot._torch import (autocast, autograd_attention, autograd_embedding, autograd_linalg, autograd_matrix,
                              autograd_pointwise, autograd_rows, autograd_spectral, autograd_training, fake, inplace)

    for module in (fake, inplace, autograd_pointwise, autograd_rows, autograd_attention, autograd_matrix,
                   autograd_embedding, autograd_linalg, autograd_spectral, autograd_training, autocast):
        module.register()
    _C.torch_library = registry.library
