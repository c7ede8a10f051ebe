// Accesses next to the edge of what is bound, and of every width: right to the byte. Nothing is found.
// SANITIZE: bounds,alignment,race,barrier,uninitialised,lanes,arithmetic,numeric
#include <metal_stdlib>
using namespace metal;
#define GRID uint i [[thread_position_in_grid]]

// RUN: kernel=last_element_of_a_view threads=1 group=1
// ARG 0+64: f32[4] = i + 16
// EXPECT 0: f32 [36]
kernel void last_element_of_a_view(device float *x [[buffer(0)]]) { x[0] += x[3] + 1; }
// RUN: kernel=byte_at_the_end threads=7 group=7
// ARG 0: u8[7]
// EXPECT 0: u8[7] = i + 1
kernel void byte_at_the_end(device uchar *x [[buffer(0)]], GRID) { x[6 - i] = uchar(7 - i); }
// RUN: kernel=bytes_of_bools threads=8 group=8
// ARG 0: u8[8] = 37 * i
// ARG 1: u8[8]?
// EXPECT 1: u8[8] = 37 * i
kernel void bytes_of_bools(const device bool *x [[buffer(0)]], device bool *y [[buffer(1)]], GRID) { y[i] = x[i]; }
// RUN: kernel=tail_of_a_vector_loop threads=1 group=1
// ARG 0: f32[11] = i
// ARG 1: f32[1]?
// EXPECT 1: f32 [55]
kernel void tail_of_a_vector_loop(const device float *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    float4 sum = 0;
    uint k = 0;
    for (; k + 4 <= 11; k += 4) {
        sum += *(const device float4 *)(x + k);
    }
    float rest = sum.x + sum.y + sum.z + sum.w;
    for (; k < 11; k++) {
        rest += x[k];
    }
    y[0] = rest;
}
// RUN: kernel=grid_stride threads=32 group=32
// ARG 0: f32[77]
// ARG 1: u32 [77]
// EXPECT 0: f32[77] = i
kernel void grid_stride(device float *x [[buffer(0)]], constant uint &n [[buffer(1)]], GRID,
                        uint threads [[threads_per_grid]]) {
    for (uint k = i; k < n; k += threads) {
        x[k] = float(k);
    }
}
// RUN: kernel=backwards threads=1 group=1
// ARG 0: f32[9] = i
// EXPECT 0: f32 [36]
kernel void backwards(device float *x [[buffer(0)]]) {
    float sum = 0;
    for (int k = 8; k >= 0; k--) {
        sum += x[k];
    }
    x[0] = sum;
}
// RUN: kernel=pointer_past_the_end_unused threads=1 group=1
// ARG 0: f32[8] = 1
// EXPECT 0: f32 [8]
kernel void pointer_past_the_end_unused(device float *x [[buffer(0)]]) {
    device float *end = x + 8;
    float sum = 0;
    while (end != x) {
        sum += *--end;
    }
    x[0] = sum;
}
// RUN: kernel=packed_three_at_the_end threads=5 group=5
// ARG 0: f32[15] = i
// ARG 1: f32[5]?
// EXPECT 1: f32[5] = 9 * i + 3
kernel void packed_three_at_the_end(const device packed_float3 *x [[buffer(0)]], device float *y [[buffer(1)]], GRID) {
    float3 v = x[i];
    y[i] = v.x + v.y + v.z;
}
// RUN: kernel=packed_at_any_byte threads=3 group=3
// ARG 0: u8[13] = i
// ARG 1: u32[3]?
// EXPECT 1: u32[3] = 16 * i + 10
kernel void packed_at_any_byte(const device uchar *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID) {
    uchar4 v = *(const device packed_uchar4 *)(x + 4 * i + 1);
    y[i] = v.x + v.y + v.z + v.w;
}
// RUN: kernel=halves_in_pairs threads=3 group=3
// ARG 0: f16[6] = i
// ARG 1: f32[3]?
// EXPECT 1: f32[3] = 4 * i + 1
kernel void halves_in_pairs(const device half *x [[buffer(0)]], device float *y [[buffer(1)]], GRID) {
    half2 v = *(const device half2 *)(x + 2 * i);
    y[i] = float(v.x + v.y);
}
// RUN: kernel=three_components_take_four threads=3 group=3
// ARG 0: f32[12] = i
// ARG 1: f32[3]?
// EXPECT 1: f32[3] = 12 * i + 3
kernel void three_components_take_four(const device float3 *x [[buffer(0)]], device float *y [[buffer(1)]], GRID) {
    y[i] = x[i].x + x[i].y + x[i].z;
}
struct record {
    uchar kind;
    packed_half3 place;
    uint count;
};
// RUN: kernel=struct_with_padding threads=2 group=2
// ARG 0: bytes = u8:1 pad:1 f16:1 f16:2 f16:3 u32:7 u8:2 pad:1 f16:4 f16:5 f16:6 u32:8
// ARG 1: f32[2]?
// EXPECT 1: f32 [14 25]
kernel void struct_with_padding(const device record *x [[buffer(0)]], device float *y [[buffer(1)]], GRID) {
    half3 p = x[i].place;
    y[i] = float(x[i].kind) + float(p.x + p.y + p.z) + float(x[i].count);
}
// RUN: kernel=bytes_of_numbers threads=4 group=4
// ARG 0: u32[4] = 65537 * i
// ARG 1: u8[16]?
// EXPECT 1: u8[16] = (i % 2 == 0) ? idiv(i, 4) : 0
kernel void bytes_of_numbers(const device uint *x [[buffer(0)]], device uchar *y [[buffer(1)]], GRID) {
    thread const uchar4 v = as_type<uchar4>(x[i]);
    for (uint k = 0; k < 4; k++) {
        y[4 * i + k] = v[k];
    }
}
struct arguments {
    device float *out;
    const device float *in;
    uint count;
};
// RUN: kernel=argument_buffer_to_the_end threads=64 group=32
// ARG 0: bytes = addr:16 addr:17 u32:60 pad:4
// ARG 16: f32[60]?
// ARG 17: f32[60] = i
// EXPECT 16: f32[60] = i + 1
kernel void argument_buffer_to_the_end(constant arguments &a [[buffer(0)]], GRID) {
    if (i < a.count) {
        a.out[i] = a.in[i] + 1;
    }
}
struct node {
    const device ulong *value;
    const device ulong *last;
};
// RUN: kernel=pointers_of_pointers threads=1 group=1
// ARG 0: bytes = addr:16 addr:17 addr:17 addr:16
// ARG 1: u64[1]?
// ARG 16: u64[3] = i + 1
// ARG 17: u64[3] = i + 10
// EXPECT 1: u64 [28]
kernel void pointers_of_pointers(const device node *nodes [[buffer(0)]], device ulong *sum [[buffer(1)]]) {
    ulong total = 0;
    for (const device node *n = nodes; n != nodes + 2; n++) {
        total += n->value[0] + n->last[2] + (n->value == n->last ? 100 : 1);
    }
    sum[0] = total;
}
// RUN: kernel=two_of_one_buffer threads=8 group=8
// ARG 0: f32[16] = i
// EXPECT 0: f32[8] = 2 * i + 8
kernel void two_of_one_buffer(device float *x [[buffer(0)]], GRID) {
    const device float *upper = x + 8;
    x[i] += upper[i];
}
// RUN: kernel=negative_index_of_a_middle threads=8 group=8
// ARG 0: f32[16] = i
// ARG 1: f32[8]?
// EXPECT 1: f32[8] = 7 - i
kernel void negative_index_of_a_middle(const device float *x [[buffer(0)]], device float *y [[buffer(1)]], GRID) {
    const device float *middle = x + 8;
    y[i] = middle[-1 - int(i)];
}
// RUN: kernel=offset_of_gigabytes_and_back threads=4 group=4
// ARG 0: f32[4]?
// EXPECT 0: f32[4] = i
kernel void offset_of_gigabytes_and_back(device float *x [[buffer(0)]], GRID) {
    ulong far = 1ul << 33;
    x[(far + i) - far] = float(i);
}
// RUN: kernel=modular_index threads=16 group=16
// ARG 0: f32[5] = i
// ARG 1: f32[16]?
// EXPECT 1: f32[16] = i % 5
kernel void modular_index(const device float *x [[buffer(0)]], device float *y [[buffer(1)]], GRID) { y[i] = x[i % 5]; }
// RUN: kernel=clamped_index threads=16 group=16
// ARG 0: f32[5] = i
// ARG 1: f32[16]?
// EXPECT 1: f32[16] = min(max(i - 3, 0), 4)
kernel void clamped_index(const device float *x [[buffer(0)]], device float *y [[buffer(1)]], GRID) {
    y[i] = x[clamp(int(i) - 3, 0, 4)];
}
// RUN: kernel=stencil_with_guards threads=10 group=10
// ARG 0: f32[10] = i
// ARG 1: f32[10]?
// EXPECT 1: f32[10] = (i > 0 ? i - 1 : 0) + i + (i < 9 ? i + 1 : 0)
kernel void stencil_with_guards(const device float *x [[buffer(0)]], device float *y [[buffer(1)]], GRID) {
    float left = i > 0 ? x[i - 1] : 0, right = i < 9 ? x[i + 1] : 0;
    y[i] = left + x[i] + right;
}
// RUN: kernel=and_then threads=8 group=8
// ARG 0: f32[6] = i
// ARG 1: u32[8]?
// EXPECT 1: u32[8] = i > 2 && i < 6
kernel void and_then(const device float *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID) {
    y[i] = i < 6 && x[i] > 2 ? 1 : 0;
}
// RUN: kernel=private_array_by_pointer threads=8 group=8
// ARG 0: f32[8]?
// EXPECT 0: f32[8] = 28 * i
void fill(thread float *to, uint n, float with) {
    for (thread float *p = to; p < to + n; p++) {
        *p = with * float(p - to);
    }
}
kernel void private_array_by_pointer(device float *x [[buffer(0)]], GRID) {
    float own[8];
    fill(own, 8, float(i));
    float sum = 0;
    for (uint k = 8; k-- > 0;) {
        sum += own[k];
    }
    x[i] = sum;
}
// RUN: kernel=rows_of_a_private_matrix threads=4 group=4
// ARG 0: f32[4]?
// EXPECT 0: f32[4] = i * 15 + 15
kernel void rows_of_a_private_matrix(device float *x [[buffer(0)]], GRID) {
    float own[3][5];
    for (uint r = 0; r < 3; r++) {
        for (uint c = 0; c < 5; c++) {
            own[r][c] = float(i + r);
        }
    }
    float sum = 0;
    for (uint k = 0; k < 15; k++) {
        sum += own[k / 5][k % 5];
    }
    x[i] = sum;
}
constant uchar nibbles[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
// RUN: kernel=table_by_masks threads=256 group=64
// ARG 0: u8[256]?
// EXPECT 0: u8[256] = sum(j, 0, 8, (i >> j) & 1)
kernel void table_by_masks(device uchar *x [[buffer(0)]], GRID) { x[i] = nibbles[i & 15] + nibbles[i >> 4 & 15]; }
// RUN: kernel=padded_columns threads=32,32 group=32,32
// ARG 0: f32[1024] = i
// ARG 1: f32[1024]?
// EXPECT 1: f32[1024] = 32 * (i % 32) + idiv(i, 32)
kernel void padded_columns(const device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                           uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float s[32][33];
    s[t.y][t.x] = x[32 * t.y + t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[32 * t.y + t.x] = s[t.x][t.y];
}
// RUN: kernel=whole_dynamic_memory threads=32 group=32
// ARG 0: f32[32]?
// TG 0: 128
// EXPECT 0: f32[32] = 31 - i
kernel void whole_dynamic_memory(device float *x [[buffer(0)]], threadgroup float *s [[threadgroup(0)]], GRID) {
    s[31 - i] = float(i);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i];
}
// RUN: kernel=dynamic_memory_in_two_parts threads=32 group=32
// ARG 0: f32[32]?
// TG 0: 192
// EXPECT 0: f32[32] = 31 - i + 5
kernel void dynamic_memory_in_two_parts(device float *x [[buffer(0)]], threadgroup float *s [[threadgroup(0)]], GRID) {
    threadgroup half *upper = (threadgroup half *)(s + 32);
    s[31 - i] = float(i);
    upper[i] = 5.0h;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i] + float(upper[31 - i]);
}
// RUN: kernel=tile_in_a_corner threads=32 group=32
// ARG 0: f32[188] = i
// ARG 1: f32[64]?
// EXPECT 1: f32[64] = 16 * (idiv(i, 8) + 4) + i % 8 + 4
kernel void tile_in_a_corner(const device float *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, x + 4 * 16 + 4, 16);
    simdgroup_store(m, y, 8);
}
// RUN: kernel=transposed_tile_to_the_end threads=32 group=32
// ARG 0: f32[92] = i
// ARG 1: f32[64]?
// EXPECT 1: f32[64] = 12 * (i % 8) + idiv(i, 8)
kernel void transposed_tile_to_the_end(const device float *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, x, 12, ulong2(0), true);
    simdgroup_store(m, y, 8);
}
// RUN: kernel=tile_by_its_origin threads=32 group=32
// ARG 0: f32[144] = i
// ARG 1: f32[64]?
// EXPECT 1: f32[64] = 12 * (idiv(i, 8) + 4) + i % 8 + 4
kernel void tile_by_its_origin(const device float *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, x, 12, ulong2(4, 4));
    simdgroup_store(m, y, 8);
}
// RUN: kernel=atomic_at_the_end threads=32 group=32
// ARG 0: u32[3]
// EXPECT 0: u32 [0 0 32]
kernel void atomic_at_the_end(device atomic_uint *x [[buffer(0)]]) {
    atomic_fetch_add_explicit(x + 2, 1u, memory_order_relaxed);
}
// RUN: kernel=vector_component_by_index threads=4 group=4
// ARG 0: f32[4] = i
// EXPECT 0: f32[4] = 2 * i + 1
kernel void vector_component_by_index(device float *x [[buffer(0)]], GRID) {
    float4 v = float4(1, 3, 5, 7);
    x[i] = v[i & 3];
}
// RUN: kernel=matrix_columns threads=3 group=3
// ARG 0: f32[3]?
// EXPECT 0: f32[3] = 4 * i + 12
kernel void matrix_columns(device float *x [[buffer(0)]], GRID) {
    float3x4 m(float4(0, 1, 2, 3), float4(1, 2, 3, 4), float4(2, 3, 4, 5));
    float sum = 0;
    for (uint k = 0; k < 4; k++) {
        sum += m[i][k] + 1.5f;
    }
    x[i] = sum;
}
// RUN: kernel=one_of_three_buffers threads=6 group=6
// ARG 0: f32[2]?
// ARG 1: f32[2]?
// ARG 2: f32[2]?
// EXPECT 0: f32 [0 1]
// EXPECT 1: f32 [2 3]
// EXPECT 2: f32 [4 5]
kernel void one_of_three_buffers(device float *a [[buffer(0)]], device float *b [[buffer(1)]],
                                 device float *c [[buffer(2)]], GRID) {
    device float *to = i < 2 ? a : i < 4 ? b : c;
    to[i & 1] = float(i);
}
// RUN: kernel=empty_range threads=4 group=4
// ARG 0: f32[4] = i
// ARG 1: u32[1]
// EXPECT 0: f32[4] = i
kernel void empty_range(device float *x [[buffer(0)]], constant uint &n [[buffer(1)]], GRID) {
    for (uint k = 0; k < n; k++) {
        x[1000 + k] = 1;
    }
    x[i] += 0;
}
// RUN: kernel=wide_at_its_alignment threads=4 group=4
// ARG 0+16: u8[56] = i
// ARG 1: u64[4]?
// EXPECT 1: u64[4] = 16 * i
kernel void wide_at_its_alignment(const device uchar *x [[buffer(0)]], device ulong *y [[buffer(1)]], GRID) {
    y[i] = (*(const device ulong *)(x + 16 * i)) & 255;
}
// RUN: kernel=blocks_of_eighteen_bytes threads=3 group=3
// ARG 0: u8[54] = i % 18
// ARG 1: u32[3]?
// EXPECT 1: u32[3] = 152
struct block {
    half scale;
    uchar values[16];
};
kernel void blocks_of_eighteen_bytes(const device block *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID) {
    uint sum = 0;
    for (uint k = 0; k < 16; k++) {
        sum += x[i].values[k];
    }
    y[i] = sum;
}
// RUN: kernel=view_of_a_struct_as_words threads=2 group=2
// ARG 0: bytes = u32:1 u32:2 u32:3 u32:4
// ARG 1: u32[2]?
// EXPECT 1: u32 [3 7]
struct two {
    uint a, b;
};
kernel void view_of_a_struct_as_words(const device two *x [[buffer(0)]], device uint *y [[buffer(1)]], GRID) {
    const device uint *words = (const device uint *)&x[i];
    y[i] = words[0] + words[1];
}
