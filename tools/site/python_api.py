"""The pages of the Python package's API, as directives for mkdocstrings: a name and where it is defined.

Requires the package as the build has it (tools/site/package makes it): python/ingot, and
ingot/_operations with what the operations export. Nothing is imported; sources are read. A public name of
`ingot.__all__` that no page has is an error, and so is a page without a name.
"""
from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Page:
    title: str
    text: str
    names: list[str] = field(default_factory=list)  # where each is defined: ingot.shader.compile_shader

    def markdown(self) -> str:
        out = [f"# {self.title}", "", self.text, ""]
        for name in self.names:
            out += [f"::: {name}", ""]
        return "\n".join(out)


def string_list(node: ast.AST) -> list[str]:
    return [item.value for item in node.elts if isinstance(item, ast.Constant)] if isinstance(node, ast.List) else []


def public(path: Path) -> list[str]:
    """__all__ of a source, as far as it stands there."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return string_list(node.value)
    raise ValueError(f"{path} has no __all__")


def exported(package: Path, module: str) -> list[str]:
    """What the operations give to ingot.MODULE, by where it is defined; other names of the same thing are left out."""
    source = ast.parse((package / "_operations" / f"exported_{module}.py").read_text())
    imports = [node for node in source.body if isinstance(node, ast.ImportFrom)]
    defined = {}
    for origin, name in ((node.module, alias.name) for node in imports for alias in node.names):
        path = package / (origin.removeprefix("ingot.").replace(".", "/") + ".py")
        nodes = ast.parse(path.read_text()).body
        if any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name for node in nodes):
            defined[name] = f"{origin}.{name}"
    return [defined[name] for name in sorted(defined, key=str.lower)]


def lazy_names(package: Path) -> dict[str, str]:
    """The names that `ingot` imports on first use, by where they are defined."""
    for node in ast.parse((package / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_LAZY":
            table = ast.literal_eval(node.value)
            return {name: f"{module}.{attribute}" for name, (module, attribute) in table.items() if attribute}
    raise ValueError("python/ingot/__init__.py has no _LAZY")


def pages(package: Path) -> dict[str, Page]:
    lazy = lazy_names(package)
    overrides = [name for name in lazy if "_overrides" in lazy[name] or "_patch" in lazy[name]]
    functions = ("compile_shader", "load_metallib", "synchronize", "check_errors")
    classes = ("ShaderLibrary", "Kernel", "Argument", "Error", "ArgumentError")
    found = {
        "ingot": Page("ingot", "Kernels from source and from archives, waiting, and errors.",
                      [f"ingot.shader.{name}" for name in functions] + [f"ingot._C.{name}" for name in classes]),
        "ingot-ops": Page("ingot.ops", "The operations as functions on PyTorch tensors. Gradients, autocast, "
                          "torch.compile and torch.export work with all of them.", exported(package, "ops")),
        "ingot-nn": Page("ingot.nn", "Modules that stand for torch.nn's, and parts of transformers.",
                         [f"ingot.nn.{name}" for name in public(package / "nn.py")] + exported(package, "nn")),
        "ingot-optim": Page("ingot.optim", "Optimizers that stand for torch.optim's.", exported(package, "optim")),
        "ingot-overrides": Page("Overrides and patches", "torch's own operators, and the modules of a model, "
                                "carried out by ingot. All of these are members of `ingot`.",
                                [lazy[name] for name in overrides]),
        "ingot-mps": Page("ingot.mps", "Device `mps` without a Mac.",
                          [f"ingot.mps.{name}" for name in public(package / "mps/__init__.py")]),
        "ingot-mlx": Page("ingot.mlx", "MLX's custom kernels; `ingot.metal_kernel` is the same function.",
                          [f"ingot.mlx.{name}" for name in public(package / "mlx.py")]),
        "ingot-sanitizer": Page("ingot.sanitize", "Checks in kernels, which name each mistake with its line.",
                                ["ingot.sanitizer.sanitize", "ingot.sanitizer.Findings"]),
        "ingot-cache": Page("ingot.cache", "Compiled kernels on disk.",
                            [f"ingot.cache.{name}" for name in public(package / "cache.py")]),
    }
    shown = {name.rsplit(".", 1)[1] for page in found.values() for name in page.names}
    modules = {name.removeprefix("ingot-") for name in found} | {"__version__"}
    missing = [name for name in public(package / "__init__.py") if name not in shown | modules]
    empty = [page.title for page in found.values() if not page.names]
    if missing or empty:
        raise ValueError(f"names of ingot.__all__ without a page: {missing}; pages without a name: {empty}")
    return found
