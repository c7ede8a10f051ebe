// Sums of products of bfloat that are rounded on their way out: as a conversion rounds them, ties to even, infinities
// and NaN as they are; and tiles of them, side by side or alone, from sums that went through a loop.
// RUN: kernel=rounds threads=64 group=32
// ARG 0: f32[64] = i == 60 ? 1e39 : i == 61 ? -1e39 : i == 62 ? 0 * 1e39 : (i - 30) * (1 + i / 256) * 1.00390625
// ARG 1: u32[64]
// EXPECT 1: u32[64] = 1
// RUN: kernel=tiles threads=32 group=32
// ARG 0: bf16[256] = i % 7 - 3
// ARG 1: bf16[1024] = i % 5 - 2
// ARG 2: bf16[192]
// EXPECT 2: bf16[192] = bf16(sum(j, 0, 32, ((32 * idiv(i, 24) + j) % 7 - 3) * ((48 * idiv(j, 2) + 2 * (i % 24) + j % 2) % 5 - 2)))
#include <metal_stdlib>
using namespace metal;

kernel void rounds(device const float *in [[buffer(0)]],
                   device uint *same [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
    ushort rounded = __ingot_bfloat_of_sum(in[i]);
    bfloat wanted = bfloat(in[i]);
    same[i] = isnan(in[i]) ? isnan(as_type<bfloat>(rounded)) : rounded == as_type<ushort>(wanted);
}

inline void load_pairs(thread simdgroup_bfloat8x8 &tile, device const bfloat *from) {
    device const ushort *p = (device const ushort *)from;
    tile.thread_elements() =
        bfloat2(as_type<bfloat>(__ingot_simdgroup_load_pairs_device_b16(p, 48, false, 0)),
                as_type<bfloat>(__ingot_simdgroup_load_pairs_device_b16(p, 48, false, 1)));
}

// Three tiles of a result of 24 columns; the right side has two rows interleaved.
kernel void tiles(device const bfloat *a [[buffer(0)]],
                  device const bfloat *b [[buffer(1)]],
                  device bfloat *out [[buffer(2)]]) {
    simdgroup_float8x8 sum[3];
    for (uint j = 0; j < 3; j++)
        sum[j] = simdgroup_float8x8(0.0f);
    for (uint k = 0; k < 32; k += 8) {
        simdgroup_bfloat8x8 left, right[3];
        simdgroup_load(left, a + k, 32);
#pragma unroll
        for (uint j = 0; j < 3; j++)
            load_pairs(right[j], b + k / 2 * 48 + j * 16);
#pragma unroll
        for (uint j = 0; j < 3; j++)
            simdgroup_multiply_accumulate(sum[j], left, right[j], sum[j]);
    }
#pragma unroll
    for (uint j = 0; j < 3; j++) {
        simdgroup_bfloat8x8 rounded;
        float2 own = sum[j].thread_elements();
        rounded.thread_elements() = bfloat2(as_type<bfloat>(__ingot_bfloat_of_sum(own.x)),
                                            as_type<bfloat>(__ingot_bfloat_of_sum(own.y)));
        simdgroup_store(rounded, out + j * 8, 24);
    }
}
