"""`metal_kernel`: MLX's custom Metal kernels on NumPy arrays and torch tensors.

The call behaves as mx.fast.metal_kernel does: the source is a kernel's body, and the signature
is generated from the arrays of each call. docs/guide/mlx.md lists what differs.
"""

from __future__ import annotations

import operator
import re
from math import prod
from typing import Any, Sequence

import numpy as np

from ingot import _mlx_bridge
from ingot._mlx_arrays import METAL_TYPES, Input, dtype_name, make_input, make_outputs, maker_of
from ingot._mlx_bridge import disable, enable
from ingot._mlx_preamble import preamble

__all__ = ["MetalKernel", "MetalKernelError", "disable", "enable", "metal_kernel"]

ATTRIBUTES = {
    "dispatch_quadgroups_per_threadgroup": "uint",
    "dispatch_simdgroups_per_threadgroup": "uint",
    "dispatch_threads_per_threadgroup": "uint3",
    "grid_origin": "uint3",
    "grid_size": "uint3",
    "quadgroup_index_in_threadgroup": "uint",
    "quadgroups_per_threadgroup": "uint",
    "simdgroup_index_in_threadgroup": "uint",
    "simdgroups_per_threadgroup": "uint",
    "thread_execution_width": "uint",
    "thread_index_in_quadgroup": "uint",
    "thread_index_in_simdgroup": "uint",
    "thread_index_in_threadgroup": "uint",
    "thread_position_in_grid": "uint3",
    "thread_position_in_threadgroup": "uint3",
    "threadgroup_position_in_grid": "uint3",
    "threadgroups_per_grid": "uint3",
    "threads_per_grid": "uint3",
    "threads_per_simdgroup": "uint",
    "threads_per_threadgroup": "uint3",
}


class MetalKernelError(SyntaxError, RuntimeError):
    """The generated source does not compile. MLX raises RuntimeError here, ingot SyntaxError: it is both."""


def _three(name: str, value: Any, least: int) -> tuple[int, int, int]:
    """grid or threadgroup: three integers of at least `least`."""
    try:
        extents = tuple(operator.index(extent) for extent in value)
    except TypeError:
        raise TypeError(f"[metal_kernel] `{name}` must be a tuple of 3 integers, not {value!r}.") from None
    if len(extents) != 3:
        raise TypeError(f"[metal_kernel] `{name}` must have 3 integers, but has {len(extents)}: {value!r}.")
    for extent in extents:
        if not least <= extent < 2**31:
            raise ValueError(
                f"[metal_kernel] `{name}` is {extents}: {extent} is not in [{least}, 2147483647]."
            )
    return extents


def _template_argument(name: str, value: Any) -> tuple[str, str]:
    """The kind of a template parameter and its argument in Metal."""
    if isinstance(value, (bool, np.bool_)):
        return "bool", str(int(value))
    if isinstance(value, (int, np.integer)):
        if not -(2**31) <= value < 2**31:
            raise ValueError(f"[metal_kernel] The template argument {name}={value} does not fit in an int.")
        return "int", str(int(value))
    if isinstance(value, float) or value is None:
        raise ValueError(
            f"[metal_kernel] Invalid template argument {name}={value!r}. Must be a dtype, `int` or `bool`."
        )
    try:
        return "typename", METAL_TYPES[dtype_name(value)]
    except TypeError as error:
        raise ValueError(
            f"[metal_kernel] Invalid template argument {name}={value!r}. Must be a dtype, `int` or `bool`: {error}"
        ) from None


class MetalKernel:
    """A kernel made by `metal_kernel`; call it with keywords only.

    It is compiled once for each combination of input and output types, ways to pass the inputs
    and template arguments.
    """

    def __init__(
        self,
        name: str,
        input_names: Sequence[str],
        output_names: Sequence[str],
        source: str,
        header: str = "",
        ensure_row_contiguous: bool = True,
        atomic_outputs: bool = False,
        compile_options: dict[str, str] | None = None,
    ) -> None:
        self.name = _text("name", name)
        self.input_names = _names("input_names", input_names)
        self.output_names = _names("output_names", output_names)
        self.source = _text("source", source)
        self.header = _text("header", header)
        self.ensure_row_contiguous = bool(ensure_row_contiguous)
        self.atomic_outputs = bool(atomic_outputs)
        self.math_mode = _math_mode(compile_options)
        if not re.fullmatch(r"\w+", name, re.ASCII):
            raise ValueError(
                f"[metal_kernel] The name {name!r} cannot be a part of a function's name in Metal."
            )
        if not self.output_names:
            raise ValueError("[metal_kernel] Must specify at least one output.")
        names = self.input_names + self.output_names
        twice = [n for n in names if names.count(n) > 1]
        if twice:
            raise ValueError(f"[metal_kernel] The name `{twice[0]}` is given to two arguments.")
        # MLX looks in the body only, and for the bare text.
        self._mentions = [
            tuple(f"{n}_{what}" in source for what in ("shape", "strides", "ndim")) for n in input_names
        ]
        self._attributes = [(name, kind) for name, kind in ATTRIBUTES.items() if name in source]
        self._compiled: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<ingot.MetalKernel {self.name}({', '.join(self.input_names)}) -> {', '.join(self.output_names)}>"

    def __call__(
        self,
        *,
        inputs: Sequence[Any],
        output_shapes: Sequence[Sequence[int]],
        output_dtypes: Sequence[Any],
        grid: tuple[int, int, int],
        threadgroup: tuple[int, int, int],
        template: Sequence[tuple[str, Any]] | None = None,
        init_value: float | None = None,
        verbose: bool = False,
        stream: Any = None,
    ) -> list[Any]:
        """Run the kernel and return its outputs.

        inputs: NumPy arrays, torch tensors or numbers, one for each of input_names.
        output_shapes, output_dtypes: of the outputs; dtypes of NumPy, torch or MLX, or their names.
        grid: how many threads there are in all, in x, y and z.
        threadgroup: threads of a threadgroup; made smaller where the grid is smaller.
        template: pairs of a name and a dtype, an int or a bool.
        init_value: what the outputs hold before the kernel runs; without it they are uninitialised.
        verbose: print the generated source.
        stream: there for compatibility, not used; the results are complete on return.

        The outputs are torch tensors if an input is one (or an output's dtype is torch's), MLX arrays if an input is
        one of those, else NumPy arrays.
        """
        self._check_counts(inputs, output_shapes, output_dtypes)
        grid = _three("grid", grid, 0)
        group = _three("threadgroup", threadgroup, 1)
        given = [make_input(n, x, self.ensure_row_contiguous) for n, x in zip(self.input_names, inputs)]
        out_types = tuple(dtype_name(dtype) for dtype in output_dtypes)
        arguments = tuple((_text("template", n), *_template_argument(n, v)) for n, v in template or ())
        kernel = self._kernel(given, out_types, arguments, verbose)
        maker = maker_of(inputs, output_dtypes)
        outputs = make_outputs(maker, output_shapes, output_dtypes, out_types, init_value)
        most = kernel.max_threads_per_threadgroup
        if prod(group) > most:
            raise ValueError(
                f"[metal_kernel] Thread group size ({prod(group)}) is greater than the maximum allowed threads "
                f"per threadgroup ({most}) of `{self.name}`."
            )
        if prod(grid):
            self._launch(kernel, given, outputs, grid, tuple(map(min, group, grid)))
        if maker != "mlx":
            return outputs
        return [_mlx_bridge.from_numpy(out, name) for out, name in zip(outputs, out_types)]

    def _check_counts(self, inputs: Any, output_shapes: Any, output_dtypes: Any) -> None:
        expected = len(self.input_names), len(self.output_names), len(self.output_names)
        for what, value, count in zip(
            ("inputs", "output_shapes", "output_dtypes"), (inputs, output_shapes, output_dtypes), expected
        ):
            if not isinstance(value, (list, tuple)):
                raise TypeError(f"[metal_kernel] `{what}` must be a list, not a {type(value).__name__}.")
            if len(value) != count:
                raise ValueError(
                    f"[metal_kernel] Expected `{what}` to have size {count} but got size {len(value)}."
                )

    def _kernel(self, given: list[Input], out_types: tuple[str, ...], arguments: Any, verbose: bool) -> Any:
        key = tuple([(x.dtype, x.by) for x in given]), out_types, arguments
        kernel = self._compiled.get(key)
        if kernel is not None and not verbose:
            return kernel
        name, lines = self._generate([(x.dtype, x.by) for x in given], out_types, arguments)
        if verbose:
            text = self.header + "".join(lines)
            print(f"Generated source code for `{self.name}`:\n```\n{text}\n```")
        if kernel is None:
            kernel = self._compiled[key] = self._compile(name, lines)
        return kernel

    def _generate(self, inputs: Any, out_types: Any, arguments: Any) -> tuple[str, tuple[str, str, str]]:
        """The kernel's name and its source: what stands before the body, the body, and what follows."""
        values = ", ".join(value for _, _, value in arguments)
        name = f"custom_kernel_{self.name}"
        for part in [value for _, _, value in arguments]:
            name += "_" + part.replace("-", "m")
        for dtype, by in inputs:
            name += f"_{METAL_TYPES[dtype]}{by}"
        for dtype in out_types:
            name += "_" + METAL_TYPES[dtype]
        parameters = []

        def buffer(declaration: str) -> None:
            parameters.append(f"  {declaration} [[buffer({len(parameters)})]]")

        for argument, (dtype, by), (shape, strides, ndim) in zip(self.input_names, inputs, self._mentions):
            space = "constant" if by else "device"
            buffer(f"const {space} {METAL_TYPES[dtype]}{'&' if by == 's' else '*'} {argument}")
            if by != "s":
                if shape:
                    buffer(f"const constant int* {argument}_shape")
                if strides:
                    buffer(f"const constant int64_t* {argument}_strides")
                if ndim:
                    buffer(f"const constant int& {argument}_ndim")
        for argument, dtype in zip(self.output_names, out_types):
            pointee = f"atomic<{METAL_TYPES[dtype]}>" if self.atomic_outputs else METAL_TYPES[dtype]
            buffer(f"device {pointee}* {argument}")
        parameters += [f"  {kind} {attribute} [[{attribute}]]" for attribute, kind in self._attributes]
        before = ",\n".join(parameters)
        before = f"[[kernel]] void {name}(\n{before}) {{\n"
        after = "\n}\n"
        if arguments:
            listed = ", ".join(f"{kind} {parameter}" for parameter, kind, _ in arguments)
            before = f"template <{listed}>\n{before}"
            made = f"{name}<{values}>"
            after += f'\ntemplate [[host_name("{name}")]] [[kernel]] decltype({made}) {made};\n'
        return name, (before, self.source, after)

    def _compile(self, name: str, lines: tuple[str, str, str]) -> Any:
        from ingot import compile_shader

        before, body, after = lines
        label = f"metal_kernel {self.name}"
        places = {f"{label} (header)": self.header, label: body}
        text = (
            f'{preamble(self.header + before + body)}#line 1 "{label} (header)"\n{self.header}\n'
            f'#line 1 "{label} (generated signature)"\n{before}#line 1 "{label}"\n{body}\n'
            f'#line 1 "{label} (generated end)"\n{after}'
        )
        try:
            library = compile_shader(text, fast_math=self.math_mode == "fast")
        except SyntaxError as error:
            raise MetalKernelError(_with_source(str(error), places)) from None
        return getattr(library, name)

    def _launch(self, kernel: Any, given: list[Input], outputs: list[Any], grid: Any, group: Any) -> None:
        arguments: list[Any] = []
        casts: dict[int, str] = {}
        for x, (shape, strides, ndim) in zip(given, self._mentions):
            arguments.append(x.array)
            if not x.shape:
                continue
            if shape:
                casts[len(arguments)] = "int32"
                arguments.append(list(x.shape))
            if strides:
                arguments.append(list(x.strides))
            if ndim:
                casts[len(arguments)] = "int32"
                arguments.append(len(x.shape))
        arguments += outputs
        kernel(*arguments, threads=grid, group_size=group, arg_casts=casts or None)


def _text(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"[metal_kernel] `{what}` must be a str, not a {type(value).__name__}.")
    return value


def _names(what: str, names: Any) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"[metal_kernel] `{what}` must be a list of str, not a {type(names).__name__}.")
    for name in names:
        if not _text(what, name).isidentifier():
            raise ValueError(f"[metal_kernel] The name {name!r} in `{what}` is not an identifier.")
    return list(names)


def _math_mode(options: Any) -> str:
    if options is None:
        return "safe"
    if not isinstance(options, dict):
        raise ValueError(
            f"[metal_kernel] Expected `compile_options` to be a dict, not a {type(options).__name__}."
        )
    for option in options:
        if option != "math_mode":
            raise ValueError(f"[metal_kernel] Unknown compile option `{option}`.")
    mode = options.get("math_mode", "safe")
    if mode not in ("safe", "relaxed", "fast"):
        raise ValueError(
            f"[metal_kernel] Expected math_mode to be 'safe', 'relaxed', or 'fast', not {mode!r}."
        )
    return mode


def _with_source(message: str, places: dict[str, str]) -> str:
    """The compiler's message with the lines it names: it has only seen them inside the generated file."""
    shown = []
    for line in message.splitlines():
        shown.append(line)
        for label, text in places.items():
            found = re.match(re.escape(label) + r":(\d+):(\d+): ", line)
            rows = text.split("\n")
            if found and int(found[1]) <= len(rows):
                shown += [rows[int(found[1]) - 1], " " * (int(found[2]) - 1) + "^"]
    return "\n".join(shown)


def metal_kernel(
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    source: str,
    header: str = "",
    ensure_row_contiguous: bool = True,
    atomic_outputs: bool = False,
    compile_options: dict[str, str] | None = None,
) -> MetalKernel:
    """A kernel from the body of a Metal function, as mx.fast.metal_kernel makes it.

        double = ingot.metal_kernel("double", ["x"], ["y"],
                                    "uint i = thread_position_in_grid.x; y[i] = x[i] + x[i];")
        [y] = double(inputs=[x], output_shapes=[x.shape], output_dtypes=[x.dtype],
                     grid=(x.size, 1, 1), threadgroup=(256, 1, 1))

    Args:
        name: a name for the kernel.
        input_names: the inputs' names in the generated signature. `x_shape`, `x_strides` and `x_ndim` of an input x
            are parameters too where the source mentions them, and so are Metal's attributes, such as
            thread_position_in_grid.
        output_names: the outputs' names.
        source: the function's body.
        header: source that goes before the function.
        ensure_row_contiguous: copy inputs that are not row-contiguous before the kernel runs.
        atomic_outputs: declare the outputs as `device atomic<T> *`.
        compile_options: {"math_mode": "safe" | "relaxed" | "fast"}.
    """
    return MetalKernel(
        name,
        input_names,
        output_names,
        source,
        header,
        ensure_row_contiguous,
        atomic_outputs,
        compile_options,
    )
