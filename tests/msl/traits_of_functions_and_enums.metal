// invoke_result, underlying_type, type_identity.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT 0: i32 [7]
#include <metal_stdlib>
using namespace metal;

enum class Small : uchar { a, b };
struct Doubles {
    float operator()(int x) const { return 2 * x; }
};
template <class T> T same(T a, type_identity_t<T> b) { return a + b; } // T from the first only
static_assert(is_same_v<underlying_type_t<Small>, uchar>, "");
static_assert(is_same_v<invoke_result_t<Doubles, int>, float>, "");
kernel void k(device int *out [[buffer(0)]]) { out[0] = same(3, 4.9f); }
