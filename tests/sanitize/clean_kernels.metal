// Kernels as programs have them: sums, scans, tiles, ballots, queues, views, tables. Nothing is found.
// SANITIZE: bounds,alignment,race,barrier,uninitialised,lanes,arithmetic,numeric
#include <metal_stdlib>
using namespace metal;
#define GRID uint i [[thread_position_in_grid]]
#define THREAD uint t [[thread_index_in_threadgroup]]
#define LANE uint lane [[thread_index_in_simdgroup]]
#define SIMDGROUP uint sg [[simdgroup_index_in_threadgroup]]
#define GROUP uint g [[threadgroup_position_in_grid]]
constant float weights[4] = {1, 2, 4, 8}, halves[2] = {0.5f, 0.25f};

// RUN: kernel=tree_sum threads=128 group=64
// ARG 0: u32[128] = i
// ARG 1: u32[2]?
// EXPECT 1: u32 [2016 6112]
kernel void tree_sum(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID, THREAD, GROUP) {
    threadgroup uint s[64];
    s[t] = x[i];
    for (uint half_of = 32; half_of > 0; half_of /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < half_of) {
            s[t] += s[t + half_of];
        }
    }
    if (t == 0) {
        y[g] = s[0];
    }
}
// RUN: kernel=tree_maximum_with_index threads=64 group=64
// ARG 0: u32[64] = (i * 37) % 64
// ARG 1: u32[2]?
// EXPECT 1: u32 [63 19]
kernel void tree_maximum_with_index(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], THREAD) {
    threadgroup uint2 s[64];
    s[t] = uint2(x[t], t);
    for (uint by = 32; by > 0; by /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < by && s[t + by].x > s[t].x) {
            s[t] = s[t + by];
        }
    }
    if (t == 0) {
        y[0] = s[0].x;
        y[1] = s[0].y;
    }
}
// RUN: kernel=inclusive_scan threads=64 group=64
// ARG 0: u32[64] = 1
// EXPECT 0: u32[64] = i + 1
kernel void inclusive_scan(device uint *x [[buffer(0)]], THREAD) {
    threadgroup uint s[2][64];
    s[0][t] = x[t];
    uint from = 0;
    for (uint by = 1; by < 64; by *= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        s[1 - from][t] = s[from][t] + (t >= by ? s[from][t - by] : 0);
        from = 1 - from;
    }
    x[t] = s[from][t];
}
// RUN: kernel=exclusive_scan_up_and_down threads=32 group=32
// ARG 0: u32[64] = i
// EXPECT 0: u32[64] = idiv(i * (i - 1), 2)
kernel void exclusive_scan_up_and_down(device uint *x [[buffer(0)]], THREAD) {
    threadgroup uint s[64];
    s[2 * t] = x[2 * t];
    s[2 * t + 1] = x[2 * t + 1];
    uint step = 1;
    for (uint d = 32; d > 0; d /= 2, step *= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < d) {
            s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
        }
    }
    if (t == 0) {
        s[63] = 0;
    }
    for (uint d = 1; d < 64; d *= 2) {
        step /= 2;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < d) {
            uint low = s[step * (2 * t + 1) - 1];
            s[step * (2 * t + 1) - 1] = s[step * (2 * t + 2) - 1];
            s[step * (2 * t + 2) - 1] += low;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[2 * t] = s[2 * t];
    x[2 * t + 1] = s[2 * t + 1];
}
// RUN: kernel=scan_by_simd_prefix threads=96 group=96
// ARG 0: u32[96] = 2
// EXPECT 0: u32[96] = 2 * i
kernel void scan_by_simd_prefix(device uint *x [[buffer(0)]], THREAD, LANE, SIMDGROUP) {
    threadgroup uint sums[3];
    uint own = x[t], before = simd_prefix_exclusive_sum(own);
    if (lane == 31) {
        sums[sg] = before + own;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < sg; k++) {
        before += sums[k];
    }
    x[t] = before;
}
// RUN: kernel=segmented_sums threads=64 group=32
// ARG 0: u32[64] = i
// ARG 1: u32[8]
// EXPECT 1: u32[8] = 64 * i + 28
kernel void segmented_sums(device const uint *x [[buffer(0)]], device atomic_uint *y [[buffer(1)]],
                           GRID) {
    atomic_fetch_add_explicit(&y[i / 8], x[i], memory_order_relaxed);
}
// RUN: kernel=compacted_by_ballot threads=32 group=32
// ARG 0: u32[32] = i
// ARG 1: u32[16]?
// EXPECT 1: u32[16] = 2 * i
kernel void compacted_by_ballot(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], LANE) {
    bool taken = x[lane] % 2 == 0;
    ulong votes = (ulong)simd_ballot(taken);
    uint place = popcount(votes & ((1ul << lane) - 1));
    if (taken) {
        y[place] = x[lane];
    }
}
// RUN: kernel=compacted_by_atomics threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[64]?
// ARG 2: u32[1]
// EXPECT 2: u32 [16]
kernel void compacted_by_atomics(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]],
                                 device atomic_uint *n [[buffer(2)]], GRID) {
    if (x[i] % 4 == 1) {
        y[atomic_fetch_add_explicit(n, 1u, memory_order_relaxed)] = x[i];
    }
}
// RUN: kernel=votes_of_a_group threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[3]?
// EXPECT 1: u32 [1 0 1]
kernel void votes_of_a_group(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], THREAD,
                             SIMDGROUP, LANE) {
    threadgroup uint all_of[2], any_of[2];
    bool all_small = simd_all(x[t] < 64), any_large = simd_any(x[t] > 40);
    if (lane == 0) {
        all_of[sg] = all_small;
        any_of[sg] = any_large;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) {
        y[0] = all_of[0] & all_of[1];
        y[1] = any_of[0] & any_of[1];
        y[2] = any_of[0] | any_of[1];
    }
}
// RUN: kernel=rank_among_equals threads=32 group=32
// ARG 0: u32[32] = i % 3
// ARG 1: u32[32]?
// EXPECT 1: u32[32] = idiv(i, 3)
kernel void rank_among_equals(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], LANE) {
    uint rank = 0;
    for (uint key = 0; key < 3; key++) {
        ulong same = (ulong)simd_ballot(x[lane] == key);
        rank = x[lane] == key ? popcount(same & ((1ul << lane) - 1)) : rank;
    }
    y[lane] = rank;
}
// RUN: kernel=matrix_in_tiles threads=16,16 group=8,8
// ARG 0: f32[256] = i % 16
// ARG 1: f32[256]?
// EXPECT 1: f32[256] = 120 * (i % 16)
kernel void matrix_in_tiles(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                            uint2 p [[thread_position_in_grid]],
                            uint2 q [[thread_position_in_threadgroup]]) {
    threadgroup float left[8][8], right[8][8];
    float sum = 0;
    for (uint k = 0; k < 16; k += 8) {
        left[q.y][q.x] = a[p.y * 16 + k + q.x];
        right[q.y][q.x] = a[(k + q.y) * 16 + p.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < 8; j++) {
            sum += left[q.y][j] * right[j][q.x];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[p.y * 16 + p.x] = sum;
}
// RUN: kernel=ragged_tiles threads=13,11 group=8,8
// ARG 0: f32[143] = i
// ARG 1: f32[143]?
// EXPECT 1: f32[143] = 2 * i
kernel void ragged_tiles(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                         uint2 p [[thread_position_in_grid]],
                         uint2 q [[thread_position_in_threadgroup]]) {
    threadgroup float tile[8][9];
    tile[q.y][q.x] = a[p.y * 13 + p.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    c[p.y * 13 + p.x] = 2 * tile[q.y][q.x];
}
// RUN: kernel=halo_of_one threads=64 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]?
// EXPECT 1: f32[64] = i == 0 ? 1 : i == 63 ? 125 : 3 * i
kernel void halo_of_one(device float *x [[buffer(0)]], device float *y [[buffer(1)]], GRID, THREAD) {
    threadgroup float s[34];
    s[t + 1] = x[i];
    if (t == 0) {
        s[0] = i > 0 ? x[i - 1] : 0;
    }
    if (t == 31) {
        s[33] = i < 63 ? x[i + 1] : 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = s[t] + s[t + 1] + s[t + 2];
}
// RUN: kernel=double_buffered_loads threads=32 group=32
// ARG 0: f32[128] = 1
// ARG 1: f32[32]?
// EXPECT 1: f32[32] = 4
kernel void double_buffered_loads(device float *x [[buffer(0)]], device float *y [[buffer(1)]], THREAD) {
    threadgroup float s[2][32];
    float sum = 0;
    s[0][t] = x[t];
    for (uint k = 0; k < 4; k++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (k < 3) {
            s[(k + 1) & 1][t] = x[32 * (k + 1) + t];
        }
        sum += s[k & 1][31 - t];
    }
    y[t] = sum;
}
// RUN: kernel=row_softmax threads=64 group=32
// ARG 0: f32[64] = i % 32 == 0 ? 1 : 1
// EXPECT 0: f32[64] = 1 / 32
kernel void row_softmax(device float *x [[buffer(0)]], GRID) {
    float largest = simd_max(x[i]), e = exp(x[i] - largest);
    x[i] = e / simd_sum(e);
}
// RUN: kernel=row_norm_of_long_rows threads=64 group=64
// ARG 0: f32[256] = 2
// ARG 1: f32[256]?
// EXPECT 1: f32[256] = 1 ; tol=1e-4
kernel void row_norm_of_long_rows(device float *x [[buffer(0)]], device float *y [[buffer(1)]], THREAD,
                                  LANE, SIMDGROUP) {
    threadgroup float parts[2];
    float sum = 0;
    for (uint k = t; k < 256; k += 64) {
        sum += x[k] * x[k];
    }
    sum = simd_sum(sum);
    if (lane == 0) {
        parts[sg] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float scale = rsqrt((parts[0] + parts[1]) / 256 + 1e-6f);
    for (uint k = t; k < 256; k += 64) {
        y[k] = x[k] * scale;
    }
}
// RUN: kernel=dot_by_vectors threads=32 group=32
// ARG 0: f32[128] = 1
// ARG 1: f32[1]?
// EXPECT 1: f32 [128]
kernel void dot_by_vectors(device const float4 *x [[buffer(0)]], device float *y [[buffer(1)]], THREAD) {
    float sum = simd_sum(dot(x[t], float4(1)));
    if (t == 0) {
        y[0] = sum;
    }
}
// RUN: kernel=rows_by_simdgroups threads=128 group=128
// ARG 0: f32[128] = i % 32
// ARG 1: f32[4]?
// EXPECT 1: f32[4] = 496
kernel void rows_by_simdgroups(device float *x [[buffer(0)]], device float *y [[buffer(1)]], THREAD,
                               SIMDGROUP, LANE) {
    float sum = simd_sum(x[32 * sg + lane]);
    if (simd_is_first()) {
        y[sg] = sum;
    }
}
// RUN: kernel=gather_with_checked_index threads=8 group=8
// ARG 0: i32 [3 -1 2 9 0 7 1 -5]
// ARG 1: f32[8] = i
// ARG 2: f32[8]?
// EXPECT 2: f32 [3 0 2 0 0 7 1 0]
kernel void gather_with_checked_index(device const int *at [[buffer(0)]],
                                      device const float *x [[buffer(1)]],
                                      device float *y [[buffer(2)]], GRID) {
    y[i] = at[i] >= 0 && at[i] < 8 ? x[at[i]] : 0;
}
// RUN: kernel=scatter_to_places_of_their_own threads=32 group=32
// ARG 0: u32[32] = (i * 5) % 32
// ARG 1: u32[32]?
// EXPECT 1: u32[32] = (i * 13) % 32
kernel void scatter_to_places_of_their_own(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]],
                                           GRID) {
    y[x[i]] = i;
}
// RUN: kernel=linked_list threads=1 group=1
// ARG 0: u32[8] = (i + 3) % 8
// ARG 1: u32[1]?
// EXPECT 1: u32 [28]
kernel void linked_list(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]]) {
    uint at = 0, sum = 0;
    for (uint k = 0; k < 8; k++) {
        sum += at;
        at = x[at];
    }
    y[0] = sum;
}
// RUN: kernel=binary_search threads=16 group=16
// ARG 0: u32[16] = 3 * i
// ARG 1: u32[16]?
// EXPECT 1: u32[16] = i
kernel void binary_search(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID) {
    uint low = 0, high = 16;
    while (low < high) {
        uint middle = low + (high - low) / 2;
        if (x[middle] < 3 * i) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    y[i] = low;
}
// RUN: kernel=insertion_into_private_array threads=4 group=4
// ARG 0: u32[32] = (i * 11) % 32
// ARG 1: u32[4]?
// EXPECT 1: u32 [0 3 6 8]
kernel void insertion_into_private_array(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]],
                                         GRID) {
    uint best[3] = {~0u, ~0u, ~0u};
    for (uint k = 0; k < 8; k++) {
        uint v = x[8 * i + k];
        for (uint j = 0; j < 3; j++) {
            if (v < best[j]) {
                uint old = best[j];
                best[j] = v;
                v = old;
            }
        }
    }
    y[i] = best[0];
}
// RUN: kernel=stack_of_a_thread threads=8 group=8
// ARG 0: u32[8]?
// EXPECT 0: u32[8] = idiv(i * (i + 1), 2)
kernel void stack_of_a_thread(device uint *x [[buffer(0)]], GRID) {
    uint stack[16], depth = 0, sum = 0;
    for (uint k = 0; k <= i; k++) {
        stack[depth++] = k;
    }
    while (depth > 0) {
        sum += stack[--depth];
    }
    x[i] = sum;
}
// RUN: kernel=table_or_argument_by_lane threads=8 group=8
// ARG 0: f32[8]?
// ARG 1: f32[4] = 10
// EXPECT 0: f32[8] = i % 2 == 0 ? pow(2, idiv(i, 2)) : 10
kernel void table_or_argument_by_lane(device float *x [[buffer(0)]], constant float *c [[buffer(1)]],
                                      GRID) {
    constant float *from = i % 2 == 0 ? weights : c;
    x[i] = from[i / 2];
}
// RUN: kernel=tables_behind_a_struct threads=8 group=8
// ARG 0: f32[8]?
// EXPECT 0: f32 [1 0.5 2 0.25 4 0.5 8 0.25]
struct chosen {
    constant float *from;
    uint size;
};
kernel void tables_behind_a_struct(device float *x [[buffer(0)]], GRID) {
    chosen all[2] = {{weights, 4}, {halves, 2}};
    x[i] = all[i % 2].from[i / 2 % all[i % 2].size];
}
// RUN: kernel=one_of_two_outputs threads=8 group=8
// ARG 0: u32[4]?
// ARG 1: u32[4]?
// EXPECT 0: u32[4] = i
// EXPECT 1: u32[4] = i + 4
kernel void one_of_two_outputs(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID) {
    device uint *to = i < 4 ? x : y;
    to[i % 4] = i;
}
// RUN: kernel=swapped_buffers threads=16 group=16
// ARG 0: u32[16] = i
// ARG 1: u32[16]?
// EXPECT 0: u32[16] = (i + 4) % 16
kernel void swapped_buffers(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], THREAD) {
    device uint *from = x, *to = y;
    for (uint k = 0; k < 4; k++) {
        to[t] = from[(t + 1) % 16];
        threadgroup_barrier(mem_flags::mem_device);
        device uint *old = from;
        from = to;
        to = old;
    }
}
// RUN: kernel=view_at_an_offset threads=6 group=6
// ARG 0+8: u32[6] = i
// ARG 1+4: u32[6]?
// EXPECT 1: u32[6] = i + 1
kernel void view_at_an_offset(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID) {
    y[i] = x[i] + 1;
}
// RUN: kernel=rows_of_a_view_with_strides threads=4,3 group=4,3
// ARG 0: f32[24] = i
// ARG 1: f32[12]?
// EXPECT 1: f32[12] = 8 * idiv(i, 4) + 2 * (i % 4)
kernel void rows_of_a_view_with_strides(device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                                        uint2 p [[thread_position_in_grid]]) {
    y[p.y * 4 + p.x] = x[p.y * 8 + p.x * 2];
}
// RUN: kernel=half_of_a_word_each threads=16 group=16
// ARG 0: u32[8] = 65536 * (2 * i + 1) + 2 * i
// ARG 1: u32[16]?
// EXPECT 1: u32[16] = i
kernel void half_of_a_word_each(device const ushort *x [[buffer(0)]], device uint *y [[buffer(1)]],
                                GRID) {
    y[i] = x[i];
}
// RUN: kernel=nibbles threads=8 group=8
// ARG 0: u32 [1985229328]
// ARG 1: u32[8]?
// EXPECT 1: u32[8] = i
kernel void nibbles(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID) {
    y[i] = x[0] >> (4 * i) & 15;
}
// RUN: kernel=bits_of_a_mask threads=64 group=32
// ARG 0: u32[2]
// ARG 1: u32[64] = i % 3
// EXPECT 0: u32 [2454267026 613566756]
kernel void bits_of_a_mask(device atomic_uint *x [[buffer(0)]], device const uint *y [[buffer(1)]],
                           GRID) {
    if (y[i] == 1) {
        atomic_fetch_or_explicit(&x[i / 32], 1u << (i % 32), memory_order_relaxed);
    }
}
// RUN: kernel=random_walk_of_a_generator threads=8 group=8
// ARG 0: u32[8]?
kernel void random_walk_of_a_generator(device uint *x [[buffer(0)]], GRID) {
    uint state = i * 747796405u + 2891336453u;
    for (uint k = 0; k < 4; k++) {
        uint word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
        state = (word >> 22) ^ word;
    }
    x[i] = state;
}
// RUN: kernel=hash_table_by_exchange threads=32 group=32
// ARG 0: u32[64]
// ARG 1: u32[1]
// EXPECT 1: u32 [32]
kernel void hash_table_by_exchange(device atomic_uint *x [[buffer(0)]],
                                   device atomic_uint *n [[buffer(1)]], GRID) {
    uint key = i * 7 + 1;
    for (uint at = key % 64, k = 0; k < 64; at = (at + 1) % 64, k++) {
        uint expected = 0;
        if (atomic_compare_exchange_weak_explicit(&x[at], &expected, key, memory_order_relaxed,
                                                  memory_order_relaxed) ||
            expected == key) {
            atomic_fetch_add_explicit(n, 1u, memory_order_relaxed);
            break;
        }
    }
}
// RUN: kernel=largest_by_atomics threads=64 group=32
// ARG 0: u32[1]
// ARG 1: u32[64] = (i * 29) % 64
// EXPECT 0: u32 [63]
kernel void largest_by_atomics(device atomic_uint *x [[buffer(0)]], device const uint *y [[buffer(1)]],
                               GRID) {
    atomic_fetch_max_explicit(x, y[i], memory_order_relaxed);
}
// RUN: kernel=float_sum_by_atomics threads=64 group=32
// ARG 0: f32[1]
// EXPECT 0: f32 [32]
kernel void float_sum_by_atomics(device atomic_float *x [[buffer(0)]], GRID) {
    atomic_fetch_add_explicit(x, i % 2 ? 1.0f : 0.0f, memory_order_relaxed);
}
// RUN: kernel=bins_in_threadgroup_memory threads=128 group=64
// ARG 0: u32[128] = i % 8
// ARG 1: u32[8]
// EXPECT 1: u32[8] = 16
kernel void bins_in_threadgroup_memory(device const uint *x [[buffer(0)]],
                                       device atomic_uint *y [[buffer(1)]], GRID, THREAD) {
    threadgroup atomic_uint bins[8];
    if (t < 8) {
        atomic_store_explicit(&bins[t], 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&bins[x[i]], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 8) {
        atomic_fetch_add_explicit(&y[t], atomic_load_explicit(&bins[t], memory_order_relaxed), memory_order_relaxed);
    }
}
// RUN: kernel=work_queue threads=32 group=32
// ARG 0: u32[1]
// ARG 1: u32[100]
// EXPECT 1: u32[100] = 1
kernel void work_queue(device atomic_uint *next [[buffer(0)]], device uint *y [[buffer(1)]], GRID) {
    for (uint at; (at = atomic_fetch_add_explicit(next, 1u, memory_order_relaxed)) < 100;) {
        y[at] += 1;
    }
}
// RUN: kernel=butterfly_of_lanes threads=32 group=32
// ARG 0: u32[32] = i
// EXPECT 0: u32[32] = 496
kernel void butterfly_of_lanes(device uint *x [[buffer(0)]], LANE) {
    uint sum = x[lane];
    for (ushort by = 16; by > 0; by /= 2) {
        sum += simd_shuffle_xor(sum, by);
    }
    x[lane] = sum;
}
// RUN: kernel=guarded_shuffle_down threads=32 group=32
// ARG 0: u32[32] = i
// EXPECT 0: u32[32] = i < 31 ? i + 1 : 0
kernel void guarded_shuffle_down(device uint *x [[buffer(0)]], LANE) {
    uint next = simd_shuffle_down(x[lane], 1);
    x[lane] = lane < 31 ? next : 0;
}
// RUN: kernel=rotation_of_lanes threads=32 group=32
// ARG 0: u32[32] = i
// EXPECT 0: u32[32] = (i + 5) % 32
kernel void rotation_of_lanes(device uint *x [[buffer(0)]], LANE) {
    x[lane] = simd_shuffle_rotate_down(x[lane], 5);
}
// RUN: kernel=quad_sums threads=32 group=32
// ARG 0: u32[32] = i
// EXPECT 0: u32[32] = 16 * idiv(i, 4) + 6
kernel void quad_sums(device uint *x [[buffer(0)]], LANE) {
    uint sum = x[lane] + quad_shuffle_xor(x[lane], 1);
    x[lane] = sum + quad_shuffle_xor(sum, 2);
}
// RUN: kernel=leaders_of_branches threads=32 group=32
// ARG 0: u32[32]?
// EXPECT 0: u32[32] = i < 20 ? 0 : 20
kernel void leaders_of_branches(device uint *x [[buffer(0)]], LANE) {
    if (lane < 20) {
        x[lane] = simd_broadcast_first(lane);
    } else {
        x[lane] = simd_broadcast_first(lane);
    }
}
// RUN: kernel=tile_product threads=32 group=32
// ARG 0: f32[64] = 1
// ARG 1: f32[64]?
// EXPECT 1: f32[64] = 8
kernel void tile_product(device const float *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    simdgroup_float8x8 a, c = make_filled_simdgroup_matrix<float, 8, 8>(0);
    simdgroup_load(a, x, 8);
    simdgroup_multiply_accumulate(c, a, a, c);
    simdgroup_store(c, y, 8);
}
// RUN: kernel=polynomial_by_fma threads=16 group=16
// ARG 0: f32[16] = i / 16
// ARG 1: f32[16]?
// EXPECT 1: f32[16] = 1 + i / 16 + pow(i / 16, 2) ; tol=1e-6
kernel void polynomial_by_fma(device float *x [[buffer(0)]], device float *y [[buffer(1)]], GRID) {
    y[i] = fma(fma(x[i], 1.0f, 1.0f), x[i], 1.0f);
}
// RUN: kernel=rounded_to_bytes threads=8 group=8
// ARG 0: f32[8] = i * 100 - 200
// ARG 1: u32[8]?
// EXPECT 1: u32 [0 0 0 100 200 255 255 255]
kernel void rounded_to_bytes(device float *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID) {
    y[i] = uchar(clamp(rint(x[i]), 0.0f, 255.0f));
}
// RUN: kernel=blocks_of_four_bits_with_a_scale threads=32 group=32
// ARG 0: hex = 0038 10 32 54 76 98 ba dc fe 10 32 54 76 98 ba dc fe
// ARG 1: f32[32]?
// EXPECT 1: f32[32] = 0.5 * (i % 16 - 8)
struct block {
    half scale;
    uchar quants[16];
};
kernel void blocks_of_four_bits_with_a_scale(device const block *x [[buffer(0)]],
                                             device float *y [[buffer(1)]], GRID) {
    uint byte = x->quants[i / 2];
    y[i] = float(x->scale) * (float(i % 2 ? byte >> 4 : byte & 15) - 8);
}
// RUN: kernel=causal_mask threads=8,8 group=8,8
// ARG 0: f32[64] = 1
// EXPECT 0: f32[64] = i % 8 <= idiv(i, 8) ? 1 : 0
kernel void causal_mask(device float *x [[buffer(0)]], uint2 p [[thread_position_in_grid]]) {
    if (p.x > p.y) {
        x[p.y * 8 + p.x] = 0;
    }
}
