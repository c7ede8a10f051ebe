#!/usr/bin/env python3
"""Removes the barriers of the kernel library one by one: the sanitizer has to notice each.

usage: tests/barriers/run.py BIN [--only TEXT] [--sample] [--missing] [--write] [--keep FOLDER] [--limit SECONDS]
                             [--hint "OPERATION KNOBS TYPE [CASE]"]... [--only-hints] [--present]

For each barrier of kernels/ the health cases of the operations that have it run under --sanitize=race,barrier, without
it, until there is a finding that is not there with it. They run with the knobs of the CPU's launch policy, then with
those of GPUs and of more.policy, which choose other kernels. One that is missed is a failure, unless harmless.txt says
why nobody needs it.

found.txt has the case that found each the last time; it is tried first. --write adds what is new there, at once, so
that a run may be stopped and go on later; --missing takes the files that have a barrier which neither that file nor
harmless.txt has: those behind it have other numbers now. (What harmless.txt has is tried by hints only then.) --hint
says what to try first, --only-hints to try nothing else. --only takes those whose FILE#ORDER contains TEXT (several:
separated by commas), --sample a few that are cheap, and looks whether every barrier is in one of the two files. --keep
FOLDER keeps compiled kernels there. A run of cases ends after --limit seconds. BIN is the folder of the programs.

--present removes none: cases run with the knobs of GPUs, and there must be no finding. They are a few, by which
mistakes were found, one of them under bounds, or those of --hint.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from compiler import BARRIER

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"
HARMLESS = pathlib.Path(__file__).with_name("harmless.txt")
FOUND = pathlib.Path(__file__).with_name("found.txt")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
FINDING = re.compile(r'^(\S+:\d+:\d+): (race|barrier|bounds): kernel "([^"]*)"', re.M)
CASE = re.compile(r"^(?:ok|FAILED) +(\S+) (\S+) (.+?) +(?:\d+\.\d+|over) +[\d.]+ \S+ ")
COMMENT = re.compile(r"//.*")
SAMPLE = ("kernels/cholesky/cholesky.metal#1", "kernels/cross_entropy/cross_entropy.metal#1",
          "kernels/cross_entropy/cross_entropy.metal#2", "kernels/lu/lu.metal#18")
# What --present runs: OPERATION KNOBS TYPE CASE.
PRESENT = ("cholesky cuda f32 65 of 16x16 in place", "lu cuda f32 3 of 65x65", "lu cuda f32 2 of 1025x40",
           "lstsq cuda f32 3 of 200x40, 5", "svd cuda f32 65x65", "eigh metal f32 33x33")
PRESENT_BOUNDS = ("matmul cuda:sm_90a f16 odd start, 136x264x328 nt",)
# Operations whose kernels are in a folder of another name.
MORE = {"attention_decode": ["attention", "attention_paged"], "triangular": ["triangular_solve", "solve"],
        "lu": ["lu", "solve"], "qr": ["qr", "lstsq"], "quantise": ["quantise", "dequantise"],
        "quantised_matvec": ["quantised_matvec", "quantised_matmul"]}
# Which cases run, one after the other: whose knobs, and the type.
STEPS = (("cpu", "f32"), ("metal", "f32"), ("cuda", "f32"), ("cuda:sm_90a", "f32"), ("more", "f32"),
         ("cpu", "f16"), ("metal", "f16"), ("cuda", "f16"), ("cuda:sm_90a", "f16"), ("more", "f16"), ("cpu", "bf16"),
         ("more", "bf16"))


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


class Found(NamedTuple):
    """What found it: an operation, whose knobs, the type, and the case."""

    operation: str
    device: str
    element: str
    case: str = ""  # all of them


class Trial:
    """Where the programs are, and a folder for what they leave."""

    def __init__(self, binaries: pathlib.Path, folder: pathlib.Path, limit: float) -> None:
        self.binaries, self.folder, self.limit = binaries, folder, limit
        self.kinds = "race,barrier"
        self.with_all: dict[Found, set[tuple[str, ...]]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        for device in {step[0] for step in STEPS}:
            (folder / f"{device}.policy").write_text(policy_of(device) if device != "cpu" else "")

    def start(self, without: str, operation: str, device: str, element: str, case: str) -> subprocess.Popen:
        """Runs cases (of this name, or all) without the barrier FILE:LINE:WHICH ("": with all of them)."""
        environment = dict(
            os.environ,
            INGOTC=str(pathlib.Path(__file__).with_name("compiler.py")),
            INGOT_CACHE_DIR=str(self.folder / (without.replace("/", "_") or "all")),
            INGOT_POLICY=str(self.folder / f"{device}.policy"),
            INGOT_COMPILE_SECONDS=str(int(self.limit)),
            BARRIER_COMPILER=str(self.binaries / "ingotc"),
            BARRIER_AT=without or "none:0:0",
            BARRIER_SEEN=str(self.seen(without)),
        )
        command = [self.binaries / "ingot", "health", operation, f"--sanitize={self.kinds}", "--repeat", "1",
                   "--verbose", "--jobs", "1", "--type", element, *(["--case", "=" + case] if case else [])]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                start_new_session=True)

    def cases(self, *what: str) -> Iterator[tuple[Found, set[tuple[str, ...]]]]:
        """Each case that ran, as it ends, and what was found in it."""
        child = self.start(*what)
        timer = threading.Timer(self.limit, kill, [child])
        timer.start()
        found, output = set(), []
        try:
            for line in child.stdout:
                output.append(line)
                if finding := FINDING.match(line):
                    found.add(finding.groups())
                elif case := CASE.match(line):
                    yield Found(case.group(1), what[2], case.group(2), case.group(3)), found
                    found = set()
            text = "".join(output)
            if (child.wait() == 2 and " of type " not in text) or "was stopped" in text:
                raise SystemExit(f"{' '.join(map(str, child.args))}: {text}")
            if child.returncode < 0:
                print(f"  {what[1]} with the knobs of {what[2]}, {what[3]}: more than {self.limit:.0f} s")
        finally:
            timer.cancel()
            kill(child)

    def find(self, without: str, operation: str, device: str, element: str, case: str = "") -> Found | None:
        """The first case with a finding that is not there with the barrier."""
        for where, found in self.cases(without, operation, device, element, case):
            if found and where not in self.with_all:
                self.with_all[where] = set().union(*(more for _, more in self.cases("", *where)))
            if found and found - self.with_all[where]:
                return where
        return None

    def seen(self, without: str) -> pathlib.Path:
        return self.folder / (without.replace("/", "_") + ".seen")


def kill(child: subprocess.Popen) -> None:
    """With the compilers that it started, if it still runs."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def hints_of(barrier: Barrier, known: dict[str, Found]) -> list[Found]:
    """The case that found it the last time, or those that found its neighbours."""
    if barrier.name in known:
        return [known[barrier.name]]
    return list(dict.fromkeys(found for name, found in known.items() if name.split("#")[0] == barrier.file))


def try_one(trial: Trial, barrier: Barrier, operations: list[str], hints: list[Found]) -> Found | str:
    """The case that finds it, "missed", or "absent": no case compiles it."""
    at = f"{barrier.file}:{barrier.line}:{barrier.which}"
    for hint in hints:
        if found := trial.find(at, *hint):
            return found
    for step in STEPS:
        for operation in operations:
            if found := trial.find(at, operation, *step):
                return found
    return "missed" if trial.seen(at).exists() else "absent"


def found_before() -> dict[str, Found]:
    """What found.txt says: a line is FILE#ORDER OPERATION KNOBS TYPE CASE."""
    lines = FOUND.read_text().splitlines() if FOUND.exists() else []
    words = [line.split(None, 4) for line in lines if line and not line.startswith("#")]
    return {name: Found(*rest) for name, *rest in words}


def write_found(found: dict[str, Found]) -> None:
    order = {barrier.name: i for i, barrier in enumerate(barriers())}
    names = sorted((name for name in found if name in order), key=order.__getitem__)
    lines = [" ".join([name, *found[name]]) for name in names]
    head = "# What finds that a barrier is missing: FILE#ORDER OPERATION KNOBS TYPE CASE. run.py --write writes it."
    FOUND.write_text("\n".join([head, *lines]) + "\n")


def harmless() -> dict[str, str]:
    """Barriers that nobody misses on a CPU, and why."""
    reasons = {}
    for line in HARMLESS.read_text().splitlines():
        if line and not line.startswith("#"):
            name, reason = line.split(None, 1)
            reasons[name] = reason
    return reasons


def chosen_of(every: list[Barrier], options: argparse.Namespace, known: set[str]) -> list[Barrier]:
    if options.sample:
        return [barrier for barrier in every if barrier.name in SAMPLE]
    files = {barrier.file for barrier in every if not options.missing or barrier.name not in known}
    return [barrier for barrier in every if any(text in barrier.name for text in options.only.split(","))
            and barrier.file in files]


def wrong_entries(every: list[Barrier], reasons: dict[str, str], known: dict[str, Found], lists_all: bool) -> list[str]:
    """What the two files have that is not there, or both have; and, if asked for, what neither has."""
    names = {barrier.name for barrier in every}
    wrong = [f"harmless.txt: there is no barrier {name}" for name in reasons if name not in names]
    wrong += [f"found.txt: there is no barrier {name}" for name in known if name not in names]
    wrong += [f"{name} is in harmless.txt and in found.txt" for name in reasons if name in known]
    if lists_all:
        wrong += [f"{barrier.name} line {barrier.line}: neither in found.txt nor in harmless.txt" for barrier in every
                  if barrier.name not in known and barrier.name not in reasons]
    return wrong


def hint_of(text: str) -> Found:
    return Found(*text.split(None, 3))


def present(trial: Trial, cases: list[Found], kinds: str) -> int:
    """Findings in these cases, with all barriers."""
    failures = ran = 0
    trial.kinds = kinds
    for case in cases:
        for where, found in trial.cases("", *case):
            ran += 1
            failures += len(found)
            for finding in sorted(found):
                print(*where, *finding)
    print(f"{ran} cases with all barriers: {failures} findings of {kinds}")
    return 1 if failures or ran < len(cases) else 0


def options_of() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--present", action="store_true")
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--hint", action="append", default=[], type=hint_of)
    parser.add_argument("--only-hints", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--limit", type=float, default=600)
    return parser.parse_args()


def main() -> int:
    options = options_of()
    reasons, known, every = harmless(), found_before(), barriers()
    table = {path.name: files_of(path.name) for path in KERNELS.iterdir() if path.name != "common"}
    failures = wrong_entries(every, reasons, known, options.sample)
    counts = {"found": 0, "missed": 0, "absent": 0}
    folder = tempfile.TemporaryDirectory(prefix="ingot-barriers-")
    trial = Trial(options.binaries.resolve(), (options.keep or pathlib.Path(folder.name)).resolve(), options.limit)
    if options.present:
        failed = present(trial, options.hint or [hint_of(text) for text in PRESENT], "race,barrier")
        return failed or (not options.hint and present(trial, [hint_of(text) for text in PRESENT_BOUNDS], "bounds"))
    chosen = chosen_of(every, options, {*known, *reasons})
    for barrier in chosen:
        start, reason = time.monotonic(), reasons.get(barrier.name, "")
        only_hints = options.only_hints or (options.missing and reason)
        operations = [] if only_hints else operations_of(barrier, table)
        hints = sorted(options.hint + hints_of(barrier, known), key=lambda hint: not hint.case)  # single cases first
        outcome = try_one(trial, barrier, operations, hints)
        if isinstance(outcome, Found):
            counts["found"] += 1
            known[barrier.name] = outcome
            if options.write:
                write_found(known)
            if reason:
                failures.append(f"{barrier.name} is in harmless.txt, but its removal is found")
            outcome = "found by {0} {2} {3} with the knobs of {1}".format(*outcome)
        else:
            counts[outcome] += 1
            if not reason:
                failures.append(f"{barrier.name} line {barrier.line}: {outcome}")
        print(f"{barrier.name} line {barrier.line}: {outcome} {reason} ({time.monotonic() - start:.0f} s)", flush=True)
    folder.cleanup()
    print(*failures, sep="\n")
    print(f"{len(chosen)} barriers of {len(every)}: {counts['found']} found, {counts['missed']} missed, "
          f"{counts['absent']} in no case; {len(failures)} failures")
    return 1 if failures or not (chosen or options.missing) else 0


if __name__ == "__main__":
    sys.exit(main())
