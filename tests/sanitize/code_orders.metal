// Sorts, scans, histograms and compactions, as public code has them: mistakes and the same kernels without them.
// SANITIZE: bounds,alignment,race,barrier,uninitialised,lanes,arithmetic
// RUN: kernel=bitonic_inner_wrong threads=64 group=64
// ARG 0: u32[64] = (i * 37) % 64
// RUN: kernel=bitonic_inner_right threads=64 group=64
// ARG 0: u32[64] = (i * 37) % 64
// RUN: kernel=bitonic_both_sides_wrong threads=32 group=32
// ARG 0: u32[32] = (i * 37) % 64
// RUN: kernel=bitonic_both_sides_right threads=32 group=32
// ARG 0: u32[32] = (i * 37) % 64
// RUN: kernel=bitonic_barrier_inside_wrong threads=64 group=64
// ARG 0: u32[64] = (i * 37) % 64
// RUN: kernel=bitonic_barrier_inside_right threads=64 group=64
// ARG 0: u32[64] = (i * 37) % 64
// RUN: kernel=merge_of_two_wrong threads=32 group=32
// ARG 0: u32[32] = i < 16 ? i + 100 : i - 16
// ARG 1: u32[32]
// RUN: kernel=merge_of_two_right threads=32 group=32
// ARG 0: u32[32] = i < 16 ? i + 100 : i - 16
// ARG 1: u32[32]
// RUN: kernel=scan_with_one_barrier_wrong threads=64 group=64
// ARG 0: u32[64] = 1
// RUN: kernel=scan_with_one_barrier_right threads=64 group=64
// ARG 0: u32[64] = 1
// RUN: kernel=totals_without_barrier_wrong threads=128 group=128
// ARG 0: u32[128] = 1
// RUN: kernel=totals_without_barrier_right threads=128 group=128
// ARG 0: u32[128] = 1
// RUN: kernel=total_before_the_first_wrong threads=128 group=128
// ARG 0: u32[128] = 1
// RUN: kernel=total_before_the_first_right threads=128 group=128
// ARG 0: u32[128] = 1
// RUN: kernel=totals_of_all_simdgroups_wrong threads=128 group=128
// ARG 0: f32[128] = 1
// ARG 1: f32[1]
// RUN: kernel=totals_of_all_simdgroups_right threads=128 group=128
// ARG 0: f32[128] = 1
// ARG 1: f32[1]
// RUN: kernel=down_sweep_wrong threads=32 group=32
// ARG 0: u32[32] = 1
// RUN: kernel=down_sweep_right threads=32 group=32
// ARG 0: u32[32] = 1
// RUN: kernel=bins_cleared_late_wrong threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[16]
// RUN: kernel=bins_cleared_late_right threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[16]
// RUN: kernel=bins_without_atomics_wrong threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[16]
// RUN: kernel=bins_without_atomics_right threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[16]
// RUN: kernel=bin_of_one_wrong threads=64 group=64
// ARG 0: f32[64] = i / 63
// ARG 1: u32[16]
// RUN: kernel=bin_of_one_right threads=64 group=64
// ARG 0: f32[64] = i / 63
// ARG 1: u32[16]
// RUN: kernel=bins_never_cleared_wrong threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[16]
// RUN: kernel=bins_never_cleared_right threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[16]
// RUN: kernel=digits_wrong threads=32 group=32
// ARG 0: u32[32] = i * 134217728
// ARG 1: u32[32]
// ARG 2: u32 = 8
// RUN: kernel=digits_right threads=32 group=32
// ARG 0: u32[32] = i * 134217728
// ARG 1: u32[32]
// ARG 2: u32 = 7
// RUN: kernel=compaction_wrong threads=128 group=32
// ARG 0: u32[128] = i
// ARG 1: u32[128]
// ARG 2: u32[1]
// RUN: kernel=compaction_right threads=128 group=32
// ARG 0: u32[128] = i
// ARG 1: u32[128]
// ARG 2: u32[1]
// RUN: kernel=best_index_wrong threads=64 group=64
// ARG 0: f32[40] = i * 7 % 40
// ARG 1: u32[1]
// ARG 2: u32 = 40
// RUN: kernel=best_index_right threads=64 group=64
// ARG 0: f32[40] = i * 7 % 40
// ARG 1: u32[1]
// ARG 2: u32 = 40
// RUN: kernel=look_back_wrong threads=128 group=32
// ARG 0: u32[128] = 1
// ARG 1: u32[4]
// ARG 2: u32[4]
// ARG 3: u32[128]
// RUN: kernel=look_back_right threads=128 group=32
// ARG 0: u32[128] = 1
// ARG 1: u32[4]
// ARG 2: u32[4]
// ARG 3: u32[128]
// RUN: kernel=largest_of_each_wrong threads=16 group=16
// ARG 0: f32[256] = i * 7 % 256
// ARG 1: f32[64]
// RUN: kernel=largest_of_each_right threads=16 group=16
// ARG 0: f32[256] = i * 7 % 256
// ARG 1: f32[64]
// RUN: kernel=last_group_sums_wrong threads=128 group=32
// ARG 0: f32[128] = 1
// ARG 1: f32[4]
// ARG 2: u32[1]
// ARG 3: f32[1]
// RUN: kernel=last_group_sums_right threads=128 group=32
// ARG 0: f32[128] = 1
// ARG 1: f32[4]
// ARG 2: u32[1]
// ARG 3: f32[1]
// RUN: kernel=pointer_jumping_wrong threads=64 group=64
// ARG 0: u32[64] = i ? i - 1 : 0
// ARG 1: u32[64]
// RUN: kernel=pointer_jumping_right threads=64 group=64
// ARG 0: u32[64] = i ? i - 1 : 0
// ARG 1: u32[64]
// RUN: kernel=counts_of_lanes_wrong threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[64]
// RUN: kernel=counts_of_lanes_right threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[64]
#include <metal_stdlib>
using namespace metal;
kernel void bitonic_inner_wrong(device uint *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint s[64];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 2; k <= 64; k *= 2) {
        for (uint j = k / 2; j > 0; j /= 2) {
            uint other = i ^ j;
            if (other > i) {
                uint a = s[i], b = s[other];
                if ((a > b) == ((i & k) == 0)) {
                    s[i] = b; // FINDS: race
                    s[other] = a; // FINDS: race
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    x[i] = s[i];
}
kernel void bitonic_inner_right(device uint *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint s[64];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 2; k <= 64; k *= 2) {
        for (uint j = k / 2; j > 0; j /= 2) {
            uint other = i ^ j;
            if (other > i) {
                uint a = s[i], b = s[other];
                if ((a > b) == ((i & k) == 0)) {
                    s[i] = b;
                    s[other] = a;
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
    x[i] = s[i];
}
kernel void bitonic_both_sides_wrong(device uint *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint s[32];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint other = i ^ 1;
    if (s[i] > s[other]) {
        uint t = s[i];
        s[i] = s[other]; // FINDS: race
        s[other] = t; // FINDS: race
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i];
}
kernel void bitonic_both_sides_right(device uint *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint s[32];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint other = i ^ 1;
    if (other > i && s[i] > s[other]) {
        uint t = s[i];
        s[i] = s[other];
        s[other] = t;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i];
}
kernel void bitonic_barrier_inside_wrong(device uint *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint s[64];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 32; j > 0; j /= 2) {
        uint other = i ^ j;
        if (other > i) {
            uint a = s[i], b = s[other]; // FINDS: race
            s[i] = min(a, b);
            s[other] = max(a, b); // FINDS: race
            threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
        }
    }
    x[i] = s[i];
}
kernel void bitonic_barrier_inside_right(device uint *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint s[64];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 32; j > 0; j /= 2) {
        uint other = i ^ j;
        if (other > i) {
            uint a = s[i], b = s[other];
            s[i] = min(a, b);
            s[other] = max(a, b);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    x[i] = s[i];
}
kernel void merge_of_two_wrong(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                               uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint s[32];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) {
        uint a = 0, b = 16;
        for (uint k = 0; k < 32; k++) {
            bool left = s[a] <= s[b]; // FINDS: bounds
            out[k] = left ? s[a++] : s[b++]; // FINDS: bounds
        }
    }
}
kernel void merge_of_two_right(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                               uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint s[32];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) {
        uint a = 0, b = 16;
        for (uint k = 0; k < 32; k++) {
            bool left = a < 16 && (b == 32 || s[a] <= s[b]);
            out[k] = left ? s[a++] : s[b++];
        }
    }
}
kernel void scan_with_one_barrier_wrong(device uint *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint s[64];
    s[i] = x[i];
    for (uint step = 1; step < 64; step *= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint v = i >= step ? s[i - step] : 0;
        s[i] += v; // FINDS: race
    }
    x[i] = s[i];
}
kernel void scan_with_one_barrier_right(device uint *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint s[64];
    s[i] = x[i];
    for (uint step = 1; step < 64; step *= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint v = i >= step ? s[i - step] : 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        s[i] += v;
    }
    x[i] = s[i];
}
kernel void totals_without_barrier_wrong(device uint *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]],
                                         uint lane [[thread_index_in_simdgroup]],
                 uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint totals[4];
    uint mine = simd_prefix_inclusive_sum(x[i]);
    if (lane == 31) {
        totals[simd] = mine;
    }
    for (uint s = 0; s < simd; s++) {
        mine += totals[s]; // FINDS: race
    }
    x[i] = mine;
}
kernel void totals_without_barrier_right(device uint *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]],
                                         uint lane [[thread_index_in_simdgroup]],
                 uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint totals[4];
    uint mine = simd_prefix_inclusive_sum(x[i]);
    if (lane == 31) {
        totals[simd] = mine;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 0; s < simd; s++) {
        mine += totals[s];
    }
    x[i] = mine;
}
kernel void total_before_the_first_wrong(device uint *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]],
                                         uint lane [[thread_index_in_simdgroup]],
                 uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint totals[4];
    uint mine = simd_prefix_inclusive_sum(x[i]);
    if (lane == 31) {
        totals[simd] = mine;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint before = totals[simd - 1]; // FINDS: bounds
    x[i] = mine + before;
}
kernel void total_before_the_first_right(device uint *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]],
                                         uint lane [[thread_index_in_simdgroup]],
                 uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint totals[4];
    uint mine = simd_prefix_inclusive_sum(x[i]);
    if (lane == 31) {
        totals[simd] = mine;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint before = simd ? totals[simd - 1] : 0;
    x[i] = mine + before;
}
kernel void totals_of_all_simdgroups_wrong(device const float *x [[buffer(0)]],
                                           device float *out [[buffer(1)]], uint i [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]],
                 uint simds [[simdgroups_per_threadgroup]]) {
    threadgroup float totals[32];
    float sum = simd_sum(x[i]);
    if (lane == 0) {
        totals[simd] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simd == 0) {
        sum = simd_sum(totals[lane]);
        if (lane == 0) {
            out[0] = sum; // FINDS: uninitialised
        }
    }
}
kernel void totals_of_all_simdgroups_right(device const float *x [[buffer(0)]],
                                           device float *out [[buffer(1)]], uint i [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]],
                 uint simds [[simdgroups_per_threadgroup]]) {
    threadgroup float totals[32];
    float sum = simd_sum(x[i]);
    if (lane == 0) {
        totals[simd] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simd == 0) {
        sum = simd_sum(lane < simds ? totals[lane] : 0.0f);
        if (lane == 0) {
            out[0] = sum;
        }
    }
}
kernel void down_sweep_wrong(device uint *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint s[64];
    s[2 * i] = x[i];
    s[2 * i + 1] = 1;
    uint offset = 1;
    for (uint d = 32; d > 0; d /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i < d) {
            s[offset * (2 * i + 2) - 1] += s[offset * (2 * i + 1) - 1];
        }
        offset *= 2;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) {
        s[63] = 0;
    }
    for (uint d = 1; d < 64; d *= 2) {
        offset /= 2;
        if (i < d) {
            uint a = offset * (2 * i + 1) - 1, b = offset * (2 * i + 2) - 1;
            uint t = s[a];
            s[a] = s[b];
            s[b] += t; // FINDS: race
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[2 * i];
}
kernel void down_sweep_right(device uint *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint s[64];
    s[2 * i] = x[i];
    s[2 * i + 1] = 1;
    uint offset = 1;
    for (uint d = 32; d > 0; d /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i < d) {
            s[offset * (2 * i + 2) - 1] += s[offset * (2 * i + 1) - 1];
        }
        offset *= 2;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) {
        s[63] = 0;
    }
    for (uint d = 1; d < 64; d *= 2) {
        offset /= 2;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i < d) {
            uint a = offset * (2 * i + 1) - 1, b = offset * (2 * i + 2) - 1;
            uint t = s[a];
            s[a] = s[b];
            s[b] += t;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[2 * i];
}
kernel void bins_cleared_late_wrong(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                    uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint bins[16];
    if (i < 16) {
        bins[i] = 0;
    }
    atomic_fetch_add_explicit((threadgroup atomic_uint *)&bins[x[i] % 16], 1u, memory_order_relaxed); // FINDS: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < 16) {
        out[i] = bins[i];
    }
}
kernel void bins_cleared_late_right(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                    uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint bins[16];
    if (i < 16) {
        bins[i] = 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit((threadgroup atomic_uint *)&bins[x[i] % 16], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < 16) {
        out[i] = bins[i];
    }
}
kernel void bins_without_atomics_wrong(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                       uint i [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint bins[16];
    if (i < 16) {
        atomic_store_explicit(&bins[i], 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ((threadgroup uint *)bins)[x[i] % 16]++; // FINDS: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < 16) {
        out[i] = atomic_load_explicit(&bins[i], memory_order_relaxed);
    }
}
kernel void bins_without_atomics_right(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                       uint i [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint bins[16];
    if (i < 16) {
        atomic_store_explicit(&bins[i], 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&bins[x[i] % 16], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < 16) {
        out[i] = atomic_load_explicit(&bins[i], memory_order_relaxed);
    }
}
kernel void bin_of_one_wrong(device const float *x [[buffer(0)]], device atomic_uint *out [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    uint bin = uint(x[i] * 16);
    atomic_fetch_add_explicit(&out[bin], 1u, memory_order_relaxed); // FINDS: bounds
}
kernel void bin_of_one_right(device const float *x [[buffer(0)]], device atomic_uint *out [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    uint bin = min(uint(x[i] * 16), 15u);
    atomic_fetch_add_explicit(&out[bin], 1u, memory_order_relaxed);
}
kernel void bins_never_cleared_wrong(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                     uint i [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint bins[16];
    atomic_fetch_add_explicit(&bins[x[i] % 16], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < 16) {
        out[i] = atomic_load_explicit(&bins[i], memory_order_relaxed); // FINDS: uninitialised
    }
}
kernel void bins_never_cleared_right(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                     uint i [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint bins[16];
    if (i < 16) {
        atomic_store_explicit(&bins[i], 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&bins[x[i] % 16], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < 16) {
        out[i] = atomic_load_explicit(&bins[i], memory_order_relaxed);
    }
}
kernel void digits_wrong(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                         constant uint &last [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    uint sum = 0;
    for (uint digit = 0; digit <= last; digit++) {
        sum += x[i] >> (digit * 4) & 15; // FINDS: arithmetic
    }
    out[i] = sum;
}
kernel void digits_right(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                         constant uint &last [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    uint sum = 0;
    for (uint digit = 0; digit <= last; digit++) {
        sum += x[i] >> (digit * 4) & 15;
    }
    out[i] = sum;
}
kernel void compaction_wrong(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                             device uint *count [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    if (x[i] % 3 == 0) {
        uint at = count[0]++; // FINDS: race
        out[i] = at + 1;
    }
}
kernel void compaction_right(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                             device uint *count [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    if (x[i] % 3 == 0) {
        uint at = atomic_fetch_add_explicit((device atomic_uint *)count, 1u, memory_order_relaxed);
        out[at] = i;
    }
}
kernel void best_index_wrong(device const float *x [[buffer(0)]], device uint *out [[buffer(1)]],
                             constant uint &n [[buffer(2)]],
                 uint i [[thread_index_in_threadgroup]]) {
    threadgroup float best[64];
    threadgroup uint where[64];
    if (i < n) {
        best[i] = x[i];
        where[i] = i;
    }
    for (uint step = 32; step > 0; step /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i < step && best[i + step] > best[i]) { // FINDS: uninitialised
            best[i] = best[i + step];
            where[i] = where[i + step];
        }
    }
    if (i == 0) {
        out[0] = where[0];
    }
}
kernel void best_index_right(device const float *x [[buffer(0)]], device uint *out [[buffer(1)]],
                             constant uint &n [[buffer(2)]],
                 uint i [[thread_index_in_threadgroup]]) {
    threadgroup float best[64];
    threadgroup uint where[64];
    if (i < n) {
        best[i] = x[i];
        where[i] = i;
    }
    if (i >= n) {
        best[i] = -INFINITY;
        where[i] = i;
    }
    for (uint step = 32; step > 0; step /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i < step && best[i + step] > best[i]) {
            best[i] = best[i + step];
            where[i] = where[i + step];
        }
    }
    if (i == 0) {
        out[0] = where[0];
    }
}
kernel void look_back_wrong(device const uint *x [[buffer(0)]], device uint *sums [[buffer(1)]],
                            device atomic_uint *ready [[buffer(2)]],
                 device uint *out [[buffer(3)]], uint i [[thread_position_in_grid]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint group [[threadgroup_position_in_grid]]) {
    uint mine = simd_prefix_inclusive_sum(x[i]);
    uint before = 0;
    if (group > 0) {
        while (atomic_load_explicit(&ready[group - 1], memory_order_relaxed) == 0) {
        }
        before = sums[group - 1]; // FINDS: race
    }
    if (lane == 31) {
        sums[group] = before + mine;
        atomic_store_explicit(&ready[group], 1u, memory_order_relaxed);
    }
    out[i] = before + mine;
}
kernel void look_back_right(device const uint *x [[buffer(0)]], device uint *sums [[buffer(1)]],
                            device atomic_uint *ready [[buffer(2)]],
                 device uint *out [[buffer(3)]], uint i [[thread_position_in_grid]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint group [[threadgroup_position_in_grid]]) {
    uint mine = simd_prefix_inclusive_sum(x[i]);
    uint before = 0;
    if (group > 0) {
        while (atomic_load_explicit(&ready[group - 1], memory_order_relaxed) == 0) {
        }
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        before = sums[group - 1];
    }
    if (lane == 31) {
        sums[group] = before + mine;
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        atomic_store_explicit(&ready[group], 1u, memory_order_relaxed);
    }
    out[i] = before + mine;
}
kernel void largest_of_each_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                  uint i [[thread_position_in_grid]]) {
    float top[4];
    for (uint k = 0; k < 4; k++) {
        top[k] = -INFINITY;
    }
    for (uint j = i; j < 256; j += 16) {
        float v = x[j];
        for (int k = 4; k >= 0; k--) {
            if (v > top[k]) { // FINDS: bounds
                float t = top[k]; // FINDS: bounds
                top[k] = v; // FINDS: bounds
                v = t;
            }
        }
    }
    for (uint k = 0; k < 4; k++) {
        out[i * 4 + k] = top[k];
    }
}
kernel void largest_of_each_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                  uint i [[thread_position_in_grid]]) {
    float top[4];
    for (uint k = 0; k < 4; k++) {
        top[k] = -INFINITY;
    }
    for (uint j = i; j < 256; j += 16) {
        float v = x[j];
        for (int k = 3; k >= 0; k--) {
            if (v > top[k]) {
                float t = top[k];
                top[k] = v;
                v = t;
            }
        }
    }
    for (uint k = 0; k < 4; k++) {
        out[i * 4 + k] = top[k];
    }
}
kernel void last_group_sums_wrong(device const float *x [[buffer(0)]], device float *sums [[buffer(1)]],
                                  device atomic_uint *count [[buffer(2)]],
                 device float *out [[buffer(3)]], uint i [[thread_position_in_grid]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint group [[threadgroup_position_in_grid]]) {
    float s = simd_sum(x[i]);
    if (lane == 0) {
        sums[group] = s;
        uint before = atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);
        if (before == 3) {
            float all = 0;
            for (uint g = 0; g < 4; g++) {
                all += sums[g]; // FINDS: race
            }
            out[0] = all;
        }
    }
}
kernel void last_group_sums_right(device const float *x [[buffer(0)]], device float *sums [[buffer(1)]],
                                  device atomic_uint *count [[buffer(2)]],
                 device float *out [[buffer(3)]], uint i [[thread_position_in_grid]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint group [[threadgroup_position_in_grid]]) {
    float s = simd_sum(x[i]);
    if (lane == 0) {
        sums[group] = s;
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        uint before = atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);
        if (before == 3) {
            atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
            float all = 0;
            for (uint g = 0; g < 4; g++) {
                all += sums[g];
            }
            out[0] = all;
        }
    }
}
kernel void pointer_jumping_wrong(device uint *next [[buffer(0)]], device uint *out [[buffer(1)]],
                                  uint i [[thread_index_in_threadgroup]]) {
    for (uint round = 0; round < 6; round++) {
        uint n = next[next[i]];
        next[i] = n; // FINDS: race
        threadgroup_barrier(mem_flags::mem_device);
    }
    out[i] = next[i];
}
kernel void pointer_jumping_right(device uint *next [[buffer(0)]], device uint *out [[buffer(1)]],
                                  uint i [[thread_index_in_threadgroup]]) {
    for (uint round = 0; round < 6; round++) {
        uint n = next[next[i]];
        threadgroup_barrier(mem_flags::mem_device);
        next[i] = n;
        threadgroup_barrier(mem_flags::mem_device);
    }
    out[i] = next[i];
}
kernel void counts_of_lanes_wrong(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                  uint i [[thread_position_in_grid]],
                 uint lane [[thread_index_in_simdgroup]]) {
    bool wanted = x[i] % 3 == 0;
    uint votes = uint(static_cast<simd_vote::vote_t>(simd_ballot(wanted)));
    uint before = popcount(votes << (32 - lane)); // FINDS: arithmetic
    out[i] = before;
}
kernel void counts_of_lanes_right(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                  uint i [[thread_position_in_grid]],
                 uint lane [[thread_index_in_simdgroup]]) {
    bool wanted = x[i] % 3 == 0;
    uint votes = uint(static_cast<simd_vote::vote_t>(simd_ballot(wanted)));
    uint before = popcount(votes & ((1u << lane) - 1));
    out[i] = before;
}
