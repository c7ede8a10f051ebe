// Structs with pointers in them, which become variables of their own before there are checks.
// SANITIZE: bounds,uninitialised
// RUN: kernel=by_value threads=8 group=8
// ARG 0: f32[8]
// ARG 1: f32[4]
// RUN: kernel=by_reference threads=8 group=8
// ARG 0: f32[8]
// ARG 1: f32[4]
// RUN: kernel=of_a_member_function threads=8 group=8
// ARG 0: f32[8]
// ARG 1: f32[4]
// RUN: kernel=member_never_written threads=8 group=8
// ARG 0: f32[8]
// ARG 1: f32[4]
// RUN: kernel=pointer_written_sometimes threads=8 group=8
// ARG 0: f32[8]
// ARG 1: f32[4]
// RUN: kernel=exchanged threads=8 group=8
// ARG 0: f32[8]
// ARG 1: f32[4]
// RUN: kernel=right_all_along threads=4 group=4
// ARG 0: f32[8]
// ARG 1: f32[4]
#include <metal_stdlib>
using namespace metal;

struct vectors {
    device float *to;
    device const float *from;
    uint count;
    float at(uint i) const {
        return from[i + count]; // FINDS: bounds
    }
};

static float value(vectors v, uint i) {
    return v.from[i]; // FINDS: bounds
}
static void put(thread vectors &v, uint i) {
    v.to += v.count;
    v.to[i] = 1; // FINDS: bounds
}

kernel void by_value(device float *x [[buffer(0)]], device const float *y [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    vectors v = {x, y, 3};
    x[i] = value(v, i);
}
kernel void by_reference(device float *x [[buffer(0)]], device const float *y [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
    vectors v = {x, y, 3};
    put(v, i);
}
kernel void of_a_member_function(device float *x [[buffer(0)]],
                                 device const float *y [[buffer(1)]],
                                 uint i [[thread_position_in_grid]]) {
    vectors v = {x, y, 1};
    x[i] = i < 4 ? v.at(i) : 0;
}
kernel void member_never_written(device float *x [[buffer(0)]],
                                 device const float *y [[buffer(1)]],
                                 uint i [[thread_position_in_grid]]) {
    vectors v;
    v.to = x;
    v.from = y;
    x[i] = v.count; // FINDS: uninitialised
}
kernel void pointer_written_sometimes(device float *x [[buffer(0)]],
                                      device const float *y [[buffer(1)]],
                                      uint i [[thread_position_in_grid]]) {
    vectors v;
    v.to = x;
    v.count = 0;
    if (i < 4) {
        v.from = y;
    }
    v.to[i] = v.count;
}
kernel void exchanged(device float *x [[buffer(0)]], device const float *y [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
    vectors v = {x, y, 0}, w = {x, x, 8};
    for (uint k = 0; k < 2; k++) {
        vectors u = v;
        v = w;
        w = u;
    }
    w.to[i] = w.from[i % 4];
    x[i] += v.from[i]; // FINDS: bounds
}
kernel void right_all_along(device float *x [[buffer(0)]], device const float *y [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    vectors v = {x, y, 4}, w = v;
    w.to += w.count;
    w.to[i] = v.from[i];
    v.to[i] = value(w, i);
}
