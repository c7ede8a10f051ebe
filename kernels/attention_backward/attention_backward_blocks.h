/*
 * The gradients of attention of half and bfloat on GPUs whose matrix units multiply for four
 * SIMD-groups at once. A threadgroup has 128 rows of its own, 16 to a SIMD-group, and takes the
 * rows of the other side 64 at a time: while some are used, the next ones are copied to another
 * place.
 *
 * Rows are queries, and others keys and values, for dq; rows are keys and values, and others
 * queries and gradients, for dk and dv. Either way scores are the first own rows times the first
 * others, changes the second ones times the second ones, and what they become are sums of others:
 *
 *     weight = exp2(score * factor - base), change = weight * (change - delta)
 *     first sums += change * first others, second sums += weight * second others
 *
 * So weights and changes, which are in registers as the products leave them, are what the next
 * products want. dq is made again from keys instead of being added to by all of them: its sums have
 * one writer and a fixed order, for two products more.
 *
 * Rows are in threadgroup memory in lines of 64 elements, which is what the matrix units read: the
 * first 64 elements of all rows, then the next. What rows or lines have less is zeros.
 *
 * Wants rows that start at multiples of 16 bytes, and a scale above 0. Weights and changes go into
 * products as numbers of the type.
 */
#ifndef INGOT_KERNELS_ATTENTION_BACKWARD_BLOCKS_H
#define INGOT_KERNELS_ATTENTION_BACKWARD_BLOCKS_H

#include "attention_backward/attention_backward_sizes.h"
#include "common/threadgroups.h"

constant constexpr uint GRADIENT_ALONG = GRADIENT_LINE / 8; // threads that copy a line together
constant constexpr uint GRADIENT_COPIERS = 128;             // threads that copy others: the last

/* COUNT rows, of which the thread's first is at `from` and the last that there is `left` rows on;
 * rows past that are the last one again. `columns` elements are there from the thread's own on.
 * They go to lines AT elements behind the thread's place: distances of all that a thread copies are
 * constants. */
template <uint COUNT, uint AT, uint PANELS, uint THREADS, typename T>
inline void stage_rows_of(threadgroup T *to, device const T *from, long stride, bool whole,
                          int left, uint columns) {
    constexpr uint STEP = THREADS / GRADIENT_ALONG;
#pragma unroll
    for (uint p = 0; p < PANELS; p++) {
        if (p * GRADIENT_LINE >= columns) {
        } else if (whole) {
#pragma unroll
            for (uint i = 0; i < COUNT; i += STEP) {
                *(threadgroup uint4 *)(to + (AT + (p * COUNT + i) * GRADIENT_LINE)) =
                    *(device const uint4 *)(from + i * stride + p * GRADIENT_LINE);
            }
        } else {
#pragma unroll
            for (uint i = 0; i < COUNT; i += STEP) {
                *(threadgroup uint4 *)(to + (AT + (p * COUNT + i) * GRADIENT_LINE)) =
                    *(device const uint4 *)(from + min(int(i), left) * stride + p * GRADIENT_LINE);
            }
        }
    }
}

/* Columns that rows do not have are zeros, which nobody overwrites. The thread's first row is y. */
template <uint COUNT, uint AT, uint PANELS, uint THREADS, typename T>
inline void clear_columns(threadgroup T *to, uint y, uint columns) {
    for (uint p = 0; p < PANELS; p++) {
        if (p * GRADIENT_LINE >= columns) {
            for (uint i = 0; y + i < COUNT; i += THREADS / GRADIENT_ALONG) {
                *(threadgroup uint4 *)(to + (AT + (p * COUNT + i) * GRADIENT_LINE)) = 0;
            }
        }
    }
}

/* Where element d of a row begins, of COUNT rows. */
template <uint COUNT> inline uint gradient_line(uint row, uint d) {
    return (d / GRADIENT_LINE * COUNT + row) * GRADIENT_LINE + d % GRADIENT_LINE;
}

/* One step for every 16 of up to 256, written out: no compiler would unroll so much. */
#define GRADIENT_STEPS(step)                                                                       \
    step(0) step(16) step(32) step(48) step(64) step(80) step(96) step(112) step(128) step(144)    \
        step(160) step(176) step(192) step(208) step(224) step(240)

/* What a SIMD-group has in registers. FIRST, SECOND: which sums are wanted. */
template <typename T, uint SIMDS, uint DEPTH, uint OTHERS, bool BY_KEYS, bool FIRST, bool SECOND,
          bool KEEPS>
struct gradient_block {
    static constexpr constant uint TILES = DEPTH / 8, COLUMNS = OTHERS / 8;
    typedef simdgroup_matrix<T, 8, 8> tile;
    simdgroup_float8x8 first[2][TILES], second[2][TILES];
    simdgroup_float8x8 score[2][COLUMNS], change[2][COLUMNS];
    tile weight[COLUMNS / 2][2][2];
    tile kept[KEEPS ? 2 : 1][KEEPS ? TILES : 1][2]; // own rows, if they are in registers
    float base[2], delta[2];                        // of own rows, if those are queries

    void begin() {
#pragma unroll
        for (uint r = 0; r < 2; r++)
#pragma unroll
            for (uint c = 0; c < TILES; c++) {
                if (FIRST) {
                    first[r][c] = simdgroup_float8x8(0.0f);
                }
                if (SECOND) {
                    second[r][c] = simdgroup_float8x8(0.0f);
                }
            }
    }

    void keep(uint which, threadgroup const T *own) {
#pragma unroll
        for (uint c = 0; c < (KEEPS ? TILES : 0); c++)
#pragma unroll
            for (uint r = 0; r < 2; r++) {
                simdgroup_load(kept[which][c][r], own + gradient_line<SIMDS * 16>(8 * r, 8 * c),
                               GRADIENT_LINE);
            }
    }

    /* 16 elements of each row. */
    void multiply_some(thread simdgroup_float8x8 (&to)[2][COLUMNS], uint which,
                       threadgroup const T *own, threadgroup const T *others, uint d) {
        tile row[2][2], other[2];
#pragma unroll
        for (uint r = 0; r < 2; r++)
#pragma unroll
            for (uint h = 0; h < 2; h++) {
                if (KEEPS) {
                    row[h][r] = kept[which][d / 8 + h][r];
                } else {
                    simdgroup_load(row[h][r], own + gradient_line<SIMDS * 16>(8 * r, d + 8 * h),
                                   GRADIENT_LINE);
                }
            }
#pragma unroll
        for (uint n = 0; n < COLUMNS; n++) {
#pragma unroll
            for (uint h = 0; h < 2; h++) {
                simdgroup_load(other[h], others + gradient_line<OTHERS>(8 * n, d + 8 * h),
                               GRADIENT_LINE, ulong2(0), true);
            }
#pragma unroll
            for (uint r = 0; r < 2; r++)
#pragma unroll
                for (uint h = 0; h < 2; h++) {
                    simdgroup_multiply_accumulate(to[r][n], row[h][r], other[h], to[r][n]);
                }
        }
    }

    void multiply(thread simdgroup_float8x8 (&to)[2][COLUMNS], uint which, threadgroup const T *own,
                  threadgroup const T *others) {
#pragma unroll
        for (uint r = 0; r < 2; r++)
#pragma unroll
            for (uint n = 0; n < COLUMNS; n++) {
                to[r][n] = simdgroup_float8x8(0.0f);
            }
#define MULTIPLY_STEP(d)                                                                           \
    if (d < DEPTH) {                                                                               \
        multiply_some(to, which, own, others, d);                                                  \
    }
        GRADIENT_STEPS(MULTIPLY_STEP)
#undef MULTIPLY_STEP
    }

    /* Two tiles of others. */
    void add_some(thread simdgroup_float8x8 (&sum)[2][TILES], threadgroup const T *others, uint n) {
#pragma unroll
        for (uint c = 0; c < TILES; c++) {
            tile other[2];
#pragma unroll
            for (uint h = 0; h < 2; h++) {
                simdgroup_load(other[h], others + gradient_line<OTHERS>(8 * (n + h), 8 * c),
                               GRADIENT_LINE);
            }
#pragma unroll
            for (uint r = 0; r < 2; r++)
#pragma unroll
                for (uint h = 0; h < 2; h++) {
                    simdgroup_multiply_accumulate(sum[r][c], weight[n / 2][r][h], other[h],
                                                  sum[r][c]);
                }
        }
    }

    /* sum += weights * others */
    void add(thread simdgroup_float8x8 (&sum)[2][TILES], threadgroup const T *others) {
        static_assert(COLUMNS == 4 || COLUMNS == 8 || COLUMNS == 16, "the steps below");
        add_some(sum, others, 0);
        add_some(sum, others, 2);
        if (COLUMNS > 4) {
            add_some(sum, others, 4);
            add_some(sum, others, 6);
        }
        if (COLUMNS > 8) {
            add_some(sum, others, 8);
            add_some(sum, others, 10);
            add_some(sum, others, 12);
            add_some(sum, others, 14);
        }
    }

    void round(thread const simdgroup_float8x8 (&from)[2][COLUMNS]) {
#pragma unroll
        for (uint n = 0; n < COLUMNS; n++)
#pragma unroll
            for (uint r = 0; r < 2; r++) {
                weight[n / 2][r][n % 2].thread_elements() = vec<T, 2>(from[r][n].thread_elements());
            }
    }

    /* Scores times the factor, with the bias; -infinity where a query does not see a key. The
     * lane's row of tile 0 is `row`, its column of that `column`. */
    void hide(uint row, uint column, float factor, constant attention_args &args,
              device const uchar *mask, device const float *slopes, uint batch, uint head) {
        const int far = int(args.keys) - int(args.queries);
#pragma unroll
        for (uint r = 0; r < 2; r++) {
            const int at = int(row + 8 * r);
            // columns that go with the row
            const int lowest = BY_KEYS ? at - args.right - far : at + far - args.left;
            const int highest =
                BY_KEYS ? at + args.left - far : min(at + far + args.right, int(args.keys) - 1);
            const int from = lowest - int(column), to = highest - int(column);
#pragma unroll
            for (uint n = 0; n < COLUMNS; n++) {
                float2 s = score[r][n].thread_elements();
                const int j = int(8 * n);
                s.x = from <= j && j <= to ? s.x * factor : -INFINITY;
                s.y = from <= j + 1 && j + 1 <= to ? s.y * factor : -INFINITY;
                score[r][n].thread_elements() = s;
            }
        }
        if (args.flags & ATTENTION_BIASED) { // one branch for all scores of a kind
            add_bias(row, column, args, mask, slopes, batch, head);
        }
    }

    /* What a mask of type M adds, which begins at the pairs of the heads. */
    template <typename M>
    void add_mask(device const M *mask, uint row, uint column, constant attention_args &args) {
        const long row_stride = args.mask_stride[BY_KEYS ? 3 : 2];
        const long column_stride = args.mask_stride[BY_KEYS ? 2 : 3];
        const uint row_end = (BY_KEYS ? args.keys : args.queries) - 1;
        const uint column_end = (BY_KEYS ? args.queries : args.keys) - 1;
#pragma unroll
        for (uint r = 0; r < 2; r++) {
            device const M *line = mask + min(row + 8 * r, row_end) * row_stride;
#pragma unroll
            for (uint n = 0; n < COLUMNS; n++) {
                float2 s = score[r][n].thread_elements();
#pragma unroll
                for (uint e = 0; e < 2; e++) {
                    const M value = line[min(column + 8 * n + e, column_end) * column_stride];
                    s[e] = sizeof(M) == 1 ? (value != M(0) ? s[e] : -INFINITY)
                                          : fma(float(value), M_LOG2E_F, s[e]);
                }
                score[r][n].thread_elements() = s;
            }
        }
    }

    void add_bias(uint row, uint column, constant attention_args &args, device const uchar *mask,
                  device const float *slopes, uint batch, uint head) {
        const long at = batch * args.mask_stride[0] + head * args.mask_stride[1];
        if (args.flags & ATTENTION_ALIBI) {
            const float slope = attention_slope(args, slopes, batch, head) * -M_LOG2E_F;
            const int far = int(args.keys) - int(args.queries);
            const int distance = int(row) - int(column) + (BY_KEYS ? -far : far);
#pragma unroll
            for (uint r = 0; r < 2; r++)
#pragma unroll
                for (uint n = 0; n < COLUMNS; n++) {
                    float2 s = score[r][n].thread_elements();
                    const int here = distance + int(8 * r) - int(8 * n);
                    s.x = fma(slope, abs(float(here)), s.x);
                    s.y = fma(slope, abs(float(here - 1)), s.y);
                    score[r][n].thread_elements() = s;
                }
        }
        if (args.flags & ATTENTION_MASK_BOOL) {
            add_mask(mask + at, row, column, args);
        } else if (args.flags & ATTENTION_MASK_F32) {
            add_mask((device const float *)mask + at, row, column, args);
        } else if (args.flags & ATTENTION_MASK_SAME) {
            add_mask((device const T *)mask + at, row, column, args);
        }
    }

    /* Scores become weights. `stats`: of the lane's columns, if those are queries. */
    void find_weights(float factor, threadgroup const float2 *stats) {
#pragma unroll
        for (uint n = 0; n < COLUMNS; n++) {
            float4 both;
            if (BY_KEYS) {
                both = *(threadgroup const float4 *)(stats + 8 * n);
            }
#pragma unroll
            for (uint r = 0; r < 2; r++) {
                const float2 minus = BY_KEYS ? -both.xz : float2(-base[r]);
                float2 s = score[r][n].thread_elements();
                score[r][n].thread_elements() = fast::exp2(fma(s, float2(factor), minus));
            }
        }
    }

    void find_changes(threadgroup const float2 *stats) {
#pragma unroll
        for (uint n = 0; n < COLUMNS; n++) {
            float4 both;
            if (BY_KEYS) {
                both = *(threadgroup const float4 *)(stats + 8 * n);
            }
#pragma unroll
            for (uint r = 0; r < 2; r++) {
                const float2 less = BY_KEYS ? both.yw : float2(delta[r]);
                float2 weights = score[r][n].thread_elements();
                float2 s = change[r][n].thread_elements();
                // one by one: products of four SIMD-groups want nobody to put sums together
                s.x = weights.x * (s.x - less.x);
                s.y = weights.y * (s.y - less.y);
                change[r][n].thread_elements() = s;
            }
        }
    }

    /* A SIMD-group's 16 rows of sums by way of its own rows' place. */
    void put(thread simdgroup_float8x8 (&sum)[2][TILES], float scale, threadgroup T *own,
             device T *out, long stride, uint rows, uint depth, uint lane) {
#pragma unroll
        for (uint r = 0; r < 2; r++)
#pragma unroll
            for (uint c = 0; c < TILES; c++) {
                *(threadgroup vec<T, 2> *)(own +
                                           gradient_line<SIMDS * 16>(8 * r + tile_row(lane),
                                                                     8 * c) +
                                           tile_column(lane)) =
                    vec<T, 2>(sum[r][c].thread_elements() * scale);
            }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        const uint x = lane % GRADIENT_ALONG * 8, y = lane / GRADIENT_ALONG;
        constexpr uint STEP = 32 / GRADIENT_ALONG;
#pragma unroll
        for (uint i = 0; i < 16; i += STEP)
#pragma unroll
            for (uint d = 0; d < DEPTH; d += GRADIENT_LINE) {
                if (y + i < rows && x + d < depth) {
                    *(device uint4 *)(out + (y + i) * stride + x + d) =
                        *(threadgroup uint4 *)(own + gradient_line<SIMDS * 16>(y + i, d) + x);
                }
            }
    }
};

/* The blocks of others that go with a threadgroup's rows: those of which some pairs are hidden,
 * then the others; of all heads that share the rows. */
struct gradient_blocks {
    uint before, after;      // of those that are hidden in part: the first ones, the last ones
    uint inner;              // of the others
    uint begin, inner_begin; // block numbers
    uint count;              // of all, for one head

    void find(constant attention_args &args, uint first, uint last, bool by_keys, uint others) {
        const int far = int(args.keys) - int(args.queries);
        const int rows = int(by_keys ? args.queries : args.keys);
        // what the first of the rows sees or is seen by begins and ends there, and the last
        const int back = by_keys ? -args.right - far : far - args.left;
        const int on = by_keys ? args.left - far : far + args.right;
        const int all_begin = clamp(int(first) + back, 0, rows);
        const int all_end = clamp(int(last) + on + 1, all_begin, rows);
        const int all_see = clamp(int(last) + back, 0, rows);
        int see_end = clamp(int(first) + on + 1, 0, rows);
        begin = uint(all_begin) / others;
        const uint end = (uint(all_end) + others - 1) / others;
        count = all_begin == all_end ? 0 : end - begin;
        if (by_keys && see_end == rows) {
            see_end = int(end * others); // queries past the end have no weight
        }
        inner_begin = (uint(all_see) + others - 1) / others;
        uint inner_end = uint(see_end) / others;
        if ((args.flags & ATTENTION_BIASED) || inner_end <= inner_begin) {
            inner_begin = inner_end = begin + count;
        }
        before = min(inner_begin - begin, count);
        inner = min(inner_end - inner_begin, count - before);
        after = count - before - inner;
    }
};

/* The place of a block among all. */
struct gradient_step {
    uint phase, number, head; // head: of those that share the rows

    uint block(thread const gradient_blocks &blocks) {
        return phase                    ? blocks.inner_begin + number
               : number < blocks.before ? blocks.begin + number
                                        : blocks.begin + blocks.inner + number;
    }
    void next(thread const gradient_blocks &blocks, uint heads) {
        number++;
        if (number == (phase ? blocks.inner : blocks.count - blocks.inner)) {
            number = 0;
            head++;
            if (head == heads) {
                head = 0;
                phase++;
            }
        }
    }
};

/* A threadgroup's way through blocks of others. */
template <typename T, uint SIMDS, uint DEPTH, uint OTHERS, bool BY_KEYS, bool FIRST, bool SECOND,
          bool KEEPS>
struct gradient_walk {
    typedef gradient_block<T, SIMDS, DEPTH, OTHERS, BY_KEYS, FIRST, SECOND, KEEPS> block;
    static constexpr constant uint PANELS = (DEPTH + GRADIENT_LINE - 1) / GRADIENT_LINE;
    static constexpr constant uint SECOND_OWN = SIMDS * 16 * PANELS * GRADIENT_LINE;
    static constexpr constant uint SECOND_OTHER = OTHERS * PANELS * GRADIENT_LINE;
    threadgroup T *now, *next;              // others
    threadgroup float2 *stats, *next_stats; // of them
    threadgroup T *own;
    device const T *one, *two; // others, from the thread's column on
    device const float2 *all_stats;
    long one_stride, two_stride, one_head, two_head; // from a row, and a head, to the next
    ulong stats_head;
    uint one_depth, two_depth; // from the thread's column on
    gradient_blocks blocks;
    gradient_step at, ahead; // the block in use, the block that is copied next
    uint heads;              // that share the own rows
    uint rows;               // of others
    bool copies;
    uint copied; // which row of 16 the thread copies
    uint copier; // which thread it is of those
    uint place;
    float factor;
    uint row, lane;
    uint batch, head;
    device const uchar *mask;
    device const float *slopes;

    void stage() {
        const uint t = ahead.block(blocks) * OTHERS;
        if (copies) {
            const bool whole = t + OTHERS <= rows;
            const int left = int(rows) - int(t + copied) - 1;
            threadgroup T *to = next + place;
            stage_rows_of<OTHERS, 0, PANELS, GRADIENT_COPIERS>(
                to, one + (ahead.head * one_head + (t + copied) * one_stride), one_stride, whole,
                left, one_depth);
            stage_rows_of<OTHERS, SECOND_OTHER, PANELS, GRADIENT_COPIERS>(
                to, two + (ahead.head * two_head + (t + copied) * two_stride), two_stride, whole,
                left, two_depth);
            if (BY_KEYS && copier < OTHERS / 2) {
                *(threadgroup float4 *)(next_stats + 2 * copier) =
                    *(device const float4 *)(all_stats + ahead.head * stats_head + t + 2 * copier);
            }
        }
        ahead.next(blocks, heads);
    }

    template <bool HIDES>
    void run(thread block &b, uint count, uint last, constant attention_args &args) {
        for (uint i = 0; i < count; i++) {
            threadgroup_barrier(mem_flags::mem_threadgroup);
            threadgroup T *used = now;
            now = next;
            next = used;
            threadgroup float2 *used_stats = stats;
            stats = next_stats;
            next_stats = used_stats;
            if (i + 1 < count + last) {
                stage();
            }
            b.multiply(b.score, 0, own, now);
            if (FIRST && !HIDES) {
                b.multiply(b.change, 1, own + SECOND_OWN, now + SECOND_OTHER);
            }
            threadgroup const float2 *columns = stats + tile_column(lane);
            if (HIDES) {
                const uint t = at.block(blocks) * OTHERS;
                b.hide(row, t + tile_column(lane), factor, args, mask, slopes, batch,
                       head + at.head);
                at.next(blocks, heads);
            }
            b.find_weights(HIDES ? 1.0f : factor, columns);
            if (FIRST && HIDES) {
                b.multiply(b.change, 1, own + SECOND_OWN, now + SECOND_OTHER);
            }
            if (SECOND) {
                b.round(b.score);
                b.add(b.second, now + SECOND_OTHER);
            }
            if (FIRST) {
                b.find_changes(columns);
                b.round(b.change);
                b.add(b.first, now);
            }
        }
    }
};

/* Where a threadgroup works, and its memory. */
template <typename T> struct gradient_place {
    uint batch, head, key_head, start; // start: its first row
    threadgroup T *own, *even, *odd;
    threadgroup float2 *even_stats, *odd_stats;
    uint me, simd, lane;
};

template <typename T, uint SIMDS, uint DEPTH, uint OTHERS, bool BY_KEYS, bool FIRST, bool SECOND,
          bool KEEPS>
inline void find_gradient(thread const gradient_place<T> &place, device const T *q,
                          device const T *k, device const T *v, device const T *dout,
                          device const float2 *stats, device const uchar *mask,
                          device const float *slopes, device T *first_out, device T *second_out,
                          constant attention_args &args, constant attention_backward_args &back) {
    typedef gradient_walk<T, SIMDS, DEPTH, OTHERS, BY_KEYS, FIRST, SECOND, KEEPS> walks;
    constexpr uint PANELS = walks::PANELS;
    const uint me = place.me, simd = place.simd, lane = place.lane;
    threadgroup T *const own = place.own;
    const uint batch = place.batch, head = place.head, start = place.start;
    const uint count = BY_KEYS ? args.keys : args.queries;
    const uint last = min(start + SIMDS * 16, count) - 1;
    const uint x = me % GRADIENT_ALONG * 8, y = me / GRADIENT_ALONG;
    const uint padded = (args.queries + GRADIENT_STATS - 1) / GRADIENT_STATS * GRADIENT_STATS;
    q += attention_at(args.q_stride, batch, head, 0) + x;
    dout += attention_at(back.dout_stride, batch, head, 0) + x;
    k += attention_at(args.k_stride, batch, place.key_head, 0) + x;
    v += attention_at(args.v_stride, batch, place.key_head, 0) + x;
    stats += (ulong(batch) * args.heads + head) * padded;
    const long q_row = args.q_stride[2], dout_row = back.dout_stride[2];
    const long k_row = args.k_stride[2], v_row = args.v_stride[2];
    const uint depth = args.depth - min(x, args.depth);
    const uint value_depth = args.value_depth - min(x, args.value_depth);

    walks walk;
    walk.now = place.odd;
    walk.next = place.even;
    walk.stats = place.odd_stats;
    walk.next_stats = place.even_stats;
    walk.own = own + simd * (16 * GRADIENT_LINE);
    walk.one = BY_KEYS ? q : k;
    walk.two = BY_KEYS ? dout : v;
    walk.all_stats = stats;
    walk.one_stride = BY_KEYS ? q_row : k_row;
    walk.two_stride = BY_KEYS ? dout_row : v_row;
    walk.one_head = args.q_stride[1];
    walk.two_head = back.dout_stride[1];
    walk.stats_head = padded;
    walk.one_depth = depth;
    walk.two_depth = value_depth;
    walk.heads = BY_KEYS ? args.group : 1;
    walk.rows = BY_KEYS ? args.queries : args.keys;
    walk.copies = me >= SIMDS * 32 - GRADIENT_COPIERS;
    walk.copier = me % GRADIENT_COPIERS;
    walk.copied = walk.copier / GRADIENT_ALONG;
    walk.place = walk.copied * GRADIENT_LINE + x;
    walk.factor = args.scale * M_LOG2E_F;
    walk.row = start + simd * 16 + tile_row(lane);
    walk.lane = lane;
    walk.batch = batch;
    walk.head = head;
    walk.mask = mask;
    walk.slopes = slopes;
    walk.blocks.find(args, start, last, BY_KEYS, OTHERS);
    const uint hidden = (walk.blocks.count - walk.blocks.inner) * walk.heads;
    const uint inner = walk.blocks.inner * walk.heads;
    walk.at = {hidden ? 0u : 1u, 0, 0};
    walk.ahead = walk.at;

    const bool whole = start + SIMDS * 16 <= count;
    const int left = int(count) - int(start + y) - 1;
    const ulong own_row = min(start + y, count - 1);
    const uint at = y * GRADIENT_LINE + x;
    stage_rows_of<SIMDS * 16, 0, PANELS, SIMDS * 32>(
        own + at, BY_KEYS ? k + own_row * k_row : q + own_row * q_row, BY_KEYS ? k_row : q_row,
        whole, max(left, 0), depth);
    if (FIRST) { // changes are wanted
        stage_rows_of<SIMDS * 16, walks::SECOND_OWN, PANELS, SIMDS * 32>(
            own + at, BY_KEYS ? v + own_row * v_row : dout + own_row * dout_row,
            BY_KEYS ? v_row : dout_row, whole, max(left, 0), value_depth);
        clear_columns<SIMDS * 16, walks::SECOND_OWN, PANELS, SIMDS * 32>(own + at, y, value_depth);
    }
    clear_columns<SIMDS * 16, 0, PANELS, SIMDS * 32>(own + at, y, depth);
    clear_columns<OTHERS, 0, PANELS, SIMDS * 32>(place.even + at, y, depth);
    clear_columns<OTHERS, 0, PANELS, SIMDS * 32>(place.odd + at, y, depth);
    clear_columns<OTHERS, walks::SECOND_OTHER, PANELS, SIMDS * 32>(place.even + at, y, value_depth);
    clear_columns<OTHERS, walks::SECOND_OTHER, PANELS, SIMDS * 32>(place.odd + at, y, value_depth);
    if (hidden + inner) {
        walk.stage();
    }
    typename walks::block b;
    b.begin();
    if (!BY_KEYS) {
#pragma unroll
        for (uint r = 0; r < 2; r++) {
            const float2 of_row = stats[min(walk.row + 8 * r, args.queries - 1)];
            b.base[r] = of_row.x;
            b.delta[r] = of_row.y;
        }
    }
    if (KEEPS) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        b.keep(0, walk.own);
        b.keep(1, walk.own + walks::SECOND_OWN);
    }
    walk.template run<true>(b, hidden, inner, args);
    walk.template run<false>(b, inner, 0, args);
    threadgroup_barrier(mem_flags::mem_threadgroup); // all products and copies are over
    const uint row = start + simd * 16, there = count - min(row, count);
    const uint out_head = BY_KEYS ? place.key_head : head;
    if (FIRST) {
        first_out += attention_at(BY_KEYS ? back.dk_stride : back.dq_stride, batch, out_head, row);
        b.put(b.first, args.scale, walk.own, first_out,
              BY_KEYS ? back.dk_stride[2] : back.dq_stride[2], there, args.depth, lane);
    }
    if (SECOND) {
        second_out += attention_at(back.dv_stride, batch, out_head, row);
        b.put(b.second, 1.0f, walk.own + walks::SECOND_OWN, second_out, back.dv_stride[2], there,
              args.value_depth, lane);
    }
}

/* Threadgroups of a head of keys: those of queries of all heads that share it, then those of keys,
 * of which each makes dk or dv where registers have no room for the sums of both. KEEPS: there is
 * room for own rows, which are queries, or keys. */
template <typename T, uint SIMDS, uint DEPTH, uint OTHERS, bool KEEPS_QUERIES, bool KEEPS_KEYS>
[[max_total_threads_per_threadgroup(SIMDS * 32)]] kernel void attention_gradients(
    device const T *q [[buffer(0)]], device const T *k [[buffer(1)]],
    device const T *v [[buffer(2)]], device const T *dout [[buffer(3)]],
    device const float2 *stats [[buffer(4)]], device const uchar *mask [[buffer(5)]],
    device const float *slopes [[buffer(6)]], device T *dq [[buffer(7)]],
    device T *dk [[buffer(8)]], device T *dv [[buffer(9)]],
    constant attention_args &args [[buffer(10)]],
    constant attention_backward_args &back [[buffer(11)]], threadgroup T *own [[threadgroup(0)]],
    threadgroup T *even [[threadgroup(1)]], threadgroup T *odd [[threadgroup(2)]],
    threadgroup float2 *even_stats [[threadgroup(3)]],
    threadgroup float2 *odd_stats [[threadgroup(4)]], uint3 group [[threadgroup_position_in_grid]],
    uint me [[thread_index_in_threadgroup]], uint simd [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
    full_threadgroups();
    const uint of_queries = back.query_blocks * args.group, number = group.x - of_queries;
    gradient_place<T> place = {.batch = group.z,
                               .head = group.y * args.group,
                               .key_head = group.y,
                               .start = number % max(back.key_blocks, 1u) * SIMDS * 16,
                               .own = own,
                               .even = even,
                               .odd = odd,
                               .even_stats = even_stats,
                               .odd_stats = odd_stats,
                               .me = me,
                               .simd = simd,
                               .lane = lane};
    if (group.x < of_queries) {
        place.head += group.x / back.query_blocks;
        // most causal keys first, as keys have most queries
        place.start = (back.query_blocks - 1 - group.x % back.query_blocks) * SIMDS * 16;
        find_gradient<T, SIMDS, DEPTH, OTHERS, false, true, false, KEEPS_QUERIES>(
            place, q, k, v, dout, stats, mask, slopes, dq, dq, args, back);
    } else if (DEPTH <= GRADIENT_TOGETHER) {
        find_gradient<T, SIMDS, DEPTH, OTHERS, true, true, true, KEEPS_KEYS>(
            place, q, k, v, dout, stats, mask, slopes, dk, dv, args, back);
    } else if (number < back.key_blocks) {
        find_gradient<T, SIMDS, DEPTH, OTHERS, true, true, false, KEEPS_KEYS>(
            place, q, k, v, dout, stats, mask, slopes, dk, dv, args, back);
    } else {
        find_gradient<T, SIMDS, DEPTH, OTHERS, true, false, true, KEEPS_KEYS>(
            place, q, k, v, dout, stats, mask, slopes, dk, dv, args, back);
    }
}

/* What a query's rows are needed for: (base, delta), a row to 8 lanes, 16 bytes of it at a time.
 * Rows from the end to a whole block have no weight. */
template <typename T>
kernel void
attention_gradient_stats(device const T *out [[buffer(0)]], device const T *dout [[buffer(1)]],
                         device const float *lse [[buffer(2)]], device float2 *stats [[buffer(3)]],
                         constant attention_args &args [[buffer(4)]],
                         constant attention_backward_args &back [[buffer(5)]],
                         uint3 group [[threadgroup_position_in_grid]],
                         uint me [[thread_index_in_threadgroup]]) {
    constexpr uint PIECE = 16 / sizeof(T);
    const uint head = group.y, batch = group.z, x = me % 8 * PIECE;
    const uint i = group.x * GRADIENT_STATS / 2 + me / 8;
    const uint padded = (args.queries + GRADIENT_STATS - 1) / GRADIENT_STATS * GRADIENT_STATS;
    const bool there = i < args.queries;
    out += attention_at(args.out_stride, batch, head, i) + x;
    dout += attention_at(back.dout_stride, batch, head, i) + x;
    float sum = 0.0f;
    for (uint d = x; there && d < args.value_depth; d += 8 * PIECE) {
#pragma unroll
        for (uint e = 0; e < PIECE; e += 4) {
            const float4 one = float4(*(device const vec<T, 4> *)(out + e)),
                         two = float4(*(device const vec<T, 4> *)(dout + e));
#pragma unroll
            for (uint c = 0; c < 4; c++) {
                sum = fma(one[c], two[c], sum);
            }
        }
        out += 8 * PIECE;
        dout += 8 * PIECE;
    }
    sum += simd_shuffle_xor(sum, ushort(1));
    sum += simd_shuffle_xor(sum, ushort(2));
    sum += simd_shuffle_xor(sum, ushort(4));
    if (me % 8 == 0) {
        float2 result = float2(INFINITY, 0.0f);
        if (there) {
            const float sums = lse[attention_row(args, batch, head, i)];
            result = float2(sums == -INFINITY ? 0.0f : sums * M_LOG2E_F, sum);
        }
        stats[(ulong(batch) * args.heads + head) * padded + i] = result;
    }
}

#endif
