// Private pointers into one of several arrays.
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
#include <metal_stdlib>
using namespace metal;

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
