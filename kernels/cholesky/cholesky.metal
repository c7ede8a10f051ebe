// Cholesky factorisation, always as u'u by rows: row k of u is row k of a less the products with the
// rows above, divided by the root of its diagonal. A lane owns a column, so the factors of the rows
// above are uniform. The lower form is the transposed of it. A pivot that is not positive ends the
// factorisation: the rows from there on are zero.
//
// cholesky_tiny: one matrix per lane. cholesky_small_*: one matrix per SIMD-group, in threadgroup memory.
// cholesky_products.h is the blocked form of large matrices on GPUs.
// The others are the blocked form: the block on the diagonal, the rows to its right, the update of the
// rest; cholesky_whole does it all, one matrix per threadgroup, the others are a step each.
#include <metal_stdlib>
using namespace metal;
#include "cholesky/cholesky_args.h"
#include "common/instantiate.h"

bool is_pivot(float d) {
    return d > 0 && d <= FLT_MAX;
}

// Factors rows 0 .. n-1 (a multiple of 4) of work, whose rows are CHUNKS * 32 long; returns the number
// of good rows. The lower triangle becomes zero.
template <uint CHUNKS>
uint factor_rows(threadgroup float *work, uint n, uint lane, uint stride = CHUNKS * 32) {
    for (uint k = 0; k < n; k += 4) {
        float rest[4][CHUNKS];
        for (uint r = 0; r < 4; r++)
            for (uint c = 0; c < CHUNKS; c++)
                rest[r][c] = work[(k + r) * stride + c * 32 + lane];
        for (uint p = 0; p < k; p++) {
            threadgroup const float *above = work + p * stride;
            for (uint c = 0; c < CHUNKS; c++) {
                float u = above[c * 32 + lane];
                for (uint r = 0; r < 4; r++)
                    rest[r][c] = fma(-above[k + r], u, rest[r][c]);
            }
        }
        for (uint r = 0; r < 4; r++) {
            float mine = CHUNKS > 1 && k >= 32 ? rest[r][CHUNKS - 1] : rest[r][0];
            float d = simd_broadcast(mine, ushort((k + r) % 32));
            if (!is_pivot(d)) {
                for (uint i = k + r; i < n; i++)
                    for (uint c = 0; c < CHUNKS; c++)
                        work[i * stride + c * 32 + lane] = 0;
                return k + r;
            }
            float root = sqrt(d), scale = 1 / root;
            for (uint c = 0; c < CHUNKS; c++) {
                uint column = c * 32 + lane;
                float u = column > k + r ? rest[r][c] * scale : column == k + r ? root : 0;
                rest[r][c] = u;
                work[(k + r) * stride + column] = u;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (uint q = r + 1; q < 4; q++) {
                float factor = work[(k + r) * stride + k + q];
                for (uint c = 0; c < CHUNKS; c++)
                    rest[q][c] = fma(-factor, rest[r][c], rest[q][c]);
            }
        }
    }
    return n;
}

// One row of the lower factor from a column of u, four elements at a time.
void store_row(threadgroup const float *from, ulong stride, device float *row, ulong n) {
    ulong i = 0;
    for (; i + 4 <= n; i += 4, from += 4 * stride)
        *(device packed_float4 *)(row + i) =
            packed_float4(from[0], from[stride], from[2 * stride], from[3 * stride]);
    for (; i < n; i++, from += stride)
        row[i] = from[0];
}

template <uint CHUNKS>
kernel void cholesky_small(device const float *a_all [[buffer(0)]],
                           device float *factor_all [[buffer(1)]],
                           device int *info [[buffer(2)]],
                           constant cholesky_args &args [[buffer(3)]],
                           threadgroup float *memory [[threadgroup(0)]],
                           uint2 group [[threadgroup_position_in_grid]],
                           uint2 groups [[threadgroups_per_grid]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]],
                           uint simdgroups [[simdgroups_per_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]]) {
    const ulong matrix = (ulong(group.y) * groups.x + group.x) * simdgroups + simdgroup;
    if (matrix >= args.batch)
        return;
    const ulong n = args.n, padded = (n + 3) / 4 * 4, stride = CHUNKS * 32;
    device const float *a = a_all + matrix * n * n;
    device float *factor = factor_all + matrix * n * n;
    threadgroup float *work = memory + simdgroup * padded * stride;

    // Padding continues the matrix as the identity. What is read of the other triangle is not used.
    for (uint c = 0; c < CHUNKS; c++) {
        const ulong column = c * 32 + lane;
        const bool inside = column < n;
        device const float *row = a + min(column, n - 1) * n; // read by all lanes, without a mask
        for (ulong i = 0; i < padded; i += 4) {
            float x[4] = {0, 0, 0, 0};
            if (args.upper) {
                for (uint r = 0; r < 4; r++)
                    if (i + r < n)
                        x[r] = inside ? (a + c * 32 + lane)[(i + r) * n] : 0;
            } else if (i + 4 <= n) {
                float4 four = float4(*(device const packed_float4 *)(row + i));
                for (uint r = 0; r < 4; r++)
                    x[r] = four[r];
            } else {
                for (uint r = 0; r < 4; r++)
                    if (i + r < n)
                        x[r] = row[i + r];
            }
            for (uint r = 0; r < 4; r++) {
                float identity = column == i + r ? 1 : 0;
                work[(i + r) * stride + column] =
                    inside && i + r < n ? (column >= i + r ? x[r] : 0) : identity;
            }
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    uint good = factor_rows<CHUNKS>(work, padded, lane);
    if (lane == 0)
        info[matrix] = good < n ? int(good) + 1 : 0;
    // device: the factor may go to where a was read
    simdgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    for (uint c = 0; c < CHUNKS; c++) {
        const ulong column = c * 32 + lane;
        if (args.upper) {
            device float *mine = factor + c * 32 + lane;
            if (column < n)
                for (ulong i = 0; i < n; i++)
                    mine[i * n] = work[i * stride + column];
        } else if (n == stride) {
            store_row(work + column, stride, factor + column * n, n);
        } else { // lanes past the end write the last row once more, so that there is no mask
            const ulong row = min(column, n - 1);
            store_row(work + row, stride, factor + row * n, n);
        }
    }
}
INSTANTIATE_KERNEL("cholesky_small_1", cholesky_small<1>)
INSTANTIATE_KERNEL("cholesky_small_2", cholesky_small<2>)

// One matrix per lane, u packed by rows. Lanes past the batch do the last matrix once more, so that
// nothing needs a mask.
kernel void cholesky_tiny(device const float *a_all [[buffer(0)]],
                          device float *factor_all [[buffer(1)]],
                          device int *info [[buffer(2)]],
                          constant cholesky_args &args [[buffer(3)]],
                          uint2 group [[threadgroup_position_in_grid]],
                          uint2 groups [[threadgroups_per_grid]],
                          uint lane [[thread_index_in_simdgroup]]) {
    const ulong first = (ulong(group.y) * groups.x + group.x) * 32;
    if (first >= args.batch)
        return;
    const ulong matrix = min(first + lane, ulong(args.batch) - 1);
    const uint n = args.n;
    device const float *a = a_all + matrix * (n * n);
    device float *factor = factor_all + matrix * (n * n);
    float u[CHOLESKY_TINY * (CHOLESKY_TINY + 1) / 2];
    // Row k starts at k (2 n - k + 1) / 2; u[k][j] stands j - k further.
    for (uint i = 0; i < n; i++)
        for (uint j = 0; j < n; j += 4) {
            float4 four = 0;
            if (j + 4 <= n)
                four = float4(*(device const packed_float4 *)(a + i * n + j));
            else
                for (uint r = 0; r < 4; r++)
                    if (j + r < n)
                        four[r] = a[i * n + j + r];
            for (uint r = 0; r < 4; r++) {
                const uint row = args.upper ? i : j + r, column = args.upper ? j + r : i;
                if (row <= column && column < n)
                    u[row * (2 * n - row + 1) / 2 + column - row] = four[r];
            }
        }
    int bad = 0;
    for (uint k = 0; k < n; k++) {
        const uint mine = k * (2 * n - k + 1) / 2;
        float scale = 0;
        for (uint j = k; j < n; j++) {
            float rest = u[mine + j - k], other = 0;
            uint p = 0, at = 0; // u[p][p] stands at `at`
            for (; p + 2 <= k; p += 2) {
                rest = fma(-u[at + k - p], u[at + j - p], rest);
                at += n - p;
                other = fma(-u[at + k - p - 1], u[at + j - p - 1], other);
                at += n - p - 1;
            }
            if (p < k)
                rest = fma(-u[at + k - p], u[at + j - p], rest);
            rest += other;
            if (j == k) {
                bad = bad == 0 && !is_pivot(rest) ? int(k) + 1 : bad;
                rest = bad ? 0 : sqrt(rest);
                scale = 1 / rest;
            } else {
                rest = bad ? 0 : rest * scale;
            }
            u[mine + j - k] = rest;
        }
    }
    info[matrix] = bad;
    simdgroup_barrier(mem_flags::mem_device); // the factor may be where the matrix was
    for (uint i = 0; i < n; i++)
        for (uint j = 0; j < n; j += 4) {
            float4 four = 0;
            for (uint r = 0; r < 4; r++) {
                const uint row = args.upper ? i : j + r, column = args.upper ? j + r : i;
                if (row <= column && column < n)
                    four[r] = u[row * (2 * n - row + 1) / 2 + column - row];
            }
            if (j + 4 <= n)
                *(device packed_float4 *)(factor + i * n + j) = packed_float4(four);
            else
                for (uint r = 0; r < 4; r++)
                    if (j + r < n)
                        factor[i * n + j + r] = four[r];
        }
}

// ---- the blocked form, upper, in place ----------------------------------------------------------

// The block on the diagonal, one SIMD-group per matrix.
kernel void cholesky_diagonal(device float *u_all [[buffer(0)]],
                              device int *info [[buffer(1)]],
                              constant cholesky_step_args &args [[buffer(2)]],
                              uint matrix [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float work[32 * 32];
    const uint n = min(args.n - args.first, 32u);
    device float *u = u_all + (ulong(matrix) * args.n + args.first) * args.n + args.first;
    const int before = args.first ? info[matrix] : 0;
    for (uint i = 0; i < 32; i++) {
        float x = i == lane ? 1 : 0;
        if (i < n && lane < n && lane >= i)
            x = u[ulong(i) * args.n + lane];
        work[i * 32 + lane] = before ? 0 : x;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    if (!before) {
        uint good = factor_rows<1>(work, 32, lane);
        if (lane == 0)
            info[matrix] = good < n ? int(args.first + good) + 1 : 0;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (lane < n)
        for (uint i = 0; i < n; i++)
            u[ulong(i) * args.n + lane] = work[i * 32 + lane];
}

// The rows right of the block, 32 columns per SIMD-group: u12 = u11'^-1 a12. Rows without a pivot
// become zero.
kernel void cholesky_rows(device float *u_all [[buffer(0)]],
                          constant cholesky_step_args &args [[buffer(1)]],
                          threadgroup float *memory [[threadgroup(0)]],
                          uint2 group [[threadgroup_position_in_grid]],
                          uint simdgroup [[simdgroup_index_in_threadgroup]],
                          uint simdgroups [[simdgroups_per_threadgroup]],
                          uint lane [[thread_index_in_simdgroup]]) {
    const uint start = args.first + 32 + (group.y * simdgroups + simdgroup) * 32;
    if (start >= args.n)
        return;
    const ulong n = args.n;
    const bool inside = start + lane < args.n;
    device const float *block = u_all + (group.x * n + args.first) * n + args.first;
    device float *u = u_all + (group.x * n + args.first) * n + start + lane;
    threadgroup float *solved = memory + simdgroup * 32 * 32 + lane;
    for (uint k = 0; k < 32; k += 4) {
        float rest[4];
        for (uint r = 0; r < 4; r++)
            rest[r] = inside ? u[(k + r) * n] : 0;
        for (uint p = 0; p < k; p++) {
            float x = solved[p * 32];
            for (uint r = 0; r < 4; r++)
                rest[r] = fma(-block[p * n + k + r], x, rest[r]);
        }
        for (uint r = 0; r < 4; r++) {
            float d = block[(k + r) * n + k + r];
            rest[r] = d > 0 ? rest[r] / d : 0;
            for (uint q = r + 1; q < 4; q++)
                rest[q] = fma(-block[(k + r) * n + k + q], rest[r], rest[q]);
            solved[(k + r) * 32] = rest[r];
            if (inside)
                u[(k + r) * n] = rest[r];
        }
    }
}

// a22 -= u12' u12 on and above the diagonal, a tile of 128 rows and 32 columns per SIMD-group.
kernel void cholesky_update(device float *u_all [[buffer(0)]],
                            constant cholesky_step_args &args [[buffer(1)]],
                            uint3 group [[threadgroup_position_in_grid]],
                            uint simdgroup [[simdgroup_index_in_threadgroup]],
                            uint simdgroups [[simdgroups_per_threadgroup]],
                            uint lane [[thread_index_in_simdgroup]]) {
    const uint start = args.first + 32;
    const uint column = start + (group.y * simdgroups + simdgroup) * CHOLESKY_TILE_COLUMNS;
    const uint top = start + group.z * CHOLESKY_TILE_ROWS;
    if (column >= args.n || top >= column + CHOLESKY_TILE_COLUMNS)
        return;
    const ulong n = args.n;
    const bool inside = column + lane < args.n;
    device float *u = u_all + group.x * n * n;
    device const float *right = u + args.first * n + column + lane;
    const uint bottom = min(min(top + CHOLESKY_TILE_ROWS, column + CHOLESKY_TILE_COLUMNS), args.n);
    uint i = top;
    for (; i + 8 <= bottom; i += 8) {
        float rest[8];
        for (uint r = 0; r < 8; r++)
            rest[r] = inside ? u[(i + r) * n + column + lane] : 0;
        for (uint p = 0; p < 32; p++) {
            float x = inside ? right[p * n] : 0;
            for (uint r = 0; r < 8; r++)
                rest[r] = fma(-u[(args.first + p) * n + i + r], x, rest[r]);
        }
        if (inside)
            for (uint r = 0; r < 8; r++)
                u[(i + r) * n + column + lane] = rest[r];
    }
    for (; i < bottom; i++) {
        float rest = inside ? u[i * n + column + lane] : 0;
        for (uint p = 0; p < 32; p++)
            rest = fma(-u[(args.first + p) * n + i], inside ? right[p * n] : 0, rest);
        if (inside)
            u[i * n + column + lane] = rest;
    }
}

// Zero below the diagonal.
kernel void cholesky_clear(device float *u [[buffer(0)]],
                           constant cholesky_step_args &args [[buffer(1)]],
                           uint3 position [[thread_position_in_grid]]) {
    if (position.x < position.y && position.x < args.n)
        u[(ulong(position.z) * args.n + position.y) * args.n + position.x] = 0;
}

// ---- the blocked form in one launch -------------------------------------------------------------

// Floats from row to row of the panel.
constexpr constant uint WHOLE_ROW = CHOLESKY_WHOLE;

// The block on the diagonal into the panel, factored, by one SIMD-group. Padding is the identity.
void whole_diagonal(device const float *u, threadgroup float *block, uint n, uint first, device int *info,
                    uint lane) {
    for (uint i = 0; i < 32; i++) {
        const bool inside = first + i < n && first + lane < n;
        const float identity = i == lane ? 1 : 0;
        block[i * WHOLE_ROW + lane] = inside ? (lane >= i ? u[ulong(i) * n + lane] : 0) : identity;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const uint good = factor_rows<1>(block, 32, lane, WHOLE_ROW);
    if (lane == 0 && good < 32 && first + good < n)
        *info = int(first + good) + 1;
}

// 32 columns right of the block, one per lane, in registers.
void whole_rows(device float *u, threadgroup const float *block, threadgroup float *to, ulong n,
                bool inside, uint lane) {
    float x[32];
    const float diagonal = block[lane * WHOLE_ROW + lane], inverse = diagonal > 0 ? 1 / diagonal : 0;
#pragma unroll
    for (uint k = 0; k < 32; k++)
        x[k] = inside ? u[k * n] : 0;
#pragma unroll
    for (uint k = 0; k < 32; k++) {
        const float scale = simd_broadcast(inverse, ushort(k));
        x[k] = scale > 0 ? x[k] * scale : 0;
        to[k * WHOLE_ROW] = x[k];
        if (inside)
            u[k * n] = x[k];
#pragma unroll
        for (uint r = k + 1; r < 32; r++)
            x[r] = fma(-block[k * WHOLE_ROW + r], x[k], x[r]);
    }
}

// A tile of 32 by 32 less the product of the panel's columns for its rows and for its columns.
void whole_tile(device float *u, threadgroup const float *rows, threadgroup const float *column, ulong n,
                uint row_count, bool inside) {
    float rest[32];
#pragma unroll
    for (uint r = 0; r < 32; r++)
        rest[r] = inside && r < row_count ? u[r * n] : 0;
    for (uint p = 0; p < 32; p++) {
        const float x = column[p * WHOLE_ROW];
        threadgroup const float4 *factors = (threadgroup const float4 *)(rows + p * WHOLE_ROW);
#pragma unroll
        for (uint r = 0; r < 8; r++) {
            const float4 four = factors[r];
            rest[4 * r] = fma(-four.x, x, rest[4 * r]);
            rest[4 * r + 1] = fma(-four.y, x, rest[4 * r + 1]);
            rest[4 * r + 2] = fma(-four.z, x, rest[4 * r + 2]);
            rest[4 * r + 3] = fma(-four.w, x, rest[4 * r + 3]);
        }
    }
#pragma unroll
    for (uint r = 0; r < 32; r++)
        if (inside && r < row_count)
            u[r * n] = rest[r];
}

// The panel's 32 rows are in threadgroup memory.
[[max_total_threads_per_threadgroup(512)]]
kernel void cholesky_whole(device float *u_all [[buffer(0)]],
                           device int *info_all [[buffer(1)]],
                           constant cholesky_step_args &args [[buffer(2)]],
                           threadgroup float *panel [[threadgroup(0)]],
                           uint matrix [[threadgroup_position_in_grid]],
                           uint simd [[simdgroup_index_in_threadgroup]],
                           uint simds [[simdgroups_per_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]]) {
    const uint n = args.n, chunks = (n + 31) / 32;
    device float *u = u_all + ulong(matrix) * n * n;
    bool bad = false; // rows that follow a missing pivot are zero
    device int *info = info_all + matrix;
    if (simd == 0 && lane == 0)
        *info = 0;
    for (uint k = 0; k < chunks; k++) {
        const uint first = k * 32, rows = min(n - first, 32u);
        device float *top = u + first * n;
        threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
        if (simd == 0 && !bad)
            whole_diagonal(top + first, panel + first, n, first, info, lane);
        threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
        const bool missing = *info != 0;
        for (uint c = simd; c < chunks; c += simds) {
            const bool inside = c * 32 + lane < n;
            device float *mine = top + c * 32 + lane;
            if (c > k && !bad)
                whole_rows(mine, panel + first, panel + c * 32 + lane, n, inside, lane);
            else if (inside)
                for (uint r = 0; r < rows; r++)
                    mine[r * n] = c == k && !bad ? panel[r * WHOLE_ROW + first + lane] : 0;
        }
        threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
        // Tiles on and above the diagonal, a column of tiles after the other.
        uint i = k + 1, j = k + 1;
        for (uint skip = simd; j < chunks && !bad;) {
            if (skip > j - i) {
                skip -= j - i + 1;
                i = k + 1;
                j++;
                continue;
            }
            i += skip;
            whole_tile(u + i * 32 * n + j * 32 + lane, panel + i * 32, panel + j * 32 + lane, n,
                       n - i * 32, j * 32 + lane < n);
            skip = simds;
        }
        bad = missing;
    }
}

#include "cholesky/cholesky_products.h"
