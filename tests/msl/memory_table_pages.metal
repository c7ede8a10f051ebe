// A table of 16 in memory of unknown size: in the threadgroup's, which ends with it or before its last entries,
// and in a buffer at every distance from a page's end. Entries that no lane asks for need not be there.
// RUN: kernel=in_threadgroup threads=64 group=64
// ARG 0: u8[64] = i * 29
// ARG 1: f32[64]
// TG 0: 64
// EXPECT 1: f32[64] = (u8(i * 29) & 15) * 1.5 + (u8(i * 29) >> 4)
//
// RUN: kernel=in_short_threadgroup threads=40 group=40
// ARG 0: u8[40] = i * 5
// ARG 1: f32[40]
// TG 0: 16
// EXPECT 1: f32[40] = ((i * 5) % 4) * 1.5
//
// RUN: kernel=in_variable threads=64 group=64
// ARG 0: u8[64] = i * 29
// ARG 1: f32[64]
// EXPECT 1: f32[64] = u8(i * 29) & 15
//
// RUN: kernel=in_buffer threads=1056 group=32
// ARG 0: u8[1056] = i * 29
// ARG 1: u32[2080] = i * 3
// ARG 2: u32[1056]
// EXPECT 2: u32[1056] = (idiv(i, 32) * 32 + 1000 + (u8(i * 29) & 15)) * 3 + 1
//
// RUN: kernel=by_few threads=64 group=32
// ARG 0: u8[64] = i * 29
// ARG 1: u32[16] = i * 3
// ARG 2: u32[64]
// EXPECT 2: u32[64] = i == 5 || i == 40 ? (u8(i * 29) & 15) * 3 : 0
#include <metal_stdlib>
using namespace metal;

kernel void in_threadgroup(device const uchar *codes, device float *out,
                           threadgroup float *table [[threadgroup(0)]], uint i [[thread_position_in_grid]],
                           uint me [[thread_index_in_threadgroup]]) {
    if (me < 16) {
        table[me] = float(me);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = table[codes[i] & 15] * 1.5f + table[codes[i] >> 4];
}

kernel void in_short_threadgroup(device const uchar *codes, device float *out,
                                 threadgroup float *table [[threadgroup(0)]],
                                 uint i [[thread_position_in_grid]], uint me [[thread_index_in_threadgroup]]) {
    if (me < 4) {
        table[me] = float(me);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint low = codes[i] & 15; // up to 15 as far as is known here, but only 0 to 3 are read
    out[i] = table[low & (me < 1000 ? 3 : 15)] * 1.5f;
}

kernel void in_variable(device const uchar *codes, device float *out, uint i [[thread_position_in_grid]],
                        uint me [[thread_index_in_threadgroup]]) {
    threadgroup float table[16];
    if (me < 16) {
        table[me] = float(me);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = table[codes[i] & 15];
}

kernel void in_buffer(device const uchar *codes, device const uint *numbers, device uint *out,
                      uint i [[thread_position_in_grid]], uint group [[threadgroup_position_in_grid]]) {
    device const uint *table = numbers + group * 32 + 1000;
    out[i] = table[codes[i] & 15] + 1;
}

kernel void by_few(device const uchar *codes, device const uint *table, device uint *out,
                   uint i [[thread_position_in_grid]]) {
    if (i == 5 || i == 40) {
        out[i] = table[codes[i] & 15];
    }
}
