// Blocks of reflections, 1 - v t v' (reflectors.h).
#ifndef INGOT_KERNELS_TRIANGULAR_REFLECTOR_BLOCKS_H
#define INGOT_KERNELS_TRIANGULAR_REFLECTOR_BLOCKS_H

#include "triangular/small_blocks.h"

// t from v'v, which comes in parts: the inverse of what has 1 / tau on the diagonal and v'v above
// it. A threadgroup for each.
[[max_total_threads_per_threadgroup(256)]]
kernel void reflector_triangle(
    device const float *products [[buffer(0)]], device const float *taus [[buffer(1)]],
    device float *t_all [[buffer(2)]], constant reflector_args &args [[buffer(3)]],
    uint group [[threadgroup_position_in_grid]], uint me [[thread_index_in_threadgroup]],
    uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup small_blocks lower, inverse;
    const uint matrix = group / args.blocks, block = group % args.blocks;
    device float *t = t_all + args.t_first + matrix * args.t_matrix + block * (BLOCK * BLOCK);
    taus += args.tau_first + matrix * args.tau_matrix + block * BLOCK;
    products += ulong(group) * (BLOCK * BLOCK);
    constexpr uint EACH = BLOCK * BLOCK / 256;
    const uint row =
        me % BLOCK; // of the transposed, which is lower; columns are e * 4 + me / BLOCK
    float sums[EACH];
#pragma unroll
    for (uint e = 0; e < EACH; e++) {
        sums[e] = 0;
    }
    for (uint part = 0; part < args.parts; part++) {
#pragma unroll
        for (uint e = 0; e < EACH; e++) {
            const bool inside = e * 4 + me / BLOCK < row && row < args.width;
            sums[e] += inside ? products[part * args.part + e * 256 + me] : 0;
        }
    }
    const float tau = row < args.width ? taus[row] : 0;
#pragma unroll
    for (uint e = 0; e < EACH; e++) {
        const uint column = e * 4 + me / BLOCK;
        const float x = column == row ? tau != 0 ? 1 / tau : 1 : sums[e];
        if (row >= HALF || column < HALF) {
            lower.half[row / HALF + column / HALF][column % HALF * HALF_LINE + row % HALF] = x;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    invert_small_block(lower, inverse, simd, lane);
    for (uint i = me; i < BLOCK * BLOCK; i += 256) {
        t[i] = small_block_at(inverse, i % BLOCK, i / BLOCK); // upper, by rows
    }
}

// Adds the parts of v'target up and multiplies by t (t'), in place; 32 columns per threadgroup.
[[max_total_threads_per_threadgroup(256)]]
kernel void reflector_combine(device float *parts [[buffer(0)]],
                              device const float *t [[buffer(1)]],
                              constant reflector_args &args [[buffer(2)]],
                              uint2 group [[threadgroup_position_in_grid]],
                              uint simd [[simdgroup_index_in_threadgroup]],
                              uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float sums[BLOCK][32], triangle[BLOCK][BLOCK + 4]; // by columns of what multiplies
    const uint column = group.y * 32 + lane, width = args.width;
    const bool inside = column < args.columns;
    parts += ulong(group.x) * BLOCK * args.line + column;
    t += args.t_first + group.x * args.t_matrix;
    float gathered[BLOCK / 8], factors[BLOCK / 4];
#pragma unroll
    for (uint r = 0; r < BLOCK / 8; r++) {
        gathered[r] = 0;
        factors[2 * r] = t[(r * 8 + simd) * BLOCK + lane];
        factors[2 * r + 1] = t[(r * 8 + simd) * BLOCK + lane + 32];
    }
    for (uint part = 0; part < args.parts; part++) {
#pragma unroll
        for (uint r = 0; r < BLOCK / 8; r++) {
            const uint i = r * 8 + simd;
            gathered[r] += inside && i < width ? parts[part * args.part + i * args.line] : 0;
        }
    }
#pragma unroll
    for (uint r = 0; r < BLOCK / 8; r++) {
        const uint i = r * 8 + simd;
        sums[i][lane] = gathered[r];
#pragma unroll
        for (uint h = 0; h < 2; h++) {
            const uint j = lane + 32 * h;
            triangle[args.adjoint ? i : j][args.adjoint ? j : i] = factors[2 * r + h];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device); // parts are stored to
    float result[8];
#pragma unroll
    for (uint r = 0; r < 8; r++) {
        result[r] = 0;
    }
#pragma unroll 8
    for (uint k = 0; k < BLOCK; k++) {
        const float x = sums[k][lane];
        threadgroup const float4 *factors = (threadgroup const float4 *)(triangle[k] + 8 * simd);
        const float4 low = factors[0], high = factors[1];
#pragma unroll
        for (uint r = 0; r < 4; r++) {
            result[r] = fma(low[r], x, result[r]);
            result[4 + r] = fma(high[r], x, result[4 + r]);
        }
    }
#pragma unroll
    for (uint r = 0; r < 8; r++) {
        if (inside && 8 * simd + r < width) {
            parts[(8 * simd + r) * args.line] = result[r];
        }
    }
}

#endif
