// A switch in a loop whose cases mostly leave zeros: lanes of such cases write nothing, and yet get their zero each time.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64]
// EXPECT 0: i32[64] = i % 12 == 0 ? 55 : i % 12 == 2 ? 60 : i % 12 == 6 ? 20 : i % 12 == 9 ? 49 : i % 12 == 11 ? 3 : 0
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int sum = 0;
    for (int round = 1; round <= 3; round++) {
        int v = 7, w = 5;
        switch ((i + 12 * uint(round)) % 12) {
        case 0: v = 0; w = round == 2 ? 55 : 0; break;
        case 1: v = 0; w = 0; break;
        case 2: v = round * 10; w = 0; break;
        case 3: v = 0; w = 0; break;
        case 4: v = 0; w = 0; break;
        case 5: v = 0; w = 0; break;
        case 6: v = 0; w = round == 1 ? 20 : 0; break;
        case 7: v = 0; w = 0; break;
        case 8: v = 0; w = 0; break;
        case 9: v = round * 7; w = round == 3 ? 7 : 0; break;
        case 10: v = 0; w = 0; break;
        default: v = 1; w = 0; break;
        }
        sum += v + w;
    }
    x[i] = sum;
}
