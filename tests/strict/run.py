#!/usr/bin/env python3
"""What Apple's compiler refuses and ingot warns of or refuses: one file each.

    tests/strict/run.py INGOTC [TEXT]      all files, or those whose name contains TEXT

A line of a file that ends in `// REFUSED: text` must have a warning with that text, one that ends in `// ERROR: text`
an error. Every other line has neither: the forms that are right stand next to those that are not, and taken.metal must
pass without a word. `// OPTIONS: …` gives options of the compiler, `// ALL PASSES` more than a look at the syntax. Ends
with "N passed, N failed".
"""

import concurrent.futures
import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
OPTIONS = re.compile(r"^// OPTIONS: (.*)$", re.M)
WANTED = re.compile(r"// (REFUSED|ERROR): (.*)$")
SAID = re.compile(r"^[^\n]*?\.metal:(\d+):\d+: (warning|error): (.*)$", re.M)


def check(ingotc, name):
    path = os.path.join(FOLDER, name)
    wanted = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = WANTED.search(line)
            if found:
                wanted[number] = ("warning" if found[1] == "REFUSED" else "error", found[2].strip())
    if not wanted and name != "taken.metal":
        return [f"{name}: expects nothing"]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    options = ["--no-code"] if "// ALL PASSES" in text else ["--list-only"]
    options += [word for found in OPTIONS.findall(text) for word in found.split()]
    done = subprocess.run([ingotc, path, "-o", os.devnull, *options], capture_output=True, text=True)
    said = {(int(line), kind): text for line, kind, text in SAID.findall(done.stderr)}
    wrong = []
    for line, (kind, text) in wanted.items():
        if text not in said.pop((line, kind), ""):
            wrong.append(f"{name}:{line}: no {kind} with the words: {text}")
    wrong += [f"{name}:{line}: {kind} that nobody expects: {text}" for (line, kind), text in said.items()]
    fails = any(kind == "error" for kind, _ in wanted.values())
    if (done.returncode != 0) != fails:
        wrong.append(f"{name}: the compiler ended with status {done.returncode}: {done.stderr[-500:]}")
    return wrong


def main():
    ingotc, text = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    names = sorted(n for n in os.listdir(FOLDER) if n.endswith(".metal") and text in n)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda n: check(ingotc, n), names))
    for wrong in results:
        for line in wrong:
            print(line)
    failed = sum(bool(wrong) for wrong in results)
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed or not names else 0


sys.exit(main())
