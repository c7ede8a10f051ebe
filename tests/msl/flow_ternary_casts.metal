// Operands of ?: that lie in device or constant memory, in parentheses and through casts.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32[32]
// ARG 1: f32[16] = i + 1
// ARG 2: f32[4] = 100 * (i + 1)
// EXPECT 0: f32[32] = idiv(i, 16) == 0 ? (idiv(i, 4) < 2 ? i + 1 : 0) : (idiv(i - 16, 4) < 2 ? 100 * (i % 4 + 1) : i - 15)
#include <metal_stdlib>
using namespace metal;

template <typename T>
vec<T, 4> row_or_zero(const device T *values, uint row) {
    return row < 2 ? *reinterpret_cast<const device vec<T, 4> *>(values + 4 * row) : vec<T, 4>(0);
}

kernel void k(device float4 *out, device const float *values, constant float4 &other,
              uint i [[thread_position_in_grid]]) {
    out[i] = row_or_zero(values, i);
    out[i] = i < 2 ? (out[i]) : float4(0);
    out[4 + i] = i < 2 ? (other) : reinterpret_cast<const device float4 *>(values)[i];
    out[4 + i] = i < 4 ? ((*(out + 4 + i))) : float4(i);
}
