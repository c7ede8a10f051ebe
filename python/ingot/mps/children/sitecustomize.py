"""For Python processes that a test under `pytest --ingot-mps` starts: device mps exists there too.

pytest_plugin puts this folder first in PYTHONPATH and sets INGOT_MPS. The emulation starts when torch has been
imported. A sitecustomize that this one hides is run as well.
"""
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys


class _AfterTorch(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds torch as others would, and enables ingot.mps once it is loaded."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        self.loader = spec.loader
        spec.loader = self
        return spec

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        import ingot.mps

        ingot.mps.enable()


def _run_hidden_sitecustomize():
    here = os.path.dirname(os.path.abspath(__file__))
    elsewhere = [entry for entry in sys.path if os.path.abspath(entry) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("INGOT_MPS") == "1":
    sys.meta_path.insert(0, _AfterTorch())
_run_hidden_sitecustomize()
