// The same steps by whole threadgroups, for GPUs: a SIMD-group for each pair of columns of a round,
// and products (triangular/product.h) instead of svd_form_gram and most of svd_start.
#ifndef INGOT_KERNELS_SVD_SHARED_H
#define INGOT_KERNELS_SVD_SHARED_H

// A threadgroup of 1024 per matrix.
[[max_total_threads_per_threadgroup(1024)]]
kernel void svd_scale_shared(device const float *in [[buffer(0)]],
                             device float *states [[buffer(1)]],
                             constant svd_args &args [[buffer(2)]],
                             uint3 group [[threadgroup_position_in_grid]],
                             uint simd [[simdgroup_index_in_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float largests[32];
    threadgroup uint odds[32];
    const ulong size = ulong(args.length) * args.count;
    in += ulong(group.y) * size;
    float largest = 0;
    bool odd = false;
    for (ulong i = simd * 32 + lane; i < size; i += 1024) {
        const float x = in[i];
        largest = max(largest, abs(x));
        odd = odd || !isfinite(x);
    }
    largest = simd_max(largest);
    odd = simd_any(odd);
    if (lane == 0) {
        largests[simd] = largest;
        odds[simd] = odd;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    largest = simd_max(largests[lane]);
    odd = simd_any(odds[lane] != 0);
    device svd_state *state = svd_own_of(states, args, group.y).state;
    if (simd > 0) {
        return;
    }
    if (lane == 0) {
        state->scale = spectral_scale(largest);
        state->odd = odd;
        state->alike = 0;
    }
    if (lane < SVD_MAX_SWEEPS) {
        state->worst[lane] = 0;
    }
}

[[max_total_threads_per_threadgroup(1024)]]
kernel void svd_compare_shared(device float *states [[buffer(0)]],
                               device const float *columns [[buffer(1)]],
                               constant svd_args &args [[buffer(2)]],
                               uint3 group [[threadgroup_position_in_grid]],
                               uint simd [[simdgroup_index_in_threadgroup]],
                               uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float leasts[32], mosts[32];
    device const float *own = columns + ulong(group.y) * args.count * args.columns_row;
    float least = INFINITY, most = 0;
    for (uint i = simd; i < args.count; i += 32) {
        device const float *column = own + ulong(i) * args.columns_row;
        const float square = svd_product<0>(column, column, args.padded / 32, lane);
        least = min(least, square);
        most = max(most, square);
    }
    if (lane == 0) {
        leasts[simd] = least;
        mosts[simd] = most;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    least = simd_min(leasts[lane]);
    most = simd_max(mosts[lane]);
    if (simd == 0 && lane == 0) {
        svd_own_of(states, args, group.y).state->alike = most <= svd_alike * least;
    }
}

// Row group.x of `work`, whose columns times the eigenvectors stand there already: V', and where
// columns are not alike the column as it is. A SIMD-group for each.
kernel void svd_start_shared(device float *states [[buffer(0)]],
                             device const float *columns [[buffer(1)]],
                             device const float *vectors [[buffer(2)]],
                             device float *work [[buffer(3)]],
                             constant svd_args &args [[buffer(4)]],
                             uint3 group [[threadgroup_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]]) {
    const uint i = group.x, count = args.count;
    const bool alike = svd_own_of(states, args, group.y).state->alike;
    device const float *from =
        columns + ulong(group.y) * count * args.columns_row + ulong(i) * args.columns_row;
    device float *row = svd_work_of(work, args, group.y) + ulong(i) * args.row;
    vectors += ulong(group.y) * count * count;
    for (uint l = lane; l < args.padded; l += 32) {
        row[l] = l >= args.length ? 0 : alike ? row[l] : from[l];
    }
    for (uint k = lane; k < args.vector; k += 32) {
        const float unit = k == i ? 1 : 0;
        row[args.padded + k] = k >= count ? 0 : alike ? vectors[ulong(k) * count + i] : unit;
    }
}

inline float4 svd_rotated(float4 x, float4 y, float2 turn) {
    return turn.x * x - turn.y * y;
}

// One round of blocks: a threadgroup of 32 SIMD-groups for each pair of blocks of 32 columns.
[[max_total_threads_per_threadgroup(1024)]]
kernel void svd_rotate_shared(device float *states [[buffer(0)]], device float *work [[buffer(1)]],
                              constant svd_args &args [[buffer(2)]],
                              uint3 group [[threadgroup_position_in_grid]],
                              uint simd [[simdgroup_index_in_threadgroup]],
                              uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float squares[64];
    device svd_state *state = svd_own_of(states, args, group.y).state;
    const bool done = args.sweep > 0 && as_type<float>(state->worst[args.sweep - 1]) <= svd_close;
    const uint2 blocks = svd_pair<false>(args.round, group.x, args.blocks, false) * 32;
    const bool alone = blocks.y >= args.count;
    if (done || state->odd || (alone && args.round > 0)) {
        return;
    }
    device float *own = svd_work_of(work, args, group.y);
    const uint low_count = min(32u, args.count - blocks.x);
    const uint high_count = alone ? 0 : min(32u, args.count - blocks.y);
    const uint fours = args.padded / 4, all = args.row / 4;
#pragma unroll
    for (uint h = 0; h < 2; h++) {
        if (simd < (h ? high_count : low_count)) {
            device const float *column = own + ulong((h ? blocks.y : blocks.x) + simd) * args.row;
            const float square = svd_product<0>(column, column, args.padded / 32, lane);
            if (lane == 0) {
                squares[h * 32 + simd] = square;
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    const float tolerance = svd_tolerance(args.length);
    float worst = 0;
    const uint rounds = args.round == 0 ? 63 : 32;
    for (uint round = 0; round < rounds; round++) {
        const uint2 pair = svd_pair<true>(round, simd, 64, args.round > 0);
        const bool valid =
            (pair.x >= 32 || pair.x < low_count) && (pair.x < 32 || pair.x - 32 < high_count) &&
            (pair.y >= 32 || pair.y < low_count) && (pair.y < 32 || pair.y - 32 < high_count);
        if (valid) {
            const uint i = pair.x >= 32 ? blocks.y + pair.x - 32 : blocks.x + pair.x;
            const uint j = pair.y >= 32 ? blocks.y + pair.y - 32 : blocks.x + pair.y;
            device float4 *p = (device float4 *)(own + ulong(i) * args.row);
            device float4 *q = (device float4 *)(own + ulong(j) * args.row);
            float sum = 0, other = 0;
            for (uint at = lane; at < fours; at += 32) {
                const float4 a = p[at], b = q[at];
                sum = fma(a.x, b.x, fma(a.y, b.y, sum));
                other = fma(a.z, b.z, fma(a.w, b.w, other));
            }
            const float product = simd_sum(sum + other);
            const float x = squares[pair.x], y = squares[pair.y], size = sqrt(x) * sqrt(y);
            if (abs(product) > tolerance * size && size > 1e-30f) {
                const float zeta = (y - x) / (2 * product);
                const float t = abs(zeta) > 1e15f
                                    ? 0.5f / zeta
                                    : copysign(1 / (abs(zeta) + sqrt(1 + zeta * zeta)), zeta);
                const float c = rsqrt(1 + t * t);
                const float2 turn = float2(c, t * c), back = float2(c, -t * c);
                worst = max(worst, abs(product) / size);
                simdgroup_barrier(mem_flags::mem_threadgroup);
                if (lane == 0) {
                    squares[pair.x] = max(x - t * product, 0.0f);
                    squares[pair.y] = max(y + t * product, 0.0f);
                }
                for (uint at = lane; at < all; at += 32) {
                    const float4 a = p[at], b = q[at];
                    p[at] = svd_rotated(a, b, turn);
                    q[at] = svd_rotated(b, a, back);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    }
    if (lane == 0) {
        atomic_fetch_max_explicit((device atomic_uint *)&state->worst[args.sweep],
                                  as_type<uint>(worst), memory_order_relaxed);
    }
}

#endif
