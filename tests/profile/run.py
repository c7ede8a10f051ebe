#!/usr/bin/env python3
"""`ingot profile` and INGOT_TRACE on kernels whose counters are known by hand.

    run.py INGOT PROGRAM [METAL_PROGRAM]     the command; tests/profile/program.c; a program on Metal's host API
"""

import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "counters.metal"
INGOT, PROGRAM, *METAL = [word for word in sys.argv[1:] if word]
checks = failures = 0

# Lines by tag, for 1,024 threads: 32 SIMD-groups.
EXPECTED = {
    "coalesced": dict(executed=32, lanes=1024, flops=2048, device_accesses=64, device_loads=32, device_bytes=8192,
                      device_lines=64),
    "strided": dict(executed=32, device_accesses=32, device_bytes=4096, device_lines=1024),
    "halves": dict(device_accesses=32, device_bytes=2048, device_lines=32),
    "vectors": dict(device_accesses=32, device_bytes=16384, device_lines=128, device_loads=0),
    "one-way": dict(threadgroup_accesses=32, threadgroup_bytes=4096, bank_passes=32, bank_conflicts=0),
    "two-way": dict(threadgroup_accesses=32, bank_passes=64, bank_conflicts=32),
    "four-way": dict(threadgroup_accesses=32, bank_passes=128, bank_conflicts=96),
    "all-ways": dict(threadgroup_accesses=32, bank_passes=1024, bank_conflicts=992),
    "padded": dict(threadgroup_accesses=32, bank_passes=32, bank_conflicts=0),
    "same-word": dict(threadgroup_accesses=32, bank_passes=32, bank_conflicts=0),
    "wide": dict(threadgroup_accesses=32, threadgroup_bytes=16384, bank_passes=128, bank_conflicts=0),
    "all-lanes": dict(executed=32, lanes=1024),
    "odd-lanes": dict(executed=32, lanes=512, flops=1024),
    "five-times": dict(executed=160, lanes=5120, flops=5120, device_accesses=160),
    "first-group": dict(executed=1, lanes=32),
    "together": dict(atomics=1024, atomic_collisions=992, device_lines=32),
    "apart": dict(atomics=1024, atomic_collisions=0),
    "even": dict(barriers=96, barrier_waits=0),
    "uneven": dict(barriers=96),
    "private": dict(private_accesses=32, private_bytes=4096),
    "tile": dict(device_accesses=32, device_bytes=32 * 256, device_lines=64),
    "tile-rows": dict(device_accesses=32, device_bytes=32 * 256, device_lines=32 * 8),
    "product": dict(flops=32 * 1024),
}
HINTS = {
    "strided": "each SIMD-group touches 32 lines of cache to load 128 bytes: neighbouring threads should read "
    "neighbouring addresses",
    "all-ways": "accesses to threadgroup memory take 32 passes where one would do (a 32-way bank conflict): lanes meet "
    "in the same of the 32 banks; rows that are one element longer, or another order, spread them",
    "odd-lanes": "16 of 32 lanes are active: threads of a SIMD-group go different ways, and the others wait",
    "together": "97% of the atomics wait for another lane of their SIMD-group at the same address: add up in the "
    "SIMD-group first (simd_sum), or in threadgroup memory",
    "private": "private arrays (256 bytes of a thread) are in memory, not in registers: their indices are not known "
    "when the kernel is compiled",
}
SILENT = ["coalesced", "halves", "vectors", "one-way", "padded", "same-word", "wide", "all-lanes", "even"]


def check(name, good, said=""):
    global checks, failures
    checks += 1
    if not good:
        failures += 1
        print(f"FAILED: {name}: {said}")


def run(*words, status=0, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)
    check(" ".join(map(str, words)), done.returncode == status, f"status {done.returncode}, {done.stderr}")
    return done


def tags():
    found = {}
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        for tag in re.findall(r"// @([\w-]+)$", line):
            found[tag] = number
    return found


def check_counters(report, lines):
    kernels = {k["name"]: k for k in report["kernels"]}
    counted = {}
    for kernel in report["kernels"]:
        for line in kernel["lines"]:
            if line["file"] == str(SOURCE):
                # launches are counted one by one; coalesced has three
                counted[line["line"]] = {k: v for k, v in line.items() if isinstance(v, int)}
                for key in EXPECTED["coalesced"]:
                    counted[line["line"]][key] //= kernel["counted_launches"]
                check("text of a line", line["text"].strip() and line["text"] in SOURCE.read_text(), line)
    for tag, expected in EXPECTED.items():
        got = counted.get(lines[tag], {})
        for counter, value in expected.items():
            check(f"{tag}, {counter}", got.get(counter) == value, f"{got.get(counter)}, expected {value}")
    # SIMD-group 0 runs a loop of 50 more: the other three of each of 8 threadgroups wait for its steps, three times.
    waits = counted[lines["uneven"]]["barrier_waits"]
    check("waits at the uneven barrier", 8 * 3 * 3 * 50 < waits < 8 * 3 * 3 * 50 * 8, waits)
    for name, sizes in {"coalesced": (4096, 4096), "strided": (4096, 4096), "halves": (2048, 16384)}.items():
        launch = kernels[name]["launch"]
        check(f"bytes of {name}", (launch["bytes_read"], launch["bytes_written"]) == sizes, launch)
    check("launches", kernels["coalesced"]["launches"] == 3 and kernels["strided"]["launches"] == 1)
    check("private bytes", kernels["spills"]["private_bytes"] == 256)


def check_hints(report, lines):
    hints = {(h["line"], h["text"]) for k in report["kernels"] for h in k["hints"]}
    for tag, text in HINTS.items():
        check(f"hint of {tag}", (lines[tag], f"line {lines[tag]}: {text}") in hints,
              [h for h in hints if h[0] == lines[tag]])
    for tag in SILENT:
        check(f"no hint of {tag}", not [h for h in hints if h[0] == lines[tag]])
    check("hint of the uneven barrier", any(h[0] == lines["uneven"] and "wait at this barrier" in h[1] for h in hints))


def check_schema(report):
    check("keys", {"ingot", "date", "command", "devices", "kernels", "moves", "compilations"} <= report.keys())
    for kernel in report["kernels"]:
        check(f"keys of {kernel['name']}", {"name", "source", "constants", "constant_values", "device", "target",
                                           "launches", "threads", "group", "seconds", "counted_launches", "launch",
                                           "roofline", "lines", "hints"} <= kernel.keys())
        seconds = kernel["seconds"]
        check(f"times of {kernel['name']}", 0 < seconds["best"] <= seconds["median"] <= seconds["worst"]
              <= seconds["total"] * 1.000001 and not seconds["with_counters"], seconds)
    moves = {m["name"]: m for m in report["moves"]}
    check("copies", moves["copy"]["count"] == 1 and moves["copy"]["bytes"] == 131072, moves)
    check("fills", moves["fill"]["count"] == 1, moves)


class Page(html.parser.HTMLParser):
    """Collects what a page refers to, its anchors, and whether its tags close."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.open, self.bad = [], set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key in ("src", "href", "xlink:href", "srcset", "action"):
                self.links.append(value)
            if key == "id":
                self.anchors.add(value)
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.bad.append(tag)


def check_page(path, words):
    text = path.read_text()
    page = Page(text)
    outside = [link for link in page.links if not link.startswith("#") and link != "data:,"]
    check("nothing from outside", not outside and not re.search(r"https?://|@import|url\(", text), outside)
    check("links lead to anchors", all(link[1:] in page.anchors for link in page.links if link.startswith("#")))
    check("tags close", not page.bad and not page.open, (page.bad, page.open))
    for word in words:
        check(f"the page says {word}", word in text)


def check_nesting(events):
    """Events of one track are apart or inside each other."""
    tracks = {}
    for event in events:
        tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    for track, spans in tracks.items():
        stack = []
        for start, end in sorted(spans, key=lambda s: (s[0], -s[1])):
            while stack and stack[-1] <= start + 0.002:
                stack.pop()
            check(f"events of {track} nest", not stack or end <= stack[-1] + 0.002, (start, end, stack))
            stack.append(end)


def check_trace(path, names):
    events = json.loads(path.read_text())["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    for name in names:
        on = {tracks[e["pid"], e["tid"]].split()[0] for e in spans if e["cat"] == "kernel" and e["name"] == name}
        check(f"{name} in the timeline", on == {"stream", "worker"}, on)
    check("two streams", {t for t in tracks.values() if t.startswith("stream")} == {"stream 1", "stream 2"}, tracks)
    for category in ("copy", "wait", "compile"):
        check(f"{category} in the timeline", any(e["cat"] == category for e in spans))
    check("times", all(e["dur"] >= 0 and e["ts"] >= 0 for e in spans))
    check_nesting(spans)
    queued = {}
    for event in events:
        if event["ph"] in "be":
            queued.setdefault(event["id"], []).append(event)
    check("queueing", queued and all([e["ph"] for e in pair] == ["b", "e"] and pair[0]["ts"] <= pair[1]["ts"]
                                     for pair in queued.values()))
    check("a queue for each command", len(queued) == len([e for e in spans if "args" in e]))


def check_command(folder):
    saxpy = HERE.parent.parent / "examples" / "saxpy.metal"
    words = ["--threads", "4096", "f32:2", "f32[4096]", "f32[4096]"]
    text = run(INGOT, "profile", saxpy, "saxpy", "--no-ceilings", *words).stdout
    check("text", "saxpy" in text and "had to move" in text and "lines/" in text, text)
    check("lines of 100 columns", all(len(line) <= 100 for line in text.splitlines()
                                      if not line.startswith(("hint:", str(saxpy)))), text)
    wide = folder / "wide.metal"  # all columns have something to say
    wide.write_text("""#include <metal_stdlib>
        using namespace metal;
        kernel void wide(device float *x, device atomic_int *n, threadgroup float *s,
                         uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
            float own[64];
            for (int k = 0; k < 64; k++) own[k] = x[i] * k;
            s[t] = own[(i * 7) % 61];
            threadgroup_barrier(mem_flags::mem_threadgroup);
            atomic_fetch_add_explicit(&n[0], int(s[127 - t] + own[(i * 3) % 64]), memory_order_relaxed);
        }""")
    text = run(INGOT, "profile", wide, "wide", "--no-ceilings", "--threads", "1024", "--group", "128", "f32[1024]",
               "i32[1]", "tg:512").stdout
    check("all columns", all(w in text for w in ("passes/", "collide", "barrier", "private", "atomic_fetch_add")), text)
    check("and they fit 100 columns", all(len(line) <= 100 for line in text.splitlines()
                                          if not line.startswith(("hint:", str(wide)))), text)
    page = folder / "sweep.html"
    sweep = run(INGOT, "bench", saxpy, "saxpy", "--json", "--no-ceilings", "--repeat", "3", "--html", page, *words)
    sizes = json.loads(sweep.stdout)
    check("sizes", [s["group"] for s in sizes["sizes"]] == [[2**n, 1, 1] for n in range(5, 11)], sizes)
    check("one is fastest", sum(s["fastest"] for s in sizes["sizes"]) == 1 and sizes["flops"] == 8192, sizes)
    check_page(page, ["saxpy", "threads of a threadgroup"])
    for words, said in [([], "expected FILE and KERNEL"), (["--repeat", "0", saxpy, "saxpy"], "--repeat 0"),
                        (["--times", "--counters", "--", "true"], "exclude each other")]:
        check(f"usage {words}", said in run(INGOT, "profile", *words, status=2).stderr)
    for program, said in [("true", "ran no kernel"), ("false", "ended with status 1"),
                          ("/no/such/program", "cannot be started")]:
        check(f"program {program}", said in run(INGOT, "profile", "--", program, status=1).stderr)
    limited = folder / "limited.metal"
    limited.write_text("[[max_total_threads_per_threadgroup(64)]] kernel void limited(device float *x, uint i "
                       "[[thread_position_in_grid]]) { x[i] += 1; }")
    done = run(INGOT, "bench", limited, "limited", "--no-ceilings", "--repeat", "2", "--threads", "256", "--html", page,
               "f32[256]")
    left_out = 'left out: 128, 256, 512, 1024: kernel "limited": a threadgroup of 128'
    check("sizes that do not fit", left_out in done.stdout and not done.stderr, done)
    check_page(page, ["left out: 128, 256, 512, 1024: kernel &quot;limited&quot;"])
    valued = folder / "valued.metal"
    valued.write_text("constant uint2 n [[function_constant(3)]];\n"
                      "kernel void valued(device uint *x) { x[0] = n.y; }")
    done = run(INGOT, "profile", "--no-ceilings", "--html", page, valued, "valued", "--const", "n=7,8", "--threads",
               "1", "u32[1]")
    check("constants by name", "valued with n=7,8: a launch reads" in done.stdout, done)
    check_page(page, ["with n=7,8, on cpu"])
    for words, status in [(["none", "--threads", "4"], 1), (["limited", "--bogus", "--threads", "4"], 2)]:
        for command in "profile", "bench":
            said = run(INGOT, command, limited, *words, status=status).stderr
            check(f"{command} {words}: one error", said.count("error:") == 1, said)
    failing = f"'{INGOT}' run -q '{saxpy}' saxpy --threads 64 f32:2 'f32[64]' 'f32[64]'; exit 7"
    done = run(INGOT, "profile", "--no-ceilings", "--", "sh", "-c", failing, status=1)
    check("a program that fails is not counted, and that is said", "sh ended with status 7" in done.stderr
          and "saxpy: not counted (the program failed" in done.stdout, done)
    done = run(INGOT, "profile", "--no-ceilings", "--counters", "--", "sh", "-c", failing, status=1)
    check("but by --counters", "lines/" in done.stdout, done)
    check("bench usage", "expected --threads" in run(INGOT, "bench", saxpy, "saxpy", status=2).stderr)


def check_trace_failure(folder):
    done = run(PROGRAM, SOURCE, status=1, env={**os.environ, "INGOT_TRACE": str(folder / "none" / "t.json")})
    check("a trace that cannot be written", "INGOT_TRACE" in done.stderr and "No such file" in done.stderr, done.stderr)


def check_metal(program):
    keeps = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0"}  # Foundation does
    report = json.loads(run(INGOT, "profile", "--json", "--no-ceilings", "--", *program.split(), env=keeps).stdout)
    check("kernels of a Metal program", report["kernels"] and any(k["lines"] for k in report["kernels"]), report)


def check_cuda(library):
    """On a GPU, here a simulated one, there are times by events, and no counters."""
    said = run(INGOT, "profile", "--json", "--no-ceilings", "--repeat", "3", SOURCE, "coalesced", "--device", "cuda",
               "--threads", "64", "--group", "32", "f32[64]", "f32[64]",
               env={**os.environ, "INGOT_CUDA_LIBRARY": library}).stdout
    kernel, = json.loads(said)["kernels"]
    check("a CUDA device", kernel["device"] == "cuda:0" and kernel["launches"] == 4 and kernel["lines"] == [], kernel)
    check("times by its events", 0 < kernel["seconds"]["best"] <= kernel["seconds"]["total"], kernel)


def main():
    lines = tags()
    check("tags", set(lines) == set(EXPECTED), set(lines) ^ set(EXPECTED))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        page, trace = folder / "page.html", folder / "trace-%p.json"
        done = run(INGOT, "profile", "--json", "--no-ceilings", "--html", page, "--", PROGRAM, SOURCE,
                   env={**os.environ, "INGOT_TRACE": str(trace), "INGOT_CACHE_DIR": str(folder / "cache")})
        report = json.loads(done.stdout)
        check("the program's output is not in the report's", "done" in done.stderr)
        names = [k["name"] for k in report["kernels"]]
        check("kernels", sorted(names) == sorted(re.findall(r"kernel void (\w+)", SOURCE.read_text())), names)
        check_schema(report)
        check_counters(report, lines)
        check_hints(report, lines)
        check_page(page, names + ["hints", "cache lines each", f"line {lines['strided']}: each SIMD-group"])
        traces = sorted(folder.glob("trace-*.json"))
        check("a timeline of each run", len(traces) == 2 and not list(folder.glob("*.tmp")), list(folder.iterdir()))
        for path in traces:
            check_trace(path, names)
        check_command(folder)
        check_trace_failure(folder)
        for program in METAL:
            check_metal(program)
        if library := os.environ.get("FAKE_CUDA"):
            check_cuda(library)
    print(f"{checks - failures} passed, {failures} failed")
    return 1 if failures else 0


sys.exit(main())
