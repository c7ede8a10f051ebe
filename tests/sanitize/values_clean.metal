// Kernels that are right, and look as if they were not: reductions that leave garbage in upper lanes, partial
// SIMD-groups, divergence, variables that every way writes. Nothing is found in them.
// SANITIZE: uninitialised,lanes,arithmetic
// RUN: kernel=reduce_shuffle_down_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=reduce_shuffle_down_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=reduce_two_levels_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=reduce_two_levels_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=reduce_tree_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=reduce_tree_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=argmax_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=argmax_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=scan_up_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=scan_up_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=scan_select_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=scan_select_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=butterfly_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=butterfly_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=partial_group_sum_float threads=45 group=45
// ARG 0: f32[256] = i % 7
// RUN: kernel=partial_group_sum_int threads=45 group=45
// ARG 0: i32[256] = i % 7
// RUN: kernel=partial_group_tree_float threads=13 group=13
// ARG 0: f32[256] = i % 7
// RUN: kernel=partial_group_tree_int threads=13 group=13
// ARG 0: i32[256] = i % 7
// RUN: kernel=divergent_reductions_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=divergent_reductions_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=left_early_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=left_early_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=quad_sums_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=quad_sums_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=quad_partial_float threads=35 group=35
// ARG 0: f32[256] = i % 7
// RUN: kernel=quad_partial_int threads=35 group=35
// ARG 0: i32[256] = i % 7
// RUN: kernel=neighbours_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=neighbours_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=rotated_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=rotated_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=halo_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=halo_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=transposed_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=transposed_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=guarded_tail_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=guarded_tail_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=sorting_network_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=sorting_network_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=filled_then_read_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=filled_then_read_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=ring_buffer_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=ring_buffer_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=assigned_in_all_ways_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=assigned_in_all_ways_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=not_read_where_not_written_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=not_read_where_not_written_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=online_maximum_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=online_maximum_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=histogram_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=histogram_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=compacted_float threads=64 group=64
// ARG 0: f32[256] = i % 7
// RUN: kernel=compacted_int threads=64 group=64
// ARG 0: i32[256] = i % 7
// RUN: kernel=dynamic_memory_float threads=32 group=32
// ARG 0: f32[256] = i % 7
// RUN: kernel=dynamic_memory_int threads=32 group=32
// ARG 0: i32[256] = i % 7
// RUN: kernel=voted_float threads=50 group=50
// ARG 0: f32[256] = i % 7
// RUN: kernel=voted_int threads=50 group=50
// ARG 0: i32[256] = i % 7
// RUN: kernel=vector_work_float threads=16 group=16
// ARG 0: f32[64] = i
// RUN: kernel=vector_parts_float threads=16 group=16
// ARG 0: f32[64] = i
// RUN: kernel=vector_work_half threads=16 group=16
// ARG 0: f16[64] = i
// RUN: kernel=vector_parts_half threads=16 group=16
// ARG 0: f16[64] = i
// RUN: kernel=structs threads=16 group=16
// ARG 0: u32[32]
// RUN: kernel=returned_structs threads=16 group=16
// ARG 0: u32[64]
// RUN: kernel=out_parameters threads=16 group=16
// ARG 0: f32[32] = i + 4
// RUN: kernel=matrices threads=16 group=16
// ARG 0: f32[32] = i
// RUN: kernel=tiled_matmul threads=8,8 group=8,8
// ARG 0: f32[128] = i
// ARG 1: f32[128] = i
// ARG 2: f32[64]?
// RUN: kernel=simdgroup_matmul threads=32 group=32
// ARG 0: f32[128] = i
// ARG 1: f32[128] = i
// ARG 2: f32[64]?
// RUN: kernel=rows_that_nobody_stores threads=32 group=32
// ARG 0: f32[40] = i
// ARG 1: f32[64] = i
// ARG 2: f32[40]?
// RUN: kernel=dynamic_arrays threads=64 group=64
// ARG 0: f32[64] = i
// TG 0: 256
// RUN: kernel=lambdas threads=16 group=16
// ARG 0: f32[16] = i
// RUN: kernel=swapped_arrays threads=16 group=16
// ARG 0: f32[128] = i
// RUN: kernel=switched threads=16 group=16
// ARG 0: f32[16] = i
// RUN: kernel=unions threads=16 group=16
// ARG 0: u32[16] = i
// RUN: kernel=bits threads=16 group=16
// ARG 0: u32[16] = i
// RUN: kernel=short_circuit threads=16 group=16
// ARG 0: f32[16] = i
// RUN: kernel=atomics_of_floats threads=64 group=64
// ARG 0: f32[4]
// RUN: kernel=softmax threads=64 group=64
// ARG 0: f32[64] = i
#include <metal_stdlib>
using namespace metal;

template <typename T>
kernel void reduce_shuffle_down(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                                uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                                uint sg [[simdgroup_index_in_threadgroup]]) {
    T sum = x[i];
    for (ushort k = 16; k > 0; k /= 2) {
        sum += simd_shuffle_down(sum, k);
    }
    if (lane == 0) {
        x[128 + sg] = sum;
    }
}
template [[host_name("reduce_shuffle_down_float")]] kernel void reduce_shuffle_down<float>(device float *, uint, uint, uint, uint);
template [[host_name("reduce_shuffle_down_int")]] kernel void reduce_shuffle_down<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void reduce_two_levels(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                              uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                              uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup T partial[32];
    T sum = x[i];
    for (ushort k = 16; k > 0; k /= 2) {
        sum += simd_shuffle_down(sum, k);
    }
    if (lane == 0) {
        partial[sg] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0) {
        T v = lane < 2 ? partial[lane] : T(0);
        for (ushort k = 16; k > 0; k /= 2) {
            v += simd_shuffle_down(v, k);
        }
        if (lane == 0) {
            x[0] = v;
        }
    }
}
template [[host_name("reduce_two_levels_float")]] kernel void reduce_two_levels<float>(device float *, uint, uint, uint, uint);
template [[host_name("reduce_two_levels_int")]] kernel void reduce_two_levels<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void reduce_tree(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                        uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                        uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup T s[64];
    s[t] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 32; k > 0; k /= 2) {
        if (t < k) {
            s[t] += s[t + k];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) {
        x[0] = s[0];
    }
}
template [[host_name("reduce_tree_float")]] kernel void reduce_tree<float>(device float *, uint, uint, uint, uint);
template [[host_name("reduce_tree_int")]] kernel void reduce_tree<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void argmax(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                   uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                   uint sg [[simdgroup_index_in_threadgroup]]) {
    T best = x[i];
    uint at = i;
    for (ushort k = 16; k > 0; k /= 2) {
        T other = simd_shuffle_down(best, k);
        uint where = simd_shuffle_down(at, k);
        if (other > best || (other == best && where < at)) {
            best = other;
            at = where;
        }
    }
    if (lane == 0) {
        x[at] = best;
    }
}
template [[host_name("argmax_float")]] kernel void argmax<float>(device float *, uint, uint, uint, uint);
template [[host_name("argmax_int")]] kernel void argmax<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void scan_up(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                    uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                    uint sg [[simdgroup_index_in_threadgroup]]) {
    T sum = x[i];
    for (ushort k = 1; k < 32; k *= 2) {
        T before = simd_shuffle_up(sum, k);
        if (lane >= k) {
            sum += before;
        }
    }
    x[i] = sum;
}
template [[host_name("scan_up_float")]] kernel void scan_up<float>(device float *, uint, uint, uint, uint);
template [[host_name("scan_up_int")]] kernel void scan_up<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void scan_select(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                        uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                        uint sg [[simdgroup_index_in_threadgroup]]) {
    T sum = x[i];
    for (ushort k = 1; k < 32; k *= 2) {
        T before = simd_shuffle_up(sum, k);
        sum += lane >= k ? before : T(0);
    }
    x[i] = sum;
}
template [[host_name("scan_select_float")]] kernel void scan_select<float>(device float *, uint, uint, uint, uint);
template [[host_name("scan_select_int")]] kernel void scan_select<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void butterfly(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                      uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                      uint sg [[simdgroup_index_in_threadgroup]]) {
    T v = x[i];
    for (ushort k = 1; k < 32; k *= 2) {
        v = max(v, simd_shuffle_xor(v, k));
    }
    x[i] = v;
}
template [[host_name("butterfly_float")]] kernel void butterfly<float>(device float *, uint, uint, uint, uint);
template [[host_name("butterfly_int")]] kernel void butterfly<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void partial_group_sum(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                              uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                              uint sg [[simdgroup_index_in_threadgroup]]) {
    T sum = simd_sum(x[i]);
    x[i] = sum + simd_max(x[i]);
}
template [[host_name("partial_group_sum_float")]] kernel void partial_group_sum<float>(device float *, uint, uint, uint, uint);
template [[host_name("partial_group_sum_int")]] kernel void partial_group_sum<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void partial_group_tree(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                               uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                               uint sg [[simdgroup_index_in_threadgroup]]) {
    T sum = x[i];
    uint count = 13;
    for (ushort k = 8; k > 0; k /= 2) {
        T other = simd_shuffle_down(sum, k);
        if (lane + k < count) {
            sum += other;
        }
        count = min(count, uint(k));
    }
    if (lane == 0) {
        x[0] = sum;
    }
}
template [[host_name("partial_group_tree_float")]] kernel void partial_group_tree<float>(device float *, uint, uint, uint, uint);
template [[host_name("partial_group_tree_int")]] kernel void partial_group_tree<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void divergent_reductions(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                                 uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                                 uint sg [[simdgroup_index_in_threadgroup]]) {
    if (i & 1) {
        x[i] = simd_sum(x[i]);
    } else {
        x[i] = simd_min(x[i]) + simd_broadcast_first(x[i]);
    }
}
template [[host_name("divergent_reductions_float")]] kernel void divergent_reductions<float>(device float *, uint, uint, uint, uint);
template [[host_name("divergent_reductions_int")]] kernel void divergent_reductions<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void left_early(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                       uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                       uint sg [[simdgroup_index_in_threadgroup]]) {
    if (i >= 50) {
        return;
    }
    T sum = simd_sum(x[i]);
    if (simd_is_first()) {
        x[128 + sg] = sum;
    }
}
template [[host_name("left_early_float")]] kernel void left_early<float>(device float *, uint, uint, uint, uint);
template [[host_name("left_early_int")]] kernel void left_early<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void quad_sums(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                      uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                      uint sg [[simdgroup_index_in_threadgroup]]) {
    x[i] = quad_sum(x[i]) + quad_broadcast(x[i], 0) + quad_shuffle_xor(x[i], 3);
}
template [[host_name("quad_sums_float")]] kernel void quad_sums<float>(device float *, uint, uint, uint, uint);
template [[host_name("quad_sums_int")]] kernel void quad_sums<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void quad_partial(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                         uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                         uint sg [[simdgroup_index_in_threadgroup]]) {
    x[i] = quad_sum(x[i]) + quad_max(x[i]);
}
template [[host_name("quad_partial_float")]] kernel void quad_partial<float>(device float *, uint, uint, uint, uint);
template [[host_name("quad_partial_int")]] kernel void quad_partial<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void neighbours(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                       uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                       uint sg [[simdgroup_index_in_threadgroup]]) {
    T left = simd_shuffle_up(x[i], 1), right = simd_shuffle_down(x[i], 1);
    left = lane == 0 ? x[i] : left;
    right = lane == 31 ? x[i] : right;
    x[i] = left + right;
}
template [[host_name("neighbours_float")]] kernel void neighbours<float>(device float *, uint, uint, uint, uint);
template [[host_name("neighbours_int")]] kernel void neighbours<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void rotated(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                    uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                    uint sg [[simdgroup_index_in_threadgroup]]) {
    x[i] = simd_shuffle_rotate_down(x[i], 3) + simd_shuffle_and_fill_down(x[i], T(1), 2);
}
template [[host_name("rotated_float")]] kernel void rotated<float>(device float *, uint, uint, uint, uint);
template [[host_name("rotated_int")]] kernel void rotated<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void halo(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                 uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                 uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup T s[66];
    s[t + 1] = x[i];
    if (t == 0) {
        s[0] = T(0);
        s[65] = T(0);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[t] + s[t + 1] + s[t + 2];
}
template [[host_name("halo_float")]] kernel void halo<float>(device float *, uint, uint, uint, uint);
template [[host_name("halo_int")]] kernel void halo<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void transposed(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                       uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                       uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup T s[8][9];
    s[t / 8][t % 8] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[t % 8][t / 8];
}
template [[host_name("transposed_float")]] kernel void transposed<float>(device float *, uint, uint, uint, uint);
template [[host_name("transposed_int")]] kernel void transposed<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void guarded_tail(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                         uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                         uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup T s[64];
    if (t < 50) {
        s[t] = x[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 49) {
        x[i] = s[t + 1];
    }
}
template [[host_name("guarded_tail_float")]] kernel void guarded_tail<float>(device float *, uint, uint, uint, uint);
template [[host_name("guarded_tail_int")]] kernel void guarded_tail<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void sorting_network(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                            uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                            uint sg [[simdgroup_index_in_threadgroup]]) {
    T v[4];
    for (uint k = 0; k < 4; k++) {
        v[k] = x[(i * 4 + k) % 256];
    }
    for (uint a = 0; a < 4; a++) {
        for (uint b = 0; b + 1 < 4; b++) {
            if (v[b] > v[b + 1]) {
                T swap = v[b];
                v[b] = v[b + 1];
                v[b + 1] = swap;
            }
        }
    }
    x[128 + i] = v[0] + v[3];
}
template [[host_name("sorting_network_float")]] kernel void sorting_network<float>(device float *, uint, uint, uint, uint);
template [[host_name("sorting_network_int")]] kernel void sorting_network<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void filled_then_read(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                             uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                             uint sg [[simdgroup_index_in_threadgroup]]) {
    T a[20];
    for (uint k = 0; k < 20; k++) {
        a[k] = T(k);
    }
    T sum = T(0);
    for (uint k = i % 5; k < 20; k += 3) {
        sum += a[k];
    }
    x[i] = sum;
}
template [[host_name("filled_then_read_float")]] kernel void filled_then_read<float>(device float *, uint, uint, uint, uint);
template [[host_name("filled_then_read_int")]] kernel void filled_then_read<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void ring_buffer(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                        uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                        uint sg [[simdgroup_index_in_threadgroup]]) {
    T last[4] = {T(0), T(0), T(0), T(0)};
    for (uint k = 0; k < 9; k++) {
        last[k & 3] = x[(i + k) & 255];
    }
    x[i] = last[0] + last[1] + last[2] + last[3];
}
template [[host_name("ring_buffer_float")]] kernel void ring_buffer<float>(device float *, uint, uint, uint, uint);
template [[host_name("ring_buffer_int")]] kernel void ring_buffer<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void assigned_in_all_ways(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                                 uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                                 uint sg [[simdgroup_index_in_threadgroup]]) {
    T v;
    if (i < 10) {
        v = T(1);
    } else if (i < 20) {
        v = T(2);
    } else {
        v = x[i];
    }
    x[i] = v;
}
template [[host_name("assigned_in_all_ways_float")]] kernel void assigned_in_all_ways<float>(device float *, uint, uint, uint, uint);
template [[host_name("assigned_in_all_ways_int")]] kernel void assigned_in_all_ways<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void not_read_where_not_written(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                                       uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                                       uint sg [[simdgroup_index_in_threadgroup]]) {
    T v;
    bool has = i % 3 == 0;
    if (has) {
        v = x[i];
    }
    if (has) {
        x[i] = v + T(1);
    }
}
template [[host_name("not_read_where_not_written_float")]] kernel void not_read_where_not_written<float>(device float *, uint, uint, uint, uint);
template [[host_name("not_read_where_not_written_int")]] kernel void not_read_where_not_written<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void online_maximum(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                           uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                           uint sg [[simdgroup_index_in_threadgroup]]) {
    T best = x[i], sum = T(1);
    for (uint k = 1; k < 4; k++) {
        T v = x[(i + k) % 256];
        if (v > best) {
            sum = T(0);
            best = v;
        }
        sum += T(1);
    }
    x[i] = best + sum;
}
template [[host_name("online_maximum_float")]] kernel void online_maximum<float>(device float *, uint, uint, uint, uint);
template [[host_name("online_maximum_int")]] kernel void online_maximum<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void histogram(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                      uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                      uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup atomic_uint bins[8];
    if (t < 8) {
        atomic_store_explicit(&bins[t], 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&bins[uint(x[i]) & 7], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 8) {
        x[t] = T(atomic_load_explicit(&bins[t], memory_order_relaxed));
    }
}
template [[host_name("histogram_float")]] kernel void histogram<float>(device float *, uint, uint, uint, uint);
template [[host_name("histogram_int")]] kernel void histogram<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void compacted(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                      uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                      uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup T kept[64];
    bool keep = x[i] > T(3);
    uint at = simd_prefix_exclusive_sum(uint(keep));
    uint count = simd_sum(uint(keep));
    if (keep) {
        kept[sg * 32 + at] = x[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane < count) {
        x[i] = kept[sg * 32 + lane];
    }
}
template [[host_name("compacted_float")]] kernel void compacted<float>(device float *, uint, uint, uint, uint);
template [[host_name("compacted_int")]] kernel void compacted<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void dynamic_memory(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                           uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                           uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup T s[64];
    for (uint k = t; k < 64; k += 32) {
        s[k] = x[k];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[63 - t] + s[t];
}
template [[host_name("dynamic_memory_float")]] kernel void dynamic_memory<float>(device float *, uint, uint, uint, uint);
template [[host_name("dynamic_memory_int")]] kernel void dynamic_memory<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void voted(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                  uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                  uint sg [[simdgroup_index_in_threadgroup]]) {
    if (simd_all(x[i] >= T(0)) && simd_any(x[i] > T(2))) {
        x[i] = T(popcount(uint(ulong(simd_ballot(x[i] > T(1))))));
    }
}
template [[host_name("voted_float")]] kernel void voted<float>(device float *, uint, uint, uint, uint);
template [[host_name("voted_int")]] kernel void voted<int>(device int *, uint, uint, uint, uint);
template <typename T>
kernel void vector_work(device vec<T, 4> *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    vec<T, 4> v;
    v.x = x[i].w;
    v.yz = x[i].xy;
    v.w = T(1);
    vec<T, 3> w = v.xyz;
    w.z += v.w;
    vec<T, 2> u(w.x, w.z);
    x[i] = vec<T, 4>(u, w.yx) + v;
}
template <typename T>
kernel void vector_parts(device vec<T, 4> *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    vec<T, 4> sum = vec<T, 4>(T(0));
    for (uint k = 0; k < 4; k++) {
        sum[k] = x[i][3 - k];
    }
    vec<T, 3> three[2];
    three[0] = sum.xyz;
    three[1] = sum.wzy;
    x[i] = vec<T, 4>(three[i & 1], sum.w);
}
struct record {
    float value;
    short key;
};
kernel void structs(device record *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    record r;
    r.value = float(i);
    r.key = short(i);
    record other = r;
    other.key += 1;
    x[i] = i & 1 ? r : other;
}
static record best_of(record a, record b) {
    record r;
    if (a.value > b.value) {
        r = a;
    } else {
        r.value = b.value;
        r.key = b.key;
    }
    return r;
}
kernel void returned_structs(device record *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    record best = x[i];
    for (uint k = 0; k < 4; k++) {
        best = best_of(best, x[(i + k) % 16]);
    }
    x[16 + i] = best;
}
static bool find(device const float *x, float wanted, thread uint &at) {
    for (uint k = 0; k < 16; k++) {
        if (x[k] == wanted) {
            at = k;
            return true;
        }
    }
    return false;
}
kernel void out_parameters(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint at;
    if (find(x, float(i), at)) {
        x[16 + at] = 1;
    }
}
kernel void matrices(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float3x3 m(1);
    m[1] = float3(x[i], 2, 3);
    float3 v = m * float3(1, 2, 3);
    x[i] = v.x + transpose(m)[2].y + determinant(m);
}
kernel void tiled_matmul(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                         device float *c [[buffer(2)]], uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float as[8][8], bs[8][8];
    float sum = 0;
    for (uint k = 0; k < 16; k += 8) {
        as[t.y][t.x] = a[t.y * 16 + k + t.x];
        bs[t.y][t.x] = b[(k + t.y) * 8 + t.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint n = 0; n < 8; n++) {
            sum += as[t.y][n] * bs[n][t.x];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[t.y * 8 + t.x] = sum;
}
kernel void simdgroup_matmul(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                             device float *c [[buffer(2)]]) {
    simdgroup_float8x8 x, y, sum = make_filled_simdgroup_matrix<float, 8, 8>(0);
    for (uint k = 0; k < 16; k += 8) {
        simdgroup_load(x, a + k, 16);
        simdgroup_load(y, b + k * 8, 8);
        simdgroup_multiply_accumulate(sum, x, y, sum);
    }
    simdgroup_store(sum, c, 8);
}
kernel void rows_that_nobody_stores(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                                    device float *c [[buffer(2)]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float s[64];
    threadgroup float out[64];
    for (uint k = lane; k < 40; k += 32) { /* five rows of eight */
        s[k] = a[k];
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 x, y, z;
    simdgroup_load(x, s, 8);
    simdgroup_load(y, b, 8);
    simdgroup_multiply(z, x, y);
    simdgroup_store(z, out, 8);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = lane; k < 40; k += 32) {
        c[k] = out[k];
    }
}
kernel void dynamic_arrays(device float *x [[buffer(0)]], threadgroup float *s [[threadgroup(0)]],
                           uint i [[thread_position_in_grid]]) {
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[63 - i];
}
kernel void lambdas(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a, b = 2;
    auto set = [&](float v) { a = v * b; };
    set(x[i]);
    x[i] = a;
}
kernel void swapped_arrays(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4], b[4];
    thread float *from = a, *to = b;
    for (uint k = 0; k < 4; k++) {
        from[k] = x[(i + k) % 64];
    }
    for (uint step = 0; step < 3; step++) {
        for (uint k = 0; k < 4; k++) {
            to[k] = from[(k + 1) % 4] * 0.5f;
        }
        thread float *t = from;
        from = to;
        to = t;
    }
    x[64 + i] = from[0] + from[3];
}
kernel void switched(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v;
    switch (i % 3) {
    case 0:
        v = 1;
        break;
    case 1:
        v = x[i];
        break;
    default:
        v = 3;
    }
    x[i] = v;
}
kernel void unions(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    union {
        uint word;
        uchar bytes[4];
    } u;
    u.word = x[i];
    uchar first = u.bytes[0];
    u.bytes[3] = first;
    x[i] = u.word;
}
kernel void bits(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    half2 h;
    h.x = half(i);
    h.y = half(1);
    x[i] = as_type<uint>(h) ^ as_type<uint>(float(i));
}
kernel void short_circuit(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v;
    bool has = i < 10;
    if (has) {
        v = x[i];
    }
    if (has && v > 1) {
        x[i] = v;
    }
}
kernel void atomics_of_floats(device atomic_float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(&x[i & 3], 1.0f, memory_order_relaxed);
}
kernel void softmax(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup float best[2], total[2];
    float m = simd_max(x[i]);
    if (lane == 0) {
        best[sg] = m;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    m = max(best[0], best[1]);
    float e = exp(x[i] - m), sum = simd_sum(e);
    if (lane == 0) {
        total[sg] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = e / (total[0] + total[1]);
}
template [[host_name("vector_work_float")]] kernel void vector_work<float>(device vec<float, 4> *, uint);
template [[host_name("vector_parts_float")]] kernel void vector_parts<float>(device vec<float, 4> *, uint);
template [[host_name("vector_work_half")]] kernel void vector_work<half>(device vec<half, 4> *, uint);
template [[host_name("vector_parts_half")]] kernel void vector_parts<half>(device vec<half, 4> *, uint);
