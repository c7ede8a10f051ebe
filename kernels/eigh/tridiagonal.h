// Symmetric eigenproblems beyond 64 x 64, in three stages that are launches of their own:
//   1. reduction to tridiagonal form T by Householder reflections, a column per two launches;
//      the update of one column and the product for the next share a pass over the matrix;
//   2. Q, the product of the reflections, formed as its transpose;
//   3. implicit QL on T: one SIMD-group finds rotations and records them, then all tiles of 32
//      columns of Q' apply them, each on its own.
// (Golub and Van Loan, Matrix Computations, sections 8.3 and 8.4.)
#ifndef INGOT_KERNELS_EIGH_TRIDIAGONAL_H
#define INGOT_KERNELS_EIGH_TRIDIAGONAL_H

#include "common/householder_ql.h"
#include "eigh/eigh_args.h"

// Scratch memory of one matrix, `state`: its eigh_state, then its vectors.
inline ql_vectors vectors_of(device float *state, constant eigh_args &args, uint matrix) {
    device float *at = state + ulong(matrix) * (8 + 5 * ulong(args.ld)) + 8;
    return {at, at + args.ld, at + 2 * args.ld, at + 3 * args.ld, at + 4 * args.ld};
}

inline device eigh_state *state_of(device float *state, constant eigh_args &args, uint matrix) {
    return (device eigh_state *)(state + ulong(matrix) * (8 + 5 * ulong(args.ld)));
}

inline device float *matrix_of(device float *base, constant eigh_args &args, uint matrix) {
    return base + ulong(matrix) * args.n * args.ld;
}

// The scale of each matrix, one SIMD-group each.
kernel void eigh_scale(device const float *in [[buffer(0)]], device float *state [[buffer(1)]],
                       constant eigh_args &args [[buffer(2)]],
                       uint matrix [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
    uint n = args.n;
    device const float *a = in + ulong(matrix) * n * n;
    float largest = 0;
    bool odd = false;
    for (uint i = 0; i < n; i++) {
        uint first = args.upper ? i : 0, last = args.upper ? n : i + 1;
        for (uint j = first / 32 * 32 + lane; j < last; j += 32) {
            float x = j >= first ? a[ulong(i) * n + j] : 0;
            largest = max(largest, abs(x));
            odd = odd || !isfinite(x);
        }
    }
    largest = simd_max(largest);
    odd = simd_any(odd);
    if (lane == 0) {
        device eigh_state *own = state_of(state, args, matrix);
        own->scale = spectral_scale(largest);
        own->odd = odd;
        own->next = odd ? n : 0;
        own->sweeps = 0;
        own->total = 0;
    }
}

// The matrix, whole, scaled, with rows of ld floats. A SIMD-group per row.
kernel void eigh_load(device const float *in [[buffer(0)]], device float *state [[buffer(1)]],
                      device float *work [[buffer(2)]], constant eigh_args &args [[buffer(3)]],
                      uint2 group [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
    uint n = args.n, i = group.x;
    device const float *a = in + ulong(group.y) * n * n;
    device float *row = matrix_of(work, args, group.y) + ulong(i) * args.ld;
    device const eigh_state *own = state_of(state, args, group.y);
    float scale = own->odd ? 0 : own->scale;
    for (uint j = lane; j < args.ld; j += 32) {
        bool mirrored = args.upper ? j < i : j > i;
        float x = 0;
        if (j < n) {
            x = mirrored ? a[ulong(j) * n + i] : a[ulong(i) * n + j];
        }
        row[j] = scale == 0 ? 0 : x * scale;
    }
}

// ---- as kernels of their own
// ---------------------------------------------------------------------

// A SIMD-group per matrix.
kernel void eigh_column(device float *state [[buffer(0)]], device float *work [[buffer(1)]],
                        constant eigh_args &args [[buffer(2)]],
                        uint matrix [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]]) {
    reduce_column(vectors_of(state, args, matrix), matrix_of(work, args, matrix), args.n, args.ld,
                  args.step, lane);
}

// A SIMD-group takes 4 rows.
kernel void eigh_update(device float *state [[buffer(0)]], device float *work [[buffer(1)]],
                        constant eigh_args &args [[buffer(2)]],
                        uint3 group [[threadgroup_position_in_grid]],
                        uint simd [[simdgroup_index_in_threadgroup]],
                        uint simds [[simdgroups_per_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]]) {
    uint first = args.step + 1 + 4 * (group.x * simds + simd);
    if (first < args.n) {
        update_rows(vectors_of(state, args, group.y), matrix_of(work, args, group.y), args.n,
                    args.ld, args.step, first, lane);
    }
}

// All columns in one launch, a threadgroup per matrix.
[[max_total_threads_per_threadgroup(1024)]]
kernel void
eigh_reduce(device float *state [[buffer(0)]], device float *work [[buffer(1)]],
            constant eigh_args &args [[buffer(2)]], uint matrix [[threadgroup_position_in_grid]],
            uint simd [[simdgroup_index_in_threadgroup]], uint simds [[simdgroups_per_threadgroup]],
            uint lane [[thread_index_in_simdgroup]]) {
    ql_vectors own = vectors_of(state, args, matrix);
    device float *a = matrix_of(work, args, matrix);
    for (uint k = 0; k < args.n; k++) {
        if (simd == 0) {
            reduce_column(own, a, args.n, args.ld, k, lane);
        }
        threadgroup_barrier(mem_flags::mem_device);
        for (uint first = k + 1 + 4 * simd; first < args.n; first += 4 * simds) {
            update_rows(own, a, args.n, args.ld, k, first, lane);
        }
        threadgroup_barrier(mem_flags::mem_device);
    }
}

// A SIMD-group takes 4 rows.
kernel void eigh_form(device float *state [[buffer(0)]], device float *work [[buffer(1)]],
                      device float *q [[buffer(2)]], constant eigh_args &args [[buffer(3)]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint simd [[simdgroup_index_in_threadgroup]],
                      uint simds [[simdgroups_per_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]]) {
    uint first = 4 * (group.x * simds + simd);
    if (first < args.n) {
        form_rows(vectors_of(state, args, group.y), matrix_of(work, args, group.y),
                  q + ulong(group.y) * (args.ld / 32) * args.tile, args.n, args.ld, args.tile,
                  first, lane);
    }
}

// QL until all eigenvalues are found or the record of rotations is full. A SIMD-group per matrix.
template <bool quick>
kernel void eigh_ql(device float *state [[buffer(0)]], device float2 *turns [[buffer(1)]],
                    device uint2 *sweeps [[buffer(2)]], constant eigh_args &args [[buffer(3)]],
                    uint matrix [[threadgroup_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]]) {
    uint n = args.n;
    device eigh_state *status = state_of(state, args, matrix);
    ql_vectors own = vectors_of(state, args, matrix);
    turns += ulong(matrix) * args.rotations;
    sweeps += ulong(matrix) * args.sweeps;
    uint low = status->next, total = status->total, used = 0, recorded = 0;
    bool record = args.vectors;
    while (low + 1 < n) {
        uint high = block_end(own.d, own.e, n, low);
        if (high == low || total > 60 * n) {
            low++;
            continue;
        }
        if (record && (used + (high - low) > args.rotations || recorded >= args.sweeps)) {
            break;
        }
        uint count = ql_sweep<0, quick>(own.d, own.e, n, low, high, record, turns + used, state, 0);
        if (record && count > 0) {
            sweeps[recorded] = uint2(high - 1, count);
            used += count;
            recorded++;
        }
        total++;
    }
    simdgroup_barrier(mem_flags::mem_device); // all have read the state
    if (lane == 0) {
        status->next = low + 1 < n ? low : n;
        status->sweeps = recorded;
        status->total = total;
    }
}

template [[host_name("eigh_ql")]] [[kernel]] decltype(eigh_ql<false>) eigh_ql<false>;
template [[host_name("eigh_ql_quick")]] [[kernel]] decltype(eigh_ql<true>) eigh_ql<true>;

// Applies the recorded rotations to one tile of Q'. A SIMD-group per tile.
kernel void eigh_rotate(device float *state [[buffer(0)]], device const float2 *turns [[buffer(1)]],
                        device const uint2 *sweeps [[buffer(2)]], device float *q [[buffer(3)]],
                        constant eigh_args &args [[buffer(4)]],
                        uint3 group [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]]) {
    device const eigh_state *status = state_of(state, args, group.y);
    device float *tile = q + (ulong(group.y) * (args.ld / 32) + group.x) * args.tile + lane;
    turns += ulong(group.y) * args.rotations;
    sweeps += ulong(group.y) * args.sweeps;
    uint count = status->sweeps;
    for (uint sweep = 0; sweep < count; sweep++) {
        uint2 head = sweeps[sweep];
        device float *row = tile + head.x * 32;
        float carried = row[32];
        uint t = 0;
        for (; t + 8 <= head.y; t += 8) { // eight rows are loaded before they are needed
            float x[8];
            float2 turn[8];
            for (uint i = 0; i < 8; i++) {
                x[i] = *(row - 32 * i);
                turn[i] = turns[t + i];
            }
            for (uint i = 0; i < 8; i++) {
                row[32] = turn[i].y * x[i] + turn[i].x * carried;
                carried = turn[i].x * x[i] - turn[i].y * carried;
                row -= 32;
            }
        }
        for (; t < head.y; t++) {
            float2 turn = turns[t];
            float x = row[0];
            row[32] = turn.y * x + turn.x * carried;
            carried = turn.x * x - turn.y * carried;
            row -= 32;
        }
        row[32] = carried;
        turns += head.y;
    }
}

// Eigenvalues in order, and which row of Q' each place gets (in `p`). A SIMD-group for 32 of them.
kernel void eigh_order(device float *state [[buffer(0)]], device float *values [[buffer(1)]],
                       constant eigh_args &args [[buffer(2)]],
                       uint3 group [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
    uint n = args.n, j = group.x * 32 + lane;
    device const eigh_state *status = state_of(state, args, group.y);
    ql_vectors own = vectors_of(state, args, group.y);
    float x = j < n ? own.d[j] : 0;
    uint rank = 0;
    for (uint i = 0; i < n; i++) {
        float y = own.d[i];
        rank += y < x || (y == x && i < j);
    }
    if (j < n) {
        rank = status->odd ? j : rank;
        values[ulong(group.y) * n + rank] = status->odd ? NAN : x / status->scale;
        ((device uint *)own.p)[rank] = j;
    }
}

// A SIMD-group writes 32 rows of the eigenvectors' matrix, which are one tile of Q'.
kernel void eigh_store(device float *state [[buffer(0)]], device const float *q [[buffer(1)]],
                       device float *out [[buffer(2)]], constant eigh_args &args [[buffer(3)]],
                       uint3 group [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
    uint n = args.n, rows = min(32u, n - group.x * 32);
    device const eigh_state *status = state_of(state, args, group.y);
    device const uint *from = (device const uint *)vectors_of(state, args, group.y).p;
    device const float *tile = q + (ulong(group.y) * (args.ld / 32) + group.x) * args.tile;
    out += ulong(group.y) * n * n + ulong(group.x) * 32 * n;
    bool odd = status->odd;
    for (uint j = lane; j < n; j += 32) {
        device const float *column = tile + from[j] * 32;
        for (uint i = 0; i < rows; i++) {
            out[ulong(i) * n + j] = odd ? NAN : column[i];
        }
    }
}

// ---- small matrices: all of it by one SIMD-group
// ---------------------------------------------------

// C tiles: up to 32 C rows. Scratch memory as above, in `state`, then the matrix, then Q'.
template <uint C, bool quick>
kernel void
eigh_small(device const float *in [[buffer(0)]], device float *values [[buffer(1)]],
           device float *out [[buffer(2)]], device float *scratch [[buffer(3)]],
           constant eigh_args &args [[buffer(4)]], uint3 group [[threadgroup_position_in_grid]],
           uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint ld = 32 * C, tile = ld * 32 + 32, vector_floats = 5 * ld;
    ulong matrix = ulong(group.x) * args.per_group + simd;
    if (matrix >= args.count) {
        return;
    }
    uint n = args.n;
    device float *base = scratch + matrix * (vector_floats + ld * ld + C * tile);
    ql_vectors own = {base, base + ld, base + 2 * ld, base + 3 * ld, base + 4 * ld};
    device float *a = base + vector_floats, *q = a + ld * ld;
    in += matrix * n * n;
    values += matrix * n;
    out += matrix * n * n;
    float largest = 0;
    bool odd = false;
    for (uint i = 0; i < n; i++) {
        for (uint j = lane; j < ld; j += 32) {
            bool mirrored = args.upper ? j < i : j > i;
            float x = j < n ? in[mirrored ? j * n + i : i * n + j] : 0;
            largest = max(largest, abs(x));
            odd = odd || !isfinite(x);
            a[i * ld + j] = x;
        }
    }
    float scale = spectral_scale(simd_max(largest));
    odd = simd_any(odd);
    for (uint i = 0; i < n; i++) {
        for (uint j = lane; j < ld; j += 32) {
            a[i * ld + j] *= scale;
        }
    }
    simdgroup_barrier(mem_flags::mem_device);
    if (!odd) {
        ql_alone<C, quick>(own, a, q, n, args.vectors, lane);
    }
    simdgroup_barrier(mem_flags::mem_device);
    for (uint j = lane; j < n; j += 32) {
        float x = own.d[j];
        uint rank = 0;
        for (uint i = 0; i < n; i++) {
            float y = own.d[i];
            rank += y < x || (y == x && i < j);
        }
        rank = odd ? j : rank;
        values[rank] = odd ? NAN : x / scale;
        ((device uint *)own.p)[rank] = j;
    }
    if (!args.vectors) {
        return;
    }
    simdgroup_barrier(mem_flags::mem_device);
    for (uint j = lane; j < n; j += 32) {
        device const float *column = q + ((device const uint *)own.p)[j] * 32;
        for (uint i = 0; i < n; i++) {
            out[i * n + j] = odd ? NAN : column[i / 32 * tile + i % 32];
        }
    }
}
template
    [[host_name("eigh_small_32")]] [[kernel]] decltype(eigh_small<1, false>) eigh_small<1, false>;
template
    [[host_name("eigh_small_64")]] [[kernel]] decltype(eigh_small<2, false>) eigh_small<2, false>;
template
    [[host_name("eigh_quick_32")]] [[kernel]] decltype(eigh_small<1, true>) eigh_small<1, true>;
template
    [[host_name("eigh_quick_64")]] [[kernel]] decltype(eigh_small<2, true>) eigh_small<2, true>;

#endif
