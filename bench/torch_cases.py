"""The operations of `ingot bench` in torch, for torch_compare.py, from kernels/NAME/NAME_bench.py.

TORCH of such a file has a function for each operation. It takes a Case and gives (function, arguments), or
(function, arguments, True) when torch.compile may try; a function in the place of True is what it compiles instead.
FUSED: these are operations on rows or elements, so torch is to be reached, and its compiler may have something to fuse.
TARGETS has, for an operation, a function that gives how many times as fast as torch a Case should be, or None.
HAS_GGML: operations that bench/ggml_matvec.c can be asked for.
GPU_SANITIZER_PARTS: into how many processes bench/gpu_sanitizer.sh divides an operation that takes long.
"""
import importlib
import pathlib
import sys

from torch_case import Backward, Case

__all__ = ["FUSED", "HAS_GGML", "OPERATIONS", "TARGETS", "Backward", "Case"]

FILES = sorted(pathlib.Path(__file__).resolve().parent.parent.glob("kernels/*/*_bench.py"))
sys.path += [str(file.parent) for file in FILES]
MODULES = [importlib.import_module(file.stem) for file in FILES]
OPERATIONS = {name: function for module in MODULES for name, function in module.TORCH.items()}
FUSED = {name for module in MODULES if hasattr(module, "FUSED") for name in module.TORCH}
TARGETS = {name: target for module in MODULES for name, target in getattr(module, "TARGETS", {}).items()}
HAS_GGML = {name for module in MODULES for name in getattr(module, "HAS_GGML", ())}
