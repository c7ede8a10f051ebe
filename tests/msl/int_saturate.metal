// addsat, subsat.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[6]
// EXPECT 0: i32 [2147483647 -2147483648 255 0 127 -128]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]]) {
    x[0] = addsat(2147483647, 1);
    x[1] = subsat(int(-2147483647 - 1), 1);
    x[2] = addsat(uchar(200), uchar(100));
    x[3] = subsat(uchar(1), uchar(2));
    x[4] = addsat(char(100), char(100));
    x[5] = subsat(char(-100), char(100));
}
