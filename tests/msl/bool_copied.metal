// A bool that is only copied keeps its byte, whatever it is; a comparison of the same byte gives 0 or 1.
// RUN: kernel=copied threads=256 group=64
// ARG 0: u8[256] = i
// ARG 1: u8[256]
// EXPECT 1: u8[256] = i
// RUN: kernel=compared threads=256 group=64
// ARG 0: u8[256] = i
// ARG 1: bool[256]
// ARG 2: u8[256]
// EXPECT 2: u8[256] = i > 0
#include <metal_stdlib>
using namespace metal;

template <typename T, typename U>
[[kernel]] void copy(device const T *in [[buffer(0)]], device U *out [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    out[i] = static_cast<U>(in[i]);
}
template [[host_name("copied")]] [[kernel]] decltype(copy<bool, bool>) copy<bool, bool>;

kernel void compared(device const bool *in [[buffer(0)]], device bool *out [[buffer(1)]],
                     device uchar *result [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    out[i] = in[i];
    result[i] = ((device const uchar *)in)[i] != 0;
}
