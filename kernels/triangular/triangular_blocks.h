// Triangular systems by blocks of 64 rows whose diagonal blocks are inverted first, all at once.
// With many right-hand sides the rest is products (product.c). With few, a launch per block: each
// threadgroup makes the block's part of x again and brings its rows of `work` up to date with it.
#ifndef INGOT_KERNELS_TRIANGULAR_BLOCKS_H
#define INGOT_KERNELS_TRIANGULAR_BLOCKS_H

#include "common/memory_hints.h"
#include "triangular/small_blocks.h"

// The inverses of the diagonal blocks, by columns: [matrix][block][column][row], 64 by 64. What is
// past the end of the matrix is the identity.
[[max_total_threads_per_threadgroup(256)]]
kernel void triangular_invert(
    device const float *a_all [[buffer(0)]], device float *inverses [[buffer(1)]],
    constant triangular_args &args [[buffer(2)]], uint2 group [[threadgroup_position_in_grid]],
    uint2 groups [[threadgroups_per_grid]], uint me [[thread_index_in_threadgroup]],
    uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup small_blocks lower, inverse;
    const uint first = group.y * BLOCK, n = args.n;
    device const float *a =
        a_all + args.a_first + long(group.x) * args.a_matrix + first * (args.a_row + args.a_column);
    const bool by_rows = args.a_column == 1 || args.a_column == -1;
    float loaded[BLOCK * BLOCK / 256];
#pragma unroll
    for (uint e = 0; e < BLOCK * BLOCK / 256; e++) {
        const uint one = e * 4 + me / BLOCK, other = me % BLOCK;
        const uint row = by_rows ? one : other, column = by_rows ? other : one;
        const bool inside = first + row < n && first + column < n && column <= row;
        loaded[e] = inside ? a[row * args.a_row + column * args.a_column] : row == column ? 1 : 0;
    }
#pragma unroll
    for (uint e = 0; e < BLOCK * BLOCK / 256; e++) {
        const uint one = e * 4 + me / BLOCK, other = me % BLOCK;
        const uint row = by_rows ? one : other, column = by_rows ? other : one;
        const float x = row == column && args.unit ? 1 : loaded[e];
        if (row >= HALF || column < HALF) {
            lower.half[row / HALF + column / HALF][column % HALF * HALF_LINE + row % HALF] = x;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    invert_small_block(lower, inverse, simd, lane);
    device float *to = inverses + (ulong(group.x) * groups.y + group.y) * (BLOCK * BLOCK);
    for (uint i = me; i < BLOCK * BLOCK; i += 256) {
        to[i] = small_block_at(inverse, i % BLOCK, i / BLOCK);
    }
}

// work = b, rows in the order of the steps.
kernel void triangular_begin(device const float *b_all [[buffer(0)]],
                             device float *work [[buffer(1)]],
                             constant triangular_args &args [[buffer(2)]],
                             uint2 position [[thread_position_in_grid]]) {
    const uint row = position.x / args.columns, column = position.x % args.columns;
    if (row < args.n) {
        work[long(position.y) * args.n * args.columns + position.x] =
            b_all[args.x_first + long(position.y) * args.x_matrix + row * args.x_row + column];
    }
}

// One step: x's rows from args.first on, and what it takes from ROWS rows below per SIMD-group. All
// that does not need x is loaded first.
template <uint COLUMNS>
[[max_total_threads_per_threadgroup(256)]]
kernel void triangular_few(device const float *a_all [[buffer(0)]],
                           device const float *inverses [[buffer(1)]],
                           device float *work [[buffer(2)]], device float *x_all [[buffer(3)]],
                           constant triangular_args &args [[buffer(4)]],
                           uint2 group [[threadgroup_position_in_grid]],
                           uint me [[thread_index_in_threadgroup]],
                           uint simd [[simdgroup_index_in_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint ROWS = TRIANGULAR_ROWS;
    threadgroup float before[BLOCK][COLUMNS], parts[4][BLOCK][COLUMNS], solved[BLOCK][COLUMNS];
    threadgroup float sums_of[8][ROWS][COLUMNS];
    const uint n = args.n, first = args.first, columns = args.columns;
    const long matrix = group.x;
    work += matrix * n * columns;
    device const float *inverse =
        inverses + (matrix * ((n + BLOCK - 1) / BLOCK) + first / BLOCK) * (BLOCK * BLOCK);
    for (uint i = me; i < BLOCK * COLUMNS; i += 256) {
        const uint row = first + i / COLUMNS, column = i % COLUMNS;
        before[i / COLUMNS][column] =
            row < n && column < columns ? work[row * columns + column] : 0;
    }
    const uint i = me % BLOCK, quarter = me / BLOCK;
    float factors[BLOCK / 4];
#pragma unroll
    for (uint k = 0; k < BLOCK / 4; k++) {
        factors[k] = inverse[(quarter * (BLOCK / 4) + k) * BLOCK + i];
    }
    // Rows of a: by rows two elements of each row per lane; by columns lanes are ROWS rows, and
    // take every (32 / ROWS)-th column.
    const uint start = first + BLOCK + (group.y * 8 + simd) * ROWS;
    const bool by_rows = args.a_column == 1 || args.a_column == -1;
    device const float *a = a_all + args.a_first + matrix * args.a_matrix + first * args.a_column;
    float u[2 * ROWS];
#pragma unroll
    for (uint q = 0; q < 2 * ROWS; q++) {
        const uint row = start + (by_rows ? q / 2 : lane % ROWS);
        const uint column = by_rows ? lane + q % 2 * 32 : lane / ROWS + q * (32 / ROWS);
        u[q] = row < n ? a[row * args.a_row + column * args.a_column] : 0;
    }
    // The elements of work that this lane brings up to date.
    constexpr uint EACH = ROWS * COLUMNS / 32;
    float rest[EACH];
#pragma unroll
    for (uint e = 0; e < EACH; e++) {
        const uint row = start + (e * 32 + lane) / COLUMNS, column = lane % COLUMNS;
        rest[e] = row < n && column < columns ? work[row * columns + column] : 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sums[COLUMNS];
#pragma unroll
    for (uint c = 0; c < COLUMNS; c++) {
        sums[c] = 0;
    }
#pragma unroll
    for (uint k = 0; k < BLOCK / 4; k++)
#pragma unroll
        for (uint c = 0; c < COLUMNS; c++) {
            sums[c] = fma(factors[k], before[quarter * (BLOCK / 4) + k][c], sums[c]);
        }
#pragma unroll
    for (uint c = 0; c < COLUMNS; c++) {
        parts[quarter][i][c] = sums[c];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint at = me; at < BLOCK * COLUMNS; at += 256) {
        const uint row = at / COLUMNS, column = at % COLUMNS;
        const float value = (parts[0][row][column] + parts[1][row][column]) +
                            (parts[2][row][column] + parts[3][row][column]);
        solved[row][column] = value;
        if (group.y == 0 && first + row < n && column < columns) {
            x_all[args.x_first + matrix * args.x_matrix + (first + row) * args.x_row + column] =
                value;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (start >= n) {
        return;
    }
    threadgroup float *mine = &sums_of[simd][0][0];
    if (by_rows) {
        float low[COLUMNS], high[COLUMNS];
#pragma unroll
        for (uint c = 0; c < COLUMNS; c++) {
            low[c] = solved[lane][c];
            high[c] = solved[lane + 32][c];
        }
#pragma unroll
        for (uint q = 0; q < ROWS; q++)
#pragma unroll
            for (uint c = 0; c < COLUMNS; c++) {
                const float sum = simd_sum(fma(u[2 * q], low[c], u[2 * q + 1] * high[c]));
                if (lane == 0) {
                    mine[q * COLUMNS + c] = sum;
                }
            }
    } else {
        float total[COLUMNS];
#pragma unroll
        for (uint c = 0; c < COLUMNS; c++) {
            total[c] = 0;
        }
#pragma unroll
        for (uint q = 0; q < 2 * ROWS; q++)
#pragma unroll
            for (uint c = 0; c < COLUMNS; c++) {
                total[c] = fma(u[q], solved[lane / ROWS + q * (32 / ROWS)][c], total[c]);
            }
#pragma unroll
        for (uint c = 0; c < COLUMNS; c++) {
#pragma unroll
            for (uint apart = ROWS; apart < 32; apart *= 2) {
                total[c] += simd_shuffle_xor(total[c], ushort(apart));
            }
            if (lane < ROWS) {
                mine[lane * COLUMNS + c] = total[c];
            }
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
    for (uint e = 0; e < EACH; e++) {
        const uint row = start + (e * 32 + lane) / COLUMNS, column = lane % COLUMNS;
        if (row < n && column < columns) {
            work[row * columns + column] = rest[e] - mine[e * 32 + lane];
        }
    }
}
template [[host_name("triangular_few_4")]] [[kernel]] decltype(triangular_few<4>) triangular_few<4>;
template [[host_name("triangular_few_8")]] [[kernel]] decltype(triangular_few<8>) triangular_few<8>;

// ---- products of any strides: product_tiles.h
// -----------------------------------------------------

template <uint PER>
[[max_total_threads_per_threadgroup(PRODUCT_THREADS)]]
kernel void product(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                    device float *c [[buffer(2)]], constant product_args &args [[buffer(3)]],
                    uint3 group [[threadgroup_position_in_grid]],
                    uint me [[thread_index_in_threadgroup]]) {
    threads_at_once(PER == PRODUCT_PER ? 768 : 512);
    threadgroup product_shared<PER> shared;
    product_group<PER>(a, b, c, args, shared, group, me);
}
template [[host_name("product_64")]] [[kernel]] decltype(product<PRODUCT_PER>) product<PRODUCT_PER>;
template [[host_name(
    "product_128")]] [[kernel]] decltype(product<PRODUCT_PER_WIDE>) product<PRODUCT_PER_WIDE>;

#endif
