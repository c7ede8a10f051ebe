// if constexpr, traits and enable_if.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[5]
// EXPECT 0: i32 [1 2 4 8 1]
#include <metal_stdlib>
using namespace metal;

template <typename T> int kind() {
    if constexpr (is_same_v<T, float>)
        return 1;
    else if constexpr (is_integral<T>::value)
        return 2;
    else
        return 3;
}
template <typename T> enable_if_t<sizeof(T) == 4, int> size_of() { return 4; }
template <typename T> enable_if_t<sizeof(T) == 8, int> size_of() { return 8; }
kernel void k(device int *x [[buffer(0)]]) {
    x[0] = kind<float>();
    x[1] = kind<uint>();
    x[2] = size_of<int>();
    x[3] = size_of<long>();
    x[4] = is_same<conditional_t<true, half, float>, half>::value;
}
