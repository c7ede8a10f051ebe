// SANITIZE: uninitialised,lanes
// Structs that are written member by member and copied whole: what lies between members is nobody's. Bit-fields share
// a unit: a store to one keeps the others.
#include <metal_stdlib>
using namespace metal;

#define GRID uint i [[thread_position_in_grid]]
struct pair {
    half value; // two bytes lie between
    uint index;
};
struct wide {
    bool set;
    float3 v;
    char tail;
};
struct alignas(16) block {
    uchar scale;
    half4 v;
    struct pair best;
};
struct bits {
    uint a : 3;
    uint b : 7;
    int c : 6;
};

// RUN: kernel=best_pair threads=32 group=32
// ARG 0: u32[2]?
kernel void best_pair(device pair *out [[buffer(0)]], GRID) {
    threadgroup pair t[32];
    t[i].value = half(i % 7);
    t[i].index = i;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 16; s > 0; s /= 2) {
        if (i < s && t[i + s].value > t[i].value) {
            t[i] = t[i + s];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (i == 0) {
        out[0] = t[0];
    }
}
// RUN: kernel=private_wide threads=4 group=4
// ARG 0: u8[192]?
kernel void private_wide(device wide *out [[buffer(0)]], GRID) {
    wide x;
    x.set = i > 1;
    x.v = float3(i);
    x.tail = 3;
    out[i] = x;
}
// RUN: kernel=private_block threads=4 group=4
// ARG 0: u8[128]?
kernel void private_block(device block *out [[buffer(0)]], GRID) {
    threadgroup block t[4];
    block x;
    x.scale = 1;
    x.v = half4(2);
    x.best.value = 3;
    x.best.index = i;
    t[i] = x;
    out[i] = t[i];
}
// RUN: kernel=through_buffers threads=4 group=4
// ARG 0: u32[16]?
kernel void through_buffers(device pair *out [[buffer(0)]], GRID) {
    out[i].value = 1;
    out[i].index = i;
    pair x = out[i];
    x.index += 1;
    out[i + 4] = x;
    out[i + 4] = out[i];
}
// RUN: kernel=bits_of_a_variable threads=4 group=4
// ARG 0: u32[4]?
kernel void bits_of_a_variable(device uint *out [[buffer(0)]], GRID) {
    bits x;
    x.a = i;
    x.b = 2;
    out[i] = x.a + x.b;
}
// RUN: kernel=bits_in_memory threads=4 group=4
// ARG 0: u32[8]?
kernel void bits_in_memory(device bits *out [[buffer(0)]], GRID) {
    threadgroup bits t[4];
    t[i].a = i;
    t[i].b = 2;
    t[i].c = -1;
    out[i] = t[i];
    out[i + 4].c = out[i].b;
}

// RUN: kernel=pair_without_index threads=4 group=4
// ARG 0: u32[8]?
kernel void pair_without_index(device pair *out [[buffer(0)]], GRID) {
    threadgroup pair t[4];
    t[i].value = 1;
    out[i] = t[i]; // FINDS: uninitialised
}
// RUN: kernel=wide_without_tail threads=4 group=4
// ARG 0: u8[192]?
kernel void wide_without_tail(device wide *out [[buffer(0)]], GRID) {
    wide x;
    x.set = true;
    x.v = 1;
    out[i] = x; // FINDS: uninitialised
}
// RUN: kernel=half_a_pair_in_a_buffer threads=4 group=4
// ARG 0: u32[16]?
kernel void half_a_pair_in_a_buffer(device pair *out [[buffer(0)]], GRID) {
    out[i].index = 1;
    out[i + 4] = out[i]; // FINDS: uninitialised
}
// RUN: kernel=no_bits threads=4 group=4
// ARG 0: u32[4]?
kernel void no_bits(device uint *out [[buffer(0)]], GRID) {
    bits x;
    out[i] = x.a; // FINDS: uninitialised
}
// RUN: kernel=bits_of_nothing threads=4 group=4
// ARG 0: u32[4]?
kernel void bits_of_nothing(device bits *out [[buffer(0)]], GRID) {
    uint nothing;
    bits x;
    x.b = 1;
    x.c = 2;
    x.a = nothing;
    out[i] = x; // FINDS: uninitialised
}
