// Threads that exchange values, each with the order that it needs and no more. Nothing is found.
// SANITIZE: bounds,alignment,race,barrier,uninitialised,lanes,arithmetic,numeric
#include <metal_stdlib>
using namespace metal;
#define GRID uint i [[thread_position_in_grid]]
#define THREAD uint t [[thread_index_in_threadgroup]]
#define LANE uint lane [[thread_index_in_simdgroup]]
#define SIMDGROUP uint sg [[simdgroup_index_in_threadgroup]]
#define GROUP uint g [[threadgroup_position_in_grid]]

// RUN: kernel=device_flag_orders_buffers threads=128 group=64
// ARG 0: u32[128]?
// ARG 1: u32[128]?
// EXPECT 1: u32[128] = 64 * idiv(i, 64) + 63 - i % 64
kernel void device_flag_orders_buffers(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID, THREAD, GROUP) {
    x[i] = i;
    threadgroup_barrier(mem_flags::mem_device);
    y[i] = x[64 * g + 63 - t];
}
// RUN: kernel=simdgroup_barrier_for_buffers threads=96 group=96
// ARG 0: u32[96]?
// ARG 1: u32[96]?
// EXPECT 1: u32[96] = i + 31 - 2 * (i % 32)
kernel void simdgroup_barrier_for_buffers(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID) {
    x[i] = i;
    simdgroup_barrier(mem_flags::mem_device);
    y[i] = x[i ^ 31];
}
// RUN: kernel=two_flags_two_memories threads=64 group=64
// ARG 0: u32[64]?
// ARG 1: u32[64]?
// EXPECT 1: u32[64] = 2 * (63 - i)
kernel void two_flags_two_memories(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], THREAD) {
    threadgroup uint s[64];
    x[t] = t;
    s[t] = t;
    threadgroup_barrier(mem_flags::mem_device);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = x[63 - t] + s[63 - t];
}
// RUN: kernel=no_flag_where_nothing_is_shared threads=64 group=64
// ARG 0: u32[64]?
// EXPECT 0: u32[64] = i + 1
kernel void no_flag_where_nothing_is_shared(device uint *x [[buffer(0)]], GRID) {
    x[i] = i;
    threadgroup_barrier(mem_flags::mem_none);
    x[i] += 1;
}
// RUN: kernel=lane_to_neighbours threads=64 group=64
// ARG 0: u32[64]?
// EXPECT 0: u32[64] = (i % 32 > 0 ? i - 1 : 0) + (i % 32 < 31 ? i + 1 : 0)
kernel void lane_to_neighbours(device uint *x [[buffer(0)]], THREAD, LANE) {
    threadgroup uint s[64];
    s[t] = t;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    x[t] = (lane > 0 ? s[t - 1] : 0) + (lane < 31 ? s[t + 1] : 0);
}
// RUN: kernel=rounds_of_a_simdgroup threads=64 group=64
// ARG 0: u32[64]?
// EXPECT 0: u32[64] = 32 * idiv(i, 32) + (i + 4) % 32
kernel void rounds_of_a_simdgroup(device uint *x [[buffer(0)]], THREAD, LANE, SIMDGROUP) {
    threadgroup uint s[2][32];
    uint v = t;
    for (uint k = 0; k < 4; k++) {
        s[sg][lane] = v;
        simdgroup_barrier(mem_flags::mem_threadgroup);
        v = s[sg][(lane + 1) % 32];
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    x[t] = v;
}
// RUN: kernel=alternating_slots threads=32 group=32
// ARG 0: u32[32]?
// EXPECT 0: u32[32] = (i + 6) % 32
kernel void alternating_slots(device uint *x [[buffer(0)]], LANE) {
    threadgroup uint s[2][32];
    uint v = lane;
    for (uint k = 0; k < 6; k++) {
        s[k & 1][lane] = v;
        simdgroup_barrier(mem_flags::mem_threadgroup);
        v = s[k & 1][(lane + 1) % 32];
    }
    x[lane] = v;
}
// RUN: kernel=three_slots threads=64 group=64
// ARG 0: u32[64]?
// EXPECT 0: u32[64] = (i + 9) % 64
kernel void three_slots(device uint *x [[buffer(0)]], THREAD) {
    threadgroup uint s[3][64];
    uint v = t;
    for (uint k = 0; k < 9; k++) {
        s[k % 3][t] = v;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v = s[k % 3][(t + 1) % 64];
    }
    x[t] = v;
}
// RUN: kernel=producer_and_consumer_groups threads=64 group=64
// ARG 0: u32[128] = i
// ARG 1: u32[32]?
// EXPECT 1: u32[32] = 4 * i + 192
kernel void producer_and_consumer_groups(const device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], LANE,
                                         SIMDGROUP) {
    threadgroup uint s[2][32];
    uint sum = 0;
    for (uint k = 0; k < 5; k++) {
        if (sg == 0 && k < 4) {
            s[k & 1][lane] = x[32 * k + lane];
        } else if (sg == 1 && k > 0) {
            sum += s[(k - 1) & 1][lane];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (sg == 1) {
        y[lane] = sum;
    }
}
// RUN: kernel=one_thread_sets_up threads=64 group=64
// ARG 0: u32[64]?
// EXPECT 0: u32[64] = i + 7
kernel void one_thread_sets_up(device uint *x [[buffer(0)]], THREAD) {
    threadgroup uint base;
    if (t == 0) {
        base = 7;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[t] = base + t;
}
// RUN: kernel=setting_up_again threads=64 group=64
// ARG 0: u32[64]?
// EXPECT 0: u32[64] = 6 + 4 * i
kernel void setting_up_again(device uint *x [[buffer(0)]], THREAD) {
    threadgroup uint base;
    uint sum = 0;
    for (uint k = 0; k < 4; k++) {
        if (t == k) {
            base = k;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += base + t;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    x[t] = sum;
}
// RUN: kernel=lane_zero_of_each_group threads=128 group=128
// ARG 0: u32[128]?
// EXPECT 0: u32[128] = 32 * idiv(i, 32)
kernel void lane_zero_of_each_group(device uint *x [[buffer(0)]], THREAD, LANE, SIMDGROUP) {
    threadgroup uint s[4];
    if (lane == 0) {
        s[sg] = t;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    x[t] = s[sg];
}
// RUN: kernel=sum_by_two_levels threads=1024 group=1024
// ARG 0: f32[1024] = 1
// ARG 1: f32[1]?
// EXPECT 1: f32 [1024]
kernel void sum_by_two_levels(const device float *x [[buffer(0)]], device float *y [[buffer(1)]], THREAD, LANE,
                              SIMDGROUP) {
    threadgroup float s[32];
    float v = simd_sum(x[t]);
    if (lane == 0) {
        s[sg] = v;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0) {
        v = simd_sum(s[lane]);
        if (lane == 0) {
            y[0] = v;
        }
    }
}
// RUN: kernel=used_for_two_sums threads=128 group=128
// ARG 0: f32[128] = i % 2
// ARG 1: f32[128]?
// EXPECT 1: f32[128] = 64 * (i % 2) + 32
kernel void used_for_two_sums(const device float *x [[buffer(0)]], device float *y [[buffer(1)]], THREAD, LANE,
                              SIMDGROUP) {
    threadgroup float s[4];
    float v = x[t], first = simd_sum(v);
    if (lane == 0) {
        s[sg] = first;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float total = s[0] + s[1] + s[2] + s[3];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float second = simd_sum(v * v);
    if (lane == 0) {
        s[sg] = second;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = v * total + (s[0] + s[1] + s[2] + s[3]) * 0.5f;
}
// RUN: kernel=tail_of_a_reduction_by_lanes threads=128 group=128
// ARG 0: u32[128] = i
// ARG 1: u32[1]?
// EXPECT 1: u32 [8128]
kernel void tail_of_a_reduction_by_lanes(const device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], THREAD) {
    threadgroup uint s[128];
    s[t] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 64) {
        s[t] += s[t + 64];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 32) {
        for (uint n = 32; n > 0; n /= 2) {
            uint other = s[t + n];
            simdgroup_barrier(mem_flags::mem_threadgroup);
            s[t] += other;
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        if (t == 0) {
            y[0] = s[0];
        }
    }
}
// RUN: kernel=scan_of_simdgroups threads=256 group=256
// ARG 0: u32[256] = 1
// EXPECT 0: u32[256] = i + 1
kernel void scan_of_simdgroups(device uint *x [[buffer(0)]], THREAD, LANE, SIMDGROUP) {
    threadgroup uint s[8];
    uint v = simd_prefix_inclusive_sum(x[t]);
    if (lane == 31) {
        s[sg] = v;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0 && lane < 8) {
        s[lane] = simd_prefix_exclusive_sum(s[lane]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[t] = v + s[sg];
}
// RUN: kernel=histogram_of_one_group threads=64 group=64
// ARG 0: u8[256] = i % 16
// ARG 1: u32[16]?
// EXPECT 1: u32[16] = 16
kernel void histogram_of_one_group(const device uchar *x [[buffer(0)]], device uint *y [[buffer(1)]], THREAD) {
    threadgroup atomic_uint bins[16];
    if (t < 16) {
        atomic_store_explicit(&bins[t], 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = t; k < 256; k += 64) {
        atomic_fetch_add_explicit(&bins[x[k] & 15], 1, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 16) {
        y[t] = atomic_load_explicit(&bins[t], memory_order_relaxed);
    }
}
// RUN: kernel=histogram_without_atomics threads=32 group=32
// ARG 0: u8[256] = i % 4
// ARG 1: u32[4]?
// EXPECT 1: u32[4] = 64
kernel void histogram_without_atomics(const device uchar *x [[buffer(0)]], device uint *y [[buffer(1)]], THREAD) {
    threadgroup uchar own[4][32];
    for (uint b = 0; b < 4; b++) {
        own[b][t] = 0;
    }
    for (uint k = t; k < 256; k += 32) {
        own[x[k] & 3][t]++;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 4) {
        uint sum = 0;
        for (uint k = 0; k < 32; k++) {
            sum += own[t][k];
        }
        y[t] = sum;
    }
}
// RUN: kernel=radix_split threads=64 group=64
// ARG 0: u32[64] = (i * 37) % 64
// EXPECT 0: u32[64] = i
kernel void radix_split(device uint *x [[buffer(0)]], THREAD) {
    threadgroup uint keys[64], ones[64];
    keys[t] = x[t];
    for (uint bit = 0; bit < 6; bit++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint key = keys[t], one = key >> bit & 1;
        ones[t] = one;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint before = 0, all = 0;
        for (uint k = 0; k < 64; k++) {
            before += k < t ? ones[k] : 0;
            all += ones[k];
        }
        keys[one ? 64 - all + before : t - before] = key;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[t] = keys[t];
}
// RUN: kernel=odd_even_sort threads=32 group=32
// ARG 0: u32[64] = (i * 29) % 64
// EXPECT 0: u32[64] = i
kernel void odd_even_sort(device uint *x [[buffer(0)]], THREAD) {
    threadgroup uint s[64];
    s[2 * t] = x[2 * t];
    s[2 * t + 1] = x[2 * t + 1];
    for (uint k = 0; k < 64; k++) {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        uint at = 2 * t + (k & 1);
        if (at < 63 && s[at] > s[at + 1]) {
            uint v = s[at];
            s[at] = s[at + 1];
            s[at + 1] = v;
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    x[2 * t] = s[2 * t];
    x[2 * t + 1] = s[2 * t + 1];
}
// RUN: kernel=tile_transposed_in_place threads=8,8 group=8,8
// ARG 0: f32[64] = i
// EXPECT 0: f32[64] = 8 * (i % 8) + idiv(i, 8)
kernel void tile_transposed_in_place(device float *x [[buffer(0)]], uint2 t [[thread_position_in_threadgroup]]) {
    float v = x[8 * t.x + t.y];
    threadgroup_barrier(mem_flags::mem_device);
    x[8 * t.y + t.x] = v;
}
// RUN: kernel=halves_of_one_word threads=64 group=64
// ARG 0: u16[128]?
// EXPECT 0: u16[128] = i < 64 ? i : 127 - i
kernel void halves_of_one_word(device ushort *x [[buffer(0)]], THREAD) {
    x[t] = ushort(t);
    x[127 - t] = ushort(t);
}
// RUN: kernel=components_of_one_vector threads=32 group=32
// ARG 0: f32[32]?
// EXPECT 0: f32[32] = i
kernel void components_of_one_vector(device float4 *x [[buffer(0)]], THREAD) { x[t / 4][t % 4] = float(t); }
// RUN: kernel=claimed_slots threads=128 group=32
// ARG 0: u32[1]
// ARG 1: u32[128]?
// EXPECT 0: u32 [128]
kernel void claimed_slots(device atomic_uint *n [[buffer(0)]], device uint *y [[buffer(1)]], GRID) {
    y[atomic_fetch_add_explicit(n, 1, memory_order_relaxed)] = i;
}
// RUN: kernel=claimed_by_simdgroups threads=128 group=32
// ARG 0: u32[1]
// ARG 1: u32[64]?
// EXPECT 0: u32 [64]
kernel void claimed_by_simdgroups(device atomic_uint *n [[buffer(0)]], device uint *y [[buffer(1)]], GRID, LANE) {
    bool wanted = i % 2 == 0;
    ulong votes = (simd_vote::vote_t)simd_ballot(wanted);
    uint base = 0;
    if (lane == 0) {
        base = atomic_fetch_add_explicit(n, uint(popcount(votes)), memory_order_relaxed);
    }
    base = simd_broadcast(base, 0);
    if (wanted) {
        y[base + uint(popcount(votes & ((1ul << lane) - 1)))] = i;
    }
}
// RUN: kernel=maximum_by_exchange threads=128 group=64
// ARG 0: u32[1]
// EXPECT 0: u32 [127]
kernel void maximum_by_exchange(device atomic_uint *x [[buffer(0)]], GRID) {
    uint seen = atomic_load_explicit(x, memory_order_relaxed);
    while (seen < i && !atomic_compare_exchange_weak_explicit(x, &seen, i, memory_order_relaxed, memory_order_relaxed)) {
    }
}
// RUN: kernel=last_group_adds_up threads=256 group=64
// ARG 0: u32[4]?
// ARG 1: u32[1]
// ARG 2: u32[1]?
// OPTIONS: msl=320
// EXPECT 2: u32 [256]
kernel void last_group_adds_up(device uint *part [[buffer(0)]], device atomic_uint *count [[buffer(1)]],
                               device uint *y [[buffer(2)]], THREAD, GROUP) {
    if (t == 0) {
        part[g] = 64;
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        if (atomic_fetch_add_explicit(count, 1, memory_order_relaxed) == 3) {
            atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
            y[0] = part[0] + part[1] + part[2] + part[3];
        }
    }
}
// RUN: kernel=flag_between_simdgroups threads=64 group=64
// ARG 0: u32[1]?
// OPTIONS: msl=320
// EXPECT 0: u32 [42]
kernel void flag_between_simdgroups(device uint *x [[buffer(0)]], THREAD) {
    threadgroup atomic_uint ready;
    threadgroup uint value;
    if (t == 0) {
        atomic_store_explicit(&ready, 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) {
        value = 42;
        atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_threadgroup);
        atomic_store_explicit(&ready, 1, memory_order_relaxed);
    } else if (t == 32) {
        if (atomic_load_explicit(&ready, memory_order_relaxed)) {
            atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_threadgroup);
            x[0] = value;
        } else {
            x[0] = 42;
        }
    }
}
// RUN: kernel=barrier_in_a_uniform_loop threads=64 group=64
// ARG 0: u32[64]?
// ARG 1: u32 [5]
// EXPECT 0: u32[64] = (i + 5) % 64
kernel void barrier_in_a_uniform_loop(device uint *x [[buffer(0)]], constant uint &n [[buffer(1)]], THREAD) {
    threadgroup uint s[64];
    s[t] = t;
    for (uint k = 0; k < n; k++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint v = s[(t + 1) % 64];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        s[t] = v;
    }
    x[t] = s[t];
}
// RUN: kernel=barrier_by_a_value_of_the_group threads=128 group=64
// ARG 0: u32[128]?
// EXPECT 0: u32[128] = i < 64 ? i : 191 - i
kernel void barrier_by_a_value_of_the_group(device uint *x [[buffer(0)]], GRID, THREAD, GROUP) {
    threadgroup uint s[64];
    if (g & 1) {
        s[t] = i;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        x[i] = s[63 - t];
    } else {
        x[i] = i;
    }
}
// RUN: kernel=all_leave_together threads=64 group=64
// ARG 0: u32[64]?
// EXPECT 0: u32[64] = (i + 3) % 64
kernel void all_leave_together(device uint *x [[buffer(0)]], THREAD) {
    threadgroup uint s[64];
    threadgroup uint done;
    uint v = t;
    for (uint k = 0;; k++) {
        if (t == 63) {
            done = k == 3;
        }
        s[t] = v;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (done) {
            break;
        }
        v = s[(t + 1) % 64];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    x[t] = v;
}
// RUN: kernel=guarded_work_not_barriers threads=100 group=64
// ARG 0: u32[100] = i
// ARG 1: u32[100]?
// EXPECT 1: u32[100] = i < 64 ? 63 - i : 163 - i
kernel void guarded_work_not_barriers(const device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID, THREAD,
                                      uint size [[threads_per_threadgroup]]) {
    threadgroup uint s[64];
    if (t < size) {
        s[t] = x[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = s[size - 1 - t];
}
// RUN: kernel=simdgroups_of_different_work threads=64 group=64
// ARG 0: u32[64]?
// EXPECT 0: u32[64] = i < 32 ? i + 31 - 2 * (i % 32) : i
kernel void simdgroups_of_different_work(device uint *x [[buffer(0)]], THREAD, SIMDGROUP) {
    threadgroup uint s[32];
    if (sg == 0) {
        s[t] = t;
        simdgroup_barrier(mem_flags::mem_threadgroup);
        x[t] = s[31 - t];
    } else {
        x[t] = t;
    }
}
// RUN: kernel=tiles_through_memory threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[128]?
// EXPECT 1: f32[128] = 2 * (i % 64)
kernel void tiles_through_memory(const device float *x [[buffer(0)]], device float *y [[buffer(1)]], LANE, SIMDGROUP) {
    threadgroup float s[2][64];
    simdgroup_float8x8 m;
    simdgroup_load(m, x, 8);
    simdgroup_store(m, s[sg], 8);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = lane; k < 64; k += 32) {
        y[64 * sg + k] = 2 * s[sg][k];
    }
}
// RUN: kernel=tile_loaded_after_all_lanes_stored threads=32 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]?
// EXPECT 1: f32[64] = i + 1
kernel void tile_loaded_after_all_lanes_stored(const device float *x [[buffer(0)]], device float *y [[buffer(1)]], LANE) {
    threadgroup float s[64];
    for (uint k = lane; k < 64; k += 32) {
        s[k] = x[k] + 1;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 m;
    simdgroup_load(m, s, 8);
    simdgroup_store(m, y, 8);
}
// RUN: kernel=product_in_steps_of_tiles threads=64 group=64
// ARG 0: f32[256] = i % 16 == idiv(i, 16)
// ARG 1: f32[256] = i % 7
// ARG 2: f32[256]?
// EXPECT 2: f32[256] = i % 7
kernel void product_in_steps_of_tiles(const device float *a [[buffer(0)]], const device float *b [[buffer(1)]],
                                      device float *c [[buffer(2)]], THREAD, SIMDGROUP) {
    threadgroup float left[16 * 8], right[8 * 16];
    simdgroup_float8x8 sum[2] = {make_filled_simdgroup_matrix<float, 8, 8>(0), make_filled_simdgroup_matrix<float, 8, 8>(0)};
    for (uint k = 0; k < 16; k += 8) {
        for (uint e = t; e < 128; e += 64) {
            left[e] = a[16 * (e / 8) + k + e % 8];
            right[e] = b[16 * (k + e / 16) + e % 16];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 l, r;
        simdgroup_load(l, left + 64 * sg, 8);
        for (uint n = 0; n < 2; n++) {
            simdgroup_load(r, right + 8 * n, 16);
            simdgroup_multiply_accumulate(sum[n], l, r, sum[n]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint n = 0; n < 2; n++) {
        simdgroup_store(sum[n], c + 128 * sg + 8 * n, 16);
    }
}
// RUN: kernel=rows_of_different_groups threads=128 group=32
// ARG 0: f32[64]?
// EXPECT 0: f32[64] = 1 + idiv(i, 16)
kernel void rows_of_different_groups(device float *x [[buffer(0)]], LANE, GROUP) {
    if (lane < 16) {
        x[16 * g + lane] = 1;
    }
    simdgroup_barrier(mem_flags::mem_device);
    if (lane >= 16) {
        x[16 * g + 31 - lane] += float(g);
    }
}
// RUN: kernel=same_value_by_all threads=128 group=32
// ARG 0: u32[4]?
// EXPECT 0: u32[4] = 9
kernel void same_value_by_all(device uint *x [[buffer(0)]], GRID) { x[i % 4] = 9; }
// RUN: kernel=wavefront threads=16 group=16
// ARG 0: u32[256]?
// EXPECT 0: u32[2] = 1
kernel void wavefront(device uint *x [[buffer(0)]], THREAD) {
    for (uint d = 0; d < 31; d++) {
        if (t <= d && d - t < 16) {
            uint c = d - t;
            x[16 * t + c] = t == 0 || c == 0 ? 1 : (x[16 * t + c - 1] + x[16 * (t - 1) + c]) % 1000;
        }
        simdgroup_barrier(mem_flags::mem_device);
    }
}
// RUN: kernel=relaxation threads=66 group=66
// ARG 0: f32[66] = i
// EXPECT 0: f32[66] = i
kernel void relaxation(device float *x [[buffer(0)]], THREAD) {
    threadgroup float s[2][66];
    s[0][t] = s[1][t] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < 4; k++) {
        if (t > 0 && t < 65) {
            s[~k & 1][t] = 0.5f * (s[k & 1][t - 1] + s[k & 1][t + 1]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    x[t] = s[0][t];
}
// RUN: kernel=queue_with_a_barrier threads=64 group=64
// ARG 0: u32[64] = i % 4
// ARG 1: u32[1]?
// EXPECT 1: u32 [16]
kernel void queue_with_a_barrier(const device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], THREAD) {
    threadgroup atomic_uint count;
    threadgroup uint queue[64];
    if (t == 0) {
        atomic_store_explicit(&count, 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (x[t] == 3) {
        queue[atomic_fetch_add_explicit(&count, 1, memory_order_relaxed)] = t;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint n = atomic_load_explicit(&count, memory_order_relaxed), bad = 0;
    if (t < n) {
        bad = queue[t] % 4 != 3;
    }
    if (t == 0 && !bad) {
        y[0] = n;
    }
}
// RUN: kernel=online_softmax threads=128 group=128
// ARG 0: f32[128] = 0
// EXPECT 0: f32[128] = 0.0078125
kernel void online_softmax(device float *x [[buffer(0)]], THREAD, LANE, SIMDGROUP) {
    threadgroup float largest[4], total[4];
    float v = x[t], m = simd_max(v), s = simd_sum(exp(v - m));
    if (lane == 0) {
        largest[sg] = m;
        total[sg] = s;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float all = max(max(largest[0], largest[1]), max(largest[2], largest[3])), sum = 0;
    for (uint k = 0; k < 4; k++) {
        sum += total[k] * exp(largest[k] - all);
    }
    x[t] = exp(v - all) / sum;
}
