// The symmetric eigenproblem by launches over many threadgroups, for GPUs:
//   1. reduction to tridiagonal form, a launch per column, in which every threadgroup finds the
//      column's reflection again and then brings its rows up to date;
//   2. divide and conquer (Cuppen 1981; Gu and Eisenstat 1995): leaves of up to 32 rows by QL, then
//      neighbours are joined, level by level. The roots of the secular equation are found by
//      bisection on the bits of their distance from a pole, so all of them take as many steps;
//   3. the reflections applied to the eigenvectors in blocks (triangular/reflectors.h).
// Eigenvectors are rows, here as everywhere in this folder.
#ifndef INGOT_KERNELS_EIGH_DIVIDE_H
#define INGOT_KERNELS_EIGH_DIVIDE_H

#include "common/memory_hints.h"
#include "eigh/tridiagonal.h"
#include "triangular/product_tiles.h"

// ---- reduction ----------------------------------------------------------------------------------

// The scale of each matrix, by a threadgroup of 1024.
[[max_total_threads_per_threadgroup(1024)]]
kernel void
eigh_measure(device const float *in [[buffer(0)]], device float *state [[buffer(1)]],
             constant eigh_args &args [[buffer(2)]], uint matrix [[threadgroup_position_in_grid]],
             uint simd [[simdgroup_index_in_threadgroup]],
             uint simds [[simdgroups_per_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float largests[32];
    threadgroup uint odds[32];
    const uint n = args.n;
    device const float *a = in + ulong(matrix) * n * n;
    float largest = 0;
    bool odd = false;
    for (uint i = simd; i < n; i += simds) {
        const uint first = args.upper ? i : 0, last = args.upper ? n : i + 1;
        for (uint j = first + lane; j < last; j += 32) {
            const float x = a[ulong(i) * n + j];
            largest = max(largest, abs(x));
            odd = odd || !isfinite(x);
        }
    }
    largest = simd_max(largest);
    odd = simd_any(odd);
    if (lane == 0) {
        largests[simd] = largest;
        odds[simd] = odd;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    largest = simd_max(lane < simds ? largests[lane] : 0);
    odd = simd_any(lane < simds && odds[lane] != 0);
    if (simd == 0 && lane == 0) {
        device eigh_state *own = state_of(state, args, matrix);
        own->scale = spectral_scale(largest);
        own->odd = odd;
        own->next = own->sweeps = own->total = 0;
    }
}

inline device float *square_of(device float *base, constant eigh_args &args, uint matrix) {
    return base + ulong(matrix) * args.ld * args.ld;
}

// Row i of the matrix, whole and scaled; 0 in row i of the reflections. A SIMD-group per row, ld
// rows.
kernel void eigh_fill(device const float *in [[buffer(0)]], device float *state [[buffer(1)]],
                      device float *work [[buffer(2)]], device float *reflections [[buffer(3)]],
                      constant eigh_args &args [[buffer(4)]],
                      uint2 group [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
    const uint n = args.n, i = group.x;
    device const float *a = in + ulong(group.y) * n * n;
    device float *row = square_of(work, args, group.y) + ulong(i) * args.ld;
    device float *reflection = square_of(reflections, args, group.y) + ulong(i) * args.ld;
    device const eigh_state *own = state_of(state, args, group.y);
    const float scale = own->odd ? 0 : own->scale;
    for (uint j = lane; j < args.ld; j += 32) {
        const bool mirrored = args.upper ? j < i : j > i;
        float x = 0;
        if (i < n && j < n) {
            x = mirrored ? a[ulong(j) * n + i] : a[ulong(i) * n + j];
        }
        row[j] = scale == 0 ? 0 : x * scale;
        reflection[j] = 0;
    }
    if (lane == 0) {
        vectors_of(state, args, group.y).tau[i] = 0;
    }
}

// The sum over a threadgroup of 256, in a fixed order; `partial` has 8 places.
inline float sum_of_group(float value, threadgroup float *partial, uint simd, uint lane) {
    value = simd_sum(value);
    if (lane == 0) {
        partial[simd] = value;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return simd_sum(lane < 8 ? partial[lane] : 0);
}

// Column args.step. p of the column before is in one half of `products`, the new one goes to the
// other. Threadgroup memory: w and v, ld floats each.
[[max_total_threads_per_threadgroup(256)]]
kernel void
eigh_step(device float *state [[buffer(0)]], device float *work [[buffer(1)]],
          device float *reflections [[buffer(2)]], device float *products [[buffer(3)]],
          constant eigh_args &args [[buffer(4)]], threadgroup float *memory [[threadgroup(0)]],
          uint2 group [[threadgroup_position_in_grid]], uint2 groups [[threadgroups_per_grid]],
          uint me [[thread_index_in_threadgroup]], uint simd [[simdgroup_index_in_threadgroup]],
          uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float partial[3][8];
    const uint n = args.n, ld = args.ld, k = args.step;
    ql_vectors own = vectors_of(state, args, group.y);
    device float *a = square_of(work, args, group.y);
    device float *row = a + ulong(k) * ld;
    device float *v_out = square_of(reflections, args, group.y) + ulong(k) * ld;
    device const float *before = v_out - ld; // not read when k is 0
    device float *p = products + ulong(group.y) * 2 * ld;
    device const float *p_before = p + (k + 1) % 2 * ld;
    threadgroup float *w = memory, *v = memory + ld;
    const uint start = k / 128 * 128;
    const bool update = k > 0;
    if (update) {
        const float tau = own.tau[k - 1];
        float dot = 0;
        for (uint j = start + me; j < n; j += 256) {
            dot = j >= k ? fma(p_before[j], before[j], dot) : dot;
        }
        dot = sum_of_group(dot, partial[0], simd, lane);
        const float back = -0.5f * tau * tau * dot;
        const float v_k = before[k], w_k = fma(tau, p_before[k], back * v_k);
        for (uint j = start + me; j < ld; j += 256) {
            const float v_j = j >= k && j < n ? before[j] : 0;
            const float w_j = j >= k && j < n ? fma(tau, p_before[j], back * v_j) : 0;
            w[j] = w_j;
            v[j] = row[j] - (v_k * w_j + w_k * v_j);
        }
    } else {
        for (uint j = me; j < ld; j += 256) {
            w[j] = 0;
            v[j] = row[j];
        }
    }
    float rest = 0;
    for (uint j = start + me; j < n; j += 256) {
        rest = j >= k + 2 ? fma(v[j], v[j], rest) : rest;
    }
    rest = sum_of_group(rest, partial[1], simd, lane); // a barrier: w and v are there
    const float diagonal = v[k], alpha = k + 1 < n ? v[k + 1] : 0;
    float beta = alpha, tau = 0, inverse = 0;
    if (rest > 0 && fma(alpha, alpha, rest) > 1e-30f) {
        beta = copysign(sqrt(fma(alpha, alpha, rest)), -alpha);
        tau = (beta - alpha) / beta;
        inverse = 1 / (alpha - beta);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = start + me; j < ld; j += 256) {
        const float x = j <= k || j >= n || tau == 0 ? 0 : j == k + 1 ? 1 : v[j] * inverse;
        v[j] = x;
        if (group.x == 0) {
            v_out[j] = x;
        }
    }
    if (group.x == 0 && me == 0) {
        own.d[k] = diagonal;
        own.e[k] = beta;
        own.tau[k] = tau;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    device float *p_out = p + k % 2 * ld;
    for (uint i = k + 1 + group.x * 8 + simd; i < n; i += groups.x * 8) {
        device float4 *mine = (device float4 *)(a + ulong(i) * ld);
        const float v_i = update ? before[i] : 0, w_i = w[i];
        float sum = 0, other = 0;
        for (uint j = (k + 1) / 128 * 32 + lane; j < ld / 4; j += 32) {
            float4 x = mine[j];
            if (update) {
                const float4 w4 = ((threadgroup const float4 *)w)[j];
                const float4 b4 = ((device const float4 *)before)[j];
                x -= v_i * w4 + w_i * b4;
                mine[j] = x;
            }
            const float4 v4 = ((threadgroup const float4 *)v)[j];
            sum = fma(x.x, v4.x, fma(x.y, v4.y, sum));
            other = fma(x.z, v4.z, fma(x.w, v4.w, other));
        }
        sum = simd_sum(sum + other);
        if (lane == 0) {
            p_out[i] = sum;
        }
    }
}

// ---- divide and conquer -------------------------------------------------------------------------

// What a join has, in arrays of ld: eigenvalues; poles, z and weights in the order of the poles;
// roots as a pole and a distance from it; which rows they are; rotations.
struct joints {
    device float *values, *next_values, *poles, *z, *weights, *distances, *cosines, *sines;
    device uint *rows, *origins, *firsts, *seconds, *counts; // counts: two for each node
    device float *factors;                                   // rho, for each node
};

inline joints joints_of(device float *base, constant eigh_divide_args &args, uint matrix) {
    device float *at = base + ulong(matrix) * EIGH_JOINT_ARRAYS * args.ld;
    const ulong ld = args.ld;
    device float *values = at + (args.turn ? ld : 0), *next = at + (args.turn ? 0 : ld);
    device uint *whole = (device uint *)(at + 8 * ld);
    return {values,         next,           at + 2 * ld,    at + 3 * ld, at + 4 * ld,
            at + 5 * ld,    at + 6 * ld,    at + 7 * ld,    whole,       whole + ld,
            whole + 2 * ld, whole + 3 * ld, whole + 4 * ld, at + 13 * ld};
}

// Rows low .. middle - 1 and middle .. high - 1 are joined.
struct eigh_node {
    uint low, middle, high;
};

inline uint boundary(constant eigh_divide_args &args, uint leaf) {
    return uint(ulong(leaf) * args.n >> args.levels);
}

inline eigh_node node_of(constant eigh_divide_args &args, uint node) {
    return {boundary(args, node << args.level),
            boundary(args, (node << args.level) + (1u << (args.level - 1))),
            boundary(args, (node + 1) << args.level)};
}

inline device float *rows_of(device float *base, constant eigh_divide_args &args, uint matrix) {
    return base + ulong(matrix) * args.ld * args.ld;
}

// A leaf by a SIMD-group: QL of its part of the tridiagonal matrix, from which what joins it to its
// neighbours was taken. Scratch memory of a leaf: 33 rows of 32 floats, and 64.
template <bool quick>
kernel void
eigh_leaf(device float *state [[buffer(0)]], device float *joint [[buffer(1)]],
          device float *vectors [[buffer(2)]], device float *scratch [[buffer(3)]],
          constant eigh_args &args [[buffer(4)]], constant eigh_divide_args &divide [[buffer(5)]],
          uint2 group [[threadgroup_position_in_grid]], uint2 groups [[threadgroups_per_grid]],
          uint lane [[thread_index_in_simdgroup]]) {
    const uint low = boundary(divide, group.x), high = boundary(divide, group.x + 1);
    const uint count = high - low;
    ql_vectors whole = vectors_of(state, args, group.y), own;
    joints at = joints_of(joint, divide, group.y);
    device float *mine = scratch + (ulong(group.y) * groups.x + group.x) * EIGH_LEAF_FLOATS;
    own.d = mine + 33 * 32;
    own.e = own.d + 32;
    const uint i = low + lane;
    float diagonal = 0;
    if (lane < count) {
        diagonal = whole.d[i];
        diagonal -= lane == 0 && low > 0 ? abs(whole.e[low - 1]) : 0;
        diagonal -= lane + 1 == count && high < divide.n ? abs(whole.e[high - 1]) : 0;
    }
    own.d[lane] = diagonal;
    own.e[lane] = lane + 1 < count ? whole.e[i] : 0;
    for (uint r = 0; r < 33; r++) {
        mine[r * 32 + lane] = r == lane ? 1 : 0;
    }
    simdgroup_barrier(mem_flags::mem_device);
    ql_matrix<1, true, quick>(own, mine + lane, count, 33 * 32);
    const float x = lane < count ? own.d[lane] : 0;
    uint rank = 0;
    for (uint j = 0; j < count; j++) {
        const float y = own.d[j];
        rank += y < x || (y == x && j < lane);
    }
    if (lane < count) {
        at.values[low + rank] = x;
    }
    device float *rows = rows_of(vectors, divide, group.y) + low;
    for (uint j = 0; j < count; j++) {
        const uint to = low + simd_broadcast(rank, ushort(j));
        if (lane < count) {
            rows[ulong(to) * divide.ld + lane] = mine[j * 32 + lane];
        }
    }
}
template [[host_name("eigh_leaf")]] [[kernel]] decltype(eigh_leaf<false>) eigh_leaf<false>;
template [[host_name("eigh_leaf_quick")]] [[kernel]] decltype(eigh_leaf<true>) eigh_leaf<true>;

// How many of the sorted values are less than x, or not more with `equal`.
inline uint values_below(device const float *values, uint count, float x, bool equal) {
    uint low = 0, high = count;
    while (low < high) {
        const uint middle = (low + high) / 2;
        const bool less = equal ? values[middle] <= x : values[middle] < x;
        low = less ? middle + 1 : low;
        high = less ? high : middle;
    }
    return low;
}

// Puts poles in order, and takes out (deflates) those whose z is nothing and those that are too
// close to the one before, after a rotation that makes its z nothing. A threadgroup for each node.
[[max_total_threads_per_threadgroup(256)]]
kernel void
eigh_join(device float *state [[buffer(0)]], device float *joint [[buffer(1)]],
          device float *vectors [[buffer(2)]], constant eigh_args &args [[buffer(3)]],
          constant eigh_divide_args &divide [[buffer(4)]],
          uint2 group [[threadgroup_position_in_grid]], uint me [[thread_index_in_threadgroup]],
          uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float largests[8];
    const eigh_node node = node_of(divide, group.x);
    const uint count = node.high - node.low, left = node.middle - node.low;
    joints at = joints_of(joint, divide, group.y);
    device const float *rows = rows_of(vectors, divide, group.y);
    const float e = vectors_of(state, args, group.y).e[node.middle - 1];
    const float root_half = 0.70710678f, rho = 2 * abs(e);
    device const float *first = at.values + node.low, *second = at.values + node.middle;
    // In order, for a start in distances (poles), cosines (z) and origins (rows).
    float largest = 0;
    for (uint j = me; j < count; j += 256) {
        const bool of_first = j < left;
        const float x = first[j];
        const uint rank = of_first ? j + values_below(second, count - left, x, false)
                                   : j - left + values_below(first, left, x, true);
        const ulong row = node.low + j;
        float z = rows[row * divide.ld + (of_first ? node.middle - 1 : node.middle)] * root_half;
        z = !of_first && e < 0 ? -z : z;
        at.distances[node.low + rank] = x;
        at.cosines[node.low + rank] = z;
        at.origins[node.low + rank] = j;
        largest = max(largest, max(abs(x), abs(z)));
    }
    largest = simd_max(largest);
    if (lane == 0) {
        largests[simd] = largest;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    if (me > 0) {
        return;
    }
    for (uint i = 1; i < 8; i++) {
        largest = max(largest, largests[i]);
    }
    const float tolerance = 8 * 5.9604645e-8f * largest;
    uint kept = 0, out = node.high, turns = 0;
    bool waiting = false;
    float pole = 0, z = 0;
    uint row = 0;
    for (uint t = node.low; t < node.high; t++) {
        float next_pole = at.distances[t], next_z = at.cosines[t];
        const uint next_row = at.origins[t];
        if (rho * abs(next_z) <= tolerance) {
            out--;
            at.poles[out] = next_pole;
            at.rows[out] = next_row;
            continue;
        }
        if (waiting) {
            const float gap = next_pole - pole;
            bool close = false;
            if (gap * min(abs(z), abs(next_z)) <= tolerance * max(abs(z), abs(next_z)) * 1.5f) {
                const float length = sqrt(fma(z, z, next_z * next_z));
                const float c = next_z / length, s = -z / length;
                close = abs(gap * c * s) <= tolerance;
                if (close) {
                    at.firsts[node.low + turns] = row;
                    at.seconds[node.low + turns] = next_row;
                    at.weights[node.low + turns] = c;
                    at.sines[node.low + turns] = s;
                    turns++;
                    out--;
                    at.poles[out] = fma(pole, c * c, next_pole * (s * s));
                    at.rows[out] = row;
                    next_pole = fma(pole, s * s, next_pole * (c * c));
                    next_z = length;
                }
            }
            if (!close) {
                at.poles[node.low + kept] = pole;
                at.z[node.low + kept] = z;
                at.rows[node.low + kept] = row;
                kept++;
            }
        }
        waiting = true;
        pole = next_pole;
        z = next_z;
        row = next_row;
    }
    if (waiting) {
        at.poles[node.low + kept] = pole;
        at.z[node.low + kept] = z;
        at.rows[node.low + kept] = row;
        kept++;
    }
    // The cosines of rotations waited in weights, since `cosines` was in use.
    for (uint t = 0; t < turns; t++) {
        at.cosines[node.low + t] = at.weights[node.low + t];
    }
    at.counts[2 * group.x] = kept;
    at.counts[2 * group.x + 1] = turns;
    at.factors[group.x] = rho;
}

// 1 + rho sum z^2 / (pole - x), x at `distance` from pole `origin`. A SIMD-group's work.
inline float secular(device const float *poles, device const float *z, uint count, float origin,
                     float distance, float rho, uint lane) {
    float sum = 0, other = 0;
    uint j = lane;
    for (; j + 32 < count; j += 64) {
        sum += fast::divide(z[j] * z[j], (poles[j] - origin) - distance);
        other += fast::divide(z[j + 32] * z[j + 32], (poles[j + 32] - origin) - distance);
    }
    if (j < count) {
        sum += fast::divide(z[j] * z[j], (poles[j] - origin) - distance);
    }
    return fma(rho, simd_sum(sum + other), 1.0f);
}

// The roots: root i lies between poles i and i + 1, the last one after the last pole. SIMD-groups
// of the grid [groups, nodes, matrices] take them in turn.
kernel void
eigh_roots(device float *joint [[buffer(0)]], constant eigh_divide_args &divide [[buffer(1)]],
           uint3 group [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]],
           uint simd [[simdgroup_index_in_threadgroup]], uint simds [[simdgroups_per_threadgroup]],
           uint lane [[thread_index_in_simdgroup]]) {
    const eigh_node node = node_of(divide, group.y);
    joints at = joints_of(joint, divide, group.z);
    const uint count = at.counts[2 * group.y];
    const float rho = at.factors[group.y];
    device const float *poles = at.poles + node.low, *z = at.z + node.low;
    for (uint i = group.x * simds + simd; i < count; i += groups.x * simds) {
        float reach = 0; // of the bracket
        uint origin = i;
        bool up = true; // from the pole
        if (i + 1 < count) {
            const float gap = poles[i + 1] - poles[i];
            reach = 0.5f * gap;
            if (secular(poles, z, count, poles[i], reach, rho, lane) < 0) {
                origin = i + 1;
                up = false;
                reach = gap - reach;
            }
        } else {
            float sum = 0;
            for (uint j = lane; j < count; j += 32) {
                sum = fma(z[j], z[j], sum);
            }
            reach = rho * simd_sum(sum) * 1.00001f;
        }
        // Between `low`, on the side of the pole, and `high`, as bits.
        uint low = 0x00800000u, high = max(as_type<uint>(reach), low);
        const float pole = poles[origin];
        while (high - low > 1) {
            const uint middle = (low + high) / 2;
            const float distance = up ? as_type<float>(middle) : -as_type<float>(middle);
            const bool positive = secular(poles, z, count, pole, distance, rho, lane) >= 0;
            high = positive == up ? middle : high;
            low = positive == up ? low : middle;
        }
        if (lane == 0) {
            at.origins[node.low + i] = origin;
            at.distances[node.low + i] = up ? as_type<float>(high) : -as_type<float>(high);
        }
    }
}

// z made anew, so that the roots are exact for it: then eigenvectors are orthogonal.
kernel void
eigh_weights(device float *joint [[buffer(0)]], constant eigh_divide_args &divide [[buffer(1)]],
             uint3 group [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]],
             uint simd [[simdgroup_index_in_threadgroup]],
             uint simds [[simdgroups_per_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    const eigh_node node = node_of(divide, group.y);
    joints at = joints_of(joint, divide, group.z);
    const uint count = at.counts[2 * group.y];
    device const float *poles = at.poles + node.low, *distances = at.distances + node.low;
    device const uint *origins = at.origins + node.low;
    for (uint j = group.x * simds + simd; j < count; j += groups.x * simds) {
        const float pole = poles[j];
        float product = 1;
        for (uint i = lane; i < count; i += 32) {
            const float apart = (poles[origins[i]] - pole) + distances[i];
            const float between = poles[i] - pole;
            product *= i == j ? apart : apart / between;
        }
        for (uint step = 16; step > 0; step /= 2) {
            product *= simd_shuffle_xor(product, ushort(step));
        }
        if (lane == 0) {
            at.weights[node.low + j] = copysign(sqrt(abs(product)), at.z[node.low + j]);
        }
    }
}

// A row for each value of the joined part, in the order of the values: its eigenvector in terms of
// the parts' ones. A SIMD-group for each.
kernel void eigh_mix(device float *joint [[buffer(0)]], device float *mixed [[buffer(1)]],
                     constant eigh_divide_args &divide [[buffer(2)]],
                     uint3 group [[threadgroup_position_in_grid]],
                     uint3 groups [[threadgroups_per_grid]],
                     uint simd [[simdgroup_index_in_threadgroup]],
                     uint simds [[simdgroups_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]]) {
    const eigh_node node = node_of(divide, group.y);
    joints at = joints_of(joint, divide, group.z);
    const uint all = node.high - node.low, count = at.counts[2 * group.y];
    const uint turns = at.counts[2 * group.y + 1];
    device const float *poles = at.poles + node.low, *distances = at.distances + node.low;
    device const uint *origins = at.origins + node.low, *rows = at.rows + node.low;
    device const uint *firsts = at.firsts + node.low, *seconds = at.seconds + node.low;
    for (uint i = group.x * simds + simd; i < all; i += groups.x * simds) {
        const float value = i < count ? poles[origins[i]] + distances[i] : poles[i];
        uint before = 0;
        for (uint j = lane; j < all; j += 32) {
            const float other = j < count ? poles[origins[j]] + distances[j] : poles[j];
            before += other < value || (other == value && j < i);
        }
        const uint rank = simd_sum(before);
        if (lane == 0) {
            at.next_values[node.low + rank] = value;
        }
        device float *row =
            rows_of(mixed, divide, group.z) + ulong(node.low + rank) * divide.ld + node.low;
        for (uint j = lane; j < all; j += 32) {
            row[j] = 0;
        }
        simdgroup_barrier(mem_flags::mem_device);
        if (i >= count) {
            if (lane == 0) {
                row[rows[i]] = 1;
            }
        } else {
            const float pole = poles[origins[i]], distance = distances[i];
            float square = 0;
            for (uint j = lane; j < count; j += 32) {
                const float x = at.weights[node.low + j] / ((poles[j] - pole) - distance);
                square = fma(x, x, square);
            }
            const float inverse = 1 / sqrt(simd_sum(square));
            for (uint j = lane; j < count; j += 32) {
                const float x = at.weights[node.low + j] / ((poles[j] - pole) - distance);
                row[rows[j]] = x * inverse;
            }
        }
        simdgroup_barrier(mem_flags::mem_device);
        if (lane == 0) {
            for (uint t = turns; t-- > 0;) {
                const uint p = firsts[t], q = seconds[t];
                const float c = at.cosines[node.low + t], s = at.sines[node.low + t];
                const float x = row[p], y = row[q];
                if (x != 0 || y != 0) {
                    row[p] = c * x - s * y;
                    row[q] = s * x + c * y;
                }
            }
        }
    }
}

// Columns of one part of the joined eigenvectors: the mixture times the part's ones. The grid is
// [matrices * nodes * 2, columns of tiles, rows of tiles].
template <uint PER>
[[max_total_threads_per_threadgroup(PRODUCT_THREADS)]]
kernel void
eigh_multiply(device const float *mixed [[buffer(0)]], device const float *vectors [[buffer(1)]],
              device float *next [[buffer(2)]], constant eigh_divide_args &divide [[buffer(3)]],
              uint3 group [[threadgroup_position_in_grid]],
              uint me [[thread_index_in_threadgroup]]) {
    threads_at_once(512);
    threadgroup product_shared<PER> shared;
    const uint nodes = 1u << (divide.levels - divide.level), half_of = group.x % 2;
    const eigh_node node = node_of(divide, group.x / 2 % nodes);
    const ulong matrix = group.x / 2 / nodes, ld = divide.ld;
    const uint first = half_of ? node.middle : node.low, last = half_of ? node.high : node.middle;
    product_args args;
    args.a_row = args.b_row = args.c_row = long(ld);
    args.a_column = args.b_column = 1;
    args.m = node.high - node.low;
    args.n = args.k = args.depth = last - first;
    args.part = PRODUCT_WHOLE;
    args.add = 0;
    args.alpha = 1;
    args.fours = first % 4 == 0;
    const uint column = group.y * 16 * PER, row = group.z * 16 * PER;
    if (product_has<PER>(args, row, column)) {
        mixed += matrix * ld * ld + node.low * ld + first;
        vectors += matrix * ld * ld + first * ld + first;
        next += matrix * ld * ld + node.low * ld + first;
        product_tile<PER>(mixed, vectors, next, args, shared, row, column, 0, me);
    }
}
template [[host_name("eigh_multiply_64")]] [[kernel]] decltype(eigh_multiply<PRODUCT_PER>)
    eigh_multiply<PRODUCT_PER>;
template [[host_name("eigh_multiply_128")]] [[kernel]] decltype(eigh_multiply<PRODUCT_PER_WIDE>)
    eigh_multiply<PRODUCT_PER_WIDE>;

// Values and vectors as they are wanted. A threadgroup of 32 by 8 turns a tile of 32 by 32.
kernel void eigh_output(device float *state [[buffer(0)]], device float *joint [[buffer(1)]],
                        device const float *vectors [[buffer(2)]],
                        device float *values [[buffer(3)]], device float *out [[buffer(4)]],
                        constant eigh_args &args [[buffer(5)]],
                        constant eigh_divide_args &divide [[buffer(6)]],
                        uint3 group [[threadgroup_position_in_grid]],
                        uint simd [[simdgroup_index_in_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float tile[32][33];
    const uint n = args.n, i = group.x * 32, j = group.y * 32; // rows of vectors and their elements
    const ulong matrix = group.z;
    device const eigh_state *own = state_of(state, args, group.z);
    vectors += matrix * divide.ld * divide.ld;
    for (uint r = simd; r < 32; r += 8) {
        tile[r][lane] =
            i + r < n && j + lane < n ? vectors[ulong(i + r) * divide.ld + j + lane] : 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint r = simd; r < 32; r += 8) {
        if (j + r < n && i + lane < n) {
            out[matrix * n * n + ulong(j + r) * n + i + lane] = own->odd ? NAN : tile[lane][r];
        }
    }
    if (j == 0 && simd == 0 && i + lane < n) {
        const float value = joints_of(joint, divide, group.z).values[i + lane];
        values[matrix * n + i + lane] = own->odd ? NAN : value / own->scale;
    }
}

#endif
