#!/usr/bin/env python3
"""Counts what tests/sanitize has: planted mistakes by kind, and kernels that are clean.

    tests/sanitize/counts.py            prints the table
    tests/sanitize/counts.py --check    fails where one falls below what it was

A planted mistake is a line with FINDS. A clean kernel is a function that a RUN launches, itself or an instance of it,
and that has no such line. Files whose kernels are all clean count for every kind they ask for.
"""

import collections
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).parent
LEAST = {  # planted mistakes, clean kernels
    "bounds": (109, 364),
    "alignment": (18, 355),
    "race": (124, 403),
    "uninitialised": (99, 396),
    "barrier": (30, 397),
    "lanes": (41, 386),
    "arithmetic": (54, 403),
    "numeric": (19, 187),
    "all": (494, 509),
}
KERNEL = re.compile(r"\bkernel\s+void\s+(\w+)\s*\((?!device \w+ \*, )")
HOST_NAME = re.compile(r'host_name\("(\w+)"\)\]\]\s*kernel\s+void\s+(\w+)')


def functions_of(lines):
    """(name, lines) of each kernel, up to the next one"""
    starts = [(n, KERNEL.search(line).group(1)) for n, line in enumerate(lines) if KERNEL.search(line)]
    for (start, name), (end, _) in zip(starts, [*starts[1:], (len(lines), "")]):
        yield name, lines[start:end]


def count(path, planted, clean):
    text = path.read_text()
    kinds = re.search(r"^// SANITIZE: (\S+)$", text, re.M).group(1).split(",")
    for found in re.findall(r"// FINDS: (.+)$", text, re.M):
        planted.update(found.split())
    function_of = {host: function for host, function in HOST_NAME.findall(text)}
    launched = {function_of.get(name, name) for name in re.findall(r"// RUN: kernel=(\w+)", text)}
    bodies = dict(functions_of([line for line in text.splitlines() if "host_name" not in line]))
    unknown = launched - bodies.keys()
    if unknown:
        sys.exit(f"{path}: no kernel of the name {', '.join(sorted(unknown))}")
    good = [name for name in launched if not any("// FINDS:" in line for line in bodies[name])]
    clean["all"] += len(good)
    clean.update({kind: len(good) for kind in kinds})


def main():
    planted, clean = collections.Counter(), collections.Counter()
    for path in sorted(FOLDER.glob("*.metal")):
        count(path, planted, clean)
    planted["all"] = sum(planted.values())
    wrong = []
    for kind, least in LEAST.items():
        print(f"{kind:14} {planted[kind]:4} planted {clean[kind]:4} clean")
        if planted[kind] < least[0] or clean[kind] < least[1]:
            wrong.append(
                f"{kind}: {planted[kind]} planted and {clean[kind]} clean, of at least {least[0]} and {least[1]}"
            )
    if clean["all"] < planted["all"]:
        wrong.append(f"{clean['all']} clean kernels, fewer than the {planted['all']} planted mistakes")
    if "--check" in sys.argv[1:] and wrong:
        sys.exit("\n".join(wrong))


main()
