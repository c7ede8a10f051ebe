// Variables that every way writes, arithmetic at the edge of what is defined, lanes that are all there, and maths
// that stays finite. Nothing is found.
// SANITIZE: bounds,alignment,race,barrier,uninitialised,lanes,arithmetic,numeric
#include <metal_stdlib>
using namespace metal;
#define GRID uint i [[thread_position_in_grid]]
#define LANE uint lane [[thread_index_in_simdgroup]]

// RUN: kernel=masked_shift threads=64 group=64
// ARG 0: u32[64]?
// EXPECT 0: u32[64] = 1
kernel void masked_shift(device uint *x [[buffer(0)]], GRID) { x[i] = (1u << (i & 31)) >> (i & 31); }
// RUN: kernel=shift_by_width_less_one threads=8 group=8
// ARG 0: i32[8] = 0 - i
// EXPECT 0: i32[8] = i > 0 ? 0 - 1 : 0
kernel void shift_by_width_less_one(device int *x [[buffer(0)]], GRID) { x[i] >>= 31; }
// RUN: kernel=mask_of_all_bits threads=33 group=33
// ARG 0: u32[33]?
// EXPECT 0: u32[33] = i < 32 ? (1 << i) - 1 : 4294967295
kernel void mask_of_all_bits(device uint *x [[buffer(0)]], GRID) { x[i] = i < 32 ? (1u << i) - 1 : ~0u; }
// RUN: kernel=rotation threads=32 group=32
// ARG 0: u32[32]?
// EXPECT 0: u32[32] = 1 << i
kernel void rotation(device uint *x [[buffer(0)]], GRID) { x[i] = (1u << i) | (1u >> ((32 - i) & 31)) * (i == 0); }
// RUN: kernel=short_shifted_as_int threads=4 group=4
// ARG 0: u32[4]?
// EXPECT 0: u32[4] = 65536 << i
kernel void short_shifted_as_int(device uint *x [[buffer(0)]], GRID) {
    ushort v = 1;
    x[i] = uint(v) << (16 + i);
}
// RUN: kernel=long_shifted_past_32 threads=4 group=4
// ARG 0: u64[4]?
// EXPECT 0: u64[4] = 8589934592 * (1 << i)
kernel void long_shifted_past_32(device ulong *x [[buffer(0)]], GRID) { x[i] = 1ul << (33 + i); }
// RUN: kernel=vector_shift_in_range threads=4 group=4
// ARG 0: u32[16]?
// EXPECT 0: u32[16] = 1 << (8 * (i % 4) + idiv(i, 4))
kernel void vector_shift_in_range(device uint4 *x [[buffer(0)]], GRID) { x[i] = uint4(1) << (uint4(0, 8, 16, 24) + i); }
// RUN: kernel=divisor_is_tested threads=8 group=8
// ARG 0: i32[8] = i % 3
// EXPECT 0: i32[8] = i % 3 > 0 ? idiv(12, i % 3) : 0
kernel void divisor_is_tested(device int *x [[buffer(0)]], GRID) { x[i] = x[i] ? 12 / x[i] : 0; }
// RUN: kernel=divisor_of_at_least_one threads=8 group=8
// ARG 0: u32[8] = i
// EXPECT 0: u32[8] = idiv(100, max(i, 1))
kernel void divisor_of_at_least_one(device uint *x [[buffer(0)]], GRID) { x[i] = 100 / max(x[i], 1u); }
// RUN: kernel=smallest_by_one threads=4 group=4
// ARG 0: i32[4] = i == 0 ? -2147483648 : 0 - 1
// EXPECT 0: i32 [-2147483648 -1 -1 -1]
kernel void smallest_by_one(device int *x [[buffer(0)]], GRID) { x[i] = x[i] / 1; }
// RUN: kernel=remainder_of_vectors threads=2 group=2
// ARG 0: u32[8] = i + 10
// EXPECT 0: u32[8] = (i + 10) % (i % 4 + 1)
kernel void remainder_of_vectors(device uint4 *x [[buffer(0)]], GRID) { x[i] %= uint4(1, 2, 3, 4); }
// RUN: kernel=clamped_before_conversion threads=8 group=8
// ARG 0: f32[8] = 1000 * i - 3000
// ARG 1: i8[8]?
// EXPECT 1: i8[8] = min(max(1000 * i - 3000, 0 - 128), 127)
kernel void clamped_before_conversion(const device float *x [[buffer(0)]], device char *y [[buffer(1)]], GRID) {
    y[i] = char(clamp(x[i], -128.0f, 127.0f));
}
// RUN: kernel=rounded_before_conversion threads=8 group=8
// ARG 0: f32[8] = i / 2 + 253.4
// ARG 1: u8[8]?
// EXPECT 1: u8[8] = min(rint(i / 2 + 253.4), 255)
kernel void rounded_before_conversion(const device float *x [[buffer(0)]], device uchar *y [[buffer(1)]], GRID) {
    y[i] = uchar(min(rint(x[i]), 255.0f));
}
// RUN: kernel=saturated_conversion threads=6 group=6
// ARG 0: f32[6] = (i - 3) * 4000000000
// ARG 1: i32[6]?
// EXPECT 1: i32[6] = i == 3 ? 0 : i < 3 ? -2147483648 : 2147483647
kernel void saturated_conversion(const device float *x [[buffer(0)]], device int *y [[buffer(1)]], GRID) {
    float v = x[i];
    y[i] = v >= 2147483648.0f ? 2147483647 : v < -2147483648.0f ? int(0x80000000) : int(v);
}
// RUN: kernel=largest_that_converts threads=4 group=4
// ARG 0: f32[4] = 2147483520
// ARG 1: i32[4]?
// EXPECT 1: i32[4] = 2147483520
kernel void largest_that_converts(const device float *x [[buffer(0)]], device int *y [[buffer(1)]], GRID) { y[i] = int(x[i]); }
// RUN: kernel=minus_a_half_to_unsigned threads=4 group=4
// ARG 0: f32[4] = 0 - i / 5
// ARG 1: u32[4]?
// EXPECT 1: u32[4] = 0
kernel void minus_a_half_to_unsigned(const device float *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID) { y[i] = uint(x[i]); }
// RUN: kernel=all_of_an_array_in_two_loops threads=8 group=8
// ARG 0: f32[8]?
// EXPECT 0: f32[8] = 16
kernel void all_of_an_array_in_two_loops(device float *x [[buffer(0)]], GRID) {
    float a[16];
    for (uint k = 0; k < 16; k += 2) {
        a[k] = 2;
    }
    for (uint k = 1; k < 16; k += 2) {
        a[k] = 0;
    }
    float sum = 0;
    for (uint k = 0; k < 16; k++) {
        sum += a[(k + i) % 16];
    }
    x[i] = sum;
}
// RUN: kernel=either_side_of_an_if threads=8 group=8
// ARG 0: i32[8]?
// EXPECT 0: i32[8] = i % 2 ? i + 1 : 0 - i
kernel void either_side_of_an_if(device int *x [[buffer(0)]], GRID) {
    int v, w;
    if (i & 1) {
        v = int(i);
        w = 1;
    } else {
        w = -int(i);
        v = 0;
    }
    x[i] = v + w;
}
// RUN: kernel=every_case threads=8 group=8
// ARG 0: u32[8]?
// EXPECT 0: u32[8] = i % 4 + 10
kernel void every_case(device uint *x [[buffer(0)]], GRID) {
    uint v;
    switch (i & 3) {
    case 0: v = 10; break;
    case 1: v = 11; break;
    case 2: v = 12; break;
    default: v = 13;
    }
    x[i] = v;
}
// RUN: kernel=first_pass_writes threads=8 group=8
// ARG 0: u32[8]?
// EXPECT 0: u32[8] = 3 * i + 3
kernel void first_pass_writes(device uint *x [[buffer(0)]], GRID) {
    uint v;
    for (uint k = 0; k < 4; k++) {
        v = k == 0 ? i * 3 : v + 1;
    }
    x[i] = v;
}
// RUN: kernel=written_by_a_call threads=8 group=8
// ARG 0: u32[8]?
// EXPECT 0: u32[8] = 5 * i
bool find(uint i, thread uint &at) {
    if (i > 100) {
        return false;
    }
    at = 5 * i;
    return true;
}
kernel void written_by_a_call(device uint *x [[buffer(0)]], GRID) {
    uint at;
    x[i] = find(i, at) ? at : 0;
}
// RUN: kernel=padding_is_not_read threads=4 group=4
// ARG 0: bytes = u8:1 pad:3 u32:2 u8:3 pad:3 u32:4 u8:5 pad:3 u32:6 u8:7 pad:3 u32:8
// ARG 1: u32[8]?
// EXPECT 1: u32 [2]
struct padded {
    uchar a;
    uint b;
};
kernel void padding_is_not_read(const device padded *x [[buffer(0)]], device padded *y [[buffer(1)]], GRID) {
    padded p;
    p.a = x[i].a + 1;
    p.b = x[i].b;
    y[i].a = p.a;
    y[i].b = p.b;
    if (i == 0) {
        ((device uchar *)y)[1] = ((device uchar *)y)[2] = ((device uchar *)y)[3] = 0;
    }
}
// RUN: kernel=copied_and_never_used threads=4 group=4
// ARG 0: u32[4]?
// EXPECT 0: u32[4] = i
kernel void copied_and_never_used(device uint *x [[buffer(0)]], GRID) {
    uint unused[4], copy[4];
    for (uint k = 0; k < 4; k++) {
        copy[k] = unused[k];
    }
    copy[0] = i;
    x[i] = copy[0];
}
// RUN: kernel=component_by_component threads=4 group=4
// ARG 0: f32[16]?
// EXPECT 0: f32[16] = i
kernel void component_by_component(device float4 *x [[buffer(0)]], GRID) {
    float4 v;
    for (uint k = 0; k < 4; k++) {
        v[k] = float(4 * i + k);
    }
    x[i] = v;
}
// RUN: kernel=swizzles_fill_all threads=4 group=4
// ARG 0: f32[16]?
// EXPECT 0: f32[16] = i
kernel void swizzles_fill_all(device float4 *x [[buffer(0)]], GRID) {
    float4 v;
    v.xz = float2(0, 2);
    v.wy = float2(3, 1);
    x[i] = v + 4 * float(i);
}
// RUN: kernel=column_by_column threads=4 group=4
// ARG 0: f32[4]?
// EXPECT 0: f32[4] = 10 * i
kernel void column_by_column(device float *x [[buffer(0)]], GRID) {
    float2x2 m;
    m[0] = float2(i, 2 * i);
    m[1] = float2(3 * i, 4 * i);
    x[i] = m[0][0] + m[0][1] + m[1][0] + m[1][1];
}
// RUN: kernel=buffer_written_then_read threads=64 group=64
// ARG 0: u32[64]?
// ARG 1: u32[64]?
// EXPECT 1: u32[64] = 63 - i
kernel void buffer_written_then_read(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID) {
    x[i] = i;
    threadgroup_barrier(mem_flags::mem_device);
    y[i] = x[63 - i];
}
// RUN: kernel=unused_rest_of_a_row threads=10 group=10
// ARG 0: f32[10] = i
// ARG 1: f32[10]?
// EXPECT 1: f32[10] = 9 - i
kernel void unused_rest_of_a_row(const device float *x [[buffer(0)]], device float *y [[buffer(1)]], GRID) {
    threadgroup float row[32];
    row[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v = row[31 - (i + 22) % 32];
    y[i] = i < 10 ? row[9 - i] : v;
}
// RUN: kernel=filled_by_atomics threads=32 group=32
// ARG 0: u32[4]?
// EXPECT 0: u32[4] = 8
kernel void filled_by_atomics(device uint *x [[buffer(0)]], GRID) {
    threadgroup atomic_uint n[4];
    if (i < 4) {
        atomic_exchange_explicit(&n[i], 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&n[i % 4], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < 4) {
        x[i] = atomic_load_explicit(&n[i], memory_order_relaxed);
    }
}
// RUN: kernel=packed_into_words threads=4 group=4
// ARG 0: u32[4]?
// EXPECT 0: u32[4] = 50462976 + 67372036 * i
kernel void packed_into_words(device uint *x [[buffer(0)]], GRID) {
    uint v = 0;
    for (uint k = 0; k < 4; k++) {
        v |= (4 * i + k) << (8 * k);
    }
    x[i] = v;
}
// RUN: kernel=partial_group_reductions threads=21 group=21
// ARG 0: u32[21]?
// EXPECT 0: u32[21] = 210 + 20 + 0
kernel void partial_group_reductions(device uint *x [[buffer(0)]], GRID) { x[i] = simd_sum(i) + simd_max(i) + simd_min(i); }
// RUN: kernel=broadcast_of_a_lane_that_is_there threads=21 group=21
// ARG 0: u32[21]?
// EXPECT 0: u32[21] = 20
kernel void broadcast_of_a_lane_that_is_there(device uint *x [[buffer(0)]], GRID) { x[i] = simd_broadcast(i, 20); }
// RUN: kernel=first_active_lane threads=32 group=32
// ARG 0: u32[32] = 99
// EXPECT 0: u32[32] = i % 3 == 2 ? 2 : 99
kernel void first_active_lane(device uint *x [[buffer(0)]], GRID) {
    if (i % 3 == 2) {
        x[i] = simd_broadcast_first(i);
    }
}
// RUN: kernel=xor_within_sixteen_lanes threads=16 group=16
// ARG 0: u32[16]?
// EXPECT 0: u32[16] = 120
kernel void xor_within_sixteen_lanes(device uint *x [[buffer(0)]], GRID) {
    uint v = i;
    for (ushort k = 8; k > 0; k /= 2) {
        v += simd_shuffle_xor(v, k);
    }
    x[i] = v;
}
// RUN: kernel=branch_of_the_whole_simdgroup threads=64 group=64
// ARG 0: u32[64]?
// EXPECT 0: u32[64] = i < 32 ? (i + 1) % 32 : i
kernel void branch_of_the_whole_simdgroup(device uint *x [[buffer(0)]], GRID, LANE) {
    x[i] = i;
    if (i / 32 == 0) {
        x[i] = simd_shuffle_rotate_down(i, 1);
    }
}
// RUN: kernel=shuffle_before_the_branch threads=32 group=32
// ARG 0: u32[32]?
// EXPECT 0: u32[32] = i < 31 ? i + 1 : 0
kernel void shuffle_before_the_branch(device uint *x [[buffer(0)]], GRID, LANE) {
    uint next = simd_shuffle_down(i, 1);
    x[i] = lane < 31 ? next : 0;
}
// RUN: kernel=fill_where_nobody_is threads=32 group=32
// ARG 0: u32[32]?
// EXPECT 0: u32[32] = i < 30 ? i + 2 : 7
kernel void fill_where_nobody_is(device uint *x [[buffer(0)]], GRID) { x[i] = simd_shuffle_and_fill_down(i, 7u, 2); }
// RUN: kernel=quads_of_four threads=12 group=12
// ARG 0: u32[12]?
// EXPECT 0: u32[12] = 4 * idiv(i, 4) + 3 - i % 4
kernel void quads_of_four(device uint *x [[buffer(0)]], GRID) { x[i] = quad_shuffle_xor(i, 3); }
// RUN: kernel=quad_broadcasts threads=8 group=8
// ARG 0: u32[8]?
// EXPECT 0: u32[8] = 4 * idiv(i, 4) + 2
kernel void quad_broadcasts(device uint *x [[buffer(0)]], GRID) { x[i] = quad_broadcast(i, 2); }
// RUN: kernel=lanes_of_a_ballot threads=32 group=32
// ARG 0: u32[32]?
// EXPECT 0: u32[32] = 5 + 26
kernel void lanes_of_a_ballot(device uint *x [[buffer(0)]], GRID) {
    ulong votes = (simd_vote::vote_t)simd_ballot(i >= 5 && i < 27);
    x[i] = uint(ctz(votes)) + uint(63 - clz(votes));
}
// RUN: kernel=shuffle_by_a_found_lane threads=32 group=32
// ARG 0: u32[32] = (i * 11) % 32
// EXPECT 0: u32[32] = 31
kernel void shuffle_by_a_found_lane(device uint *x [[buffer(0)]], GRID) {
    uint v = x[i], best = simd_max(v);
    ulong votes = (simd_vote::vote_t)simd_ballot(v == best);
    x[i] = simd_shuffle(v, ushort(ctz(votes)));
}
// RUN: kernel=tiles_under_a_uniform_branch threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]?
// EXPECT 1: f32[64] = 2 * i
kernel void tiles_under_a_uniform_branch(const device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                                         uint sg [[simdgroup_index_in_threadgroup]]) {
    if (sg == 1) {
        simdgroup_float8x8 m, two = make_filled_simdgroup_matrix<float, 8, 8>(0);
        simdgroup_load(m, x, 8);
        two.thread_elements()[0] = 2 * m.thread_elements()[0];
        two.thread_elements()[1] = 2 * m.thread_elements()[1];
        simdgroup_store(two, y, 8);
    }
}
// RUN: kernel=scan_in_order threads=32 group=32
// ARG 0: f32[32] = 1
// EXPECT 0: f32[32] = i
kernel void scan_in_order(device float *x [[buffer(0)]], GRID) { x[i] = simd_prefix_exclusive_sum(x[i]); }
// RUN: kernel=logarithm_of_a_positive threads=8 group=8
// ARG 0: f32[8] = i
// EXPECT 0: f32[8] = log2(max(i, 0.5)) ; tol=1e-5
kernel void logarithm_of_a_positive(device float *x [[buffer(0)]], GRID) { x[i] = log2(max(x[i], 0.5f)); }
// RUN: kernel=root_of_a_sum_of_squares threads=8 group=8
// ARG 0: f32[8] = i - 4
// EXPECT 0: f32[8] = abs(i - 4) ; tol=1e-5
kernel void root_of_a_sum_of_squares(device float *x [[buffer(0)]], GRID) { x[i] = sqrt(x[i] * x[i]); }
// RUN: kernel=norm_with_an_epsilon threads=8 group=8
// ARG 0: f32[8]
// EXPECT 0: f32[8] = 0
kernel void norm_with_an_epsilon(device float *x [[buffer(0)]], GRID) { x[i] *= rsqrt(simd_sum(x[i] * x[i]) / 8 + 1e-5f); }
// RUN: kernel=masked_scores_of_a_softmax threads=8 group=8
// ARG 0: f32[8] = i
// EXPECT 0: f32[8] = i == 0
kernel void masked_scores_of_a_softmax(device float *x [[buffer(0)]], GRID) {
    float v = i < 1 ? x[i] : -INFINITY, m = simd_max(v), e = exp(v - m);
    x[i] = e / simd_sum(e);
}
// RUN: kernel=sigmoid_of_large_numbers threads=8 group=8
// ARG 0: f32[8] = 500 * (i - 4)
// EXPECT 0: f32[8] = i < 4 ? 0 : i > 4 ? 1 : 0.5 ; tol=1e-6
kernel void sigmoid_of_large_numbers(device float *x [[buffer(0)]], GRID) {
    float e = exp(-abs(x[i]));
    x[i] = x[i] < 0 ? e / (1 + e) : 1 / (1 + e);
}
// RUN: kernel=half_that_fits threads=8 group=8
// ARG 0: f32[8] = 70000 * i
// ARG 1: f16[8]?
// EXPECT 1: f16[8] = min(70000 * i, 65504)
kernel void half_that_fits(const device float *x [[buffer(0)]], device half *y [[buffer(1)]], GRID) {
    y[i] = half(min(x[i], 65504.0f));
}
// RUN: kernel=mean_of_what_is_there threads=8 group=8
// ARG 0: f32[8] = i
// ARG 1: u32[1]
// EXPECT 0: f32[8] = 0
kernel void mean_of_what_is_there(device float *x [[buffer(0)]], constant uint &n [[buffer(1)]], GRID) {
    float sum = 0;
    for (uint k = 0; k < n; k++) {
        sum += x[k];
    }
    x[i] = n ? sum / float(n) : 0;
}
// RUN: kernel=angle_of_nothing threads=8 group=8
// ARG 0: f32[8]
// EXPECT 0: f32[8] = 0
kernel void angle_of_nothing(device float *x [[buffer(0)]], GRID) { x[i] = atan2(x[i], x[i]) + pow(x[i], 2.0f); }
// RUN: kernel=a_struct_that_the_larger_lane_gives threads=32 group=32
// ARG 0: f32[32]
// EXPECT 0: f32 [32]
struct partial {
    float largest, total;
};
kernel void a_struct_that_the_larger_lane_gives(device float *x [[buffer(0)]], GRID) {
    partial a = {x[i], 1};
    for (ushort k = 16; k > 0; k /= 2) {
        partial b = {simd_shuffle_down(a.largest, k), simd_shuffle_down(a.total, k)};
        bool is_larger = a.largest > b.largest;
        partial p = is_larger ? a : b, q = is_larger ? b : a;
        a.total = p.total + q.total * exp(q.largest - p.largest);
        a.largest = p.largest;
    }
    if (i == 0) {
        x[0] = a.total;
    }
}
