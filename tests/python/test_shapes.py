"""bench/shapes.py: what it draws, and that its rows run and compare."""
import json
import math
import os
import pathlib
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
from shape_cases import draw_rows  # noqa: E402
from shape_draws import Draw, is_prime  # noqa: E402


def test_a_seed_gives_its_rows_and_another_gives_others():
    some, again, others = (draw_rows(seed, 50, lambda row: True) for seed in (1, 1, 2))
    assert some == again and some != others and len(some) == 50


def test_every_family_is_drawn_within_the_limits_of_sizes():
    rows = draw_rows(3, 400, lambda row: True)
    assert {row.family for row in rows} >= {"rows", "attention", "decode", "linear f32", "linear 16 bits",
                                            "quantised, m to 64", "quantised, m above 64", "linear algebra"}
    assert all(size >= 1 for row in rows for size in row.sizes)
    heads = {row.sizes[-1] for row in rows if row.family == "attention"}
    assert len(heads) > 6 and max(heads) <= 256 and all(head % 8 == 0 for head in heads)
    assert {option for row in rows if row.op == "matmul" for option in row.options} == {
        "odd start", "padded rows", "transposed", "nt", "tn", "tt"}


def test_awkward_sizes_are_primes_and_neighbours_of_powers_of_two():
    sizes = [Draw(seed).awkward(16, 4096) for seed in range(200)]
    near = [size for size in sizes if any(abs(size - 2 ** power) == 1 for power in range(4, 13))]
    assert len(near) > 50 and all(is_prime(size) or size in near or size in (16, 4096) for size in sizes)


def run(tmp_path, *arguments):
    out = tmp_path / "rows.json"
    command = [sys.executable, str(BENCH / "shapes.py"), "--seconds", "0", "--json", str(out), *arguments]
    environment = {**os.environ, "INGOT_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return done, json.loads(out.read_text())["rows"] if out.exists() else []


def test_rows_are_right_and_reported_with_their_variant(tmp_path):
    done, rows = run(tmp_path, "--seed", "5", "--count", "40", "--max-flops", "1e6", "--max-bytes", "3e5")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("40 rows, 0 wrong, 0 failed")
    assert len(rows) == 40 and all(row["right"] and row["variant"] and row["ratio"] > 0 for row in rows)
    worst = min(row["ratio"] for row in rows)
    assert f"{worst:7.2f}  {min(rows, key=lambda r: r['ratio'])['row']}" in done.stdout
    mean = math.exp(sum(math.log(r["ratio"]) for r in rows if r["family"] == "decode")
                    / sum(r["family"] == "decode" for r in rows))
    assert any(line.startswith("decode") and f"{mean:8.2f}" in line for line in done.stdout.splitlines())


def test_nothing_found_is_said(tmp_path):
    done, rows = run(tmp_path, "--seed", "1", "--count", "1", "--only", "no such row")
    assert done.returncode == 2 and "--only 'no such row' finds no row" in done.stderr and not rows
