/*
 * Few rows on CPUs, b as it stands [k][n]: a SIMD-group takes SPAN columns, DEEP rows of b at a
 * time, and keeps sums in threadgroup memory. So memory is read in long pieces, which the
 * processor foresees, from few places at once.
 */
#ifndef INGOT_KERNELS_MATMUL_SPANS_H
#define INGOT_KERNELS_MATMUL_SPANS_H

#include "common/memory_hints.h"
#include "matmul/matmul_finish.h"

/* DEEP rows of b, from `line` on, times those of a. */
template <typename T, uint ROWS, uint SPAN, uint DEEP>
inline void add_spans(threadgroup float *sums, device const T *a, thread const ulong (&a_row)[ROWS],
                      ulong a_step, device const T *line, ulong stride, uint columns, uint lane) {
    float x[ROWS][DEEP];
#pragma unroll
    for (uint r = 0; r < ROWS; r++)
#pragma unroll
        for (uint d = 0; d < DEEP; d++) {
            x[r][d] = float(a[a_row[r] + d * a_step]);
        }
    for (uint c = 0; c < columns; c += 32) {
        device const T *from = line + c;
        threadgroup float *to = sums + c;
        float y[DEEP];
        if (c + 32 <= columns) {
#pragma unroll
            for (uint d = 0; d < DEEP; d++) {
                y[d] = float(from[d * stride + lane]);
                prefetch<32>(from + (DEEP + d) * stride);
            }
        } else {
#pragma unroll
            for (uint d = 0; d < DEEP; d++) {
                y[d] = c + lane < columns ? float(from[d * stride + lane]) : 0.0f;
            }
        }
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            float sum = to[r * SPAN + lane];
#pragma unroll
            for (uint d = 0; d < DEEP; d++) {
                sum = fma(x[r][d], y[d], sum);
            }
            to[r * SPAN + lane] = sum;
        }
    }
}

template <typename T, uint ROWS, uint SPAN, uint DEEP>
kernel void matmul_spans(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
                         device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                         device uchar *parts [[buffer(4)]],
                         constant matmul_args &args [[buffer(5)]],
                         uint3 group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float sums[ROWS * SPAN];
    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint column0 = group.x * SPAN, row0 = group.y * ROWS;
    uint rows = min(args.m - row0, ROWS), columns = min(args.n - column0, SPAN);
    uint first = part * args.part_depth, end = min(args.k, first + args.part_depth);
    ulong a_step = args.a_transposed ? args.a_stride : 1;
    a += matrix * args.a_batch + row0 * (args.a_transposed ? 1 : args.a_stride);
    b += matrix * args.b_batch + column0;
    ulong a_row[ROWS];
#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
        a_row[r] = min(r, rows - 1) * (args.a_transposed ? 1 : args.a_stride);
    }
    for (uint c = 0; c < columns; c += 32) {
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            sums[r * SPAN + c + lane] = 0;
        }
    }
    uint k = first;
    for (; k + DEEP <= end; k += DEEP) {
        add_spans<T, ROWS, SPAN, DEEP>(sums, a + k * a_step, a_row, a_step, b + k * args.b_stride,
                                       args.b_stride, columns, lane);
    }
    for (; k < end; k++) {
        add_spans<T, ROWS, SPAN, 1>(sums, a + k * a_step, a_row, a_step, b + k * args.b_stride,
                                    args.b_stride, columns, lane);
    }
    put_lines<SPAN>(sums, rows, columns, row0, column0, false, ulong(part) * args.batch + matrix,
                    bias, out + matrix * args.out_batch, parts, args, lane);
}

#endif
