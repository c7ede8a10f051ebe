// Values of lanes that are inactive or not there, where they are used; tiles that only some lanes reach.
// SANITIZE: lanes
// RUN: kernel=down_past_the_end threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=up_past_the_start threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=down_in_a_partial_group threads=20 group=20
// ARG 0: f32[32]
// RUN: kernel=second_simdgroup_is_short threads=40 group=40
// ARG 0: f32[64]
// RUN: kernel=xor_with_a_missing_lane threads=13 group=13
// ARG 0: f32[32]
// RUN: kernel=shuffle_to_a_missing_lane threads=16 group=16
// ARG 0: f32[32]
// RUN: kernel=shuffle_out_of_range threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=broadcast_from_inactive threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=broadcast_after_return threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=rotate_in_a_partial_group threads=10 group=10
// ARG 0: f32[32]
// RUN: kernel=divergent_xor threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=in_a_divergent_loop threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=quad_of_three threads=7 group=7
// ARG 0: f32[32]
// RUN: kernel=quad_divergent threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=quad_down threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=quad_broadcast_of_a_fifth threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=quad_shuffle_of_any threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=quad_xor_into_the_next threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=sum_of_all_lanes_after_shuffles threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=every_lane_stores_its_sum threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=scan_without_a_test threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=branch_that_stores threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=loop_until threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=index_of_no_lane threads=32 group=32
// ARG 0: u32[64]
// RUN: kernel=best_in_the_last_lane threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=through_threadgroup_memory threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=through_an_array threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=vectors threads=32 group=32
// ARG 0: f32[128]
// RUN: kernel=halves threads=32 group=32
// ARG 0: f16[32]
// RUN: kernel=tile_load_divergent threads=32 group=32
// ARG 0: f32[64]
// RUN: kernel=tile_store_divergent threads=32 group=32
// ARG 0: f32[64]
// RUN: kernel=product_in_a_partial_group threads=16 group=16
// ARG 0: f32[64]
// RUN: kernel=product_after_return threads=32 group=32
// ARG 0: f32[64]
#include <metal_stdlib>
using namespace metal;

kernel void down_past_the_end(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = simd_shuffle_down(x[i], 1); // FINDS: lanes
}
kernel void up_past_the_start(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float before = simd_shuffle_up(x[i], 4);
    x[i] = x[i] - before; // FINDS: lanes
}
kernel void down_in_a_partial_group(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float next = simd_shuffle_down(x[i], 1);
    if (i < 31) {
        x[i] = next; // FINDS: lanes
    }
}
kernel void second_simdgroup_is_short(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                                      uint lane [[thread_index_in_simdgroup]]) {
    float sum = x[i];
    for (ushort k = 16; k > 0; k /= 2) {
        sum += simd_shuffle_down(sum, k);
    }
    if (lane == 0) {
        x[i] = sum; // FINDS: lanes
    }
}
kernel void xor_with_a_missing_lane(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = simd_shuffle_xor(x[i], 1); // FINDS: lanes
}
kernel void shuffle_to_a_missing_lane(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = simd_shuffle(x[i], 31 - i); // FINDS: lanes
}
kernel void shuffle_out_of_range(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = simd_shuffle(x[i], i + 8); // FINDS: lanes
}
kernel void broadcast_from_inactive(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i >= 8) {
        x[i] = simd_broadcast(x[i], 0); // FINDS: lanes
    }
}
kernel void broadcast_after_return(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i == 5) {
        return;
    }
    x[i] = simd_broadcast(x[i], 5); // FINDS: lanes
}
kernel void rotate_in_a_partial_group(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = simd_shuffle_rotate_down(x[i], 1); // FINDS: lanes
}
kernel void divergent_xor(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i & 1) {
        x[i] += simd_shuffle_xor(x[i], 1); // FINDS: lanes
    }
}
kernel void in_a_divergent_loop(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < i; k++) {
        sum += simd_broadcast(float(k), 0);
    }
    x[i] = sum; // FINDS: lanes
}
kernel void quad_of_three(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = quad_shuffle_xor(x[i], 1); // FINDS: lanes
}
kernel void quad_divergent(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if ((i & 3) != 3) {
        x[i] = quad_broadcast(x[i], 3); // FINDS: lanes
    }
}
kernel void quad_down(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = quad_shuffle_down(x[i], 1); // FINDS: lanes
}
kernel void quad_broadcast_of_a_fifth(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = quad_broadcast(x[i], 4); // FINDS: lanes
}
kernel void quad_shuffle_of_any(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = quad_shuffle(x[i], ushort(i)); // FINDS: lanes
}
kernel void quad_xor_into_the_next(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = quad_shuffle_xor(x[i], 4); // FINDS: lanes
}
kernel void sum_of_all_lanes_after_shuffles(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float pair = x[i] + simd_shuffle_down(x[i], 16);
    x[i] = simd_sum(pair); // FINDS: lanes
}
kernel void every_lane_stores_its_sum(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float sum = x[i];
    for (ushort k = 16; k > 0; k /= 2) {
        sum += simd_shuffle_down(sum, k);
    }
    x[i] = sum; // FINDS: lanes
}
kernel void scan_without_a_test(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float sum = x[i];
    for (ushort k = 1; k < 32; k *= 2) {
        sum += simd_shuffle_up(sum, k);
    }
    x[i] = sum; // FINDS: lanes
}
kernel void branch_that_stores(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float next = simd_shuffle_down(x[i], 1);
    if (next > 3) // FINDS: lanes
        x[i] = 1;
}
kernel void loop_until(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint n = simd_shuffle_down(i & 3, 2);
    float sum = 0;
    for (uint k = 0; k < n; k++) { // FINDS: lanes
        sum += 1;
    }
    x[i] = sum;
}
kernel void index_of_no_lane(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint at = simd_shuffle_down(i, 1);
    x[at] = i; // FINDS: lanes
}
kernel void best_in_the_last_lane(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float best = x[i];
    for (ushort k = 16; k > 0; k /= 2) {
        float other = simd_shuffle_down(best, k);
        if (other > best) {
            best = other;
        }
    }
    if (i == 31) {
        x[0] = best; // FINDS: lanes
    }
}
kernel void through_threadgroup_memory(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float s[32];
    s[i] = simd_shuffle_down(x[i], 8);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[31 - i]; // FINDS: lanes
}
kernel void through_an_array(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4];
    for (ushort k = 0; k < 4; k++) {
        a[k] = simd_shuffle_down(x[i], k);
    }
    x[i] = a[i & 3]; // FINDS: lanes
}
kernel void vectors(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = simd_shuffle_up(x[i], 1); // FINDS: lanes
}
kernel void halves(device half *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    half other = simd_shuffle_down(x[i], 2);
    x[i] = max(x[i], other); // FINDS: lanes
}
kernel void tile_load_divergent(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    simdgroup_float8x8 m(1);
    if (i < 16) {
        simdgroup_load(m, x, 8); // FINDS: lanes
    }
    simdgroup_store(m, x, 8);
}
kernel void tile_store_divergent(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    simdgroup_float8x8 m(1);
    if (i != 4) {
        simdgroup_store(m, x, 8); // FINDS: lanes
    }
}
kernel void product_in_a_partial_group(device float *x [[buffer(0)]]) {
    simdgroup_float8x8 a(1), b(2), c;
    simdgroup_multiply(c, a, b); // FINDS: lanes
    simdgroup_store(c, x, 8); // FINDS: lanes
}
kernel void product_after_return(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    simdgroup_float8x8 a(1), b(2), c(0);
    if (i == 31) {
        return;
    }
    simdgroup_multiply_accumulate(c, a, b, c); // FINDS: lanes
    x[i] = c.thread_elements()[0];
}
