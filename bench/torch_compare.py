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
import re
import signal
import statistics
import subprocess
import sys
import time

MALLOC = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(256 << 20)}



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


# ---- the same in torch -----------------------------------------------------------------------------

class Case:
    """A row of ingot, as the functions below see it: tensors by name, sizes, flags."""

    def __init__(self, row):
        self.row = row
        self.sizes = row["sizes"]
        self.numbers = row["numbers"]
        self.flags = {*row["flag_names"], *re.split("[^a-z_]+", row["case"])}
        self.slots = {t["name"]: t for t in row["tensors"]}
        self.type = row["type"]

    def has(self, name):
        return name in self.slots

    def shape(self, name):
        return self.slots[name]["shape"]

    def dtype(self, name=None):
        import torch
        return {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "i64": torch.int64,
                "u32": torch.int32, "u8": torch.uint8, "i8": torch.int8, "bool": torch.bool
                }[self.slots[name]["type"] if name else self.type]

    def make(self, name, low=0, high=2):
        """Random values with the slot's type, shape and strides; large tensors of floats repeat a random part."""
        import torch
        slot, dtype = self.slots[name], self.dtype(name)
        reach = 1 + sum((n - 1) * s for n, s in zip(slot["shape"], slot["strides"]))
        if dtype.is_floating_point:
            part = 1000003  # a prime: rows differ
            base = torch.randn(min(reach, part)).to(dtype)
            base = base if reach <= part else base.repeat(-(-reach // part))[:reach].clone()
        else:
            base = torch.randint(low, high, (reach,)).to(dtype)
        return base.as_strided(slot["shape"], slot["strides"])

    def optional(self, name):
        return self.make(name) if self.has(name) else None


class Backward:
    """Only the backward pass of a forward function."""

    def __init__(self, forward, inputs, dout):
        self.forward, self.dout = forward, dout
        self.inputs = [t.detach().requires_grad_() for t in inputs]
        self.out = forward(*self.inputs)

    def __call__(self):
        import torch
        return torch.autograd.grad(self.out, self.inputs, self.dout, retain_graph=True)

    def with_forward(self, forward):
        return Backward(forward, self.inputs, self.dout)


def gradients(forward, inputs, dout):
    return Backward(forward, inputs, dout), (), True


# Each takes a Case and gives (function, arguments) or (function, arguments, True) when torch.compile may try; a
# function in the place of True is what it compiles instead.

def axpy(c):
    return lambda x, y: y.add_(x, alpha=1.5), (c.make("x"), c.make("y")), True


def fill(c):
    return lambda out: out.fill_(1.5), (c.make("out"),), True


def convert(c):
    return lambda x, out: out.copy_(x), (c.make("from"), c.make("to")), True


def activation(name):
    import torch.nn.functional as F
    return {"silu": F.silu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}[name]


def pointwise(c):
    import torch
    operation = c.row["operation"]
    name = operation.removesuffix("_backward").removesuffix("_mul")
    f = activation(name)
    if "_mul" in operation:
        gate, up = c.make("gate_up").chunk(2, -1) if c.has("gate_up") else (c.make("gate"), c.make("up"))
        if operation.endswith("_backward"):
            return gradients(lambda g, u: f(g) * u, [gate, up], c.make("d_out"))
        return lambda g, u: f(g) * u, (gate, up), True
    if operation == "silu_backward":
        return (lambda d, x: torch.ops.aten.silu_backward(d, x)), (c.make("d_out"), c.make("x")), True
    if operation.endswith("_backward"):
        approximate = "tanh" if name == "gelu_tanh" else "none"
        return (lambda d, x: torch.ops.aten.gelu_backward(d, x, approximate=approximate)), \
            (c.make("d_out"), c.make("x")), True
    return f, (c.make("x"),), True


def rms(x, weight, eps=1e-6):
    import torch.nn.functional as F
    return F.rms_norm(x, x.shape[-1:], weight if weight is None else weight.to(x.dtype), eps)


def rms_norm(c):
    return rms, (c.make("x"), c.optional("weight")), True


def rms_norm_backward(c):
    inputs = [c.make("x")] + ([c.make("weight")] if c.has("weight") else [])
    return gradients(lambda x, w=None: rms(x, w), inputs, c.make("dy"))


def add_rms_norm(c):
    def f(x, residual, weight):
        total = x + residual
        return total, rms(total, weight)
    return f, (c.make("x"), c.make("residual"), c.optional("weight")), True


def add_rms_norm_backward(c):
    if not c.has("dsum"):
        return gradients(lambda s, w=None: rms(s, w), [c.make("sum")] + ([c.make("weight")] if c.has("weight") else []),
                         c.make("dy"))
    inputs = [c.make("sum")] + ([c.make("weight")] if c.has("weight") else [])
    return gradients(lambda s, w=None: (s * 1, rms(s, w)), inputs, (c.make("dsum"), c.make("dy")))


def layer_norm(c):
    import torch.nn.functional as F
    return (lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b, 1e-5)), \
        (c.make("x"), c.optional("weight"), c.optional("bias")), True


def layer_norm_backward(c):
    import torch.nn.functional as F
    x = c.make("x")
    weight = c.make("weight") if c.has("weight") else None
    inputs = [x] + ([weight, weight.clone()] if weight is not None else [])
    return gradients(lambda a, w=None, b=None: F.layer_norm(a, a.shape[-1:], w, b, 1e-5), inputs, c.make("dy"))


def softmax(c):
    import torch
    x = c.make("x")
    if "causal" in c.flags:
        rows, columns = x.shape[-2:]
        mask = torch.full((rows, columns), -math.inf, dtype=x.dtype).triu(columns - rows + 1)
        return lambda a, m: torch.softmax(a + m, -1), (x, mask), True
    if c.has("mask"):
        mask = c.make("mask")
        if mask.dtype == torch.bool:
            mask[..., 0] = True
            return lambda a, m: torch.softmax(a.masked_fill(~m, -math.inf), -1), (x, mask), True
        return lambda a, m: torch.softmax(a + m.to(a.dtype), -1), (x, mask), True
    return lambda a: torch.softmax(a, -1), (x,), True


def softmax_backward(c):
    import torch
    return lambda d, y: torch.ops.aten._softmax_backward_data(d, y, -1, y.dtype), \
        (c.make("dy"), torch.softmax(c.make("y"), -1)), True


def log_softmax(c):
    import torch
    return lambda x: torch.log_softmax(x, -1), (c.make("x"),), True


def log_softmax_backward(c):
    import torch
    return lambda d, y: torch.ops.aten._log_softmax_backward_data(d, y, -1, y.dtype), \
        (c.make("dy"), torch.log_softmax(c.make("y"), -1)), True


def cross_entropy(c):
    import torch
    import torch.nn.functional as F
    logits = c.make("logits").requires_grad_()
    targets = torch.randint(0, logits.shape[-1], (logits.shape[0],))

    def f(x, t):
        return torch.autograd.grad(F.cross_entropy(x, t), x)
    if c.has("dlogits") or any(t["name"].startswith("dlogits") for t in c.slots.values()):
        return f, (logits, targets), True
    return F.cross_entropy, (logits.detach(), targets), True


def rope(c):
    import torch
    x = c.make("x")
    length, row = x.shape[-2:]
    dims = int(c.sizes.get("dims") or row)
    angles = torch.outer(torch.arange(length).float(), 10000.0 ** (-torch.arange(0, dims, 2).float() / dims))
    cos, sin = angles.cos(), angles.sin()
    sign = -1 if c.row["operation"] == "rope_backward" else 1

    def half(a, co, si):
        p, q = a[..., :dims // 2], a[..., dims // 2:dims]
        return torch.cat((p * co - q * si, q * co + p * si, a[..., dims:]), -1).to(a.dtype)

    def pairs(a, co, si):
        p, q = a[..., 0:dims:2], a[..., 1:dims:2]
        turned = torch.stack((p * co - q * si, q * co + p * si), -1).flatten(-2)
        return torch.cat((turned, a[..., dims:]), -1).to(a.dtype)
    return (pairs if "interleaved" in c.flags else half), (x, cos, sign * sin), True


def attention_inputs(c):
    import torch
    q, k, v = c.make("q"), c.make("k"), c.make("v")
    causal = "causal" in c.flags
    extra = {"enable_gqa": q.shape[1] != k.shape[1]}
    if c.has("mask"):
        mask = c.make("mask")
        extra["attn_mask"] = mask if mask.dtype == torch.bool else mask.to(q.dtype)
    elif causal and q.shape[2] == k.shape[2]:
        extra["is_causal"] = True
    elif causal and q.shape[2] > 1:
        rows, columns = q.shape[2], k.shape[2]
        extra["attn_mask"] = torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows)
    return (q, k, v), extra


def attention(c):
    import torch.nn.functional as F
    inputs, extra = attention_inputs(c)
    return (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **extra)), inputs


def attention_backward(c):
    import torch.nn.functional as F
    inputs, extra = attention_inputs(c)
    return gradients(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **extra), list(inputs), c.make("dout"))


def attention_paged(c):
    """torch has no paged cache: plain attention over a cache that is in one piece already."""
    import torch
    import torch.nn.functional as F
    q = c.make("q")
    blocks, heads, block, dim = c.shape("key_cache")
    length = min(blocks // q.shape[0], c.shape("block_table")[1]) * block
    k = torch.randn(q.shape[0], heads, length, dim).to(q.dtype)
    v = torch.randn(q.shape[0], heads, length, c.shape("value_cache")[3]).to(q.dtype)
    return (lambda a, b, d: F.scaled_dot_product_attention(a, b, d, enable_gqa=a.shape[1] != heads)), (q, k, v)


def cache_write(c):
    import torch
    blocks, heads, block, _ = c.shape("key_cache")
    slots = torch.randperm(blocks * block)[:c.shape("key")[0]]

    def f(key, value, keys, values):
        keys[slots // block, :, slots % block] = key
        values[slots // block, :, slots % block] = value
    return f, (c.make("key"), c.make("value"), c.make("key_cache"), c.make("value_cache"))


def matmul(c):
    import torch
    import torch.nn.functional as F
    a, b = c.make("a"), c.make("b")
    bias = c.optional("bias")
    a = a.mT if "transpose_a" in c.flags else a
    b = b.mT if "transpose_b" in c.flags else b
    act = next((f for name, f in (("silu", F.silu), ("relu", F.relu), ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh")),
                                  ("gelu", F.gelu)) if name in c.flags), None)

    def f(x, y, z):
        if z is not None and x.dim() == 2 and y.dim() == 2:
            out = torch.addmm(z, x, y)
        else:
            out = torch.matmul(x, y) if z is None else torch.matmul(x, y) + z
        return act(out) if act else out
    return f, (a, b, bias)


def quantise(c):
    """Groupwise, symmetric 8-bit codes as the cheapest comparable work: scales, rounding, no packing."""
    import torch
    x = c.make("x")
    group = int(c.sizes.get("group") or 32)

    def f(a):
        g = a.reshape(a.shape[0], -1, group)
        scale = g.abs().amax(-1, keepdim=True) / 7
        return (g / scale).round_().clamp_(-8, 7).to(torch.int8), scale
    return f, (x,), True


def dequantise(c):
    import torch
    rows, row = c.shape("out")
    groups = c.shape("scales")[1]
    codes = torch.randint(-8, 8, (rows, groups, row // groups), dtype=torch.int8)
    scales = torch.rand(rows, groups, 1).to(c.dtype("out"))
    return lambda a, s: (a.to(s.dtype) * s).reshape(rows, row), (codes, scales), True


def float_product(c):
    """The float32 product of the same shape: what 4 bits are measured against."""
    import torch
    out = c.shape("out")
    x = c.shape("x")
    w = torch.randn(out[-1], x[-1])
    return torch.nn.functional.linear, (torch.randn(x), w)


def embedding_inputs(c):
    import torch
    rows = c.shape("table")[0]
    indices = c.make("indices", 0, rows)
    offsets = None
    if c.has("offsets"):
        count = c.shape("offsets")[0]
        offsets = (torch.arange(count) * (indices.numel() // max(count, 1))).to(indices.dtype)
    mode = next((m for m in ("mean", "max") if m in c.flags), "sum")
    weights = c.make("sample_weights") if c.has("sample_weights") else None
    return c.make("table"), indices, offsets, mode, weights


def embedding_bag(c):
    import torch.nn.functional as F
    table, indices, offsets, mode, weights = embedding_inputs(c)
    return (lambda i, t, o, w: F.embedding_bag(i, t, o, mode=mode, per_sample_weights=w)), \
        (indices, table, offsets, weights), True


def embedding_bag_backward(c):
    import torch.nn.functional as F
    table, indices, offsets, mode, weights = embedding_inputs(c)
    return gradients(lambda t: F.embedding_bag(indices, t, offsets, mode=mode, per_sample_weights=weights), [table],
                     c.make("d_out"))


def many(c):
    """The tensors of an optimiser's step."""
    import torch
    return [torch.randn(c.sizes["size"]).to(c.dtype()) for _ in range(c.sizes["tensors"])]


def adamw(c):
    import torch
    parameters = [torch.nn.Parameter(t) for t in many(c)]
    for p in parameters:
        p.grad = torch.randn_like(p)
    kind = torch.optim.AdamW if c.row["operation"] == "adamw" else torch.optim.Adam
    to_compile = kind(parameters, lr=1e-3, foreach=True)
    return kind(parameters, lr=1e-3, fused=True).step, (), lambda: to_compile.step()


def grad_norm(c):
    import torch
    values = many(c)
    return lambda: torch.nn.utils.get_total_norm(values), ()


def in_float(f, *tensors):
    """Half types are computed in float32 and converted back, as ingot does."""
    import torch
    if all(t.dtype == torch.float32 for t in tensors):
        return f, tensors

    def g(*args):
        out = f(*(a.float() for a in args))
        return [o.to(args[0].dtype) for o in (out if isinstance(out, tuple) else (out,))]
    return g, tensors


def positive(a):
    import torch
    x = a.float()
    return (x @ x.mT + x.shape[-1] * torch.eye(x.shape[-1])).to(a.dtype)


def qr(c):
    import torch
    mode = "complete" if "complete" in c.flags else "reduced"
    mode = mode if c.has("q") else "r"
    return in_float(lambda a: tuple(torch.linalg.qr(a, mode)), c.make("a"))


def cholesky(c):
    import torch
    return in_float(lambda a: torch.linalg.cholesky(a), positive(c.make("a")))


def lu(c):
    import torch
    return in_float(lambda a: tuple(torch.linalg.lu_factor(a))[0], c.make("a"))


def solve(c):
    import torch
    return in_float(torch.linalg.solve, positive(c.make("a")), c.make("b"))


def triangular_solve(c):
    import torch
    upper = "upper" in c.flags
    a = positive(c.make("a"))
    a = a.triu() if upper else a.tril()
    left = "right" not in c.flags
    return in_float(lambda x, b: torch.linalg.solve_triangular(x, b, upper=upper, left=left), a, c.make("b"))


def lstsq(c):
    import torch
    return in_float(lambda a, b: torch.linalg.lstsq(a, b, driver="gelsy").solution, c.make("a"), c.make("b"))


def eigh(c):
    import torch
    a = c.make("a")
    f = torch.linalg.eigh if c.has("vectors") else torch.linalg.eigvalsh
    return in_float(lambda x: tuple(f(x)) if c.has("vectors") else f(x), (a + a.mT).contiguous())


def svd(c):
    import torch
    if not c.has("u"):
        return in_float(torch.linalg.svdvals, c.make("a"))
    return in_float(lambda a: tuple(torch.linalg.svd(a, full_matrices=False)), c.make("a"))


POINTWISE = [f"{n}{s}" for n in ("silu", "gelu", "gelu_tanh") for s in ("", "_mul", "_backward", "_mul_backward")]
OPERATIONS = {
    **{f.__name__: f for f in (
        axpy, fill, convert, rms_norm, rms_norm_backward, add_rms_norm, add_rms_norm_backward, layer_norm,
        layer_norm_backward, softmax, softmax_backward, log_softmax, log_softmax_backward, cross_entropy, rope, attention,
        attention_backward, attention_paged, cache_write, matmul, quantise, dequantise, embedding_bag, embedding_bag_backward, adamw,
        grad_norm, qr, cholesky, lu, solve, triangular_solve, lstsq, eigh, svd)},
    **{name: pointwise for name in POINTWISE},
    "rope_backward": rope, "adam": adamw, "quantised_matvec": float_product, "quantised_matmul": float_product,
    "attention_decode": attention,
}


def target(case):
    """How many times as fast as torch this row should be; None: no target is set."""
    name = case.row["operation"]
    if name in ("qr", "eigh", "svd", "cholesky", "solve"):
        size = max(case.shape("a")[-2:])
        batch = math.prod(case.shape("a")[:-2])
        return 2.0 if size <= 64 and batch > 1 and case.type == "f32" else None
    if name in ("attention", "attention_paged") or (name == "matmul" and case.type == "f32"):
        return 0.6
    if name == "quantised_matvec":
        return 2.0 if "4 bits" in case.row["case"] and case.shape("x")[0] == 1 else None
    return 1.0 if is_fused(case.row) else None


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


FUSED = ("norm", "softmax", "cross_entropy", "rope", "embedding_bag", "adam", "silu", "gelu", "axpy", "fill")


def is_fused(row):
    """Operations on rows or elements: torch is to be reached, and its compiler may have something to fuse."""
    return any(word in row["operation"] for word in FUSED)


def key(row):
    return f"{row['operation']} {row['type']} {row['case']}"


def rows_to_compile(options, rows):
    largest = {(r["operation"], r["type"]): r for r in rows if "error" not in r and is_fused(r)}
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
    if not options.ggml or case.row["operation"] != "quantised_matvec" or target(case) is None:
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
