#!/usr/bin/env python3
"""gpu_table.py OUTPUT [TORCH.json]: the outputs of bench/gpu.sh as one table and one file, OUTPUT/gpu.json.

TORCH.json: what torch reached on the same kind of card ({"copy_gbs": …, "rows": [{"op", "shape", "dtype", "eager_ms",
"compiled_ms"}]}); the rows of `ingot bench --large` that it has too are then set against it, as Markdown. A file of
bench/gpu_torch.py has ingot's figures of the same run itself ("ingot_ms"): its rows are then the table. Without
TORCH.json it is OUTPUT/torch.json, where there is one."""
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
    cases = []
    broken = {}
    for path in sorted((folder / "health").glob("*.out")):
        found = read_json(path.parent, path.name)
        if found:
            cases += [case for device in found["devices"] for case in device["cases"]]
        else:
            broken[path.stem] = read(path.parent, path.stem + ".err")[-500:] or "ended without a result"
    failures = [
        {key: case.get(key) for key in ("operation", "type", "case", "variant", "launch", "message")}
        for case in cases
        if not case["passed"]
    ]
    return {"cases": len(cases), "failed": len(failures), "failures": failures, "broken": broken}


def bench(folder, name):
    found = read_json(folder, name + ".out")
    if not found:
        return {"error": read(folder, name + ".err")[-2000:]}
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


def torch_name(row, names):
    """The name, shape and type under which torch's figures have a row; None when they have none. Their name may say
    more than the operation's (adamw_fused)."""
    operation, shape = row["operation"], row["case"].removeprefix("large ")
    if operation == "attention":
        decode = re.fullmatch(r"(\d+x\d+/\d+)x1x(\d+x\d+)", shape)
        if decode:
            return "sdpa_decode_gqa", f"{decode[1]}x{decode[2]}", row["type"]
        shape = shape.removesuffix(" causal")
        heads = re.match(r"\d+x(\d+)/(\d+)x", shape)
        return "sdpa_causal" + ("" if heads and heads[1] == heads[2] else "_gqa"), shape, row["type"]
    if operation == "matmul":
        return ("matvec", "16384x16384", row["type"]) if shape == "1x16384x16384 nt" else None
    batched = re.fullmatch(r"(\d+) of (\d+x\d+)(, 1)?", shape)
    if batched:
        shape = f"{batched[1]}x{batched[2]}"
    shape = {"1000000x128, 16384 bags of 64": "1Mx128, 16384 bags of 64", "1 of 64Mi": "64Mi params"}.get(shape, shape)
    return next((name for name in names if name.startswith(operation)), operation), shape, row["type"]


def best_of_torch(row):
    """The better of eager and compiled, in milliseconds, or None."""
    return min((row[key] for key in ("eager_ms", "compiled_ms") if row.get(key) and row[key] == row[key]), default=None)


def print_side_by_side(torch):
    """What one process measured of torch and of ingot, as a table in Markdown."""
    number = lambda value, digits: "" if value is None else f"{value:.{digits}f}"  # noqa: E731
    print(f"torch {torch['torch']}, {torch['gpu']}, {torch['date']}; copy bandwidth {torch['copy_gbs']:.0f} GB/s\n")
    print("| operation | type | shape | ingot, µs | torch eager, µs | compiled, µs | times torch's best | reached | "
          "host, µs | torch's host, µs |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in torch["rows"]:
        mine, best = row["ingot_ms"], best_of_torch(row)
        eager, compiled = (number(row[key] and row[key] * 1e3, 1) for key in ("eager_ms", "compiled_ms"))
        reached = ""
        if row["flops"]:
            reached = f"{row['flops'] / mine / 1e9:.1f} TFLOP/s"
        elif row["bytes"]:
            reached = f"{row['bytes'] / mine / 1e6 / torch['copy_gbs']:.2f} of copy"
        print(f"| {row['op']} | {row['dtype']} | {row['shape']} | {mine * 1e3:.1f} | {eager} | {compiled} "
              f"| {number(best and best / mine, 2)}{'' if row['right'] else ' (wrong)'} | {reached} "
              f"| {number(row.get('ingot_host_us'), 1)} | {number(row.get('eager_host_us'), 1)} |")


def print_against(found, torch):
    """Rows that torch has too, as a table in Markdown."""
    figures = {(row["op"], row["shape"], row["dtype"]): best_of_torch(row) * 1e3 for row in torch["rows"]}
    names = sorted({row["op"] for row in torch["rows"]}, key=len)
    print("| operation | type | shape | ingot, µs | torch's best, µs | times torch | of the copy bandwidth |")
    print("|---|---|---|---|---|---|---|")
    for row in found.get("rows", []):
        name, seconds = torch_name(row, names), row.get("seconds") or 0
        if name not in figures or not seconds:
            continue
        share = row.get("bytes", 0) / seconds / 1e9 / torch["copy_gbs"]
        print(
            f"| {row['operation']} | {row['type']} | {name[1]} | {seconds * 1e6:.1f} | {figures[name]:.1f} "
            f"| {figures[name] / seconds / 1e6:.2f} | {share:.2f} |"
        )


def main():
    folder = pathlib.Path(sys.argv[1])
    torch = json.loads(pathlib.Path(sys.argv[2]).read_text()) if len(sys.argv) > 2 else read_json(folder, "torch.json")
    result = {
        "device": read(folder, "devices.out"),
        "status": {path.stem: int(path.read_text()) for path in sorted(folder.glob("*.status"))},
        "launch": read_json(folder, "launch.out") or {"error": read(folder, "launch.err")},
        "msl": msl(folder),
        "health": health(folder),
        "large": bench(folder, "large"),
        "bench": bench(folder, "bench"),
        "torch": torch,
    }
    (folder / "gpu.json").write_text(json.dumps(result, indent=1))
    print("launch:", json.dumps(result["launch"]))
    print("tests/msl:", result["msl"]["counts"])
    for name, why in list(result["msl"]["failures"].items())[:60]:
        print(f"  {name}: {why.splitlines()[0][:160] if why else ''}")
    print("health:", {key: result["health"].get(key) for key in ("cases", "failed", "broken")})
    for case in result["health"].get("failures", [])[:60]:
        print(f"  {case['operation']} {case['type']} {case['case']}: {(case['message'] or '')[:160]}")
    print_bench(result["bench"])
    print_bench(result["large"])
    if torch and "ingot_ms" in (torch["rows"] or [{}])[0]:
        print_side_by_side(torch)
    elif torch:
        print_against(result["large"], torch)


main()
