/*
 * Kernels over the rows of a matrix whose rows are dense. ROW_SIMDS SIMD-groups share a row, and
 * each thread takes four elements of it per block: four that are ROW_SIMDS * 32 apart, and
 * those of a last block that is not full one by one; or four neighbours (ROW_VECTOR), for devices
 * with vector loads, and rows that are aligned to them and a multiple of four long. Where every
 * block is known to be full (ROW_VECTOR 2), nothing asks for the row's end. ROW_VECTOR 3 is the
 * same with eight neighbours in two blocks, which are 16 bytes of a 16-bit type: an even block has
 * the first four of them, the next block the others. ROW_VECTOR 4 is 0 for CPUs: who has an element
 * of a last block is asked by parts.
 *
 * With one SIMD-group per row a threadgroup has as many rows as SIMD-groups; with more it
 * has one row. ROW_SIMDS 0: every thread has a row of its own, for rows that are shorter than a
 * SIMD-group. Host code: ops/rows.h.
 */
#ifndef INGOT_KERNELS_COMMON_ROWS_H
#define INGOT_KERNELS_COMMON_ROWS_H

#include "common/args.h"
#include "common/memory_hints.h"
#include "common/reduce.h"
#include "common/row_parts_args.h"

constant uint ROW_SIMDS [[function_constant(0)]];
constant uint ROW_VECTOR [[function_constant(1)]];
constant bool ROW_NEIGHBOURS = ROW_VECTOR >= 1 && ROW_VECTOR <= 3;
constant bool ROW_FULL = ROW_VECTOR == 2 || ROW_VECTOR == 3;
constant bool ROW_BY_PARTS = ROW_VECTOR == 4 && ROW_SIMDS > 0;
constant bool ROW_EIGHT = ROW_VECTOR == 3;
constant uint ROW_THREADS = ROW_SIMDS ? ROW_SIMDS * 32 : 1;
constant uint ROW_STEP = ROW_THREADS * 4; /* elements of a block */

/* Vectors along a row that is kept are loaded with it; else behind the reduction, for want of
 * registers or because that is short. */
constant bool ROW_AHEAD = ROW_FULL && ROW_SIMDS > 1;
constant bool ROW_MANY = ROW_SIMDS >= 16;
template <int KEEP, typename W> inline bool row_ahead() {
    return KEEP && ROW_AHEAD && (sizeof(W) == 2 ? KEEP <= 4 || !ROW_MANY : KEEP > 4 && !ROW_MANY);
}

/* Threads that fit a GPU's core at once where more of them are worth more than registers: 40 each.
 */
constant constexpr uint ROW_THREADS_AT_ONCE = 1632;
/* The same for kernels that keep eight blocks of a 16-bit type: 64 registers each. */
constant constexpr uint ROW_EIGHT_THREADS_AT_ONCE = 1024;

/* The positions that a row kernel asks for. */
#define ROW_POSITIONS                                                                              \
    uint2 row_group [[threadgroup_position_in_grid]], uint2 row_groups [[threadgroups_per_grid]],  \
        uint row_simds [[simdgroups_per_threadgroup]],                                             \
        uint row_simd [[simdgroup_index_in_threadgroup]],                                          \
        uint row_lane [[thread_index_in_simdgroup]]
#define ROW_NUMBER     row_number(row_group, row_groups, row_simds, row_simd, row_lane)
#define ROW_THREAD     (ROW_SIMDS == 0 ? 0 : ROW_SIMDS == 1 ? row_lane : row_simd * 32 + row_lane)
#define ROW_SUM(value) sum_over(ROW_SIMDS, value, row_shared, row_simd, row_lane)
/* The first sum of a kernel, which has row_shared for itself. */
#define ROW_FIRST_SUM(value) first_sum_over(ROW_SIMDS, value, row_shared, row_simd, row_lane)
#define ROW_MAX(value)       max_over(ROW_SIMDS, value, row_shared, row_simd, row_lane)

inline ulong row_number(uint2 group, uint2 groups, uint simds, uint simd, uint lane) {
    ulong at = ulong(group.y) * groups.x + group.x;
    return ROW_SIMDS == 0   ? (at * simds + simd) * 32 + lane
           : ROW_SIMDS == 1 ? at * simds + simd
                            : at;
}

inline uint row_blocks(uint columns) {
    return (columns + (ROW_STEP - 1)) / ROW_STEP;
}

/* Whether a kernel keeps its blocks in registers. */
template <int KEEP> constexpr bool row_in_registers() {
    return KEEP > 0 && KEEP <= 8;
}

/* The most threads of a threadgroup, where W is the type of a vector along the row that is kept as
 * well. With fewer each has more registers: 80, or 64 for 16-bit types, let three or four
 * threadgroups run at once. Rows that do not fill their blocks (PART) need more, to know their end.
 */
template <int KEEP, bool PART, typename T, typename W> constexpr uint row_most_threads() {
    return !row_in_registers<KEEP>()          ? 1024
           : KEEP == 4                        ? 992
           : PART                             ? 512
           : sizeof(T) == 4 || sizeof(W) == 4 ? 768
                                              : 992;
}

/* Blocks that a loop over the row takes. A kernel that keeps few blocks (in registers) takes all of
 * them, so that the loop can be unrolled; those past the end of the row are `fill` and are not
 * stored. */
template <int KEEP> inline uint row_loop(uint columns) {
    return row_in_registers<KEEP>() ? uint(KEEP) : row_blocks(columns);
}

/* The first of a thread's four neighbours in a block (ROW_VECTOR). */
inline uint row_first(uint block, uint me) {
    return ROW_EIGHT ? (block & ~1u) * ROW_STEP + me * 8 + (block & 1) * 4
                     : block * ROW_STEP + me * 4;
}

/* Whether this thread has an element of a part of a last block, which begins at `part`. All of them
 * have, or none, but for one part: CPUs have masks for that one only, and take as long for a load
 * of nothing as for any other. */
#define ROW_IF_IN_PART(part, me, columns, statement)                                               \
    if (ROW_BY_PARTS && part + ROW_THREADS <= columns) {                                           \
        statement;                                                                                 \
    } else if (!ROW_BY_PARTS || part < columns) {                                                  \
        if (part + me < columns) {                                                                 \
            statement;                                                                             \
        }                                                                                          \
    }

/* Of a block that is not full. */
template <typename T>
inline float4 row_load_part(device const T *row, uint columns, uint first, uint me, float fill) {
    float4 v = fill;
    for (uint i = 0; i < 4; i++) {
        uint part = first + i * ROW_THREADS;
        ROW_IF_IN_PART(part, me, columns, v[i] = float(row[part + me]))
    }
    return v;
}

/* Block number `block` of the row, with `fill` past its end. */
template <typename T>
inline float4 row_load(device const T *row, uint columns, uint block, uint me, float fill) {
    uint first = block * ROW_STEP;
    if (ROW_NEIGHBOURS) {
        uint at = row_first(block, me);
        return ROW_FULL || at < columns ? float4(*(device const vec<T, 4> *)(row + at))
                                        : float4(fill);
    }
    if (first + ROW_STEP > columns) {
        return row_load_part(row, columns, first, me, fill);
    }
    device const T *at = row + first + me;
    return float4(float(at[0]), float(at[ROW_THREADS]), float(at[2 * ROW_THREADS]),
                  float(at[3 * ROW_THREADS]));
}

template <typename T>
inline void row_store(device T *row, uint columns, uint block, uint me, float4 v) {
    uint first = block * ROW_STEP;
    if (ROW_NEIGHBOURS) {
        uint at = row_first(block, me);
        if (ROW_FULL || at < columns) {
            *(device vec<T, 4> *)(row + at) = vec<T, 4>(v);
        }
    } else if (first + ROW_STEP > columns) {
        for (uint i = 0; i < 4; i++) {
            uint part = first + i * ROW_THREADS;
            ROW_IF_IN_PART(part, me, columns, row[part + me] = T(v[i]))
        }
    } else {
        device T *at = row + first + me;
        at[0] = T(v.x);
        at[ROW_THREADS] = T(v.y);
        at[2 * ROW_THREADS] = T(v.z);
        at[3 * ROW_THREADS] = T(v.w);
    }
}

/* The same; past_caches: see memory_hints.h. */
template <typename T>
inline void row_store(device T *row, uint columns, uint block, uint me, float4 v,
                      uint past_caches) {
    uint first = block * ROW_STEP;
    if (first + ROW_STEP > columns || ROW_NEIGHBOURS || ROW_SIMDS == 0) {
        row_store(row, columns, block, me, v);
    } else {
        device T *at = row + first + me;
        nontemporal_store(at, T(v.x), past_caches);
        nontemporal_store(at + ROW_THREADS, T(v.y), past_caches);
        nontemporal_store(at + 2 * ROW_THREADS, T(v.z), past_caches);
        nontemporal_store(at + 3 * ROW_THREADS, T(v.w), past_caches);
    }
}

/* The column of element i of a thread's block. */
inline uint row_column(uint block, uint me, uint i) {
    return ROW_NEIGHBOURS ? row_first(block, me) + i : block * ROW_STEP + me + i * ROW_THREADS;
}

/* The first N blocks of a row, all of them loaded before anything else is done; `fill` past its
 * end. Loads that stand between stores would have to wait for them. */
template <int N, typename T>
inline void row_fetch(device const T *row, uint columns, uint me, T fill,
                      thread vec<T, 4> *blocks) {
    device const T *mine = row + row_column(0, me, 0);
    for (uint b = 0; b < N; b++) {
        uint at = row_column(b, 0, 0), behind = row_column(b, me, 0);
        if (ROW_EIGHT && sizeof(T) == 2) {
            if (b % 2 == 0) {
                uint4 eight = *(device const uint4 *)(mine + at);
                ((thread uint2 *)blocks)[b] = eight.xy;
                ((thread uint2 *)blocks)[b + 1] = eight.zw;
            }
        } else if (ROW_NEIGHBOURS) {
            blocks[b] = ROW_FULL || behind < columns ? *(device const vec<T, 4> *)(mine + at)
                                                     : vec<T, 4>(fill);
        } else {
            blocks[b] = fill;
            for (uint i = 0; i < 4; i++) {
                if (behind + i * ROW_THREADS < columns) {
                    blocks[b][i] = mine[at + i * ROW_THREADS];
                }
            }
        }
    }
}

/* Of a vector along rows of whole blocks: block b and the next, where b is even; of a 16-bit type.
 * All blocks are constants from one address. */
template <typename T>
inline void row_fetch_eight(device const T *row, uint b, uint me, thread vec<T, 4> *blocks) {
    uint4 eight = *(device const uint4 *)(row + row_first(0, me) + row_first(b, 0));
    ((thread uint2 *)blocks)[b] = eight.xy;
    ((thread uint2 *)blocks)[b + 1] = eight.zw;
}

/* Stores what row_fetch would load. */
template <int N, typename T>
inline void row_put(device T *row, uint columns, uint me, thread const vec<T, 4> *blocks) {
    device T *mine = row + row_column(0, me, 0);
    for (uint b = 0; b < N; b++) {
        uint at = row_column(b, 0, 0), behind = row_column(b, me, 0);
        if (ROW_EIGHT && sizeof(T) == 2) {
            if (b % 2 == 0) {
                thread const uint2 *halves = (thread const uint2 *)blocks;
                *(device uint4 *)(mine + at) = uint4(halves[b], halves[b + 1]);
            }
        } else if (ROW_NEIGHBOURS) {
            if (ROW_FULL || behind < columns) {
                *(device vec<T, 4> *)(mine + at) = blocks[b];
            }
        } else {
            for (uint i = 0; i < 4; i++) {
                if (behind + i * ROW_THREADS < columns) {
                    mine[at + i * ROW_THREADS] = blocks[b][i];
                }
            }
        }
    }
}

/* A block with `fill` from column `length` on. */
inline float4 row_before(float4 v, uint length, uint block, uint me, float fill) {
    if ((ROW_EIGHT ? block | 1 : block) * ROW_STEP + ROW_STEP > length) {
        for (uint i = 0; i < 4; i++) {
            if (row_column(block, me, i) >= length) {
                v[i] = fill;
            }
        }
    }
    return v;
}

/* A block of the row with `fill` past its end. */
inline float4 row_inside(float4 v, uint columns, uint block, uint me, float fill) {
    if (ROW_NEIGHBOURS) {
        return ROW_FULL || row_first(block, me) < columns ? v : float4(fill);
    }
    return row_before(v, columns, block, me, fill);
}

/* Partial sums along columns: a part's first row stores, the others add. */
inline void row_accumulate(device float *sums, uint columns, uint block, uint me, float4 v,
                           bool first) {
    if (!first) {
        v += row_load((device const float *)sums, columns, block, me, 0);
    }
    row_store(sums, columns, block, me, v);
}

/* out[c] = the sum over parts of partial[part][c], in their order. A thread per column.
 * Instantiated by those that need it. */
template <typename T>
kernel void row_parts(device const float *partial [[buffer(0)]], device T *out [[buffer(1)]],
                      constant row_parts_args &args [[buffer(2)]],
                      uint column [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint part = 0; part < args.parts; part++) {
        sum += partial[ulong(part) * args.columns + column];
    }
    out[column] = T(sum);
}

#endif
