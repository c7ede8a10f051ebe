"""Adam and AdamW: torch.optim's classes, with the step computed by ingot in one call per group.

They come from the description of the operation, kernels/adamw/adamw_optim.py.
"""
from ingot._torch import load as _load

_load()

from ingot._operations.exported_optim import *  # noqa: E402, F403
from ingot._operations.exported_optim import __all__ as __all__  # noqa: E402
from ingot._torch.exports import adopt as _adopt  # noqa: E402

_adopt("ingot.optim", globals(), __all__)
