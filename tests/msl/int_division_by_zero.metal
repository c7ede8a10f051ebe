// A division by zero has some result, and harms nothing else; INT_MIN / -1 wraps.
// RUN: kernel=uniform_divisor threads=4 group=4
// ARG 0: i32[8]
// ARG 1: i32 = 0
// EXPECT 0: i32[4] = i
// RUN: kernel=uniform_divisor threads=4 group=4
// ARG 0: i32[8]
// ARG 1: i32 = -1
// EXPECT 0: i32 [-2147483648 1 2 3]
//
// RUN: kernel=wide threads=6 group=6
// ARG 0: i64[12]
// ARG 1: i64 [0 1 0 -1 5 -5]
// EXPECT 0: i64[6] = i % 2 ? idiv(100 + i, i == 1 ? 1 : i == 3 ? -1 : -5) : i == 4 ? 20 : 7
#include <metal_stdlib>
using namespace metal;

// x[0 … 3] is what it must be, whatever x[4 … 7] is.
kernel void uniform_divisor(device int *x [[buffer(0)]], constant int &d [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    int smallest = -2147483647 - 1;
    x[4 + i] = 7 / d + 7 % d + int(7u / uint(d)) + smallest % d; // FINDS: arithmetic
    x[i] = d == -1 && i == 0 ? smallest / d : int(i); // FINDS: arithmetic
}
kernel void wide(device long *x [[buffer(0)]], device const long *d [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    long quotient = long(100 + i) / d[i]; // FINDS: arithmetic
    x[6 + i] = long(100 + i) % d[i]; // FINDS: arithmetic
    x[i] = d[i] == 0 ? 7 : quotient;
}
