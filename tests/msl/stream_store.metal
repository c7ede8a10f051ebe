// Stores past the caches (prelude/ingot_builtins.h) do what plain ones do: lanes side by side at
// any alignment, a part of the lanes, strides, one address, indices that wrap, 16 bits; with the
// flag and without it.
// RUN: kernel=lines threads=256,1,1 group=64,1,1
// ARG 0: u32[288]
// ARG 1: u32 = 1
// ARG 2: u32 = 0
// EXPECT 0: u32[256] = i * 3 + 1
// RUN: kernel=lines threads=256,1,1 group=64,1,1
// ARG 0: u32[288]
// ARG 1: u32 = 0
// ARG 2: u32 = 0
// EXPECT 0: u32[256] = i * 3 + 1
// RUN: kernel=lines threads=250,1,1 group=64,1,1
// ARG 0: u32[288]
// ARG 1: u32 = 1
// ARG 2: u32 = 0
// EXPECT 0: u32[256] = i < 250 ? i * 3 + 1 : 0
// RUN: kernel=lines threads=128,1,1 group=64,1,1
// ARG 0: u32[160]
// ARG 1: u32 = 1
// ARG 2: u32 = 5
// EXPECT 0: u32[140] = i < 5 || i >= 133 ? 0 : (i - 5) * 3 + 1
// RUN: kernel=wraps threads=64,1,1 group=64,1,1
// ARG 0: u32[64]
// ARG 1: u32 = 1
// EXPECT 0: u32[64] = i < 16 ? i + 48 : i - 16
// RUN: kernel=some threads=128,1,1 group=128,1,1
// ARG 0: u32[128]
// ARG 1: u32 = 1
// EXPECT 0: u32[128] = i % 3 == 1 ? i : 0
// RUN: kernel=apart threads=64,1,1 group=64,1,1
// ARG 0: u32[192]
// ARG 1: u32 = 1
// EXPECT 0: u32[192] = i % 3 == 2 ? idiv(i, 3) : 0
// RUN: kernel=one threads=32,1,1 group=32,1,1
// ARG 0: u32[4]
// ARG 1: u32 = 1
// EXPECT 0: u32 [0 7 0 0]
// RUN: kernel=narrow threads=128,1,1 group=64,1,1
// ARG 0: f16[130]
// ARG 1: u32 = 1
// EXPECT 0: f16[130] = i < 1 || i >= 129 ? 0 : (i - 1) * 0.5
#include <metal_stdlib>
using namespace metal;

kernel void lines(device uint *out [[buffer(0)]], constant uint &past [[buffer(1)]],
                  constant uint &first [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    __ingot_stream_b32(i * 3 + 1, out + (ulong(first) + i), past);
}

kernel void wraps(device uint *out [[buffer(0)]], constant uint &past [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
    uchar at = uchar(i + 208); // 208 … 255, then 0 … 15
    __ingot_stream_b32(i, out + (at < 64 ? at : at - 192), past);
}

kernel void some(device uint *out [[buffer(0)]], constant uint &past [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    if (i % 3 == 1) {
        __ingot_stream_b32(i, out + i, past);
    }
}

kernel void apart(device uint *out [[buffer(0)]], constant uint &past [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
    __ingot_stream_b32(i, out + (i * 3 + 2), past);
}

kernel void one(device uint *out [[buffer(0)]], constant uint &past [[buffer(1)]],
                uint i [[thread_position_in_grid]]) {
    __ingot_stream_b32(7, out + 1, past); // the same from all lanes: which of them wins is open
}

kernel void narrow(device half *out [[buffer(0)]], constant uint &past [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
    __ingot_stream_b16(as_type<ushort>(half(i * 0.5h)), (device ushort *)out + (ulong(i) + 1), past);
}
