// The blocked form of few large matrices on GPUs, in panels of 32 columns: one threadgroup factors
// a panel, a kernel over all other columns exchanges their rows and makes the rows of u, and a
// product (triangular/product.h) updates the rest.
//
// In a panel a thread owns ROWS rows, WIDTH columns at a time in registers. Rows are not moved but
// know their place. Where there are more columns than that, columns that are done wait in `kept`.
#ifndef INGOT_KERNELS_LU_PRODUCTS_H
#define INGOT_KERNELS_LU_PRODUCTS_H

#include "triangular/row_tiles.h"

// The SIMD-groups' best rows, of two steps in turn, and the row that was chosen.
template <uint WIDTH> struct lu_candidates {
    int worths[2][16];
    uint places[2][16];
    float top[2][WIDTH];
};

constexpr constant uint NO_PLACE = 0xffffffffu; // of rows that are not there

template <uint ROWS, uint WIDTH> struct lu_rows_of {
    float x[ROWS][WIDTH];
    uint place[ROWS];
};

// The place of the row with the largest element of those from place j on; its elements come to
// `top`. Barriers for the threadgroup in between and after.
template <uint C, uint ROWS, uint WIDTH>
inline uint lu_choose(thread const lu_rows_of<ROWS, WIDTH> &own, uint j,
                      threadgroup lu_candidates<WIDTH> &shared, uint simd, uint simds, uint lane) {
    int size = NOTHING;
    uint mine = NO_PLACE;
#pragma unroll
    for (uint i = 0; i < ROWS; i++) {
        const uint place = own.place[i];
        const int other = place >= j && place != NO_PLACE ? worth(own.x[i][C]) : NOTHING;
        const bool better = other > size || (other == size && place < mine);
        mine = better ? place : mine;
        size = better ? other : size;
    }
    const int best = simd_max(size);
    const uint where = simd_min(size == best ? mine : NO_PLACE);
    if (lane == 0) {
        shared.worths[C % 2][simd] = best;
        shared.places[C % 2][simd] = where;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const int other = lane < simds ? shared.worths[C % 2][lane] : NOTHING;
    const uint there = lane < simds ? shared.places[C % 2][lane] : NO_PLACE;
    const uint p = simd_min(other == simd_max(other) ? there : NO_PLACE);
#pragma unroll
    for (uint i = 0; i < ROWS; i++) {
        if (own.place[i] == p) {
#pragma unroll
            for (uint k = C; k < WIDTH; k++) {
                shared.top[C % 2][k] = own.x[i][k];
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return p;
}

// Columns C and after of those in registers, of which `done` were before.
template <uint C, uint ROWS, uint WIDTH>
inline void lu_steps(thread lu_rows_of<ROWS, WIDTH> &own, thread uint &bad,
                     threadgroup lu_candidates<WIDTH> &shared, device int *pivots, uint first,
                     uint done, uint width, uint me, uint simd, uint simds, uint lane) {
    if (C >= width) {
        return;
    }
    const uint j = done + C;
    const uint p = lu_choose<C>(own, j, shared, simd, simds, lane);
    threadgroup const float *top = shared.top[C % 2];
    const float pivot = top[C];
    bad = bad == 0 && pivot == 0 ? first + j + 1 : bad;
    if (me == 0) {
        pivots[j] = int(first + p);
    }
    float factor[ROWS];
#pragma unroll
    for (uint i = 0; i < ROWS; i++) {
        const uint place = own.place[i];
        own.place[i] = place == p ? j : place == j ? p : place;
        const bool below = own.place[i] > j && pivot != 0;
        factor[i] = below ? own.x[i][C] / pivot : 0;
        own.x[i][C] = below ? factor[i] : own.x[i][C];
    }
#pragma unroll
    for (uint k = C + 1; k < WIDTH; k++) {
        const float u = top[k];
#pragma unroll
        for (uint i = 0; i < ROWS; i++) {
            own.x[i][k] = fma(-factor[i], u, own.x[i][k]);
        }
    }
    if constexpr (C + 1 < WIDTH) {
        lu_steps<C + 1>(own, bad, shared, pivots, first, done, width, me, simd, simds, lane);
    }
}

// `moves`: of each matrix 32 places that the first rows went to, then the 32 rows that came there.
template <uint ROWS, uint WIDTH>
[[max_total_threads_per_threadgroup(512)]]
kernel void
lu_columns(device float *lu_all [[buffer(0)]], device float *kept_all [[buffer(1)]],
           device int *pivots_all [[buffer(2)]], device int *info_all [[buffer(3)]],
           device uint *moves_all [[buffer(4)]], constant lu_columns_args &args [[buffer(5)]],
           uint matrix [[threadgroup_position_in_grid]], uint me [[thread_index_in_threadgroup]],
           uint threads [[threads_per_threadgroup]], uint simd [[simdgroup_index_in_threadgroup]],
           uint simds [[simdgroups_per_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup lu_candidates<WIDTH> shared;
    threadgroup float tiles[16][ROW_TILE_FLOATS];
    threadgroup float *tile = tiles[simd];
    const uint rows = args.rows - args.first, stride = args.stride;
    device float *lu = lu_all + matrix * args.matrix + ulong(args.first) * stride + args.first;
    device float *kept = kept_all + matrix * (ulong(args.rows) * LU_PANEL);
    device int *pivots = pivots_all + ulong(matrix) * args.steps + args.first;
    device uint *moves = moves_all + matrix * (2 * LU_PANEL);
    lu_rows_of<ROWS, WIDTH> own;
#pragma unroll
    for (uint i = 0; i < ROWS; i++) {
        const uint row = me + i * threads;
        own.place[i] = row < rows ? row : NO_PLACE;
    }
    uint bad = args.first == 0 ? 0 : uint(info_all[matrix]);
    for (uint done = 0; done < args.width; done += WIDTH) {
        const uint width = min(args.width - done, WIDTH);
#pragma unroll
        for (uint i = 0; i < ROWS; i++) {
            const uint top = simd * 32 + i * threads;
#pragma unroll
            for (uint e = 0; e < WIDTH; e++) {
                const uint2 at = row_tile_place(e, lane);
                own.x[i][e] = top + at.x < rows && at.y < width
                                  ? lu[ulong(top + at.x) * stride + done + at.y]
                                  : 0;
            }
            tile_to_rows<WIDTH>(own.x[i], tile, lane);
        }
        // What the columns before do to these.
        for (uint j = 0; j < done; j++) {
            float factor[ROWS];
#pragma unroll
            for (uint i = 0; i < ROWS; i++) {
                const uint row = me + i * threads;
                factor[i] = row < rows && own.place[i] > j ? kept[j * ulong(args.rows) + row] : 0;
                if (own.place[i] == j) {
#pragma unroll
                    for (uint k = 0; k < WIDTH; k++) {
                        shared.top[j % 2][k] = own.x[i][k];
                    }
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
            for (uint k = 0; k < WIDTH; k++) {
                const float top = shared.top[j % 2][k];
#pragma unroll
                for (uint i = 0; i < ROWS; i++) {
                    own.x[i][k] = fma(-factor[i], top, own.x[i][k]);
                }
            }
        }
        lu_steps<0>(own, bad, shared, pivots, args.first, done, width, me, simd, simds, lane);
        if (done + WIDTH < args.width) {
#pragma unroll
            for (uint i = 0; i < ROWS; i++)
#pragma unroll
                for (uint k = 0; k < WIDTH; k++) {
                    const uint row = me + i * threads;
                    if (row < rows) {
                        kept[(done + k) * ulong(args.rows) + row] = own.x[i][k];
                    }
                }
        }
    }
    // All have read their rows: these go to their places.
    threadgroup_barrier(mem_flags::mem_device);
    const uint last = (args.width - 1) / WIDTH * WIDTH;
#pragma unroll
    for (uint i = 0; i < ROWS; i++) {
        const uint row = me + i * threads;
        if (row < rows) {
            device float *to = lu + ulong(own.place[i]) * stride;
            for (uint k = 0; k < last; k++) {
                to[k] = kept[k * ulong(args.rows) + row];
            }
#pragma unroll
            for (uint k = 0; k < WIDTH; k++) {
                if (last + k < args.width) {
                    to[last + k] = own.x[i][k];
                }
            }
            if (row < LU_PANEL) {
                moves[row] = own.place[i];
            }
            if (own.place[i] < LU_PANEL) {
                moves[LU_PANEL + own.place[i]] = row;
            }
        }
    }
    if (me == 0) {
        info_all[matrix] = int(bad);
    }
}
INSTANTIATE_KERNEL("lu_columns_2", lu_columns<2, 32>)
INSTANTIATE_KERNEL("lu_columns_4", lu_columns<4, 16>)
INSTANTIATE_KERNEL("lu_columns_8", lu_columns<8, 8>)

// Exchanges the rows of all columns but the panel's, a lane each, and makes their rows of u if they
// are right of it.
[[max_total_threads_per_threadgroup(LU_EXCHANGE_THREADS)]]
kernel void
lu_exchange(device float *lu_all [[buffer(0)]], device const uint *moves_all [[buffer(1)]],
            constant lu_columns_args &args [[buffer(2)]],
            uint2 group [[threadgroup_position_in_grid]], uint me [[thread_index_in_threadgroup]]) {
    constexpr uint threads = LU_EXCHANGE_THREADS;
    threadgroup float triangle[LU_PANEL][LU_PANEL];
    threadgroup uint to[LU_PANEL], from[LU_PANEL];
    const uint stride = args.stride, rows = min(args.rows - args.first, uint(LU_PANEL));
    device float *lu = lu_all + group.x * args.matrix + ulong(args.first) * stride;
    device const uint *moves = moves_all + group.x * (2 * LU_PANEL);
#pragma unroll
    for (uint e = 0; e < LU_PANEL * LU_PANEL / threads; e++) { // by columns
        const uint i = e * threads + me;
        const uint row = i / LU_PANEL, column = i % LU_PANEL;
        triangle[column][row] = row > column && row < rows && column < args.width
                                    ? lu[ulong(row) * stride + args.first + column]
                                    : 0;
    }
    for (uint i = me; i < LU_PANEL; i += threads) {
        to[i] = i < rows ? moves[i] : 0;
        from[i] = i < rows ? moves[LU_PANEL + i] : 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint other = group.y * threads + me,
               column = other < args.first ? other : other + args.width;
    if (column >= args.columns) {
        return;
    }
    lu += column;
    float after[LU_PANEL], before[LU_PANEL];
#pragma unroll
    for (uint j = 0; j < LU_PANEL; j++) {
        after[j] = j < rows ? lu[ulong(from[j]) * stride] : 0;
        before[j] = j < rows ? lu[ulong(j) * stride] : 0;
    }
#pragma unroll
    for (uint j = 0; j < LU_PANEL; j++) {
        if (j < rows && to[j] >= LU_PANEL) {
            lu[ulong(to[j]) * stride] = before[j];
        }
    }
    if (other >= args.first) {
#pragma unroll
        for (uint k = 0; k < LU_PANEL; k++) {
            threadgroup const float4 *below = (threadgroup const float4 *)triangle[k];
#pragma unroll
            for (uint r = k / 4; r < LU_PANEL / 4; r++) {
                const float4 four = below[r];
#pragma unroll
                for (uint i = 0; i < 4; i++) {
                    if (4 * r + i > k) {
                        after[4 * r + i] = fma(-four[i], after[k], after[4 * r + i]);
                    }
                }
            }
        }
    }
#pragma unroll
    for (uint j = 0; j < LU_PANEL; j++) {
        if (j < rows) {
            lu[ulong(j) * stride] = after[j];
        }
    }
}

#endif
