// Pointers stay in their address space; values are in none.
#include <metal_stdlib>
using namespace metal;
float of_device(device float *y) { return y[0]; }
float of_constant(constant float *y) { return y[0]; }
void of_threadgroup(threadgroup float &y) { y = 1; }
float by_value(device float y) { return y; } // ERROR: parameter may not be qualified with an address space
struct held { device float y; }; // ERROR: field may not be qualified with an address space
struct right { device float *y; };
kernel void k(device float *x [[buffer(0)]], constant float *c [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    threadgroup float s[2];
    device float y; // ERROR: automatic variable qualified with an address space
    device float *p = (device float *)s; // ERROR: converts between mismatching address spaces
    device float *q = reinterpret_cast<device float *>(s); // ERROR: is not allowed
    device float *r = static_cast<device float *>(s); // ERROR: is not allowed
    device uint *u = (device uint *)x;
    x[0] = s == x; // ERROR: comparison of distinct pointer types
    x[1] = (i ? s : x)[0]; // ERROR: incompatible operand types
    x[2] = of_device(c); // ERROR: no matching function for call
    x[3] = of_constant(x); // ERROR: no matching function for call
    of_threadgroup(x[0]); // ERROR: no matching function for call
    x[4] = of_device(x) + of_constant(c) + u[0];
    of_threadgroup(s[0]);
    c[0] = 1; // ERROR: read-only variable is not assignable
    const device float *a = x;
    device float *b = a; // ERROR: cannot initialize a variable of type 'device float *'
    const device float *d = a;
    device float *e = (device float *)x[0]; // ERROR: cannot cast from type 'float' to pointer type
    device constant float *g = x; // ERROR: multiple address spaces
}
