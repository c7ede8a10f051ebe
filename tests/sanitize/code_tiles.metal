// Matrix products by tiles, as libraries have them: mistakes and the same kernels without them.
// SANITIZE: bounds,alignment,race,barrier,uninitialised,lanes,arithmetic
// RUN: kernel=load_then_use_wrong threads=16,16 group=16,16
// ARG 0: f32[256] = i
// ARG 1: f32[256] = i % 7
// ARG 2: f32[256]
// RUN: kernel=load_then_use_right threads=16,16 group=16,16
// ARG 0: f32[256] = i
// ARG 1: f32[256] = i % 7
// ARG 2: f32[256]
// RUN: kernel=use_then_load_wrong threads=16,16 group=16,16
// ARG 0: f32[256] = i
// ARG 1: f32[256] = i % 7
// ARG 2: f32[256]
// RUN: kernel=use_then_load_right threads=16,16 group=16,16
// ARG 0: f32[256] = i
// ARG 1: f32[256] = i % 7
// ARG 2: f32[256]
// RUN: kernel=tiles_of_own_rows_wrong threads=64 group=64
// ARG 0: u32[4] = i + 1
// ARG 1: f32[64] = i
// ARG 2: f32[64]
// RUN: kernel=tiles_of_own_rows_right threads=64 group=64
// ARG 0: u32[4] = 3
// ARG 1: f32[64] = i
// ARG 2: f32[64]
// RUN: kernel=stride_of_a_tile_wrong threads=32 group=32
// ARG 0: f32[256] = i
// ARG 1: f32[64]
// RUN: kernel=stride_of_a_tile_right threads=32 group=32
// ARG 0: f32[256] = i
// ARG 1: f32[64]
// RUN: kernel=end_of_the_sum_wrong threads=32 group=32
// ARG 0: f32[80] = i
// ARG 1: f32[80] = i
// ARG 2: f32[64]
// ARG 3: u32 = 10
// RUN: kernel=end_of_the_sum_right threads=32 group=32
// ARG 0: f32[80] = i
// ARG 1: f32[80] = i
// ARG 2: f32[64]
// ARG 3: u32 = 10
// RUN: kernel=edge_not_filled_wrong threads=32 group=32
// ARG 0: f32[40] = i
// ARG 1: f32[64]
// ARG 2: u32 = 5
// RUN: kernel=edge_not_filled_right threads=32 group=32
// ARG 0: f32[40] = i
// ARG 1: f32[64]
// ARG 2: u32 = 5
// RUN: kernel=edge_of_the_result_wrong threads=32 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[60]
// RUN: kernel=edge_of_the_result_right threads=32 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=two_panels_wrong threads=64 group=64
// ARG 0: f32[256] = i
// ARG 1: f32[64]
// RUN: kernel=two_panels_right threads=64 group=64
// ARG 0: f32[256] = i
// ARG 1: f32[64]
// RUN: kernel=no_tiles_wrong threads=32 group=32
// ARG 0: u32 = 0
// ARG 1: u32[32]
// RUN: kernel=no_tiles_right threads=32 group=32
// ARG 0: u32 = 4
// ARG 1: u32[32]
// RUN: kernel=product_of_some_lanes_wrong threads=32 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=product_of_some_lanes_right threads=32 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=wide_loads_of_rows_wrong threads=16 group=16
// ARG 0: f16[140] = i
// ARG 1: f16[64]
// ARG 2: u32 = 9
// RUN: kernel=wide_loads_of_rows_right threads=16 group=16
// ARG 0: f16[140] = i
// ARG 1: f16[64]
// ARG 2: u32 = 12
// RUN: kernel=split_sum_wrong threads=128 group=32
// ARG 0: f32[128] = i
// ARG 1: f32[32]
// RUN: kernel=split_sum_right threads=128 group=32
// ARG 0: f32[128] = i
// ARG 1: f32[32]
// RUN: kernel=flag_of_other_memory_wrong threads=64 group=64
// ARG 0: f32[256] = i
// ARG 1: f32[256] = i % 7
// ARG 2: f32[256]
// RUN: kernel=flag_of_other_memory_right threads=64 group=64
// ARG 0: f32[256] = i
// ARG 1: f32[256] = i % 7
// ARG 2: f32[256]
// RUN: kernel=result_by_way_of_tile_wrong threads=32 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=result_by_way_of_tile_right threads=32 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=transposed_wrong threads=32,8 group=32,8
// ARG 0: f32[1024] = i
// ARG 1: f32[1024]
// RUN: kernel=transposed_right threads=32,8 group=32,8
// ARG 0: f32[1024] = i
// ARG 1: f32[1024]
// RUN: kernel=rows_of_simdgroups_wrong threads=128 group=128
// ARG 0: f32[128] = i
// ARG 1: f32[128]
// RUN: kernel=rows_of_simdgroups_right threads=128 group=128
// ARG 0: f32[128] = i
// ARG 1: f32[128]
// RUN: kernel=batched_pointer_wrong threads=32 group=32
// ARG 0: bytes = addr:20 u32:32 pad:4
// ARG 1: f32[32]
// ARG 20: f32[32] = i
// RUN: kernel=batched_pointer_right threads=32 group=32
// ARG 0: bytes = addr:20 u32:32 pad:4
// ARG 1: f32[32]
// ARG 20: f32[32] = i
#include <metal_stdlib>
using namespace metal;
kernel void load_then_use_wrong(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                                device float *c [[buffer(2)]],
                 uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float as[8][16], bs[8][16];
    float sum = 0;
    for (uint k = 0; k < 16; k += 8) {
        if (t.y < 8) {
            as[t.y][t.x] = a[t.x * 16 + k + t.y];
            bs[t.y][t.x] = b[(k + t.y) * 16 + t.x];
        }
        for (uint j = 0; j < 8; j++) {
            sum += as[j][t.y] * bs[j][t.x]; // FINDS: race
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[t.y * 16 + t.x] = sum; // FINDS: uninitialised
}
kernel void load_then_use_right(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                                device float *c [[buffer(2)]],
                 uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float as[8][16], bs[8][16];
    float sum = 0;
    for (uint k = 0; k < 16; k += 8) {
        if (t.y < 8) {
            as[t.y][t.x] = a[t.x * 16 + k + t.y];
            bs[t.y][t.x] = b[(k + t.y) * 16 + t.x];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < 8; j++) {
            sum += as[j][t.y] * bs[j][t.x];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[t.y * 16 + t.x] = sum;
}
kernel void use_then_load_wrong(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                                device float *c [[buffer(2)]],
                 uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float as[8][16];
    float sum = 0;
    for (uint k = 0; k < 16; k += 8) {
        if (t.y < 8) {
            as[t.y][t.x] = a[t.x * 16 + k + t.y]; // FINDS: race
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < 8; j++) {
            sum += as[j][t.y] * b[(k + j) * 16 + t.x];
        }
    }
    c[t.y * 16 + t.x] = sum;
}
kernel void use_then_load_right(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                                device float *c [[buffer(2)]],
                 uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float as[8][16];
    float sum = 0;
    for (uint k = 0; k < 16; k += 8) {
        if (t.y < 8) {
            as[t.y][t.x] = a[t.x * 16 + k + t.y];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < 8; j++) {
            sum += as[j][t.y] * b[(k + j) * 16 + t.x];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[t.y * 16 + t.x] = sum;
}
kernel void tiles_of_own_rows_wrong(device const uint *steps [[buffer(0)]],
                                    device const float *x [[buffer(1)]], device float *out [[buffer(2)]],
                 uint i [[thread_index_in_threadgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float s[64];
    float sum = 0;
    for (uint k = 0; k < steps[simd]; k++) {
        s[i] = x[i] + k;
        threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
        sum += s[i];
    }
    out[i] = sum;
}
kernel void tiles_of_own_rows_right(device const uint *steps [[buffer(0)]],
                                    device const float *x [[buffer(1)]], device float *out [[buffer(2)]],
                 uint i [[thread_index_in_threadgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float s[64];
    float sum = 0;
    for (uint k = 0; k < steps[simd]; k++) {
        s[i] = x[i] + k;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += s[i];
    }
    out[i] = sum;
}
kernel void stride_of_a_tile_wrong(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                                   uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[16 * 16];
    for (uint j = i; j < 256; j += 32) {
        s[j] = a[j];
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 m, n, sum(0);
    simdgroup_load(m, s, 16);
    simdgroup_load(n, s + 8 * 16 + 8, 20); // FINDS: bounds
    simdgroup_multiply_accumulate(sum, m, n, sum);
    simdgroup_store(sum, c, 8);
}
kernel void stride_of_a_tile_right(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                                   uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[16 * 16];
    for (uint j = i; j < 256; j += 32) {
        s[j] = a[j];
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 m, n, sum(0);
    simdgroup_load(m, s, 16);
    simdgroup_load(n, s + 8 * 16 + 8, 16);
    simdgroup_multiply_accumulate(sum, m, n, sum);
    simdgroup_store(sum, c, 8);
}
kernel void end_of_the_sum_wrong(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                                 device float *c [[buffer(2)]],
                 constant uint &depth [[buffer(3)]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float as[64], bs[64];
    simdgroup_float8x8 m, n, sum(0);
    for (uint k = 0; k < depth; k += 8) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = lane; j < 64; j += 32) {
            uint at = k + j % 8;
            if (at < depth || k) {
                as[j] = at < depth ? a[j / 8 * depth + at] : 0;
            }
            if (at < depth) {
                bs[j % 8 * 8 + j / 8] = b[at * 8 + j / 8];
            } else if (k == 0) {
                bs[j % 8 * 8 + j / 8] = 0;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_load(m, as, 8);
        simdgroup_load(n, bs, 8);
        simdgroup_multiply_accumulate(sum, m, n, sum);
    }
    simdgroup_store(sum, c, 8);
}
kernel void end_of_the_sum_right(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                                 device float *c [[buffer(2)]],
                 constant uint &depth [[buffer(3)]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float as[64], bs[64];
    simdgroup_float8x8 m, n, sum(0);
    for (uint k = 0; k < depth; k += 8) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = lane; j < 64; j += 32) {
            uint at = k + j % 8;
            as[j] = at < depth ? a[j / 8 * depth + at] : 0;
            bs[j % 8 * 8 + j / 8] = at < depth ? b[at * 8 + j / 8] : 0;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_load(m, as, 8);
        simdgroup_load(n, bs, 8);
        simdgroup_multiply_accumulate(sum, m, n, sum);
    }
    simdgroup_store(sum, c, 8);
}
kernel void edge_not_filled_wrong(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                                  constant uint &width [[buffer(2)]],
                 uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float s[64];
    for (uint j = lane; j < 64; j += 32) {
        if (j % 8 < width) {
            s[j] = a[j / 8 * width + j % 8];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 m, sum(0);
    simdgroup_load(m, s, 8);
    simdgroup_multiply_accumulate(sum, m, m, sum);
    simdgroup_store(sum, c, 8); // FINDS: uninitialised
}
kernel void edge_not_filled_right(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                                  constant uint &width [[buffer(2)]],
                 uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float s[64];
    for (uint j = lane; j < 64; j += 32) {
        if (j % 8 < width) {
            s[j] = a[j / 8 * width + j % 8];
        } else {
            s[j] = 0;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 m, sum(0);
    simdgroup_load(m, s, 8);
    simdgroup_multiply_accumulate(sum, m, m, sum);
    simdgroup_store(sum, c, 8);
}
kernel void edge_of_the_result_wrong(device const float *a [[buffer(0)]], device float *c [[buffer(1)]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, a, 8);
    simdgroup_store(m, c, 8); // FINDS: bounds
}
kernel void edge_of_the_result_right(device const float *a [[buffer(0)]], device float *c [[buffer(1)]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, a, 8);
    simdgroup_store(m, c, 8);
}
kernel void two_panels_wrong(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                             uint i [[thread_index_in_threadgroup]]) {
    threadgroup float panel[2][64];
    float sum = 0;
    panel[0][i] = a[i];
    for (uint k = 0; k < 4; k++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint now = k & 1, next = now ^ 1;
        if (k + 1 < 4) {
            panel[now][i] = a[(k + 1) * 64 + i]; // FINDS: race
        }
        sum += panel[now][63 - i] + next;
    }
    c[i] = sum; // FINDS: uninitialised
}
kernel void two_panels_right(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                             uint i [[thread_index_in_threadgroup]]) {
    threadgroup float panel[2][64];
    float sum = 0;
    panel[0][i] = a[i];
    for (uint k = 0; k < 4; k++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint now = k & 1, next = now ^ 1;
        if (k + 1 < 4) {
            panel[next][i] = a[(k + 1) * 64 + i];
        }
        sum += panel[now][63 - i];
    }
    c[i] = sum;
}
kernel void no_tiles_wrong(constant uint &across [[buffer(0)]], device uint *out [[buffer(1)]],
                           uint i [[thread_position_in_grid]]) {
    uint x = i % across, y = i / across; // FINDS: arithmetic
    out[i] = x * 100 + y;
}
kernel void no_tiles_right(constant uint &across [[buffer(0)]], device uint *out [[buffer(1)]],
                           uint i [[thread_position_in_grid]]) {
    uint x = i % across, y = i / across;
    out[i] = x * 100 + y;
}
kernel void product_of_some_lanes_wrong(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                                        uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_float8x8 m, sum(0);
    simdgroup_load(m, a, 8);
    if (lane < 16) {
        simdgroup_multiply_accumulate(sum, m, m, sum); // FINDS: lanes
    }
    simdgroup_store(sum, c, 8);
}
kernel void product_of_some_lanes_right(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                                        uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_float8x8 m, sum(0);
    simdgroup_load(m, a, 8);
        simdgroup_multiply_accumulate(sum, m, m, sum);
    simdgroup_store(sum, c, 8);
}
kernel void wide_loads_of_rows_wrong(device const half *a [[buffer(0)]], device half *c [[buffer(1)]],
                                     constant uint &line [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    uint row = i / 2, column = i % 2 * 4;
    half4 v = *(device const half4 *)(a + row * line + column); // FINDS: alignment
    *(device half4 *)(c + i * 4) = v;
}
kernel void wide_loads_of_rows_right(device const half *a [[buffer(0)]], device half *c [[buffer(1)]],
                                     constant uint &line [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    uint row = i / 2, column = i % 2 * 4;
    half4 v = *(device const half4 *)(a + row * line + column);
    *(device half4 *)(c + i * 4) = v;
}
kernel void split_sum_wrong(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                            uint i [[thread_index_in_threadgroup]],
                 uint group [[threadgroup_position_in_grid]]) {
    c[i] += a[group * 32 + i]; // FINDS: race
}
kernel void split_sum_right(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                            uint i [[thread_index_in_threadgroup]],
                 uint group [[threadgroup_position_in_grid]]) {
    atomic_fetch_add_explicit((device atomic_float *)c + i, a[group * 32 + i], memory_order_relaxed);
}
kernel void flag_of_other_memory_wrong(device const float *a [[buffer(0)]],
                                       device const float *b [[buffer(1)]], device float *c [[buffer(2)]],
                 uint i [[thread_index_in_threadgroup]]) {
    threadgroup float4 s[64];
    s[i] = ((device const float4 *)a)[i];
    threadgroup_barrier(mem_flags::mem_device);
    float4 v = s[i ^ 32] * b[i]; // FINDS: race
    ((device float4 *)c)[i] = v;
}
kernel void flag_of_other_memory_right(device const float *a [[buffer(0)]],
                                       device const float *b [[buffer(1)]], device float *c [[buffer(2)]],
                 uint i [[thread_index_in_threadgroup]]) {
    threadgroup float4 s[64];
    s[i] = ((device const float4 *)a)[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float4 v = s[i ^ 32] * b[i];
    ((device float4 *)c)[i] = v;
}
kernel void result_by_way_of_tile_wrong(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                                        uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float s[64];
    simdgroup_float8x8 m;
    simdgroup_load(m, a, 8);
    simdgroup_store(m, s, 8);
    for (uint j = lane; j < 64; j += 32) {
        c[j] = s[j] * 2; // FINDS: race
    }
}
kernel void result_by_way_of_tile_right(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                                        uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float s[64];
    simdgroup_float8x8 m;
    simdgroup_load(m, a, 8);
    simdgroup_store(m, s, 8);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = lane; j < 64; j += 32) {
        c[j] = s[j] * 2;
    }
}
kernel void transposed_wrong(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                             uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float s[32][33];
    for (uint r = t.y; r < 32; r += 8) {
        s[r][t.x] = a[r * 32 + t.x];
    }
    for (uint r = t.y; r < 32; r += 8) {
        c[r * 32 + t.x] = s[t.x][r]; // FINDS: race uninitialised
    }
}
kernel void transposed_right(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                             uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float s[32][33];
    for (uint r = t.y; r < 32; r += 8) {
        s[r][t.x] = a[r * 32 + t.x];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint r = t.y; r < 32; r += 8) {
        c[r * 32 + t.x] = s[t.x][r];
    }
}
kernel void rows_of_simdgroups_wrong(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                                     uint i [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float s[4 * 32];
    s[simd * 32 + lane] = a[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    c[i] = s[(simd ^ 1) * 32 + lane]; // FINDS: race uninitialised
}
kernel void rows_of_simdgroups_right(device const float *a [[buffer(0)]], device float *c [[buffer(1)]],
                                     uint i [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float s[4 * 32];
    s[simd * 32 + lane] = a[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    c[i] = s[simd * 32 + 31 - lane];
}
struct batched_pointer_wrong_view {
    device const float *data;
    uint n;
};
kernel void batched_pointer_wrong(constant batched_pointer_wrong_view &view [[buffer(0)]],
                                  device float *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    out[i] = view.data[i + 1]; // FINDS: bounds
}
struct batched_pointer_right_view {
    device const float *data;
    uint n;
};
kernel void batched_pointer_right(constant batched_pointer_right_view &view [[buffer(0)]],
                                  device float *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    out[i] = i + 1 < view.n ? view.data[i + 1] : 0;
}
