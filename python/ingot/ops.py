"""ingot's operations as functions on PyTorch tensors.

Importing this module registers the operators as torch.ops.ingot.*; the functions here are the same with names for
enumerations, None for what is absent, and torch's conventions for shapes. Gradients, autocast, torch.compile and
torch.export work with all of them. Tensors are float32, float16 or bfloat16; arithmetic is float32.

They come from the descriptions of the operations, kernels/NAME/NAME.py.
"""
from ingot._torch import load as _load

_load()

from ingot._operations.exported_ops import *  # noqa: E402, F403
from ingot._operations.exported_ops import __all__ as __all__  # noqa: E402
from ingot._torch.exports import adopt as _adopt  # noqa: E402

_adopt("ingot.ops", globals(), __all__)
