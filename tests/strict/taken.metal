// What is right there too: near to what is refused, and never a warning.
#include <metal_stdlib>
using namespace metal;

constant float scale = 2.0f;
constant int table[2] = {1, 2};
static constant constexpr uint tile = 8;
constant bool chosen [[function_constant(0)]];
enum kind { FIRST, SECOND };
struct pair {
    static constant constexpr int members = 2;
    static constexpr constant float none = 0.0f;
    static int size() { return members; }
    static constexpr int twice(int n) { return 2 * n; }
    float a, b;
    thread pair &operator+=(thread const pair &other) thread {
        a += other.a;
        return *this;
    }
};
template <typename T> T twice(T x) { return x * T(2); }
template <typename T> void put(device T *to, T value) { *to = value; }
float sum(thread const float *p, constant int &n) { return p[0] * n; }
float total(device const pair *all, threadgroup float4 &shared) { return all->a + shared.x; }
typedef device float *buffer_type;

kernel void k(device float *x [[buffer(0)]], device half *h [[buffer(1)]],
              device pair *pairs [[buffer(2)]], device atomic_uint *count [[buffer(3)]],
              constant int &n [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    threadgroup float4 shared;
    threadgroup float *threadgroup kept[2];
    float private_values[2] = {x[i], x[i + 1]};
    thread float *p = private_values;
    buffer_type q = x;
    auto r = x + 1;
    float4 v = {x[i], x[i]}, w{1, 2, 3}, u = float4(v.xy, 0, 1), t(1.0f);
    bool positive = x[i] > 0;
    int m = max(int(i), n) + max(positive, n) + min(FIRST, n) + abs(n);
    float f = max(x[i], 0.0f) + pow(x[i], 2) + fma(x[i], 2, 1) + precise::pow(x[i], x[0]);
    half g = max(h[i], 1.0h) + clamp(h[i], 0.0h, half(1)) + pow(h[i], 2);
    float3 c = max(v.xyz, 0) + clamp(v.xyz, 0.0f, 1.0f) + mix(v.xyz, u.xyz, 0.5f);
    shared = v * w * float(m * int(i)) + t;
    kept[0] = (threadgroup float *)&shared;
    pair both = pairs[0];
    both += both;
    atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);
    int size = int(sizeof(float) * n), product = m * size & n;
    put(x, f + float(g) + c.x + sum(p, n) + total(pairs, shared) + q[0] * *r + scale * twice(both.a));
    x[1] = simd_sum(x[i]) + float(table[i & 1]) + *kept[0] + float(tile) + float(product);
    x[2] = as_type<float>(uint(simd_shuffle_down(n, 2))) + (chosen ? 1.0f : 0.0f) + (float)(n);
}
