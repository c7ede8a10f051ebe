// contract(on) fuses within an expression, contract(fast) also across statements, and clang's own
// pragma turns both off; fast is what holds without a pragma.
// RUN: kernel=standard threads=1 group=1
// WITHOUT-CHECKS: a check stands between the statements, which then are not fused
// ARG 0: f32 [1.00000012 0.99999988 -1]
// ARG 1: f32[1]
// EXPECT 1: f32 [-1.4210854715202004e-14]
//
// RUN: kernel=on threads=1 group=1
// ARG 0: f32 [1.00000012 0.99999988 -1]
// ARG 1: f32[1]
// EXPECT 1: f32 [-1.4210854715202004e-14]
//
// RUN: kernel=on_statements threads=1 group=1
// ARG 0: f32 [1.00000012 0.99999988 -1]
// ARG 1: f32[1]
// EXPECT 1: f32 [0]
//
// RUN: kernel=across threads=1 group=1
// WITHOUT-CHECKS: a check stands between the statements, which then are not fused
// ARG 0: f32 [1.00000012 0.99999988 -1]
// ARG 1: f32[1]
// EXPECT 1: f32 [-1.4210854715202004e-14]
//
// RUN: kernel=off threads=1 group=1
// ARG 0: f32 [1.00000012 0.99999988 -1]
// ARG 1: f32[1]
// EXPECT 1: f32 [0]
#include <metal_stdlib>
using namespace metal;

#define ARGUMENTS device const float *x [[buffer(0)]], device float *y [[buffer(1)]]
#define EXPRESSION                                                                                 \
    { y[0] = x[0] * x[1] + x[2]; }
#define STATEMENTS                                                                                 \
    {                                                                                              \
        float t = x[0] * x[1];                                                                     \
        y[0] = t + x[2];                                                                           \
    }

kernel void standard(ARGUMENTS) STATEMENTS
#pragma METAL fp contract(on)
kernel void on(ARGUMENTS) EXPRESSION
kernel void on_statements(ARGUMENTS) STATEMENTS
#pragma METAL fp contract(fast)
kernel void across(ARGUMENTS) STATEMENTS
#pragma clang fp contract(off)
kernel void off(ARGUMENTS) EXPRESSION
