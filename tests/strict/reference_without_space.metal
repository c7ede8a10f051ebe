#include <metal_stdlib>
using namespace metal;
struct pair {
    float a, b;
};
float first(const pair &p) { return p.a; } // REFUSED: wants the address space of what a reference refers to
kernel void k(device float *x [[buffer(0)]]) {
    pair p = {x[0], x[1]};
    x[0] = first(p);
}
