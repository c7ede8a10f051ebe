// softmax(x * scale + mask) over the last dimension, and its backward. A row that fits into KEEP
// blocks is read once and its exponentials are computed once; a longer one is read again, from the
// cache.
#include <metal_stdlib>
using namespace metal;
#include "common/few_columns.h"
#include "common/instantiate.h"
#include "common/online_softmax.h"
#include "softmax/softmax_args.h"

struct no_mask {};

// How many columns of the row take part.
inline uint row_length(constant softmax_args &args, ulong row) {
    if (!args.causal) {
        return args.columns;
    }
    long end = long(row % args.queries) + args.causal_offset + 1;
    return uint(clamp(end, 0L, long(args.columns)));
}

inline ulong mask_offset(constant softmax_args &args, ulong row) {
    ulong c = row % args.mask_extents[1], rest = row / args.mask_extents[1];
    ulong b = rest % args.mask_extents[0], a = rest / args.mask_extents[0];
    return a * args.mask_strides[0] + b * args.mask_strides[1] + c * args.mask_strides[2];
}

// A block of x scaled, and -infinity where the mask says so.
template <typename M>
inline float4 masked(float4 v, device const M *mask, constant softmax_args &args, uint block,
                     uint me) {
    v *= args.scale;
    if constexpr (is_same_v<M, bool>) {
        float4 allowed = row_load(mask, args.columns, block, me, 0);
        v = select(float4(-INFINITY), v, allowed != 0.0f);
    } else if constexpr (!is_same_v<M, no_mask>) {
        v += row_load(mask, args.columns, block, me, 0);
    }
    return v;
}

// The scores of a block of x, -infinity where nothing takes part.
template <typename M>
inline float4 scores_of(float4 v, device const M *mask, constant softmax_args &args, uint length,
                        uint block, uint me) {
    return row_before(masked(v, mask, args, block, me), length, block, me, -INFINITY);
}

template <typename T, typename M>
inline float4 load_scores(device const T *x, device const M *mask, constant softmax_args &args,
                          uint length, uint block, uint me) {
    return scores_of(row_load(x, args.columns, block, me, 0), mask, args, length, block, me);
}

// The same of a row in registers, and the greatest score of this thread. Where the whole row takes
// part, nothing asks for its end.
template <int KEEP, typename T, typename M>
inline float keep_scores(thread float4 *kept, thread const vec<T, 4> *raw, device const M *mask,
                         constant softmax_args &args, uint length, uint me) {
    for (uint b = 0; b < KEEP; b++) {
        kept[b] = masked(float4(raw[b]), mask, args, b, me);
    }
    if (!ROW_FULL || length < args.columns) {
        for (uint b = 0; b < KEEP; b++) {
            kept[b] = row_before(kept[b], length, b, me, -INFINITY);
        }
    }
    float4 top = kept[0];
    for (uint b = 1; b < KEEP; b++) {
        top = fmax(top, kept[b]);
    }
    return fmax(fmax(top.x, top.y), fmax(top.z, top.w));
}

// e^x; the results of 16-bit types need fewer of its digits.
template <typename T> inline float4 exponential(float4 x) {
    return sizeof(T) == 2 ? fast::exp2(x * 1.44269504f) : fast::exp(x);
}

template <typename T, typename M, int KEEP>
[[max_total_threads_per_threadgroup(row_most_threads<KEEP, true, T, T>())]]
kernel void softmax(device const T *x [[buffer(0)]], device const M *mask [[buffer(1)]],
                    device T *out [[buffer(2)]], constant softmax_args &args [[buffer(3)]],
                    ROW_POSITIONS) {
    threads_at_once(KEEP == 4 && ROW_SIMDS == 16 ? ROW_THREADS_AT_ONCE : 0);
    threadgroup float row_shared[32];
    ulong row = ROW_NUMBER;
    if (row >= args.rows) {
        return;
    }
    x += row * args.x_stride;
    out += row * args.out_stride;
    if (!is_same_v<M, no_mask>) {
        mask += mask_offset(args, row);
    }
    uint columns = args.columns, length = row_length(args, row), me = ROW_THREAD;
    uint blocks = row_loop<KEEP>(length), all = row_blocks(columns);
    constexpr bool in_registers = row_in_registers<KEEP>();
    float4 kept[KEEP ? KEEP : 1];
    vec<T, 4> raw[in_registers ? KEEP : 1]; // of x, and then of the result
    float base, scale;
    if (in_registers) {
        row_fetch<in_registers ? KEEP : 0>(x, columns, me, T(0), raw);
        float top = keep_scores<in_registers ? KEEP : 0>(kept, raw, mask, args, length, me);
        base = online_base(ROW_MAX(top));
        float4 sum = 0;
        for (uint b = 0; b < blocks; b++) {
            kept[b] = exponential<T>(kept[b] - base);
            sum += kept[b];
        }
        scale = 1 / ROW_SUM(sum4(sum));
    } else if (KEEP) {
        float top = -INFINITY;
        for (uint b = 0; b < blocks; b++) {
            kept[b] = load_scores(x, mask, args, length, b, me);
            top = greater(max4(kept[b]), top);
        }
        base = online_base(ROW_MAX(top));
        float4 sum = 0;
        for (uint b = 0; b < blocks; b++) {
            float4 e = fast::exp(kept[b] - base);
            sum += e;
            kept[b] = e;
        }
        scale = 1 / ROW_SUM(sum4(sum));
    } else {
        online_softmax o = {-INFINITY, 0};
        for (uint b = 0; b < blocks; b++) {
            online_add(o, load_scores(x, mask, args, length, b, me));
        }
        float top = ROW_MAX(o.top);
        base = online_base(top);
        scale = 1 / ROW_SUM(online_sum(o, top));
    }
    for (uint b = 0; b < blocks; b++) {
        float4 e = KEEP ? kept[b] : fast::exp(load_scores(x, mask, args, length, b, me) - base);
        if (in_registers) {
            raw[b] = vec<T, 4>(e * scale);
        } else {
            row_store(out, columns, b, me, e * scale, args.past_caches);
        }
    }
    if (in_registers) {
        row_put<in_registers ? KEEP : 0>(out, columns, me, raw);
    }
    float4 rest = length ? 0.0f : NAN;
    for (uint b = blocks; b < all; b++) {
        row_store(out, columns, b, me, rest);
    }
}

// The same for rows of few columns, all of which take part.
template <typename T, uint CHUNKS>
kernel void softmax_few(device const T *x [[buffer(0)]], device T *out [[buffer(1)]],
                        constant softmax_args &args [[buffer(2)]], ROW_POSITIONS) {
    const few_place place = {ROW_NUMBER * few_rows<CHUNKS>::ROWS, args.rows, args.columns,
                             row_lane};
    if (place.first >= args.rows) {
        return;
    }
    few_ahead<CHUNKS>(x, args.x_stride, place);
    few_ahead<CHUNKS>(out, args.out_stride, place);
    few_rows<CHUNKS> v = few_load<CHUNKS>(x, args.x_stride, place);
    float tops[v.ROWS], sums[v.ROWS];
    for (uint i = 0; i < v.ROWS; i++) {
        for (uint c = 0; c < CHUNKS; c++) {
            const bool inside = c * 32 + row_lane < args.columns;
            v.at[i][c] = inside ? v.at[i][c] * args.scale : -INFINITY;
        }
    }
    few_tops(v, tops);
    for (uint i = 0; i < v.ROWS; i++) {
        tops[i] = online_base(tops[i]);
        for (uint c = 0; c < CHUNKS; c++) {
            v.at[i][c] = fast::exp(v.at[i][c] - tops[i]);
        }
    }
    few_sums(v, sums);
    for (uint i = 0; i < v.ROWS; i++) {
        const float scale = 1 / sums[i];
        for (uint c = 0; c < CHUNKS; c++) {
            v.at[i][c] *= scale;
        }
    }
    few_store(out, args.out_stride, place, v);
}

// dx = scale * y * (dy - sum(y * dy))
template <typename T>
kernel void softmax_backward(device const T *y [[buffer(0)]], device const T *dy [[buffer(1)]],
                             device T *dx [[buffer(2)]],
                             constant softmax_backward_args &args [[buffer(3)]], ROW_POSITIONS) {
    memory_bound<T>();
    threadgroup float row_shared[32];
    ulong row = ROW_NUMBER;
    if (row >= args.rows) {
        return;
    }
    y += row * args.y_stride;
    dy += row * args.dy_stride;
    dx += row * args.dx_stride;
    uint columns = args.columns, blocks = row_blocks(columns), me = ROW_THREAD;
    float4 products = 0;
    for (uint b = 0; b < blocks; b++) {
        products = fma(row_load(y, columns, b, me, 0), row_load(dy, columns, b, me, 0), products);
    }
    float product = ROW_SUM(sum4(products));
    for (uint b = 0; b < blocks; b++) {
        float4 p = row_load(y, columns, b, me, 0), g = row_load(dy, columns, b, me, 0);
        row_store(dx, columns, b, me, p * ((g - product) * args.scale), args.past_caches);
    }
}

// The same for rows of few columns.
template <typename T, uint CHUNKS>
kernel void softmax_backward_few(device const T *y [[buffer(0)]], device const T *dy [[buffer(1)]],
                                 device T *dx [[buffer(2)]],
                                 constant softmax_backward_args &args [[buffer(3)]],
                                 ROW_POSITIONS) {
    const few_place place = {ROW_NUMBER * few_rows<CHUNKS>::ROWS, args.rows, args.columns,
                             row_lane};
    if (place.first >= args.rows) {
        return;
    }
    few_ahead<CHUNKS>(y, args.y_stride, place);
    few_ahead<CHUNKS>(dy, args.dy_stride, place);
    few_ahead<CHUNKS>(dx, args.dx_stride, place);
    const few_rows<CHUNKS> p = few_load<CHUNKS>(y, args.y_stride, place);
    few_rows<CHUNKS> g = few_load<CHUNKS>(dy, args.dy_stride, place), products;
    float sums[g.ROWS];
    for (uint i = 0; i < g.ROWS; i++) {
        for (uint c = 0; c < CHUNKS; c++) {
            products.at[i][c] = p.at[i][c] * g.at[i][c];
        }
    }
    few_sums(products, sums);
    for (uint i = 0; i < g.ROWS; i++) {
        for (uint c = 0; c < CHUNKS; c++) {
            g.at[i][c] = p.at[i][c] * ((g.at[i][c] - sums[i]) * args.scale);
        }
    }
    few_store(dx, args.dx_stride, place, g);
}

#define INSTANTIATE_SOFTMAX(names, ...)                                                            \
    INSTANTIATE_KERNEL("softmax_" names "_k0", softmax<__VA_ARGS__, 0>)                            \
    INSTANTIATE_KERNEL("softmax_" names "_k4", softmax<__VA_ARGS__, 4>)                            \
    INSTANTIATE_KERNEL("softmax_" names "_k8", softmax<__VA_ARGS__, 8>)                            \
    INSTANTIATE_KERNEL("softmax_" names "_k64", softmax<__VA_ARGS__, 64>)
#define INSTANTIATE_SOFTMAX_TYPE(name, T)                                                          \
    INSTANTIATE_SOFTMAX(name "_none", T, no_mask)                                                  \
    INSTANTIATE_SOFTMAX(name "_bool", T, bool)                                                     \
    INSTANTIATE_SOFTMAX(name "_f32", T, float)
INSTANTIATE_SOFTMAX_TYPE("f32", float)
INSTANTIATE_SOFTMAX_TYPE("f16", half)
INSTANTIATE_SOFTMAX_TYPE("bf16", bfloat)
INSTANTIATE_SOFTMAX("f16_f16", half, half)
INSTANTIATE_SOFTMAX("bf16_bf16", bfloat, bfloat)
INSTANTIATE_FLOATS(softmax_backward)
INSTANTIATE_FEW(softmax_few, "1", 1)
INSTANTIATE_FEW(softmax_few, "2", 2)
INSTANTIATE_FEW(softmax_few, "4", 4)
INSTANTIATE_FEW(softmax_backward_few, "1", 1)
INSTANTIATE_FEW(softmax_backward_few, "2", 2)
