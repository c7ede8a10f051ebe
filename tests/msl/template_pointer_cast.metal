// C's casts to a type parameter, where that is a pointer.
// RUN: kernel=casts threads=4
// ARG 0: u32[4] = 1065353216 + 8388608 * i
// EXPECT 0: u32[4] = 1073741824 + 8388608 * i
#include <metal_stdlib>
using namespace metal;

template <typename P>
P as(device char *p) {
    return (P)p;
}

template <typename P, typename Q>
P as_other(Q p) {
    return P(p);
}

kernel void casts(device char *x, uint i [[thread_position_in_grid]]) {
    device float *first = as<device float *>(x);
    device float *second = as_other<device float *>(as<device uint *>(x));
    second[i] = first[i] + second[i]; // 2^i becomes 2^(i + 1)
}
