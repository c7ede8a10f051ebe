// Variables outside of functions are constants, however they are declared; function constants are never inside.
#include <metal_stdlib>
using namespace metal;
struct pair { int a, b; } both; // REFUSED: to be in the constant address space
typedef struct { int a; } named;
enum kind { FIRST, SECOND };
constant struct { int a; } fixed = {1};
thread int counter; // REFUSED: to be in the constant address space
constant int n [[function_constant(0)]];
kernel void k(device float *x [[buffer(0)]]) {
    constant int m [[function_constant(1)]]; // REFUSED: outside of functions only
    named s = {2};
    x[0] = both.a + s.a + fixed.a + FIRST + n + m;
}
