// Overloads that differ only by address space.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[4]
// ARG 1: i32 = 5
// EXPECT 0: i32 [1 2 3 4]
#include <metal_stdlib>
using namespace metal;

int which(device int *) { return 1; }
int which(constant int *) { return 2; }
int which(threadgroup int *) { return 3; }
int which(thread int *) { return 4; }
kernel void k(device int *x [[buffer(0)]], constant int &c [[buffer(1)]]) {
    threadgroup int t;
    int p = 0;
    x[0] = which(x);
    x[1] = which(&c);
    x[2] = which(&t);
    x[3] = which(&p);
}
