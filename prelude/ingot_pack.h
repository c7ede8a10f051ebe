/*
 * Packing and unpacking of normalised numbers.
 */
#pragma once
#include "ingot_math.h"

namespace metal {
/* x in [0, 1] as an integer of `bits` bits; x in [-1, 1] as a signed one. */
template <int BITS> __ingot_inline uint __ingot_to_unorm(float x) {
    return (uint)rint(clamp(x, 0.0f, 1.0f) * (float)((1u << BITS) - 1u));
}
template <int BITS> __ingot_inline uint __ingot_to_snorm(float x) {
    return (uint)(int)rint(clamp(x, -1.0f, 1.0f) * (float)((1u << (BITS - 1)) - 1u)) &
           ((1u << BITS) - 1u);
}
template <int BITS> __ingot_inline float __ingot_from_unorm(uint bits) {
    return (float)(bits & ((1u << BITS) - 1u)) / (float)((1u << BITS) - 1u);
}
template <int BITS> __ingot_inline float __ingot_from_snorm(uint bits) {
    float x = (float)((int)(bits << (32 - BITS)) >> (32 - BITS));
    return max(x / (float)((1u << (BITS - 1)) - 1u), -1.0f);
}
__ingot_inline float __ingot_to_srgb(float x) {
    x = clamp(x, 0.0f, 1.0f);
    return x < 0.0031308f ? 12.92f * x : 1.055f * precise::pow(x, 1.0f / 2.4f) - 0.055f;
}
__ingot_inline float __ingot_from_srgb(float x) {
    return x <= 0.04045f ? x / 12.92f : precise::pow((x + 0.055f) / 1.055f, 2.4f);
}

__ingot_inline float4 unpack_unorm4x8_to_float(uint x) {
    return float4(__ingot_from_unorm<8>(x), __ingot_from_unorm<8>(x >> 8),
                  __ingot_from_unorm<8>(x >> 16), __ingot_from_unorm<8>(x >> 24));
}
__ingot_inline float4 unpack_snorm4x8_to_float(uint x) {
    return float4(__ingot_from_snorm<8>(x), __ingot_from_snorm<8>(x >> 8),
                  __ingot_from_snorm<8>(x >> 16), __ingot_from_snorm<8>(x >> 24));
}
__ingot_inline float2 unpack_unorm2x16_to_float(uint x) {
    return float2(__ingot_from_unorm<16>(x), __ingot_from_unorm<16>(x >> 16));
}
__ingot_inline float2 unpack_snorm2x16_to_float(uint x) {
    return float2(__ingot_from_snorm<16>(x), __ingot_from_snorm<16>(x >> 16));
}
__ingot_inline float4 unpack_unorm10a2_to_float(uint x) {
    return float4(__ingot_from_unorm<10>(x), __ingot_from_unorm<10>(x >> 10),
                  __ingot_from_unorm<10>(x >> 20), __ingot_from_unorm<2>(x >> 30));
}
__ingot_inline float3 unpack_unorm565_to_float(ushort x) {
    return float3(__ingot_from_unorm<5>((uint)x >> 11), __ingot_from_unorm<6>((uint)x >> 5),
                  __ingot_from_unorm<5>(x));
}
__ingot_inline float4 unpack_unorm4x8_srgb_to_float(uint x) {
    float4 r = unpack_unorm4x8_to_float(x);
    return float4(__ingot_from_srgb(r.x), __ingot_from_srgb(r.y), __ingot_from_srgb(r.z), r.w);
}

__ingot_inline uint pack_float_to_unorm4x8(float4 x) {
    return __ingot_to_unorm<8>(x.x) | __ingot_to_unorm<8>(x.y) << 8 |
           __ingot_to_unorm<8>(x.z) << 16 | __ingot_to_unorm<8>(x.w) << 24;
}
__ingot_inline uint pack_float_to_snorm4x8(float4 x) {
    return __ingot_to_snorm<8>(x.x) | __ingot_to_snorm<8>(x.y) << 8 |
           __ingot_to_snorm<8>(x.z) << 16 | __ingot_to_snorm<8>(x.w) << 24;
}
__ingot_inline uint pack_float_to_unorm2x16(float2 x) {
    return __ingot_to_unorm<16>(x.x) | __ingot_to_unorm<16>(x.y) << 16;
}
__ingot_inline uint pack_float_to_snorm2x16(float2 x) {
    return __ingot_to_snorm<16>(x.x) | __ingot_to_snorm<16>(x.y) << 16;
}
__ingot_inline uint pack_float_to_unorm10a2(float4 x) {
    return __ingot_to_unorm<10>(x.x) | __ingot_to_unorm<10>(x.y) << 10 |
           __ingot_to_unorm<10>(x.z) << 20 | __ingot_to_unorm<2>(x.w) << 30;
}
__ingot_inline ushort pack_float_to_unorm565(float3 x) {
    return (ushort)(__ingot_to_unorm<5>(x.x) << 11 | __ingot_to_unorm<6>(x.y) << 5 |
                    __ingot_to_unorm<5>(x.z));
}
__ingot_inline uint pack_float_to_srgb_unorm4x8(float4 x) {
    return pack_float_to_unorm4x8(
        float4(__ingot_to_srgb(x.x), __ingot_to_srgb(x.y), __ingot_to_srgb(x.z), x.w));
}

#define __INGOT_PACK_HALF(format, bits, N)                                                         \
    __ingot_inline half##N unpack_##format##_to_half(bits x) {                                     \
        return half##N(unpack_##format##_to_float(x));                                             \
    }                                                                                              \
    __ingot_inline bits pack_half_to_##format(half##N x) {                                         \
        return pack_float_to_##format(float##N(x));                                                \
    }
__INGOT_PACK_HALF(unorm4x8, uint, 4)
__INGOT_PACK_HALF(snorm4x8, uint, 4)
__INGOT_PACK_HALF(unorm2x16, uint, 2)
__INGOT_PACK_HALF(snorm2x16, uint, 2)
__INGOT_PACK_HALF(unorm10a2, uint, 4)
__INGOT_PACK_HALF(unorm565, ushort, 3)
#undef __INGOT_PACK_HALF
__ingot_inline half4 unpack_unorm4x8_srgb_to_half(uint x) {
    return half4(unpack_unorm4x8_srgb_to_float(x));
}
__ingot_inline uint pack_half_to_srgb_unorm4x8(half4 x) {
    return pack_float_to_srgb_unorm4x8(float4(x));
}
} // namespace metal
