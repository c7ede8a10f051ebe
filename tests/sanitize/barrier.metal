// Barriers that not all threads reach, or reach in different order.
// SANITIZE: barrier
// RUN: kernel=half_of_a_simdgroup threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=one_simdgroup_of_two threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=early_return threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=early_return_of_a_simdgroup threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=in_a_loop_of_lanes threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=in_a_loop_of_simdgroups threads=128 group=128
// ARG 0: f32[128]
// RUN: kernel=two_statements threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=two_statements_of_lanes threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=other_order threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=data_dependent threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=break_before threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=continue_before threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=in_a_helper threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=in_a_switch threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=simdgroup_barrier_of_half threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=simdgroup_barrier_in_a_loop threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=simdgroup_barrier_after_return threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=edge_of_the_grid threads=100 group=64
// ARG 0: f32[100]
// RUN: kernel=second_barrier threads=96 group=96
// ARG 0: f32[96]
// RUN: kernel=in_a_short_circuit threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=in_both_branches threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=tile_in_a_branch threads=128 group=128
// ARG 0: f32[128]
// RUN: kernel=only_the_last_threadgroup threads=128 group=32
// ARG 0: f32[128]
#include <metal_stdlib>
using namespace metal;

kernel void half_of_a_simdgroup(device float *x [[buffer(0)]],
                                uint i [[thread_position_in_threadgroup]]) {
    if (i < 16) {
        threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
    }
    x[i] = 1;
}
kernel void one_simdgroup_of_two(device float *x [[buffer(0)]],
                                 uint i [[thread_position_in_threadgroup]]) {
    if (i < 32) {
        threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
    }
    x[i] = 1;
}
kernel void early_return(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    if (i > 50) {
        return;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
    x[i] = 1;
}
kernel void early_return_of_a_simdgroup(device float *x [[buffer(0)]],
                                        uint i [[thread_position_in_threadgroup]]) {
    if (i >= 32) {
        return;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
    x[i] = 1;
}
kernel void in_a_loop_of_lanes(device float *x [[buffer(0)]],
                               uint i [[thread_position_in_threadgroup]]) {
    for (uint k = 0; k < i % 4; k++) {
        x[i] += 1;
        threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
    }
}
kernel void in_a_loop_of_simdgroups(device float *x [[buffer(0)]],
                                    uint i [[thread_position_in_threadgroup]],
                                    uint g [[simdgroup_index_in_threadgroup]]) {
    for (uint k = 0; k <= g; k++) {
        x[i] += 1;
        threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
    }
}
kernel void two_statements(device float *x [[buffer(0)]],
                           uint i [[thread_position_in_threadgroup]]) {
    if (i < 32) {
        x[i] = 1;
        threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
    } else {
        x[i] = 2;
        threadgroup_barrier(mem_flags::mem_device);
    }
}
kernel void two_statements_of_lanes(device float *x [[buffer(0)]],
                                    uint i [[thread_position_in_threadgroup]]) {
    if (i < 8) {
        x[i] = 1;
        threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
    } else {
        x[i] = 2;
        threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
    }
}
kernel void other_order(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]],
                        uint g [[simdgroup_index_in_threadgroup]]) {
    for (uint k = 0; k < 2; k++) {
        if (k == g) {
            threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
        } else {
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
    x[i] = 1;
}
kernel void data_dependent(device float *x [[buffer(0)]],
                           uint i [[thread_position_in_threadgroup]]) {
    if (x[i] == 0 && i % 5 != 4) {
        threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
    }
    x[i] = 1;
}
kernel void break_before(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    for (uint k = 0; k < 4; k++) {
        if (k == 2 && i == 7) {
            break;
        }
        threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
    }
    x[i] = 1;
}
kernel void continue_before(device float *x [[buffer(0)]],
                            uint i [[thread_position_in_threadgroup]]) {
    for (uint k = 0; k < 4; k++) {
        if (k == 2 && i >= 32) {
            continue;
        }
        threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
        x[i] += 1;
    }
}
static void wait_for_all() {
    threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
}
kernel void in_a_helper(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    if (i != 3) {
        wait_for_all();
    }
    x[i] = 1;
}
kernel void in_a_switch(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    switch (i % 3) {
    case 0:
        threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
        break;
    case 1:
        x[i] = 2;
        break;
    default:
        x[i] = 3;
    }
}
kernel void simdgroup_barrier_of_half(device float *x [[buffer(0)]],
                                      uint i [[thread_position_in_threadgroup]]) {
    if (i < 16) {
        simdgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
    }
    x[i] = 1;
}
kernel void simdgroup_barrier_in_a_loop(device float *x [[buffer(0)]],
                                        uint i [[thread_position_in_threadgroup]]) {
    for (uint k = 0; k < i; k++) {
        simdgroup_barrier(mem_flags::mem_device); // FINDS: barrier
        x[i] += 1;
    }
}
kernel void simdgroup_barrier_after_return(device float *x [[buffer(0)]],
                                           uint i [[thread_position_in_threadgroup]]) {
    if (i % 32 == 31) {
        return;
    }
    simdgroup_barrier(mem_flags::mem_none); // FINDS: barrier
    x[i] = 1;
}
kernel void edge_of_the_grid(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i >= 90) {
        return;
    }
    x[i] = 1;
    threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
}
kernel void second_barrier(device float *x [[buffer(0)]],
                           uint i [[thread_position_in_threadgroup]]) {
    threadgroup_barrier(mem_flags::mem_device);
    if (i < 64) {
        threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
    }
    x[i] = 1;
}
static bool waits() {
    threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
    return true;
}
kernel void in_a_short_circuit(device float *x [[buffer(0)]],
                               uint i [[thread_position_in_threadgroup]]) {
    if (i > 20 && waits()) {
        x[i] = 1;
    }
}
kernel void in_both_branches(device float *x [[buffer(0)]],
                             uint i [[thread_position_in_threadgroup]],
                             uint g [[simdgroup_index_in_threadgroup]]) {
    if (g == 0) {
        x[i] = 1;
        threadgroup_barrier(mem_flags::mem_device);
        x[i] = 2;
    } else {
        threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
        x[i] = 4;
    }
}
kernel void tile_in_a_branch(device float *x [[buffer(0)]],
                             uint i [[thread_position_in_threadgroup]],
                             uint g [[simdgroup_index_in_threadgroup]]) {
    threadgroup float s[64];
    if (g < 2) {
        simdgroup_float8x8 tile = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
        if (g == 1) {
            simdgroup_store(tile, s, 8);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
    }
    x[i] = s[i / 2];
}
kernel void only_the_last_threadgroup(device float *x [[buffer(0)]],
                                      uint i [[thread_position_in_grid]],
                                      uint g [[threadgroup_position_in_grid]]) {
    if (g != 3 || i % 2) {
        simdgroup_barrier(mem_flags::mem_device); // FINDS: barrier
    }
    x[i] = 1;
}
