// A table's address is taken before a loop, and read in a branch inside of it.
// RUN: kernel=k threads=200 group=200
// ARG 0: u32[200]
// ARG 1: u32[64] = i * 3
// ARG 2: u32 = 255
// EXPECT 0: u32[200] = ((i >> 3) & 3) == 1 ? ((((i & 21) * 3) & 3) >= 2 ? 9 : i * 7) : i * 7
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *out, constant uint *tab, constant uint &u, uint i [[thread_position_in_grid]]) {
    uint a1 = i * 7;
    for (uint j = 0; j < (u & 4); j++) {
        switch (((u & i) >> 3) & 3u) {
        case 0: break;
        case 1: {
            switch (tab[(i & 21u) & 63u] & 3u) {
            case 0: break;
            case 1: break;
            case 2:
            default: a1 = 9; break;
            }
        }
        case 2: break;
        default: break;
        }
    }
    out[i] = a1;
}
