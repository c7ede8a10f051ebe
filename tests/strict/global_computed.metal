// What is outside of functions has a value that is known when it is compiled, or made of function
// constants.
#include <metal_stdlib>
using namespace metal;
constexpr float twice(float a) { return a * 2; }
float thrice(float a) { return a * 3; }
struct made {
    float a;
    made(float b) : a(b) {}
};
constant int n [[function_constant(0)]];
constant bool given = is_function_constant_defined(n);
constant int m = given ? n : 4, more = m + 1;
constant uint2 both = uint2(m, more) * 2;
constant float table[2] = {float(m), 2.0f};
constant float a = 2.0f, b = a * 3.0f, c = twice(b);
constant half4 vectors[2] = {half4(1), half4(2, 3, 4, 5)};
constant float2x2 turn = float2x2(float2(0, 1), float2(-1, 0));
constant float d = thrice(2.0f); // REFUSED: to be a constant expression
constant float e[2] = {1.0f, sin(1.0f)}; // REFUSED: to be a constant expression
constant made f(2.0f); // REFUSED: to be a constant expression
static constant float g = d + 1; // REFUSED: to be a constant expression
kernel void k(device float *x [[buffer(0)]]) {
    x[0] = m + more + both.x + table[1] + c + vectors[1].x + turn[0][0] + d + e[1] + f.a + g;
}
