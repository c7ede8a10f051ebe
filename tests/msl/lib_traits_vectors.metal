// Type traits asked of a vector answer for its components.
// RUN: kernel=traits threads=1
// ARG 0: i32[10]
// EXPECT 0: i32 [1 0 1 1 0 0 1 0 2 3]
#include <metal_stdlib>
using namespace metal;

struct classify {
    template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true> int operator()(T) {
        return 2;
    }
    template <typename T, enable_if_t<is_integral_v<T>, bool> = true> int operator()(T) {
        return 3;
    }
};

kernel void traits(device int *out) {
    out[0] = is_floating_point_v<half2>;
    out[1] = is_floating_point_v<int2>;
    out[2] = is_integral<uchar4>::value;
    out[3] = is_arithmetic_v<bfloat3>;
    out[4] = is_scalar_v<float2>;
    out[5] = is_integral_v<float3>;
    out[6] = is_unsigned_v<ushort2>;
    out[7] = is_signed_v<uint4>;
    out[8] = classify()(float4(1));
    out[9] = classify()(short3(1));
}
