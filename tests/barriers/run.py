#!/usr/bin/env python3
"""Removes the barriers of the kernel library one by one: the sanitizer has to notice each.

usage: tests/barriers/run.py BIN [--only TEXT] [--sample] [--jobs N] [--limit SECONDS]

For each barrier of kernels/ the health cases of the operations that have it run under --sanitize=race,barrier, without
it, until there is a finding that is not there with it. They run with the knobs of the CPU's launch policy, then with
those of GPUs and of more.policy, which choose other kernels. One that is missed is a failure, unless harmless.txt says
why nobody needs it. --only takes those whose FILE#ORDER contains TEXT, --sample one that is cheap. A run of cases ends
after --limit seconds. BIN is the folder of the programs.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from compiler import BARRIER

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"
HARMLESS = pathlib.Path(__file__).with_name("harmless.txt")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
FINDING = re.compile(r'^(\S+:\d+:\d+): (race|barrier): kernel "([^"]*)"', re.M)
COMMENT = re.compile(r"//.*")
SAMPLE = ("kernels/cholesky/cholesky.metal#1",)
# Operations whose kernels are in a folder of another name.
MORE = {"attention_decode": ["attention", "attention_paged"], "triangular": ["triangular_solve", "solve"],
        "lu": ["lu", "solve"], "qr": ["qr", "lstsq"], "quantise": ["quantise", "dequantise"],
        "quantised_matvec": ["quantised_matvec", "quantised_matmul"]}
# Which cases run, one after the other: whose knobs, the type, and how many of them.
STEPS = (("cpu", "f32", "3/8"), ("cpu", "f32", "1/1"), ("metal", "f32", "1/1"), ("cuda", "f32", "1/1"),
         ("more", "f32", "1/1"), ("cpu", "f16", "1/1"), ("metal", "f16", "1/1"), ("cuda", "f16", "1/1"))


class Barrier(NamedTuple):
    """A statement of a file: the `order`-th barrier in it, from 1 on."""

    file: str
    order: int
    line: int
    which: int  # on its line

    @property
    def name(self) -> str:
        return f"{self.file}#{self.order}"


def barriers() -> list[Barrier]:
    """All of kernels/."""
    found = []
    for path in sorted([*KERNELS.glob("*/*.metal"), *KERNELS.glob("*/*.h")]):
        order = 0
        for number, line in enumerate(path.read_text().split("\n"), 1):
            for which, _ in enumerate(BARRIER.finditer(COMMENT.sub("", line))):
                order += 1
                found.append(Barrier(str(path.relative_to(ROOT)), order, number, which))
    return found


def files_of(operation: str) -> set[str]:
    """What an operation's kernels include, by path from the root."""
    todo, seen = [KERNELS / operation / f"{operation}.metal"], set()
    while todo:
        path = todo.pop()
        if not path.is_file() or (name := str(path.resolve().relative_to(ROOT))) in seen:
            continue
        seen.add(name)
        for target in INCLUDE.findall(path.read_text()):
            todo += [KERNELS / target, path.parent / target]
    return seen


def operations_of(barrier: Barrier, table: dict[str, set[str]]) -> list[str]:
    """The operations that have it, its own folder's first, small ones before large ones."""
    folder = pathlib.PurePath(barrier.file).parts[1]
    found = [name for name, files in table.items() if barrier.file in files]
    found.sort(key=lambda name: (name != folder, len(table[name])))
    return [pattern for name in found for pattern in MORE.get(name, [name + "*"])]


def policy_of(device: str) -> str:
    """What the launch policies say of a device, as rules for the CPU; "more": what more.policy says."""
    rules = []
    if device == "more":
        return pathlib.Path(__file__).with_name("more.policy").read_text()
    for path in sorted(KERNELS.glob("*/*.policy")):
        for line in path.read_text().splitlines():
            words = line.split()
            if words and words[0] == device:
                rules.append(" ".join(["cpu", *words[1:]]))
    return "\n".join(rules) + "\n"


class Trial:
    """Where the programs are, and a folder for what they leave."""

    def __init__(self, binaries: pathlib.Path, folder: pathlib.Path, jobs: int, limit: float) -> None:
        self.binaries, self.folder, self.jobs, self.limit = binaries, folder, jobs, limit
        self.with_all: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
        for device in {step[0] for step in STEPS}:
            (folder / f"{device}.policy").write_text(policy_of(device) if device != "cpu" else "")

    def findings(self, without: str, operation: str, step: tuple[str, ...]) -> set[tuple[str, ...]]:
        """What is found in the cases of a step, without the barrier FILE:LINE:WHICH ("": with all of them)."""
        device, element, part = step
        cache = self.folder / (without.replace("/", "_") or "all")
        environment = dict(
            os.environ,
            INGOTC=str(pathlib.Path(__file__).with_name("compiler.py")),
            INGOT_CACHE_DIR=str(cache),
            INGOT_POLICY=str(self.folder / f"{device}.policy"),
            BARRIER_COMPILER=str(self.binaries / "ingotc"),
            BARRIER_AT=without or "none:0:0",
            BARRIER_SEEN=str(self.seen(without)),
        )
        command = [self.binaries / "ingot", "health", operation, "--sanitize=race,barrier", "--repeat", "1",
                   "--jobs", str(self.jobs), "--type", element, "--part", part]
        child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            output = child.communicate(timeout=self.limit)[0]
        except subprocess.TimeoutExpired:
            child.kill()
            output = child.communicate()[0]
        if child.returncode == 2 and " of type " not in output:
            raise SystemExit(f"{' '.join(map(str, command))}: {output}")
        return set(FINDING.findall(output))

    def is_new(self, without: str, operation: str, step: tuple[str, ...]) -> bool:
        """Is there a finding that is not there with the barrier?"""
        found = self.findings(without, operation, step)
        key = (operation, *step)
        if found and key not in self.with_all:
            self.with_all[key] = self.findings("", operation, step)
        return bool(found) and bool(found - self.with_all[key])

    def seen(self, without: str) -> pathlib.Path:
        return self.folder / (without.replace("/", "_") + ".seen")


def try_one(trial: Trial, barrier: Barrier, operations: list[str]) -> str:
    """"found" and where, "missed", or "absent": no case compiles it."""
    at = f"{barrier.file}:{barrier.line}:{barrier.which}"
    for step in STEPS:
        for operation in operations:
            if trial.is_new(at, operation, step):
                return f"found by {operation.rstrip('*')} with the knobs of {step[0]}, {step[1]}"
    return "missed" if trial.seen(at).exists() else "absent"


def harmless() -> dict[str, str]:
    """Barriers that nobody misses on a CPU, and why."""
    reasons = {}
    for line in HARMLESS.read_text().splitlines():
        if line and not line.startswith("#"):
            name, reason = line.split(None, 1)
            reasons[name] = reason
    return reasons


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600)
    options = parser.parse_args()
    reasons = harmless()
    table = {path.name: files_of(path.name) for path in KERNELS.iterdir() if path.name != "common"}
    every = barriers()
    failures = [f"harmless.txt: there is no barrier {name}" for name in reasons
                if name not in {barrier.name for barrier in every}]
    chosen = [barrier for barrier in every
              if (barrier.name in SAMPLE if options.sample else options.only in barrier.name)]
    counts = {"found": 0, "missed": 0, "absent": 0}
    folder = tempfile.TemporaryDirectory(prefix="ingot-barriers-")
    trial = Trial(options.binaries.resolve(), pathlib.Path(folder.name), options.jobs, options.limit)
    for barrier in chosen:
        start = time.monotonic()
        outcome = try_one(trial, barrier, operations_of(barrier, table))
        counts[outcome.split()[0]] += 1
        reason = reasons.get(barrier.name, "")
        print(f"{barrier.name} line {barrier.line}: {outcome} {reason} ({time.monotonic() - start:.0f} s)", flush=True)
        if outcome.startswith("found") and reason:
            failures.append(f"{barrier.name} is in harmless.txt, but its removal is found")
        elif not outcome.startswith("found") and not reason:
            failures.append(f"{barrier.name} line {barrier.line}: {outcome}")
    folder.cleanup()
    print(*failures, sep="\n")
    print(f"{len(chosen)} barriers of {len(every)}: {counts['found']} found, {counts['missed']} missed, "
          f"{counts['absent']} in no case; {len(failures)} failures")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
