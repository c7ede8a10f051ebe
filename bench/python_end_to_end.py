#!/usr/bin/env python3
"""A small transformer with and without ingot on the CPU: training steps and decoding steps, side by side.

The model is that of examples/python. Its variants (torch eager, torch with ingot's overrides, the patched model, the
model written with ingot.ops) start from the same weights, are checked against torch, and then measured in turns
in one process with the same number of threads; the median of each counts. Writes bench/results/python-cpu.md.

Two settings of the process hold for all variants (fair_process.py says which and why; what is set already stays).

    make bench-python
"""
import argparse
import contextlib
import datetime
import os
import pathlib
import platform
import re
import statistics
import sys
import time

from fair_process import start_fairly

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "examples" / "python"))

TRAINING = {  # name: (layers, width, heads, hidden, context, batch)
    "train, width 128, 16×64 tokens": (2, 128, 4, 384, 64, 16),
    "train, width 256, 8×128 tokens": (4, 256, 8, 768, 128, 8),
    "train, width 512, 4×256 tokens": (4, 512, 8, 1536, 256, 4),
}
DECODING = {  # name: (layers, width, heads, hidden, tokens in the cache, batch)
    "decode, width 128, 128 cached": (2, 128, 4, 384, 128, 1),
    "decode, width 512, 512 cached": (4, 512, 8, 1536, 512, 1),
    "decode, width 1024, 1024 cached": (4, 1024, 16, 3072, 1024, 1),
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of both (all cores)")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each variant (9)")
    parser.add_argument("--time", type=float, default=0.3, help="seconds per turn (0.3)")
    parser.add_argument("--best", action="store_true", help="the shortest steps count: for a busy machine")
    parser.add_argument("--only", default="", help="only rows whose name contains this")
    parser.add_argument("--note", default="", help="a sentence for the table: how the machine was")
    parser.add_argument("--output", default=str(FOLDER / "results" / "python-cpu.md"), help="the table; - for none")
    return parser.parse_args()


options = arguments()
start_fairly(options.threads)
import torch  # noqa: E402  the number of threads is chosen before torch and ingot come

torch.set_num_threads(options.threads)
from small_model import TORCH, Cache, Config, Text, Transformer, ingot_functions  # noqa: E402

import ingot  # noqa: E402


def build(sizes: tuple, variant: str) -> Transformer:
    """A model of one variant, with the same weights for each."""
    layers, width, heads, hidden, context, _ = sizes
    config = Config(layers=layers, width=width, heads=heads, hidden=hidden, context=context)
    torch.manual_seed(0)
    if variant in ("ingot.ops", "4 bits"):
        model = Transformer(config, ingot_functions(), ingot.nn.RMSNorm)
        ingot.patch(model, normalization=False, mlp=False)  # the linear layers
        return quantised(model) if variant == "4 bits" else model
    model = Transformer(config, TORCH)
    if variant == "patched":
        ingot.patch(model)
    return model


def quantised(model: Transformer) -> Transformer:
    """The model with 4-bit weights in all of its products."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.Linear):
                ingot.unpatch(child)
                setattr(module, name, ingot.nn.QuantisedLinear.from_linear(child))
    return model


def around(variant: str) -> contextlib.AbstractContextManager:
    """What a variant needs around its steps."""
    return ingot.overrides() if variant == "overrides" else contextlib.nullcontext()


def training_step(sizes: tuple, variant: str):
    """A function that does one step and returns the loss."""
    model = build(sizes, variant)
    optimizers = torch.optim if variant in ("torch", "overrides") else ingot.optim
    optimizer = optimizers.AdamW(model.parameters(), lr=1e-4)
    tokens = Text().batch(sizes[5], sizes[4], torch.Generator().manual_seed(0))

    def step() -> torch.Tensor:
        loss = model.loss(tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def decoding_step(sizes: tuple, variant: str):
    """A function that makes one token after a cache of a given length, and returns its scores."""
    model = build(sizes, variant).eval()
    cached = sizes[4]
    cache = Cache(model.config, sizes[5], cached + 1)
    torch.manual_seed(1)
    cache.keys.normal_()
    cache.values.normal_()
    token = torch.zeros(sizes[5], 1, dtype=torch.int64)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        cache.length = cached
        return model(token, cache)

    return step


VARIANTS = ("torch", "overrides", "patched", "ingot.ops")


def check(name: str, variant: str, result: torch.Tensor, expected: torch.Tensor) -> None:
    """Raises where a variant does not compute what torch does; 4-bit weights only resemble it."""
    if variant == "4 bits":
        likeness = torch.nn.functional.cosine_similarity(result.flatten(), expected.flatten(), 0).item()
        if likeness < 0.95:
            raise SystemExit(f"{name}, {variant}: the scores resemble torch's to {likeness} only")
        return
    torch.testing.assert_close(result, expected, rtol=2e-3, atol=2e-3, msg=lambda m: f"{name}, {variant}: {m}")


def measure(name: str, make, sizes: tuple) -> list[float]:
    """The median time of a step by each variant, measured in turns."""
    variants = (*VARIANTS, "4 bits") if make is decoding_step else VARIANTS
    steps = {variant: make(sizes, variant) for variant in variants}
    expected = None
    for variant, step in steps.items():
        with around(variant):
            results = [step() for _ in range(3)]
        result = torch.stack([r.float() for r in results])
        expected = result if expected is None else expected
        check(name, variant, result, expected)
    samples = {variant: [] for variant in variants}
    for turn in range(options.rounds):
        for variant in variants if turn % 2 else reversed(variants):
            with around(variant):
                steps[variant]()  # the caches are this variant's again
                end = time.perf_counter() + options.time
                while (start := time.perf_counter()) < end:
                    steps[variant]()
                    samples[variant].append(time.perf_counter() - start)
    return [(min if options.best else statistics.median)(samples[variant]) for variant in variants]


def calls() -> list[tuple[str, float, float]]:
    """What one call costs: (name, torch's, ingot's) in seconds, on tensors of 16 elements."""
    x, y = torch.randn(1, 16), torch.zeros(1, 16)
    weight = torch.rand(16)
    kernel = ingot.compile_shader(
        "kernel void zero(device float *x, uint i [[thread_position_in_grid]]) { x[i] = 0; }").zero
    functional = torch.nn.functional
    pairs = [("a kernel by compile_shader, 16 threads (torch: fill_)", lambda: y.fill_(0), lambda: kernel(y)),
             ("silu", lambda: functional.silu(x), lambda: torch.ops.ingot.silu(x)),
             ("rms_norm", lambda: functional.rms_norm(x, (16,), weight, 1e-6), lambda: ingot.ops.rms_norm(x, weight)),
             ("softmax", lambda: functional.softmax(x, -1), lambda: ingot.ops.softmax(x))]
    rows = []
    for name, *functions in pairs:
        best = [float("inf")] * 2
        for turn in range(20):
            for side, function in enumerate(functions):
                start = time.perf_counter()
                for _ in range(200):
                    function()
                best[side] = min(best[side], (time.perf_counter() - start) / 200)
        rows.append((name, *best))
    return rows


def processor() -> str:
    """The name of this machine's processor."""
    try:
        return re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text()).group(1)
    except (OSError, AttributeError):
        return platform.processor() or platform.machine()


def introduction() -> list[str]:
    """The lines before the table."""
    kind = "the shortest" if options.best else "medians"
    return ["# The Python package on the CPU", "",
            f"`make bench-python` on {processor()}, {options.threads} threads, torch {torch.__version__}, "
            f"{datetime.date.today()}.{' ' + options.note if options.note else ''}",
            f"All variants in one process, in turns; {kind} of a step in milliseconds, and how many times faster than "
            "eager torch.",
            f"GOMP_SPINCOUNT is {os.environ['GOMP_SPINCOUNT']}, for all; bench/fair_process.py says why.", "",
            "- *overrides*: `ingot.overrides()` around torch's model and optimizer",
            "- *patched*: `ingot.patch(model)` and ingot.optim.AdamW",
            "- *ingot.ops*: the model written with ingot's operators, and its linear layers patched",
            "- *4 bits*: that with `ingot.nn.QuantisedLinear`: another model, whose scores only resemble torch's",
            "", "| step | torch | overrides | patched | ingot.ops | 4 bits |", "|---|---|---|---|---|---|"]


def main() -> None:
    lines = introduction()
    for table, make in ((TRAINING, training_step), (DECODING, decoding_step)):
        for name, sizes in table.items():
            if options.only not in name:
                continue
            times = measure(name, make, sizes)
            cells = [f"{times[0] * 1e3:.2f}", *(f"{t * 1e3:.2f} ({times[0] / t:.2f}×)" for t in times[1:])]
            cells += [""] * (len(VARIANTS) + 1 - len(cells))
            lines.append(f"| {name} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    lines += ["", "A call on tensors of 16 elements, mostly not the work: the best of 20 times 200 calls, in µs.",
              "", "| call | torch | ingot |", "|---|---|---|"]
    lines += [f"| {name} | {a * 1e6:.1f} | {b * 1e6:.1f} |" for name, a, b in calls()]
    print("\n".join(lines[-4:]))
    if options.output != "-" and not options.only:
        pathlib.Path(options.output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
