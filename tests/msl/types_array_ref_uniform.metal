// array_ref, a pointer with a length, and uniform, a value that is the same in all threads.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[6]
// EXPECT 0: f32 [3 2 6 2 9 1]
#include <metal_stdlib>
using namespace metal;

float sum(array_ref<float> values) {
    float total = 0;
    for (size_t i = 0; i < values.size(); i++)
        total += values[i];
    return total;
}
kernel void k(device float *out [[buffer(0)]]) {
    float plain[2] = {1, 2};
    array<float, 3> own = {{1, 2, 3}};
    uniform<int> two = make_uniform(2);
    out[0] = sum(make_array_ref(plain, 2));
    out[1] = make_array_ref(plain, 2).size();
    out[2] = sum(own);
    out[3] = two;
    out[4] = two + 7;
    out[5] = array_ref<float>().empty();
}
