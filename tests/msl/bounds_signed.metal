// Signed and 64-bit bounds, one check after the other, the second behind a load.
// RUN: kernel=k threads=1000 group=256
// ARG 0: i32[1024]
// ARG 1: i32 = 900
// ARG 2: i64 = 2000
// EXPECT 0: i32[1024] = i < 901 ? i - 1000 : 0
// RUN: kernel=k threads=1000 group=256
// ARG 0: i32[1024]
// ARG 1: i32 = -5
// ARG 2: i64 = 2000
// EXPECT 0: i32[1024] = i < 0 ? i - 1000 : 0
// RUN: kernel=k threads=1000 group=128
// ARG 0: i32[1024]
// ARG 1: i32 = 2000
// ARG 2: i64 = 555
// EXPECT 0: i32[1024] = i < 555 ? i - 1000 : 0
// RUN: kernel=k threads=1000 group=96
// ARG 0: i32[1024]
// ARG 1: i32 = 2000
// ARG 2: i64 = 0
// EXPECT 0: i32[1024] = i < 0 ? i - 1000 : 0
// RUN: kernel=k threads=320 group=32
// ARG 0: i32[1024]
// ARG 1: i32 = 319
// ARG 2: i64 = 320
// EXPECT 0: i32[1024] = i < 320 ? i - 1000 : 0
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], constant int &n [[buffer(1)]],
              constant long &m [[buffer(2)]], uint tid [[thread_position_in_grid]]) {
    int i = tid;
    if (i > n)
        return;
    int old = x[i];
    if (long(i) >= m)
        return;
    x[i] = old + i - 1000;
}
