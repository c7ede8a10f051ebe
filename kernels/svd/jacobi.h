// One-sided Jacobi (Hestenes): pairs of columns are rotated until all are orthogonal; their lengths
// are then the singular values. A column is a row of memory here, and its row of V' lies behind it
// and is rotated with it. A SIMD-group works on up to 64 columns at a time, in rounds of
// disjoint pairs: the products of all pairs first, then all rotations at once, a lane each, then
// their application.
#ifndef INGOT_KERNELS_SVD_JACOBI_H
#define INGOT_KERNELS_SVD_JACOBI_H

// What a SIMD-group has in threadgroup memory beside columns.
struct svd_shared {
    float squares[128]; // of the columns' lengths; those from 64 on are for lanes without a pair
    float2 turns[32];
    uint order[64];
};

// The columns that are worked on: one run of rows, or two of up to 32 each.
template <bool two, typename P> struct svd_columns {
    P low, high;             // high: of columns 32 on
    uint count, low_count;   // count: number of the last column and one; low_count: of the first 32
    uint row;                // floats from row to row
    uint chunks, all_chunks; // of 32: of a column; with V'

    P at(uint i) const {
        return two && i >= 32 ? high + (i - 32) * row : low + i * row;
    }
    bool has(uint i) const {
        return i < count && (!two || i >= 32 || i < low_count);
    }
};

// Pair t of a round, the smaller number first. All pairs of `even` columns take even - 1 rounds of
// even / 2 pairs (the last column stays, the others go round); the pairs between two runs take 32
// rounds of 32.
template <bool two> inline uint2 svd_pair(uint round, uint t, uint even, bool across) {
    if (two && across) {
        return uint2(t, 32 + ((t + round) & 31));
    }
    uint cycle = even - 1;
    uint p = round + t, q = round + cycle - t;
    p = p >= cycle ? p - cycle : p;
    q = q >= cycle ? q - cycle : q;
    p = t == 0 ? cycle : p;
    q = t == 0 ? round : q;
    return uint2(min(p, q), max(p, q));
}

template <uint C, typename P> inline float svd_product(P x, P y, uint chunks, uint lane) {
    float sum = 0;
    if (C > 0) {
        for (uint c = 0; c < C; c++) {
            sum += x[c * 32 + lane] * y[c * 32 + lane];
        }
    } else {
        float other = 0;
        uint c = 0;
        for (; c + 2 <= chunks; c += 2) {
            sum += x[c * 32 + lane] * y[c * 32 + lane];
            other += x[c * 32 + 32 + lane] * y[c * 32 + 32 + lane];
        }
        if (c < chunks) {
            sum += x[c * 32 + lane] * y[c * 32 + lane];
        }
        sum += other;
    }
    return simd_sum(sum);
}

// The largest cosine that this lane's pairs had before they were rotated.
template <uint C, uint D, bool two, typename P>
inline float svd_round(svd_columns<two, P> columns, threadgroup svd_shared *shared, uint round,
                       uint even, bool across, float tolerance, uint lane) {
    threadgroup float *squares = shared->squares;
    threadgroup float2 *turns = shared->turns;
    uint pairs = two && across ? 32 : even / 2;
    float product = 0;
    for (uint t = 0; t < pairs; t++) {
        uint2 pair = svd_pair<two>(round, t, even, across);
        if (columns.has(pair.y) && (!two || columns.has(pair.x))) {
            float g = svd_product<C>(columns.at(pair.x), columns.at(pair.y), columns.chunks, lane);
            product = lane == t ? g : product;
        }
    }
    uint2 own = svd_pair<two>(round, lane, even, across);
    bool valid = lane < pairs && columns.has(own.y) && (!two || columns.has(own.x));
    own = valid ? own : uint2(64 + lane, 96 + lane);
    float x = squares[own.x], y = squares[own.y];
    float size = sqrt(x) * sqrt(y);
    bool turn = valid && abs(product) > tolerance * size && size > 1e-30f;
    float zeta = (y - x) / (2 * product);
    float t =
        abs(zeta) > 1e15f ? 0.5f / zeta : copysign(1 / (abs(zeta) + sqrt(1 + zeta * zeta)), zeta);
    t = turn ? t : 0;
    float c = rsqrt(1 + t * t);
    turns[lane] = float2(c, t * c);
    squares[own.x] = max(x - t * product, 0.0f);
    squares[own.y] = max(y + t * product, 0.0f);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < pairs; k++) {
        float2 rotation = turns[k];
        if (rotation.y == 0) {
            continue;
        }
        uint2 pair = svd_pair<two>(round, k, even, across);
        P p = columns.at(pair.x), q = columns.at(pair.y);
        uint all = D > 0 ? D : columns.all_chunks;
        for (uint chunk = 0; chunk < all; chunk++) {
            float a = p[chunk * 32 + lane], b = q[chunk * 32 + lane];
            p[chunk * 32 + lane] = rotation.x * a - rotation.y * b;
            q[chunk * 32 + lane] = rotation.y * a + rotation.x * b;
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    return turn ? abs(product) / size : 0;
}

// Squares of the lengths of all columns, put where rounds find them.
template <uint C, bool two, typename P>
inline void svd_squares(svd_columns<two, P> columns, threadgroup svd_shared *shared, uint lane) {
    shared->squares[64 + lane] = 0;
    shared->squares[96 + lane] = 0;
    for (uint i = 0; i < columns.count; i++) {
        if (columns.has(i)) {
            float square = svd_product<C>(columns.at(i), columns.at(i), columns.chunks, lane);
            if (lane == 0) {
                shared->squares[i] = square;
            }
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
}

// The length of a row of memory whose elements may be very small.
template <typename P> inline float svd_length(P x, uint chunks, uint lane) {
    float largest = 0, sum = 0;
    for (uint c = 0; c < chunks; c++) {
        largest = max(largest, abs(x[c * 32 + lane]));
    }
    largest = simd_max(largest);
    float up = largest < 1e-10f ? 1e20f : 1;
    for (uint c = 0; c < chunks; c++) {
        float y = x[c * 32 + lane] * up;
        sum += y * y;
    }
    return sqrt(simd_sum(sum)) / up;
}

// How far two columns may be from orthogonal, as a cosine; and when the sweep just made was the
// last: convergence is quadratic.
inline float svd_tolerance(uint length) {
    return 6e-8f * sqrt(float(length));
}
constant float svd_close = 3e-5f;

// Columns whose lengths differ by less than the root of this are first multiplied by the
// eigenvectors of a'a, which leaves little to rotate. Where they differ more, that would lose what
// is special about Jacobi: small singular values that are exact relative to themselves.
constant float svd_alike = 256;

// A singular value at or below this share of the largest counts as zero: its left vector is made
// up.
constant float svd_negligible = 1e-15f;

// Makes the row at `place` of `order` a unit vector that is orthogonal to those at places before.
template <typename P, typename O>
inline void svd_complete(P work, O order, uint place, uint length, uint row, uint chunks,
                         uint lane) {
    P target = work + ulong(order[place]) * row;
    // The coordinate axis that the others cover least.
    float least = INFINITY;
    uint axis = 0;
    for (uint c = 0; c < chunks; c++) {
        uint l = c * 32 + lane;
        float covered = 0;
        for (uint k = 0; k < place; k++) {
            float x = work[ulong(order[k]) * row + l];
            covered += x * x;
        }
        if (l < length && covered < least) {
            least = covered;
            axis = l;
        }
    }
    float minimum = simd_min(least);
    axis = simd_min(least == minimum ? axis : 0xffffffffu);
    for (uint c = 0; c < chunks; c++) {
        target[c * 32 + lane] = c * 32 + lane == axis ? 1 : 0;
    }
    // Gram-Schmidt, twice; the first time the products are elements of the others.
    bool apart = true;
    for (uint pass = 0; pass < 2; pass++) {
        for (uint k = 0; k < place; k++) {
            P other = work + ulong(order[k]) * row;
            float g = pass == 0 ? other[axis] : svd_product<0>(target, other, chunks, lane);
            if (g != 0) {
                apart = false;
                for (uint c = 0; c < chunks; c++) {
                    target[c * 32 + lane] -= g * other[c * 32 + lane];
                }
            }
        }
        if (apart) {
            break;
        }
        float inverse = 1 / svd_length(target, chunks, lane);
        for (uint c = 0; c < chunks; c++) {
            target[c * 32 + lane] *= inverse;
        }
    }
}

#endif
