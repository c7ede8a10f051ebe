// metal:: qualification, nested namespaces and aliases, without `using namespace metal`.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[3]
// EXPECT 0: f32 [3 2 4]
#include <metal_stdlib>
namespace outer {
namespace inner {
inline float three() { return metal::max(3.0f, metal::float2(1, 2).y); }
} // namespace inner
} // namespace outer
namespace alias = outer::inner;
kernel void k(device float *x [[buffer(0)]]) {
    x[0] = alias::three();
    x[1] = metal::precise::sqrt(4.0f);
    x[2] = metal::fast::sqrt(16.0f);
}
