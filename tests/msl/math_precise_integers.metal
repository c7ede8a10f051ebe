// precise:: and fast:: take integers for the names that integers share.
// RUN: kernel=integers threads=4
// ARG 0: i64[4]
// ARG 1: i64 [-9007199254740993 5 -1 0]
// EXPECT 0: i64 [9007199254741001 15 6 5]
#include <metal_stdlib>
using namespace metal;

struct absolute {
    template <typename T> T operator()(T x) {
        return static_cast<T>(precise::abs(x));
    }
};

kernel void integers(device long *out, constant long *in, uint i [[thread_position_in_grid]]) {
    absolute f;
    long x = in[i];
    long y = f(x) + f(uchar(3)) + f(true) + precise::max(short(2), short(-4));
    out[i] = y + fast::clamp(int(x), 0, 7) - precise::min(uint(i), 1u) + (x < -100 ? 2 : 0);
}
