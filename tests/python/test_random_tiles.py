"""Random programs on simdgroup_matrix tiles, against an interpreter of the same programs.

Numbers are small and whole, so that every sum is exact. INGOT_RANDOM_TILES=N runs N programs instead of a few,
INGOT_RANDOM_SEED=S starts at another seed; a program that fails is printed.
"""

import os
import random

import numpy as np

import ingot

TILES, PLACES = 6, 8  # variables of a program; tiles side by side in memory, rows of 64 elements
LIMIT = 2**22  # beyond it sums might be rounded

LANES = np.arange(32)
ROWS = ((LANES >> 4) & 1) * 4 + ((LANES >> 2) & 1) * 2 + ((LANES >> 1) & 1)
COLUMNS = ((LANES >> 3) & 1) * 4 + (LANES & 1) * 2


def generate(rng, depth=3, size=7):
    """Statements: (what, numbers…), and (what, count, statements…) for those that hold others."""
    statements = []
    for _ in range(size):
        tile, place, transposed = rng.randrange(TILES), rng.randrange(PLACES), rng.random() < 0.3
        memory = rng.choice(["memory", "shared"])
        chance = rng.random()
        if chance < 0.22:
            statements.append(("load", tile, memory, place, transposed))
        elif chance < 0.4:
            statements.append(("store", tile, memory, place, transposed))
        elif chance < 0.68:
            statements.append(("add product", tile, *(rng.randrange(TILES) for _ in range(3))))
        elif chance < 0.78:
            statements.append(("raise", tile, rng.randrange(2)))
        elif chance < 0.83:
            statements.append(("copy", tile, rng.randrange(TILES)))
        elif chance < 0.87:
            statements.append(("diagonal", tile, rng.randrange(-1, 2)))
        elif depth:
            inner = generate(rng, depth - 1, rng.randrange(1, 5))
            if rng.random() < 0.6:
                statements.append(("loop", rng.randrange(4), inner))
            else:
                statements.append(("if", rng.randrange(4), inner, generate(rng, depth - 1, rng.randrange(3))))
    return statements


def program(seed):
    rng = random.Random(seed)
    first = [("load", tile, "memory", rng.randrange(PLACES), rng.random() < 0.3) for tile in range(TILES)]
    last = [("store", tile, "memory", tile, rng.random() < 0.3) for tile in range(TILES)]
    return first + generate(rng) + last


def lines_of(statements, depth=0):
    for what, *numbers in statements:
        if what in ("load", "store"):
            tile, memory, place, transposed = numbers
            yield f"simdgroup_{what}(m[{tile}], {memory} + {8 * place}, 64, ulong2(0, 0), {str(transposed).lower()});"
            yield "simdgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);"
        elif what == "add product":
            yield "simdgroup_multiply_accumulate(" + ", ".join(f"m[{tile}]" for tile in numbers) + ");"
        elif what == "raise":
            yield f"m[{numbers[0]}].thread_elements()[{numbers[1]}] += float(lane % 3) - 1;"
        elif what == "copy":
            yield f"m[{numbers[0]}] = m[{numbers[1]}];"
        elif what == "diagonal":
            yield f"m[{numbers[0]}] = simdgroup_float8x8({numbers[1]}.0f);"
        elif what == "loop":
            yield f"for (uint i{depth} = 0; i{depth} < counts[{numbers[0]}]; i{depth}++) {{"
            yield from lines_of(numbers[1], depth + 1)
            yield "}"
        else:
            yield f"if (counts[{numbers[0]}] > 1) {{"
            yield from lines_of(numbers[1], depth + 1)
            yield "} else {"
            yield from lines_of(numbers[2], depth + 1)
            yield "}"


def kernel_of(seed, statements):
    return "\n".join([
        f"kernel void program_{seed}(device float *memory, constant uint *counts,",
        "                           uint lane [[thread_index_in_simdgroup]]) {",
        "threadgroup float shared[512];",
        "for (uint i = lane; i < 512; i += 32) shared[i] = float(i * 5 % 3) - 1;",
        "simdgroup_barrier(mem_flags::mem_threadgroup);",
        f"simdgroup_float8x8 m[{TILES}];",
        *lines_of(statements),
        "}\n",
    ])  # fmt: skip


def interpret(statements, tiles, memories, counts):
    """The largest number that came up; stops there when it passes LIMIT."""
    largest = 0.0
    for what, *numbers in statements:
        if largest > LIMIT:
            break
        if what in ("load", "store"):
            tile, memory, place, transposed = numbers
            part = memories[memory][:, 8 * place : 8 * place + 8]
            if what == "load":
                tiles[tile] = (part.T if transposed else part).copy()
            else:
                part[:] = tiles[tile].T if transposed else tiles[tile]
        elif what == "add product":
            result, left, right, added = numbers
            tiles[result] = tiles[left] @ tiles[right] + tiles[added]
            largest = max(largest, np.abs(tiles[result]).max())
        elif what == "raise":
            tiles[numbers[0]] = tiles[numbers[0]].copy()
            tiles[numbers[0]][ROWS, COLUMNS + numbers[1]] += LANES % 3 - 1
        elif what == "copy":
            tiles[numbers[0]] = tiles[numbers[1]]
        elif what == "diagonal":
            tiles[numbers[0]] = np.eye(8) * numbers[1]
        elif what == "loop":
            for _ in range(counts[numbers[0]]):
                largest = max(largest, interpret(numbers[1], tiles, memories, counts))
        else:
            branch = numbers[1] if counts[numbers[0]] > 1 else numbers[2]
            largest = max(largest, interpret(branch, tiles, memories, counts))
    return largest


def test_random_programs_on_tiles():
    count = int(os.environ.get("INGOT_RANDOM_TILES", "4"))
    first = int(os.environ.get("INGOT_RANDOM_SEED", "1"))
    compared = 0
    for start in range(first, first + count, 8):
        programs = {seed: program(seed) for seed in range(start, min(start + 8, first + count))}
        sources = {seed: kernel_of(seed, statements) for seed, statements in programs.items()}
        library = ingot.compile_shader("#include <metal_stdlib>\nusing namespace metal;\n" + "".join(sources.values()))
        for seed, statements in programs.items():
            rng = np.random.default_rng(seed)
            memory, counts = rng.integers(-1, 2, (8, 64)).astype(np.float32), rng.integers(0, 3, 4)
            shared = (np.arange(512) * 5 % 3 - 1.0).reshape(8, 64)
            expected = memory.astype(np.float64)
            largest = interpret(statements, [None] * TILES, {"memory": expected, "shared": shared}, counts)
            if largest > LIMIT:
                continue
            library[f"program_{seed}"](memory, counts.astype(np.uint32), threads=32, group_size=32)
            np.testing.assert_array_equal(memory, expected, err_msg=sources[seed])
            compared += 1
    assert compared > count // 2
