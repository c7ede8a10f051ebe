// cross_entropy: the loss and the gradient of the logits from one pass over the row for the sum of
// exponentials (common/online_softmax.h) and one for the gradient, which may overwrite the logits.
#include <metal_stdlib>
using namespace metal;
#include "common/instantiate.h"
#include "common/online_softmax.h"
#include "cross_entropy/cross_entropy_args.h"

inline long target_at(device const int *targets, constant cross_entropy_args &args, ulong row) {
    return args.wide_targets ? ((device const long *)targets)[row] : long(targets[row]);
}

// How many rows are not ignored. One SIMD-group.
kernel void cross_entropy_count(device const int *targets [[buffer(0)]],
                                device uint *counted [[buffer(1)]],
                                constant cross_entropy_args &args [[buffer(2)]],
                                uint lane [[thread_index_in_simdgroup]]) {
    uint count = 0;
    for (ulong first = 0; first < args.rows; first += 32) {
        if (first + lane < args.rows) {
            count += target_at(targets, args, first + lane) != args.ignore_index;
        }
    }
    count = simd_sum(count);
    if (lane == 0) {
        *counted = count;
    }
}

// The sum of the rows' losses, or their mean. One SIMD-group, four sums each.
template <typename L>
kernel void cross_entropy_reduce(device const float *losses [[buffer(0)]],
                                 device const uint *counted [[buffer(1)]],
                                 device L *loss [[buffer(2)]],
                                 constant cross_entropy_args &args [[buffer(3)]],
                                 uint lane [[thread_index_in_simdgroup]]) {
    float4 sums = 0;
    ulong full = args.rows / 128 * 128;
    for (ulong at = 0; at < full; at += 128) {
        device const float *four = losses + at + lane;
        sums += float4(four[0], four[32], four[64], four[96]);
    }
    for (ulong at = full + lane; at < args.rows; at += 32) {
        sums.x += losses[at];
    }
    float sum = simd_sum(sum4(sums));
    if (lane == 0) {
        *loss = L(args.mean ? sum / float(*counted) : sum);
    }
}

template <typename T>
inline void fill_row(device T *row, uint columns, uint blocks, uint me, float value) {
    for (uint b = 0; b < blocks; b++) {
        row_store(row, columns, b, me, float4(value));
    }
}

// With p = softmax(logits), s the smoothing and g what comes from above: dlogits = g * (p - s /
// V), less g * (1 - s) at the target.
template <typename T, typename L>
kernel void cross_entropy(device const T *logits [[buffer(0)]],
                          device const int *targets [[buffer(1)]],
                          device L *losses [[buffer(2)]],
                          device T *dlogits [[buffer(3)]],
                          device const float *dloss [[buffer(4)]],
                          device const uint *counted [[buffer(5)]],
                          constant cross_entropy_args &args [[buffer(6)]],
                          ROW_POSITIONS) {
    threadgroup float row_shared[32];
    ulong row = ROW_NUMBER;
    if (row >= args.rows) {
        return;
    }
    logits += row * args.logits_stride;
    dlogits += row * args.dlogits_stride;
    uint columns = args.columns, blocks = row_blocks(columns), me = ROW_THREAD;
    long target = target_at(targets, args, row);
    bool ignored = target == args.ignore_index;
    if (ignored || target < 0 || target >= long(columns)) {
        float value = ignored ? 0.0f : NAN;
        if (args.save_loss && me == 0) {
            losses[row] = L(value);
        }
        if (args.save_gradient) {
            fill_row(dlogits, columns, blocks, me, value);
        }
        return;
    }
    float chosen = float(logits[target]), smoothing = args.label_smoothing;
    online_softmax o = {-INFINITY, 0};
    float4 sums = 0;
    if (smoothing == 0) {
        for (uint b = 0; b < blocks; b++) {
            online_add(o, row_load(logits, columns, b, me, -INFINITY));
        }
    } else {
        for (uint b = 0; b < blocks; b++) {
            float4 v = row_load(logits, columns, b, me, -INFINITY);
            online_add(o, v);
            sums += row_before(v, columns, b, me, 0);
        }
    }
    float top = ROW_MAX(o.top), base = online_base(top), total = ROW_SUM(online_sum(o, top));
    float loss = base - chosen;
    if (smoothing != 0) {
        loss = (1 - smoothing) * loss + smoothing * (base - ROW_SUM(sum4(sums)) / columns);
    }
    if (args.save_loss && me == 0) {
        losses[row] = L(loss + log(total));
    }
    if (!args.save_gradient) {
        return;
    }
    if (logits == dlogits) { /* all have loaded `chosen` before its thread stores there */
        if (ROW_SIMDS == 1) {
            simdgroup_barrier(mem_flags::mem_device);
        } else {
            threadgroup_barrier(mem_flags::mem_device);
        }
    }
    float g = args.has_dloss ? dloss[args.has_dloss == 2 ? row : 0] : 1.0f;
    if (args.mean) {
        g /= float(*counted);
    }
    float scale = g / total, less = g * smoothing / columns, at_target = g * (1 - smoothing);
    uint target_block = uint(target) / ROW_STEP;
    for (uint b = 0; b < blocks; b++) {
        float4 v = row_load(logits, columns, b, me, -INFINITY);
        v = fma(fast::exp(v - base), scale, -less);
        if (b == target_block) {
            for (uint i = 0; i < 4; i++) {
                if (row_column(b, me, i) == uint(target)) {
                    v[i] -= at_target;
                }
            }
        }
        row_store(dlogits, columns, b, me, v);
    }
}

INSTANTIATE_KERNEL("cross_entropy_f32_f32", cross_entropy<float, float>)
INSTANTIATE_KERNEL("cross_entropy_f16_f16", cross_entropy<half, half>)
INSTANTIATE_KERNEL("cross_entropy_f16_f32", cross_entropy<half, float>)
INSTANTIATE_KERNEL("cross_entropy_bf16_bf16", cross_entropy<bfloat, bfloat>)
INSTANTIATE_KERNEL("cross_entropy_bf16_f32", cross_entropy<bfloat, float>)
INSTANTIATE_FLOATS(cross_entropy_reduce)
