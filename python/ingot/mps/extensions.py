"""torch.utils.cpp_extension, for sources in Objective-C++: they are compiled and linked by the bridge's command.

Extensions in C++ alone are built as ever. The module is changed when it is imported, or at once if it was; with it
setuptools' own build_ext, which setup.py files of Macs teach to take `.mm` files.
"""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator

from ingot.mps import bridge

_MODULE = "torch.utils.cpp_extension"


_OF_MACS = ("-ObjC++", "objective-c++", "-framework", "-fobjc-arc")  # flags that say it as well


def _has_objective_cxx(sources: Any, *flags: Any) -> bool:
    """Is a source in Objective-C++, by its name or by what the compiler is told?"""
    if any(str(source).endswith(".mm") for source in sources):
        return True
    words = [word for part in flags for word in (sum(part.values(), []) if isinstance(part, dict) else part or ())]
    return any(flag in str(word) for word in words for flag in _OF_MACS)


@contextmanager
def _compiled_by_bridge(module: Any) -> Iterator[None]:
    command = bridge.command()
    kept = module.get_cxx_compiler, module.get_compiler_abi_compatibility_and_version
    module.get_cxx_compiler = lambda: command
    module.get_compiler_abi_compatibility_and_version = lambda compiler: (True, None)
    try:
        yield
    finally:
        module.get_cxx_compiler, module.get_compiler_abi_compatibility_and_version = kept


def _for_sources(module: Any, function: Callable) -> Callable:
    """`function` of the module, which takes sources= and asks for the compiler."""

    def call(*args: Any, **kwargs: Any) -> Any:
        flags = [kwargs.get(name) for name in ("cflags", "post_cflags", "extra_cflags", "extra_ldflags")]
        if not _has_objective_cxx(kwargs.get("sources", ()), *flags):
            return function(*args, **kwargs)
        with _compiled_by_bridge(module):
            return function(*args, **kwargs)

    return call


# The commands of setuptools' compilers, of which the first word is the program.
_EXECUTABLES = ("compiler", "compiler_so", "compiler_cxx", "compiler_so_cxx", "linker_so", "linker_so_cxx")


@contextmanager
def _compilers_of(compiler: Any) -> Iterator[None]:
    """The bridge's command in place of the compiler's programs, and of a `clang++` that setup.py names itself."""
    command = bridge.command()
    kept = {name: getattr(compiler, name) for name in _EXECUTABLES if hasattr(compiler, name)}
    path = os.environ.get("PATH", os.defpath)
    try:
        for name, words in kept.items():
            setattr(compiler, name, [command, *_arguments(words)])
        os.environ["PATH"] = bridge.clang_folder() + os.pathsep + path
        with _compiled_by_bridge(sys.modules[_MODULE]):
            yield
    finally:
        os.environ["PATH"] = path
        for name, words in kept.items():
            setattr(compiler, name, words)


def _for_build_ext(build_extension: Callable) -> Callable:
    """setuptools' build_ext.build_extension, to which BuildExtension comes too."""

    def call(self: Any, extension: Any) -> None:
        if not _has_objective_cxx(extension.sources, extension.extra_compile_args, extension.extra_link_args):
            build_extension(self, extension)
            return
        with _compilers_of(self.compiler):
            build_extension(self, extension)

    return call


def _arguments(words: list[str]) -> list[str]:
    """What follows the program's name, and the words before it (ccache, env)."""
    first = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    return list(words[first:])


def _change(module: Any, replace: Callable[[Any, str, Any], None]) -> None:
    for name in ("_write_ninja_file_and_build_library", "_write_ninja_file_and_compile_objects"):
        replace(module, name, _for_sources(module, getattr(module, name)))
    build_ext = module.BuildExtension.__bases__[0]
    replace(build_ext, "build_extension", _for_build_ext(build_ext.build_extension))


class _WhenImported(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds torch.utils.cpp_extension as others would, and changes it once it is loaded."""

    def __init__(self, replace: Callable[[Any, str, Any], None]) -> None:
        self.replace = replace

    def find_spec(self, name, path=None, target=None):
        if name != _MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        self.loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        _change(module, self.replace)


_finder: _WhenImported | None = None


def install(replace: Callable[[Any, str, Any], None]) -> None:
    """Changes cpp_extension now or when it is imported; `replace` remembers what was there."""
    global _finder
    if _MODULE in sys.modules:
        _change(sys.modules[_MODULE], replace)
    else:
        _finder = _WhenImported(replace)
        sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """Forgets the import that did not come."""
    global _finder
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    _finder = None
