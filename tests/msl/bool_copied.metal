// A bool that is only copied keeps its byte, whatever it is; a comparison of the same byte, and a number that is made
// of the bool, are 0 or 1.
// RUN: kernel=copied threads=256 group=64
// ARG 0: u8[256] = i
// ARG 1: u8[256]
// EXPECT 1: u8[256] = i
// RUN: kernel=compared threads=256 group=64
// ARG 0: u8[256] = i
// ARG 1: bool[256]
// ARG 2: u8[256]
// EXPECT 2: u8[256] = i > 0
// RUN: kernel=numbers threads=256 group=64
// ARG 0: u8[256] = i
// ARG 1: u8[256]
// ARG 2: u8[256]
// EXPECT 1: u8[256] = i > 0
// EXPECT 2: u8[256] = i > 0
// RUN: kernel=members threads=64 group=64
// ARG 0: u8[128] = i
// ARG 1: u8[128]
// EXPECT 1: u8[128] = i % 2 > 0 ? i : (i > 0)
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

kernel void numbers(device const bool *in [[buffer(0)]], device uchar *chosen [[buffer(1)]],
                    device uchar *converted [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    chosen[i] = in[i] ? 1 : 0;
    converted[i] = in[i];
}

struct Flags {
    uchar number;
    bool truth;
};
struct Bools {
    bool first, second;
};

kernel void members(device const Bools *in [[buffer(0)]], device Flags *out [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    out[i].number = in[i].first;
    out[i].truth = in[i].second;
}
