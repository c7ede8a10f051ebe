// metal::array keeps the address space of the array it lies in: its pointers go to functions
// that take a pointer into constant, device or threadgroup memory.
// RUN: kernel=pointers threads=28
// ARG 0: i32[28]
// ARG 1: bytes = i32:3 i32:5 i32:7 i32:100 i32:200 i32:300
// ARG 2: i32[4] = 10 * (i + 1)
// EXPECT 0: i32[28] = (i % 3 == 0 ? 3 : i % 3 == 1 ? 5 : 7) + 600 + 10 * (i % 4 + 1) + 2 * i + 300
#include <metal_stdlib>
using namespace metal;

struct Sizes {
    array<int, 3> sizes;
    array<int, 3> strides;
};

static int pick(constant int *values, uint i) {
    return values[i % 3];
}
static int pick_device(device int *values, uint i) {
    return values[i % 4];
}
static int pick_shared(threadgroup int *values, uint i) {
    return values[i];
}

kernel void pointers(device int *out, constant Sizes &sizes, device array<int, 4> &more,
                     uint i [[thread_position_in_grid]]) {
    threadgroup array<int, 32> shared;
    shared[i] = 2 * int(i);
    auto strides = sizes.strides.data();
    int total = pick(sizes.sizes.data(), i) + pick_device(more.data(), i) + pick_shared(shared.data(), i);
    strides += 2;
    total += strides[0];
    for (auto p = sizes.strides.begin(); p != sizes.strides.end(); p++)
        total += *p;
    out[i] = total;
}
