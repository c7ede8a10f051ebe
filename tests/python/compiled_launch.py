"""Runs a case of compiled_cases.py on a library: one of Apple's, or one compiled from source."""

import numpy as np

from compiled_cases import Out, zeros

LITERALS = {"f32": "f4", "f16": "f2", "bool": "?"} | {f"{s}{8 * n}": f"{s}{n}" for s in "iu" for n in (1, 2, 4, 8)}


def array_of(literal):
    """The bytes of an argument as the command line writes it: i32:1,2, hex:00ff."""
    kind, _, values = literal.partition(":")
    if kind == "hex":
        return np.frombuffer(bytes.fromhex(values), "u1").copy()
    return np.array([float(v) if "f" in kind else int(v) for v in values.split(",")]).astype(LITERALS[kind])


def bound(argument):
    if isinstance(argument, Out):
        return zeros(argument.type, np.asarray(argument.expected).size)
    return array_of(argument) if isinstance(argument, str) else np.ascontiguousarray(argument)


def numbers(text):
    return [int(part) for part in text.split(",")]


def grid_of(case):
    """Threads and threads of a group, of `--threads T [--group G]` or `--threadgroups T --group G`."""
    words = dict(zip(case.grid[::2], case.grid[1::2], strict=True))
    group = numbers(words["--group"]) if "--group" in words else None
    if "--threads" in words:
        return numbers(words["--threads"]), group
    counts = numbers(words["--threadgroups"])
    size = group + [1] * (len(counts) - len(group))
    return [count * each for count, each in zip(counts + [1] * (len(size) - len(counts)), size, strict=True)], size


def launch(library, case):
    """What differs from what must come out: lines, empty if all is right."""
    kernel = library[case.kernel]
    if case.constants:
        kernel = kernel.specialize(case.constants)
    arguments = sorted(kernel.arguments, key=lambda argument: argument.index)
    if isinstance(case.arguments, dict):
        given = [case.arguments[argument.name] if argument.active else None for argument in arguments]
    else:
        values = iter(case.arguments)
        given = [next(values) if argument.active else None for argument in arguments]
    arrays = [None if argument is None else bound(argument) for argument in given]
    threads, group = grid_of(case)
    kernel(*arrays, threads=threads, **({"group_size": group} if group else {}))
    outputs = [(i, a) for i, a in enumerate(given) if isinstance(a, Out)]
    assert outputs, f"nothing of {case.kernel} is looked at"
    return "\n".join(filter(None, (output.differs(arrays[i]) for i, output in outputs)))
