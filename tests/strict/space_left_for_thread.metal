// A pointer or reference stays in its address space: nothing but a copy brings a value to the thread.
// ALL PASSES
#include <metal_stdlib>
using namespace metal;
constant float table[4] = {1, 2, 3, 4};
struct item {
    float a, b;
    float sum() const { return a + b; }
};
float first(thread const float *p) { return p[0]; }
float of_item(item v) { return v.sum(); }
kernel void k(device float *x [[buffer(0)]], device item *items [[buffer(1)]], device float4 *v [[buffer(2)]],
              uint i [[thread_position_in_grid]]) {
    threadgroup float s[4];
    float own[4] = {x[0], x[1], x[2], x[3]};
    s[i & 3] = x[i];
    thread float *right = own;
    thread float *of_device = x; // REFUSED: to device becomes one to thread
    thread float *of_threadgroup = s; // REFUSED: to threadgroup becomes one to thread
    thread const float *of_constant = table; // REFUSED: to constant becomes one to thread
    thread int *cast = reinterpret_cast<thread int *>(x); // REFUSED: to device becomes one to thread
    x[4] = first(x); // REFUSED: to device becomes one to thread
    x[5] = first(own) + right[1] + of_device[0] + of_threadgroup[0] + of_constant[i & 3] + cast[0];
    item copied = items[i];
    items[i + 1] = copied;
    float4 w = v[i] * 2 + v[i + 1];
    v[i] = w;
    x[6] = of_item(items[i]) + copied.sum() + dot(v[i], w);
}
