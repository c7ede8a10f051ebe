// Least squares of any rank: QR with column pivoting, then a complete orthogonal decomposition when the
// rank is below the number of columns (Golub and Van Loan, 5.5). One threadgroup per matrix; a lane
// owns a column, SIMD-groups take chunks of 32 columns in turn. Columns are not moved: order[k] is the
// column that was chosen in step k, and `norms` of chosen columns are -1.
//
// The matrix is scaled by one power of two, so that squares neither overflow nor vanish.
#include <metal_stdlib>
using namespace metal;
#include "common/columns.h"
#include "common/instantiate.h"
#include "lstsq/lstsq_args.h"

template <bool SHARED>
void meet() {
    if (SHARED)
        threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    else
        simdgroup_barrier(mem_flags::mem_device);
}

struct problem {
    device float *a;     // rows x columns
    device float *b;     // rows x right_sides
    device float *x;     // columns x right_sides
    device float *norms; // columns: squares of what is left of them
    device int *order;   // columns
    device float *diagonal, *firsts, *gs; // columns each
    uint rows, columns, right_sides;
    uint me, count, lane; // this SIMD-group, how many there are
};

// target[i] -= v[i] f with f = g v'target, for rows from k on, for a chunk of columns of `target`.
// `first` is v's first element, the others are a's column p. Returns the squares of the new rows
// after k.
float reflect(thread const problem &it, device float *target, ulong stride, bool inside, uint k,
              uint p, float product, float first, float diagonal, float g) {
    const ulong n = it.columns;
    const float row = inside ? target[k * stride] : 0;
    const float f = inside ? g * (product - diagonal * row) : 0;
    float square = 0, other = 0;
    if (inside)
        target[k * stride] = fma(-first, f, row);
    uint i = k + 1;
    for (; i + 2 <= it.rows; i += 2) {
        float x = inside ? fma(-it.a[i * n + p], f, target[i * stride]) : 0;
        float y = inside ? fma(-it.a[(i + 1) * n + p], f, target[(i + 1) * stride]) : 0;
        if (inside) {
            target[i * stride] = x;
            target[(i + 1) * stride] = y;
        }
        square = fma(x, x, square);
        other = fma(y, y, other);
    }
    if (i < it.rows) {
        float x = inside ? fma(-it.a[i * n + p], f, target[i * stride]) : 0;
        if (inside)
            target[i * stride] = x;
        square = fma(x, x, square);
    }
    return square + other;
}

// The sum over rows from k on of a's column p times the target's column.
float product_with(thread const problem &it, device const float *target, ulong stride, bool inside,
                   uint k, uint p) {
    const ulong n = it.columns;
    float sums[4] = {0, 0, 0, 0};
    uint i = k;
    for (; i + 4 <= it.rows; i += 4)
        for (uint r = 0; r < 4; r++)
            sums[r] = fma(it.a[(i + r) * n + p], inside ? target[(i + r) * stride] : 0, sums[r]);
    for (; i < it.rows; i++)
        sums[0] = fma(it.a[i * n + p], inside ? target[i * stride] : 0, sums[0]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

float square_of_column(thread const problem &it, uint k, uint p) {
    float sum = 0;
    for (uint i = k + it.lane; i < it.rows; i += 32) {
        float x = it.a[ulong(i) * it.columns + p];
        sum = fma(x, x, sum);
    }
    return simd_sum(sum);
}

// The column with the largest norm, the lowest of them.
uint choose_column(thread const problem &it) {
    float best = -1;
    uint column = 0;
    for (ulong start = 0; start < it.columns; start += 32) {
        const ulong j = start + it.lane;
        float square = j < it.columns ? it.norms[j] : -1;
        column = square > best ? uint(j) : column;
        best = max(best, square);
    }
    float largest = simd_max(best);
    return simd_min(best == largest ? column : it.columns - 1);
}

// QR with column pivoting; b becomes q'b. Returns the rank.
template <bool SHARED>
uint factor(thread const problem &it, float rcond) {
    const ulong n = it.columns, sides = it.right_sides;
    const uint steps = min(it.rows, it.columns);
    float top = 0;
    for (uint k = 0; k < steps; k++) {
        meet<SHARED>();
        const uint p = choose_column(it);
        const float square = square_of_column(it, k, p), size = sqrt(square);
        top = k ? top : size;
        if (!(size > rcond * top) || square < 1e-36f)
            return k;
        const float a = it.a[k * n + p];
        const float diagonal = a > 0 ? -size : size, first = a - diagonal;
        const float g = -1 / (diagonal * first);
        meet<SHARED>();
        for (ulong start = it.me * 32; start < it.columns; start += it.count * 32) {
            const ulong column = start + it.lane;
            const bool inside = column < it.columns && column != p && it.norms[column] >= 0;
            device float *target = it.a + column;
            float product = product_with(it, target, n, inside, k, p);
            float left = reflect(it, target, n, inside, k, p, product, first, diagonal, g);
            if (column < it.columns)
                it.norms[column] = inside ? left : -1;
        }
        for (ulong start = it.me * 32; start < it.right_sides; start += it.count * 32) {
            const bool inside = start + it.lane < it.right_sides;
            device float *target = it.b + start + it.lane;
            float product = product_with(it, target, sides, inside, k, p);
            reflect(it, target, sides, inside, k, p, product, first, diagonal, g);
        }
        if (it.me == 0 && it.lane == 0) {
            it.order[k] = int(p);
            it.diagonal[k] = diagonal;
        }
    }
    return steps;
}

// Reflections from the right that clear the columns that were not chosen, from the last row up; row k
// of those columns then holds the rest of reflector k.
template <bool SHARED>
void clear_right(thread const problem &it, uint rank) {
    const ulong n = it.columns;
    for (uint k = rank; k-- > 0;) {
        meet<SHARED>();
        const uint p = uint(it.order[k]);
        float sum = 0;
        for (ulong start = 0; start < n; start += 32) {
            const ulong j = start + it.lane;
            float x = j < n && it.norms[j] >= 0 ? it.a[k * n + j] : 0;
            sum = fma(x, x, sum);
        }
        const float a = it.diagonal[k], rest = simd_sum(sum);
        const float size = sqrt(fma(a, a, rest)), diagonal = a > 0 ? -size : size;
        const float first = rest > 0 ? a - diagonal : 0, g = rest > 0 ? -1 / (diagonal * first) : 0;
        meet<SHARED>();
        if (it.me == 0 && it.lane == 0) {
            it.firsts[k] = first;
            it.gs[k] = g;
            if (rest > 0)
                it.diagonal[k] = diagonal;
        }
        for (uint i = it.me; i < k; i += it.count) {
            float product = 0;
            for (ulong start = 0; start < n; start += 32) {
                const ulong j = start + it.lane;
                if (j < n && it.norms[j] >= 0)
                    product = fma(it.a[k * n + j], it.a[i * n + j], product);
            }
            const float corner = it.a[i * n + p];
            const float f = g * fma(first, corner, simd_sum(product));
            for (ulong start = 0; start < n; start += 32) {
                const ulong j = start + it.lane;
                if (j < n && it.norms[j] >= 0)
                    it.a[i * n + j] = fma(-f, it.a[k * n + j], it.a[i * n + j]);
            }
            simdgroup_barrier(mem_flags::mem_device);
            if (it.lane == 0)
                it.a[i * n + p] = fma(-f, first, corner);
        }
    }
    meet<SHARED>();
}

// Solves with the triangle and undoes the reflections from the right; a lane per right-hand side.
void back_substitute(thread const problem &it, uint rank, float scale) {
    const ulong n = it.columns, sides = it.right_sides;
    for (ulong start = it.me * 32; start < it.right_sides; start += it.count * 32) {
        const ulong column = start + it.lane;
        if (column >= it.right_sides)
            continue;
        for (uint j = 0; j < it.columns; j++)
            it.x[j * sides + column] = 0;
        for (uint k = rank; k-- > 0;) {
            float rest = it.b[k * sides + column], other = 0;
            uint j = k + 1;
            for (; j + 2 <= rank; j += 2) {
                const uint p = uint(it.order[j]), q = uint(it.order[j + 1]);
                rest = fma(-it.a[k * n + p], it.x[p * sides + column], rest);
                other = fma(-it.a[k * n + q], it.x[q * sides + column], other);
            }
            if (j < rank) {
                const uint p = uint(it.order[j]);
                rest = fma(-it.a[k * n + p], it.x[p * sides + column], rest);
            }
            it.x[uint(it.order[k]) * sides + column] = (rest + other) / it.diagonal[k];
        }
        if (rank < it.columns)
            for (uint k = 0; k < rank; k++) {
                const uint p = uint(it.order[k]);
                const float first = it.firsts[k];
                float product = first * it.x[p * sides + column];
                for (uint j = 0; j < it.columns; j++)
                    if (it.norms[j] >= 0)
                        product = fma(it.a[k * n + j], it.x[j * sides + column], product);
                const float f = it.gs[k] * product;
                it.x[p * sides + column] = fma(-f, first, it.x[p * sides + column]);
                for (uint j = 0; j < it.columns; j++)
                    if (it.norms[j] >= 0)
                        it.x[j * sides + column] = fma(-f, it.a[k * n + j], it.x[j * sides + column]);
            }
        for (uint j = 0; j < it.columns; j++)
            it.x[j * sides + column] *= scale;
    }
}

template <bool SHARED>
kernel void lstsq(device float *a_all [[buffer(0)]],
                  device float *b_all [[buffer(1)]],
                  device float *x_all [[buffer(2)]],
                  device float *floats_all [[buffer(3)]],
                  device int *order_all [[buffer(4)]],
                  device int *ranks [[buffer(5)]],
                  constant lstsq_args &args [[buffer(6)]],
                  uint2 group [[threadgroup_position_in_grid]],
                  uint2 groups [[threadgroups_per_grid]],
                  uint simdgroup [[simdgroup_index_in_threadgroup]],
                  uint simdgroups [[simdgroups_per_threadgroup]],
                  uint lane [[thread_index_in_simdgroup]]) {
    const ulong matrix = group.x;
    if (args.tried && ranks[matrix] >= 0)
        return;
    problem it;
    it.rows = args.rows;
    it.columns = args.columns;
    it.right_sides = args.right_sides;
    it.me = SHARED ? simdgroup : 0;
    it.count = SHARED ? simdgroups : 1;
    it.lane = lane;
    it.a = a_all + matrix * (ulong(args.rows) * args.columns);
    it.b = b_all + matrix * args.b_stride;
    it.x = x_all + matrix * (ulong(args.columns) * args.right_sides);
    it.norms = floats_all + matrix * (4 * ulong(args.columns));
    it.diagonal = it.norms + args.columns;
    it.firsts = it.diagonal + args.columns;
    it.gs = it.firsts + args.columns;
    it.order = order_all + matrix * args.columns;

    float largest = 0;
    for (uint i = 0; i < args.rows; i++)
        for (ulong start = 0; start < args.columns; start += 32)
            if (start + lane < args.columns)
                largest = max(largest, abs(it.a[ulong(i) * args.columns + start + lane]));
    const float scale = column_scale(simd_max(largest));
    meet<SHARED>();
    for (ulong start = it.me * 32; start < args.columns; start += it.count * 32) {
        const ulong column = start + lane;
        if (column >= args.columns)
            continue;
        float square = 0;
        for (uint i = 0; i < args.rows; i++) {
            float x = it.a[ulong(i) * args.columns + column] * scale;
            it.a[ulong(i) * args.columns + column] = x;
            square = fma(x, x, square);
        }
        it.norms[column] = square;
    }
    const uint rank = factor<SHARED>(it, args.rcond);
    meet<SHARED>();
    if (it.me == 0 && lane == 0)
        ranks[matrix] = int(rank);
    if (rank < args.columns)
        clear_right<SHARED>(it, rank);
    back_substitute(it, rank, scale);
}

// ---- full rank without pivoting -----------------------------------------------------------------
//
// Given r of a QR without pivoting and its inverse, is the rank that pivoting would find full? Then the
// last diagonal element, the least, is the distance of some column p from the span of all others,
// which is 1 / |row p of the inverse|, and the first is the largest norm of a column.

kernel void lstsq_identity(device float *to [[buffer(0)]],
                           constant lstsq_args &args [[buffer(1)]],
                           uint3 position [[thread_position_in_grid]]) {
    const ulong n = args.columns;
    to[(position.z * n + position.y) * n + position.x] = position.x == position.y ? 1 : 0;
}

// The rank, or -1 where it is not known. A SIMD-group per matrix.
kernel void lstsq_decide(device const float *r [[buffer(0)]],
                         device const float *inverse [[buffer(1)]],
                         device int *ranks [[buffer(2)]],
                         constant lstsq_args &args [[buffer(3)]],
                         uint matrix [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
    const ulong n = args.columns;
    r += matrix * n * n;
    inverse += matrix * n * n;
    float column = 0, row = 0; // the largest squares
    for (ulong first = 0; first < n; first += 32) {
        float square = 0;
        for (ulong i = 0; i < min(first + 32, n); i++) {
            const float x = first + lane < n ? r[i * n + first + lane] : 0;
            square = fma(x, x, square);
        }
        column = max(column, square);
    }
    for (ulong i = 0; i < n; i++) {
        float square = 0;
        for (ulong first = i / 32 * 32; first < n; first += 32) {
            const float x = first + lane < n ? inverse[i * n + first + lane] : 0;
            square = fma(x, x, square);
        }
        square = simd_sum(square);
        row = square > row || isnan(square) ? square : row;
    }
    const float largest = sqrt(simd_max(column)), least = 1 / sqrt(row);
    if (lane == 0)
        ranks[matrix] = least > 2 * args.rcond * largest ? int(n) : -1; // 2: room for rounding
}

// The same by a threadgroup of 1024 per matrix.
[[max_total_threads_per_threadgroup(1024)]]
kernel void lstsq_decide_shared(device const float *r [[buffer(0)]],
                                device const float *inverse [[buffer(1)]],
                                device int *ranks [[buffer(2)]],
                                constant lstsq_args &args [[buffer(3)]],
                                uint matrix [[threadgroup_position_in_grid]],
                                uint simd [[simdgroup_index_in_threadgroup]],
                                uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float columns[32], rows[32];
    const ulong n = args.columns;
    r += matrix * n * n;
    inverse += matrix * n * n;
    float column = 0, row = 0; // the largest squares
    for (ulong first = simd * 32; first < n; first += 1024) {
        const bool inside = first + lane < n;
        float sums[4] = {0, 0, 0, 0};
        for (ulong i = 0; i < min(first + 32, n); i += 4)
            for (uint q = 0; q < 4; q++) {
                const float x = inside && i + q < n ? r[(i + q) * n + first + lane] : 0;
                sums[q] = fma(x, x, sums[q]);
            }
        column = max(column, (sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
    for (ulong i = simd; i < n; i += 32) {
        float square = 0;
        for (ulong first = i / 32 * 32; first < n; first += 32) {
            const float x = first + lane < n ? inverse[i * n + first + lane] : 0;
            square = fma(x, x, square);
        }
        square = simd_sum(square);
        row = square > row || isnan(square) ? square : row;
    }
    column = simd_max(column);
    if (lane == 0) {
        columns[simd] = column;
        rows[simd] = row;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    column = simd_max(columns[lane]);
    const bool unknown = simd_any(isnan(rows[lane]));
    const float largest = sqrt(column), least = 1 / sqrt(simd_max(rows[lane]));
    if (simd == 0 && lane == 0)
        ranks[matrix] = !unknown && least > 2 * args.rcond * largest ? int(n) : -1;
}

INSTANTIATE_KERNEL("lstsq_alone", lstsq<false>)
INSTANTIATE_KERNEL("lstsq_shared", lstsq<true>)
