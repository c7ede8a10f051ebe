// Structs by value through functions, and structured bindings.
// RUN: kernel=k threads=3 group=3
// ARG 0: i32[3]
// EXPECT 0: i32 [1 13 25]
#include <metal_stdlib>
using namespace metal;

struct Range {
    int from, to;
};
Range make(int i) { return {i * 10, i * 12 + 1}; }
kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    auto [from, to] = make(i);
    x[i] = from + (to - from);
}
