// The index of a function constant is any constant expression; usually an enumerator.
// RUN: kernel=k threads=1
// CONST 1: bool = 1
// CONST 7: i32 = 70
// CONST 8: i32 = 80
// CONST 22: i32 = 220
// CONST 3: i32 = 30
// CONST 5: i32 = 50
// CONST 9: i32 = 90
// ARG 0: i32[7]
// EXPECT 0: i32 [1 70 80 220 30 50 90]
#include <metal_stdlib>
using namespace metal;

typedef enum IndexOf {
    IndexOfFirst,
    IndexOfSecond,
    IndexOfEighth = 7,
    IndexOfNinth,
    IndexOfLater = (IndexOfNinth + 3) * 2 - 1,
    IndexOfLast,
} IndexOf;
enum class Mode : uint { none, some = 2, all };
enum { kLast = 9 };
constexpr constant int base = 4;

constant bool second [[function_constant(IndexOfSecond)]];
constant int eighth [[function_constant(IndexOfEighth)]];
constant int ninth [[function_constant(IndexOf::IndexOfNinth)]];
constant int last [[function_constant(IndexOfLast)]];
constant int mode [[function_constant(Mode::all)]];
constant int nine [[function_constant(kLast)]];
constant int sum [[function_constant(base + 1)]];

kernel void k(device int *out [[buffer(IndexOfFirst)]]) {
    out[0] = second;
    out[1] = eighth;
    out[2] = ninth;
    out[3] = last;
    out[4] = mode;
    out[5] = sum;
    out[6] = nine;
}
