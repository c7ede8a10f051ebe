// Subscripts behind a part of something larger: a vector's components, a line of an array, a member. And private
// pointers that are kept in memory.
// SANITIZE: bounds
// RUN: kernel=components threads=4 group=4
// ARG 0: f32[16] = i
// ARG 1: f32[4]
// ARG 2: u32 = 3
// RUN: kernel=packed_components threads=4 group=4
// ARG 0: f32[12] = i
// ARG 1: f32[4]
// RUN: kernel=a_line_of_an_array threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=a_member threads=8 group=8
// ARG 0: u32[20]
// RUN: kernel=columns threads=4 group=4
// ARG 0: f32[4]
// RUN: kernel=kept_pointers threads=4 group=4
// ARG 0: f32[4]
// RUN: kernel=kept_in_structs threads=4 group=4
// ARG 0: f32[4]
// RUN: kernel=not_set threads=4 group=4
// ARG 0: f32[4]
// RUN: kernel=exchange_behind_the_end threads=4 group=4
// ARG 0: u32[4]
// ARG 1: u32[4]
// RUN: kernel=clean_pointers threads=4 group=4
// ARG 0: f32[4]
// ARG 1: f32[4]
// RUN: kernel=clean_lines threads=8 group=8
// ARG 0: f32[32]
#include <metal_stdlib>
using namespace metal;

constant float3 table[4] = {float3(1), float3(2), float3(3), float3(4)};

kernel void components(device float3 *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &three [[buffer(2)]],
                       uint i [[thread_position_in_grid]]) {
    float3 v = x[i];
    threadgroup float3 shared[4];
    float sum = v[2] + v[three - 1];
    v[three] = 1;         // FINDS: bounds
    v[3] = 2;             // FINDS: bounds
    sum += v[i % 4];      // FINDS: bounds
    sum += v.zyx[three];  // FINDS: bounds
    x[i][three] = 3;      // FINDS: bounds
    shared[i][three] = 4; // FINDS: bounds
    sum += table[i][i];   // FINDS: bounds
    y[i] = sum;
}
kernel void packed_components(device packed_float3 *x [[buffer(0)]], device float *y [[buffer(1)]],
                              uint i [[thread_position_in_grid]]) {
    for (uint j = 0; j <= 3; j++) {
        y[i] += x[i][j]; // FINDS: bounds
    }
}
kernel void a_line_of_an_array(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float s[8][9];
    float p[4][4] = {};
    for (uint j = 0; j <= 9; j++) {
        s[i][j] = j; // FINDS: bounds
    }
    p[i % 2][i] = 1; // FINDS: bounds
    x[i] = s[i][0] + p[1][1];
}
struct record {
    uint first[4];
    uint second;
};
kernel void a_member(device record *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i % 4].first[i] = i; // FINDS: bounds
    x[i % 4].second = i;
}
kernel void columns(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float3x3 m[2] = {float3x3(1), float3x3(2)};
    x[i] = m[0][i].x; // FINDS: bounds
}
kernel void kept_pointers(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    thread float *both[2] = {a, b};
    for (uint j = 0; j <= 4; j++) {
        x[i] += both[(i + j) % 2][j]; // FINDS: bounds
    }
}
struct view {
    thread float *from;
    uint count;
    float last() const {
        return from[count]; // FINDS: bounds
    }
};
kernel void kept_in_structs(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4] = {1, 2, 3, 4};
    view views[2] = {{a, 3}, {a + 1, 3}};
    x[i] = views[i % 2].last();
}
kernel void not_set(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4] = {1, 2, 3, 4};
    thread float *rows[4] = {a, a + 1, nullptr, a + 3};
    x[i] = *rows[i]; // FINDS: bounds
}
// The exchange finds 0 there, so that a loop that waits for it ends.
kernel void exchange_behind_the_end(device atomic_uint *x [[buffer(0)]], device uint *y [[buffer(1)]],
                                    uint i [[thread_position_in_grid]]) {
    uint none;
    do {
        none = 0;
    } while (!atomic_compare_exchange_weak_explicit(x + i + 1, &none, 1u, memory_order_relaxed, // FINDS: bounds
                                                    memory_order_relaxed));
    y[i] = none;
}
kernel void clean_pointers(device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                           uint i [[thread_position_in_grid]]) {
    float a[4] = {1, 2, 3, 4}, b[8] = {}, c[2] = {1, 2};
    thread float *rows[3] = {a, b + 4, c};
    thread float *chosen = i == 3 ? b : rows[i];
    x[i] = chosen[i % 2] + rows[1][3];
    device float *buffers[2] = {x, y};
    y[i] = buffers[i % 2][i];
}
kernel void clean_lines(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float s[8][4];
    threadgroup float *all = &s[0][0], *end = &s[7][4];
    for (threadgroup float *p = all + i; p < end; p += 8) {
        *p = 1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    *(device float4 *)&x[i * 4] = *(threadgroup float4 *)&s[0][i * 4];
    x[i] = end[-1 - int(i)];
}
