/*
 * Large products of float on GPUs, without matrix units: a threadgroup of 256 threads makes 128 by
 * 128 of the result, each thread 8 by 8: rows 4y to 4y + 3 and the same 64 further down, columns 4x
 * to 4x + 3 and the same 64 to the right. Panels have rows (or columns) of the result along their
 * lines. What it wants of the operands: see matmul_blocks.h; k in panels of 16, n in fours.
 *
 * Compiled for twice its threads, which bounds its registers: two such threadgroups fit a
 * multiprocessor of NVIDIA's, and one works while the other waits.
 */
#ifndef INGOT_KERNELS_MATMUL_BLOCKS_FLOAT_H
#define INGOT_KERNELS_MATMUL_BLOCKS_FLOAT_H

constexpr constant uint FLOAT_DEPTH = 16, FLOAT_THREADS = 256, FLOAT_STRIDE = BLOCK + 4;

/* Two vectors of four of a panel; `deep`: along k, to be transposed on their way in. */
struct float_pieces {
    float4 piece[2];

    static uint2 place(uint number, bool deep) {
        return deep ? uint2(number % (FLOAT_DEPTH / 4) * 4, number / (FLOAT_DEPTH / 4))
                    : uint2(number % (BLOCK / 4) * 4, number / (BLOCK / 4));
    }

    void load(device const float *matrix, ulong stride, uint first, uint count, bool deep,
              uint me) {
#pragma unroll
        for (uint i = 0; i < 2; i++) {
            uint2 at = place(me + i * FLOAT_THREADS, deep);
            ulong offset = deep ? min(first + at.y, count - 1) * stride + at.x
                                : at.y * stride + min(first + at.x, count - 4);
            piece[i] = *(device const float4 *)(matrix + offset);
        }
    }

    void store(threadgroup float *panel, bool deep, uint me) thread const {
#pragma unroll
        for (uint i = 0; i < 2; i++) {
            uint2 at = place(me + i * FLOAT_THREADS, deep);
            if (!deep) {
                *(threadgroup float4 *)(panel + at.y * FLOAT_STRIDE + at.x) = piece[i];
                continue;
            }
#pragma unroll
            for (uint e = 0; e < 4; e++) {
                panel[(at.x + e) * FLOAT_STRIDE + at.y] = piece[i][e];
            }
        }
    }
};

[[max_total_threads_per_threadgroup(2 * FLOAT_THREADS)]]
kernel void
matmul_blocks_128_f32(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                      device const float *bias [[buffer(2)]], device float *out [[buffer(3)]],
                      device uchar *parts [[buffer(4)]], constant matmul_args &args [[buffer(5)]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint me [[thread_index_in_threadgroup]]) {
    threadgroup float4 memory[2 * FLOAT_DEPTH * FLOAT_STRIDE / 4];
    threadgroup float *a_panel = (threadgroup float *)memory;
    threadgroup float *b_panel = a_panel + FLOAT_DEPTH * FLOAT_STRIDE;
    const uint matrix = group.z % args.batch, part = group.z / args.batch;
    const uint row0 = group.y * BLOCK, column0 = group.x * BLOCK;
    const uint first = part * args.part_depth, end = min(args.k, first + args.part_depth);
    const uint x = me % 16, y = me / 16;
    a += matrix * args.a_batch + (block_a_transposed ? first * args.a_stride : first);
    b += matrix * args.b_batch + (block_b_transposed ? first : first * args.b_stride);
    const ulong a_step = block_a_transposed ? FLOAT_DEPTH * args.a_stride : FLOAT_DEPTH;
    const ulong b_step = block_b_transposed ? FLOAT_DEPTH : FLOAT_DEPTH * args.b_stride;

    float sum[8][8] = {};
    float_pieces a_next, b_next;
    a_next.load(a, args.a_stride, row0, args.m, !block_a_transposed, me);
    b_next.load(b, args.b_stride, column0, args.n, block_b_transposed, me);
    for (uint k = first; k < end; k += FLOAT_DEPTH) {
        a_next.store(a_panel, !block_a_transposed, me);
        b_next.store(b_panel, block_b_transposed, me);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (k + FLOAT_DEPTH < end) {
            a += a_step;
            b += b_step;
            a_next.load(a, args.a_stride, row0, args.m, !block_a_transposed, me);
            b_next.load(b, args.b_stride, column0, args.n, block_b_transposed, me);
        }
#pragma unroll
        for (uint l = 0; l < FLOAT_DEPTH; l++) {
            float4 left[2], right[2];
#pragma unroll
            for (uint h = 0; h < 2; h++) {
                left[h] = *(threadgroup float4 *)(a_panel + l * FLOAT_STRIDE + 64 * h + 4 * y);
                right[h] = *(threadgroup float4 *)(b_panel + l * FLOAT_STRIDE + 64 * h + 4 * x);
            }
#pragma unroll
            for (uint i = 0; i < 8; i++)
#pragma unroll
                for (uint j = 0; j < 8; j++) {
                    sum[i][j] = fma(left[i / 4][i % 4], right[j / 4][j % 4], sum[i][j]);
                }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    // sixteen rows at a time through threadgroup memory, then along them
    const ulong plane = ulong(part) * args.batch + matrix;
    threadgroup float *lines = (threadgroup float *)memory;
    out += matrix * args.out_batch;
#pragma unroll
    for (uint i = 0; i < 8; i++) {
#pragma unroll
        for (uint h = 0; h < 2; h++) {
            *(threadgroup float4 *)(lines + y * FLOAT_STRIDE + 64 * h + 4 * x) =
                float4(sum[i][4 * h], sum[i][4 * h + 1], sum[i][4 * h + 2], sum[i][4 * h + 3]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint e = me; e < 16 * BLOCK; e += FLOAT_THREADS) {
            uint row = row0 + i / 4 * 64 + e / BLOCK * 4 + i % 4, column = column0 + e % BLOCK;
            if (row < args.m && column < args.n) {
                put(lines[e / BLOCK * FLOAT_STRIDE + e % BLOCK], plane, row, column, bias, out,
                    parts, args);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

#endif
