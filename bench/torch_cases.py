"""The operations of `ingot bench` in torch, for torch_compare.py, from kernels/NAME/NAME_bench.py.

TORCH of such a file has a function for each operation. It takes a Case and gives (function, arguments), or
(function, arguments, True) when torch.compile may try; a function in the place of True is what it compiles instead.
"""
import importlib
import pathlib
import sys

from torch_case import Backward, Case

__all__ = ["OPERATIONS", "Backward", "Case"]

FILES = sorted(pathlib.Path(__file__).resolve().parent.parent.glob("kernels/*/*_bench.py"))
sys.path += [str(file.parent) for file in FILES]
OPERATIONS = {name: function for file in FILES for name, function in importlib.import_module(file.stem).TORCH.items()}
