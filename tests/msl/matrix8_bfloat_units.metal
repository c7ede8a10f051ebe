// Blocks of bfloat tiles that matrix units of CPUs multiply at once (32 of k by 16 or more rows and
// columns): sums that go through a loop, and from and to memory, or to lanes; a right side with rows
// as lines, with columns as lines, and with two rows interleaved; a left side that is turned.
// RUN: kernel=k threads=32 group=32
// ARG 0: bf16[2048] = i % 7 - 3
// ARG 1: bf16[2048] = i % 5 - 2
// ARG 2: f32[5120] = i < 1024 ? i % 11 : 0
// EXPECT 2: f32[5120] = i < 1024 ? i % 11 + sum(j, 0, 64, ((64 * idiv(i, 32) + j) % 7 - 3) * ((32 * j + i % 32) % 5 - 2)) : i < 2048 ? sum(j, 0, 64, ((64 * (idiv(i, 32) - 32) + j) % 7 - 3) * ((64 * (i % 32) + j) % 5 - 2)) : i < 3072 ? sum(j, 0, 64, ((64 * (idiv(i, 32) - 64) + j) % 7 - 3) * ((64 * idiv(j, 2) + 2 * (i % 32) + j % 2) % 5 - 2)) : i < 4096 ? sum(j, 0, 32, ((64 * (idiv(i, 64) - 48) + j) % 7 - 3) * ((64 * j + i % 64 * 1) % 5 - 2)) : 2 * sum(j, 0, 32, ((64 * j + (idiv(i, 16) - 256)) % 7 - 3) * ((32 * j + i % 16) % 5 - 2))
#include <metal_stdlib>
using namespace metal;

template <uint ROWS, uint COLUMNS> struct block {
    simdgroup_float8x8 sum[ROWS][COLUMNS];

    void begin(device const float *from, uint stride) thread {
#pragma unroll
        for (uint i = 0; i < ROWS; i++)
#pragma unroll
            for (uint j = 0; j < COLUMNS; j++) {
                if (from)
                    simdgroup_load(sum[i][j], from + i * 8 * stride + j * 8, stride);
                else
                    sum[i][j] = simdgroup_float8x8(0.0f);
            }
    }
    void keep(device float *to, uint stride) thread {
#pragma unroll
        for (uint i = 0; i < ROWS; i++)
#pragma unroll
            for (uint j = 0; j < COLUMNS; j++)
                simdgroup_store(sum[i][j], to + i * 8 * stride + j * 8, stride);
    }
    // 32 of k
    void add(thread simdgroup_bfloat8x8 (&left)[ROWS][4],
             thread simdgroup_bfloat8x8 (&right)[4][COLUMNS]) thread {
#pragma unroll
        for (uint k = 0; k < 4; k++)
#pragma unroll
            for (uint i = 0; i < ROWS; i++)
#pragma unroll
                for (uint j = 0; j < COLUMNS; j++)
                    simdgroup_multiply_accumulate(sum[i][j], left[i][k], right[k][j], sum[i][j]);
    }
};

inline void load_pairs(thread simdgroup_bfloat8x8 &tile, device const bfloat *from) {
    device const ushort *p = (device const ushort *)from;
    tile.thread_elements() =
        bfloat2(as_type<bfloat>(__ingot_simdgroup_load_pairs_device_b16(p, 64, false, 0)),
                as_type<bfloat>(__ingot_simdgroup_load_pairs_device_b16(p, 64, false, 1)));
}

template <uint WHAT, uint ROWS, uint COLUMNS>
inline void bring(device const bfloat *a, device const bfloat *b, uint k,
                  thread simdgroup_bfloat8x8 (&left)[ROWS][4],
                  thread simdgroup_bfloat8x8 (&right)[4][COLUMNS]) {
#pragma unroll
    for (uint s = 0; s < 4; s++) {
        uint at = k + s * 8;
#pragma unroll
        for (uint i = 0; i < ROWS; i++) {
            if (WHAT == 4)
                simdgroup_load(left[i][s], a + at * 64 + i * 8, 64, ulong2(0), true);
            else
                simdgroup_load(left[i][s], a + i * 8 * 64 + at, 64);
        }
#pragma unroll
        for (uint j = 0; j < COLUMNS; j++) {
            if (WHAT == 1)
                simdgroup_load(right[s][j], b + j * 8 * 64 + at, 64, ulong2(0), true);
            else if (WHAT == 2)
                load_pairs(right[s][j], b + at / 2 * 64 + j * 16);
            else
                simdgroup_load(right[s][j], b + at * (WHAT == 3 ? 64 : 32) + j * 8,
                               WHAT == 3 ? 64 : 32);
        }
    }
}

template <uint WHAT> inline void run(device const bfloat *a, device const bfloat *b,
                                     device float *c) {
    block<4, 4> sums;
    simdgroup_bfloat8x8 left[4][4], right[4][4];
    sums.begin(WHAT == 0 ? c : nullptr, 32);
    uint k = 0;
#pragma clang loop unroll(disable)
    do {
        bring<WHAT, 4, 4>(a, b, k, left, right);
        sums.add(left, right);
        k += 32;
    } while (k < 64);
    sums.keep(c, 32);
}

kernel void k(device const bfloat *a [[buffer(0)]], device const bfloat *b [[buffer(1)]],
              device float *c [[buffer(2)]]) {
    run<0>(a, b, c);
    run<1>(a, b, c + 1024);
    run<2>(a, b, c + 2048);

    block<2, 8> wide;
    simdgroup_bfloat8x8 rows[2][4], columns[4][8];
    wide.begin(nullptr, 0);
    bring<3, 2, 8>(a, b, 0, rows, columns);
    wide.add(rows, columns);
    wide.keep(c + 3072, 64);

    block<8, 2> tall;
    simdgroup_bfloat8x8 many[8][4], few[4][2];
    tall.begin(nullptr, 0);
    bring<4, 8, 2>(a, b, 0, many, few);
    tall.add(many, few);
    for (uint i = 0; i < 8; i++)
        for (uint j = 0; j < 2; j++)
            tall.sum[i][j].thread_elements() *= 2.0f;
    tall.keep(c + 4096, 16);
}
