// Clean kernels at the edge of what the checks look for: the last component and element, the largest amount, lanes and
// memory that are just there.
// SANITIZE: bounds,alignment,race,barrier,uninitialised,lanes,arithmetic
// RUN: kernel=last_component threads=4 group=4
// ARG 0: f32[16] = i
// ARG 1: f32[4]
// RUN: kernel=every_component threads=8 group=8
// ARG 0: f16[32]
// ARG 1: f16[8]
// RUN: kernel=packed_to_the_end threads=8 group=8
// ARG 0: f32[24]
// RUN: kernel=matrix_columns threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=line_to_the_end threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=end_of_array_by_pointer threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=one_of_two_arrays threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=pointer_kept_in_a_struct threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=reversed_within_the_buffer threads=32 group=32
// ARG 0: f32[21] = i
// ARG 1: u32 = 21
// RUN: kernel=last_word_of_bytes threads=4 group=4
// ARG 0: u8[16] = i
// ARG 1: u32[4]
// RUN: kernel=halo_that_is_cut threads=37 group=16
// ARG 0: f32[37] = i
// ARG 1: f32[37]
// RUN: kernel=index_that_wraps_and_is_not_used threads=9 group=9
// ARG 0: f32[8] = i
// ARG 1: f32[9]
// RUN: kernel=largest_shift threads=32 group=32
// ARG 0: u32[32]
// RUN: kernel=shift_of_long threads=32 group=32
// ARG 0: u64[32]
// RUN: kernel=shift_that_is_guarded threads=64 group=64
// ARG 0: u32[64]
// RUN: kernel=rotation threads=64 group=64
// ARG 0: u32[64] = i
// RUN: kernel=divisor_that_is_guarded threads=16 group=16
// ARG 0: i32[16]
// RUN: kernel=smallest_by_minus_one_guarded threads=8 group=8
// ARG 0: i32[8]
// RUN: kernel=largest_float_that_fits threads=8 group=8
// ARG 0: i32[8]
// RUN: kernel=unsigned_from_below_one threads=8 group=8
// ARG 0: u32[8]
// RUN: kernel=saturated_by_hand threads=16 group=16
// ARG 0: u8[16]
// RUN: kernel=shuffle_within_partial_group threads=45 group=64
// ARG 0: u32[45]
// RUN: kernel=shuffle_down_that_is_not_used threads=32 group=32
// ARG 0: u32[32]
// RUN: kernel=reduction_in_a_branch threads=32 group=32
// ARG 0: u32[32]
// RUN: kernel=ballot_where_some_left threads=32 group=32
// ARG 0: u32[32]
// RUN: kernel=two_barriers_in_a_loop threads=64 group=64
// ARG 0: f32[64] = i
// RUN: kernel=written_by_its_simdgroup threads=64 group=64
// ARG 0: f32[64] = i
// RUN: kernel=device_memory_of_the_group threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]?
// RUN: kernel=one_thread_for_all threads=64 group=64
// ARG 0: f32[64] = i
// RUN: kernel=counted_by_atomics threads=64 group=16
// ARG 0: u32[1]
// ARG 1: u32[64]?
// RUN: kernel=same_condition_for_all threads=32 group=32
// ARG 0: f32[32] = i
// ARG 1: u32 = 5
// RUN: kernel=written_where_it_is_read threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=copied_but_not_used threads=8 group=8
// ARG 0: f32[8] = i
#include <metal_stdlib>
using namespace metal;

kernel void last_component(device float3 *x [[buffer(0)]], device float *y [[buffer(1)]],
                           uint i [[thread_position_in_grid]]) {
    float3 v = x[i];
    v[2] = v[i % 3];
    y[i] = v[2] + v.zyx[i % 3];
}
kernel void every_component(device half4 *x [[buffer(0)]], device half *y [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    half sum = 0;
    for (uint c = 0; c < 4; c++) {
        sum += x[i][c];
    }
    y[i] = sum;
}
kernel void packed_to_the_end(device packed_float3 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    for (uint c = 0; c < 3; c++) {
        x[i][c] = float(i + c);
    }
}
kernel void matrix_columns(device float *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float4x4 m(1.0f);
    for (uint c = 0; c < 4; c++) {
        m[c][3 - c] += float(c);
    }
    y[i] = m[i % 4][3 - i % 4];
}
kernel void line_to_the_end(device float *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float lines[3][5];
    for (uint a = 0; a < 3; a++) {
        for (uint b = 0; b < 5; b++) {
            lines[a][b] = float(a * b);
        }
    }
    y[i] = lines[i % 3][4];
}
kernel void end_of_array_by_pointer(device float *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float part[6];
    for (thread float *p = part; p != part + 6; p++) {
        *p = float(i);
    }
    float sum = 0;
    for (thread float *p = part + 6; p-- != part;) {
        sum += *p;
    }
    y[i] = sum;
}
kernel void one_of_two_arrays(device float *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float small[2] = {1, 2}, large[7] = {1, 2, 3, 4, 5, 6, 7};
    thread float *p = i % 2 ? large : small;
    uint n = i % 2 ? 7 : 2;
    float sum = 0;
    for (uint a = 0; a < n; a++) {
        sum += p[a];
    }
    y[i] = sum;
}
kernel void pointer_kept_in_a_struct(device float *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float own[4] = {1, 2, 3, 4};
    struct kept { thread float *first, *last; } k = {own, own + 3};
    if (i % 2) {
        k.first = k.last;
    }
    y[i] = *k.first + *k.last;
}
kernel void reversed_within_the_buffer(device float *y [[buffer(0)]], constant uint &n [[buffer(1)]],
                                       uint i [[thread_position_in_grid]]) {
    if (i < n / 2) {
        float kept = y[i];
        y[i] = y[n - 1 - i];
        y[n - 1 - i] = kept;
    }
}
kernel void last_word_of_bytes(device const uchar *x [[buffer(0)]], device uint *y [[buffer(1)]],
                               uint i [[thread_position_in_grid]]) {
    y[i] = *(device const uint *)(x + 4 * i);
}
kernel void halo_that_is_cut(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                             uint n [[threads_per_grid]], uint i [[thread_position_in_grid]]) {
    float left = i ? x[i - 1] : 0.0f, right = i + 1 < n ? x[i + 1] : 0.0f;
    y[i] = left + x[i] + right;
}
kernel void index_that_wraps_and_is_not_used(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                                             uint i [[thread_position_in_grid]]) {
    uint before = i - 1;
    y[i] = before < 8u ? x[before] : 1.0f;
}
kernel void largest_shift(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    y[i] = (1u << 31) >> i | 1u << i;
}
kernel void shift_of_long(device ulong *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    y[i] = 1ul << (i * 2 + 1);
}
kernel void shift_that_is_guarded(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    y[i] = i < 32 ? 0xffffffffu >> i : 0u;
}
kernel void rotation(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    y[i] = rotate(y[i], i);
}
kernel void divisor_that_is_guarded(device int *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int d = int(i) - 4;
    y[i] = d ? 100 / d + 100 % d : 0;
}
kernel void smallest_by_minus_one_guarded(device int *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int x = i % 2 ? INT_MIN : 7;
    y[i] = x == INT_MIN ? 0 : x / -1;
}
kernel void largest_float_that_fits(device int *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float x = i % 2 ? 2147483520.0f : -2147483648.0f;
    y[i] = int(x);
}
kernel void unsigned_from_below_one(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    y[i] = uint(-0.99f + float(i));
}
kernel void saturated_by_hand(device uchar *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    y[i] = uchar(clamp(float(i) * 40.0f - 100.0f, 0.0f, 255.0f));
}
kernel void shuffle_within_partial_group(device uint *y [[buffer(0)]], uint n [[threads_per_grid]],
                                         uint lane [[thread_index_in_simdgroup]], uint i [[thread_position_in_grid]]) {
    uint last = min(31u, n - 1 - (i - lane));
    uint other = simd_shuffle(i, ushort(last - lane));
    y[i] = other;
}
kernel void shuffle_down_that_is_not_used(device uint *y [[buffer(0)]], uint lane [[thread_index_in_simdgroup]],
                                          uint i [[thread_position_in_grid]]) {
    uint next = simd_shuffle_down(i, 1);
    y[i] = lane < 31 ? next : i;
}
kernel void reduction_in_a_branch(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint sum = 0;
    if (i % 3 == 0) {
        sum = simd_sum(i);
    }
    y[i] = sum;
}
kernel void ballot_where_some_left(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i > 20) {
        return;
    }
    y[i] = popcount(uint(ulong(simd_active_threads_mask())));
}
kernel void two_barriers_in_a_loop(device float *y [[buffer(0)]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    float v = y[t];
    for (uint step = 1; step < 64; step *= 2) {
        s[t] = v;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v += t >= step ? s[t - step] : 0.0f;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    y[t] = v;
}
kernel void written_by_its_simdgroup(device float *y [[buffer(0)]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[t] = y[t];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = s[t ^ 1] + s[t ^ 16];
}
kernel void device_memory_of_the_group(device float *y [[buffer(0)]], device float *part [[buffer(1)]],
                                       uint t [[thread_index_in_threadgroup]]) {
    part[t] = y[t];
    threadgroup_barrier(mem_flags::mem_device);
    y[t] = part[63 - t];
}
kernel void one_thread_for_all(device float *y [[buffer(0)]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup float total;
    if (t == 0) {
        total = 0;
        for (uint a = 0; a < 64; a++) {
            total += y[a];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    if (t > 0) {
        y[t] = total;
    }
}
kernel void counted_by_atomics(device atomic_uint *count [[buffer(0)]], device uint *y [[buffer(1)]],
                               uint i [[thread_position_in_grid]]) {
    uint place = atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);
    y[place] = i;
}
kernel void same_condition_for_all(device float *y [[buffer(0)]], constant uint &n [[buffer(1)]],
                                   uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[32];
    s[t] = y[t];
    if (n > 3) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        y[t] = s[31 - t];
    }
}
kernel void written_where_it_is_read(device float *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float part[8];
    for (uint a = 0; a < 8; a += 2) {
        part[a] = float(a);
    }
    float sum = 0;
    for (uint a = 0; a < 8; a++) {
        sum += a % 2 ? 1.0f : part[a];
    }
    y[i] = sum;
}
kernel void copied_but_not_used(device float *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float4 v;
    v.x = y[i];
    v.yz = float2(1, 2);
    float4 w = v;
    y[i] = w.x + w.y + w.z;
}
