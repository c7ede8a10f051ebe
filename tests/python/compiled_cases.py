"""Launches of MLX's compiled kernels with what must come out, worked out by NumPy.

Each of FAMILIES gives those whose kernels a library has. A case is one launch of `ingot run`: arguments in order of the
buffer indices, each an array, an output with its expected values and tolerance, or a literal of the command line.
"""

import math
import re
import struct
from dataclasses import dataclass, field

import numpy as np

TYPES = {
    "float32": "f4",
    "float16": "f2",
    "bfloat16": "bf16",
    "int8": "i1",
    "int16": "i2",
    "int32": "i4",
    "int64": "i8",
    "uint8": "u1",
    "uint16": "u2",
    "uint32": "u4",
    "uint64": "u8",
    "bool_": "?",
}
SHORT = {"float": "float32", "float16_t": "float16", "bfloat16_t": "bfloat16"}
TOLERANCE = {"float32": 4e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
rng = np.random.default_rng(7)


@dataclass
class Out:
    """What a buffer must hold afterwards, within `tolerance` of the largest value, or of each (relative)."""

    type: str
    expected: np.ndarray
    tolerance: float = 0.0
    relative: bool = False

    def differs(self, raw):
        got, want = decode(self.type, raw).astype("f8").ravel(), np.asarray(self.expected, "f8").ravel()
        if not self.tolerance:
            good = (got == want) | (np.isnan(got) & np.isnan(want))
        else:
            scale = (
                np.maximum(np.abs(want), 1e-2) if self.relative else max(np.abs(want[np.isfinite(want)]).max(), 1e-6)
            )
            with np.errstate(invalid="ignore"):
                good = np.abs(got - want) <= self.tolerance * scale
            good |= (got == want) | (np.isnan(got) & np.isnan(want)) | (np.isinf(got) & (np.abs(want) > 6e4))
        if good.all():
            return ""
        at = int(np.argmin(good))
        return f"{(~good).sum()} of {good.size} values differ, the first at [{at}]: got {got[at]}, expected {want[at]}"


@dataclass
class Case:
    kernel: str
    arguments: list
    grid: list  # of the command: --threads or --threadgroups, --group
    constants: dict = field(default_factory=dict)


def encode(type_name, values):
    values = np.asarray(values)
    if type_name == "bfloat16":
        bits = values.astype("f4").view("u4")
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("u2")
    return values.astype(TYPES[type_name])


def decode(type_name, raw):
    return (raw.astype("u4") << 16).view("f4") if type_name == "bfloat16" else raw


def zeros(type_name, shape):
    return np.zeros(shape, "u2" if type_name == "bfloat16" else TYPES[type_name])


def sample(type_name, shape, low=-2.0, high=2.0):
    """The array as the kernel gets it, and its values in double precision."""
    if type_name in TOLERANCE:
        raw = encode(type_name, rng.uniform(low, high, shape))
        return raw, decode(type_name, raw).astype("f8")
    if type_name == "bool_":
        raw = rng.integers(0, 2, shape).astype("?")
    else:
        info = np.iinfo(TYPES[type_name])
        raw = rng.integers(max(info.min, -50), min(info.max, 50) + 1, shape).astype(TYPES[type_name])
    return raw, raw.astype("f8")


def threads(grid, group=None):
    return ["--threads", grid] + (["--group", group] if group else [])


def groups(grid, group):
    return ["--threadgroups", grid, "--group", group]


# ---- element by element ----

erf = np.vectorize(math.erf)
UNARY = {
    "Abs": np.abs,
    "ArcCos": np.arccos,
    "ArcCosh": np.arccosh,
    "ArcSin": np.arcsin,
    "ArcSinh": np.arcsinh,
    "ArcTan": np.arctan,
    "ArcTanh": np.arctanh,
    "Ceil": np.ceil,
    "Cos": np.cos,
    "Cosh": np.cosh,
    "Exp": np.exp,
    "Expm1": np.expm1,
    "Erf": erf,
    "Floor": np.floor,
    "Log": np.log,
    "Log10": np.log10,
    "Log1p": np.log1p,
    "Log2": np.log2,
    "Negative": np.negative,
    "Round": np.rint,
    "Rsqrt": lambda x: 1 / np.sqrt(x),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Sign": np.sign,
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Sqrt": np.sqrt,
    "Square": np.square,
    "Tan": np.tan,
    "Tanh": np.tanh,
}
BINARY = {
    "Add": np.add,
    "Subtract": np.subtract,
    "Multiply": np.multiply,
    "Divide": np.divide,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "Power": np.power,
    "Equal": np.equal,
    "NotEqual": np.not_equal,
    "Greater": np.greater,
    "Less": np.less,
    "GreaterEqual": np.greater_equal,
    "LessEqual": np.less_equal,
    "ArcTan2": np.arctan2,
    "LogAddExp": np.logaddexp,
    "LogicalAnd": lambda a, b: (a != 0) & (b != 0),
    "LogicalOr": lambda a, b: (a != 0) | (b != 0),
}
TO_BOOL = {"Equal", "NotEqual", "Greater", "Less", "GreaterEqual", "LessEqual", "LogicalAnd", "LogicalOr"}
WHOLE = {"Abs", "Negative", "Square", "Sign", "Add", "Subtract", "Multiply", "Maximum", "Minimum"} | TO_BOOL


def wrapped(type_name, values):
    return values if type_name in TOLERANCE else values.astype("i8").astype(TYPES[type_name]).astype("f8")


def elementwise(names):
    count, any_type = 401, "|".join(TYPES)
    for name in names:
        match = re.fullmatch(rf"(v|vv|sv|vs)_([A-Z][A-Za-z0-9]*?)({any_type})({any_type})?", name)
        if not match:
            continue
        form, operation, from_type, to_type = match.groups()
        function = (UNARY if form == "v" else BINARY).get(operation)
        if not function or (from_type not in TOLERANCE and operation not in WHOLE):
            continue
        to_type = "bool_" if operation in TO_BOOL else to_type or from_type
        if from_type == "bool_" and to_type != "bool_" or (from_type == "bool_" and operation not in TO_BOOL):
            continue
        arrays = [sample(from_type, 1 if letter == "s" else count) for letter in form]
        with np.errstate(all="ignore"):
            want = np.broadcast_to(function(*(values for _, values in arrays)), count)
        if to_type != "bool_":
            want = wrapped(to_type, np.asarray(want, "f8"))
        # MLX's expm1 has the high part of log(2) only
        tolerance = TOLERANCE.get(to_type, 0) + (1e-5 if operation == "Expm1" else 0)
        # log(exp(a) + exp(b)) is a sum of the larger one and a logarithm: near zero, what is left of both
        out = Out(to_type, want, tolerance, relative=operation != "LogAddExp")
        yield Case(name, [raw for raw, _ in arrays] + [out, f"u32:{count}"], threads(str(count)))


def moves(names):
    count, any_type = 300, "|".join(TYPES)
    for name in names:
        match = re.fullmatch(rf"([vs])_copy({any_type})({any_type})", name)
        if match and match[2] != "bool_":
            raw, values = sample(match[2], 1 if match[1] == "s" else count, 0, 40)
            want = np.broadcast_to(values, count)
            want = want != 0 if match[3] == "bool_" else want if match[3] in TOLERANCE else wrapped(match[3], want)
            out = Out(match[3], want, TOLERANCE.get(match[3], 0))
            yield Case(name, [raw, out, f"u32:{count}"], threads(str(count)))
        match = re.fullmatch(rf"v_Select({any_type})", name)
        if match:
            raw, values = sample("bool_", count)
            (a, x), (b, y) = sample(match[1], count), sample(match[1], count)
            yield Case(
                name, [raw, a, b, Out(match[1], np.where(values != 0, x, y)), f"u32:{count}"], threads(str(count))
            )
        match = re.fullmatch(r"searchsorted_(float32|int32|float16|uint8)_(left|right)", name)
        if match:
            raw, values = sample(match[1], 100)
            raw = np.sort(raw)
            wanted, points = sample(match[1], count)
            expected = np.searchsorted(np.sort(values), points, match[2])
            yield Case(name, [raw, wanted, Out("uint32", expected), "u32:100", "i64:1"], threads(str(count)))


# ---- rows ----


def reductions(names):
    # a product of many numbers is one number: of values near 1
    folds = {"sum": (np.sum, -1, 1), "prod": (np.prod, 0.99, 1.01), "min": (np.min, -2, 2), "max": (np.max, -2, 2)}
    for name in names:
        match = re.fullmatch(
            r"(all_reduce|row_reduce_simple)_(sum|prod|min|max)(float32|float16|bfloat16|int32|int8|uint8)", name
        )
        if not match or (match[2] == "prod" and match[3] != "float32") or (match[2] == "sum" and match[3][-1] == "8"):
            continue
        kind, fold, type_name = match.groups()
        function, low, high = folds[fold]
        rows, size = (1, 5000) if kind == "all_reduce" else (9, 700)
        raw, values = sample(type_name, (rows, size), low, high)
        tolerance = 0 if fold in ("min", "max") else TOLERANCE.get(type_name, 0) * 4
        want = function(values, -1)
        out = Out(
            type_name,
            want,
            tolerance
            * (max(1.0, np.abs(values).sum(-1).max() / np.abs(want).max()) if fold == "sum" and tolerance else 1),
        )
        if kind == "all_reduce":
            yield Case(name, [raw, out, f"u64:{size}", f"u64:{size}"], groups("1,1,1", "1024"))
        else:
            yield Case(name, [raw, out, f"u64:{size}", f"i64:{rows}"], groups(f"1,{(rows + 3) // 4},1", "192,1,1"))


def normalisations(names):
    for name in names:
        match = re.fullmatch(
            r"(block_softmax|looped_softmax|block_softmax_precise|looped_softmax_precise|"
            r"block_logsumexp|looped_logsumexp)_(float32|float16|bfloat16)",
            name,
        )
        rows, size = 5, 777
        group = "1024" if "looped" in name else "224"
        if match:
            raw, x = sample(match[2], (rows, size), -4, 4)
            e = np.exp(x - x.max(-1, keepdims=True))
            want = x.max(-1) + np.log(e.sum(-1)) if "logsumexp" in name else e / e.sum(-1, keepdims=True)
            out = Out(match[2], want, TOLERANCE[match[2]] * 4)
            yield Case(name, [raw, out, f"i32:{size}"], groups(str(rows), group))
        match = re.fullmatch(r"(rms|layer_norm)(_looped)?(float32|float16|bfloat16)", name)
        if match:
            raw, x = sample(match[3], (rows, size))
            w, weight = sample(match[3], size)
            b, bias = sample(match[3], size)
            if match[1] == "rms":
                want = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight
                arguments = [raw, w, Out(match[3], want, TOLERANCE[match[3]] * 4), "f32:1e-5", f"u32:{size}", "u32:1"]
            else:
                centred = x - x.mean(-1, keepdims=True)
                want = centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * weight + bias
                arguments = [
                    raw,
                    w,
                    b,
                    Out(match[3], want, TOLERANCE[match[3]] * 4),
                    "f32:1e-5",
                    f"u32:{size}",
                    "u32:1",
                    "u32:1",
                ]
            yield Case(name, arguments, groups(str(rows), group))


def scans(names):
    folds = {"sum": np.cumsum, "max": np.maximum.accumulate, "min": np.minimum.accumulate, "prod": np.cumprod}
    for name in names:
        match = re.fullmatch(
            r"contig_scan_(reverse_)?(inclusive|exclusive)_(sum|max|min|prod)_(float32|int32|float16)_\4", name
        )
        if (
            not match
            or match[2] == "exclusive"
            and match[3] in ("max", "min")
            or match[3] == "prod"
            and "float32" not in name
        ):
            continue
        rows, size, fold, type_name = 3, 2100, match[3], match[4]
        raw, x = sample(type_name, (rows, size), *((0.999, 1.001) if fold == "prod" else (-1, 1)))
        x = x[:, ::-1] if match[1] else x
        want = folds[fold](x, axis=-1)
        if match[2] == "exclusive":
            want = np.concatenate([np.full((rows, 1), 1.0 if fold == "prod" else 0.0), want[:, :-1]], 1)
        want = want[:, ::-1] if match[1] else want
        rounded = fold in ("sum", "prod") and type_name in TOLERANCE
        out = Out(type_name, want, TOLERANCE[type_name] * (20 if fold == "prod" else 8) if rounded else 0)
        yield Case(name, [raw, out, f"u64:{size}"], groups(f"1,{rows},1", "512"))


def sorts(names):
    for name in names:
        match = re.fullmatch(
            r"c(arg)?_block_sort_(float32|int32|float16|uint8|int64)_(\w+)_bn(128|256|512)_tn(\d)", name
        )
        if match and int(match[4]) * int(match[5]) >= 500:
            rows, size = 3, 499
            if match[1]:
                values = np.stack([rng.permutation(size) for _ in range(rows)])
                if match[2] == "uint8":
                    continue  # equal values have no order of their own
                raw, out = encode(match[2], values), Out(match[3], np.argsort(values, -1))
            else:
                raw, values = sample(match[2], (rows, size))
                out = Out(match[2], np.sort(values, -1))
            sizes = [f"i32:{size}", "i32:1", "i32:1", f"i32:{size}", f"i32:{size}"]
            yield Case(name, [raw, out] + sizes, groups(f"1,{rows},1", f"{match[4]},1,1"))
        match = re.fullmatch(r"arg(min|max)_(float32|float16|int32|int8|uint16|int64)", name)
        if match:
            rows, size = 7, 900
            raw, values = sample(match[2], (rows, size))
            want = (np.argmin if match[1] == "min" else np.argmax)(values, -1)
            yield Case(
                name,
                [raw, Out("uint32", want), f"i32:{rows}", f"i64:{size}", "i64:1", "u64:1", "i64:1", f"u64:{size}"],
                threads(f"256,{rows},1", "256,1,1"),
            )


# ---- products ----


def gemm_case(name, type_name, turned, tiles, shape):
    m, n, k = shape
    bm, bn, bk, wm, wn = tiles
    a, x = sample(type_name, (m, k), -1, 1)
    b, y = sample(type_name, (k, n), -1, 1)
    lda, ldb = (m if turned[0] == "t" else k), (k if turned[1] == "t" else n)
    a = np.ascontiguousarray(a.T) if turned[0] == "t" else a
    b = np.ascontiguousarray(b.T) if turned[1] == "t" else b
    across, down = -(-n // bn), -(-m // bm)
    params = struct.pack("<8i3q3i4x", m, n, k, lda, ldb, n, across, down, m * k, k * n, m * n, 0, k // bk, 0)
    constants = {
        "has_batch": False,
        "use_out_source": False,
        "do_axpby": False,
        "align_M": m % bm == 0,
        "align_N": n % bn == 0,
        "align_K": k % bk == 0,
    }
    return Case(
        name,
        [a, b, Out(type_name, x @ y, TOLERANCE[type_name] * 4), "hex:" + params.hex()],
        groups(f"{across},{down},1", f"32,{wn},{wm}"),
        constants,
    )


def gemms(names):
    for name in names:
        match = re.fullmatch(
            r"steel_gemm_fused_(nax_)?(..)_(float32|float16|bfloat16)_\3_bm(\d+)_bn(\d+)_bk(\d+)_wm(\d)_wn(\d)", name
        )
        if match:
            tiles = [int(x) for x in match.groups()[3:]]
            whole = (tiles[0] * 2, tiles[1], tiles[2] * 2)
            for shape in (whole, (100, 77, 50)):
                yield gemm_case(name, match[3], match[2], tiles, shape)


def gemvs(names):
    for name in names:
        match = re.fullmatch(
            r"gemv_(t_)?(float32|float16|bfloat16)_bm(\d+)_bn(\d+)_sm(\d+)_sn(\d+)_tm(\d+)_tn(\d+)_nc0_axpby0", name
        )
        if not match:
            continue
        turned, type_name = match[1], match[2]
        bm, bn, sm, sn, tm, tn = (int(x) for x in match.groups()[2:])
        rows, columns = 512 if turned else 150, 333  # threads without a column leave before a barrier
        a, x = sample(type_name, (columns, rows) if turned else (rows, columns), -1, 1)
        v, y = sample(type_name, columns, -1, 1)
        block = bn * sn * tn if turned else bm * sm * tm
        out = Out(type_name, y @ x if turned else x @ y, TOLERANCE[type_name] * 4)
        more = [
            f"i32:{columns}",
            f"i32:{rows}",
            f"i32:{rows if turned else columns}",
            "f32:1",
            "f32:0",
            "i32:1",
            "i32:1",
            "i64:0",
            "i64:0",
            "i64:0",
            "i32:1",
        ]
        yield Case(name, [a, v, zeros(type_name, 1), out] + more, groups(f"{-(-rows // block)},1,1", f"32,{bn},{bm}"))


def attentions(names):
    for name in names:
        match = re.fullmatch(r"sdpa_vector_(float|float16_t|bfloat16_t)_(\d+)_(\d+)", name)
        if not match or match[2] != match[3]:
            continue
        type_name, depth, heads, keys = SHORT[match[1]], int(match[2]), 4, 333
        q, x = sample(type_name, (heads, depth))
        k, y = sample(type_name, (2, keys, depth))
        v, z = sample(type_name, (2, keys, depth))
        scores = np.einsum("hd,hnd->hn", x, np.repeat(y, 2, 0)) * 0.125
        p = np.exp(scores - scores.max(-1, keepdims=True))
        want = np.einsum("hn,hnd->hd", p / p.sum(-1, keepdims=True), np.repeat(z, 2, 0))
        constants = dict.fromkeys("has_mask query_transposed do_causal bool_mask float_mask has_sinks".split(), False)
        sizes = [f"u64:{keys * depth}", f"u64:{depth}"] * 2
        yield Case(
            name,
            [q, k, v, Out(type_name, want, TOLERANCE[type_name] * 4), "i32:2", f"i32:{keys}"] + sizes + ["f32:0.125"],
            groups(f"{heads},1,1", "1024"),
            constants,
        )


def packed(values, bits):
    """Little-endian: the first value is in the lowest bits."""
    rows = values.reshape(-1, values.shape[-1]).astype("u1")
    stream = (rows[..., None] >> np.arange(bits, dtype="u1") & 1).reshape(rows.shape[0], -1)
    return np.packbits(stream, axis=-1, bitorder="little")


def quantised(names):
    for name in names:
        match = re.fullmatch(
            r"affine_(qmv|qmv_fast|qvm|qmm_t|qmm_n|qmm_t_nax|dequantize)_(float|float16_t|bfloat16_t)_gs_(\d+)"
            r"_b_(\d)(?:_bm(\d+)_bn(\d+)_bk(\d+)_wm2_wn2)?(?:_alN_(?:true))?(?:_batch_0)?"
            r"(?:_pr_0_hgs_0_r_4|_pr_1_hgs_0_r_4)?",
            name,
        )
        if not match or "batch_1" in name:
            continue
        kind, type_name, size, bits = match[1], SHORT[match[2]], int(match[3]), int(match[4])
        m, n, k = 33, 64, 512
        if kind == "dequantize":
            n = 8
        by_column = kind in ("qvm", "qmm_n")  # w is k by n
        shape = (k, n) if by_column else (n, k)
        if by_column:
            shape = (k, n) = (512, 128)
        w = rng.integers(0, 1 << bits, shape)
        s, scales = sample(type_name, (shape[0], shape[1] // size), 0.5, 1.5)
        b, biases = sample(type_name, (shape[0], shape[1] // size), -4, 4)
        weights = w * np.repeat(scales, size, 1) + np.repeat(biases, size, 1)
        raw = packed(w, bits)
        if kind == "dequantize":
            factor = {3: 8, 5: 8, 6: 4}.get(bits, 8 // bits)
            out = Out(type_name, weights, TOLERANCE[type_name] * 2)
            yield Case(name, [raw, s, b, out], threads(str(n * k // factor)))
            continue
        rows = m if "qmm" in kind else 1
        x, values = sample(type_name, (rows, k), -1, 1)
        want = values @ (weights if by_column else weights.T)
        out = Out(type_name, want, TOLERANCE[type_name] * 4)
        tail = ["i32:0", "i32:0", "i64:0", "i32:0", "i32:0", "i64:0", "i64:0", "i64:0"]
        sizes = [f"i32:{k}", f"i32:{n}"] + ([f"i32:{rows}"] if rows > 1 else [])
        if kind in ("qmv", "qmv_fast"):
            grid = groups(f"1,{n // 8},1", "32,2,1")
        elif kind == "qvm":
            grid = groups(f"1,{-(-n // 64)},1", "32,2,1")
        else:
            bm, bn = (int(match[5]), int(match[6])) if match[5] else (32, 32)
            grid = groups(f"{-(-n // bn)},{-(-rows // bm)},1", "32,2,2")
        yield Case(name, [raw, s, b, x, out] + sizes + tail, grid)


FAMILIES = (elementwise, moves, reductions, normalisations, scans, sorts, gemms, gemvs, attentions, quantised)

