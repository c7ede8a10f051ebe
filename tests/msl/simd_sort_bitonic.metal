// A bitonic sort of 32 values by shuffles.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32] = (i * 19 + 7) % 32
// EXPECT 0: i32[32] = i
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_index_in_simdgroup]]) {
    int v = x[i];
    for (uint size = 2; size <= 32; size *= 2) {
        for (uint step = size / 2; step > 0; step /= 2) {
            int other = simd_shuffle_xor(v, ushort(step));
            bool up = (i & size) == 0, low = (i & step) == 0;
            v = (up == low) ? min(v, other) : max(v, other);
        }
    }
    x[i] = v;
}
