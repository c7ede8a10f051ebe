// The steps of Householder reduction and implicit QL, by one SIMD-group each; eigh and svd put
// them together. (Golub and Van Loan, Matrix Computations, sections 8.3 and 8.4.)
#ifndef INGOT_KERNELS_COMMON_HOUSEHOLDER_QL_H
#define INGOT_KERNELS_COMMON_HOUSEHOLDER_QL_H

#include <metal_stdlib>
using namespace metal;

// Vectors of ld floats each: diagonal and subdiagonal of the tridiagonal matrix; of the reflections
// 1 - tau v v'; and w and p of the column that is being reduced.
struct ql_vectors {
    device float *d, *e, *tau, *w, *p;
};

// Finishes w of the column before, brings row k up to date, and makes its reflection, which takes
// the place of the row (v, with zeros up to the diagonal).
inline void reduce_column(ql_vectors own, device float *a, uint n, uint ld, uint k, uint lane) {
    device float *row = a + ulong(k) * ld;
    if (k > 0) {
        device const float *v = row - ld;
        float tau = own.tau[k - 1], dot = 0;
        uint first = k / 32 * 32;
        for (uint j = first + lane; j < ld; j += 32) {
            float p = j >= k && j < n ? own.p[j] : 0;
            dot += p * v[j];
        }
        dot = simd_sum(dot);
        float back = -0.5f * tau * tau * dot;
        for (uint j = first + lane; j < ld; j += 32) {
            float p = j >= k && j < n ? own.p[j] : 0;
            own.w[j] = tau * p + back * v[j];
        }
        simdgroup_barrier(mem_flags::mem_device);
        float v_k = v[k], w_k = own.w[k];
        for (uint j = first + lane; j < ld; j += 32) {
            row[j] -= v_k * own.w[j] + w_k * v[j];
        }
        simdgroup_barrier(mem_flags::mem_device);
    }
    if (lane == 0) {
        own.d[k] = row[k];
    }
    if (k + 1 >= n) {
        return;
    }
    float rest = 0;
    for (uint j = (k + 2) / 32 * 32 + lane; j < ld; j += 32) {
        float x = j >= k + 2 ? row[j] : 0;
        rest += x * x;
    }
    rest = simd_sum(rest);
    float alpha = row[k + 1], beta = alpha, tau = 0, inverse = 0;
    // The matrix is scaled: what is shorter than 1e-15 is left out, since squares would underflow.
    if (rest > 0 && alpha * alpha + rest > 1e-30f) {
        beta = copysign(sqrt(alpha * alpha + rest), -alpha);
        tau = (beta - alpha) / beta;
        inverse = 1 / (alpha - beta);
    }
    simdgroup_barrier(mem_flags::mem_device);
    for (uint j = lane; j < ld; j += 32) {
        float x = row[j];
        row[j] = j <= k ? 0 : j == k + 1 ? 1 : x * inverse;
    }
    if (lane == 0) {
        own.e[k] = beta;
        own.tau[k] = tau;
    }
    simdgroup_barrier(mem_flags::mem_device);
}

// Rows first to first + 3, all below row k: the update of the column before k, and the product
// with k's reflection.
inline void update_rows(ql_vectors own, device float *a, uint n, uint ld, uint k, uint first,
                        uint lane) {
    device const float *v = a + ulong(k) * ld;
    device float *row0 = a + ulong(first) * ld, *row1 = a + ulong(min(first + 1, n - 1)) * ld,
                 *row2 = a + ulong(min(first + 2, n - 1)) * ld,
                 *row3 = a + ulong(min(first + 3, n - 1)) * ld;
    float sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    uint from = (k + 1) / 32 * 32;
    if (k == 0) {
        for (uint j = from + lane; j < ld; j += 32) {
            float x = v[j];
            sum0 += row0[j] * x;
            sum1 += row1[j] * x;
            sum2 += row2[j] * x;
            sum3 += row3[j] * x;
        }
    } else {
        device const float *before = v - ld;
        bool has1 = first + 1 < n, has2 = first + 2 < n, has3 = first + 3 < n;
        float v0 = before[first], w0 = own.w[first];
        float v1 = has1 ? before[first + 1] : 0, w1 = has1 ? own.w[first + 1] : 0;
        float v2 = has2 ? before[first + 2] : 0, w2 = has2 ? own.w[first + 2] : 0;
        float v3 = has3 ? before[first + 3] : 0, w3 = has3 ? own.w[first + 3] : 0;
        for (uint j = from + lane; j < ld; j += 32) {
            float x = v[j], y = before[j], z = own.w[j];
            float a0 = row0[j] - (v0 * z + w0 * y), a1 = row1[j] - (v1 * z + w1 * y);
            float a2 = row2[j] - (v2 * z + w2 * y), a3 = row3[j] - (v3 * z + w3 * y);
            // Rows past the last stand for it, without an update: the last row's store comes last.
            row3[j] = a3;
            row2[j] = a2;
            row1[j] = a1;
            row0[j] = a0;
            sum0 += a0 * x;
            sum1 += a1 * x;
            sum2 += a2 * x;
            sum3 += a3 * x;
        }
    }
    float4 sums = float4(simd_sum(sum0), simd_sum(sum1), simd_sum(sum2), simd_sum(sum3));
    if (lane < 4 && first + lane < n) {
        own.p[first + lane] = lane == 0 ? sums.x : lane == 1 ? sums.y : lane == 2 ? sums.z : sums.w;
    }
}

// Rows first to first + 3 of Q' = ... H1 H0: unit vectors to which the reflections are applied,
// the last first. Q' lies in tiles of 32 columns: [tile][row][32].
inline void form_rows(ql_vectors own, device const float *reflections, device float *q, uint n,
                      uint ld, uint tile, uint first, uint lane) {
    uint tiles = ld / 32;
    device float *to = q + first * 32 + lane;
    uint rows = min(4u, n - first);
    for (uint t = 0; t < tiles; t++) {
        for (uint r = 0; r < rows; r++) {
            to[ulong(t) * tile + r * 32] = t * 32 + lane == first + r ? 1 : 0;
        }
    }
    // Rows past the last are computed on the last one's place, with the same values.
    uint at1 = min(1u, rows - 1) * 32, at2 = min(2u, rows - 1) * 32, at3 = (rows - 1) * 32;
    for (int k = int(min(first + rows, n - 1)) - 1; k >= 0; k--) {
        float tau = own.tau[k];
        if (tau == 0) {
            continue;
        }
        device const float *v = reflections + ulong(k) * ld + lane;
        float sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
        uint from = uint(k + 1) / 32;
        for (uint t = from; t < tiles; t++) {
            float x = v[t * 32];
            device const float *y = to + ulong(t) * tile;
            sum0 += y[0] * x;
            sum1 += y[at1] * x;
            sum2 += y[at2] * x;
            sum3 += y[at3] * x;
        }
        sum0 = tau * simd_sum(sum0);
        sum1 = tau * simd_sum(sum1);
        sum2 = tau * simd_sum(sum2);
        sum3 = tau * simd_sum(sum3);
        for (uint t = from; t < tiles; t++) {
            float x = v[t * 32];
            device float *y = to + ulong(t) * tile;
            float y0 = y[0] - sum0 * x, y1 = y[at1] - sum1 * x;
            float y2 = y[at2] - sum2 * x, y3 = y[at3] - sum3 * x;
            y[0] = y0;
            y[at1] = y1;
            y[at2] = y2;
            y[at3] = y3;
        }
    }
}

// sqrt(x * x + y * y), also of very small numbers.
inline float length_of(float x, float y) {
    float larger = max(abs(x), abs(y));
    if (larger < 1e-12f) {
        float up = 1e25f;
        return sqrt(x * up * x * up + y * up * y * up) / up;
    }
    return sqrt(x * x + y * y);
}

// The end of the block from `low` on that does not fall apart.
inline uint block_end(device const float *d, device const float *e, uint n, uint low) {
    constexpr float epsilon = 5.9604645e-8f;
    uint high = low;
    for (; high + 1 < n; high++) {
        if (abs(e[high]) <= epsilon * (abs(d[high]) + abs(d[high + 1])) + 1e-12f) {
            break;
        }
    }
    return high;
}

// The length of (f, g) and what divides by it. `quick` takes the hardware's reciprocal root with a
// step of Newton's method, where a chain of roots and divisions is what takes the time.
template <bool quick> inline float2 length_and_inverse(float f, float g) {
    float square = f * f + g * g;
    if (quick && square > 1e-24f) {
        float inverse = fast::rsqrt(square);
        inverse = fma(0.5f * inverse, fma(-square * inverse, inverse, 1.0f), inverse);
        return float2(square * inverse, inverse);
    }
    float r = length_of(f, g);
    return float2(r, r == 0 ? 0 : 1 / r);
}

// One sweep of implicit QL over the block. Rotation (c, s) at i mixes rows i and i + 1 of Q'; i
// goes down from high - 1. The rotations are recorded in `turns` (record), and applied at once to
// the first C tiles of Q'. Returns how many there were. What a step reads is loaded a step before.
// All lanes compute the same and store the same; barriers keep fast ones from what others load.
template <uint C, bool quick>
inline uint ql_sweep(device float *d, device float *e, uint n, uint low, uint high, bool record,
                     device float2 *turns, device float *q, uint tile) {
    float g = (d[low + 1] - d[low]) / (2 * e[low]);
    g = d[high] - d[low] + e[low] / (g + copysign(length_of(g, 1), g));
    float s = 1, c = 1, p = 0, d_next = d[high];
    float carried[C + 1], row_next[C + 1];
    for (uint t = 0; t < C; t++) {
        carried[t] = q[t * tile + high * 32];
        row_next[t] = q[t * tile + (high - 1) * 32];
    }
    float e_next = e[high - 1], d_after = d[high - 1];
    uint i = high, used = 0;
    bool split = false;
    while (i > low) {
        i--;
        float e_i = e_next, d_i = d_after, x[C + 1];
        uint before = max(i, low + 1) - 1;
        e_next = e[before];
        d_after = d[before];
        for (uint t = 0; t < C; t++) {
            x[t] = row_next[t];
            row_next[t] = q[t * tile + before * 32];
        }
        simdgroup_barrier(mem_flags::mem_device);
        float f = s * e_i, b = c * e_i;
        float2 length = length_and_inverse<quick>(f, g);
        float r = length.x;
        if (i + 1 < high) {
            e[i + 1] = r;
        }
        if (r == 0) {
            d[i + 1] = d_next - p;
            i++;
            split = true;
            break;
        }
        s = f * length.y;
        c = g * length.y;
        g = d_next - p;
        d_next = d_i;
        r = (d_next - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        if (record) {
            turns[used] = float2(c, s);
        }
        used++;
        for (uint t = 0; t < C; t++) {
            q[t * tile + i * 32 + 32] = s * x[t] + c * carried[t];
            carried[t] = c * x[t] - s * carried[t];
        }
    }
    for (uint t = 0; t < C; t++) {
        q[t * tile + i * 32] = carried[t];
    }
    if (!split) {
        d[low] = d_next - p;
        e[low] = g;
    }
    if (high + 1 < n) {
        e[high] = 0;
    }
    simdgroup_barrier(mem_flags::mem_device);
    return used;
}

// All eigenvalues of a matrix that one SIMD-group keeps to itself.
template <uint C, bool vectors, bool quick>
inline void ql_matrix(ql_vectors own, device float *q, uint n, uint tile) {
    uint low = 0, total = 0;
    while (low + 1 < n) {
        uint high = block_end(own.d, own.e, n, low);
        if (high == low || total > 60 * n) {
            low++;
            continue;
        }
        ql_sweep<vectors ? C : 0, quick>(own.d, own.e, n, low, high, false, (device float2 *)own.d,
                                         q, tile);
        total++;
    }
}

// Eigenvalues (own.d) and, as the rows of Q', eigenvectors of the symmetric matrix a, by one
// SIMD-group. C tiles; rows of 32 C floats; tiles of 32 C rows and one more.
template <uint C, bool quick = false>
inline void ql_alone(ql_vectors own, device float *a, device float *q, uint n, bool vectors,
                     uint lane) {
    constexpr uint ld = 32 * C, tile = ld * 32 + 32;
    for (uint k = 0; k < n; k++) {
        reduce_column(own, a, n, ld, k, lane);
        for (uint first = k + 1; first < n; first += 4) {
            update_rows(own, a, n, ld, k, first, lane);
        }
        simdgroup_barrier(mem_flags::mem_device);
    }
    if (vectors) {
        for (uint first = 0; first < n; first += 4) {
            form_rows(own, a, q, n, ld, tile, first, lane);
        }
        ql_matrix<C, true, quick>(own, q + lane, n, tile);
    } else {
        ql_matrix<C, false, quick>(own, q, n, tile);
    }
    simdgroup_barrier(mem_flags::mem_device);
}

#endif
