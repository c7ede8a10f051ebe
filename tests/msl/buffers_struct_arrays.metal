// An array of structs in device memory, read and written.
// RUN: kernel=k threads=4 group=4
// ARG 0: bytes = i32:1 f32:1.5 i32:2 f32:2.5 i32:3 f32:3.5 i32:4 f32:4.5
// ARG 1: f32[4]
// EXPECT 1: f32 [1.5 5 10.5 18]
#include <metal_stdlib>
using namespace metal;

struct Item {
    int count;
    float value;
};
kernel void k(device Item *items [[buffer(0)]], device float *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    Item item = items[i];
    item.value *= item.count;
    items[i] = item;
    out[i] = items[i].value;
}
