"""ingot: run Metal compute kernels anywhere."""
from ingot import _C

__version__ = _C.version
