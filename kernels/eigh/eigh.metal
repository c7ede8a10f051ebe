// Eigenvalues and eigenvectors of symmetric matrices: Jacobi for small ones, tridiagonal.h for others.
#include <metal_stdlib>
using namespace metal;
#include "common/spectral.h"
#include "eigh/eigh_args.h"
#include "eigh/tridiagonal.h"
#include "eigh/divide.h"

// ---- up to 64 x 64: two-sided Jacobi, one matrix per SIMD-group --------------------------------
//
// A lane owns columns lane and lane + 32. In round r column j meets column j ^ r: all pairs
// of a power of two are met in as many rounds less one, and a round's pairs are disjoint, so their
// rotations are found at once and applied together: rows by pairs of rows, columns by an exchange of
// lanes. The rows of `v` become the eigenvectors. Rotations are the small ones (at most 45 degrees).

// The other columns' values: those of lane ^ (r % 32), of the other chunk when r >= 32.
template <uint C>
inline void exchange(thread const float *x, thread float *y, uint r) {
    for (uint c = 0; c < C; c++) {
        y[c] = simd_shuffle_xor(C == 2 && r >= 32 ? x[C - 1 - c] : x[c], ushort(r % 32));
    }
}

// The largest off-diagonal element that it met, before its rotation.
template <uint C, typename P>
inline float jacobi_round(P a, P v, threadgroup float2 *turns, thread float *diagonal, uint n, uint r,
                          uint half_count, bool vectors, uint lane) {
    constexpr uint ld = 32 * C;
    float other_diagonal[C], cosine[C], sine[C], off = 0;
    exchange<C>(diagonal, other_diagonal, r);
    for (uint c = 0; c < C; c++) {
        uint j = lane + 32 * c, other = j ^ r;
        // Both lanes of a pair take the same element: rounding makes a little unsymmetric.
        uint low = min(j, other), high = max(j, other);
        float x = high < n ? a[low * ld + high] : 0;
        off = max(off, abs(x));
        float theta = (other_diagonal[c] - diagonal[c]) / (2 * x);
        float t = 1 / (abs(theta) + sqrt(1 + theta * theta));
        t = theta < 0 || (theta == 0 && j > other) ? -t : t;
        // A theta that overflows is a rotation by nothing, and so is one of a zero.
        t = abs(x) > 1e-30f * (abs(diagonal[c]) + abs(other_diagonal[c])) && abs(theta) < 1e18f ? t : 0;
        cosine[c] = rsqrt(1 + t * t);
        sine[c] = -t * cosine[c];
        diagonal[c] -= t * x;
        turns[j] = float2(cosine[c], sine[c]);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    uint top = 31 - clz(r), low = (1u << top) - 1;
    for (uint k = 0; k < half_count; k++) {
        uint p = ((k & ~low) << 1) | (k & low), q = p ^ r;
        if (p >= n) {
            break;
        }
        bool pair = q < n;
        uint q_row = pair ? q : p;
        float2 turn = turns[p];
        float x[C], y[C], x_other[C], y_other[C];
        for (uint c = 0; c < C; c++) {
            float x_old = a[p * ld + 32 * c + lane], y_old = a[q_row * ld + 32 * c + lane];
            x[c] = turn.x * x_old + turn.y * y_old;
            y[c] = turn.x * y_old - turn.y * x_old;
        }
        exchange<C>(x, x_other, r);
        exchange<C>(y, y_other, r);
        for (uint c = 0; c < C; c++) {
            if (pair) {
                a[q * ld + 32 * c + lane] = cosine[c] * y[c] + sine[c] * y_other[c];
            }
            a[p * ld + 32 * c + lane] = cosine[c] * x[c] + sine[c] * x_other[c];
        }
        if (vectors && pair) {
            for (uint c = 0; c < C; c++) {
                float x_old = v[p * ld + 32 * c + lane], y_old = v[q * ld + 32 * c + lane];
                v[p * ld + 32 * c + lane] = turn.x * x_old + turn.y * y_old;
                v[q * ld + 32 * c + lane] = turn.x * y_old - turn.y * x_old;
            }
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    return off;
}

template <uint C, typename P>
inline void jacobi_matrix(device const float *in, device float *values, device float *out, P a, P v,
                          threadgroup float2 *turns, constant eigh_args &args, uint lane) {
    constexpr uint ld = 32 * C;
    uint n = args.n;
    bool vectors = args.vectors;
    float largest = 0;
    bool odd = false;
    for (uint i = 0; i < n; i++) {
        for (uint c = 0; c < C; c++) {
            uint j = lane + 32 * c;
            bool mirrored = args.upper ? j < i : j > i;
            float x = j < n ? in[mirrored ? j * n + i : i * n + j] : 0;
            largest = max(largest, abs(x));
            odd = odd || !isfinite(x);
            a[i * ld + j] = x;
            if (vectors) {
                v[i * ld + j] = i == j ? 1 : 0;
            }
        }
    }
    largest = simd_max(largest);
    odd = simd_any(odd);
    float scale = spectral_scale(largest), diagonal[C];
    for (uint i = 0; i < n; i++) {
        for (uint c = 0; c < C; c++) {
            a[i * ld + 32 * c + lane] *= scale;
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    for (uint c = 0; c < C; c++) {
        uint j = lane + 32 * c;
        diagonal[c] = j < n ? a[j * ld + j] : 0;
    }
    uint rounds = 1;
    while (rounds < n) {
        rounds *= 2;
    }
    for (uint sweep = 0; sweep < 20 && !odd; sweep++) {
        float off = 0;
        for (uint r = 1; r < rounds; r++) {
            off = max(off, jacobi_round<C>(a, v, turns, diagonal, n, r, rounds / 2, vectors, lane));
        }
        if (simd_max(off) <= 1e-5f) {
            break;
        }
    }
    // Rank of each eigenvalue, equal ones in the order of their columns.
    for (uint c = 0; c < C; c++) {
        turns[lane + 32 * c].x = diagonal[c];
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    uint rank[C];
    for (uint c = 0; c < C; c++) {
        rank[c] = 0;
    }
    for (uint i = 0; i < n; i++) {
        float x = turns[i].x;
        for (uint c = 0; c < C; c++) {
            rank[c] += x < diagonal[c] || (x == diagonal[c] && i < lane + 32 * c);
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint c = 0; c < C; c++) {
        uint j = lane + 32 * c;
        if (j < n) {
            uint place = odd ? j : rank[c];
            values[place] = odd ? NAN : diagonal[c] / scale;
            turns[place].y = as_type<float>(j);
        }
    }
    if (!vectors) {
        return;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint c = 0; c < C; c++) {
        uint j = lane + 32 * c;
        if (j < n) {
            uint from = as_type<uint>(turns[j].y);
            for (uint i = 0; i < n; i++) {
                out[i * n + j] = odd ? NAN : v[from * ld + i];
            }
        }
    }
}

#define JACOBI_PARAMETERS                                                                          \
    device const float *a [[buffer(0)]], device float *values [[buffer(1)]],                       \
        device float *out [[buffer(2)]], device float *work [[buffer(3)]],                         \
        constant eigh_args &args [[buffer(4)]], threadgroup float *memory [[threadgroup(0)]],      \
        uint3 group [[threadgroup_position_in_grid]], uint simd [[simdgroup_index_in_threadgroup]], \
        uint lane [[thread_index_in_simdgroup]]

// Both matrices in threadgroup memory: 64 + 2048 floats per SIMD-group.
kernel void eigh_jacobi_32(JACOBI_PARAMETERS) {
    ulong matrix = ulong(group.x) * args.per_group + simd;
    if (matrix >= args.count) {
        return;
    }
    threadgroup float *own = memory + simd * (64 + 2048);
    jacobi_matrix<1>(a + matrix * args.n * args.n, values + matrix * args.n, out + matrix * args.n * args.n,
                     own + 64, own + 64 + 1024,
                     (threadgroup float2 *)own, args, lane);
}

// Both matrices in device memory (work: 8192 floats each), 128 floats in threadgroup memory.
kernel void eigh_jacobi_64(JACOBI_PARAMETERS) {
    ulong matrix = ulong(group.x) * args.per_group + simd;
    if (matrix >= args.count) {
        return;
    }
    device float *own = work + matrix * 8192;
    jacobi_matrix<2>(a + matrix * args.n * args.n, values + matrix * args.n, out + matrix * args.n * args.n,
                     own, own + 4096,
                     (threadgroup float2 *)(memory + simd * 128), args, lane);
}
