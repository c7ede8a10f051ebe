"""Launches of PyTorch's compiled kernels with what must come out, worked out by torch on the CPU in double precision.

Operators element by element, in every form that PyTorch has of them: dense, several elements for each thread, strided,
rows, with a scalar or a broadcast operand, with operands or results of another type. Arguments are named as the
kernels name them. See compiled_cases.py.
"""

import re

import numpy as np
import torch
from torch.nn import functional

from compiled_cases import Case, Out, decode, encode, rng, threads

TYPES = {
    "float": "float32",
    "half": "float16",
    "bfloat": "bfloat16",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "uchar": "uint8",
    "bool": "bool_",
}
SCALAR_TYPES = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "bfloat16": 15}
SIZES = {"uint8": 1, "int8": 1, "bool_": 1, "int16": 2, "float16": 2, "bfloat16": 2, "int64": 8}
TOLERANCE = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 3.2e-2}
S = torch.special
UNARY = {  # the function, and between which numbers
    "abs": (torch.abs, -3, 3),
    "acos": (torch.acos, -0.9, 0.9),
    "asin": (torch.asin, -0.9, 0.9),
    "atan": (torch.atan, -3, 3),
    "bessel_j0_forward": (S.bessel_j0, -9, 9),
    "bessel_j1_forward": (S.bessel_j1, -9, 9),
    "bessel_y0_forward": (S.bessel_y0, 0.5, 9),
    "bessel_y1_forward": (S.bessel_y1, 0.5, 9),
    "ceil": (torch.ceil, -3, 3),
    "copy_identity": (torch.clone, -3, 3),
    "copy_neg": (torch.neg, -3, 3),
    "cos": (torch.cos, -3, 3),
    "cosh": (torch.cosh, -3, 3),
    "digamma": (torch.digamma, 0.5, 4),
    "entr": (S.entr, 0.1, 3),
    "erf": (torch.erf, -3, 3),
    "erfc": (torch.erfc, -2, 2),
    "erfcx": (S.erfcx, -1, 3),
    "erfinv": (torch.erfinv, -0.9, 0.9),
    "exp": (torch.exp, -3, 3),
    "exp2": (torch.exp2, -3, 3),
    "expm1": (torch.expm1, -1, 1),
    "floor": (torch.floor, -3, 3),
    "gelu": (functional.gelu, -3, 3),
    "gelu_tanh": (lambda x: functional.gelu(x, approximate="tanh"), -3, 3),
    "hardsigmoid": (functional.hardsigmoid, -5, 5),
    "hardswish": (functional.hardswish, -5, 5),
    "i0": (torch.i0, -4, 4),
    "i0e": (S.i0e, -4, 4),
    "i1": (S.i1, -4, 4),
    "i1e": (S.i1e, -4, 4),
    "lgamma": (torch.lgamma, 0.3, 5),
    "log": (torch.log, 0.1, 5),
    "log10": (torch.log10, 0.1, 5),
    "log1p": (torch.log1p, -0.5, 2),
    "log2": (torch.log2, 0.1, 5),
    "mish": (functional.mish, -3, 3),
    "modified_bessel_i0_forward": (S.modified_bessel_i0, -4, 4),
    "modified_bessel_i1_forward": (S.modified_bessel_i1, -4, 4),
    "modified_bessel_k0_forward": (S.modified_bessel_k0, 0.5, 4),
    "modified_bessel_k1_forward": (S.modified_bessel_k1, 0.5, 4),
    "neg": (torch.neg, -3, 3),
    "reciprocal": (torch.reciprocal, 0.3, 3),
    "round": (torch.round, -3, 3),
    "rsqrt": (torch.rsqrt, 0.1, 5),
    "scaled_modified_bessel_k0_forward": (S.scaled_modified_bessel_k0, 0.5, 4),
    "scaled_modified_bessel_k1_forward": (S.scaled_modified_bessel_k1, 0.5, 4),
    "sigmoid": (torch.sigmoid, -4, 4),
    "silu": (functional.silu, -4, 4),
    "sin": (torch.sin, -3, 3),
    "sinc": (torch.sinc, -3, 3),
    "sinh": (torch.sinh, -3, 3),
    "spherical_bessel_j0": (S.spherical_bessel_j0, -9, 9),
    "sqr": (torch.square, -3, 3),
    "sqrt": (torch.sqrt, 0.1, 5),
    "tan": (torch.tan, -1, 1),
    "tanh": (torch.tanh, -3, 3),
    "trigamma": (lambda x: torch.polygamma(1, x), 0.5, 4),
    "trunc": (torch.trunc, -3, 3),
}
BINARY = {
    "add": (torch.add, -3, 3),
    "atan2": (torch.atan2, -3, 3),
    "copysign": (torch.copysign, -3, 3),
    "div_floor": (lambda a, b: torch.div(a, b, rounding_mode="floor"), 0.5, 9),
    "div_true": (torch.div, 0.5, 5),
    "div_trunc": (lambda a, b: torch.div(a, b, rounding_mode="trunc"), 0.5, 9),
    "fmax": (torch.fmax, -3, 3),
    "fmin": (torch.fmin, -3, 3),
    "fmod": (torch.fmod, 0.5, 5),
    "hypot": (torch.hypot, -3, 3),
    "logaddexp": (torch.logaddexp, -3, 3),
    "logaddexp2": (torch.logaddexp2, -3, 3),
    "maximum": (torch.maximum, -3, 3),
    "minimum": (torch.minimum, -3, 3),
    "mul": (torch.mul, -3, 3),
    "pow": (torch.pow, 0.3, 3),
    "remainder": (torch.remainder, 0.5, 5),
    "sigmoid_backward": (lambda g, y: g * y * (1 - y), -1, 1),
    "sub": (torch.sub, -3, 3),
    "tanh_backward": (lambda g, y: g * (1 - y * y), -1, 1),
    "xlog1py": (S.xlog1py, 0.1, 3),
    "xlogy": (torch.xlogy, 0.1, 3),
    "igamma": (torch.igamma, 0.5, 3),
    "igammac": (torch.igammac, 0.5, 3),
}
STEPPED = {"fmod", "remainder", "div_floor", "div_trunc", "ceil", "floor", "round", "trunc"}  # half a step changes all
WHOLE = {"abs", "neg", "copy_identity", "copy_neg", "sqr", "ceil", "floor", "round", "trunc", "add", "sub", "mul"} | {
    "fmax",
    "fmin",
    "maximum",
    "minimum",
    "fmod",
    "remainder",
    "div_floor",
    "div_trunc",
}


def sample(type_name, shape, low, high, stepped):
    """As the kernel gets it, and in double precision; whole numbers and quarters where a step is near."""
    if type_name in TOLERANCE:
        values = rng.uniform(low, high, shape)
        raw = encode(type_name, np.floor(values * 4) / 4 + 0.125 if stepped else values)
        return raw, torch.from_numpy(decode(type_name, raw).astype("f8"))
    raw = rng.integers(max(1, int(low)) if low > 0 or type_name[0] == "u" else -6, 7, shape)
    return encode(type_name, raw), torch.from_numpy(raw.astype("i8"))


def result(name, type_name, values):
    if type_name in TOLERANCE:
        return Out(type_name, values.double().numpy(), TOLERANCE[type_name])
    return Out(type_name, values.numpy().astype("i8").astype("?" if type_name == "bool_" else type_name))


def longs(values):
    return "i64:" + ",".join(str(int(v)) for v in values)


def bytes_between(shape, itemsize):
    """The strides of a dense array, innermost dimension first."""
    return np.cumprod([1, *shape[::-1][:-1]]) * itemsize


def unary(names):
    shape = (5, 7, 9)
    for name in names:
        match = re.fullmatch(
            r"([a-z0-9_]+?)_(dense_castout_ilp|dense_castout|strided_castout|dense_scalar|inner_contiguous|dense|strided)"
            r"_([a-z]+)(?:_([a-z]+))?",
            name,
        )
        if not match or match[1] not in UNARY:
            continue
        operation, form, castout = match[1], match[2], "castout" in match[2]
        if bool(match[4]) == castout or match[3] not in TYPES or (match[4] or "int") not in TYPES:
            continue
        from_type = TYPES[match[3] if castout else match[4]]
        function, low, high = UNARY[operation]
        if from_type not in TOLERANCE and (operation not in WHOLE or castout) or from_type == "bool_":
            continue
        to_type = "float32" if castout else TYPES[match[3]]
        if castout and from_type != "float32":
            continue  # rounded to the narrow type in between
        raw, values = sample(from_type, shape, low, high, operation in STEPPED)
        stored = np.ascontiguousarray(raw.transpose()) if form.startswith("strided") else raw
        strides = [s for s in stored.transpose().strides] if form.startswith("strided") else raw.strides
        size, count = SIZES.get(to_type, 4), raw.size
        sizes, outputs = longs(shape[::-1]), longs(bytes_between(shape, size))
        arguments = {"input": stored, "output": result(operation, to_type, function(values)), "numel": f"u32:{count}"}
        if form.startswith("strided"):
            more = f",{SCALAR_TYPES[to_type]}" if castout else ""
            arguments |= {
                "sizes": sizes,
                "input_strides": longs(strides[::-1]),
                "output_strides": outputs,
                "ndim": "u32:3",
                "ndim_outtype": "u32:3" + more,
            }
            grid = threads(f"{shape[2]},{shape[0] * shape[1]}")
        elif form == "inner_contiguous":
            outer = shape[:2]
            arguments |= {
                "outer_sizes": longs(outer[::-1]),
                "input_outer_strides": longs(raw.strides[:2][::-1]),
                "output_outer_strides": longs(bytes_between(shape, size)[1:]),
                "ndim_outer_inner": f"u32:2,{shape[2]}",
            }
            grid = threads(f"{-(-shape[2] // 4)},{outer[0] * outer[1]}")
        else:
            arguments["size_outtype"] = f"u32:{size},{SCALAR_TYPES.get(to_type, 0)}"
            arguments["size_outtype_numel"] = f"u32:{size},{SCALAR_TYPES.get(to_type, 0)},{count},0"
            grid = threads(str(-(-count // 4) if form in ("dense", "dense_castout_ilp") else count))
        yield Case(name, arguments, grid)


def binary(names):
    shape = (6, 5, 7)
    for name in names:
        match = re.fullmatch(
            r"([a-z0-9_]+?)_(dense_broadcast_rhs|dense_broadcast|dense_ilp4|dense_cast|strided_cast|dense|strided)"
            r"_([a-z]+)_([a-z]+)",
            name,
        )
        if not match or match[1] not in BINARY or match[3] not in TYPES or match[4] not in TYPES:
            continue
        operation, form, to_type, type_name = match[1], match[2], TYPES[match[3]], TYPES[match[4]]
        function, low, high = BINARY[operation]
        if type_name not in TOLERANCE and operation not in WHOLE or type_name == "bool_" or to_type == "bool_":
            continue
        cast = form.endswith("cast") and form != "dense_broadcast"
        if cast and type_name not in TOLERANCE:
            continue
        stepped = operation in STEPPED
        short = (shape[-1],)
        left_type = "float16" if cast and type_name == "float32" else type_name
        a, x = sample(left_type, short if form == "dense_broadcast_rhs" else shape, low, high, stepped)
        b, y = sample(type_name, short if form == "dense_broadcast" else shape, low, high, stepped)
        want = function(x, y)
        if stepped and type_name in TOLERANCE:
            # a quotient that is nearly whole goes either way
            quotient = (x / y).numpy()
            if (np.abs(quotient - np.rint(quotient)) < 1e-2).any():
                keep = torch.from_numpy(np.abs(quotient - np.rint(quotient)) >= 1e-2)
                x, y = torch.where(keep, x, 1.25 + 0 * x), torch.where(keep, y, 0.5 + 0 * y)
                if form.startswith("dense_broadcast"):
                    continue
                a, b, want = encode(left_type, x.numpy()), encode(type_name, y.numpy()), function(x, y)
        count, size = int(np.prod(shape)), SIZES.get(to_type, 4)
        arguments = {
            "input": b if form == "dense_broadcast_rhs" else a,
            "other": b,
            "broadcast": a if form == "dense_broadcast_rhs" else b,
            "broadcast_numel": f"i64:{short[0]}",
            "numel": f"u32:{count}",
            "output": result(operation, to_type, want),
            "out": result(operation, to_type, want),
        }
        types = f"{SCALAR_TYPES[left_type]},{SCALAR_TYPES[type_name]}" if cast else ""
        if form.startswith("strided"):
            stored = np.ascontiguousarray(a.transpose())
            arguments |= {
                "input": stored,
                "sizes": longs(shape[::-1]),
                "output_strides": longs(bytes_between(shape, size)),
                "input_strides": longs(stored.transpose().strides[::-1]),
                "other_strides": longs(b.strides[::-1]),
                "ndim": "u32:3,0,0,0",
                "ndim_types": f"u32:3,{types},{SCALAR_TYPES[to_type]}" if cast else "",
            }
        if cast:
            arguments["sizes_types"] = f"u32:{SIZES.get(left_type, 4)},{SIZES.get(type_name, 4)},{types}"
        yield Case(name, arguments, threads(str(-(-count // 4) if form == "dense_ilp4" else count)))


def rows(names):
    """Norms of rows, a threadgroup each."""
    count, size = 5, 333
    for name in names:
        match = re.fullmatch(r"(rms_norm|rms_norm_looped|layer_norm_looped_i(?:32|64))_(float|half|bfloat)", name)
        if not match:
            continue
        type_name = TYPES[match[2]]
        (raw, x), (w, weight), (b, bias) = (
            sample(type_name, shape, -2, 2, False) for shape in ((count, size), size, size)
        )
        if match[1].startswith("rms"):
            want = functional.rms_norm(x, (size,), weight, 1e-5)
        else:
            want = functional.layer_norm(x, (size,), weight, bias, 1e-5)
        out = Out(type_name, want.numpy(), TOLERANCE[type_name])
        means, spread = x.mean(-1), 1 / torch.sqrt(x.var(-1, correction=0) + 1e-5)
        arguments = {
            "x": raw,
            "input": raw,
            "w": w,
            "weight": w,
            "bias": b,
            "out": out,
            "output": out,
            "meanOut": Out(type_name, means.numpy(), TOLERANCE[type_name]),
            "rstdTensor": Out(type_name, spread.numpy(), TOLERANCE[type_name]),
            "eps": "f32:1e-5",
            "epsilon": "f32:1e-5",
            "axis_size": f"u32:{size}",
            "w_stride": "u32:1",
        }
        yield Case(name, arguments, threads(str(96 * count), "96"))


def choices(names):
    """where, and gather along the middle dimension."""
    for name in names:
        match = re.fullmatch(r"where_dense_([a-z]+)_bool", name)
        if match and match[1] in TYPES and match[1] != "bool":
            type_name, count = TYPES[match[1]], 301
            (a, x), (b, y) = (sample(type_name, count, -3, 3, False) for _ in range(2))
            mask = rng.integers(0, 2, count).astype("?")
            out = Out(type_name, torch.where(torch.from_numpy(mask), x, y).numpy())
            yield Case(name, {"out": out, "input": mask, "other1": a, "other2": b}, threads(str(count)))
        match = re.fullmatch(r"gather_dense_([a-z]+)_(int|long)", name)
        if match and match[1] in TYPES and match[1] != "bool":
            type_name = TYPES[match[1]]
            raw, x = sample(type_name, (3, 11, 5), -3, 3, False)
            index = rng.integers(0, 11, (3, 7, 5))
            arguments = {
                "output": Out(type_name, torch.gather(x, 1, torch.from_numpy(index)).numpy()),
                "input": raw,
                "index": index.astype("i4" if match[2] == "int" else "i8"),
                "inner_size": "i64:5",
                "output_dim_size": "i64:7",
                "input_dim_size": "i64:11",
                "tid_offset": "i64:0",
                "error_buf": np.zeros(15364, "u1"),
            }
            yield Case(name, arguments, threads(str(index.size)))


FAMILIES = (unary, binary, rows, choices)
