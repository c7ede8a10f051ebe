// Threadgroup memory is a kernel's: functions are handed pointers, and structs have none of their own.
#include <metal_stdlib>
using namespace metal;
float wrong(device float *x) {
    threadgroup float s[4]; // REFUSED: in kernels only
    s[0] = x[0];
    return s[0];
}
float right(threadgroup float *s, threadgroup float &t) {
    threadgroup float *p = s + 1;
    threadgroup float &r = t;
    return *p + r;
}
struct held {
    threadgroup float *right;
    threadgroup float wrong; // REFUSED: no member that is in threadgroup memory
};
template <class T> kernel void filled(device T *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup T s[32];
    s[i & 31] = x[i];
    x[i] = s[i & 31];
}
template [[host_name("filled_float")]] kernel void filled<float>(device float *, uint);
kernel void k(device float *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[4], t;
    if (i < 4) {
        threadgroup float inner[4];
        inner[i] = s[i] = x[i];
        t = inner[i];
    }
    auto inside = [&](float a) {
        threadgroup float own[4]; // REFUSED: in kernels only
        own[0] = s[0] + a;
        return own[0];
    };
    x[0] = right(s, t) + wrong(x) + inside(1);
}
