"""The product of a 4-bit matrix and a vector: what decoding a quantised language model spends its time on.

Weights are groups of 64 along a row; a group has a scale and a bias, and eight 4-bit numbers lie in a uint, the
first in the lowest bits. A SIMD-group makes one output: its lanes read neighbouring words, 8 weights each. The
sum over a group is scale·Σqx + bias·Σx, so no weight is ever unpacked to memory.

    python examples/python/matvec_4bit.py
"""
import torch

import ingot

device = "mps" if torch.backends.mps.is_available() else "cpu"
GROUP = 64

SOURCE = """
#include <metal_stdlib>
using namespace metal;

kernel void matvec_4bit(device float *out, device const float *x, device const uint *packed,
                        device const float *scales, device const float *biases, constant long &columns,
                        uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    long words = columns / 8;
    float sum = 0;
    for (long w = lane; w < words; w += 32) {
        uint word = packed[row * words + w];
        device const float *v = x + w * 8;
        float products = 0, total = 0;
        for (int i = 0; i < 8; i++) {
            products += float((word >> (4 * i)) & 15) * v[i];
            total += v[i];
        }
        long group = row * (columns / GROUP) + w * 8 / GROUP;
        sum += scales[group] * products + biases[group] * total;
    }
    sum = simd_sum(sum);
    if (lane == 0)
        out[row] = sum;
}
"""
kernel = ingot.compile_shader(f"#define GROUP {GROUP}\n{SOURCE}").matvec_4bit


def quantise(weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(rows, columns) in floats → packed words as int32, scales and biases for each group."""
    groups = weights.unflatten(-1, (-1, GROUP))
    low, high = groups.amin(-1, keepdim=True), groups.amax(-1, keepdim=True)
    scale = ((high - low) / 15).clamp_min(1e-8)
    q = ((groups - low) / scale).round().clamp(0, 15).to(torch.int64).flatten(-2).unflatten(-1, (-1, 8))
    packed = (q << (4 * torch.arange(8, device=weights.device))).sum(-1)
    packed = torch.where(packed >= 2**31, packed - 2**32, packed).to(torch.int32)
    return packed, scale.squeeze(-1).contiguous(), low.squeeze(-1).contiguous()


def dequantise(packed: torch.Tensor, scales: torch.Tensor, biases: torch.Tensor) -> torch.Tensor:
    """The floats that the packed words stand for."""
    q = (packed[..., None].long() >> (4 * torch.arange(8, device=packed.device))) & 15
    q = q.flatten(-2).unflatten(-1, (-1, GROUP)).float()
    return (q * scales[..., None] + biases[..., None]).flatten(-2)


torch.manual_seed(0)
rows, columns = 1024, 2048
weights, x = torch.randn(rows, columns, device=device), torch.randn(columns, device=device)
packed, scales, biases = quantise(weights)

out = torch.empty(rows, device=device)
kernel(out, x, packed, scales, biases, columns, threads=rows * 32, group_size=32)
restored = dequantise(packed, scales, biases)
torch.testing.assert_close(out, restored @ x, rtol=1e-4, atol=1e-3)
size = sum(t.nbytes for t in (packed, scales, biases))
print(f"{rows}×{columns}: {weights.nbytes >> 10} KiB of floats are {size >> 10} KiB; the kernel agrees with torch")
error = (out - weights @ x).norm() / (weights @ x).norm()
assert error < 0.15, error
print(f"against the weights before quantisation: {error:.1%} off, which is what 4 bits of noise cost")

if device == "cpu":
    small = ingot.ops.quantise(weights, bits=4, group=GROUP, biases=True)
    product = ingot.ops.quantised_linear(x, small)
    torch.testing.assert_close(product, small.dequantise() @ x, rtol=1e-3, atol=1e-2)
    print("ingot.ops.quantise and quantised_linear: the same in two calls")
