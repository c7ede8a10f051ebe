#!/usr/bin/env python3
"""ingot's operations against PyTorch on the CPU, row by row, with the same number of threads.

Rows are the cases that `ingot bench` measures. For each, ingot and torch are measured in turns, several rounds, on
as many sets of tensors in turn as ingot uses; the best median of each counts. Writes a Markdown table
(bench/results/ops-cpu.md) and prints it as it grows.

torch.compile takes seconds per graph. It is tried for operations that it may fuse (rows, pointwise, rope, bags,
optimisers), on the largest case of each type; a few processes compile all of them first, into a cache in
BUILD/torch-inductor that later runs use again. What takes longer than --compile-limit is left out, with a note.

Without torch, a virtual environment with torch from PyPI is made in BUILD/venv. torch allocates its
results with each call; so that it does not pay for fresh pages, malloc is told to keep its memory. A result
is kept until the next call on the same set, so that results rotate as ingot's do: freed at once, torch would
write every result to the same memory, which is in the cache then.
"""
import argparse
import datetime
import json
import math
import os
import platform
import signal
import statistics
import subprocess
import sys
import time

from fair_process import MALLOC, settle_torch
from torch_cases import FUSED, HAS_GGML, OPERATIONS, TARGETS, Backward, Case


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", help="where bin/ingot is (build)")
    parser.add_argument("--only", action="append", default=[], help="operations to compare; * allowed")
    parser.add_argument("--type", action="append", default=[], help="types to compare (all)")
    parser.add_argument("--case", default="", help="only cases whose name contains this")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of both (all cores)")
    parser.add_argument("--time", type=float, default=0.08, help="seconds per measurement (0.08)")
    parser.add_argument("--rounds", type=int, default=2, help="turns of each (2)")
    parser.add_argument("--best", action="store_true", help="compare the fastest samples: for a machine that is not quiet")
    parser.add_argument("--largest", action="store_true", help="only the last case of each operation and type")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--compile-limit", type=float, default=40, help="seconds that torch.compile may take for a row (40)")
    parser.add_argument("--ggml", metavar="PROGRAM", help="bench/ggml_matvec.c, built: its q4_0 product is noted beside ours")
    parser.add_argument("--compile-share", metavar="I/N", help=argparse.SUPPRESS)  # the work of one such process
    parser.add_argument("--output", default="bench/results/ops-cpu.md", help="the table; - for none")
    return parser.parse_args()


def with_torch(options):
    """Starts again in an environment that has torch, and with malloc's settings."""
    try:
        import torch  # noqa: F401
        python = sys.executable
    except ImportError:
        folder = os.path.abspath(os.path.join(options.build, "venv"))
        python = os.path.join(folder, "bin", "python")
        if not os.path.exists(python):
            print(f"making {folder} with torch from PyPI", flush=True)
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", "torch", "numpy"], check=True)
    wanted = {**MALLOC, "TORCHINDUCTOR_CACHE_DIR": os.path.abspath(os.path.join(options.build, "torch-inductor")),
              "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    if python != sys.executable or any(os.environ.get(k) != v for k, v in wanted.items()):
        os.execve(python, [python, os.path.abspath(__file__), *sys.argv[1:]], {**os.environ, **wanted})
    settle_torch()


# ---- rows of ingot -----------------------------------------------------------------------------

def ingot_bench(options, *more):
    command = [os.path.join(options.build, "bin", "ingot"), "bench", "--json", "--no-ceilings", "--device", "cpu",
               "--threads", str(options.threads), *more]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")


def measure_ingot(options, row):
    result = ingot_bench(options, row["operation"], "--type", row["type"], "--case", "=" + row["case"],
                         "--time", str(options.time))["rows"][0]
    return result["best" if options.best else "seconds"] if "error" not in result else math.nan


# ---- what should be reached ----

def target(case):
    """How many times as fast as torch this row should be; None: no target is set."""
    name = case.row["operation"]
    if name in TARGETS:
        return TARGETS[name](case)
    return 1.0 if name in FUSED else None


# ---- measuring torch ---------------------------------------------------------------------------------

class Turns:
    """Calls on several sets of tensors in turn: pairs of a function and its arguments."""

    def __init__(self, calls):
        self.calls, self.at = calls, 0
        self.results = [None] * len(calls)

    def run(self, count):
        start = time.perf_counter()
        for _ in range(count):
            function, values = self.calls[self.at]
            self.results[self.at] = function(*values)
            self.at = (self.at + 1) % len(self.calls)
        return (time.perf_counter() - start) / count

    def measure(self, seconds, best):
        self.run(1)
        once = self.run(min(len(self.calls), 8))
        count = max(1, min(10000, round(1e-3 / max(once, 1e-7))))
        samples, end = [], time.perf_counter() + seconds
        while len(samples) < 3 or (time.perf_counter() < end and len(samples) < 500):
            samples.append(self.run(count))
        return min(samples) if best else statistics.median(samples)


def key(row):
    return f"{row['operation']} {row['type']} {row['case']}"


def rows_to_compile(options, rows):
    largest = {(r["operation"], r["type"]): r for r in rows if "error" not in r and r["operation"] in FUSED}
    return [] if options.no_compile else [r for r in largest.values() if r["operation"] in OPERATIONS]


class Limit:
    """Ends what runs in it with a TimeoutError."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        def stop(number, frame):
            raise TimeoutError(f"took longer than {self.seconds:g} s")
        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0)


def compiled_turns(options, built):
    """Turns of the compiled function, and a note; None where the compiler does not get through."""
    import torch
    if len(built[0]) < 3:
        return None, ""
    function, _, what = built[0]
    start = time.perf_counter()
    try:
        with Limit(options.compile_limit):
            torch.compiler.reset()
            if isinstance(function, Backward):
                forward = torch.compile(function.forward, dynamic=False)
                turns = Turns([(b.with_forward(forward), ()) for b, *_ in built])
            elif what is True:
                compiled = torch.compile(function, dynamic=False)
                turns = Turns([(compiled, values) for _, values, *_ in built])
            else:
                turns = Turns([(torch.compile(what, dynamic=False), ())])
            for _ in range(2):
                turns.run(1)
            return turns, ""
    except Exception as error:  # whatever the compiler does not take
        late = time.perf_counter() - start >= options.compile_limit
        text = f"took longer than {options.compile_limit:g} s" if late else str(error).strip().splitlines()[0]
        return None, f"torch.compile: {text[:80]}"


def build_sets(case):
    return [OPERATIONS[case.row["operation"]](case) for _ in range(max(1, min(case.row["sets"], 64)))]


def compile_share(options, rows):
    """One of the processes that fill the compiler's cache: prints the notes of what does not work."""
    index, count = map(int, options.compile_share.split("/"))
    for row in rows_to_compile(options, rows)[index::count]:
        try:
            turns, note = compiled_turns(options, [OPERATIONS[row["operation"]](Case(row))])
        except (RuntimeError, TypeError, KeyError, NotImplementedError, ValueError) as error:
            turns, note = None, f"torch: {str(error).splitlines()[0][:80]}"
        if turns is None:
            print(json.dumps({"row": key(row), "note": note}), flush=True)


def fill_cache(options, rows):
    """Compiles all graphs that the table needs; gives the notes of those that do not compile, by row."""
    count = len(rows_to_compile(options, rows))
    if count == 0:
        return {}
    print(f"torch.compile of {count} graphs ...", file=sys.stderr, flush=True)
    start = time.perf_counter()
    shares = [subprocess.Popen([sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--compile-share",
                                f"{i}/{options.threads}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
              for i in range(options.threads)]
    notes = {}
    for share in shares:
        for text in share.communicate()[0].splitlines():
            if text.startswith("{"):
                note = json.loads(text)
                notes[note["row"]] = note["note"]
    print(f"torch.compile: {time.perf_counter() - start:.0f} s, {len(notes)} of {count} do not compile",
          file=sys.stderr, flush=True)
    return notes


def ggml_note(options, case):
    """What ggml takes for a q4_0 product of the same shape."""
    if not options.ggml or case.row["operation"] not in HAS_GGML or target(case) is None:
        return ""
    done = subprocess.run([options.ggml, str(case.shape("out")[-1]), str(case.shape("x")[-1]), str(options.threads),
                           str(max(1.0, options.time))], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return f"{options.ggml} failed with status {done.returncode}"
    seconds = float(done.stdout)
    return f"ggml q4_0: {duration(seconds)}, {seconds / case.row['seconds']:.2f} of 0.8"


def compare(options, row, compiles, notes):
    """Seconds of torch eager, torch compiled (NaN: not there), and a note."""
    case = Case(row)
    if row["operation"] not in OPERATIONS:
        row["seconds"] = min(measure_ingot(options, row) for _ in range(options.rounds))
        return case, math.nan, math.nan, "no counterpart in torch"
    compiled, note = None, notes.get(key(row), "")
    try:
        built = build_sets(case)
        eager = Turns([(function, values) for function, values, *_ in built])
        if compiles and not note:
            compiled, note = compiled_turns(options, built)
    except (RuntimeError, TypeError, KeyError, NotImplementedError, ValueError) as error:
        row["seconds"] = min(measure_ingot(options, row) for _ in range(options.rounds))
        return case, math.nan, math.nan, f"torch: {str(error).splitlines()[0][:80]}"
    ours, theirs, best = [], [], []
    for _ in range(options.rounds):
        ours.append(measure_ingot(options, row))
        try:
            theirs.append(eager.measure(options.time, options.best))
            if compiled is not None:
                best.append(compiled.measure(options.time, options.best))
        except (RuntimeError, NotImplementedError, ValueError) as error:
            note = f"torch: {str(error).splitlines()[0][:80]}"
            break
    row["seconds"] = min(ours)
    return case, min(theirs, default=math.nan), min(best, default=math.nan), note or ggml_note(options, case)


# ---- the table ------------------------------------------------------------------------------------------

def duration(seconds):
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return "" if math.isnan(seconds) else f"{seconds * 1e9:.0f} ns"


def machine():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()


HEAD = ("| operation | type | case | ingot | torch | compiled | torch ÷ ingot | target | |\n"
        "|---|---|---|---:|---:|---:|---:|---:|---|\n")


def line(case, eager, compiled, note):
    ours = case.row["seconds"]
    fastest = min((t for t in (eager, compiled) if not math.isnan(t)), default=math.nan)
    ratio, wanted = fastest / ours, target(case)
    short = wanted is not None and ratio < wanted
    text = (f"| {case.row['operation']} | {case.type} | {case.row['case']} | {duration(ours)} | {duration(eager)} | "
            f"{duration(compiled)} | {'' if math.isnan(ratio) else f'{ratio:.2f}'} | {wanted or ''} | "
            f"{'; '.join(filter(None, ('short' if short else '', note)))} |")
    return text, ratio, wanted, short


def main():
    options = arguments()
    with_torch(options)
    import torch
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    selection = [*options.only]
    for t in options.type:
        selection += ["--type", t]
    if options.case:
        selection += ["--case", options.case]
    listing = ingot_bench(options, *selection, "--list")
    rows = listing["rows"]
    if options.largest:
        rows = list({(r["operation"], r["type"]): r for r in rows}.values())
    if options.compile_share:
        compile_share(options, rows)
        return
    to_compile = {key(row) for row in rows_to_compile(options, rows)}
    start = time.perf_counter()
    notes = fill_cache(options, rows)
    command = "bench/torch_compare.py " + " ".join(
        [*(f"--only '{name}'" for name in options.only), *(f"--type {name}" for name in options.type),
         *([f"--case '{options.case}'"] if options.case else []), *(["--ggml ggml_matvec"] if options.ggml else []),
         *(f"--{flag}" for flag in ("no-compile", "best", "largest") if getattr(options, flag.replace("-", "_"))),
         f"--threads {options.threads} --time {options.time} --rounds {options.rounds}"])
    head = (f"# The operations against PyTorch on the CPU\n\n"
            f"`{command}` (or `make bench-torch`), {datetime.date.today()}, {machine()}, {options.threads} threads each, "
            f"{listing['device']['target']}, torch {torch.__version__}, ingot {listing['ingot']}; "
            f"load of the machine at the start: {os.getloadavg()[0]:.1f}.\n\n"
            f"{'Fastest samples' if options.best else 'Medians'} of a call, best of {options.rounds} turns, tensors rotated past the cache. `torch ÷ ingot` is "
            f"against the faster of eager and torch.compile: above 1, ingot is faster. Empty: torch does not have it.\n"
            f"torch.compile is tried on the largest case of each type, where it may fuse something. "
            f"4-bit and 8-bit products are against torch's float32 product of the same shape; paged attention "
            f"against attention over a cache in one piece.\n\n")
    print(head + HEAD, end="", flush=True)
    lines, met, total, missed = [], 0, 0, []
    for number, row in enumerate(rows, 1):
        if "error" in row:
            lines.append(f"| {row['operation']} | {row['type']} | {row['case']} | | | | | | {row['error'][:80]} |")
        else:
            case, eager, compiled, note = compare(options, row, key(row) in to_compile, notes)
            text, ratio, wanted, short = line(case, eager, compiled, note)
            lines.append(text)
            if wanted is not None and not math.isnan(ratio):
                total += 1
                met += not short
                if short:
                    missed.append(f"{row['operation']} {row['type']} {row['case']} ({ratio:.2f} of {wanted})")
        print(lines[-1], flush=True)
        tail = f"\n{met} of {total} rows with a target reach it."
        tail += " Short of it: " + ", ".join(missed) + "." if missed else ""
        tail += (f" {number} of {len(rows)} rows were measured." if number < len(rows) else
                 f" The table took {(time.perf_counter() - start) / 60:.0f} minutes.")
        save(options, head + HEAD + "\n".join(lines) + "\n" + tail + "\n")
    print(tail)


def save(options, text):
    """After every row, so that a run that is stopped leaves what it has."""
    if options.output == "-":
        return
    os.makedirs(os.path.dirname(options.output) or ".", exist_ok=True)
    with open(options.output, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
