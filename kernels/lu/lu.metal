// LU factorisation with partial pivoting, and linear systems by it.
//
// The small kernels take one matrix per SIMD-group, in threadgroup memory with its columns dense. A lane
// owns a row (or two), so the search for a pivot is one reduction and the row of u is uniform. Rows are
// not moved: order[k] is the row that was chosen in step k. Lanes past the last row do what the last
// row's lane does; so nothing needs a mask. The other kernels are the steps of the blocked form.
#include <metal_stdlib>
using namespace metal;
#include "common/instantiate.h"
#include "lu/lu_args.h"

// How much a row that may be chosen is worth as a pivot: the bits of its size, which as integers are in
// the order of the sizes; a NaN less than any number. A row that may not be chosen is worth NOTHING.
constant int NOTHING = -2;
int worth(float x) {
    int bits = as_type<int>(abs(x));
    return bits <= 0x7f800000 ? bits : -1;
}

// The row of the lane with the largest worth, the lowest such lane.
uint pivot_row(int best, uint row) {
    const ulong largest = ulong(simd_vote::vote_t(simd_ballot(best == simd_max(best))));
    return simd_broadcast(row, ushort(ctz(uint(largest))));
}

constant uint NOT_CHOSEN = 0xffffffffu;

// work[j][row] = a[row][j], four columns of a lane's row at a time.
template <uint CHUNKS>
void small_load(device const float *a, threadgroup float *work, uint rows, uint columns, uint lane) {
    const ulong stride = CHUNKS * 32, n = columns;
    for (uint c = 0; c < CHUNKS; c++) {
        device const float *row = a + min(c * 32 + lane, rows - 1) * n;
        threadgroup float *mine = work + c * 32 + lane;
        ulong j = 0;
        for (; j + 4 <= n; j += 4) {
            float4 four = float4(*(device const packed_float4 *)(row + j));
            for (uint r = 0; r < 4; r++)
                mine[(j + r) * stride] = four[r];
        }
        for (; j < n; j++)
            mine[j * stride] = row[j];
    }
}

// Step k on its own column: chooses the pivot's row, which it returns, and leaves the multipliers in the
// column and in factors[], where chosen rows have 0.
template <uint CHUNKS>
uint eliminate(threadgroup float *column, uint k, uint rows, uint lane, thread uint *ranks,
               thread float *factors, thread uint &info) {
    float values[CHUNKS];
    int best = NOTHING;
    uint best_row = 0;
    for (uint c = 0; c < CHUNKS; c++) {
        values[c] = column[c * 32 + lane];
        int size = ranks[c] == NOT_CHOSEN ? worth(values[c]) : NOTHING;
        best_row = size > best ? min(c * 32 + lane, rows - 1) : best_row;
        best = size > best ? size : best;
    }
    const uint p = pivot_row(best, best_row);
    const float pivot = column[p];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    info = info == 0 && pivot == 0 ? k + 1 : info;
    for (uint c = 0; c < CHUNKS; c++) {
        ranks[c] = min(c * 32 + lane, rows - 1) == p ? k : ranks[c];
        const bool below = ranks[c] == NOT_CHOSEN && pivot != 0;
        factors[c] = below ? values[c] / pivot : 0;
        column[c * 32 + lane] = below ? factors[c] : values[c];
    }
    return p;
}

// Factors work, `columns` long, in `steps` steps, two at a time; columns past the steps are carried
// along. ranks[c] is the step in which the lane's row was chosen. Returns info.
template <uint CHUNKS>
uint small_factor(threadgroup float *work, threadgroup uint *order, uint rows, uint columns, uint steps,
                  uint lane, thread uint *ranks) {
    const ulong stride = CHUNKS * 32;
    uint info = 0;
    for (uint c = 0; c < CHUNKS; c++)
        ranks[c] = NOT_CHOSEN;
    for (uint k = 0; k < steps; k += 2) {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        threadgroup float *column = work + k * stride, *next = column + stride;
        float factors[CHUNKS], others[CHUNKS];
        const uint p = eliminate<CHUNKS>(column, k, rows, lane, ranks, factors, info);
        uint q = p, done = k + 1;
        float between = 0; // the multiplier of row q in step k
        for (uint c = 0; c < CHUNKS; c++)
            others[c] = 0;
        if (k + 1 < steps) {
            const float u = next[p];
            simdgroup_barrier(mem_flags::mem_threadgroup); // row p's lane stores it again
            for (uint c = 0; c < CHUNKS; c++)
                next[c * 32 + lane] = fma(-factors[c], u, next[c * 32 + lane]);
            simdgroup_barrier(mem_flags::mem_threadgroup);
            q = eliminate<CHUNKS>(next, k + 1, rows, lane, ranks, others, info);
            between = column[q];
            done = k + 2;
        }
        if (lane == 0) {
            order[k] = p;
            if (k + 1 < steps)
                order[k + 1] = q;
        }
        for (ulong j = done; j < columns; j++) {
            const float u = work[j * stride + p], v = fma(-between, u, work[j * stride + q]);
            threadgroup float *at = work + j * stride + lane;
            simdgroup_barrier(mem_flags::mem_threadgroup); // row q changes
            for (uint c = 0; c < CHUNKS; c++)
                at[c * 32] = fma(-others[c], v, fma(-factors[c], u, at[c * 32]));
        }
    }
    // What comes next may be stored where the matrix and the right-hand sides were.
    simdgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    return info;
}

// Turns the order of the rows into exchanges: place[row] is where the row ends up. One lane's work.
void exchanges(threadgroup const uint *order, threadgroup uint *place, threadgroup uint *rows_at,
               device int *pivots, uint rows, uint steps) {
    for (uint i = 0; i < rows; i++)
        place[i] = rows_at[i] = i;
    for (uint k = 0; k < steps; k++) {
        const uint row = order[k], at = place[row], other = rows_at[k];
        pivots[k] = int(at);
        rows_at[at] = other;
        place[other] = at;
        rows_at[k] = row;
        place[row] = k;
    }
}

template <uint CHUNKS>
kernel void lu_small(device const float *a [[buffer(0)]],
                     device float *lu [[buffer(1)]],
                     device int *pivots [[buffer(2)]],
                     device int *info [[buffer(3)]],
                     constant lu_small_args &args [[buffer(4)]],
                     threadgroup float *memory [[threadgroup(0)]],
                     uint2 group [[threadgroup_position_in_grid]],
                     uint2 groups [[threadgroups_per_grid]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]],
                     uint simdgroups [[simdgroups_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]]) {
    const ulong matrix = (ulong(group.y) * groups.x + group.x) * simdgroups + simdgroup;
    if (matrix >= args.batch)
        return;
    const uint rows = args.rows, steps = min(rows, args.columns);
    const ulong stride = CHUNKS * 32, n = args.columns;
    threadgroup float *work = memory + simdgroup * (args.columns * CHUNKS * 32 + 192);
    threadgroup uint *order = (threadgroup uint *)(work + args.columns * CHUNKS * 32);
    threadgroup uint *place = order + 64, *rows_at = place + 64;
    uint ranks[CHUNKS];
    small_load<CHUNKS>(a + matrix * rows * n, work, rows, args.columns, lane);
    const uint bad = small_factor<CHUNKS>(work, order, rows, args.columns, steps, lane, ranks);
    if (lane == 0) {
        info[matrix] = int(bad);
        exchanges(order, place, rows_at, pivots + matrix * steps, rows, steps);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint c = 0; c < CHUNKS; c++) {
        device float *out = lu + (matrix * rows + place[min(c * 32 + lane, rows - 1)]) * n;
        threadgroup const float *mine = work + c * 32 + lane;
        ulong j = 0;
        for (; j + 4 <= n; j += 4, mine += 4 * stride)
            *(device packed_float4 *)(out + j) =
                packed_float4(mine[0], mine[stride], mine[2 * stride], mine[3 * stride]);
        for (; j < n; j++, mine += stride)
            out[j] = mine[0];
    }
}
INSTANTIATE_KERNEL("lu_small_1", lu_small<1>)
INSTANTIATE_KERNEL("lu_small_2", lu_small<2>)

// ---- small systems ----------------------------------------------------------------------------------

// Few right-hand sides were columns of work behind the matrix. u x = y by columns: a lane owns a row.
template <uint CHUNKS>
void solve_few(threadgroup const float *work, threadgroup const uint *order, device float *x, uint n,
               uint sides, uint lane, thread const uint *ranks, bool singular) {
    const ulong stride = CHUNKS * 32;
    for (uint side = 0; side < sides; side++) {
        float y[CHUNKS], solution[CHUNKS];
        for (uint c = 0; c < CHUNKS; c++) {
            y[c] = work[(n + side) * stride + c * 32 + lane];
            solution[c] = 0;
        }
        for (uint k = singular ? 0 : n; k-- > 0;) {
            const uint p = order[k];
            const float top = simd_broadcast(CHUNKS > 1 && p >= 32 ? y[CHUNKS - 1] : y[0], ushort(p % 32));
            const float value = top / work[k * stride + p];
            for (uint c = 0; c < CHUNKS; c++) {
                float factor = ranks[c] < k ? work[k * stride + c * 32 + lane] : 0;
                y[c] = fma(-factor, value, y[c]);
                solution[c] = c * 32 + lane == k ? value : solution[c];
            }
        }
        for (uint c = 0; c < CHUNKS; c++)
            if (c * 32 + lane < n)
                (x + (c * 32 + lane) * ulong(sides))[side] = solution[c];
    }
}

// Many right-hand sides: a lane owns one, 32 at a time in `y`; forward, then back, four rows at a time.
template <uint CHUNKS>
void solve_many(threadgroup const float *work, threadgroup const uint *order, threadgroup float *y,
                device const float *b, device float *x, uint n, uint sides, uint lane, bool singular) {
    const ulong stride = CHUNKS * 32;
    const uint blocks = singular ? 0 : (n + 3) / 4;
    for (ulong start = 0; start < sides; start += 32) {
        const bool inside = start + lane < sides;
        for (uint block = 0; block < blocks; block++) {
            const uint k = block * 4;
            uint rows[4];
            float rest[4];
            for (uint r = 0; r < 4; r++) {
                rows[r] = order[min(k + r, n - 1)];
                rest[r] = inside ? (b + start + lane)[rows[r] * ulong(sides)] : 0;
            }
            for (uint p = 0; p < k; p++) {
                const float solved = y[p * 32 + lane];
                for (uint r = 0; r < 4; r++)
                    rest[r] = fma(-work[p * stride + rows[r]], solved, rest[r]);
            }
            for (uint r = 0; r < 4; r++)
                if (k + r < n) {
                    for (uint q = r + 1; q < 4; q++)
                        rest[q] = fma(-work[(k + r) * stride + rows[q]], rest[r], rest[q]);
                    y[(k + r) * 32 + lane] = rest[r];
                }
        }
        for (uint block = blocks; block-- > 0;) {
            const uint k = block * 4, end = min(k + 4, n);
            uint rows[4];
            float rest[4];
            for (uint r = 0; r < 4; r++) {
                rows[r] = order[min(k + r, n - 1)];
                rest[r] = y[min(k + r, n - 1) * 32 + lane];
            }
            for (uint p = end; p < n; p++) {
                const float solved = y[p * 32 + lane];
                for (uint r = 0; r < 4; r++)
                    rest[r] = fma(-work[p * stride + rows[r]], solved, rest[r]);
            }
            for (uint s = 0; s < 4; s++) {
                const uint r = 3 - s;
                if (k + r < n) {
                    rest[r] /= work[(k + r) * stride + rows[r]];
                    for (uint q = 0; q < r; q++)
                        rest[q] = fma(-work[(k + r) * stride + rows[q]], rest[r], rest[q]);
                    y[(k + r) * 32 + lane] = rest[r];
                }
            }
        }
        if (inside)
            for (ulong i = 0; i < n; i++)
                (x + start + lane)[i * sides] = singular ? 0 : y[i * 32 + lane];
    }
}

template <uint CHUNKS>
kernel void solve_small(device const float *a [[buffer(0)]],
                        device const float *b_all [[buffer(1)]],
                        device float *x_all [[buffer(2)]],
                        device int *info [[buffer(3)]],
                        constant lu_small_args &args [[buffer(4)]],
                        threadgroup float *memory [[threadgroup(0)]],
                        uint2 group [[threadgroup_position_in_grid]],
                        uint2 groups [[threadgroups_per_grid]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]],
                        uint simdgroups [[simdgroups_per_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]]) {
    const ulong matrix = (ulong(group.y) * groups.x + group.x) * simdgroups + simdgroup;
    if (matrix >= args.batch)
        return;
    const uint n = args.rows, sides = args.right_sides;
    const uint carried = sides <= LU_FEW_SIDES ? sides : 0;
    threadgroup float *work = memory + simdgroup * args.group_floats;
    threadgroup uint *order = (threadgroup uint *)(work + (n + LU_FEW_SIDES) * CHUNKS * 32);
    threadgroup float *y = (threadgroup float *)(order + 64);
    device const float *b = b_all + matrix * n * sides;
    device float *x = x_all + matrix * n * sides;
    uint ranks[CHUNKS];
    small_load<CHUNKS>(a + matrix * n * n, work, n, n, lane);
    for (uint side = 0; side < carried; side++)
        for (uint c = 0; c < CHUNKS; c++)
            work[(n + side) * CHUNKS * 32 + c * 32 + lane] =
                b[min(c * 32 + lane, n - 1) * ulong(sides) + side];
    const uint bad = small_factor<CHUNKS>(work, order, n, n + carried, n, lane, ranks);
    if (lane == 0)
        info[matrix] = int(bad);
    if (sides <= LU_FEW_SIDES)
        solve_few<CHUNKS>(work, order, x, n, sides, lane, ranks, bad != 0);
    else
        solve_many<CHUNKS>(work, order, y, b, x, n, sides, lane, bad != 0);
}
INSTANTIATE_KERNEL("solve_small_1", solve_small<1>)
INSTANTIATE_KERNEL("solve_small_2", solve_small<2>)

// ---- one matrix per lane ------------------------------------------------------------------------------

// Elimination with partial pivoting in w [rows][width], of very small matrices; rows are exchanged by
// selection. Four elements behind w are read, without effect. FACTORS: they stay in w, and pivots are
// noted. Returns the number of the first pivot that is 0, or 0.
template <bool FACTORS>
int tiny_eliminate(thread float *w, thread float *top, uint rows, uint width, uint steps,
                   device int *pivots) {
    int bad = 0;
    for (uint k = 0; k < steps; k++) {
        int best = worth(w[k * width + k]);
        uint p = k;
        for (uint i = k + 1; i < rows; i++) {
            const int size = worth(w[i * width + k]);
            p = size > best ? i : p;
            best = max(size, best);
        }
        for (uint j = FACTORS ? 0 : k; j < width; j += 4) {
            float values[4];
            for (uint r = 0; r < 4; r++)
                values[r] = w[k * width + j + r];
            for (uint i = k + 1; i < rows; i++) {
                const bool chosen = p == i;
                for (uint r = 0; r < 4; r++)
                    values[r] = select(values[r], w[i * width + j + r], chosen);
            }
            for (uint r = 0; r < 4; r++)
                top[j + r] = values[r];
        }
        const float pivot = top[k];
        bad = bad == 0 && pivot == 0 ? int(k) + 1 : bad;
        for (uint i = k + 1; i < rows; i++) {
            const bool chosen = p == i;
            const float x = select(w[i * width + k], w[k * width + k], chosen);
            const float l = select(x / pivot, 0.0f, pivot == 0);
            for (uint j = k + 1; j < width; j++) {
                const float y = select(w[i * width + j], w[k * width + j], chosen);
                w[i * width + j] = fma(-l, top[j], y);
            }
            if (FACTORS) {
                for (uint j = 0; j < k; j++)
                    w[i * width + j] = select(w[i * width + j], w[k * width + j], chosen);
                w[i * width + k] = l;
            }
        }
        for (uint j = FACTORS ? 0 : k; j < width; j++)
            w[k * width + j] = top[j];
        if (FACTORS)
            pivots[k] = int(p);
    }
    return bad;
}

// Lanes past the batch do the last matrix once more, so that nothing needs a mask.
kernel void lu_tiny(device const float *a_all [[buffer(0)]],
                    device float *lu_all [[buffer(1)]],
                    device int *pivots [[buffer(2)]],
                    device int *info [[buffer(3)]],
                    constant lu_small_args &args [[buffer(4)]],
                    uint2 group [[threadgroup_position_in_grid]],
                    uint2 groups [[threadgroups_per_grid]],
                    uint lane [[thread_index_in_simdgroup]]) {
    const ulong start = (ulong(group.y) * groups.x + group.x) * 32;
    if (start >= args.batch)
        return;
    const ulong matrix = min(start + lane, ulong(args.batch) - 1);
    const uint count = args.rows * args.columns, steps = min(args.rows, args.columns);
    device const float *a = a_all + matrix * count;
    device float *lu = lu_all + matrix * count;
    float w[LU_TINY * LU_TINY + 4], top[LU_TINY + 4];
    uint i = 0;
    for (; i + 4 <= count; i += 4) {
        const float4 four = float4(*(device const packed_float4 *)(a + i));
        for (uint r = 0; r < 4; r++)
            w[i + r] = four[r];
    }
    for (; i < count; i++)
        w[i] = a[i];
    for (uint r = 0; r < 4; r++)
        w[count + r] = 0;
    info[matrix] = tiny_eliminate<true>(w, top, args.rows, args.columns, steps,
                                        pivots + matrix * steps);
    simdgroup_barrier(mem_flags::mem_device); // lu may be where a was
    for (i = 0; i + 4 <= count; i += 4)
        *(device packed_float4 *)(lu + i) = packed_float4(w[i], w[i + 1], w[i + 2], w[i + 3]);
    for (; i < count; i++)
        lu[i] = w[i];
}

// The same for a system with few right-hand sides.
kernel void solve_tiny(device const float *a_all [[buffer(0)]],
                       device const float *b_all [[buffer(1)]],
                       device float *x_all [[buffer(2)]],
                       device int *info [[buffer(3)]],
                       constant lu_small_args &args [[buffer(4)]],
                       uint2 group [[threadgroup_position_in_grid]],
                       uint2 groups [[threadgroups_per_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
    const ulong start = (ulong(group.y) * groups.x + group.x) * 32;
    if (start >= args.batch)
        return;
    const ulong matrix = min(start + lane, ulong(args.batch) - 1);
    const uint n = args.rows, sides = args.right_sides, width = n + sides;
    device const float *a = a_all + matrix * (n * n), *b = b_all + matrix * (n * sides);
    device float *x = x_all + matrix * (n * sides);
    float w[LU_TINY * (LU_TINY + LU_FEW_SIDES) + 4], top[LU_TINY + LU_FEW_SIDES + 4];
    for (uint i = 0; i < n; i++) {
        uint j = 0;
        for (; j + 4 <= n; j += 4) {
            float4 four = float4(*(device const packed_float4 *)(a + i * n + j));
            for (uint r = 0; r < 4; r++)
                w[i * width + j + r] = four[r];
        }
        for (; j < n; j++)
            w[i * width + j] = a[i * n + j];
        for (uint side = 0; side < sides; side++)
            w[i * width + n + side] = b[i * sides + side];
    }
    for (uint i = 0; i < 4; i++)
        w[n * width + i] = 0; // read below, without effect
    const int bad = tiny_eliminate<false>(w, top, n, width, n, nullptr);
    info[matrix] = bad;
    simdgroup_barrier(mem_flags::mem_device); // x may be where b was
    for (uint side = 0; side < sides; side++)
        for (uint k = n; k-- > 0;) {
            float rest = w[k * width + n + side];
            for (uint j = k + 1; j < n; j++)
                rest = fma(-w[k * width + j], w[j * width + n + side], rest);
            rest /= w[k * width + k];
            w[k * width + n + side] = rest;
            x[k * sides + side] = bad ? 0 : rest;
        }
}

// ---- the blocked form ------------------------------------------------------------------------------

// The largest element of a column from row `begin` on, over all SIMD-groups of the threadgroup.
template <bool SHARED>
uint panel_pivot(device const float *column, uint begin, uint rows, threadgroup int *sizes,
                 threadgroup uint *places, uint me, uint count, uint lane) {
    int best = NOTHING;
    uint best_row = begin;
    for (ulong start = begin + me * 32; start < rows; start += count * 32) {
        const ulong i = start + lane;
        int size = i < rows ? worth(column[i]) : NOTHING;
        best_row = size > best ? uint(i) : best_row;
        best = size > best ? size : best;
    }
    uint found = pivot_row(best, best_row);
    if (!SHARED)
        return found;
    best = simd_max(best);
    if (lane == 0) {
        sizes[me] = best;
        places[me] = found;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    best = lane < count ? sizes[lane] : NOTHING;
    best_row = lane < count ? places[lane] : begin;
    return pivot_row(best, best_row);
}

// Factors a panel in `transposed`, where its columns are dense, and puts it back.
template <bool SHARED>
kernel void lu_panel(device float *lu_all [[buffer(0)]],
                     device float *transposed_all [[buffer(1)]],
                     device int *pivots_all [[buffer(2)]],
                     device int *info [[buffer(3)]],
                     constant lu_step_args &args [[buffer(4)]],
                     uint matrix [[threadgroup_position_in_grid]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]],
                     uint simdgroups [[simdgroups_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]]) {
    threadgroup int sizes[32];
    threadgroup uint places[32];
    const uint me = SHARED ? simdgroup : 0, count = SHARED ? simdgroups : 1;
    const uint rows = args.rows - args.first, width = args.width;
    const ulong stride = args.rows; // of a column in `transposed`
    device float *lu = lu_all + (ulong(matrix) * args.rows + args.first) * args.columns + args.first;
    device float *transposed = transposed_all + ulong(matrix) * stride * LU_PANEL;
    device int *pivots = pivots_all + ulong(matrix) * args.steps + args.first;
    if (args.first == 0 && me == 0 && lane == 0)
        info[matrix] = 0;
    for (ulong start = me * 32; start < rows; start += count * 32) {
        device const float *row = lu + min(start + lane, ulong(rows - 1)) * args.columns;
        for (ulong j = 0; j < width; j++)
            if (start + lane < rows)
                transposed[j * stride + start + lane] = row[j];
    }
    for (uint j = 0; j < width; j++) {
        if (SHARED)
            threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
        else
            simdgroup_barrier(mem_flags::mem_device);
        device float *column = transposed + j * stride;
        const uint p = panel_pivot<SHARED>(column, j, rows, sizes, places, me, count, lane);
        const float pivot = column[p];
        if (SHARED)
            threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
        else
            simdgroup_barrier(mem_flags::mem_device);
        if (me == 0) {
            if (lane == 0) {
                pivots[j] = int(args.first + p);
                if (pivot == 0 && info[matrix] == 0)
                    info[matrix] = int(args.first + j) + 1;
            }
            if (lane < width) {
                float one = transposed[lane * stride + j];
                transposed[lane * stride + j] = transposed[lane * stride + p];
                transposed[lane * stride + p] = one;
            }
        }
        if (SHARED)
            threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
        else
            simdgroup_barrier(mem_flags::mem_device);
        if (pivot == 0)
            continue;
        for (ulong start = j + 1 + me * 32; start < rows; start += count * 32) {
            const bool inside = start + lane < rows;
            device float *mine = column + start + lane;
            const float l = inside ? *mine / pivot : 0;
            if (inside)
                *mine = l;
            for (ulong k = j + 1; k < width; k++) {
                const float u = transposed[k * stride + j];
                device float *at = transposed + k * stride + start + lane;
                if (inside)
                    *at = fma(-l, u, *at);
            }
        }
    }
    if (SHARED)
        threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    else
        simdgroup_barrier(mem_flags::mem_device);
    for (ulong start = me * 32; start < rows; start += count * 32) {
        device float *row = lu + min(start + lane, ulong(rows - 1)) * args.columns;
        for (ulong j = 0; j < width; j++)
            if (start + lane < rows)
                row[j] = transposed[j * stride + start + lane];
    }
}
INSTANTIATE_KERNEL("lu_panel_alone", lu_panel<false>)
INSTANTIATE_KERNEL("lu_panel_shared", lu_panel<true>)

// The columns outside the panel, 32 per SIMD-group: exchanges rows and, right of the panel, solves for
// the rows of u.
kernel void lu_rows(device float *lu_all [[buffer(0)]],
                    device const int *pivots_all [[buffer(1)]],
                    constant lu_step_args &args [[buffer(2)]],
                    threadgroup float *memory [[threadgroup(0)]],
                    uint2 group [[threadgroup_position_in_grid]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]],
                    uint simdgroups [[simdgroups_per_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]]) {
    const uint start = (group.y * simdgroups + simdgroup) * 32, width = args.width;
    const ulong stride = args.columns;
    if (start >= args.columns || (start == args.first && width == 32))
        return;
    const uint column = start + lane;
    const bool inside = column < args.columns && (column < args.first || column >= args.first + width);
    device float *lu = lu_all + ulong(group.x) * args.rows * stride;
    device float *mine = lu + column;
    device const int *pivots = pivots_all + ulong(group.x) * args.steps + args.first;
    for (uint j = 0; j < width; j++) {
        const uint p = uint(pivots[j]), k = args.first + j;
        if (p != k && inside) {
            float one = mine[k * stride];
            mine[k * stride] = mine[p * stride];
            mine[p * stride] = one;
        }
    }
    if (start < args.first)
        return;
    device const float *block = lu + args.first * stride + args.first;
    threadgroup float *solved = memory + simdgroup * 32 * 32 + lane;
    for (uint k = 0; k < width; k++) {
        float rest = inside ? mine[(args.first + k) * stride] : 0, other = 0;
        uint p = 0;
        for (; p + 2 <= k; p += 2) {
            rest = fma(-block[k * stride + p], solved[p * 32], rest);
            other = fma(-block[k * stride + p + 1], solved[(p + 1) * 32], other);
        }
        if (p < k)
            rest = fma(-block[k * stride + p], solved[p * 32], rest);
        rest += other;
        solved[k * 32] = rest;
        if (inside)
            mine[(args.first + k) * stride] = rest;
    }
}

// a22 -= l21 u12, 128 rows and 32 columns per SIMD-group.
kernel void lu_update(device float *lu_all [[buffer(0)]],
                      constant lu_step_args &args [[buffer(1)]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]],
                      uint simdgroups [[simdgroups_per_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]]) {
    const uint start = args.first + args.width;
    const uint column = start + (group.y * simdgroups + simdgroup) * 32;
    const uint top = start + group.z * LU_TILE_ROWS;
    if (column >= args.columns || top >= args.rows)
        return;
    const ulong n = args.columns;
    const bool inside = column + lane < args.columns;
    device float *lu = lu_all + ulong(group.x) * args.rows * n;
    device const float *above = lu + args.first * n + column + lane;
    device const float *left = lu + args.first;
    device float *mine = lu + column + lane;
    const uint bottom = min(top + LU_TILE_ROWS, args.rows);
    uint i = top;
    for (; i + 8 <= bottom; i += 8) {
        float rest[8];
        for (uint r = 0; r < 8; r++)
            rest[r] = inside ? mine[(i + r) * n] : 0;
        for (uint p = 0; p < args.width; p++) {
            float x = inside ? above[p * n] : 0;
            for (uint r = 0; r < 8; r++)
                rest[r] = fma(-left[(i + r) * n + p], x, rest[r]);
        }
        if (inside)
            for (uint r = 0; r < 8; r++)
                mine[(i + r) * n] = rest[r];
    }
    for (; i < bottom; i++) {
        float rest = inside ? mine[i * n] : 0;
        for (uint p = 0; p < args.width; p++)
            rest = fma(-left[i * n + p], inside ? above[p * n] : 0, rest);
        if (inside)
            mine[i * n] = rest;
    }
}

// x = the rows of x exchanged as the pivots say; 32 columns per SIMD-group.
kernel void lu_permute(device float *x [[buffer(0)]],
                       device const int *pivots [[buffer(1)]],
                       constant lu_permute_args &args [[buffer(2)]],
                       uint2 group [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
    const ulong column = ulong(group.y) * 32 + lane, matrix = group.x, stride = args.columns;
    if (column >= args.columns)
        return;
    device float *mine = x + matrix * args.rows * stride + column;
    for (uint k = 0; k < args.steps; k++) {
        const uint p = uint(pivots[matrix * args.steps + k]);
        if (p != k) {
            float one = mine[k * stride];
            mine[k * stride] = mine[p * stride];
            mine[p * stride] = one;
        }
    }
}

// x = 0 where the matrix was singular.
kernel void solve_clear(device float *x [[buffer(0)]],
                        device const int *info [[buffer(1)]],
                        constant lu_permute_args &args [[buffer(2)]],
                        uint2 group [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]]) {
    const ulong column = ulong(group.y) * 32 + lane, matrix = group.x;
    if (column >= args.columns || info[matrix] == 0)
        return;
    for (ulong i = 0; i < args.rows; i++)
        x[(matrix * args.rows + i) * args.columns + column] = 0;
}

#include "lu/lu_per_threadgroup.h"
#include "lu/lu_products.h"
