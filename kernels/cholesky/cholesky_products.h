// The blocked form of large matrices on GPUs, u'u in blocks of 64 rows: a threadgroup factors the
// block on the diagonal and inverts it, the rows to its right are a product with the inverse, and
// the update of the rest is a product, whose first threadgroup goes on to factor the next block.
#ifndef INGOT_KERNELS_CHOLESKY_PRODUCTS_H
#define INGOT_KERNELS_CHOLESKY_PRODUCTS_H

#include "common/memory_hints.h"
#include "triangular/product_tiles.h"
#include "triangular/small_blocks.h"

struct cholesky_block_shared {
    small_blocks lower, inverse;
};

// Lower factor and its inverse of the half on the diagonal, by one SIMD-group: a lane owns a row of
// the factor. Rows from a missing pivot on are zero. Returns the number of good rows.
inline uint factor_half(threadgroup float *half, threadgroup float *inverse, uint lane) {
    float x[HALF], y[HALF];
#pragma unroll
    for (uint k = 0; k < HALF; k++) {
        x[k] = lane >= k ? half[k * HALF_LINE + lane] : 0;
        y[k] = k == lane ? 1 : 0;
    }
    uint good = HALF;
#pragma unroll
    for (uint k = 0; k < HALF; k++) {
        const float d = simd_broadcast(x[k], ushort(k));
        good = good == HALF && !is_pivot(d) ? k : good;
        // The hardware's reciprocal root, made exact to a rounding, of what is not too small for
        // it.
        const bool tiny = d < 1e-30f;
        const float square = tiny ? d * 0x1p100f : d;
        float scale = fast::rsqrt(square);
        scale = fma(0.5f * scale, fma(-square * scale, scale, 1.0f), scale);
        scale = good < HALF ? 0 : tiny ? scale * 0x1p50f : scale;
        x[k] = lane < k || good < HALF ? 0 : x[k] * scale;
        y[k] = good == HALF ? y[k] * scale : 0;
#pragma unroll
        for (uint r = k + 1; r < HALF; r++) {
            const float factor = simd_broadcast(x[k], ushort(r));
            x[r] = fma(-factor, x[k], x[r]);
            y[r] = fma(-factor, y[k], y[r]);
        }
    }
#pragma unroll
    for (uint k = 0; k < HALF; k++) {
        half[k * HALF_LINE + lane] = lane < k ? 0 : x[k];
    }
    store_half(inverse, y, lane);
    return good;
}

// Factors the block whose first element u points to, rows and columns `first` on of the matrix,
// leaves it there and its inverse's columns in `inverse_out`. By 256 threads.
inline void factor_block(device float *u, device float *inverse_out, device int *info,
                         threadgroup cholesky_block_shared &shared, uint n, uint first, uint me,
                         uint simd, uint lane) {
    const uint rows = min(n - first, BLOCK);
    const bool missing = *info != 0;
    float loaded[BLOCK * BLOCK / 256];
#pragma unroll
    for (uint e = 0; e < BLOCK * BLOCK / 256; e++) {
        const uint row = e * 4 + me / BLOCK, column = me % BLOCK; // of u
        const bool inside = row < rows && column < rows && column >= row;
        loaded[e] = inside ? u[ulong(row) * n + column] : row == column ? 1 : 0;
    }
#pragma unroll
    for (uint e = 0; e < BLOCK * BLOCK / 256; e++) {
        const uint row = e * 4 + me / BLOCK, column = me % BLOCK;
        if (column >= HALF || row < HALF) {
            shared.lower.half[row / HALF + column / HALF][row % HALF * HALF_LINE + column % HALF] =
                loaded[e];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device); // info was read
    threadgroup float *l11 = shared.lower.half[0], *l21 = shared.lower.half[1],
                      *l22 = shared.lower.half[2], *kept = shared.inverse.half[1];
    uint good = HALF;
    if (simd == 0) {
        good = factor_half(l11, shared.inverse.half[0], lane);
        if (lane == 0 && good < HALF && good < rows && !missing) {
            *info = int(first + good) + 1;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    multiply_half<true, false>(kept, l21, shared.inverse.half[0], 1, 4 * simd, lane);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    multiply_half<true, true>(l22, kept, kept, -1, 4 * simd, lane);
    for (uint i = me; i < HALF * HALF_LINE; i += 256) {
        l21[i] = kept[i];
    }
    const bool half_missing = *info != 0;
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    if (simd == 0) {
        good = factor_half(l22, shared.inverse.half[2], lane);
        if (lane == 0 && good < HALF && HALF + good < rows && !half_missing) {
            *info = int(first + HALF + good) + 1;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    for (uint i = me; i < BLOCK * BLOCK; i += 256) {
        const uint row = i / BLOCK, column = i % BLOCK;
        if (row < rows && column < rows && column >= row) {
            u[ulong(row) * n + column] = small_block_at(shared.lower, column, row);
        }
    }
    join_halves(shared.lower, shared.inverse, simd, lane);
    for (uint i = me; i < BLOCK * BLOCK; i += 256) {
        inverse_out[i] = small_block_at(shared.inverse, i % BLOCK, i / BLOCK);
    }
}

// The first block; info starts as 0.
[[max_total_threads_per_threadgroup(256)]]
kernel void cholesky_first(device float *u [[buffer(0)]], device float *inverse [[buffer(1)]],
                           device int *info [[buffer(2)]],
                           constant cholesky_step_args &args [[buffer(3)]],
                           uint matrix [[threadgroup_position_in_grid]],
                           uint me [[thread_index_in_threadgroup]],
                           uint simd [[simdgroup_index_in_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]]) {
    threadgroup cholesky_block_shared shared;
    if (me == 0) {
        info[matrix] = 0;
    }
    threadgroup_barrier(mem_flags::mem_device);
    factor_block(u + ulong(matrix) * args.n * args.n, inverse + ulong(matrix) * (BLOCK * BLOCK),
                 info + matrix, shared, args.n, 0, me, simd, lane);
}

// The update of what is right of and below the block, and the next block.
template <uint PER>
[[max_total_threads_per_threadgroup(256)]]
kernel void
cholesky_next(device const float *left [[buffer(0)]], device const float *right [[buffer(1)]],
              device float *u [[buffer(2)]], constant product_args &args [[buffer(3)]],
              device float *inverse [[buffer(4)]], device int *info [[buffer(5)]],
              constant cholesky_step_args &step [[buffer(6)]],
              uint3 group [[threadgroup_position_in_grid]], uint me [[thread_index_in_threadgroup]],
              uint simd [[simdgroup_index_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]]) {
    threads_at_once(512);
    threadgroup union {
        product_shared<PER> product;
        cholesky_block_shared block;
    } shared;
    product_group<PER>(left, right, u, args, shared.product, group, me);
    if (group.y + group.z == 0) {
        threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
        factor_block(u + args.c_first + ulong(group.x) * args.c_matrix,
                     inverse + ulong(group.x) * (BLOCK * BLOCK), info + group.x, shared.block,
                     step.n, step.first, me, simd, lane);
    }
}
INSTANTIATE_KERNEL("cholesky_next_64", cholesky_next<PRODUCT_PER>)
INSTANTIATE_KERNEL("cholesky_next_128", cholesky_next<PRODUCT_PER_WIDE>)

// Zero below the diagonal, and in rows from a missing pivot on.
kernel void cholesky_finish(device float *u [[buffer(0)]], device const int *info [[buffer(1)]],
                            constant cholesky_step_args &args [[buffer(2)]],
                            uint3 position [[thread_position_in_grid]]) {
    const int bad = info[position.z];
    if (position.x < args.n &&
        (position.x < position.y || (bad > 0 && position.y + 1 >= uint(bad)))) {
        u[(ulong(position.z) * args.n + position.y) * args.n + position.x] = 0;
    }
}

#endif
