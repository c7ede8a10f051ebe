"""Launches of MLX's kernels that gather: products whose operands are chosen by indices, in segments, in parts along k,
quantised and not, and attention with masks. See compiled_cases.py. Arguments are named as the kernels name them."""

import re
import struct

import numpy as np

from compiled_cases import SHORT, TOLERANCE, Case, Out, groups, packed, rng, sample
from compiled_more_cases import FP4, fp8, is_newer

LEFT, RIGHT = [1, 0, 1, 2], [2, 0, 1, 1]  # which x and which w each of four products has


def quantised_weights(mode, type_name, bits, size, shape):
    """As the kernel has them (w, scales, biases), and their values."""
    groups_of = (*shape[:-1], shape[-1] // size)
    if mode == "affine":
        w = rng.integers(0, 1 << bits, shape)
        s, scales = sample(type_name, groups_of, 0.5, 1.5)
        b, biases = sample(type_name, groups_of, -4, 4)
        values = w * np.repeat(scales, size, -1) + np.repeat(biases, size, -1)
        return {"w": packed(w, bits), "scales": s, "biases": b}, values
    if mode == "nvfp4":
        s = rng.integers(0x20, 0x40, groups_of)
        scales = fp8(s)
    else:
        s = rng.integers(120, 130, groups_of)
        scales = 2.0 ** (s - 127)
    if bits == 4:
        w = rng.integers(0, 16, shape)
        raw, values = packed(w, 4), FP4[w]
    else:
        w = rng.integers(0, 0x38, shape) | rng.integers(0, 2, shape) << 7
        raw, values = w.astype("u1"), fp8(w)
    return {"w": raw, "scales": s.astype("u1")}, values * np.repeat(scales, size, -1)


def gathered_quantised(names):
    for name in names:
        match = re.fullmatch(
            r"(affine|mxfp4|mxfp8|nvfp4)_gather_(qmm_t|qmm_n|qmv|qmv_fast|qvm)(_nax)?_(float|float16_t|bfloat16_t)_gs_(\d+)"
            r"_b_(\d)(?:_bm(\d+)_bn(\d+)_bk64_wm2_wn2)?(?:_alN_(true|false))?(_hgs)?",
            name,
        )
        if not match:
            continue
        mode, kind, type_name, size, bits = match[1], match[2], SHORT[match[4]], int(match[5]), int(match[6])
        m, n, k = 33 if "qmm" in kind else 1, 64, 512 if kind == "qmv_fast" else 256
        by_column = kind in ("qvm", "qmm_n")
        n = 128 if by_column else 56 if match[9] == "false" else n
        shape = (3, k, n) if by_column else (3, n, k)
        arguments, weights = quantised_weights(mode, type_name, bits, size, shape)
        x, values = sample(type_name, (3, m, k), -1, 1)
        factors = np.array([1.25, 0.75, 1.5]) if match[10] else np.ones(3)  # of each w
        picked = weights[RIGHT] if by_column else weights[RIGHT].transpose(0, 2, 1)
        out = Out(type_name, values[LEFT] @ picked * factors[RIGHT][:, None, None], TOLERANCE[type_name] * 4)
        step = shape[1] * shape[2]
        arguments |= {
            "x": x,
            "y": out,
            "lhs_indices": np.array(LEFT, "u4"),
            "rhs_indices": np.array(RIGHT, "u4"),
            "global_scale": factors.astype("f4"),
            "K": f"i32:{k}",
            "N": f"i32:{n}",
            "M": f"i32:{m}",
            "in_vec_size": f"i32:{k}",
            "out_vec_size": f"i32:{n}",
            "x_batch_ndims": "i32:1",
            "x_shape": f"i32:3,{m},{k}",
            "x_strides": f"i64:{m * k},{k},1",
            "w_batch_ndims": "i32:1",
            "w_shape": "i32:3",
            "w_strides": f"i64:{step * bits // 32}",
            "s_strides": f"i64:{step // size}",
            "b_strides": f"i64:{step // size}",
            "batch_ndims": "i32:1",
            "batch_shape": "i32:4",
            "lhs_strides": "i64:1",
            "rhs_strides": "i64:1",
        }
        if kind in ("qmv", "qmv_fast"):
            grid = groups(f"1,{n // 8},4", "32,2,1")
        elif kind == "qvm":
            grid = groups(f"1,{-(-n // (2 * min(size, 32)))},4", "32,2,1")
        else:
            bm, bn = (int(match[7]), int(match[8])) if match[7] else (32, 32)
            grid = groups(f"{-(-n // bn)},{-(-m // bm)},4", "32,2,2")
        yield Case(name, arguments, grid)


def sorted_rows(rows):
    """Rows with the index of their right operand: runs of odd lengths over the edges of tiles."""
    return np.sort(
        np.concatenate([np.zeros(rows // 7), np.full(rows // 3, 2), rng.integers(0, 3, rows)])[:rows]
    ).astype("u4")


def gathered_rows(names):
    """Each row of x has its own right operand, in ascending order. Newer kernels want the edges of the runs."""
    for name in names if not is_newer(names) else ():
        match = re.fullmatch(
            r"(affine|mxfp4|mxfp8|nvfp4)_gather_qmm_rhs_(nax_)?(n[nt])_(float|float16_t|bfloat16_t)_gs_(\d+)_b_(\d)"
            r"_bm_(\d+)_bn_(\d+)_bk_(\d+)_wm_(\d)_wn_(\d)",
            name,
        )
        if match:
            mode, type_name, size, bits = match[1], SHORT[match[4]], int(match[5]), int(match[6])
            bm, bn, bk, wm, wn = (int(match[i]) for i in range(7, 12))
            m, n, k = 2 * bm + 9, 2 * bn, 256
            turned = match[3] == "nt"
            n = 128 if not turned else n
            arguments, weights = quantised_weights(mode, type_name, bits, size, (3, n, k) if turned else (3, k, n))
            weights = weights.transpose(0, 2, 1) if turned else weights
        else:
            match = re.fullmatch(
                r"steel_gather_mm_rhs_(nax_)?(n[nt])_(float32|float16|bfloat16)_\3_bm(\d+)_bn(\d+)_bk(\d+)_wm(\d)_wn(\d)",
                name,
            )
            if not match:
                continue
            type_name, turned = match[3], match[2] == "nt"
            bm, bn, bk, wm, wn = (int(match[i]) for i in range(4, 9))
            m, n, k = 2 * bm + 9, bn + 21, 2 * bk + 13
            b, weights = sample(type_name, (3, n, k) if turned else (3, k, n), -1, 1)
            weights = weights.transpose(0, 2, 1) if turned else weights
            arguments = {"B": b}
        indices = sorted_rows(m)
        x, values = sample(type_name, (m, k), -1, 1)
        out = Out(type_name, np.einsum("mk,mkn->mn", values, weights[indices]), TOLERANCE[type_name] * 4)
        across, down = -(-n // bn), -(-m // bm)
        params = struct.pack(
            "<8i3q3i4x", m, n, k, k, k if turned else n, n, across, down, m * k, k * n, m * n, 0, k // bk, 0
        )
        arguments |= {
            "x": x,
            "A": x,
            "y": out,
            "C": out,
            "indices": indices,
            "rhs_indices": indices,
            "params": "hex:" + params.hex(),
            "M": f"i32:{m}",
            "N": f"i32:{n}",
            "K": f"i32:{k}",
            "global_scale": np.ones(1, "f4"),
        }
        constants = {"align_M": m % bm == 0, "align_N": n % bn == 0, "align_K": k % bk == 0}
        yield Case(name, arguments, groups(f"{across},{down},1", f"32,{wn},{wm}"), constants)


def in_parts(names):
    """Products of segments along k, and of equal parts whose sums are added up later."""
    for name in names:
        match = re.fullmatch(
            r"steel_(segmented_mm|gemm_splitk)_(nax_)?([nt])([nt])_(float32|float16|bfloat16)_(?:float32|\5)"
            r"_bm(\d+)_bn(\d+)_bk(\d+)_wm(\d)_wn(\d)(?:_MN_\w+_K_\w+)?",
            name,
        )
        if not match or (match[1] == "gemm_splitk" and not match[2]):
            continue
        kind, type_name, turned = match[1], match[5], (match[3] == "t", match[4] == "t")
        bm, bn, bk, wm, wn = (int(match[i]) for i in range(6, 11))
        m, n, k = bm + 19, bn + 30, 3 * bk + 40
        parts = [0, bk, bk + 23, k] if kind == "segmented_mm" else [0, bk, 2 * bk, 3 * bk, k]
        a, x = sample(type_name, (k, m) if turned[0] else (m, k), -1, 1)
        b, y = sample(type_name, (n, k) if turned[1] else (k, n), -1, 1)
        x, y = x.T if turned[0] else x, y.T if turned[1] else y
        want = np.stack([x[:, i:j] @ y[i:j] for i, j in zip(parts, parts[1:], strict=False)])
        across, down, count = -(-n // bn), -(-m // bm), len(want)
        shape = [m, n, k, m if turned[0] else k, k if turned[1] else n, n, across, down]
        if kind == "segmented_mm":
            params = struct.pack("<8i3q3i4x", *shape, 0, 0, m * n, 0, 0, 0)
            result = type_name
            grid = f"{count},{across},{down}" if match[2] and bk == 64 else f"{across},{down},{count}"
            constants = {"segments_contiguous": True, "align_M": False, "align_N": False}
        else:
            params = struct.pack("<13i", *shape, count, m * n, bk, 0, 1)
            result, grid = "float32", f"{across * down * count},1,1"
            constants = {"align_M": False, "align_N": False}
        out = Out(result, want, TOLERANCE[result] * 4)
        pairs = np.array([edge for pair in zip(parts, parts[1:], strict=False) for edge in pair], "u4")
        yield Case(
            name,
            {"A": a, "B": b, "C": out, "segments": pairs, "params": "hex:" + params.hex()},
            groups(grid, f"32,{wn},{wm}"),
            constants,
        )


def masked_attention(names):
    """Attention in tiles with a mask of truth values or of numbers to add, of 4 heads of which two share their keys."""
    newer = is_newer(names)
    for name in names:
        match = re.fullmatch(
            r"steel_attention_(dsplit_)?(float32|float16|bfloat16)_bq(\d+)_bk(\d+)_bd(\d+)(?:_bv\5)?_wm(\d)_wn(\d)"
            r"_mask(bool_|\2)",
            name,
        )
        if not match:
            continue
        type_name, is_boolean = match[2], match[8] == "bool_"
        bq, bk, depth, wm, wn = (int(match[i]) for i in range(3, 8))
        queries, keys, heads = bq + 7, 2 * bk + 13, 4
        q, x = sample(type_name, (1, heads, queries, depth), -1, 1)
        k, y = sample(type_name, (1, 2, keys, depth), -1, 1)
        v, z = sample(type_name, (1, 2, keys, depth), -1, 1)
        scores = np.einsum("bhqd,bhkd->bhqk", x, np.repeat(y, 2, 1)) * 0.25
        if is_boolean:
            mask = rng.integers(0, 4, (1, heads, queries, keys)) > 0
            scores = np.where(mask, scores, -np.inf)
        else:
            mask, added = sample(type_name, (1, heads, queries, keys), -2, 2)
            scores += added
        p = np.exp(scores - scores.max(-1, keepdims=True))
        want = np.einsum("bhqk,bhkd->bhqd", p / p.sum(-1, keepdims=True), np.repeat(z, 2, 1))
        tiles = [-(-queries // bq), -(-keys // bk), queries // bq, keys // bk, queries % bq, keys % bk]
        params = struct.pack("<6if7i", 1, heads, depth, queries, keys, 2, 0.25, *tiles, keys - queries)
        for length, count in ((queries, heads), (keys, 2), (keys, 2), (queries, heads)):
            params += struct.pack("<3q", count * length * depth, length * depth, depth)
        constants = dict.fromkeys(("align_Q", "align_K", "do_causal", "has_sinks"), False) | {"has_mask": True}
        if newer:
            constants["save_lse"] = False
        arguments = {
            "Q": q,
            "K": k,
            "V": v,
            "O": Out(type_name, want, TOLERANCE[type_name] * 8),
            "params": "hex:" + params.hex(),
            "mask_params": "i64:" + ",".join(str(s) for s in (heads * queries * keys, queries * keys, keys)),
            "mask": mask,
        }
        yield Case(name, arguments, groups(f"{tiles[0]},{heads},1", f"32,{wm},{wn}"), constants)


FAMILIES = (gathered_quantised, gathered_rows, in_parts, masked_attention)
