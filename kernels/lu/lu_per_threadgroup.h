// The blocked form in one launch, for GPUs: one matrix per threadgroup, in panels of 16 columns.
// While a panel is factored each thread owns a row of it, in registers, and rows are not moved but
// know their place. Columns of right-hand sides go through the factorisation like the matrix's.
#ifndef INGOT_KERNELS_LU_PER_THREADGROUP_H
#define INGOT_KERNELS_LU_PER_THREADGROUP_H

constexpr constant uint WHOLE_PANEL = LU_WHOLE_PANEL;

struct whole_shared {
    int worths[16]; // of the SIMD-groups' best rows
    uint places[16];
    float top[WHOLE_PANEL]; // the pivot's row
    uint to[WHOLE_PANEL];   // the place that the first rows went to
    uint from[WHOLE_PANEL]; // the rows that came to their places
};

// Factors the panel at row and column `first` of lu and leaves it in `panel`, too, rows in their
// places. Returns the first column without a pivot, counted from 1, or `bad` when there was one
// before.
inline uint whole_factor(device float *lu, uint stride, device int *pivots,
                         threadgroup float *panel, threadgroup whole_shared &shared, uint first,
                         uint rows, uint width, uint bad, uint simd, uint simds, uint lane) {
    const uint thread_row = simd * 32 + lane;
    const bool active = thread_row < rows;
    uint place = active ? thread_row : 0xffffffffu;
    float row[WHOLE_PANEL];
#pragma unroll
    for (uint k = 0; k < WHOLE_PANEL; k++) {
        row[k] = active && k < width ? lu[thread_row * stride + k] : 0;
    }
    threadgroup_barrier(mem_flags::mem_device); // rows go to the places of others
#pragma unroll
    for (uint j = 0; j < WHOLE_PANEL; j++) {
        if (j < width) {
            const int size = active && place >= j ? worth(row[j]) : NOTHING;
            const int best = simd_max(size);
            const uint where = simd_min(size == best ? place : 0xffffffffu);
            if (lane == 0) {
                shared.worths[simd] = best;
                shared.places[simd] = where;
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            const int other = lane < simds ? shared.worths[lane] : NOTHING;
            const uint p = simd_min(other == simd_max(other) && lane < simds ? shared.places[lane]
                                                                             : 0xffffffffu);
            const bool chosen = active && place == p;
            if (chosen) {
#pragma unroll
                for (uint k = 0; k < WHOLE_PANEL; k++) {
                    shared.top[k] = row[k];
                }
            }
            place = chosen ? j : place == j ? p : place;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            const float pivot = shared.top[j];
            bad = bad == 0 && pivot == 0 ? first + j + 1 : bad;
            if (thread_row == 0) {
                pivots[j] = int(first + p);
            }
            const bool below = active && place > j && pivot != 0;
            const float factor = below ? row[j] / pivot : 0;
            row[j] = below ? factor : row[j];
#pragma unroll
            for (uint k = j + 1; k < WHOLE_PANEL; k++) {
                row[k] = fma(-factor, shared.top[k], row[k]);
            }
        }
    }
    if (active) {
#pragma unroll
        for (uint k = 0; k < WHOLE_PANEL; k++) {
            panel[place * WHOLE_PANEL + k] = row[k];
            if (k < width) {
                lu[place * stride + k] = row[k];
            }
        }
        if (thread_row < WHOLE_PANEL) {
            shared.to[thread_row] = place;
        }
        if (place < WHOLE_PANEL) {
            shared.from[place] = thread_row;
        }
    }
    return bad;
}

// One column per lane: its rows exchanged as the panel's, and solved for the rows of u (right).
inline void whole_exchange(device float *column, uint stride, threadgroup const float *panel,
                           threadgroup const whole_shared &shared, uint rows, bool inside,
                           bool right) {
    float after[WHOLE_PANEL];
#pragma unroll
    for (uint j = 0; j < WHOLE_PANEL; j++) {
        after[j] = inside && j < rows ? column[shared.from[j] * stride] : 0;
    }
#pragma unroll
    for (uint first = 0; first < WHOLE_PANEL; first += 4) { // the rows that gave their places up
        float before[4];
#pragma unroll
        for (uint j = 0; j < 4; j++) {
            before[j] = inside && first + j < rows ? column[(first + j) * stride] : 0;
        }
#pragma unroll
        for (uint j = 0; j < 4; j++) {
            if (inside && first + j < rows && shared.to[first + j] >= WHOLE_PANEL) {
                column[shared.to[first + j] * stride] = before[j];
            }
        }
    }
#pragma unroll
    for (uint j = 0; j < WHOLE_PANEL; j++) {
#pragma unroll
        for (uint k = 0; k < j; k++) {
            after[j] =
                right && j < rows ? fma(-panel[j * WHOLE_PANEL + k], after[k], after[j]) : after[j];
        }
        if (inside && j < rows) {
            column[j * stride] = after[j];
        }
    }
}

// 32 rows from `begin` on of one column per lane, less the product of the panel with the rows of u.
inline void whole_update(device float *column, uint stride, threadgroup const float *panel,
                         uint begin, uint rows, bool inside) {
    float above[WHOLE_PANEL];
#pragma unroll
    for (uint p = 0; p < WHOLE_PANEL; p++) {
        above[p] = inside ? column[p * stride] : 0;
    }
    const uint end = min(begin + 32, rows);
    for (uint i = begin; i < end; i += 8) {
        float rest[8];
#pragma unroll
        for (uint r = 0; r < 8; r++) {
            rest[r] = inside && i + r < end ? column[(i + r) * stride] : 0;
        }
#pragma unroll
        for (uint r = 0; r < 8; r++) {
            threadgroup const float4 *left =
                (threadgroup const float4 *)(panel + min(i + r, rows - 1) * WHOLE_PANEL);
#pragma unroll
            for (uint p = 0; p < WHOLE_PANEL / 4; p++) {
                const float4 four = left[p];
                rest[r] = fma(-four.x, above[4 * p], rest[r]);
                rest[r] = fma(-four.y, above[4 * p + 1], rest[r]);
                rest[r] = fma(-four.z, above[4 * p + 2], rest[r]);
                rest[r] = fma(-four.w, above[4 * p + 3], rest[r]);
            }
        }
#pragma unroll
        for (uint r = 0; r < 8; r++) {
            if (inside && i + r < end) {
                column[(i + r) * stride] = rest[r];
            }
        }
    }
}

// Threadgroup memory: the panel, WHOLE_PANEL floats for each row. At least as many threads as rows.
[[max_total_threads_per_threadgroup(512)]]
kernel void
lu_whole(device float *lu_all [[buffer(0)]], device float *x_all [[buffer(1)]],
         device int *pivots_all [[buffer(2)]], device int *info [[buffer(3)]],
         constant lu_whole_args &args [[buffer(4)]], threadgroup float *panel [[threadgroup(0)]],
         uint matrix [[threadgroup_position_in_grid]], uint simd [[simdgroup_index_in_threadgroup]],
         uint simds [[simdgroups_per_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup whole_shared shared;
    device float *lu = lu_all + ulong(matrix) * args.rows * args.columns;
    device float *x = x_all + ulong(matrix) * args.rows * args.sides;
    device int *pivots = pivots_all + ulong(matrix) * args.steps;
    const uint strips = (args.columns + 31) / 32, all = strips + (args.sides + 31) / 32;
    uint bad = 0;
    for (uint first = 0; first < args.steps; first += WHOLE_PANEL) {
        const uint rows = args.rows - first, width = min(WHOLE_PANEL, args.steps - first);
        const uint end = first + width;
        device float *lu_rows = lu + ulong(first) * args.columns,
                     *x_rows = x + ulong(first) * args.sides;
        threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
        bad = whole_factor(lu_rows + first, args.columns, pivots + first, panel, shared, first,
                           rows, width, bad, simd, simds, lane);
        threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
        for (uint strip = simd; strip < all; strip += simds) {
            const bool of_matrix = strip < strips;
            const uint column = (of_matrix ? strip : strip - strips) * 32 + lane;
            const bool inside = of_matrix
                                    ? column < args.columns && (column < first || column >= end)
                                    : column < args.sides;
            whole_exchange((of_matrix ? lu_rows : x_rows) + column,
                           of_matrix ? args.columns : args.sides, panel, shared,
                           min(rows, WHOLE_PANEL), inside, !of_matrix || column >= end);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
        if (rows <= WHOLE_PANEL || (end >= args.columns && args.sides == 0)) {
            continue;
        }
        const uint right = args.columns > end ? (args.columns - end + 31) / 32 : 0;
        const uint across = right + all - strips, tiles = across * ((rows - WHOLE_PANEL + 31) / 32);
        for (uint tile = simd; tile < tiles; tile += simds) {
            const uint strip = tile % across, begin = WHOLE_PANEL + tile / across * 32;
            const bool of_matrix = strip < right;
            const uint column = of_matrix ? end + strip * 32 + lane : (strip - right) * 32 + lane;
            whole_update((of_matrix ? lu_rows : x_rows) + column,
                         of_matrix ? args.columns : args.sides, panel, begin, rows,
                         column < (of_matrix ? args.columns : args.sides));
        }
    }
    if (simd == 0 && lane == 0) {
        info[matrix] = int(bad);
    }
}

// u x = y in place, a right-hand side per SIMD-group; 0 where the matrix was singular. Threadgroup
// memory: `rows` rounded up to 32 for each SIMD-group.
kernel void solve_back(device const float *lu_all [[buffer(0)]], device float *x_all [[buffer(1)]],
                       device const int *info [[buffer(2)]],
                       constant lu_whole_args &args [[buffer(3)]],
                       threadgroup float *memory [[threadgroup(0)]],
                       uint2 group [[threadgroup_position_in_grid]],
                       uint simd [[simdgroup_index_in_threadgroup]],
                       uint simds [[simdgroups_per_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]]) {
    const uint side = group.y * simds + simd, n = args.rows, blocks = (n + 31) / 32;
    if (side >= args.sides) {
        return;
    }
    device const float *lu = lu_all + ulong(group.x) * n * n;
    device float *x = x_all + ulong(group.x) * n * args.sides + side;
    threadgroup float *solved = memory + simd * blocks * 32;
    const bool singular = info[group.x] != 0;
    for (uint block = blocks; block-- > 0;) {
        const uint first = block * 32, i = first + lane, count = min(n - first, 32u);
        const bool inside = i < n;
        float rest = inside ? x[ulong(i) * args.sides] : 0, row[32], inverse = 0;
#pragma unroll
        for (uint k = 0; k < 32; k++) {
            row[k] = inside && k < count ? lu[ulong(i) * n + first + k] : 0;
            inverse = k == lane ? 1 / row[k] : inverse;
        }
        for (uint r = 0; r < 32 && first + 32 < n; r += 8) {
            float sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
            for (uint j = first + 32 + lane; j < n; j += 32) {
                const float value = solved[j];
#pragma unroll
                for (uint t = 0; t < 8; t++) {
                    sums[t] = fma(lu[ulong(first + r + t) * n + j], value, sums[t]);
                }
            }
#pragma unroll
            for (uint t = 0; t < 8; t++) {
                const float sum = simd_sum(sums[t]);
                rest -= lane == r + t ? sum : 0;
            }
        }
#pragma unroll
        for (uint s = 0; s < 32; s++) {
            const uint k = 31 - s;
            if (k < count) {
                const float value = simd_broadcast(rest * inverse, ushort(k));
                rest = lane < k ? fma(-row[k], value, rest) : lane == k ? value : rest;
            }
        }
        solved[i] = rest;
        simdgroup_barrier(mem_flags::mem_threadgroup);
        if (inside) {
            x[ulong(i) * args.sides] = singular ? 0 : rest;
        }
    }
}

#endif
