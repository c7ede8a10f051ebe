#!/usr/bin/env python3
"""gpu_table.py OUTPUT: the outputs of bench/gpu.sh as one table and one file, OUTPUT/gpu.json."""
import json
import pathlib
import re
import sys


def read(folder, name):
    path = folder / name
    return path.read_text(errors="replace") if path.exists() else ""


def read_json(folder, name):
    try:
        return json.loads(read(folder, name))
    except ValueError:
        return None


def msl(folder):
    text = read(folder, "msl.out")
    last = re.search(r"(\d+) files: (\d+) passed, (\d+) failed", text)
    failures = {}
    for block in re.split(r"^(?=FAIL )", text, flags=re.M)[1:]:
        first, _, rest = block.partition("\n")
        failures[first[5:].replace("\\", "/").split("/")[-1]] = rest.strip()[:400]
    counts = {"files": int(last[1]), "passed": int(last[2]), "failed": int(last[3])} if last else None
    return {"counts": counts, "failures": failures}


def health(folder):
    found = read_json(folder, "health.out")
    if not found:
        return {"error": read(folder, "health.err")[-2000:]}
    cases = [case for device in found["devices"] for case in device["cases"]]
    failures = [
        {key: case.get(key) for key in ("operation", "type", "case", "variant", "launch", "message")}
        for case in cases
        if not case["passed"]
    ]
    return {"cases": len(cases), "failed": len(failures), "failures": failures}


def bench(folder):
    found = read_json(folder, "bench.out")
    if not found:
        return {"error": read(folder, "bench.err")[-2000:]}
    for row in found["rows"]:
        row.pop("tensors", None)
    return found


def print_bench(found):
    if "rows" not in found:
        print("bench:", found["error"])
        return
    ceilings = found["ceilings"]
    print(f"ceilings: {ceilings['bytes_per_second'] / 1e9:.0f} GB/s, {ceilings['flops_per_second'] / 1e12:.2f} TFLOP/s")
    print(f"{'operation':<22}{'type':<6}{'case':<34}{'µs':>12}{'GB/s':>10}{'TFLOP/s':>10}")
    for row in found["rows"]:
        seconds = row.get("seconds") or 0
        if not seconds:
            print(f"{row['operation']:<22}{row['type']:<6}{row['case']:<34}  {row.get('message', 'failed')}")
            continue
        print(
            f"{row['operation']:<22}{row['type']:<6}{row['case']:<34}{seconds * 1e6:12.2f}"
            f"{row.get('bytes', 0) / seconds / 1e9:10.0f}{row.get('flops', 0) / seconds / 1e12:10.2f}"
        )


def main():
    folder = pathlib.Path(sys.argv[1])
    result = {
        "device": read(folder, "devices.out"),
        "status": {path.stem: int(path.read_text()) for path in sorted(folder.glob("*.status"))},
        "launch": read_json(folder, "launch.out") or {"error": read(folder, "launch.err")},
        "msl": msl(folder),
        "health": health(folder),
        "bench": bench(folder),
    }
    (folder / "gpu.json").write_text(json.dumps(result, indent=1))
    print("launch:", json.dumps(result["launch"]))
    print("tests/msl:", result["msl"]["counts"])
    for name, why in list(result["msl"]["failures"].items())[:60]:
        print(f"  {name}: {why.splitlines()[0][:160] if why else ''}")
    print("health:", {key: result["health"].get(key) for key in ("cases", "failed", "error")})
    for case in result["health"].get("failures", [])[:60]:
        print(f"  {case['operation']} {case['type']} {case['case']}: {(case['message'] or '')[:160]}")
    print_bench(result["bench"])


main()
