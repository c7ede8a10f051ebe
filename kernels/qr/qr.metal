// Householder QR. A lane owns a column (or two): the reflector is read as uniform scalars down a
// column, and its products with all columns come out in the lanes, with no reduction across them.
//
// Columns are first scaled by powers of two so that their largest element is near 1: squares then
// neither overflow nor vanish, and q does not change; r is scaled back at the end.
//
// With x the rest of column k, a its first element and b = -sign(a) |x|, the reflector is
// H = I - g v v', v = x - b e1, g = 1 / (b (b - a)). One pass gives x'A for all columns, |x|^2 among
// them, and v'A = x'A - b A[k]; a second pass subtracts.
//
// qr_small_*: one matrix per SIMD-group, in threadgroup memory. The others are the steps of the
// blocked form (compact WY, Schreiber and Van Loan 1989) for larger matrices.
#include <metal_stdlib>
using namespace metal;
#include "common/instantiate.h"
#include "qr/qr_args.h"
#include "common/columns.h"

// Below this the rest of a scaled column counts as zero.
constant float TINY_SQUARE = 1e-30f;

struct reflector {
    float first; // v[0]; the others are the column as it was
    float g;
    float diagonal; // of r
};

reflector make_reflector(float a, float square) {
    reflector h;
    if (square < TINY_SQUARE) {
        h.first = 0;
        h.g = 0;
        h.diagonal = a;
    } else {
        h.diagonal = a > 0 ? -sqrt(square) : sqrt(square);
        h.first = a - h.diagonal;
        h.g = -1 / (h.diagonal * h.first);
    }
    return h;
}

// products[c] = sum over rows [begin, end) of column[i] * work[i][c], for chunks [FIRST, COUNT)
template <uint FIRST, uint COUNT>
void column_products(threadgroup const float *work, uint stride, threadgroup const float *column,
                     uint column_stride, uint begin, uint end, uint lane, thread float *products) {
    float other[COUNT];
    for (uint c = FIRST; c < COUNT; c++)
        products[c] = other[c] = 0;
    uint i = begin;
    for (; i + 4 <= end; i += 4) {
        float x0 = column[i * column_stride], x1 = column[(i + 1) * column_stride];
        float x2 = column[(i + 2) * column_stride], x3 = column[(i + 3) * column_stride];
        for (uint c = FIRST; c < COUNT; c++) {
            threadgroup const float *at = work + i * stride + c * 32 + lane;
            products[c] = fma(x0, at[0], products[c]);
            other[c] = fma(x1, at[stride], other[c]);
            products[c] = fma(x2, at[2 * stride], products[c]);
            other[c] = fma(x3, at[3 * stride], other[c]);
        }
    }
    for (; i < end; i++) {
        float x = column[i * column_stride];
        for (uint c = FIRST; c < COUNT; c++)
            products[c] = fma(x, work[i * stride + c * 32 + lane], products[c]);
    }
    for (uint c = FIRST; c < COUNT; c++)
        products[c] += other[c];
}

// work[i][c] -= column[i] * factor[c]. The column may be one of work's, whose factor is 0: its lane stores
// what others load.
template <uint FIRST, uint COUNT>
void column_update(threadgroup float *work, uint stride, threadgroup const float *column,
                   uint column_stride, uint begin, uint end, uint lane, thread const float *factor) {
    uint i = begin;
    for (; i + 4 <= end; i += 4) {
        float x[4];
        for (uint r = 0; r < 4; r++)
            x[r] = column[(i + r) * column_stride];
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (uint r = 0; r < 4; r++)
            for (uint c = FIRST; c < COUNT; c++) {
                threadgroup float *at = work + (i + r) * stride + c * 32 + lane;
                *at = fma(-x[r], factor[c], *at);
            }
    }
    for (; i < end; i++) {
        float x = column[i * column_stride];
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (uint c = FIRST; c < COUNT; c++) {
            threadgroup float *at = work + i * stride + c * 32 + lane;
            *at = fma(-x, factor[c], *at);
        }
    }
}

// One column of the small factorisation; the reflector goes to lane k % 32 of firsts and gs.
template <uint FIRST, uint COUNT>
void small_step(threadgroup float *work, uint k, uint rows, uint lane, thread float *firsts,
                thread float *gs) {
    const uint stride = COUNT * 32;
    float products[COUNT], factor[COUNT];
    column_products<FIRST, COUNT>(work, stride, work + k, stride, k, rows, lane, products);
    const float a = work[k * stride + k];
    simdgroup_barrier(mem_flags::mem_threadgroup); // the row changes
    reflector h = make_reflector(a, simd_broadcast(products[FIRST], ushort(k % 32)));
    for (uint c = FIRST; c < COUNT; c++) {
        float row = work[k * stride + c * 32 + lane];
        bool right = c * 32 + lane > k;
        factor[c] = right ? h.g * (products[c] - h.diagonal * row) : 0;
        row = fma(-h.first, factor[c], row);
        work[k * stride + c * 32 + lane] = c * 32 + lane == k ? h.diagonal : row;
    }
    if (lane == k % 32) {
        firsts[FIRST] = h.first;
        gs[FIRST] = h.g;
    }
    column_update<FIRST, COUNT>(work, stride, work + k, stride, k + 1, rows, lane, factor);
    simdgroup_barrier(mem_flags::mem_threadgroup);
}

// q = H_k q on rows from k on
template <uint FIRST, uint COUNT, uint CHUNKS>
void small_apply(threadgroup const float *work, threadgroup float *q, uint k, uint rows, uint lane,
                 float first, float g) {
    const uint stride = COUNT * 32;
    float products[COUNT], factor[COUNT];
    column_products<FIRST, COUNT>(q, stride, work + k, CHUNKS * 32, k + 1, rows, lane, products);
    for (uint c = FIRST; c < COUNT; c++) {
        float row = q[k * stride + c * 32 + lane];
        factor[c] = g * fma(first, row, products[c]);
        q[k * stride + c * 32 + lane] = fma(-first, factor[c], row);
    }
    column_update<FIRST, COUNT>(q, stride, work + k, CHUNKS * 32, k + 1, rows, lane, factor);
}

template <uint CHUNKS, uint Q_CHUNKS>
void small_matrix(device const float *a, device float *q_out, device float *r_out,
                  constant qr_small_args &args, threadgroup float *work, uint lane) {
    const ulong rows = args.rows, columns = args.columns, stride = CHUNKS * 32;
    float scale[CHUNKS], firsts[CHUNKS], gs[CHUNKS];
    for (uint c = 0; c < CHUNKS; c++) {
        ulong column = c * 32 + lane;
        device const float *mine = a + c * 32 + lane;
        float largest = 0;
        firsts[c] = gs[c] = 0;
        for (ulong i = 0; i < rows; i++) {
            float x = column < columns ? mine[i * columns] : 0;
            largest = max(largest, abs(x));
            work[i * stride + column] = x;
        }
        scale[c] = column_scale(largest);
        for (ulong i = 0; i < rows; i++)
            work[i * stride + column] *= scale[c];
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);

    const uint steps = min(args.rows, args.columns);
    for (uint k = 0; k < min(steps, 32u); k++)
        small_step<0, CHUNKS>(work, k, args.rows, lane, firsts, gs);
    if (CHUNKS > 1)
        for (uint k = 32; k < steps; k++)
            small_step<CHUNKS - 1, CHUNKS>(work, k, args.rows, lane, firsts, gs);

    for (uint c = 0; c < CHUNKS; c++) {
        ulong column = c * 32 + lane;
        float unscale = 1 / scale[c];
        device float *mine = r_out + c * 32 + lane;
        if (column < columns)
            for (ulong i = 0; i < args.q_columns; i++)
                mine[i * columns] = i <= column ? work[i * stride + column] * unscale : 0;
    }

    if (!args.want_q)
        return;
    threadgroup float *q = work + rows * stride;
    for (ulong i = 0; i < rows; i++)
        for (uint c = 0; c < Q_CHUNKS; c++)
            q[i * Q_CHUNKS * 32 + c * 32 + lane] = c * 32 + lane == i ? 1 : 0;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (CHUNKS > 1)
        for (uint k = steps; k-- > 32;)
            small_apply<Q_CHUNKS - 1, Q_CHUNKS, CHUNKS>(
                work, q, k, args.rows, lane, simd_broadcast(firsts[CHUNKS - 1], ushort(k - 32)),
                simd_broadcast(gs[CHUNKS - 1], ushort(k - 32)));
    for (uint k = min(steps, 32u); k-- > 0;)
        small_apply<0, Q_CHUNKS, CHUNKS>(work, q, k, args.rows, lane,
                                         simd_broadcast(firsts[0], ushort(k)),
                                         simd_broadcast(gs[0], ushort(k)));
    for (uint c = 0; c < Q_CHUNKS; c++) {
        device float *mine = q_out + c * 32 + lane;
        if (c * 32 + lane < args.q_columns)
            for (ulong i = 0; i < rows; i++)
                mine[i * args.q_columns] = q[i * Q_CHUNKS * 32 + c * 32 + lane];
    }
}

template <uint CHUNKS, uint Q_CHUNKS>
kernel void qr_small(device const float *a [[buffer(0)]],
                     device float *q [[buffer(1)]],
                     device float *r [[buffer(2)]],
                     constant qr_small_args &args [[buffer(3)]],
                     threadgroup float *memory [[threadgroup(0)]],
                     uint2 group [[threadgroup_position_in_grid]],
                     uint2 groups [[threadgroups_per_grid]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]],
                     uint simdgroups [[simdgroups_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]]) {
    ulong matrix = (ulong(group.y) * groups.x + group.x) * simdgroups + simdgroup;
    if (matrix >= args.batch)
        return;
    threadgroup float *work = memory + simdgroup * args.rows * (CHUNKS + Q_CHUNKS) * 32;
    small_matrix<CHUNKS, Q_CHUNKS>(a + matrix * args.rows * args.columns,
                                   q + matrix * args.rows * args.q_columns,
                                   r + matrix * args.q_columns * args.columns, args, work, lane);
}
INSTANTIATE_KERNEL("qr_small_1_1", qr_small<1, 1>)
INSTANTIATE_KERNEL("qr_small_1_2", qr_small<1, 2>)
INSTANTIATE_KERNEL("qr_small_2_1", qr_small<2, 1>)
INSTANTIATE_KERNEL("qr_small_2_2", qr_small<2, 2>)

// ---- the blocked form ----------------------------------------------------------------------------

// work = a with scaled columns; one SIMD-group per 32 columns.
kernel void qr_scale(device const float *a [[buffer(0)]],
                     device float *work [[buffer(1)]],
                     device float *scales [[buffer(2)]],
                     constant qr_matrix_args &args [[buffer(3)]],
                     uint2 group [[threadgroup_position_in_grid]],
                     uint lane [[thread_index_in_simdgroup]]) {
    const ulong matrix = group.x, column = ulong(group.y) * 32 + lane;
    if (column >= args.columns)
        return;
    const ulong at = matrix * args.rows * args.columns + column;
    float largest = 0;
    for (uint i = 0; i < args.rows; i++)
        largest = max(largest, abs(a[at + ulong(i) * args.columns]));
    float scale = column_scale(largest);
    scales[matrix * args.columns + column] = scale;
    for (uint i = 0; i < args.rows; i++)
        work[at + ulong(i) * args.columns] = a[at + ulong(i) * args.columns] * scale;
}

// Sums over the SIMD-groups of the threadgroup, which each had some of the rows.
template <bool SHARED>
float sum_over_simdgroups(float value, threadgroup float *partial, uint simdgroup, uint simdgroups,
                          uint lane) {
    if (!SHARED)
        return value;
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    partial[simdgroup * 32 + lane] = value;
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    float sum = 0;
    for (uint s = 0; s < simdgroups; s++)
        sum += partial[s * 32 + lane];
    return sum;
}

// Factors one panel in v, where it has rows of 32; puts its part of r back into work and t' into t.
template <bool SHARED>
kernel void qr_panel(device float *work_all [[buffer(0)]],
                     device float *v_all [[buffer(1)]],
                     device float *t_all [[buffer(2)]],
                     constant qr_panel_args &args [[buffer(3)]],
                     threadgroup float *memory [[threadgroup(0)]],
                     uint matrix [[threadgroup_position_in_grid]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]],
                     uint simdgroups [[simdgroups_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]]) {
    const uint rows = args.rows - args.first, width = args.width;
    const uint me = SHARED ? simdgroup : 0, step = SHARED ? simdgroups : 1;
    device float *work = work_all + matrix * (ulong(args.rows) * args.columns) +
                         ulong(args.first) * args.columns + args.first;
    device float *v = v_all + matrix * args.v_stride + args.v_first;
    device float *t = t_all + matrix * args.t_stride + args.t_first;
    threadgroup float *triangle = memory;         // t', 32 x 32, of SIMD-group 0
    threadgroup float *partial = memory + 32 * 32;

    for (uint i = me; i < rows; i += step)
        v[i * 32 + lane] = lane < width ? work[ulong(i) * args.columns + lane] : 0;
    for (uint k = 0; k < width; k++) {
        if (SHARED)
            threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
        else
            simdgroup_barrier(mem_flags::mem_device);
        float product = 0, other = 0;
        uint i = k + me;
        for (; i + step < rows; i += 2 * step) {
            product = fma(v[i * 32 + k], v[i * 32 + lane], product);
            other = fma(v[(i + step) * 32 + k], v[(i + step) * 32 + lane], other);
        }
        if (i < rows)
            product = fma(v[i * 32 + k], v[i * 32 + lane], product);
        product = sum_over_simdgroups<SHARED>(product + other, partial, simdgroup, simdgroups, lane);
        const float row = v[k * 32 + lane], a = v[k * 32 + k];
        reflector h = make_reflector(a, simd_broadcast(product, ushort(k)));
        if (SHARED)
            threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
        else
            simdgroup_barrier(mem_flags::mem_device);
        product -= h.diagonal * row; // v'A on the right, v'v_j on the left
        float factor = lane > k ? h.g * product : 0;
        if (me == 0) {
            float sum = 0;
            for (uint l = 0; l < k; l++)
                sum = fma(triangle[l * 32 + lane], simd_broadcast(product, ushort(l)), sum);
            triangle[k * 32 + lane] = lane < k ? -h.g * sum : lane == k ? h.g : 0;
            v[k * 32 + lane] = lane == k ? h.first : fma(-h.first, factor, row);
            if (lane >= k && lane < width)
                work[ulong(k) * args.columns + lane] =
                    lane == k ? h.diagonal : fma(-h.first, factor, row);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        // Row k is done: it now holds v's first element and, to its right, r, which is cleared below.
        // Lane k stores what others load of column k, unchanged.
        uint j = k + 1 + me;
        for (; j + 3 * step < rows; j += 4 * step) {
            float x[4];
            for (uint r = 0; r < 4; r++)
                x[r] = v[(j + r * step) * 32 + k];
            simdgroup_barrier(mem_flags::mem_device);
            for (uint r = 0; r < 4; r++) {
                device float *at = v + (j + r * step) * 32 + lane;
                *at = fma(-x[r], factor, *at);
            }
        }
        for (; j < rows; j += step) {
            float x = v[j * 32 + k];
            simdgroup_barrier(mem_flags::mem_device);
            v[j * 32 + lane] = fma(-x, factor, v[j * 32 + lane]);
        }
    }
    if (SHARED)
        threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    if (me == 0) {
        for (uint i = 0; i < min(width, rows); i++)
            if (lane > i)
                v[i * 32 + lane] = 0;
        for (uint i = 0; i < 32; i++)
            t[i * 32 + lane] = i < width ? triangle[i * 32 + lane] : 0;
    }
}
INSTANTIATE_KERNEL("qr_panel_alone", qr_panel<false>)
INSTANTIATE_KERNEL("qr_panel_shared", qr_panel<true>)

// target -= V op(T) V' target; one SIMD-group per 32 columns of the target.
kernel void qr_apply(device float *target_all [[buffer(0)]],
                     device const float *v_all [[buffer(1)]],
                     device const float *t_all [[buffer(2)]],
                     constant qr_apply_args &args [[buffer(3)]],
                     threadgroup float *memory [[threadgroup(0)]],
                     uint2 group [[threadgroup_position_in_grid]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]],
                     uint simdgroups [[simdgroups_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]]) {
    const uint start = args.from + (group.y * simdgroups + simdgroup) * 32;
    const ulong matrix = group.x;
    if (start >= args.columns)
        return;
    const uint rows = args.rows - args.first;
    const bool inside = start + lane < args.columns;
    const ulong stride = args.columns;
    device float *target =
        target_all + matrix * args.target_stride + args.first * stride + start + lane;
    device const float *v = v_all + matrix * args.v_stride + args.v_first;
    device const float *t = t_all + matrix * args.t_stride + args.t_first;
    threadgroup float *y = memory + simdgroup * 2 * 32 * 32 + lane, *z = y + 32 * 32;

    for (uint p = 0; p < args.width; p += 8) {
        float sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        for (uint i = p; i < rows; i++) {
            float x = inside ? target[i * stride] : 0;
            for (uint q = 0; q < 8; q++)
                sums[q] = fma(v[i * 32 + p + q], x, sums[q]);
        }
        for (uint q = 0; q < 8; q++)
            y[(p + q) * 32] = sums[q];
    }
    // t holds T transposed: T[l][p] = t[p * 32 + l], zero for l > p
    const uint padded = (args.width + 7) / 8 * 8;
    for (uint p = 0; p < padded; p++) {
        float sum = 0;
        if (args.transposed)
            for (uint l = 0; l <= p; l++)
                sum = fma(t[p * 32 + l], y[l * 32], sum);
        else
            for (uint l = p; l < padded; l++)
                sum = fma(t[l * 32 + p], y[l * 32], sum);
        z[p * 32] = sum;
    }
    uint i = 0;
    for (; i + 8 <= rows; i += 8) {
        float rest[8];
        for (uint q = 0; q < 8; q++)
            rest[q] = inside ? target[(i + q) * stride] : 0;
        for (uint p = 0; p < padded; p++) {
            float x = z[p * 32];
            for (uint q = 0; q < 8; q++)
                rest[q] = fma(-v[(i + q) * 32 + p], x, rest[q]);
        }
        if (inside)
            for (uint q = 0; q < 8; q++)
                target[(i + q) * stride] = rest[q];
    }
    for (; i < rows; i++) {
        float rest = inside ? target[i * stride] : 0;
        for (uint p = 0; p < padded; p++)
            rest = fma(-v[i * 32 + p], z[p * 32], rest);
        if (inside)
            target[i * stride] = rest;
    }
}

// r = the upper triangle of work, with the columns' scale undone.
kernel void qr_store_r(device const float *work [[buffer(0)]],
                       device const float *scales [[buffer(1)]],
                       device float *r [[buffer(2)]],
                       constant qr_store_args &args [[buffer(3)]],
                       uint3 position [[thread_position_in_grid]]) {
    const uint column = position.x, row = position.y;
    const ulong matrix = position.z;
    if (column >= args.columns)
        return;
    float value = 0;
    if (row <= column && row < args.source_rows)
        value = work[(matrix * args.source_rows + row) * args.columns + column] /
                scales[matrix * args.columns + column];
    r[(matrix * args.rows + row) * args.columns + column] = value;
}

kernel void qr_identity(device float *q [[buffer(0)]],
                        constant qr_matrix_args &args [[buffer(1)]],
                        uint3 position [[thread_position_in_grid]]) {
    if (position.x < args.columns)
        q[(ulong(position.z) * args.rows + position.y) * args.columns + position.x] =
            position.x == position.y ? 1 : 0;
}

#include "qr/qr_products.h"
