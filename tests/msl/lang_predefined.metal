// What clang defines by itself is there, as sources that are shared with a host ask for it.
// RUN: kernel=k threads=1 group=1
// ARG 0: u32[4]
// EXPECT 0: u32 [1 2 8 4]
#include <metal_stdlib>
using namespace metal;

struct Wide {
#ifdef __LITTLE_ENDIAN__
    uint low;
    uint high;
#endif
#ifdef __BIG_ENDIAN__
    uint high;
    uint low;
#endif
};
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little");
static_assert(__INT_MAX__ == INT_MAX && __LONG_MAX__ == LONG_MAX && __CHAR_BIT__ == 8, "limits");

kernel void k(device uint *out [[buffer(0)]]) {
    Wide w = as_type<Wide>(0x200000001ul);
    out[0] = w.low;
    out[1] = w.high;
    out[2] = __SIZEOF_LONG__;
    out[3] = __SIZEOF_FLOAT__;
}
