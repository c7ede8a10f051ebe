// Threadgroup memory that nobody wrote since the threadgroup began, and buffers that nobody has filled.
// SANITIZE: uninitialised
// RUN: kernel=half_of_them threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=one_past_what_was_written threads=64 group=32
// ARG 0: f32[64]
// RUN: kernel=dynamic threads=32 group=32
// ARG 0: f32[32]
// TG 0: 256
// RUN: kernel=counter threads=32 group=32
// ARG 0: u32[32]
// RUN: kernel=counter_of_floats threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=flag threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=index_there threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=vectors threads=32 group=32
// ARG 0: f32[128]
// RUN: kernel=one_component threads=32 group=32
// ARG 0: f32[128]
// RUN: kernel=halves threads=32 group=32
// ARG 0: f16[32]
// RUN: kernel=bytes threads=32 group=32
// ARG 0: u8[32]
// RUN: kernel=matrix_halo threads=8,8 group=8,8
// ARG 0: f32[64]
// RUN: kernel=tile threads=32 group=32
// ARG 0: f32[64]
// RUN: kernel=tile_product threads=32 group=32
// ARG 0: f32[64]
// RUN: kernel=second_group threads=64 group=32
// ARG 0: f32[64]
// RUN: kernel=moved_on threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=struct_there threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=unwritten_buffer threads=16 group=16
// ARG 0: f32[16]?
// ARG 1: f32[16]
// RUN: kernel=unwritten_condition threads=16 group=16
// ARG 0: u32[16]?
// ARG 1: f32[16]
// RUN: kernel=unwritten_index threads=16 group=16
// ARG 0: u32[16]?
// ARG 1: f32[16]
// RUN: kernel=adds_to_result threads=16 group=16
// ARG 0: f32[16]?
// RUN: kernel=unwritten_vectors threads=4 group=4
// ARG 0: f32[16]?
// ARG 1: f32[16]
// RUN: kernel=atomic_on_unwritten threads=16 group=16
// ARG 0: u32[16]?
// ARG 1: u32[16]
// RUN: kernel=unwritten_tile threads=32 group=32
// ARG 0: f32[64]?
// ARG 1: f32[64]
// RUN: kernel=half_written threads=16 group=16
// ARG 0: f32[16]?
// ARG 1: f32[16]
// RUN: kernel=behind_a_pointer threads=16 group=16
// ARG 0: bytes = addr:16
// ARG 16: f32[16]?
// ARG 1: f32[16]
// RUN: kernel=written_first threads=16 group=16
// ARG 0: f32[16]?
// ARG 1: f32[16]
// RUN: kernel=copied_and_left threads=16 group=16
// ARG 0: f32[16]?
// ARG 1: f32[16]
// RUN: kernel=tile_written_first threads=32 group=32
// ARG 0: f32[64]?
// ARG 1: f32[64]
#include <metal_stdlib>
using namespace metal;

kernel void half_of_them(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float s[32];
    if (i < 16) {
        s[i] = float(i);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i]; // FINDS: uninitialised
}
kernel void one_past_what_was_written(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                                      uint t [[thread_position_in_threadgroup]]) {
    threadgroup float s[33];
    s[t] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[t] + s[t + 1]; // FINDS: uninitialised
}
kernel void dynamic(device float *x [[buffer(0)]], threadgroup float *s [[threadgroup(0)]],
                    uint i [[thread_position_in_grid]]) {
    s[2 * i] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i]; // FINDS: uninitialised
}
kernel void counter(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup atomic_uint count;
    uint own = atomic_fetch_add_explicit(&count, 1u, memory_order_relaxed);
    x[i] = own; // FINDS: uninitialised
}
kernel void counter_of_floats(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float sums[4];
    if (i < 3) {
        sums[i] = 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i % 8 == 0) {
        sums[i / 8] += 1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = sums[i % 4]; // FINDS: uninitialised
}
kernel void flag(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup bool done;
    if (i == 100) {
        done = true;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (!done) // FINDS: uninitialised
        x[i] = 1;
}
kernel void index_there(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup uint order[32];
    if (i & 1) {
        order[i] = i;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[order[i] & 31] = 1; // FINDS: uninitialised
}
kernel void vectors(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float4 s[32];
    if (i > 0) {
        s[i] = float4(1);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i] * 2; // FINDS: uninitialised
}
kernel void one_component(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float4 s[32];
    s[i].xyz = float3(1);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[31 - i]; // FINDS: uninitialised
}
kernel void halves(device half *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup half s[32];
    s[i & ~1u] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i]; // FINDS: uninitialised
}
kernel void bytes(device uchar *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup uchar s[32];
    s[i / 2] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i]; // FINDS: uninitialised
}
kernel void matrix_halo(device float *x [[buffer(0)]], uint2 i [[thread_position_in_grid]]) {
    threadgroup float s[10][10];
    s[i.y + 1][i.x + 1] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i.y * 8 + i.x] = s[i.y][i.x + 1] + s[i.y + 2][i.x + 1]; // FINDS: uninitialised
}
kernel void tile(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float s[64];
    s[i] = 1;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 m;
    simdgroup_load(m, s, 8);
    simdgroup_store(m, x, 8); // FINDS: uninitialised
}
kernel void tile_product(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float s[64];
    s[i] = 1;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 a, b, c;
    simdgroup_load(a, x, 8);
    simdgroup_load(b, s, 8);
    simdgroup_multiply(c, a, b);
    simdgroup_store(c, x, 8); // FINDS: uninitialised
}
kernel void second_group(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                         uint group [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
    threadgroup float s[32];
    if (group == 0) {
        s[t] = 1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[t]; // FINDS: uninitialised
}
kernel void moved_on(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float s[32], t[32];
    if (i < 31) {
        s[i] = 1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    t[31 - i] = s[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = t[i]; // FINDS: uninitialised
}
struct entry {
    float value;
    uint key;
};
kernel void struct_there(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup entry s[32];
    s[i].key = i;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    entry e = s[31 - i];
    x[e.key] = e.value; // FINDS: uninitialised
}
kernel void unwritten_buffer(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = 2 * x[i]; // FINDS: uninitialised
}
kernel void unwritten_condition(device const uint *x [[buffer(0)]], device float *y [[buffer(1)]],
                                uint i [[thread_position_in_grid]]) {
    if (x[i] == 0) // FINDS: uninitialised
        y[i] = 1;
}
kernel void unwritten_index(device const uint *x [[buffer(0)]], device float *y [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    y[x[i]] = 1; // FINDS: uninitialised
}
kernel void adds_to_result(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] += 1; // FINDS: uninitialised
}
kernel void unwritten_vectors(device const float4 *x [[buffer(0)]], device float4 *y [[buffer(1)]],
                              uint i [[thread_position_in_grid]]) {
    y[i] = x[i].wzyx; // FINDS: uninitialised
}
kernel void atomic_on_unwritten(device atomic_uint *x [[buffer(0)]], device uint *y [[buffer(1)]],
                                uint i [[thread_position_in_grid]]) {
    uint old = atomic_fetch_add_explicit(&x[i], 1u, memory_order_relaxed);
    y[i] = old; // FINDS: uninitialised
}
kernel void unwritten_tile(device const float *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, x, 8);
    simdgroup_store(m, y, 8); // FINDS: uninitialised
}
kernel void half_written(device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
    if (i < 8) {
        x[i] = 1;
    }
    threadgroup_barrier(mem_flags::mem_device);
    y[i] = x[i]; // FINDS: uninitialised
}
struct holder {
    device float *data;
};
kernel void behind_a_pointer(constant holder &h [[buffer(0)]], device float *y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = h.data[i]; // FINDS: uninitialised
}
kernel void written_first(device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                          uint i [[thread_position_in_grid]]) {
    x[i] = float(i);
    y[i] = x[i];
}
kernel void copied_and_left(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    float unused = x[i];
    float copy = unused;
    y[i] = i > 100 ? copy : 1.0f;
}
kernel void tile_written_first(device float *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    simdgroup_float8x8 m(2);
    simdgroup_store(m, x, 8);
    simdgroup_load(m, x, 8);
    simdgroup_store(m, y, 8);
}
