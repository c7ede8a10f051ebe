"""The rows of bench/shapes.py and bench/gpu_torch.py, from shapes() of kernels/NAME/NAME_bench.py."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from shape_case import Case, Maker, Shape
from shape_draws import Draw, Row
from torch_cases import MODULES

SHAPES: dict[str, Shape] = {name: shape for module in MODULES if hasattr(module, "shapes")
                            for name, shape in module.shapes().items()}
# How often a kind is drawn, of 20.
KINDS = {"rows": 4, "loss": 1, "others": 2, "attention": 3, "decode": 2, "linear": 4, "quantised": 2, "matrices": 2}
LIMITS = {"f32": 5e-5, "f16": 4e-3, "bf16": 3e-2}  # of a relative difference
LIMITS_SHOWN = {"f32": 2e-5, "bf16": 1e-2}


def cost(row: Row) -> tuple[float, float]:
    """Bytes and flops of a row, without making a tensor."""
    return SHAPES[row.op].cost(row)


def make_case(make: Maker, row: Row, limits: dict[str, float] = LIMITS) -> Case:
    """The case of a row."""
    size, flops = cost(row)
    parts = {"limit": limits[row.dtype], "bytes": size, "flops": flops, **SHAPES[row.op].make(make, row)}
    return Case(row.op, "x".join(map(str, row.sizes)), row.dtype, **parts)


def draw_rows(seed: int, count: int, wanted: Callable[[Row], bool]) -> list[Row]:
    """`count` rows that are wanted; the same for the same seed and the same wishes."""
    draw, rows, tries = Draw(seed), [], 0
    kinds = [kind for kind, weight in KINDS.items() for _ in range(weight)]
    names = {kind: [name for name, shape in SHAPES.items() for _ in range(shape.weight)
                    if shape.kind == kind and shape.draw] for kind in KINDS}
    while len(rows) < count and tries < 1000 * count:
        tries += 1
        name = draw.choice(names[draw.choice(kinds)])
        row = SHAPES[name].draw(draw, name)
        if wanted(row):
            rows.append(row)
    return rows


def shown_cases(make: Maker, small: bool) -> Iterator[Case]:
    """Every row that an operation shows; tensors of one go when the next begins. small: sizes for a try on a CPU."""
    for shape in SHAPES.values():
        for shown in shape.shown:
            row = dataclasses.replace(shown.row, sizes=shown.small) if small else shown.row
            case = make_case(make, row, LIMITS_SHOWN)
            full = "x".join(map(str, shown.row.sizes))
            yield dataclasses.replace(case, op=shown.name or row.op, shape=shown.shape or full)
