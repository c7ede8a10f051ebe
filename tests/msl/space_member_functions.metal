// Member functions work on objects in every address space.
// RUN: kernel=k threads=2 group=2
// ARG 0: bytes = i32:3 i32:4 i32:5 i32:6
// ARG 1: bytes = i32:10 i32:20
// ARG 2: i32[2]
// EXPECT 2: i32 [37 41]
#include <metal_stdlib>
using namespace metal;

struct Pair {
    int a, b;
    int sum() const { return a + b; }
    int sum() const device { return a + b; }
    int sum() const constant { return a + b; }
};
kernel void k(device Pair *p [[buffer(0)]], constant Pair &c [[buffer(1)]], device int *out [[buffer(2)]],
              uint i [[thread_position_in_grid]]) {
    Pair copy = p[i];
    out[i] = copy.sum() + p[i].sum() - copy.sum() + c.sum();
}
