/*
 * Metal 4's tensors and tensor_ops as Apple's compiler calls them: air.*_tensor functions on
 * tensors in thread memory, and __tensorops_impl_* functions, which Apple's driver defines. What a
 * tensor or a cooperative tensor holds is ours to choose, since everything asks for sizes and
 * elements; but kernels know by heart which elements a lane has.
 *
 * The layout of a cooperative tensor: fragments of 16 by 16 of the operand as it is stored (a
 * transposed left operand is k by m), row by row; SIMD-groups take them in turn. Of a fragment,
 * lane b4…b0 has 8 elements: element i is in row 4·b4 + 2·b2 + b1 + 8·(i >> 2), column 4·(2·b3 +
 * b0) + (i & 3). Fragments over the edge are padded.
 *
 * Products go by simdgroup_matrix's built-in. Elements 2t and 2t + 1 of a fragment's half are a
 * tile of 8 by 8 whose column c is column 4·(c >> 1) + 2t + (c & 1) of the fragment, called woven
 * here. Where both operands are fragments and the left one is not transposed, the sum over k goes
 * in that order, else k ascends: as in ingot_tensor_product.h, so that source gives the same bits.
 */
#pragma once

/* The part of a fragment's row and column that the lane decides. */
__ingot_inline uint __ingot_air_row() {
    uint lane = __ingot_thread_index_in_simdgroup();
    return (lane >> 4 & 1u) * 4u + (lane >> 1 & 3u);
}
__ingot_inline uint __ingot_air_group() {
    uint lane = __ingot_thread_index_in_simdgroup();
    return (lane >> 3 & 1u) * 2u + (lane & 1u);
}
/* ---- tensors: what air.init_strided_private_tensor fills in ---- */

enum { __ingot_air_ranks = 5 };
struct __ingot_air_tensor {
    device char *global;
    threadgroup char *local;
    long offset; /* of the first element, in elements */
    int extents[__ingot_air_ranks];
    long strides[__ingot_air_ranks];
};

template <class P> __ingot_inline P __ingot_air_base(const thread __ingot_air_tensor *t);
template <> __ingot_inline device char *__ingot_air_base(const thread __ingot_air_tensor *t) {
    return t->global;
}
template <> __ingot_inline threadgroup char *__ingot_air_base(const thread __ingot_air_tensor *t) {
    return t->local;
}

template <class P, class I>
__ingot_inline void __ingot_air_init(thread __ingot_air_tensor *t, ushort rank, P data,
                                     const thread I *extents, const thread I *strides) {
    if constexpr (__is_same(P, device char *)) {
        t->global = data;
    } else {
        t->local = data;
    }
    t->offset = 0;
#pragma unroll
    for (ushort i = 0; i < __ingot_air_ranks; i++) {
        t->extents[i] = i < rank ? (int)extents[i] : 1;
        t->strides[i] = i < rank ? (long)strides[i] : 0;
    }
}

/* A slice ends where the tensor does. */
template <class I>
__ingot_inline void __ingot_air_slice(thread __ingot_air_tensor *t,
                                      const thread __ingot_air_tensor *from, ushort rank,
                                      const thread I *offsets, const thread I *extents) {
    __ingot_air_tensor made = *from;
#pragma unroll
    for (ushort i = 0; i < __ingot_air_ranks; i++) {
        if (i < rank) {
            int left = from->extents[i] - (int)offsets[i];
            made.offset += (long)offsets[i] * from->strides[i];
            made.extents[i] = (int)extents[i] < left ? (int)extents[i] : left;
        }
    }
    *t = made;
}

__ingot_inline int __ingot_air_extent(const thread __ingot_air_tensor *t, ushort dimension) {
    int extent = 1;
#pragma unroll
    for (ushort i = 0; i < __ingot_air_ranks; i++) {
        extent = i == dimension ? t->extents[i] : extent;
    }
    return extent;
}

/* Element (x, y, z, w): zero outside the tensor. `space` is the type of an element with its address
 * space. */
template <class T, class P> struct __ingot_air_view {
    P base;
    int extents[4];
    long strides[4];
    __ingot_inline __ingot_air_view(const thread __ingot_air_tensor *t) {
        base = reinterpret_cast<P>(
            __ingot_air_base<
                conditional_t<__is_same(P, device T *), device char *, threadgroup char *>>(t));
        base += t->offset;
#pragma unroll
        for (ushort i = 0; i < 4; i++) {
            extents[i] = t->extents[i];
            strides[i] = t->strides[i];
        }
    }
    __ingot_inline bool has(int x, int y, int z, int w) const {
        return x >= 0 && x < extents[0] && y >= 0 && y < extents[1] && z >= 0 && z < extents[2] &&
               w >= 0 && w < extents[3];
    }
    __ingot_inline P at(int x, int y, int z, int w) const {
        return base + (x * strides[0] + y * strides[1] + z * strides[2] + w * strides[3]);
    }
    __ingot_inline T get(int x, int y, int z = 0, int w = 0) const {
        return has(x, y, z, w) ? *at(x, y, z, w) : T(0);
    }
    __ingot_inline void set(int x, int y, T value) const {
        if (has(x, y, 0, 0)) {
            *at(x, y, 0, 0) = value;
        }
    }
};

/* ---- cooperative tensors ---- */

struct __ingot_air_descriptor {
    int m, n, k; /* k may be -1: as long as the operands are */
    uchar transpose_left, transpose_right, relaxed;
    int mode; /* 1: the product is added to what is there */
};

/* Rows and columns of an operand as it is stored: 0 left, 1 right, 2 destination. */
struct __ingot_air_shape {
    uint rows, columns;
    __ingot_inline __ingot_air_shape(int operand, int m, int n, int k, bool left, bool right) {
        rows = operand == 0 ? (left ? k : m) : operand == 1 ? (right ? n : k) : m;
        columns = operand == 0 ? (left ? m : k) : operand == 1 ? (right ? k : n) : n;
    }
    __ingot_inline uint across() const {
        return (columns + 15) / 16;
    }
    __ingot_inline uint elements(uint threads) const {
        uint fragments = (rows + 15) / 16 * across(), groups = threads / 32;
        return (fragments + groups - 1) / groups * 8;
    }
};

__ingot_inline uint __ingot_air_simdgroup(uint threads) {
    return threads > 32 ? __ingot_simdgroup_index_in_threadgroup() % (threads / 32) : 0;
}

struct __ingot_air_place {
    uint row, column;
    __ingot_inline __ingot_air_place(__ingot_air_shape shape, uint element, uint threads) {
        uint fragment = (element >> 3) * (threads / 32) + __ingot_air_simdgroup(threads);
        row = fragment / shape.across() * 16 + __ingot_air_row() + (element >> 2 & 1) * 8;
        column = fragment % shape.across() * 16 + __ingot_air_group() * 4 + (element & 3);
    }
};

__ingot_inline uint __ingot_air_bytes(int operand, uint left, uint right, uint destination) {
    uint type = operand == 0 ? left : operand == 1 ? right : destination;
    return (type & 0xffu) >> 3; /* the lowest byte of Apple's type is its width in bits */
}

template <class T, class P>
__ingot_inline void __ingot_air_load(__ingot_air_shape shape, thread T *elements,
                                     const thread __ingot_air_tensor *from, uint threads) {
    __ingot_air_view<T, P> view(from);
#pragma unroll
    for (uint i = 0; i < shape.elements(threads); i++) {
        __ingot_air_place at(shape, i, threads);
        bool valid = at.row < shape.rows && at.column < shape.columns;
        elements[i] = valid ? view.get((int)at.column, (int)at.row) : T(0);
    }
}
template <class T, class P>
__ingot_inline void __ingot_air_store(__ingot_air_shape shape, const thread T *elements,
                                      const thread __ingot_air_tensor *to, uint threads) {
    __ingot_air_view<T, P> view(to);
#pragma unroll
    for (uint i = 0; i < shape.elements(threads); i++) {
        __ingot_air_place at(shape, i, threads);
        if (at.row < shape.rows && at.column < shape.columns) {
            view.set((int)at.column, (int)at.row, elements[i]);
        }
    }
}

/* ---- elements of other lanes ---- */

template <class T> __ingot_inline vec<T, 2> __ingot_air_fetch(vec<T, 2> x, uint lane) {
    using pair = vec<T, 2>;
    if constexpr (sizeof(T) == 2) {
        return as_type<pair>(simd_shuffle(as_type<uint>(x), (ushort)lane));
    } else {
        return pair(simd_shuffle(T(x.x), (ushort)lane), simd_shuffle(T(x.y), (ushort)lane));
    }
}
template <class T>
__ingot_inline vec<T, 2> __ingot_air_choose(bool second, vec<T, 2> a, vec<T, 2> b) {
    return vec<T, 2>(second ? T(b.x) : T(a.x), second ? T(b.y) : T(a.y));
}
/* Tile t of half h: columns in the order above, called woven. */
template <class T>
__ingot_inline vec<T, 2> __ingot_air_pair(const thread T *fragment, uint h, uint t) {
    return vec<T, 2>(fragment[4 * h + 2 * t], fragment[4 * h + 2 * t + 1]);
}
/* Columns 8·v to 8·v + 7 of half h. */
template <class T>
__ingot_inline vec<T, 2> __ingot_air_unwoven(const thread T *fragment, uint h, uint v) {
    uint lane = __ingot_thread_index_in_simdgroup();
    uint from = (lane & ~9u) | v << 3 | (lane >> 3 & 1u);
    return __ingot_air_choose(lane & 1u, __ingot_air_fetch(__ingot_air_pair(fragment, h, 0), from),
                              __ingot_air_fetch(__ingot_air_pair(fragment, h, 1), from));
}
/* Of two tiles, the second below the first, rows in the order that columns t have. */
template <class T>
__ingot_inline vec<T, 2> __ingot_air_woven_rows(vec<T, 2> upper, vec<T, 2> lower, uint t) {
    uint lane = __ingot_thread_index_in_simdgroup();
    uint from = (lane & ~20u) | (lane >> 2 & 1u) << 4 | t << 2;
    return __ingot_air_choose(lane >> 4 & 1u, __ingot_air_fetch(upper, from),
                              __ingot_air_fetch(lower, from));
}
template <class T> __ingot_inline vec<T, 2> __ingot_air_turned(vec<T, 2> tile) {
    uint lane = __ingot_thread_index_in_simdgroup();
    uint from = (lane >> 3 & 1u) << 4 | (lane >> 4 & 1u) << 3 | (lane & 1u) << 2 | (lane >> 2 & 1u);
    vec<T, 2> even = __ingot_air_fetch(tile, from), odd = __ingot_air_fetch(tile, from | 2u);
    bool second = lane >> 1 & 1u;
    return vec<T, 2>(second ? T(even.y) : T(even.x), second ? T(odd.y) : T(odd.x));
}

/* ---- operands of products, as tiles ---- */

/* k of this lane's first element in tile t of the left operand, and of its row in the right one. */
__ingot_inline int __ingot_air_left_k(bool woven, uint step, uint t) {
    uint group = __ingot_air_group();
    return (int)(step * 16 + (woven ? group * 4 + t * 2 : t * 8 + group * 2));
}
__ingot_inline int __ingot_air_right_k(bool woven, uint step, uint t) {
    uint row = __ingot_air_row();
    return (int)(step * 16 + (woven ? (row >> 1) * 4 + t * 2 + (row & 1u) : t * 8 + row));
}

/* From anything that gives element (row, k) or (k, column); k ascends. */
template <class T, class Source> struct __ingot_air_left_memory {
    Source source;
    using element = T;
    static constexpr bool woven = false;
    __ingot_inline vec<T, 2> tile(uint fragment, uint step, uint h, uint t) const {
        int row = (int)(fragment * 16 + h * 8 + __ingot_air_row());
        int k = __ingot_air_left_k(false, step, t);
        return vec<T, 2>(source.left(row, k), source.left(row, k + 1));
    }
};
template <class T, class Source> struct __ingot_air_right_memory {
    Source source;
    using element = T;
    __ingot_inline vec<T, 2> tile(uint step, uint fragment, uint t, uint u) const {
        int k = __ingot_air_right_k(false, step, t);
        int column = (int)(fragment * 16 + __ingot_air_group() * 4 + u * 2);
        return vec<T, 2>(source.right(k, column), source.right(k, column + 1));
    }
};

/* From fragments in registers, of one SIMD-group. */
template <class T> struct __ingot_air_left_registers {
    const thread T *elements;
    uint across; /* fragments in a row, as stored */
    bool transposed, woven;
    using element = T;
    __ingot_inline vec<T, 2> tile(uint fragment, uint step, uint h, uint t) const {
        if (transposed) {
            const thread T *stored = elements + (step * across + fragment) * 8;
            return __ingot_air_turned(__ingot_air_unwoven(stored, t, h));
        }
        const thread T *stored = elements + (fragment * across + step) * 8;
        return woven ? __ingot_air_pair(stored, h, t) : __ingot_air_unwoven(stored, h, t);
    }
};
template <class T> struct __ingot_air_right_registers {
    const thread T *elements;
    uint across;
    bool transposed, woven;
    using element = T;
    __ingot_inline vec<T, 2> tile(uint step, uint fragment, uint t, uint u) const {
        if (!transposed) {
            const thread T *stored = elements + (step * across + fragment) * 8;
            return woven ? __ingot_air_woven_rows(__ingot_air_pair(stored, 0, u),
                                                  __ingot_air_pair(stored, 1, u), t)
                         : __ingot_air_pair(stored, t, u);
        }
        const thread T *stored = elements + (fragment * across + step) * 8;
        vec<T, 2> upper =
            woven ? __ingot_air_pair(stored, 0, t) : __ingot_air_unwoven(stored, 0, t);
        vec<T, 2> lower =
            woven ? __ingot_air_pair(stored, 1, t) : __ingot_air_unwoven(stored, 1, t);
        return __ingot_air_turned(__ingot_air_woven_rows(upper, lower, u));
    }
};

/* What tiles of Ts hold: integers of 8 bits are exact in half. */
template <class T> using __ingot_air_tile = conditional_t<__is_integral(T), half, T>;

/* Adds the products of fragments `from` to `to` along k to one fragment of the destination. What is
 * at `depth` and beyond counts as zero. */
template <class L, class R>
__ingot_inline void __ingot_air_add_products(L left, R right, uint row, uint column, uint from,
                                             uint to, int depth, thread simdgroup_float8x8 *sums) {
    using A = __ingot_air_tile<typename L::element>;
    using B = __ingot_air_tile<typename R::element>;
    for (uint step = from; step < to; step++) {
        bool ends = (int)(step * 16 + 16) > depth;
#pragma unroll
        for (uint t = 0; t < 2; t++) {
            simdgroup_matrix<A, 8, 8> a[2];
            simdgroup_matrix<B, 8, 8> b[2];
            int left_k = __ingot_air_left_k(left.woven, step, t);
            int right_k = __ingot_air_right_k(left.woven, step, t);
#pragma unroll
            for (uint i = 0; i < 2; i++) {
                auto x = left.tile(row, step, i, t);
                auto y = right.tile(step, column, t, i);
                bool first = !ends || left_k < depth, second = !ends || left_k + 1 < depth;
                bool both = !ends || right_k < depth;
                a[i].thread_elements() = vec<A, 2>(first ? A(x.x) : A(0), second ? A(x.y) : A(0));
                b[i].thread_elements() = vec<B, 2>(both ? B(y.x) : B(0), both ? B(y.y) : B(0));
            }
#pragma unroll
            for (uint i = 0; i < 4; i++) {
                simdgroup_multiply_accumulate(sums[i], a[i >> 1], b[i & 1], sums[i]);
            }
        }
    }
}

/* One fragment of the destination: `elements` are this lane's eight. Sums of integers are exact for
 * 256 steps, and int after that. */
template <class L, class R, class C>
__ingot_inline void __ingot_air_multiply_fragment(L left, R right, uint row, uint column,
                                                  uint steps, int depth, bool accumulate,
                                                  thread C *elements) {
    constexpr bool exact = __is_integral(C);
    for (uint from = 0; from < steps || from == 0; from += exact ? 16 : steps + 1) {
        simdgroup_float8x8 sums[4];
#pragma unroll
        for (uint i = 0; i < 4; i++) {
            thread C *pair = elements + i * 2;
            sums[i].thread_elements() =
                accumulate && !exact ? float2((float)pair[0], (float)pair[1]) : float2(0);
        }
        uint to = exact && steps - from > 16 ? from + 16 : steps;
        __ingot_air_add_products(left, right, row, column, from, to, depth, sums);
        bool add = exact && (accumulate || from > 0);
#pragma unroll
        for (uint i = 0; i < 4; i++) {
            thread C *pair = elements + i * 2;
            C x = (C)sums[i].thread_elements().x, y = (C)sums[i].thread_elements().y;
            pair[0] = add ? C(pair[0] + x) : x;
            pair[1] = add ? C(pair[1] + y) : y;
        }
    }
}

/* rows by columns of the destination, in its layout. */
template <class L, class R, class C>
__ingot_inline void __ingot_air_multiply(L left, R right, __ingot_air_shape shape, uint steps,
                                         int depth, bool accumulate, thread C *elements,
                                         uint threads) {
    uint fragments = shape.elements(threads) / 8;
#pragma unroll
    for (uint f = 0; f < fragments; f++) {
        uint fragment = f * (threads / 32) + __ingot_air_simdgroup(threads);
        __ingot_air_multiply_fragment(left, right, fragment / shape.across(),
                                      fragment % shape.across(), steps, depth, accumulate,
                                      elements + f * 8);
    }
}

/* ---- matmul2d ---- */

template <class T, class P> struct __ingot_air_matrix {
    __ingot_air_view<T, P> view;
    bool transposed;
    __ingot_inline __ingot_air_matrix(const thread __ingot_air_tensor *t, bool is_transposed)
        : view(t) {
        transposed = is_transposed;
    }
    __ingot_inline T element(int row, int column) const {
        return view.get(transposed ? row : column, transposed ? column : row);
    }
    __ingot_inline T left(int row, int k) const {
        return element(row, k);
    }
    __ingot_inline T right(int k, int column) const {
        return element(k, column);
    }
    __ingot_inline int columns() const {
        return view.extents[transposed ? 1 : 0];
    }
    __ingot_inline int rows() const {
        return view.extents[transposed ? 0 : 1];
    }
};

__ingot_inline __ingot_air_shape __ingot_air_destination(__ingot_air_descriptor d) {
    return __ingot_air_shape(2, d.m, d.n, d.k, d.transpose_left, d.transpose_right);
}

/* Operands in registers, with the fragments in a row as they are stored. */
template <class A>
__ingot_inline __ingot_air_left_registers<A> __ingot_air_left(__ingot_air_descriptor d,
                                                              const thread A *a, bool woven) {
    uint across = (uint)((d.transpose_left ? d.m : d.k) + 15) / 16;
    return {a, across, (bool)d.transpose_left, woven};
}
template <class B>
__ingot_inline __ingot_air_right_registers<B> __ingot_air_right(__ingot_air_descriptor d,
                                                                const thread B *b, bool woven) {
    uint across = (uint)((d.transpose_right ? d.k : d.n) + 15) / 16;
    return {b, across, (bool)d.transpose_right, woven};
}

template <class L, class R, class C>
__ingot_inline void __ingot_air_run_steps(__ingot_air_descriptor d, L left, R right, thread C *c,
                                          uint threads) {
    __ingot_air_multiply(left, right, __ingot_air_destination(d), (uint)(d.k + 15) / 16, d.k,
                         d.mode == 1, c, threads);
}

template <class A, class B, class C>
__ingot_inline void __ingot_air_run(const thread __ingot_air_descriptor *descriptor,
                                    const thread A *a, const thread B *b, thread C *c,
                                    uint threads) {
    __ingot_air_descriptor d = *descriptor;
    bool woven = !d.transpose_left;
    __ingot_air_run_steps(d, __ingot_air_left(d, a, woven), __ingot_air_right(d, b, woven), c,
                          threads);
}

template <class A, class B, class PB, class C>
__ingot_inline void __ingot_air_run_right(const thread __ingot_air_descriptor *descriptor,
                                          const thread A *a, const thread __ingot_air_tensor *b,
                                          thread C *c, uint threads) {
    __ingot_air_descriptor d = *descriptor;
    __ingot_air_right_memory<B, __ingot_air_matrix<B, PB>> right = {{b, (bool)d.transpose_right}};
    __ingot_air_run_steps(d, __ingot_air_left(d, a, false), right, c, threads);
}

template <class A, class PA, class B, class C>
__ingot_inline void __ingot_air_run_left(const thread __ingot_air_descriptor *descriptor,
                                         const thread __ingot_air_tensor *a, const thread B *b,
                                         thread C *c, uint threads) {
    __ingot_air_descriptor d = *descriptor;
    __ingot_air_left_memory<A, __ingot_air_matrix<A, PA>> left = {{a, (bool)d.transpose_left}};
    __ingot_air_run_steps(d, left, __ingot_air_right(d, b, false), c, threads);
}

/* How far a sum over k goes: as long as both operands are, and no further than the descriptor says.
 */
template <class L, class R>
__ingot_inline int __ingot_air_depth(__ingot_air_descriptor d, L left, R right) {
    int depth = left.columns() < right.rows() ? left.columns() : right.rows();
    return d.k >= 0 && d.k < depth ? d.k : depth;
}

template <class A, class PA, class B, class PB, class C>
__ingot_inline void __ingot_air_run_memory(const thread __ingot_air_descriptor *descriptor,
                                           const thread __ingot_air_tensor *a,
                                           const thread __ingot_air_tensor *b, thread C *c,
                                           uint threads) {
    __ingot_air_descriptor d = *descriptor;
    __ingot_air_left_memory<A, __ingot_air_matrix<A, PA>> left = {{a, (bool)d.transpose_left}};
    __ingot_air_right_memory<B, __ingot_air_matrix<B, PB>> right = {{b, (bool)d.transpose_right}};
    int k = __ingot_air_depth(d, left.source, right.source);
    __ingot_air_multiply(left, right, __ingot_air_destination(d), (uint)(k + 15) / 16, k,
                         d.mode == 1, c, threads);
}

/* The destination is in memory: fragments in turn, of m by n elements, or of as many as it has.
 * SIMD-groups beyond those of the operation have nothing to do. */
template <class L, class R, class C, class PC>
__ingot_inline void __ingot_air_fill(L left, R right, __ingot_air_view<C, PC> to, int m, int n,
                                     int k, bool accumulate, uint threads) {
    uint across = (uint)(n + 15) / 16, count = (uint)(m + 15) / 16 * across;
    uint first = threads > 32 ? __ingot_simdgroup_index_in_threadgroup() : 0;
    for (uint f = first; f < count && first < threads / 32; f += threads / 32) {
        C elements[8];
        int row = (int)(f / across * 16 + __ingot_air_row());
        int column = (int)(f % across * 16 + __ingot_air_group() * 4);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            elements[i] = accumulate ? to.get(column + i % 4, row + i / 4 * 8) : C(0);
        }
        __ingot_air_multiply_fragment(left, right, f / across, f % across, (uint)(k + 15) / 16, k,
                                      accumulate, elements);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            if (row + i / 4 * 8 < m && column + i % 4 < n) {
                to.set(column + i % 4, row + i / 4 * 8, elements[i]);
            }
        }
    }
}

/* By one thread: all of it. */
template <class L, class R, class C, class PC>
__ingot_inline void __ingot_air_fill_alone(L left, R right, __ingot_air_view<C, PC> to, int m,
                                           int n, int k, bool accumulate) {
    using sum = conditional_t<__is_integral(C), C, float>;
    for (int i = 0; i < m * n; i++) {
        int row = i / n, column = i % n;
        sum total = accumulate ? (sum)to.get(column, row) : sum(0);
        for (int j = 0; j < k; j++) {
            sum x = (sum)left.element(row, j), y = (sum)right.element(j, column);
            if constexpr (__is_integral(C)) {
                total += x * y;
            } else {
                total = metal::fma(x, y, total);
            }
        }
        to.set(column, row, (C)total);
    }
}

template <class A, class PA, class B, class PB, class C, class PC>
__ingot_inline void __ingot_air_run_to_memory(const thread __ingot_air_descriptor *descriptor,
                                              const thread __ingot_air_tensor *a,
                                              const thread __ingot_air_tensor *b,
                                              const thread __ingot_air_tensor *c, uint threads) {
    __ingot_air_descriptor d = *descriptor;
    __ingot_air_left_memory<A, __ingot_air_matrix<A, PA>> left = {{a, (bool)d.transpose_left}};
    __ingot_air_right_memory<B, __ingot_air_matrix<B, PB>> right = {{b, (bool)d.transpose_right}};
    __ingot_air_view<C, PC> to(c);
    int k = __ingot_air_depth(d, left.source, right.source);
    int m = d.m >= 0 && d.m < to.extents[1] ? d.m : to.extents[1];
    int n = d.n >= 0 && d.n < to.extents[0] ? d.n : to.extents[0];
    if (threads < 32) {
        __ingot_air_fill_alone(left.source, right.source, to, m, n, k, d.mode == 1);
    } else {
        __ingot_air_fill(left, right, to, m, n, k, d.mode == 1, threads);
    }
}

/* ---- convolution2d: activations NHWC, weights HWIO, both with channels innermost ---- */

struct __ingot_air_convolution {
    int4 destination; /* channels, width, height, images */
    int4 source;
    int2 window; /* the kernel's width and height */
    int activation_layout, weights_layout;
    int2 strides, dilations;
    int groups;
    uchar relaxed;
    int mode;
};

__ingot_inline __ingot_air_shape __ingot_air_outputs(const thread __ingot_air_convolution *d) {
    int4 size = d->destination;
    return __ingot_air_shape(2, size.y * size.z * size.w, size.x, 0, false, false);
}

/* Channel, x, y and image of an element of the destination. Nothing asks whether an element is one:
 * those that are none are far outside. */
__ingot_inline void __ingot_air_output(const thread __ingot_air_convolution *d, uint element,
                                       thread int *at, uint threads) {
    __ingot_air_place place(__ingot_air_outputs(d), element, threads);
    int width = d->destination.y, height = d->destination.z;
    bool valid = place.row < (uint)(width * height * d->destination.w) &&
                 place.column < (uint)d->destination.x;
    int outside = 1 << 29;
    at[0] = valid ? (int)place.column : outside;
    at[1] = valid ? (int)place.row % width : outside;
    at[2] = valid ? (int)place.row / width % height : outside;
    at[3] = valid ? (int)place.row / (width * height) : outside;
}

/* One place of the window: rows are outputs, k is the channel. Pixel ceil((size - 1) * dilation /
 * 2) of the window lies on the output. */
template <class T> struct __ingot_air_activations {
    __ingot_air_view<T, device T *> view;
    int width, height;
    int2 strides, first;
    __ingot_inline T left(int row, int k) const {
        return view.get(k, first.x + row % width * strides.x,
                        first.y + row / width % height * strides.y, row / (width * height));
    }
};
template <class T> struct __ingot_air_weights {
    __ingot_air_view<T, device T *> view;
    int2 place;
    __ingot_inline T right(int k, int column) const {
        return view.get(column, k, place.x, place.y);
    }
};

template <class A, class B>
__ingot_inline void __ingot_air_convolve(const thread __ingot_air_convolution *descriptor,
                                         const thread __ingot_air_tensor *source,
                                         const thread __ingot_air_tensor *weights,
                                         thread float *elements, uint threads,
                                         const thread int2 *offsets) {
    __ingot_air_convolution d = *descriptor;
    __ingot_air_shape shape = __ingot_air_outputs(&d);
    __ingot_air_view<A, device A *> activations(source);
    uint steps = (uint)(activations.extents[0] + 15) / 16;
    if (d.mode != 1) {
#pragma unroll
        for (uint i = 0; i < shape.elements(threads); i++) {
            elements[i] = 0.0f;
        }
    }
    for (int y = 0; y < d.window.y; y++) {
        for (int x = 0; x < d.window.x; x++) {
            int2 first =
                *offsets + int2(x, y) * d.dilations - ((d.window - 1) * d.dilations + 1) / 2;
            __ingot_air_left_memory<A, __ingot_air_activations<A>> left = {
                {activations, d.destination.y, d.destination.z, d.strides, first}};
            __ingot_air_right_memory<B, __ingot_air_weights<B>> right = {{weights, int2(x, y)}};
            __ingot_air_multiply(left, right, shape, steps, (int)steps * 16, true, elements,
                                 threads);
        }
    }
}
