"""How a torch operator is replaced and put back.

Kinds of replacement, all undone exactly:

* `leaf`: an operator with a CPU kernel of its own. ingot's function is put over that kernel;
  autograd, autocast and the rest of the dispatcher stay as they are.
* `composite`: an operator that torch composes of others. ingot's function goes to AutogradCPU and
  CPU.
* `function`: a Python function of torch that no operator stands for, replaced in its module.
* `native`: one of the first two, of which only the extension has a function.

The descriptions of the operations (kernels/NAME/NAME.py) declare them. The small operators have their
function in the extension too (src/python/torch/override.h), which decides and hands on without Python.
The others, and all that this torch's C interface cannot pass, have one in Python, by torch.library; it
returns NotImplemented for what it does not take, which goes to the kernel underneath: by
torch.library.get_kernel where this torch has it; else a leaf sits at BackendSelect, one step above the
backends, and redispatches, and a composite is decomposed by OpOverload.decompose.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from typing import Any, Callable

import torch

from ingot import _C

__all__ = ["Replacement", "REPLACEMENTS", "composite", "function", "leaf", "native"]


class Replacement:
    """One operator or function that ingot can stand in for.

    name: "aten::silu", or "torch.optim.adam.adam". run: None where the extension alone has a function for it.
    limits_in_c: limits that hold for the extension's function only.
    """

    def __init__(self, group: str, name: str, kind: str, run: Callable[..., Any] | None,
                 limits_in_c: tuple[str, ...] = ()) -> None:
        self.group, self.name, self.kind, self.run, self.limits_in_c = group, name, kind, run, limits_in_c
        self._replaced = self._passed = 0
        self._undo: list[Callable[[], None]] = []

    @property
    def installed(self) -> bool:
        return bool(self._undo)

    @functools.cached_property
    def in_c(self) -> bool:
        """Whether the extension has the function for it, with this torch."""
        return self.name in _names_in_c()

    def counts(self) -> tuple[int, int]:
        """How many calls ingot carried out, and how many went to torch."""
        return _C.override_counts(self.name) if self.in_c else (self._replaced, self._passed)

    def reset_counts(self) -> None:
        self._replaced = self._passed = 0
        if self.in_c:
            _C.override_reset_counts(self.name)

    def available(self) -> bool:
        """Whether this torch has the operator, in a way that it can be replaced."""
        if self.kind == "native":
            return self.in_c
        if self.kind == "function":
            return _find(self.name)[2] is not None
        return hasattr(torch.ops.aten, self._operator_name)

    @property
    def _operator_name(self) -> str:
        return self.name.partition("::")[2]

    def install(self) -> None:
        if self.in_c:
            self._install_c()
        else:
            getattr(self, f"_install_{self.kind}")()

    def _install_c(self) -> None:
        _C.override_install(self.name)
        self._undo.append(functools.partial(_C.override_remove, self.name))

    def remove(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _attempt(self, args: Any, kwargs: Any) -> Any:
        if torch.is_autocast_enabled("cpu"):  # its casts are done when a kernel is reached
            with torch.autocast("cpu", enabled=False):
                result = self.run(*args, **kwargs)
        else:
            result = self.run(*args, **kwargs)
        if result is NotImplemented:
            self._passed += 1
        else:
            self._replaced += 1
        return result

    def _register(self, implementation: Callable[..., Any], key: str) -> None:
        library = torch.library.Library("aten", "IMPL")
        self._undo.append(functools.partial(_destroy, library))
        library.impl(self._operator_name, implementation, key, with_keyset=True)

    def _install_leaf(self) -> None:
        if hasattr(torch.library, "get_kernel"):
            underneath = torch.library.get_kernel(self.name, "CPU").call_boxed
            self._register(self._over(underneath), "CPU")
            return
        operator = getattr(torch.ops.aten, self._operator_name).default
        self._register(self._over(functools.partial(_redispatch, operator)), "BackendSelect")

    def _install_composite(self) -> None:
        operator = getattr(torch.ops.aten, self._operator_name).default
        for key in ("AutogradCPU", "CPU"):
            if hasattr(torch.library, "get_kernel"):
                underneath = torch.library.get_kernel(self.name, key).call_boxed
            else:
                underneath = functools.partial(_decompose, operator)
            self._register(self._over(underneath), key)

    def _over(self, underneath: Callable[..., Any]) -> Callable[..., Any]:
        """ingot's function, and `underneath` for what that hands on."""

        def implementation(keys: Any, *args: Any, **kwargs: Any) -> Any:
            result = self._attempt(args, kwargs)
            return underneath(keys, *args, **kwargs) if result is NotImplemented else result

        return implementation

    def _install_function(self) -> None:
        owner, attribute, original = _find(self.name)

        @functools.wraps(original)
        def implementation(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(*args, **kwargs)
            result = self._attempt(args, kwargs)
            return original(*args, **kwargs) if result is NotImplemented else result

        setattr(owner, attribute, implementation)
        self._undo.append(lambda: setattr(owner, attribute, original))


@functools.cache
def _names_in_c() -> frozenset[str]:
    """The operators that the extension overrides with this torch."""
    _use_up_the_warning()
    return frozenset(_C.override_names())


def _use_up_the_warning() -> None:
    """Has torch 2.7 to 2.9 say here, unheard, what it says once per process: that a kernel was overridden."""
    if hasattr(torch.library, "get_kernel"):
        return
    library = torch.library.Library("ingot", "FRAGMENT")
    library.define("_overridden(Tensor x) -> ()")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            library.m.impl("_overridden", "CPU", lambda x: None, False)


def _destroy(library: Any) -> None:
    """Takes back what was registered. Without a method for it, that happens when the last reference goes."""
    if hasattr(library, "_destroy"):
        library._destroy()


def _redispatch(operator: Any, keys: Any, *args: Any, **kwargs: Any) -> Any:
    """Goes on below BackendSelect."""
    return operator.redispatch(keys.remove(torch._C.DispatchKey.BackendSelect), *args, **kwargs)


def _decompose(operator: Any, keys: Any, *args: Any, **kwargs: Any) -> Any:
    """torch's composition."""
    return operator.decompose(*args, **kwargs)


def _find(name: str) -> tuple[Any, str, Any]:
    """The module of a dotted name, its last part, and what is there (None: nothing)."""
    module, _, attribute = name.rpartition(".")
    owner = importlib.import_module(module)
    return owner, attribute, getattr(owner, attribute, None)


REPLACEMENTS: dict[str, Replacement] = {}


def _declare(kind: str, group: str, name: str, in_c: tuple[str, ...]) -> Callable[..., Any]:
    if name in REPLACEMENTS:
        raise TypeError(f"{name} has an override already, of the group {REPLACEMENTS[name].group}")

    def declared(run: Callable[..., Any] | None) -> Callable[..., Any] | None:
        REPLACEMENTS[name] = Replacement(group, name, kind, run, in_c)
        return run

    return declared


def leaf(group: str, name: str, *, original: str | None = None, in_c: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Declares a function as ingot's stand-in for the CPU kernel of aten::name.

    original: where the extension has a stand-in too (override_NAME in FOLDER_torch.c), the symbol of torch's C++
    function that it stands for. Read by the build, so a literal.
    in_c: the limits that were measured with that one; from Python, a call takes longer.
    """
    return _declare("leaf", group, f"aten::{name}", in_c)


def composite(group: str, name: str, *, original: str | None = None, in_c: tuple[str, ...] = ()) -> Callable[..., Any]:
    """The same for aten::name that torch composes of others."""
    return _declare("composite", group, f"aten::{name}", in_c)


def function(group: str, name: str) -> Callable[..., Any]:
    """Declares a function as ingot's stand-in for a Python function of torch, by dotted name."""
    return _declare("function", group, name, ())


def native(group: str, name: str, *, original: str) -> None:
    """Declares that the extension alone has a stand-in for aten::name: from Python it would cost more than it gains."""
    _declare("native", group, f"aten::{name}", ())(None)
