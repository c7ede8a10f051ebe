// The length of vec<T, N> is deduced for a template parameter of any integer type.
// RUN: kernel=lengths threads=1
// ARG 0: i32[12]
// EXPECT 0: i32 [2 3 4 3 4 2 14 3 0 4 3 30]
#include <metal_stdlib>
using namespace metal;

template <typename T, uint V> uint by_uint(vec<T, V> x) { return V; }
template <typename T, int V> int by_int(vec<T, V> x) { return V; }
template <size_t V> size_t by_size(vec<bool, V> x) { return V; }
template <short V> short by_short(vec<bfloat, V> x) { return V; }
template <typename T, ushort V> ushort by_pointer(const device vec<T, V> *x) { return V; }

template <typename T, uint V> T total(vec<T, V> x) {
    T sum = 0;
    for (uint i = 0; i < V; i++)
        sum += x[i];
    return sum;
}

template <typename T> struct length_of { static constexpr constant int value = 0; };
template <typename T, uint V> struct length_of<vec<T, V>> { static constexpr constant int value = V; };

// Forwarded with its own type.
template <uint V> struct Lanes { static constexpr constant uint count = V; };
template <typename T, uint V> uint with_lanes(vec<T, V> x, Lanes<V> lanes) { return lanes.count; }
template <typename T, uint R> T squares(vec<T, R> a, vec<T, R> b) { return dot(a, b); }

kernel void lengths(device int *out) {
    out[0] = by_uint(float2(1));
    out[1] = by_uint(half3(1));
    out[2] = by_int(uchar4(1));
    out[3] = by_size(bool3(true));
    out[4] = by_short(bfloat4(1));
    out[5] = by_pointer((const device float2 *)out);
    out[6] = total(int4(2, 3, 4, 5));
    out[7] = length_of<long3>::value;
    out[8] = length_of<float>::value;
    out[9] = with_lanes(float4(0), Lanes<4>());
    out[10] = by_uint(float4(1).xyz);
    out[11] = int(squares(float4(1, 2, 3, 4), float4(1, 2, 3, 4)));
}
