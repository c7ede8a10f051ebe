// More barriers than a record can count: nothing is made up, and one SIMD-group alone loses nothing.
// SANITIZE: race
// RUN: kernel=many_turns threads=64 group=64
// ARG 0: f32[64]
// ARG 1: u32[1]
// RUN: kernel=many_turns_alone threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=race_behind_many_turns threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=race_behind_some_turns threads=64 group=64
// ARG 0: f32[64]
#include <metal_stdlib>
using namespace metal;

// With a fence, so that records have clocks too. What is in a register goes to the next lane, 40,000 times.
kernel void many_turns(device float *out [[buffer(0)]], device atomic_uint *count [[buffer(1)]],
                       uint i [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float cells[64];
    float mine = float(i);
    for (uint turn = 0; turn < 40000; turn++) {
        cells[i] = mine;
        simdgroup_barrier(mem_flags::mem_threadgroup);
        mine = cells[i - lane + (lane + 1) % 32];
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);
    out[i] = mine;
}

static float turns_of(device float *cells, uint lane, uint turns) {
    float mine = float(lane);
    for (uint turn = 0; turn < turns; turn++) {
        cells[lane] = mine;
        simdgroup_barrier(mem_flags::mem_device);
        mine = cells[(lane + 1) % 32];
        simdgroup_barrier(mem_flags::mem_device);
    }
    return mine;
}

kernel void many_turns_alone(device float *cells [[buffer(0)]], uint lane [[thread_position_in_grid]]) {
    cells[lane] = turns_of(cells, lane, 40000);
}

kernel void race_behind_many_turns(device float *cells [[buffer(0)]], uint lane [[thread_position_in_grid]]) {
    float mine = turns_of(cells, lane, 40000);
    cells[lane] = mine + 1;
    cells[lane] += cells[(lane + 1) % 32]; // FINDS: race
}

kernel void race_behind_some_turns(device float *cells [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint lane = i % 32;
    float mine = turns_of(cells + i - lane, lane, 10000);
    cells[i] = mine + 1;
    cells[i] += cells[i - lane + (lane + 1) % 32]; // FINDS: race
}
