// Functions of the library take packed vectors, and geometric ones a number for a vector.
// RUN: kernel=geometry threads=1 group=1
// ARG 0: f32 [3 4 0 0 0 2]
// ARG 1: f32[10]
// EXPECT 1: f32 [5 0 8 7 2 -6 0 5 1.5 16] ; tol=1e-6
// RUN: kernel=integers threads=1 group=1
// ARG 0: i32 [-3 4 7 2 2 9]
// ARG 1: i32[8]
// EXPECT 1: i32 [3 -3 2 4 1 1 0 2]
#include <metal_stdlib>
using namespace metal;

struct Pair {
    packed_float3 a, b; // 3 4 0, 0 0 2
};
kernel void geometry(device Pair *p [[buffer(0)]], device float *x [[buffer(1)]]) {
    float3 c = cross(p->a, p->b); // 8 -6 0
    x[0] = length(p->a);
    x[1] = dot(p->a, p->b);
    x[2] = c.x;
    x[3] = dot(p->a, 1);
    x[4] = distance_squared(p->a, p->a + float3(1, 1, 0));
    x[5] = c.y;
    x[6] = normalize(p->b).x;
    x[7] = distance(float3(p->a), 0);
    x[8] = select(p->a, p->b + 1.5f, bool3(true)).x;
    x[9] = dot(0.5, float3(32, 0, 0));
}

struct Ints {
    packed_int3 a, b; // -3 4 7, 2 2 9
};
kernel void integers(device Ints *p [[buffer(0)]], device int *x [[buffer(1)]]) {
    x[0] = abs(p->a).x;
    x[1] = min(p->a, p->b).x;
    x[2] = clamp(p->a, 0, 2).y;
    x[3] = max(p->a, p->b).y;
    x[4] = any(p->a == p->b + 2);
    x[5] = popcount(p->b).x;
    x[6] = all(isnan(packed_float3(1)));
    x[7] = clamp(p->a, p->b, p->b).y;
}
