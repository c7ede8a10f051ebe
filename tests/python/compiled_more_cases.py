"""More launches of MLX's compiled kernels: views with strides, rotary embeddings, random bits, reductions of columns,
scans across rows, floating-point quantisation, attention in tiles, unfolding. See compiled_cases.py."""

import itertools
import re
import struct

import numpy as np

from compiled_cases import (
    BINARY,
    SHORT,
    TO_BOOL,
    TOLERANCE,
    TYPES,
    WHOLE,
    Case,
    Out,
    encode,
    groups,
    packed,
    rng,
    sample,
    threads,
    wrapped,
)

ANY = "|".join(TYPES)
LARGE = "(?:large)?"


def longs(*values):
    return "i64:" + ",".join(str(v) for v in values)


def ints(*values):
    return "i32:" + ",".join(str(v) for v in values)


def is_newer(names):
    """Than MLX 0.32.2: some kernels have an argument or a constant more."""
    return any(name.startswith("sdpa_vjp_") for name in names)


# ---- views with strides ----


def views(names):
    """Copies and binary operations of transposed arrays: 1, 2, 3 and any number of dimensions."""
    for name in names:
        match = re.fullmatch(rf"g([123])({LARGE})_([A-Z][A-Za-z0-9]*?|copy)({ANY})({ANY})?", name)
        if not match or match[3] not in ("copy", *BINARY):
            continue
        rank, operation, from_type, to_type = int(match[1]), match[3], match[4], match[5]
        shape = {1: (67,), 2: (19, 13), 3: (5, 7, 11)}[rank]
        grid = threads(",".join(str(n) for n in shape[::-1]))
        if operation == "copy":
            if "bool_" in (from_type, to_type) or to_type is None:
                continue
            raw, values = sample(from_type, shape, 0, 40)
            want = values if to_type in TOLERANCE else wrapped(to_type, values)
            stored = np.ascontiguousarray(raw.transpose())
            strides = [s // stored.itemsize for s in stored.transpose().strides]
            yield Case(name, [stored, Out(to_type, want, TOLERANCE.get(to_type, 0)), longs(*strides)], grid)
            continue
        if to_type or (from_type not in TOLERANCE and operation not in WHOLE) or from_type == "bool_":
            continue
        (a, x), (b, y) = sample(from_type, shape), sample(from_type, shape[-1])
        stored = np.ascontiguousarray(a.transpose())
        strides = [s // stored.itemsize for s in stored.transpose().strides]
        with np.errstate(all="ignore"):
            want = BINARY[operation](x, y)  # the second operand is the same for every row
        to_type = "bool_" if operation in TO_BOOL else from_type
        want = want if to_type == "bool_" else wrapped(to_type, np.asarray(want, "f8"))
        out = Out(to_type, want, TOLERANCE.get(to_type, 0), relative=operation != "LogAddExp")
        yield Case(name, [stored, b, out, longs(*strides), longs(*([0] * (rank - 1) + [1]))], grid)


def many_elements(names):
    """Several elements for each thread, and grids of two dimensions."""
    for name in names:
        match = re.fullmatch(rf"(vv|sv|vs)(n|2)_([A-Z][A-Za-z0-9]*?)({ANY})", name)
        if not match or match[3] not in BINARY or (match[4] not in TOLERANCE and match[3] not in WHOLE):
            continue
        form, kind, operation, type_name = match.groups()
        if type_name == "bool_":
            continue
        count = 403
        arrays = [sample(type_name, 1 if letter == "s" else count) for letter in form]
        with np.errstate(all="ignore"):
            want = np.broadcast_to(BINARY[operation](*(values for _, values in arrays)), count)
        to_type = "bool_" if operation in TO_BOOL else type_name
        want = want if to_type == "bool_" else wrapped(to_type, np.asarray(want, "f8"))
        out = Out(to_type, want, TOLERANCE.get(to_type, 0), relative=operation != "LogAddExp")
        each = max(8 // np.dtype("u2" if type_name == "bfloat16" else TYPES[type_name]).itemsize, 1)
        across = -(-count // each)
        grid = threads(str(across)) if kind == "n" else threads(f"{-(-across // 2)},2")
        yield Case(name, [raw for raw, _ in arrays] + [out, f"u32:{count}" if kind == "n" else f"i64:{count}"], grid)


# ---- made of numbers ----


def threefry(key, count):
    mask, ks = 0xFFFFFFFF, [key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA]
    x, y = count[0] + ks[0] & mask, count[1] + ks[1] & mask
    for i in range(5):
        for r in ((13, 15, 26, 6), (17, 29, 16, 24))[i % 2]:
            x = x + y & mask
            y = (y << r | y >> (32 - r)) & mask ^ x
        x, y = x + ks[(i + 1) % 3] & mask, y + ks[(i + 2) % 3] + i + 1 & mask
    return x, y


def made(names):
    for name in names:
        match = re.fullmatch(rf"arange({ANY})", name)
        if match and match[1] != "bool_":
            short = {"float32": "f32", "float16": "f16"}.get(match[1]) or match[1].replace("uint", "u").replace(
                "int", "i"
            )
            if match[1] == "bfloat16":
                continue
            want = 3 + 2 * np.arange(40)
            yield Case(name, [f"{short}:3", f"{short}:2", Out(match[1], want)], threads("40"))
        if name == "rbitsc":
            keys, half = rng.integers(0, 1 << 32, (3, 2), dtype="u4"), 25
            want = np.zeros((3, 2 * half), "u4")
            for k, i in itertools.product(range(3), range(half)):
                want[k, i], want[k, half + i] = threefry([int(x) for x in keys[k]], (i, half + i))
            out = Out("uint8", want.view("u1"))
            yield Case(name, [keys, out, "bool:0", f"u64:{8 * half}"], threads(f"3,{half}"))


def rotary(names):
    for name in names:
        match = re.fullmatch(r"rope_(single_)?(freqs_)?(large_)?(float32|float16|bfloat16)", name)
        if not match:
            continue
        single, freqs, _, type_name = match.groups()
        batch, heads, rows, depth = (1, 6, 1, 32) if single else (2, 6, 9, 32)
        for traditional, forward in ((False, True), (True, False)):
            raw, x = sample(type_name, (batch, heads, rows, depth))
            half, offset = depth // 2, 4
            frequencies = 1 / np.exp2(-np.arange(half) / half * np.log2(10000.0)).astype("f4")
            theta = np.add.outer(np.arange(rows), offset)[:, None] / frequencies
            cos, sin = np.cos(theta), np.sin(theta) * (1 if forward else -1)
            x1, x2 = (x[..., 0::2], x[..., 1::2]) if traditional else (x[..., :half], x[..., half:])
            y1, y2 = x1 * cos - x2 * sin, x1 * sin + x2 * cos
            want = np.stack([y1, y2], -1).reshape(x.shape) if traditional else np.concatenate([y1, y2], -1)
            out = Out(type_name, want, TOLERANCE[type_name] * 4)
            tail = [frequencies.astype("f4"), "i64:1"] if freqs else [f"f32:{np.log2(10000.0)}"]
            constants = {"forward": forward, "traditional": traditional}
            if single:
                grid, more = threads(f"{half},{heads}"), [f"i32:{offset}", "f32:1", f"i64:{depth}"]
            else:
                strides = longs(rows * depth, depth, 1)
                more = [np.full(batch, offset, "i4"), "f32:1", strides, strides, "i64:1", f"i32:{heads}"]
                grid = threads(f"{half},{rows},{batch * 2}")
                constants["hs_transpose"] = False
            yield Case(name, [raw, out, *more, *tail], grid, constants)


# ---- columns ----


def columns(names):
    folds = {"sum": (np.sum, -1, 1), "prod": (np.prod, 0.9, 1.1), "min": (np.min, -2, 2), "max": (np.max, -2, 2)}
    newer = is_newer(names)
    for name in names:
        match = re.fullmatch(
            rf"(col_reduce_looped|col_reduce_small|row_reduce_looped)_({LARGE}_?)1_(?:32_32_)?"
            r"reduce_(sum|prod|min|max)(float32|float16|bfloat16|int32|uint8|int64)",
            name,
        )
        if not match or (match[3] == "prod" and match[4] != "float32") or (match[3] == "sum" and match[4] == "uint8"):
            continue
        kind, fold, type_name = match[1], match[3], match[4]
        function, low, high = folds[fold]
        outer, size, inner = (3, 50, 75) if kind.startswith("col") else (9, 4, 150)
        raw, values = sample(type_name, (outer, size, inner), low, high)
        rounded = fold in ("sum", "prod") and type_name in TOLERANCE
        if kind.startswith("col"):
            want = function(values, 1)
            reduction = [f"u64:{size}", f"i64:{inner}", ints(outer), longs(size * inner), "i32:1"]
            reduction += [ints(size), longs(inner), "i32:1", "u64:1"]
            reduction += ["i64:0"] if newer and "looped" in kind else []  # the first column
            grid = (
                groups(f"{-(-inner // 32)},{outer},1", "256,1,1")
                if "looped" in kind
                else groups(f"1,{outer},1", f"{-(-inner // 4)},8,1")
            )
        else:
            want = function(values, (1, 2))
            reduction = [f"i64:{inner}", f"i64:{size}", ints(outer), longs(size * inner), "i32:1"]
            reduction += [ints(size), longs(inner), "i32:1"]
            grid = groups(f"1,{outer},1", "64,1,1")
        scale = np.abs(values).sum() / np.abs(want).max() if rounded and fold == "sum" else 1
        out = Out(type_name, want, TOLERANCE[type_name] * 4 * max(1.0, scale / outer) if rounded else 0)
        yield Case(name, [raw, out, *reduction], grid)


def scans_across(names):
    folds = {"sum": np.cumsum, "max": np.maximum.accumulate, "min": np.minimum.accumulate, "prod": np.cumprod}
    for name in names:
        match = re.fullmatch(
            r"strided_scan_(reverse_)?(inclusive|exclusive)_(sum|max|min|prod)_(float32|int32|float16)_\4", name
        )
        if not match or (match[2] == "exclusive" and match[3] in ("max", "min")):
            continue
        fold, type_name = match[3], match[4]
        if fold == "prod" and type_name != "float32":
            continue
        outer, size, inner = 2, 70, 45
        raw, x = sample(type_name, (outer, size, inner), *((0.97, 1.03) if fold == "prod" else (-1, 1)))
        x = x[:, ::-1] if match[1] else x
        want = folds[fold](x, axis=1)
        if match[2] == "exclusive":
            first = np.full((outer, 1, inner), 1.0 if fold == "prod" else 0.0)
            want = np.concatenate([first, want[:, :-1]], 1)
        want = want[:, ::-1] if match[1] else want
        rounded = fold in ("sum", "prod") and type_name in TOLERANCE
        out = Out(type_name, want, TOLERANCE[type_name] * 8 if rounded else 0)
        blocks = -(-inner // 32)
        simdgroups = 32 // (4 if type_name != "int64" else 2)
        yield Case(
            name,
            [raw, out, f"u64:{size}", f"u64:{inner}", f"u64:{blocks}"],
            groups(f"1,{outer * blocks},1", f"{32 * simdgroups},1,1"),
        )


# ---- quantisation in floating point ----

FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def fp8(raw):
    """e4m3, without its two NaNs."""
    raw = raw.astype("i8")
    exponent, fraction = raw >> 3 & 15, raw & 7
    magnitude = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0 ** (exponent - 10))
    return np.where(raw & 128, -magnitude, magnitude)


def quantised_floats(names):
    newer = is_newer(names)
    for name in names:
        match = re.fullmatch(
            r"(mxfp4|mxfp8|nvfp4)_(qmv|qmv_fast|qvm|qmm_t|qmm_n|qmm_t_nax)_(float|float16_t|bfloat16_t)_gs_(16|32)_b_([48])"
            r"(?:_bm(\d+)_bn(\d+)_bk\d+_wm2_wn2)?(?:_alN_true)?_batch_0(?:_pr_[01]_hgs_0_r_4)?",
            name,
        )
        if not match:
            continue
        mode, kind, type_name, size, bits = match[1], match[2], SHORT[match[3]], int(match[4]), int(match[5])
        m, n, k = 33 if "qmm" in kind else 1, 64, 512
        by_column = kind in ("qvm", "qmm_n")
        shape = (k, n) if by_column else (n, k)
        w = rng.integers(0, 16, shape) if bits == 4 else rng.integers(0, 0x78, shape) | rng.integers(0, 2, shape) << 7
        s = (
            rng.integers(120, 130, (shape[0], shape[1] // size))
            if mode != "nvfp4"
            else rng.integers(0x20, 0x40, (shape[0], shape[1] // size))
        )
        scales = fp8(s) if mode == "nvfp4" else 2.0 ** (s - 127)
        if mode == "mxfp8":
            w = w & 0xBF  # values of 2 and less
        weights = (FP4[w] if bits == 4 else fp8(w)) * np.repeat(scales, size, 1)
        x, values = sample(type_name, (m, k), -1, 1)
        out = Out(type_name, values @ (weights if by_column else weights.T), TOLERANCE[type_name] * 4)
        sizes = [f"i32:{k}", f"i32:{n}"] + ([f"i32:{m}"] if m > 1 else [])
        tail = ["i32:0", "i32:0", "i64:0", "i32:0", "i32:0", "i64:0", "i64:0"]
        if kind in ("qmv", "qmv_fast"):
            grid = groups(f"1,{n // 8},1", "32,2,1")
        elif kind == "qvm":
            grid = groups(f"1,{-(-n // (2 * min(size, 32)))},1", "32,2,1")
        else:
            bm, bn = (int(match[6]), int(match[7])) if match[6] else (32, 32)
            grid = groups(f"{-(-n // bn)},{-(-m // bm)},1", "32,2,2")
        has_scale = kind in ("qmv", "qmv_fast", "qvm") or (newer and kind != "qmm_n")
        scale = [np.ones(1, "f4")] if has_scale else []
        raw = packed(w, 4) if bits == 4 else w.astype("u1")
        yield Case(name, [raw, s.astype("u1"), *scale, x, out, *sizes, *tail], grid)


# ---- attention in tiles ----


def tiled_attention(names):
    newer = is_newer(names)
    for name in names:
        match = re.fullmatch(
            r"steel_attention_(float32|float16|bfloat16)_bq(\d+)_bk(\d+)_bd(64|96|128)(?:_bv\4)?_wm(\d)_wn(\d)_mask(\w+)",
            name,
        )
        if not match:
            continue
        type_name, masks = match[1], match[7]
        bq, bk, depth, wm, wn = (int(match[i]) for i in (2, 3, 4, 5, 6))
        causal, heads = masks == "bool_", 4
        queries, keys = (2 * bq, 2 * bk) if causal else (bq + 7, bk + 13)
        if causal:
            queries = keys = max(queries, keys)
        q, x = sample(type_name, (1, heads, queries, depth), -1, 1)
        k, y = sample(type_name, (1, 2, keys, depth), -1, 1)
        v, z = sample(type_name, (1, 2, keys, depth), -1, 1)
        scores = np.einsum("bhqd,bhkd->bhqk", x, np.repeat(y, 2, 1)) * 0.25
        if causal:
            scores = np.where(np.tri(queries, keys), scores, -np.inf)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        want = np.einsum("bhqk,bhkd->bhqd", p / p.sum(-1, keepdims=True), np.repeat(z, 2, 1))
        whole = [queries // bq, keys // bk]
        params = struct.pack(
            "<6if7i",
            1,
            heads,
            depth,
            queries,
            keys,
            2,
            0.25,
            -(-queries // bq),
            -(-keys // bk),
            *whole,
            queries - whole[0] * bq,
            keys - whole[1] * bk,
            keys - queries,
        )
        for length, count in ((queries, heads), (keys, 2), (keys, 2), (queries, heads)):
            params += struct.pack("<3q", count * length * depth, length * depth, depth)
        constants = {
            "align_Q": queries % bq == 0,
            "align_K": keys % bk == 0,
            "has_mask": False,
            "do_causal": causal,
            "has_sinks": False,
        }
        if newer:
            constants["save_lse"] = False
        yield Case(
            name,
            [q, k, v, Out(type_name, want, TOLERANCE[type_name] * 8), "hex:" + params.hex()],
            groups(f"{-(-queries // bq)},{heads},1", f"32,{wm},{wn}"),
            constants,
        )


# ---- convolutions ----


def conv_params(x, w, out, pads, strides):
    """MLXConvParams<2>: images NHWC, weights OHWI."""
    packed_strides = [s // a.itemsize for a in (x, w, out) for s in a.strides]
    numbers = [x.shape[0], x.shape[3], w.shape[0], *x.shape[1:3], *w.shape[1:3], *out.shape[1:3], *strides, *pads]
    return struct.pack("<17i4x12qi?3x", *numbers, 1, 1, 1, 1, *packed_strides, 1, False)


def unfolded(x, height, width, pads, strides):
    """A row for each output, of the window's elements."""
    padded = np.pad(x, ((0, 0), (pads[0],) * 2, (pads[1],) * 2, (0, 0)))
    view = np.lib.stride_tricks.sliding_window_view(padded, (height, width), (1, 2))
    view = view[:, :: strides[0], :: strides[1]].transpose(0, 1, 2, 4, 5, 3)
    return view.reshape(*view.shape[:3], -1)


def convolutions(names):
    for name in names:
        match = re.fullmatch(
            r"implicit_gemm_conv_2d_(float32|float16|bfloat16)_bm(\d+)_bn(\d+)_bk(\d+)_wm(\d)_wn(\d)"
            r"_channel_(l|\d)_filter_([sl])",
            name,
        )
        unfold = re.fullmatch(r"naive_unfold_nd_(float32|float16|bfloat16)_2", name)
        if not match and not unfold:
            continue
        type_name = (match or unfold)[1]
        channels = 3 if unfold else 32 if match[7] == "l" else int(match[7])
        height, width = (17, 3) if match and match[7] == "l" and match[8] == "l" else (3, 5)
        pads, strides = (2, 1), (2, 1)
        outputs = 13 if unfold else max(int(match[3]), 16)  # the tiles of weights are not checked
        x, values = sample(type_name, (2, 21, 12, channels), -1, 1)
        w, weights = sample(type_name, (outputs, height, width, channels), -1, 1)
        rows = unfolded(values, height, width, pads, strides)
        out = encode(type_name, np.zeros((*rows.shape[:3], outputs)))
        params = "hex:" + conv_params(x, w, out, pads, strides).hex()
        if unfold:
            count = int(np.prod(rows.shape[:3]))
            grid = threads(f"{channels},{height * width},{count}")
            yield Case(name, [x, Out(type_name, rows), params, "i32:0"], grid)
            continue
        bm, bn, bk, wm, wn = (int(match[i]) for i in range(2, 7))
        m, k = int(np.prod(rows.shape[:3])), height * width * channels
        steps = height * width * -(-channels // bk)
        if channels <= 2:
            steps = -(-k // bk)
        elif channels <= 4:
            steps = -(-height * width * 4 // bk)
        across, down = -(-outputs // bn), -(-m // bm)
        jump_w, jump_h = channels, 12 * channels
        jumps = [jump_w, jump_h - (width - 1) * jump_w, bk - (height - 1) * jump_h - (width - 1) * jump_w]
        gemm = struct.pack("<10i", m, outputs, k, steps, *jumps, across, down, 0)
        want = Out(type_name, rows @ weights.reshape(outputs, -1).T, TOLERANCE[type_name] * 4)
        yield Case(name, [x, w, want, params, "hex:" + gemm.hex()], groups(f"{across},{down},1", f"32,{wn},{wm}"))


def transforms(names):
    """Fourier transforms whose size is a power of two."""
    plans = {256: (2, 1, 0), 512: (3, 0, 0), 1024: (3, 0, 1), 2048: (3, 1, 0), 4096: (4, 0, 0)}  # radix 8, 4, 2
    for name in names:
        match = re.fullmatch(r"fft_mem_(\d+)_float2_float2", name)
        size = int(match[1]) if match else 0
        for inverse in (False, True) if size in plans else ():
            x = rng.uniform(-1, 1, (3, size, 2)).astype("f4")
            values = x[..., 0] + 1j * x[..., 1].astype("f8")
            result = np.fft.ifft(values) if inverse else np.fft.fft(values)
            out = Out("float32", np.stack([result.real, result.imag], -1), TOLERANCE["float32"] * 4)
            steps = dict.fromkeys((f"radix_{radix}_steps_" for radix in (13, 11, 8, 7, 6, 5, 4, 3, 2)), 0)
            steps |= {f"radix_{radix}_steps_": count for radix, count in zip((8, 4, 2), plans[size], strict=True)}
            constants = {"inv_": inverse, "is_power_of_2_": True, "elems_per_thread_": 8, **steps}
            grid = threads(f"3,1,{size // 8}", f"1,1,{size // 8}")
            yield Case(name, [x, out, f"i32:{size}", "i32:3"], grid, constants)


FAMILIES = (
    views,
    many_elements,
    made,
    rotary,
    columns,
    scans_across,
    quantised_floats,
    tiled_attention,
    convolutions,
    transforms,
)
