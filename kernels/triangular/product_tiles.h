// Products of float32 matrices with any strides, c = alpha a b or c += alpha a b, a tile of c per
// threadgroup of 256 threads, 16 by 16 of them with PER by PER elements each. The order of each sum
// is that of k.
#ifndef INGOT_KERNELS_TRIANGULAR_PRODUCT_TILES_H
#define INGOT_KERNELS_TRIANGULAR_PRODUCT_TILES_H

#include "triangular/triangular_args.h"

constexpr constant uint PRODUCT_DEPTH = 8;

// Two panels of each operand, [depth][line].
template <uint PER> struct product_shared {
    float left[2][PRODUCT_DEPTH][16 * PER + 4], right[2][PRODUCT_DEPTH][16 * PER + 4];
};

// What a thread copies of an operand whose lines are rows of a or columns of b.
template <uint PER> struct product_copy {
    static constexpr constant uint TILE = 16 * PER, COUNT = TILE * PRODUCT_DEPTH / PRODUCT_THREADS;
    device const float *from;
    long step, next;    // to the thread's next element of a panel, and of the next panel
    uint line, depth;   // of the first element
    uint lines, depths; // how many there are
    bool deep;          // neighbours along k are neighbours in memory

    void begin(device const float *matrix, long by_line, long by_depth, uint first_line,
               uint line_count, uint first, uint end, uint me) thread {
        deep = by_depth == 1;
        line = deep ? me / PRODUCT_DEPTH : me % TILE;
        depth = deep ? me % PRODUCT_DEPTH : me / TILE;
        lines = line_count - first_line;
        depths = end - first;
        step = deep ? by_line * (PRODUCT_THREADS / PRODUCT_DEPTH)
                    : by_depth * (PRODUCT_THREADS / TILE);
        next = by_depth * PRODUCT_DEPTH;
        from = matrix + long(first_line + line) * by_line + long(first + depth) * by_depth;
    }
    uint line_of(uint i) thread const {
        return line + (deep ? i * (PRODUCT_THREADS / PRODUCT_DEPTH) : 0);
    }
    uint depth_of(uint i) thread const {
        return depth + (deep ? 0 : i * (PRODUCT_THREADS / TILE));
    }
    void load(thread float *values, uint k) thread {
#pragma unroll
        for (uint i = 0; i < COUNT; i++) {
            values[i] = line_of(i) < lines && k + depth_of(i) < depths ? from[i * step] : 0;
        }
        from += next;
    }
    void store(threadgroup float (*panel)[TILE + 4], thread const float *values) thread const {
#pragma unroll
        for (uint i = 0; i < COUNT; i++) {
            panel[depth_of(i)][line_of(i)] = values[i];
        }
    }
};

// Fragments: elements 4 * x .. 4 * x + 3 of each 64.
template <uint PER>
inline void product_fragment(threadgroup const float *line, uint x, thread float *values) {
#pragma unroll
    for (uint h = 0; h < PER / 4; h++) {
        const float4 four = *(threadgroup const float4 *)(line + h * 64 + 4 * x);
#pragma unroll
        for (uint i = 0; i < 4; i++) {
            values[h * 4 + i] = four[i];
        }
    }
}

// One row of a thread's elements: to or from memory.
template <uint PER>
inline void product_load(device const float *row, thread float *values, uint columns, uint x,
                         uint fours) {
#pragma unroll
    for (uint h = 0; h < PER / 4; h++) {
        const uint first = h * 64 + 4 * x;
        if (fours && first + 4 <= columns) {
            const float4 four = *(device const float4 *)(row + first);
#pragma unroll
            for (uint i = 0; i < 4; i++) {
                values[h * 4 + i] = four[i];
            }
            continue;
        }
#pragma unroll
        for (uint i = 0; i < 4; i++) {
            values[h * 4 + i] = first + i < columns ? row[first + i] : 0;
        }
    }
}

template <uint PER>
inline void product_store(device float *row, thread const float *values, uint columns, uint x,
                          uint fours) {
#pragma unroll
    for (uint h = 0; h < PER / 4; h++) {
        const uint first = h * 64 + 4 * x;
        if (fours && first + 4 <= columns) {
            *(device float4 *)(row + first) =
                float4(values[h * 4], values[h * 4 + 1], values[h * 4 + 2], values[h * 4 + 3]);
            continue;
        }
#pragma unroll
        for (uint i = 0; i < 4; i++) {
            if (first + i < columns) {
                row[first + i] = values[h * 4 + i];
            }
        }
    }
}

// The tile whose first element is (row, column), of one matrix and part of k.
template <uint PER>
inline void product_tile(device const float *a, device const float *b, device float *c,
                         product_args args, threadgroup product_shared<PER> &shared, uint row,
                         uint column, uint first, uint me) {
    const uint end = min(first + args.depth, args.k);
    product_copy<PER> a_copy, b_copy;
    a_copy.begin(a, args.a_row, args.a_column, row, args.m, first, end, me);
    b_copy.begin(b, args.b_column, args.b_row, column, args.n, first, end, me);
    float sums[PER][PER], left[product_copy<PER>::COUNT], right[product_copy<PER>::COUNT];
#pragma unroll
    for (uint i = 0; i < PER; i++)
#pragma unroll
        for (uint j = 0; j < PER; j++) {
            sums[i][j] = 0;
        }
    const uint x = me % 16, y = me / 16;
    a_copy.load(left, 0);
    b_copy.load(right, 0);
    // Small tiles are for small k, where c is what takes the time: it is on its way from the start.
    constexpr bool EARLY = PER == PRODUCT_PER;
    device float *to = c + row * args.c_row + column;
    float before[EARLY ? PER : 1][PER];
    if (EARLY && args.add) {
#pragma unroll
        for (uint i = 0; i < PER; i++) {
            const uint r = 4 * y + i;
            product_load<PER>(to + r * args.c_row, before[EARLY ? i : 0],
                              row + r < args.m ? args.n - column : 0, x, args.fours);
        }
    }
    const uint depths = end - first;
    uint turn = 0;
    for (uint k = 0; k < depths; k += PRODUCT_DEPTH, turn ^= 1) {
        a_copy.store(shared.left[turn], left);
        b_copy.store(shared.right[turn], right);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (k + PRODUCT_DEPTH < depths) {
            a_copy.load(left, k + PRODUCT_DEPTH);
            b_copy.load(right, k + PRODUCT_DEPTH);
        }
#pragma unroll
        for (uint d = 0; d < PRODUCT_DEPTH; d++) {
            float u[PER], v[PER];
            product_fragment<PER>(shared.left[turn][d], y, u);
            product_fragment<PER>(shared.right[turn][d], x, v);
#pragma unroll
            for (uint i = 0; i < PER; i++)
#pragma unroll
                for (uint j = 0; j < PER; j++) {
                    sums[i][j] = fma(u[i], v[j], sums[i][j]);
                }
        }
    }
    if (!args.add) {
        threadgroup_barrier(mem_flags::mem_device); // c may be b
    }
#pragma unroll
    for (uint i = 0; i < PER; i++) {
        const uint r = i / 4 * 64 + 4 * y + i % 4;
        if (row + r >= args.m) {
            continue;
        }
        float values[PER];
        if (!EARLY && args.add) {
            product_load<PER>(to + r * args.c_row, values, args.n - column, x, args.fours);
        }
#pragma unroll
        for (uint j = 0; j < PER; j++) {
            const float old = !args.add ? 0 : EARLY ? before[EARLY ? i : 0][j] : values[j];
            values[j] = fma(args.alpha, sums[i][j], old);
        }
        product_store<PER>(to + r * args.c_row, values, args.n - column, x, args.fours);
    }
}

// Is there something to do in the tile?
template <uint PER> inline bool product_has(product_args args, uint row, uint column) {
    const bool below = row >= column + 16 * PER, above = column >= row + 16 * PER;
    return row < args.m && column < args.n && !(args.part == PRODUCT_UPPER && below) &&
           !(args.part == PRODUCT_LOWER && above);
}

// A threadgroup's part of a grid of [batch * parts, columns of tiles, rows of tiles].
template <uint PER>
inline void product_group(device const float *a, device const float *b, device float *c,
                          constant product_args &args, threadgroup product_shared<PER> &shared,
                          uint3 group, uint me) {
    const uint column = group.y * 16 * PER, row = group.z * 16 * PER;
    if (!product_has<PER>(args, row, column)) {
        return;
    }
    const long matrix = group.x % args.batch;
    const uint part = group.x / args.batch;
    product_tile<PER>(a + args.a_first + matrix * args.a_matrix,
                      b + args.b_first + matrix * args.b_matrix,
                      c + args.c_first + matrix * args.c_matrix + part * args.c_part, args, shared,
                      row, column, part * args.depth, me);
}

#endif
