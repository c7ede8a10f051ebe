/*
 * Products of matrices in device memory by way of threadgroup memory that no program sees
 * ("panels", src/compiler/ir/builtins.def), on processors that have it: GPUs whose matrix units
 * want their operands there. __ingot_panel_product<…> is one product of half or bfloat by several
 * SIMD-groups; can() says at run time whether it may go this way, and run() makes it.
 *
 * Of M by N, a SIMD-group makes 16 rows, N wide, in every pass of 16 rows for each. Panels have
 * lines of 64 elements: of k, or of m or n, then 64 lines after each other and the next 64 behind
 * them. They are in four places in turn: while one is used, the second next is copied, and the
 * products of the one before may still be under way. Sums run in ascending order of k.
 */
#pragma once
#include "ingot_sync.h"
#include "ingot_tensor_product.h"

namespace metal {
/* One thread's part of the panels of an operand: pieces of 16 bytes, of every so many lines. COUNT
 * rows or columns; DEEP: lines are along k. */
template <class T, int COUNT, bool DEEP, int THREADS> struct __ingot_panel_copy {
    static constexpr int depth = 64, line = 64, piece = 8, line_pieces = line / piece;
    static constexpr int pieces = COUNT * depth / piece / THREADS;
    static constexpr int across = COUNT < piece ? 1 : COUNT / piece;
    /* from one piece of a thread to its next: lines of the matrix */
    static constexpr int step = DEEP ? THREADS / line_pieces : THREADS / across;
    static constexpr bool fits = COUNT % 64 == 0 && pieces > 0 && THREADS % line_pieces == 0 &&
                                 (DEEP ? COUNT % step == 0
                                       : THREADS % across == 0 && depth % step == 0);
    using word = vec<uint, 4>;
    const __ingot_device T *from[DEEP ? pieces : 1];
    ulong stride;
    uint to, k; /* of the first piece: its place, and where it is along k */

    /* `first`: of the rows, or columns, of which the matrix has `count`. */
    template <class Matrix> __ingot_inline void begin(const Matrix &matrix, int first, int count) {
        uint me = __ingot_thread_index_in_threadgroup();
        const __ingot_device T *start = matrix.data + matrix.origin;
        stride = ulong(matrix.stride1);
        if constexpr (DEEP) {
            uint x = me % line_pieces, y = me / line_pieces;
            to = y * line + x * piece;
            k = x * piece;
            __INGOT_UNROLL for (int i = 0; i < pieces; i++) {
                int row = first + int(y) + i * step;
                from[i] = start + ulong(row < count ? row : count - 1) * stride + k;
            }
        } else {
            uint x = me % across, y = me / across;
            int column = first + int(x) * piece;
            to = (x / line_pieces * depth + y) * line + x % line_pieces * piece;
            k = y;
            from[0] = start + k * stride + (column < count ? column : count - piece);
        }
    }
    __ingot_inline const __ingot_device word *place(int i) const {
        if constexpr (DEEP) {
            return (const __ingot_device word *)from[i];
        } else {
            return (const __ingot_device word *)(from[0] + ulong(i * step) * stride);
        }
    }
    __ingot_inline void all(__ingot_threadgroup T *panel) const {
        __INGOT_UNROLL for (int i = 0; i < pieces; i++) {
            *(__ingot_threadgroup word *)(panel + to + i * step * line) = *place(i);
        }
    }
    /* A panel of which the matrix has only `some` of k; the others are zeros. */
    __ingot_inline void part(__ingot_threadgroup T *panel, uint some) const {
        __INGOT_UNROLL for (int i = 0; i < pieces; i++) {
            word value = 0;
            if ((DEEP ? k : k + uint(i * step)) < some) {
                value = *place(i);
            }
            *(__ingot_threadgroup word *)(panel + to + i * step * line) = value;
        }
    }
    __ingot_inline void next(uint some) {
        ulong far = DEEP ? some : some * stride;
        __INGOT_UNROLL for (int i = 0; i < (DEEP ? pieces : 1); i++) {
            from[i] += far;
        }
    }
};

/* Eight rows or columns, `along`, and eight of k, both in tiles, of a panel. */
template <class T, bool DEEP, bool TRANSPOSED>
__ingot_inline simdgroup_matrix<T, 8, 8> __ingot_panel_tile(const __ingot_threadgroup T *panel,
                                                            int along, int k) {
    int place = DEEP ? along * 8 * 64 + k * 8 : (along / 8 * 64 + k * 8) * 64 + along % 8 * 8;
    simdgroup_matrix<T, 8, 8> tile;
    simdgroup_load(tile, panel + place, 64ul, ulong2(0), TRANSPOSED);
    return tile;
}

template <class T, int M, int N, int SIMDGROUPS, bool TA, bool TB> struct __ingot_panel_product {
    static constexpr int depth = 64, stages = 4, threads = 32 * SIMDGROUPS;
    /* elements of cooperative tensors have to change hands: less than this is not worth it */
    static constexpr int least_depth = 2 * depth;
    static constexpr int pass = 16 * SIMDGROUPS, passes = M / pass, tall = 2 * passes, wide = N / 8;
    static constexpr int left_bytes = M * depth * 2, right_bytes = N * depth * 2;
    static constexpr int bytes = stages * (left_bytes + right_bytes);
    using left_copy = __ingot_panel_copy<T, M, !TA, threads>;
    using right_copy = __ingot_panel_copy<T, N, TB, threads>;
    static constexpr bool fits = SIMDGROUPS % 4 == 0 && SIMDGROUPS <= 32 && M % pass == 0 &&
                                 N % 64 == 0 && N <= 256 && M * N <= 128 * threads &&
                                 M * (N + 4) * 4 <= bytes && bytes <= 200 * 1024 &&
                                 left_copy::fits && right_copy::fits;
    using tile = simdgroup_matrix<float, 8, 8>;

    template <class Matrix> static __ingot_inline bool is_aligned(const Matrix &matrix) {
        return matrix.stride0 == 1 && matrix.stride1 % 8 == 0 &&
               ulong(matrix.data + matrix.origin) % 16 == 0;
    }
    /* `left` and `right` as they lie in memory; k is not 0. */
    template <class Left, class Right>
    static __ingot_inline bool can(const Left &left, const Right &right, int k) {
        /* no barrier of some threads: what the conditions are is the same for all of them */
        return __ingot_has_panels(uint(threads), uint(bytes)) && k > 0 && is_aligned(left) &&
               is_aligned(right) && (k % 8 == 0 || (TA && !TB)) &&
               (!TA || (left.extent0 % 8 == 0 && left.extent0 > 0)) &&
               (TB || (right.extent0 % 8 == 0 && right.extent0 > 0)) && left.extent1 > 0 &&
               right.extent1 > 0;
    }

    static __ingot_inline __ingot_threadgroup T *panel(int stage, bool right) {
        return (__ingot_threadgroup T *)__ingot_panel(
            uint(right ? stages * left_bytes + stage * right_bytes : stage * left_bytes),
            uint(threads));
    }
    /* Of k, the steps from tile K on: 16. */
    template <int K>
    static __ingot_inline void add_step(tile *sums, const __ingot_threadgroup T *a,
                                        const __ingot_threadgroup T *b) {
        simdgroup_matrix<T, 8, 8> left[2][tall], right[2];
        __INGOT_UNROLL for (int i = 0; i < tall; i++) {
            __INGOT_UNROLL for (int h = 0; h < 2; h++) {
                left[h][i] = __ingot_panel_tile<T, !TA, TA>(a, i / 2 * (pass / 8) + i % 2, K + h);
            }
        }
        __INGOT_UNROLL for (int j = 0; j < wide; j++) {
            __INGOT_UNROLL for (int h = 0; h < 2; h++) {
                right[h] = __ingot_panel_tile<T, TB, TB>(b, j, K + h);
            }
            __INGOT_UNROLL for (int i = 0; i < tall; i++) {
                __INGOT_UNROLL for (int h = 0; h < 2; h++) {
                    simdgroup_multiply_accumulate(sums[i * wide + j], left[h][i], right[h],
                                                  sums[i * wide + j]);
                }
            }
        }
    }
    static __ingot_inline void add_panel(tile *sums, const __ingot_threadgroup T *a,
                                         const __ingot_threadgroup T *b) {
        /* this SIMD-group's first row; of lines along m, 64 of them are beside each other */
        uint row = __ingot_simdgroup_index_in_threadgroup() * 16u;
        a += TA ? row / 64u * 64u * 64u + row % 64u : row * 64u;
        add_step<0>(sums, a, b);
        add_step<2>(sums, a, b);
        add_step<4>(sums, a, b);
        add_step<6>(sums, a, b);
    }

    static __ingot_inline int row_of(int i) {
        return i / 2 * pass + int(__ingot_simdgroup_index_in_threadgroup()) * 16 + i % 2 * 8;
    }
    template <class C> static __ingot_inline void load(tile *sums, const C &c) {
        __INGOT_UNROLL for (int i = 0; i < tall; i++) {
            __INGOT_UNROLL for (int j = 0; j < wide; j++) {
                int x = j * 8 + __ingot_lane_column(), y = row_of(i) + __ingot_lane_row();
                sums[i * wide + j].__elements =
                    vec<float, 2>(float(c.load(x, y)), float(c.load(x + 1, y)));
            }
        }
    }
    /* Each SIMD-group puts 16 rows at a time where the panels were, and stores lines of them. */
    template <class V> static constexpr int put_line = N + 16 / int(sizeof(V));
    template <class C> static __ingot_inline void store_whole(const tile *sums, const C &c) {
        using V = typename C::value;
        using word = vec<uint, 4>;
        constexpr int pieces = N * int(sizeof(V)) / 16; /* of a line */
        static_assert(pass * put_line<V> * int(sizeof(V)) <= bytes, "a pass fits the panels");
        uint lane = __ingot_thread_index_in_simdgroup();
        __ingot_threadgroup V *lines =
            (__ingot_threadgroup V *)panel(0, false) +
            __ingot_simdgroup_index_in_threadgroup() * uint(16 * put_line<V>);
        __INGOT_UNROLL for (int p = 0; p < passes; p++) {
            __INGOT_UNROLL for (int i = 0; i < 2; i++) {
                __INGOT_UNROLL for (int j = 0; j < wide; j++) {
                    vec<float, 2> sum = sums[(2 * p + i) * wide + j].__elements;
                    *(__ingot_threadgroup vec<V, 2> *)(lines +
                                                       (i * 8 + __ingot_lane_row()) * put_line<V> +
                                                       j * 8 + __ingot_lane_column()) =
                        vec<V, 2>(V(float(sum.x)), V(float(sum.y)));
                }
            }
            __ingot_barrier(1, 2);
            __INGOT_UNROLL for (int i = 0; i < 16 * pieces / 32; i++) {
                uint at = lane + uint(i) * 32u, row = at / uint(pieces);
                uint column = at % uint(pieces) * uint(16 / sizeof(V));
                *(__ingot_device word *)(c.data + c.index(int(column), row_of(2 * p) + int(row))) =
                    *(const __ingot_threadgroup word *)(lines + row * uint(put_line<V>) + column);
            }
            __ingot_barrier(1, 2);
        }
    }
    template <class C> static __ingot_inline void store(const tile *sums, const C &c) {
        using V = typename C::value;
        if (c.stride0 == 1 && M <= c.extent1 && N <= c.extent0 &&
            ulong(c.data + c.origin) % 16 == 0 && c.stride1 % int(16 / sizeof(V)) == 0) {
            store_whole(sums, c);
            return;
        }
        __INGOT_UNROLL for (int i = 0; i < tall; i++) {
            int y = row_of(i) + __ingot_lane_row();
            __INGOT_UNROLL for (int j = 0; j < wide; j++) {
                int x = j * 8 + __ingot_lane_column();
                if (c.is_inside(x, y)) {
                    c.data[c.index(x, y)] = V(float(sums[i * wide + j].__elements.x));
                }
                if (c.is_inside(x + 1, y)) {
                    c.data[c.index(x + 1, y)] = V(float(sums[i * wide + j].__elements.y));
                }
            }
        }
    }

    /* Adds the product to the sums. */
    template <class Left, class Right>
    static __ingot_inline void add(tile *sums, const Left &left, const Right &right, int k) {
        left_copy a;
        right_copy b;
        a.begin(left, 0, TA ? left.extent0 : left.extent1);
        b.begin(right, 0, TB ? right.extent1 : right.extent0);
        uint end = uint(k), rest = end % depth, begun = rest ? rest : depth;
        __ingot_threadgroup T *a_now = panel(0, false), *a_next = panel(1, false),
                              *a_last = panel(2, false), *a_used = panel(3, false);
        __ingot_threadgroup T *b_now = panel(0, true), *b_next = panel(1, true),
                              *b_last = panel(2, true), *b_used = panel(3, true);
        __ingot_barrier(2, 2); /* whoever used the panels before is done */
        a.part(a_now, begun);
        b.part(b_now, begun);
        a.next(begun);
        b.next(begun);
        __ingot_barrier(2, 2); /* nobody waits for the first panel here */
        if (begun < end) {
            a.all(a_next);
            b.all(b_next);
            a.next(depth);
            b.next(depth);
        }
        uint at = begun + depth; /* where the panel that is copied begins */
        for (; at < end; at += depth) {
            __ingot_barrier(2, 2);
            add_panel(sums, a_now, b_now);
            a.all(a_last);
            b.all(b_last);
            a.next(depth);
            b.next(depth);
            __ingot_threadgroup T *a_done = a_now, *b_done = b_now;
            a_now = a_next, a_next = a_last, a_last = a_used, a_used = a_done;
            b_now = b_next, b_next = b_last, b_last = b_used, b_used = b_done;
        }
        do {
            __ingot_barrier(2, 2);
            add_panel(sums, a_now, b_now);
            a_now = a_next, b_now = b_next;
            at += depth;
        } while (at < end + 2 * depth);
        __ingot_barrier(2, 2);
    }
    static __ingot_inline void clear(tile *sums) {
        __INGOT_UNROLL for (int i = 0; i < tall * wide; i++) {
            sums[i].__elements = vec<float, 2>(0.0f);
        }
    }
    template <bool ACCUMULATE, class Left, class Right, class C>
    static __ingot_inline void run(const Left &left, const Right &right, const C &c, int k) {
        tile sums[tall * wide];
        if constexpr (ACCUMULATE) {
            load(sums, c);
        } else {
            clear(sums);
        }
        add(sums, left, right, k);
        store(sums, c);
    }

    /* From and to elements in a layout of pairs side by side, by way of lines where the panels are
     * before and after the product. */
    static __ingot_inline __ingot_threadgroup vec<float, 2> *line_place(int row, int column) {
        return (__ingot_threadgroup vec<float, 2> *)((__ingot_threadgroup float *)panel(0, false) +
                                                     row * put_line<float> + column);
    }
    static __ingot_inline __ingot_threadgroup vec<float, 2> *sum_place(int i) {
        return line_place(row_of(i / wide) + __ingot_lane_row(),
                          i % wide * 8 + __ingot_lane_column());
    }
    template <class Layout, bool ACCUMULATE, class Left, class Right, class V>
    static __ingot_inline void run_to_elements(const Left &left, const Right &right, V *elements,
                                               int k) {
        tile sums[tall * wide];
        clear(sums);
        if constexpr (ACCUMULATE) {
            __ingot_barrier(2, 2); /* whoever used the panels before is done */
            __INGOT_UNROLL for (int i = 0; i < Layout::capacity; i += 2) {
                *line_place(Layout::row(i), Layout::column(i)) =
                    vec<float, 2>(float(elements[i]), float(elements[i + 1]));
            }
            __ingot_barrier(2, 2);
            __INGOT_UNROLL for (int i = 0; i < tall * wide; i++) {
                sums[i].__elements = *sum_place(i);
            }
        }
        add(sums, left, right, k);
        __INGOT_UNROLL for (int i = 0; i < tall * wide; i++) {
            *sum_place(i) = sums[i].__elements;
        }
        __ingot_barrier(2, 2);
        __INGOT_UNROLL for (int i = 0; i < Layout::capacity; i += 2) {
            vec<float, 2> sum = *line_place(Layout::row(i), Layout::column(i));
            elements[i] = __ingot_converted<V>(float(sum.x));
            elements[i + 1] = __ingot_converted<V>(float(sum.y));
        }
        __ingot_barrier(2, 2); /* the lines are read */
    }
};

/* Whether such a product can be asked for: elements of 16 bits, all in device memory. */
template <class P, class T>
constexpr bool __ingot_is_device =
    __is_same(P, __ingot_device T) || __is_same(P, const __ingot_device T);
} // namespace metal
