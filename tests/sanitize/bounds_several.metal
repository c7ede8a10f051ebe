// Pointers into one of several arrays, tables or arguments.
// SANITIZE: bounds
// RUN: kernel=one_of_two threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=chosen_by_if threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=store_to_one_of_two threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=swapped_in_a_loop threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=before_the_start threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=right_swaps threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=right_choice threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=table_or_argument threads=8 group=8
// ARG 0: f32[8]
// ARG 1: f32[8]
// RUN: kernel=one_of_two_arguments threads=8 group=8
// ARG 0: f32[16]
// ARG 1: f32[4]
// RUN: kernel=one_of_two_in_threadgroup threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=table_from_memory threads=8 group=8
// ARG 0: f32[8]
// ARG 1: u32[1] = 64
// RUN: kernel=right_table_or_argument threads=8 group=8
// ARG 0: f32[8]
// ARG 1: f32[8]
// EXPECT 0: f32 [1 0 1 0 1 0 1 0]
// RUN: kernel=right_arguments threads=8 group=8
// ARG 0: f32[8]
// ARG 1: f32[4]
// EXPECT 0: f32 [0 1 2 3 0 0 0 0]
// EXPECT 1: f32 [4 5 6 7]
// RUN: kernel=right_table_from_memory threads=8 group=8
// ARG 0: f32[8]
// ARG 1: u32[1] = 1
// EXPECT 0: f32 [2 6 2 6 2 6 2 6]
#include <metal_stdlib>
using namespace metal;
constant float table[4] = {1, 2, 3, 4}, small[2] = {5, 6};
struct held {
    constant float *from;
};

kernel void one_of_two(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4] = {1, 2, 3, 4}, b[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    thread float *p = i & 1 ? a : b;
    x[i] = p[i]; // FINDS: bounds
}
kernel void chosen_by_if(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[2] = {1, 2}, b[3] = {3, 4, 5};
    thread float *p;
    if (i > 3) {
        p = a;
    } else {
        p = b + 1;
    }
    x[i] = p[2]; // FINDS: bounds
}
kernel void store_to_one_of_two(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4] = {0, 0, 0, 0}, b[4] = {0, 0, 0, 0};
    thread float *p = i & 1 ? a : b;
    p[i] = 1; // FINDS: bounds
    x[i] = a[0] + b[3];
}
kernel void swapped_in_a_loop(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    thread float *from = a, *to = b;
    for (uint k = 0; k < 5; k++) {
        to[0] = from[k]; // FINDS: bounds
        thread float *t = from;
        from = to;
        to = t;
    }
    x[i] = from[1];
}
kernel void before_the_start(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    thread float *p = (i & 1 ? a : b) + 2;
    x[i] = p[-int(i)]; // FINDS: bounds
}
kernel void right_swaps(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    thread float *from = a, *to = b;
    for (uint k = 0; k < 4; k++) {
        to[k] = from[3 - k];
        thread float *t = from;
        from = to;
        to = t;
    }
    x[i] = from[i & 3] + to[i >> 1];
}
kernel void right_choice(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4] = {1, 2, 3, 4}, b[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    thread float *p = i < 4 ? a : b;
    x[i] = p[i];
}
kernel void table_or_argument(device float *x [[buffer(0)]], constant float *c [[buffer(1)]],
                              uint i [[thread_position_in_grid]]) {
    constant float *p = i & 1 ? c : table;
    x[i] = p[i]; // FINDS: bounds
}
kernel void one_of_two_arguments(device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                                 uint i [[thread_position_in_grid]]) {
    device float *p = i & 1 ? x : y;
    p[i] = 1; // FINDS: bounds
}
kernel void one_of_two_in_threadgroup(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float a[8], b[4];
    a[i] = i;
    b[i & 3] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup float *p = i < 4 ? a : b;
    x[i] = p[i]; // FINDS: bounds
}
kernel void table_from_memory(device float *x [[buffer(0)]], device uint *n [[buffer(1)]],
                              uint i [[thread_position_in_grid]]) {
    held all[2] = {{table}, {small}};
    x[i] = all[i & 1].from[n[0]]; // FINDS: bounds
}
kernel void right_table_or_argument(device float *x [[buffer(0)]], constant float *c [[buffer(1)]],
                                    uint i [[thread_position_in_grid]]) {
    constant float *p = i & 1 ? c : table;
    x[i] = p[i & 1];
}
kernel void right_arguments(device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    device float *p = i < 4 ? x : y;
    p[i & 3] = i;
}
kernel void right_table_from_memory(device float *x [[buffer(0)]], device uint *n [[buffer(1)]],
                                    uint i [[thread_position_in_grid]]) {
    held all[2] = {{table}, {small}};
    x[i] = all[i & 1].from[n[0]];
}
