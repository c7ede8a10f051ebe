// Products of matrices by simdgroup_matrix, with bias and activation at the end.
//
// matmul_tiles: a threadgroup makes BM x BN of the result from panels BK deep that it stages in
// threadgroup memory; a SIMD-group keeps TM x TN tiles of sums. Two orders of the tiles: all
// sums in each step of k, which reuses what is loaded (GPUs), or one row of tiles after the other
// through the whole panel, whose sums fit the vector registers of a CPU.
// matmul_packed: both operands are first laid out in the order in which they are used, which pays for
// large products on CPUs, whose caches suffer from rows that lie far apart.
// matmul_panels, matmul_pairs, matmul_units, matmul_spans: other ways for CPUs; see their headers.
// matmul_columns, matmul_dots, matmul_lines: up to ROWS rows of a, for b as it stands and for b transposed
// (lines: on CPUs). They read b once, straight from memory.
// matmul_reduce: adds up the parts of k.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;
#include "common/activation.h"
#include "common/instantiate.h"
#include "common/memory_hints.h"
#include "common/vector8.h"
#include "common/tile.h"
#include "matmul/matmul_args.h"
#include "matmul/matmul_finish.h"

// The sums of a SIMD-group, whose first is at row0, column0 of the result. `lines` is room for ROOM
// rows of tiles.
template <uint ROOM, typename T, uint TM, uint TN>
inline void put_tiles(thread simdgroup_float8x8 (&sum)[TM][TN], threadgroup float *lines, uint row0,
                      uint column0, uint part, uint matrix, device const T *bias, device T *out,
                      device uchar *parts, constant matmul_args &args, uint lane) {
    ulong plane = ulong(part) * args.batch + matrix;
    out += matrix * args.out_batch;
    if (sizeof(T) == 4 && args.parts == 1 && !args.has_bias && args.epilogue == 0 &&
        !args.out_transposed && row0 + TM * TILE <= args.m && column0 + TN * TILE <= args.n) {
        device float *to = (device float *)out + row0 * args.out_stride + column0;
#pragma unroll
        for (uint i = 0; i < TM; i++)
#pragma unroll
            for (uint j = 0; j < TN; j++)
                simdgroup_store(sum[i][j], to + TILE * i * args.out_stride + TILE * j,
                                args.out_stride);
        return;
    }
    // Some rows of tiles at a time through threadgroup memory, then along its lines.
#pragma unroll
    for (uint first = 0; first < TM; first += ROOM) {
#pragma unroll
        for (uint i = 0; i < ROOM; i++)
#pragma unroll
            for (uint j = 0; j < TN; j++)
                simdgroup_store(sum[first + i][j], lines + (i * TN * TILE + j) * TILE, TN * TILE);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (uint r = 0; r < ROOM * TILE; r++) {
            uint row = row0 + TILE * first + r;
            for (uint c = lane; row < args.m && c < TN * TILE; c += 32)
                if (column0 + c < args.n)
                    put(lines[r * (TN * TILE) + c], plane, row, column0 + c, bias, out, parts,
                        args);
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
}

// ---- tiles ---------------------------------------------------------------------------------
// T in memory, P in the panels. WM x WN SIMD-groups.
template <typename T, typename P, uint BM, uint BN, uint BK, uint WM, uint WN, uint PAD, bool BY_ROWS>
struct tiled {
    static constexpr constant uint TM = BM / WM / TILE, TN = BN / WN / TILE;
    static constexpr constant uint A_STRIDE = BK + PAD, B_STRIDE = BN + PAD;
    static constexpr constant uint A_SIZE = BM * A_STRIDE, B_SIZE = BK * B_STRIDE;
    static constexpr constant uint OUT_SIZE = WM * WN * TILE * TN * TILE;
    static constexpr constant uint PANEL_FLOATS = ((A_SIZE + B_SIZE) * sizeof(P) + 3) / 4;
    static constexpr constant uint FLOATS = PANEL_FLOATS > OUT_SIZE ? PANEL_FLOATS : OUT_SIZE;

    // One row of tiles through the panels.
    static void add_row(thread simdgroup_float8x8 (&sum)[TN], threadgroup const P *a,
                        threadgroup const P *b, uint depth) {
        for (uint k = 0; k < depth; k += TILE) {
            simdgroup_matrix<P, 8, 8> left, right[TN];
            simdgroup_load(left, a + k, A_STRIDE);
            for (uint j = 0; j < TN; j++)
                simdgroup_load(right[j], b + k * B_STRIDE + TILE * j, B_STRIDE);
            for (uint j = 0; j < TN; j++)
                simdgroup_multiply_accumulate(sum[j], left, right[j], sum[j]);
        }
    }

    static void add_all(thread simdgroup_float8x8 (&sum)[TM][TN], threadgroup const P *a,
                        threadgroup const P *b, uint depth) {
        for (uint k = 0; k < depth; k += TILE) {
            simdgroup_matrix<P, 8, 8> left[TM], right[TN];
            for (uint i = 0; i < TM; i++)
                simdgroup_load(left[i], a + TILE * i * A_STRIDE + k, A_STRIDE);
            for (uint j = 0; j < TN; j++)
                simdgroup_load(right[j], b + k * B_STRIDE + TILE * j, B_STRIDE);
            for (uint i = 0; i < TM; i++)
                for (uint j = 0; j < TN; j++)
                    simdgroup_multiply_accumulate(sum[i][j], left[i], right[j], sum[i][j]);
        }
    }
};

template <typename T, typename P, uint BM, uint BN, uint BK, uint WM, uint WN, uint PAD, bool BY_ROWS>
kernel void matmul_tiles(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
                         device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                         device uchar *parts [[buffer(4)]],
                         constant matmul_args &args [[buffer(5)]],
                         uint3 group [[threadgroup_position_in_grid]],
                         uint simd [[simdgroup_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
    using self = tiled<T, P, BM, BN, BK, WM, WN, PAD, BY_ROWS>;
    constexpr uint TM = self::TM, TN = self::TN;
    threadgroup float memory[self::FLOATS];
    threadgroup P *a_panel = (threadgroup P *)memory;
    threadgroup P *b_panel = a_panel + self::A_SIZE;

    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint row0 = group.y * BM, column0 = group.x * BN;
    uint rows = args.m - row0, columns = args.n - column0; // at least 1, perhaps more than the block
    uint first = part * args.part_depth, end = min(args.k, first + args.part_depth);
    uint tile_row = simd / WN * (TM * TILE), tile_column = simd % WN * (TN * TILE);
    bool busy = tile_row < rows && tile_column < columns;
    a += matrix * args.a_batch + (args.a_transposed ? row0 : row0 * args.a_stride);
    b += matrix * args.b_batch + (args.b_transposed ? column0 * args.b_stride : column0);

    simdgroup_float8x8 sum[TM][TN];
#pragma unroll
    for (uint i = 0; i < TM; i++)
#pragma unroll
        for (uint j = 0; j < TN; j++)
            sum[i][j] = simdgroup_float8x8(0.0f);
    for (uint k0 = first; k0 < end; k0 += BK) {
        uint depth = end - k0;
        panel_place at_a = {rows, depth, simd, WM * WN, lane};
        panel_place at_b = {depth, columns, simd, WM * WN, lane};
        if (args.a_transposed)
            stage_panel_transposed<BM, BK, self::A_STRIDE>(a_panel, a + k0 * args.a_stride,
                                                       args.a_stride, at_a);
        else
            stage_panel<BM, BK, self::A_STRIDE>(a_panel, a + k0, args.a_stride, at_a);
        if (args.b_transposed)
            stage_panel_transposed<BK, BN, self::B_STRIDE>(b_panel, b + k0, args.b_stride, at_b);
        else
            stage_panel<BK, BN, self::B_STRIDE>(b_panel, b + k0 * args.b_stride, args.b_stride,
                                                at_b);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        depth = min(depth, BK);
        if (busy) {
            threadgroup const P *left = a_panel + tile_row * self::A_STRIDE;
            threadgroup const P *right = b_panel + tile_column;
            if (BY_ROWS) {
#pragma unroll
                for (uint i = 0; i < TM; i++)
                    if (tile_row + TILE * i < rows)
                        self::add_row(sum[i], left + TILE * i * self::A_STRIDE, right, depth);
            } else {
                self::add_all(sum, left, right, depth);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (!busy)
        return;

    put_tiles<1>(sum, memory + simd * (TILE * TN * TILE), row0 + tile_row, column0 + tile_column, part,
              matrix, bias, out, parts, args, lane);
}

#include "matmul/matmul_blocks.h"
#include "matmul/matmul_blocks_float.h"
#include "matmul/matmul_floats.h"
#include "matmul/matmul_strips.h"
#include "matmul/matmul_warpgroups.h"

// ---- packed operands -----------------------------------------------------------------------
// a as [rows / 8][k][8] and b as [columns / WIDTH][k][WIDTH], float32, k in whole tiles, zeros
// where there is nothing. Both are then read from first to last, without threadgroup memory.
constexpr constant uint PACK_DEPTH = 256;

// A tile of [8 of k][8 of rows or columns] on its way; `transposed`: memory has k along its lines.
template <typename T>
inline void pack_tile(device float *to, uint to_stride, device const T *from, ulong stride,
                      bool transposed, uint depth, uint across, uint lane) {
    if (depth >= TILE && across >= TILE) {
        simdgroup_matrix<T, 8, 8> tile;
        simdgroup_float8x8 wide;
        if (transposed)
            simdgroup_load(tile, from, stride, ulong2(0), true);
        else
            simdgroup_load(tile, from, stride);
        wide.thread_elements() = float2(tile.thread_elements());
        simdgroup_store(wide, to, to_stride);
        return;
    }
    for (uint e = lane; e < TILE * TILE; e += 32) {
        uint l = e / TILE, x = e % TILE;
        float value = 0;
        if (l < depth && x < across)
            value = float(transposed ? from[x * stride + l] : from[l * stride + x]);
        to[l * to_stride + x] = value;
    }
}

template <typename T>
kernel void matmul_pack_a(device const T *a [[buffer(0)]], device float *packed [[buffer(1)]],
                          constant matmul_args &args [[buffer(2)]],
                          uint3 group [[threadgroup_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]]) {
    uint row = group.y * TILE, padded = (args.k + (TILE - 1)) & ~(TILE - 1);
    uint first = group.x * PACK_DEPTH, end = min(padded, first + PACK_DEPTH);
    packed += ulong(group.z * ((args.m + (TILE - 1)) / TILE) + group.y) * padded * TILE;
    a += group.z * args.a_batch + row * (args.a_transposed ? 1 : args.a_stride);
    for (uint k = first; k < end; k += TILE)
        pack_tile(packed + k * TILE, TILE, a + k * (args.a_transposed ? args.a_stride : 1),
                  args.a_stride, !args.a_transposed, args.k - k, args.m - row, lane);
}

template <typename T, uint WIDTH>
kernel void matmul_pack_b(device const T *b [[buffer(0)]], device float *packed [[buffer(1)]],
                          constant matmul_args &args [[buffer(2)]],
                          uint3 group [[threadgroup_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]]) {
    uint column = group.y * WIDTH, padded = (args.k + (TILE - 1)) & ~(TILE - 1);
    uint first = group.x * PACK_DEPTH, end = min(padded, first + PACK_DEPTH);
    packed += ulong(group.z * ((args.n + (WIDTH - 1)) / WIDTH) + group.y) * padded * WIDTH;
    b += group.z * args.b_batch + column * (args.b_transposed ? args.b_stride : 1);
    for (uint k = first; k < end; k += TILE)
        for (uint c = 0; c < WIDTH; c += TILE) {
            uint across = column + c < args.n ? args.n - column - c : 0;
            device const T *from = b + k * (args.b_transposed ? 1 : args.b_stride) +
                                   c * (args.b_transposed ? args.b_stride : 1);
            pack_tile(packed + ulong(k) * WIDTH + c, WIDTH, from, args.b_stride,
                      args.b_transposed, args.k - k, across, lane);
        }
}

// A SIMD-group makes TM * 8 rows of WIDTH columns. Here a_batch and b_batch are of the packed ones.
template <typename T, uint TM, uint WIDTH>
kernel void matmul_packed(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                          device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                          device uchar *parts [[buffer(4)]],
                          constant matmul_args &args [[buffer(5)]],
                          uint3 group [[threadgroup_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint TN = WIDTH / TILE, DEPTH = 256;
    threadgroup float lines[TM * TILE * WIDTH];
    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint padded = (args.k + (TILE - 1)) & ~(TILE - 1), row0 = group.y * (TM * TILE);
    uint first = part * args.part_depth, end = min(padded, first + args.part_depth);
    a += matrix * args.a_batch + ulong(row0) * padded;
    b += matrix * args.b_batch + ulong(group.x) * WIDTH * padded;
    simdgroup_float8x8 sum[TM][TN];
#pragma unroll
    for (uint i = 0; i < TM; i++)
#pragma unroll
        for (uint j = 0; j < TN; j++)
            sum[i][j] = simdgroup_float8x8(0.0f);
    for (uint k0 = first; k0 < end; k0 += DEPTH) {
        uint last = min(end, k0 + DEPTH);
#pragma unroll
        for (uint i = 0; i < TM; i++) {
            if (row0 + TILE * i >= args.m)
                continue;
            device const float *rows = a + ulong(TILE * i) * padded;
            for (uint k = k0; k < last; k += TILE) {
                simdgroup_float8x8 left, right[TN];
                simdgroup_load(left, rows + k * TILE, TILE, ulong2(0), true);
                for (uint j = 0; j < TN; j++)
                    simdgroup_load(right[j], b + ulong(k) * WIDTH + TILE * j, WIDTH);
                for (uint j = 0; j < TN; j++)
                    simdgroup_multiply_accumulate(sum[i][j], left, right[j], sum[i][j]);
            }
        }
    }
    put_tiles<TM>(sum, lines, row0, group.x * WIDTH, part, matrix, bias, out, parts, args, lane);
}

#include "matmul/matmul_pairs.h"
#include "matmul/matmul_pairs_kernels.h"
#include "matmul/matmul_units.h"
#include "matmul/matmul_units_kernels.h"
#include "matmul/matmul_panels.h"
#include "matmul/matmul_spans.h"

// ---- few rows ------------------------------------------------------------------------------
// b [k][n]: a SIMD-group takes 32 * WIDTH columns and walks down them.
template <typename T, uint ROWS, uint WIDTH>
kernel void matmul_columns(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
                           device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                           device uchar *parts [[buffer(4)]],
                           constant matmul_args &args [[buffer(5)]],
                           uint3 group [[threadgroup_position_in_grid]],
                           uint simd [[simdgroup_index_in_threadgroup]],
                           uint simds [[simdgroups_per_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]]) {
    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint column0 = (group.x * simds + simd) * (32 * WIDTH), row0 = group.y * ROWS;
    if (column0 >= args.n)
        return;
    uint rows = args.m - row0, columns = args.n - column0;
    uint first = part * args.part_depth, end = min(args.k, first + args.part_depth);
    ulong a_step = args.a_transposed ? args.a_stride : 1;
    a += matrix * args.a_batch + row0 * (args.a_transposed ? 1 : args.a_stride);
    b += matrix * args.b_batch + column0;
    ulong a_row[ROWS];
    for (uint r = 0; r < ROWS; r++)
        a_row[r] = min(r, rows - 1) * (args.a_transposed ? 1 : args.a_stride);
    float sum[ROWS][WIDTH] = {};
    if (columns >= 32 * WIDTH) {
        for (uint k = first; k < end; k++) {
            device const T *line = b + k * args.b_stride;
            for (uint r = 0; r < ROWS; r++) {
                float x = float(a[a_row[r] + k * a_step]);
                for (uint w = 0; w < WIDTH; w++)
                    sum[r][w] = fma(x, float(line[w * 32 + lane]), sum[r][w]);
            }
        }
    } else {
        for (uint k = first; k < end; k++) {
            device const T *line = b + k * args.b_stride;
            for (uint w = 0; w < WIDTH; w++) {
                float y = w * 32 + lane < columns ? float(line[w * 32 + lane]) : 0.0f;
                for (uint r = 0; r < ROWS; r++)
                    sum[r][w] = fma(float(a[a_row[r] + k * a_step]), y, sum[r][w]);
            }
        }
    }
    ulong plane = ulong(part) * args.batch + matrix;
    out += matrix * args.out_batch;
    for (uint r = 0; r < ROWS; r++)
        for (uint w = 0; w < WIDTH; w++)
            if (r < rows && w * 32 + lane < columns)
                put(sum[r][w], plane, row0 + r, column0 + w * 32 + lane, bias, out, parts, args);
}

// Sums of which each lane has a share, on their way out.
template <typename T, uint ROWS, uint WIDTH>
inline void put_dots(thread float (&sum)[ROWS][WIDTH], uint row0, uint column0, uint rows,
                     uint columns, uint part, uint matrix, device const T *bias, device T *out,
                     device uchar *parts, constant matmul_args &args, uint lane) {
    ulong plane = ulong(part) * args.batch + matrix;
    out += matrix * args.out_batch;
    float mine = 0; // lane r * WIDTH + w has the sum of row r, column w
    for (uint r = 0; r < ROWS; r++)
        for (uint w = 0; w < WIDTH; w++) {
            float total = simd_sum(sum[r][w]);
            mine = lane == r * WIDTH + w ? total : mine;
        }
    if (lane < ROWS * WIDTH && lane / WIDTH < rows && lane % WIDTH < columns)
        put(mine, plane, row0 + lane / WIDTH, column0 + lane % WIDTH, bias, out, parts, args);
}

// Bytes of b that are asked for ahead: CPUs stop foreseeing at the end of a page.
constexpr constant uint AHEAD = 8192;

// Lanes that differ in STEP each keep half of the sums, and hand the others on.
template <uint STEP, uint COUNT, uint ROOM>
inline void share_sums(thread float (&sum)[ROOM], uint lane) {
    if constexpr (COUNT > 1) {
        const bool upper = lane & STEP;
#pragma unroll
        for (uint i = 0; i < COUNT / 2; i++) {
            const float low = sum[i], high = sum[COUNT / 2 + i];
            const float other = select(high, low, upper);
            sum[i] = select(low, high, upper) + simd_shuffle_xor(other, ushort(STEP));
        }
    } else {
        sum[0] += simd_shuffle_xor(sum[0], ushort(STEP));
    }
}

// As put_dots, for CPUs, where the sums of all lanes take longer.
template <typename T, uint ROWS, uint WIDTH>
inline void put_shared(thread float (&sums)[ROWS][WIDTH], uint row0, uint column0, uint rows,
                       uint columns, uint part, uint matrix, device const T *bias, device T *out,
                       device uchar *parts, constant matmul_args &args, uint lane) {
    constexpr uint COUNT = ROWS * WIDTH;
    float sum[COUNT];
#pragma unroll
    for (uint i = 0; i < COUNT; i++)
        sum[i] = sums[i / WIDTH][i % WIDTH];
    share_sums<16, COUNT>(sum, lane);
    share_sums<8, COUNT / 2>(sum, lane);
    share_sums<4, COUNT / 4>(sum, lane);
    share_sums<2, COUNT / 8>(sum, lane);
    share_sums<1, COUNT / 16>(sum, lane);
    const uint which = lane / (32 / COUNT), r = which / WIDTH, w = which % WIDTH;
    out += matrix * args.out_batch;
    if (lane % (32 / COUNT) == 0 && r < rows && w < columns)
        put(sum[0], ulong(part) * args.batch + matrix, row0 + r, column0 + w, bias, out, parts,
            args);
}

// Whole SIMD-groups of k. A single row of a takes row after row of b, as they lie in memory.
template <typename T, uint WIDTH, bool ASK>
inline void add_lines(thread float *sum, device const T *a, device const T *b,
                      thread const ulong (&b_row)[WIDTH], uint first, uint whole, uint lane) {
    for (uint w = 0; w < WIDTH; w++) {
        device const T *line = b + b_row[w];
        float even = 0, odd = 0;
        ulong k = first; // a sum with lane that may wrap is no vector of neighbours
        for (; k + 64 <= whole; k += 64) {
            if constexpr (ASK)
                prefetch<64>(line + k + AHEAD / sizeof(T));
            even = fma(float(a[k + lane]), float(line[k + lane]), even);
            odd = fma(float(a[k + 32 + lane]), float(line[k + 32 + lane]), odd);
        }
        if (k < whole)
            even = fma(float(a[k + lane]), float(line[k + lane]), even);
        sum[w] = even + odd;
    }
}

// The same of more rows of a, whose elements touch or are `a_step` apart.
template <typename T, uint ROWS, uint WIDTH, bool TOUCH, bool ASK>
inline void add_dots(thread float (&sum)[ROWS][WIDTH], device const T *a,
                     thread const ulong (&a_row)[ROWS], ulong a_step, device const T *b,
                     thread const ulong (&b_row)[WIDTH], ulong ahead, uint first, uint whole,
                     uint lane) {
    for (ulong k = first; k < whole; k += 32) {
        float x[ROWS];
        for (uint r = 0; r < ROWS; r++)
            x[r] = float(a[a_row[r] + (TOUCH ? k + lane : (k + lane) * a_step)]);
        for (uint w = 0; w < WIDTH; w++) {
            float y = float(b[b_row[w] + k + lane]);
            if constexpr (ASK)
                prefetch<32>(b + b_row[w] + k + ahead);
            for (uint r = 0; r < ROWS; r++)
                sum[r][w] = fma(x[r], y, sum[r][w]);
        }
    }
}

// The same of less than a SIMD-group of k, for CPUs.
template <typename T, uint ROWS, uint WIDTH, bool TOUCH>
inline void add_rest(thread float (&sum)[ROWS][WIDTH], device const T *a,
                     thread const ulong (&a_row)[ROWS], ulong a_step, device const T *b,
                     thread const ulong (&b_row)[WIDTH], ulong k, uint end) {
    if (k < end)
        for (uint w = 0; w < WIDTH; w++)
            for (uint r = 0; r < ROWS; r++)
                sum[r][w] = fma(float(a[a_row[r] + (TOUCH ? k : k * a_step)]),
                                float(b[b_row[w] + k]), sum[r][w]);
}

// b [n][k]: a SIMD-group takes WIDTH rows of b, lanes along k.
template <typename T, uint ROWS, uint WIDTH>
kernel void matmul_dots(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
                        device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                        device uchar *parts [[buffer(4)]], constant matmul_args &args [[buffer(5)]],
                        uint3 group [[threadgroup_position_in_grid]],
                        uint simd [[simdgroup_index_in_threadgroup]],
                        uint simds [[simdgroups_per_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]]) {
    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint column0 = (group.x * simds + simd) * WIDTH, row0 = group.y * ROWS;
    if (column0 >= args.n)
        return;
    uint rows = args.m - row0, columns = args.n - column0;
    uint first = part * args.part_depth, end = min(args.k, first + args.part_depth);
    ulong a_step = args.a_transposed ? args.a_stride : 1;
    a += matrix * args.a_batch + row0 * (args.a_transposed ? 1 : args.a_stride);
    b += matrix * args.b_batch + column0 * args.b_stride;
    ulong a_row[ROWS], b_row[WIDTH];
    for (uint r = 0; r < ROWS; r++)
        a_row[r] = min(r, rows - 1) * (args.a_transposed ? 1 : args.a_stride);
    for (uint w = 0; w < WIDTH; w++)
        b_row[w] = min(w, columns - 1) * args.b_stride;
    float sum[ROWS][WIDTH] = {};
    uint whole = first + (end - first) / 32 * 32;
    if (ROWS == 1 && a_step == 1)
        add_lines<T, WIDTH, false>(sum[0], a, b, b_row, first, whole, lane);
    else if (a_step == 1)
        add_dots<T, ROWS, WIDTH, true, false>(sum, a, a_row, 1, b, b_row, 0, first, whole, lane);
    else
        add_dots<T, ROWS, WIDTH, false, false>(sum, a, a_row, a_step, b, b_row, 0, first, whole,
                                               lane);
    if (whole + lane < end) {
        for (uint w = 0; w < WIDTH; w++)
            for (uint r = 0; r < ROWS; r++)
                sum[r][w] = fma(float(a[a_row[r] + (ulong(whole) + lane) * a_step]),
                                float(b[b_row[w] + whole + lane]), sum[r][w]);
    }
    put_dots(sum, row0, column0, rows, columns, part, matrix, bias, out, parts, args, lane);
}

// The same for CPUs: a SIMD-group takes its share of the rows of b, WIDTH at a time.
template <typename T, uint ROWS, uint WIDTH>
kernel void matmul_lines(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
                         device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                         device uchar *parts [[buffer(4)]],
                         constant matmul_args &args [[buffer(5)]],
                         uint3 group [[threadgroup_position_in_grid]],
                         uint3 groups [[threadgroups_per_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint row0 = group.y * ROWS, rows = args.m - row0;
    uint share = ((args.n + groups.x - 1) / groups.x + WIDTH - 1) / WIDTH * WIDTH;
    uint first = part * args.part_depth, end = min(args.k, first + args.part_depth);
    uint whole = first + (end - first) / 32 * 32;
    ulong a_step = args.a_transposed ? args.a_stride : 1, rest = ulong(whole) + lane;
    a += matrix * args.a_batch + row0 * (args.a_transposed ? 1 : args.a_stride);
    b += matrix * args.b_batch;
    ulong a_row[ROWS], b_row[WIDTH];
    for (uint r = 0; r < ROWS; r++)
        a_row[r] = min(r, rows - 1) * (args.a_transposed ? 1 : args.a_stride);
    // the rows after these, if they are not far
    ulong ahead = args.b_stride * sizeof(T) <= 16384 ? args.b_stride * WIDTH : AHEAD / sizeof(T);
    uint last = min(args.n, (group.x + 1) * share);
    for (uint column0 = group.x * share; column0 < last; column0 += WIDTH) {
        for (uint w = 0; w < WIDTH; w++)
            b_row[w] = min(column0 + w, args.n - 1) * args.b_stride;
        float sum[ROWS][WIDTH] = {};
        if (a_step == 1) {
            if (ROWS == 1)
                add_lines<T, WIDTH, true>(sum[0], a, b, b_row, first, whole, lane);
            else
                add_dots<T, ROWS, WIDTH, true, true>(sum, a, a_row, 1, b, b_row, ahead, first,
                                                     whole, lane);
            add_rest<T, ROWS, WIDTH, true>(sum, a, a_row, 1, b, b_row, rest, end);
        } else {
            add_dots<T, ROWS, WIDTH, false, true>(sum, a, a_row, a_step, b, b_row, ahead, first,
                                                  whole, lane);
            add_rest<T, ROWS, WIDTH, false>(sum, a, a_row, a_step, b, b_row, rest, end);
        }
        put_shared(sum, row0, column0, rows, args.n - column0, part, matrix, bias, out, parts, args,
                   lane);
    }
}

// The same for GPUs: a lane takes eight neighbours of k, and a has its rows of k in memory.
template <typename T, uint ROWS, uint WIDTH>
kernel void matmul_dots_wide(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
                             device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                             device uchar *parts [[buffer(4)]],
                             constant matmul_args &args [[buffer(5)]],
                             uint3 group [[threadgroup_position_in_grid]],
                             uint simd [[simdgroup_index_in_threadgroup]],
                             uint simds [[simdgroups_per_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]]) {
    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint column0 = (group.x * simds + simd) * WIDTH, row0 = group.y * ROWS;
    if (column0 >= args.n)
        return;
    uint rows = args.m - row0, columns = args.n - column0;
    uint first = part * args.part_depth, end = min(args.k, first + args.part_depth);
    a += matrix * args.a_batch + row0 * args.a_stride;
    b += matrix * args.b_batch + column0 * args.b_stride;
    float sum[ROWS][WIDTH] = {};
    for (uint k = first + lane * LANE_ELEMENTS; k < end; k += 32 * LANE_ELEMENTS) {
        vector8<T> left[ROWS], right[WIDTH];
#pragma unroll
        for (uint w = 0; w < WIDTH; w++)
            right[w].load(b + min(w, columns - 1) * args.b_stride + k);
#pragma unroll
        for (uint r = 0; r < ROWS; r++)
            left[r].load(a + min(r, rows - 1) * args.a_stride + k);
#pragma unroll
        for (uint e = 0; e < LANE_ELEMENTS; e++)
#pragma unroll
            for (uint r = 0; r < ROWS; r++)
#pragma unroll
                for (uint w = 0; w < WIDTH; w++)
                    sum[r][w] = fma(left[r].element(e), right[w].element(e), sum[r][w]);
    }
    put_dots(sum, row0, column0, rows, columns, part, matrix, bias, out, parts, args, lane);
}

// ---- the parts of k ------------------------------------------------------------------------
template <typename T>
kernel void matmul_reduce(device const float *sums [[buffer(0)]],
                          device const T *bias [[buffer(1)]], device T *out [[buffer(2)]],
                          constant matmul_args &args [[buffer(3)]],
                          uint3 position [[thread_position_in_grid]]) {
    uint column = position.x, row = position.y, matrix = position.z;
    if (column >= args.n)
        return;
    const ulong plane = ulong(args.batch) * args.m * args.n;
    sums += (ulong(matrix) * args.m + row) * args.n + column;
    float sum = 0;
    uint part = 0;
    for (; part + 4 <= args.parts; part += 4) { // four loads at a time, added in their order
        float next[4];
#pragma unroll
        for (uint i = 0; i < 4; i++)
            next[i] = sums[(part + i) * plane];
#pragma unroll
        for (uint i = 0; i < 4; i++)
            sum += next[i];
    }
    for (; part < args.parts; part++)
        sum += sums[part * plane];
    finish(sum, row, column, bias, out + matrix * args.out_batch, args);
}

// Eight neighbours, which begin at a multiple of 16 bytes.
template <typename T>
inline void store_eight(device T *to, thread const float (&value)[LANE_ELEMENTS]) {
    uint4 words;
#pragma unroll
    for (uint i = 0; i < 4; i++)
        words[i] = as_type<uint>(vec<T, 2>(float2(value[2 * i], value[2 * i + 1])));
    *(device uint4 *)to = words;
}

inline void store_eight(device float *to, thread const float (&value)[LANE_ELEMENTS]) {
    *(device float4 *)to = float4(value[0], value[1], value[2], value[3]);
    *(device float4 *)(to + 4) = float4(value[4], value[5], value[6], value[7]);
}

// The same for GPUs: a thread makes eight neighbours, as few threadgroups as there can be.
template <typename T>
kernel void matmul_gather(device const float *sums [[buffer(0)]],
                          device const T *bias [[buffer(1)]], device T *out [[buffer(2)]],
                          constant matmul_args &args [[buffer(3)]],
                          uint3 position [[thread_position_in_grid]]) {
    const uint along = (args.n + LANE_ELEMENTS - 1) / LANE_ELEMENTS;
    const ulong line = position.x / along, plane = ulong(args.batch) * args.m * args.n;
    const uint column = position.x % along * LANE_ELEMENTS, row = uint(line % args.m);
    if (line >= ulong(args.batch) * args.m)
        return;
    sums += line * args.n + column;
    out += line / args.m * args.out_batch;
    const uint count = min(args.n - column, LANE_ELEMENTS);
    float total[LANE_ELEMENTS] = {};
    if (args.n % LANE_ELEMENTS == 0) {
#pragma unroll 4
        for (uint part = 0; part < args.parts; part++) {
            device const float4 *from = (device const float4 *)(sums + part * plane);
            const float4 low = from[0], high = from[1];
#pragma unroll
            for (uint e = 0; e < 4; e++) {
                total[e] += low[e];
                total[4 + e] += high[e];
            }
        }
    } else {
#pragma unroll 2
        for (uint part = 0; part < args.parts; part++)
#pragma unroll
            for (uint e = 0; e < LANE_ELEMENTS; e++)
                total[e] += sums[part * plane + min(e, count - 1)];
    }
    if (args.out_loose || args.out_transposed || count < LANE_ELEMENTS) {
#pragma unroll
        for (uint e = 0; e < LANE_ELEMENTS; e++)
            if (e < count)
                finish(total[e], row, column + e, bias, out, args);
        return;
    }
#pragma unroll
    for (uint e = 0; e < LANE_ELEMENTS; e++) {
        if (args.has_bias)
            total[e] += float(args.bias_step ? bias[column + e] : bias[0]);
        total[e] = epilogue(total[e], args.epilogue);
    }
    store_eight(out + row * args.out_stride + column, total);
}

// ---- instances -----------------------------------------------------------------------------
// For CPUs panels are float32 whatever the type: values are converted once.
#define TILES(name, T)                                                                             \
    INSTANTIATE_KERNEL("matmul_tiles_48x96_" #name,                                                \
                       matmul_tiles<T, float, 48, 96, 32, 1, 2, 0, true>)                          \
    INSTANTIATE_KERNEL("matmul_tiles_192x16_" #name,                                               \
                       matmul_tiles<T, float, 192, 16, 32, 8, 1, 0, false>)                        \
    INSTANTIATE_KERNEL("matmul_tiles_128x48_" #name,                                               \
                       matmul_tiles<T, float, 128, 48, 32, 4, 1, 0, true>)                         \
    INSTANTIATE_KERNEL("matmul_tiles_64x64_" #name,                                                \
                       matmul_tiles<T, T, 64, 64, 32, 2, 2, 16 / sizeof(T), false>)                \
    INSTANTIATE_KERNEL("matmul_columns_1_" #name, matmul_columns<T, 1, 8>)                         \
    INSTANTIATE_KERNEL("matmul_columns_4_" #name, matmul_columns<T, 4, 4>)                         \
    INSTANTIATE_KERNEL("matmul_dots_1_" #name, matmul_dots<T, 1, 4>)                               \
    INSTANTIATE_KERNEL("matmul_dots_4_" #name, matmul_dots<T, 4, 4>)                               \
    INSTANTIATE_KERNEL("matmul_lines_1_" #name, matmul_lines<T, 1, 4>)                             \
    INSTANTIATE_KERNEL("matmul_lines_2_" #name, matmul_lines<T, 2, 4>)                             \
    INSTANTIATE_KERNEL("matmul_lines_4_" #name, matmul_lines<T, 4, 4>)                             \
    INSTANTIATE_KERNEL("matmul_dots_wide_1_" #name, matmul_dots_wide<T, 1, 4>)                     \
    INSTANTIATE_KERNEL("matmul_dots_wide_4_" #name, matmul_dots_wide<T, 4, 4>)                     \
    INSTANTIATE_KERNEL("matmul_pack_a_" #name, matmul_pack_a<T>)                                   \
    INSTANTIATE_KERNEL("matmul_pack_b_48_" #name, matmul_pack_b<T, 48>)                            \
    INSTANTIATE_KERNEL("matmul_pack_b_32_" #name, matmul_pack_b<T, 32>)                            \
    INSTANTIATE_KERNEL("matmul_packed_48_" #name, matmul_packed<T, 8, 48>)                         \
    INSTANTIATE_KERNEL("matmul_packed_32_" #name, matmul_packed<T, 8, 32>)                         \
    INSTANTIATE_KERNEL("matmul_spans_1_" #name, matmul_spans<T, 1, 1024, 8>)                       \
    INSTANTIATE_KERNEL("matmul_reduce_" #name, matmul_reduce<T>)                                   \
    INSTANTIATE_KERNEL("matmul_gather_" #name, matmul_gather<T>)
TILES(f32, float)
TILES(f16, half)
TILES(bf16, bfloat)
INSTANTIATE_KERNEL("matmul_pairs_48_bf16", matmul_pairs<bfloat, 8, 1, 6>)
INSTANTIATE_KERNEL("matmul_pairs_32_bf16", matmul_pairs<bfloat, 8, 1, 4>)
INSTANTIATE_KERNEL("matmul_pairs_left_bf16", matmul_pairs_left<bfloat>)
INSTANTIATE_KERNEL("matmul_pairs_right_48_bf16", matmul_pairs_right<bfloat, 48>)
INSTANTIATE_KERNEL("matmul_pairs_right_32_bf16", matmul_pairs_right<bfloat, 32>)
INSTANTIATE_KERNEL("matmul_pairs_right_16_bf16", matmul_pairs_right<bfloat, 16>)
INSTANTIATE_KERNEL("matmul_pairs_right_8_bf16", matmul_pairs_right<bfloat, 8>)
INSTANTIATE_KERNEL("matmul_spans_4_f32", matmul_spans<float, 4, 1024, 4>)
INSTANTIATE_KERNEL("matmul_spans_4_f16", matmul_spans<half, 4, 1024, 4>)
INSTANTIATE_KERNEL("matmul_spans_4_bf16", matmul_spans<bfloat, 4, 1024, 4>)
INSTANTIATE_KERNEL("matmul_spans_8_bf16", matmul_spans<bfloat, 8, 512, 4>)
INSTANTIATE_KERNEL("matmul_units_f16", matmul_units<half, 128, 192>)
INSTANTIATE_KERNEL("matmul_units_bf16", matmul_units<bfloat, 128, 384>)
INSTANTIATE_KERNEL("matmul_units_rows_f16", matmul_units_rows<half, 128, 128>)
INSTANTIATE_KERNEL("matmul_units_rows_bf16", matmul_units_rows<bfloat, 128, 256>)
INSTANTIATE_KERNEL("matmul_units_columns_f16", matmul_units_columns<half, 128, 128>)
INSTANTIATE_KERNEL("matmul_units_columns_bf16", matmul_units_columns<bfloat, 128, 256>)
INSTANTIATE_KERNEL("matmul_units_left_f16", matmul_units_left<half>)
INSTANTIATE_KERNEL("matmul_units_left_bf16", matmul_units_left<bfloat>)
INSTANTIATE_KERNEL("matmul_units_right_f16", matmul_units_right<half>)
INSTANTIATE_KERNEL("matmul_units_right_bf16", matmul_units_right<bfloat>)
INSTANTIATE_KERNEL("matmul_panels_48_f32", matmul_panels<float, float, 12, 1, 6>)
INSTANTIATE_KERNEL("matmul_panels_48_f16", matmul_panels<half, float, 12, 1, 6>)
INSTANTIATE_KERNEL("matmul_panels_48_bf16", matmul_panels<bfloat, bfloat, 12, 1, 6>)
INSTANTIATE_KERNEL("matmul_panels_32_f32", matmul_panels<float, float, 12, 1, 4>)
INSTANTIATE_KERNEL("matmul_panels_32_f16", matmul_panels<half, float, 12, 1, 4>)
INSTANTIATE_KERNEL("matmul_panels_32_bf16", matmul_panels<bfloat, bfloat, 12, 1, 4>)
INSTANTIATE_KERNEL("matmul_panels_16_f32", matmul_panels<float, float, 12, 1, 2>)
INSTANTIATE_KERNEL("matmul_panels_16_f16", matmul_panels<half, float, 12, 1, 2>)
INSTANTIATE_KERNEL("matmul_panels_16_bf16", matmul_panels<bfloat, bfloat, 12, 1, 2>)
INSTANTIATE_KERNEL("matmul_panels_8_f32", matmul_panels<float, float, 12, 2, 1>)
INSTANTIATE_KERNEL("matmul_panels_8_f16", matmul_panels<half, float, 12, 2, 1>)
INSTANTIATE_KERNEL("matmul_panels_8_bf16", matmul_panels<bfloat, bfloat, 12, 2, 1>)
#define WARPGROUPS(rows, columns)                                                                  \
    INSTANTIATE_KERNEL("matmul_warpgroups_" #rows "x" #columns "_f16",                             \
                       matmul_warpgroups<half, 2, columns / TILE, 2 * rows>)                       \
    INSTANTIATE_KERNEL("matmul_warpgroups_" #rows "x" #columns "_bf16",                            \
                       matmul_warpgroups<bfloat, 2, columns / TILE, 2 * rows>)
WARPGROUPS(128, 256)
WARPGROUPS(128, 128)
WARPGROUPS(128, 64)
WARPGROUPS(64, 128)
WARPGROUPS(64, 64)
INSTANTIATE_KERNEL("matmul_blocks_64_f16", matmul_blocks<half, 64>)
INSTANTIATE_KERNEL("matmul_blocks_64_bf16", matmul_blocks<bfloat, 64>)
INSTANTIATE_KERNEL("matmul_blocks_128_f16", matmul_blocks<half, 128>)
INSTANTIATE_KERNEL("matmul_blocks_128_bf16", matmul_blocks<bfloat, 128>)
INSTANTIATE_KERNEL("matmul_blocks_256_f16", matmul_blocks<half, 256>)
INSTANTIATE_KERNEL("matmul_blocks_256_bf16", matmul_blocks<bfloat, 256>)
#define STRIPS(rows, columns, deep)                                                                \
    INSTANTIATE_KERNEL("matmul_strips_" #rows "x" #columns "_f16",                                 \
                       matmul_strips<half, rows, columns, deep>)                                   \
    INSTANTIATE_KERNEL("matmul_strips_" #rows "x" #columns "_bf16",                                \
                       matmul_strips<bfloat, rows, columns, deep>)
STRIPS(16, 32, 4)
STRIPS(32, 32, 4)
STRIPS(64, 64, 1)
#define LOOSE(rows)                                                                                \
    INSTANTIATE_KERNEL("matmul_loose_" #rows "x64_f16", matmul_loose<half, rows>)                  \
    INSTANTIATE_KERNEL("matmul_loose_" #rows "x64_bf16", matmul_loose<bfloat, rows>)
LOOSE(16)
LOOSE(32)
LOOSE(64)
INSTANTIATE_KERNEL("matmul_floats_16x128_f32", matmul_floats<16, 128, 4, 4, 512>)
INSTANTIATE_KERNEL("matmul_floats_32x128_f32", matmul_floats<32, 128, 8, 4, 512>)
INSTANTIATE_KERNEL("matmul_floats_64x64_f32", matmul_floats<64, 64, 8, 4, 512>)
INSTANTIATE_KERNEL("matmul_floats_128x128_f32", matmul_floats<128, 128, 8, 8, 512>)
