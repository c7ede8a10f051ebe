// A break of the inner loop, and a flag that ends the outer one.
// RUN: kernel=k threads=50 group=50
// ARG 0: i32[50]
// EXPECT 0: i32[50] = i % 7 == 0 ? 0 : (i % 7) * 10 - 9
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int n = 0, target = (i % 7) * 10 - 9;
    bool stop = i % 7 == 0;
    for (int a = 0; a < 10 && !stop; a++) {
        for (int b = 0; b < 10; b++) {
            n++;
            if (n == target) {
                stop = true;
                break;
            }
        }
    }
    x[i] = n;
}
