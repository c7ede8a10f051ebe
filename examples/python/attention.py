"""Attention and its variants from one kernel: plain, causal, sliding window, ALiBi, and grouped heads.

One SIMD-group makes one row of the result. Its lanes share the head's dimensions, so a score is a simd_sum;
scores are never stored, as the softmax is the online one of softmax.py. The variants are a macro
(`MODIFY(score, q, k)`), in the manner of torch's flex_attention: every variant is its own small library.

    python examples/python/attention.py
"""
import torch

import ingot

device = "mps" if torch.backends.mps.is_available() else "cpu"

SOURCE = """
#include <metal_stdlib>
using namespace metal;

struct sizes { long heads, kv_heads, queries, keys; };

kernel void attention(device float *out, device const float *query, device const float *key,
                      device const float *value, constant sizes &size, constant float &scale,
                      uint2 group [[threadgroup_position_in_grid]],  // (row, batch × head)
                      uint lane [[thread_index_in_simdgroup]]) {
    const long per_lane = DIMENSIONS / 32;
    long batch = group.y / size.heads, head = group.y % size.heads;
    long kv_head = head / (size.heads / size.kv_heads);
    long row = group.x;
    long q_at = row + size.keys - size.queries;  // the last query sees the last key
    device const float *q = query + (group.y * size.queries + row) * DIMENSIONS + lane * per_lane;
    device const float *k = key + (batch * size.kv_heads + kv_head) * size.keys * DIMENSIONS + lane * per_lane;
    device const float *v = value + (batch * size.kv_heads + kv_head) * size.keys * DIMENSIONS + lane * per_lane;

    float mine[per_lane], sum[per_lane];
    for (long d = 0; d < per_lane; d++) {
        mine[d] = q[d] * scale;
        sum[d] = 0;
    }
    float largest = -INFINITY, total = 0;
    for (long k_at = 0; k_at < size.keys; k_at++) {
        float score = 0;
        for (long d = 0; d < per_lane; d++)
            score += mine[d] * k[k_at * DIMENSIONS + d];
        score = simd_sum(score);
        MODIFY
        if (score == -INFINITY)  // the same in all lanes: the branch does not diverge
            continue;
        float higher = max(largest, score);
        float keep = exp(largest - higher), weight = exp(score - higher);
        largest = higher;
        total = total * keep + weight;
        for (long d = 0; d < per_lane; d++)
            sum[d] = sum[d] * keep + weight * v[k_at * DIMENSIONS + d];
    }
    device float *o = out + (group.y * size.queries + row) * DIMENSIONS + lane * per_lane;
    for (long d = 0; d < per_lane; d++)
        o[d] = sum[d] / total;
}
"""
VARIANTS = {
    "plain": "",
    "causal": "if (k_at > q_at) score = -INFINITY;",
    "window of 16": "if (k_at > q_at || k_at <= q_at - 16) score = -INFINITY;",
    "ALiBi": "score += exp2(-8.0f * (head + 1) / size.heads) * (k_at - q_at); if (k_at > q_at) score = -INFINITY;",
}


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, variant: str) -> torch.Tensor:
    """Attention of (batch, heads, length, dimensions) tensors; k and v may have fewer heads."""
    batch, heads, queries, dimensions = q.shape
    source = f"#define DIMENSIONS {dimensions}\n#define MODIFY {VARIANTS[variant]}\n{SOURCE}"
    kernel = ingot.compile_shader(source).attention  # compiled once: later calls find it in a cache
    out = torch.empty_like(q)
    sizes = [heads, k.shape[1], queries, k.shape[2]]  # a list of ints is an array of long
    kernel(out, q, k, v, sizes, dimensions ** -0.5, threads=(queries * 32, batch * heads), group_size=(32, 1))
    return out


def expected(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, variant: str) -> torch.Tensor:
    """The same by torch, with the scores written out."""
    heads, queries, keys = q.shape[1], q.shape[2], k.shape[2]
    k, v = (t.repeat_interleave(heads // k.shape[1], 1) for t in (k, v))
    q_at = torch.arange(queries, device=q.device)[:, None] + keys - queries
    k_at = torch.arange(keys, device=q.device)[None, :]
    bias = torch.zeros(heads, queries, keys, device=q.device)
    if variant == "ALiBi":
        slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1, device=q.device) / heads)
        bias = slopes[:, None, None] * (k_at - q_at)
    hidden = {"plain": k_at < 0, "window of 16": (k_at > q_at) | (k_at <= q_at - 16)}.get(variant, k_at > q_at)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, bias.masked_fill(hidden, -torch.inf))


torch.manual_seed(0)
q = torch.randn(2, 8, 40, 64, device=device)
k, v = torch.randn(2, 2, 100, 64, device=device), torch.randn(2, 2, 100, 64, device=device)
for variant in VARIANTS:
    wanted = expected(q, k, v, variant)
    torch.testing.assert_close(attention(q, k, v, variant), wanted, rtol=1e-4, atol=1e-5)
    agrees = ""
    if device == "cpu":
        slopes = 2.0 ** (-8.0 * torch.arange(1, 9) / 8)
        options = {"plain": {}, "causal": {"causal": True}, "window of 16": {"causal": True, "window": 16},
                   "ALiBi": {"causal": True, "alibi_slopes": slopes}}[variant]
        torch.testing.assert_close(ingot.ops.attention(q, k, v, **options), wanted, rtol=1e-4, atol=1e-5)
        agrees = f", and ingot.ops.attention({', '.join(options)})"
    print(f"{variant}: 8 heads on 2 key heads, as torch{agrees}")
