// Functions with several returns, inlined into divergent code.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// EXPECT 0: i32[32] = i < 4 ? 1 : i < 10 ? 20 + i : i % 2 ? 3 : 0 - i
#include <metal_stdlib>
using namespace metal;

int classify(int v) {
    if (v < 4)
        return 1;
    if (v < 10) {
        for (int j = 0; j < 100; j++)
            if (j == v)
                return 20 + j;
    }
    return v % 2 ? 3 : -v;
}
kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = classify(i); }
