// log_softmax over the last dimension, and its backward. The maximum and the sum are found in one
// pass and the row is read again, from the cache, or once when KEEP blocks of it stay with the
// thread.
#include <metal_stdlib>
using namespace metal;
#include "common/few_columns.h"
#include "common/instantiate.h"
#include "common/online_softmax.h"
#include "log_softmax/log_softmax_args.h"

template <typename T, int KEEP>
[[max_total_threads_per_threadgroup(row_most_threads<KEEP, true, T, T>())]]
kernel void log_softmax(device const T *x [[buffer(0)]], device T *out [[buffer(1)]],
                        constant log_softmax_args &args [[buffer(2)]], ROW_POSITIONS) {
    threadgroup float row_shared[32];
    ulong row = ROW_NUMBER;
    if (row >= args.rows) {
        return;
    }
    x += row * args.x_stride;
    out += row * args.out_stride;
    uint columns = args.columns, blocks = row_loop<KEEP>(columns), me = ROW_THREAD;
    vec<T, 4> kept[KEEP ? KEEP : 1];
    if (KEEP) {
        row_fetch<KEEP>(x, columns, me, T(-INFINITY), kept);
    }
    online_softmax o = {-INFINITY, 0};
    for (uint b = 0; b < blocks; b++) {
        online_add(o, KEEP ? float4(kept[b]) : row_load(x, columns, b, me, -INFINITY));
    }
    float top = ROW_MAX(o.top), base = online_base(top);
    float rest = log(ROW_SUM(online_sum(o, top)));
    for (uint b = 0; b < blocks; b++) {
        float4 v = KEEP ? float4(kept[b]) : row_load(x, columns, b, me, 0);
        v = (v - base) - rest;
        if (KEEP) {
            kept[b] = vec<T, 4>(v);
        } else {
            row_store(out, columns, b, me, v, args.past_caches);
        }
    }
    if (KEEP) {
        row_put<KEEP>(out, columns, me, kept);
    }
}

// The same for rows of few columns.
template <typename T, uint CHUNKS>
kernel void log_softmax_few(device const T *x [[buffer(0)]], device T *out [[buffer(1)]],
                            constant log_softmax_args &args [[buffer(2)]], ROW_POSITIONS) {
    const few_place place = {ROW_NUMBER * few_rows<CHUNKS>::ROWS, args.rows, args.columns,
                             row_lane};
    if (place.first >= args.rows) {
        return;
    }
    few_ahead<CHUNKS>(x, args.x_stride, place);
    few_ahead<CHUNKS>(out, args.out_stride, place);
    few_rows<CHUNKS> v = few_load<CHUNKS>(x, args.x_stride, place, -INFINITY), e;
    float tops[v.ROWS], sums[v.ROWS];
    few_tops(v, tops);
    for (uint i = 0; i < v.ROWS; i++) {
        tops[i] = online_base(tops[i]);
        for (uint c = 0; c < CHUNKS; c++) {
            e.at[i][c] = fast::exp(v.at[i][c] - tops[i]);
        }
    }
    few_sums(e, sums);
    few_logs<v.ROWS>(sums, row_lane);
    for (uint i = 0; i < v.ROWS; i++) {
        for (uint c = 0; c < CHUNKS; c++) {
            v.at[i][c] = (v.at[i][c] - tops[i]) - sums[i];
        }
    }
    few_store(out, args.out_stride, place, v);
}

// dx = dy - exp(y) * sum(dy)
template <typename T>
kernel void log_softmax_backward(device const T *y [[buffer(0)]], device const T *dy [[buffer(1)]],
                                 device T *dx [[buffer(2)]],
                                 constant log_softmax_backward_args &args [[buffer(3)]],
                                 ROW_POSITIONS) {
    threadgroup float row_shared[32];
    ulong row = ROW_NUMBER;
    if (row >= args.rows) {
        return;
    }
    y += row * args.y_stride;
    dy += row * args.dy_stride;
    dx += row * args.dx_stride;
    uint columns = args.columns, blocks = row_blocks(columns), me = ROW_THREAD;
    float4 sums = 0;
    for (uint b = 0; b < blocks; b++) {
        sums += row_load(dy, columns, b, me, 0);
    }
    float sum = ROW_SUM(sum4(sums));
    for (uint b = 0; b < blocks; b++) {
        float4 p = fast::exp(row_load(y, columns, b, me, 0));
        row_store(dx, columns, b, me, fma(p, -sum, row_load(dy, columns, b, me, 0)),
                  args.past_caches);
    }
}

// The same for rows of few columns.
template <typename T, uint CHUNKS>
kernel void log_softmax_backward_few(device const T *y [[buffer(0)]],
                                     device const T *dy [[buffer(1)]], device T *dx [[buffer(2)]],
                                     constant log_softmax_backward_args &args [[buffer(3)]],
                                     ROW_POSITIONS) {
    const few_place place = {ROW_NUMBER * few_rows<CHUNKS>::ROWS, args.rows, args.columns,
                             row_lane};
    if (place.first >= args.rows) {
        return;
    }
    few_ahead<CHUNKS>(y, args.y_stride, place);
    few_ahead<CHUNKS>(dy, args.dy_stride, place);
    few_ahead<CHUNKS>(dx, args.dx_stride, place);
    const few_rows<CHUNKS> logs = few_load<CHUNKS>(y, args.y_stride, place);
    few_rows<CHUNKS> g = few_load<CHUNKS>(dy, args.dy_stride, place);
    float sums[g.ROWS];
    few_sums(g, sums);
    for (uint i = 0; i < g.ROWS; i++) {
        for (uint c = 0; c < CHUNKS; c++) {
            g.at[i][c] = fma(fast::exp(logs.at[i][c]), -sums[i], g.at[i][c]);
        }
    }
    few_store(dx, args.dx_stride, place, g);
}

#define INSTANTIATE_LOG_SOFTMAX(name, T)                                                           \
    INSTANTIATE_KERNEL("log_softmax_" name "_k0", log_softmax<T, 0>)                               \
    INSTANTIATE_KERNEL("log_softmax_" name "_k8", log_softmax<T, 8>)
INSTANTIATE_LOG_SOFTMAX("f32", float)
INSTANTIATE_LOG_SOFTMAX("f16", half)
INSTANTIATE_LOG_SOFTMAX("bf16", bfloat)
INSTANTIATE_FLOATS(log_softmax_backward)
INSTANTIATE_FEW(log_softmax_few, "1", 1)
INSTANTIATE_FEW(log_softmax_few, "2", 2)
INSTANTIATE_FEW(log_softmax_few, "4", 4)
INSTANTIATE_FEW(log_softmax_backward_few, "1", 1)
INSTANTIATE_FEW(log_softmax_backward_few, "2", 2)
