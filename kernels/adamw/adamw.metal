// Adam and AdamW over a table of parameters, and the norm of all their gradients. The SIMD-groups of
// one launch share the blocks of all parameters; each finds its block's parameter by bisection.
#include <metal_stdlib>
using namespace metal;
#include "adamw/adamw_args.h"
#include "common/instantiate.h"
#include "common/elementwise.h"
#include "common/reduce.h"

constant bool adam_master [[function_constant(1)]];  // float32 copies of the parameters
constant bool adam_amsgrad [[function_constant(2)]]; // the largest second moment so far
constant uint norm_simds [[function_constant(3)]];   // SIMD-groups that add the blocks' sums up
constant bool adam_stays [[function_constant(4)]];   // what is loaded, in caches: see memory_hints.h

// The last entry that begins at or before the block. Lanes of a GPU look at 32 places at once.
static constant adam_entry &entry_of(constant adam_entry *table, ulong entries, ulong number,
                                     uint lane) {
    ulong low = 0, high = entries;
    while (line_wide && high - low > 1) {
        ulong step = (high - low + 31) / 32, at = low + lane * step;
        bool begins = at < high && table[at].first_block <= number;
        low += (popcount(uint(ulong(simd_vote::vote_t(simd_ballot(begins))))) - 1) * step;
        high = min(low + step, high);
    }
    while (high - low > 1) {
        ulong middle = (low + high) / 2;
        if (table[middle].first_block <= number)
            low = middle;
        else
            high = middle;
    }
    return table[low];
}

template <typename V> struct adam_state {
    V param, exp_avg, exp_avg_sq, max_exp_avg_sq;
};

template <typename V>
static void adam_step(thread adam_state<V> &a, V grad, float scale, constant adam_args &args) {
    grad = fma(V(args.l2), a.param, grad * scale);
    V param = a.param * args.decay;
    a.exp_avg = fma(V(args.beta1_rest), grad - a.exp_avg, a.exp_avg);
    a.exp_avg_sq = fma(V(args.beta2), a.exp_avg_sq, args.beta2_rest * grad * grad);
    V second = a.exp_avg_sq;
    if (adam_amsgrad) {
        a.max_exp_avg_sq = max(a.max_exp_avg_sq, second);
        second = a.max_exp_avg_sq;
    }
    a.param = param - args.step_size * (a.exp_avg / (sqrt(second * args.bias2) + args.eps));
}

template <typename T> static float4 adam_load(device const T *at, uint lane) {
    return elements_load(adam_stays ? evict_last(at) : at, lane);
}

// N steps of 128 elements: all of them are loaded before the first is stored.
template <uint N, typename P, typename G>
static void adam_steps(device P *param, device const G *grad, device float *exp_avg,
                       device float *exp_avg_sq, device float *largest, device float *master,
                       ulong at, uint lane, float scale, constant adam_args &args) {
    adam_state<float4> a[N];
    float4 g[N];
#pragma unroll
    for (uint i = 0; i < N; i++) {
        const ulong from = at + i * ELEMENTS_STEP;
        a[i].param = adam_master ? adam_load(master + from, lane) : adam_load(param + from, lane);
        a[i].exp_avg = adam_load(exp_avg + from, lane);
        a[i].exp_avg_sq = adam_load(exp_avg_sq + from, lane);
        if (adam_amsgrad)
            a[i].max_exp_avg_sq = adam_load(largest + from, lane);
        g[i] = adam_load(grad + from, lane);
    }
#pragma unroll
    for (uint i = 0; i < N; i++)
        adam_step(a[i], g[i], scale, args);
#pragma unroll
    for (uint i = 0; i < N; i++) {
        const ulong to = at + i * ELEMENTS_STEP;
        if (adam_master)
            elements_store(master + to, lane, a[i].param);
        elements_store(param + to, lane, a[i].param);
        elements_store(exp_avg + to, lane, a[i].exp_avg);
        elements_store(exp_avg_sq + to, lane, a[i].exp_avg_sq);
        if (adam_amsgrad)
            elements_store(largest + to, lane, a[i].max_exp_avg_sq);
    }
}

constant constexpr uint ADAM_STEPS = 2;
constant constexpr uint ADAM_THREADS_AT_ONCE = 768; // 80 registers each

template <typename P, typename G>
[[max_total_threads_per_threadgroup(512)]]
kernel void adam(constant adam_entry *table [[buffer(0)]], device const float *norm [[buffer(1)]],
                 constant adam_args &args [[buffer(2)]],
                 uint2 group [[threadgroup_position_in_grid]],
                 uint2 groups [[threadgroups_per_grid]],
                 uint simd [[simdgroup_index_in_threadgroup]],
                 uint simds [[simdgroups_per_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]]) {
    memory_bound<P>();
    threads_at_once(line_wide && !adam_master && !adam_amsgrad ? ADAM_THREADS_AT_ONCE : 0);
    ulong number = simdgroup_number(group, groups, simd, simds);
    if (number >= args.blocks)
        return;
    constant adam_entry &entry = entry_of(table, args.entries, number, lane);
    device P *param = (device P *)entry.param;
    device const G *grad = (device const G *)entry.grad;
    device float *exp_avg = entry.exp_avg, *exp_avg_sq = entry.exp_avg_sq;
    device float *largest = entry.max_exp_avg_sq, *master = entry.master;
    float scale = args.grad_scale;
    if (args.max_norm > 0)
        scale *= min(1.0f, args.max_norm / (norm[0] + ADAM_NORM_EPS));
    ulong at = (number - entry.first_block) * args.block;
    ulong end = min(at + args.block, ulong(entry.count));
    for (; line_wide && at + ADAM_STEPS * ELEMENTS_STEP <= end; at += ADAM_STEPS * ELEMENTS_STEP)
        adam_steps<ADAM_STEPS>(param, grad, exp_avg, exp_avg_sq, largest, master, at, lane, scale,
                               args);
    for (; at + ELEMENTS_STEP <= end; at += ELEMENTS_STEP)
        adam_steps<1>(param, grad, exp_avg, exp_avg_sq, largest, master, at, lane, scale, args);
    for (at += lane; at < end; at += 32) {
        adam_state<float> a;
        a.param = adam_master ? master[at] : float(param[at]);
        a.exp_avg = exp_avg[at];
        a.exp_avg_sq = exp_avg_sq[at];
        if (adam_amsgrad)
            a.max_exp_avg_sq = largest[at];
        adam_step(a, float(grad[at]), scale, args);
        if (adam_master)
            master[at] = a.param;
        param[at] = P(a.param);
        exp_avg[at] = a.exp_avg;
        exp_avg_sq[at] = a.exp_avg_sq;
        if (adam_amsgrad)
            largest[at] = a.max_exp_avg_sq;
    }
}
INSTANTIATE_KERNEL("adam_f32_f32", adam<float, float>)
INSTANTIATE_KERNEL("adam_f16_f16", adam<half, half>)
INSTANTIATE_KERNEL("adam_f16_f32", adam<half, float>)
INSTANTIATE_KERNEL("adam_bf16_bf16", adam<bfloat, bfloat>)
INSTANTIATE_KERNEL("adam_bf16_f32", adam<bfloat, float>)

template <typename G>
static float sum_of_squares(device const uchar *bytes, ulong at, ulong end, uint lane) {
    device const G *grad = (device const G *)bytes;
    float4 sums = 0;
    for (; line_wide && at + 4 * ELEMENTS_STEP <= end; at += 4 * ELEMENTS_STEP) {
        float4 g[4]; // four loads under way
        for (uint i = 0; i < 4; i++)
            g[i] = elements_load(grad + at + i * ELEMENTS_STEP, lane);
        for (uint i = 0; i < 4; i++)
            sums = fma(g[i], g[i], sums);
    }
    for (; at + ELEMENTS_STEP <= end; at += ELEMENTS_STEP) {
        float4 g = elements_load(grad + at, lane);
        sums = fma(g, g, sums);
    }
    float sum = sum4(sums);
    for (at += lane; at < end; at += 32)
        sum = fma(float(grad[at]), float(grad[at]), sum);
    return simd_sum(sum);
}

// The sum of squares of each block.
kernel void grad_norm_blocks(constant adam_entry *table [[buffer(0)]],
                             device float *sums [[buffer(1)]],
                             constant adam_args &args [[buffer(2)]],
                             uint2 group [[threadgroup_position_in_grid]],
                             uint2 groups [[threadgroups_per_grid]],
                             uint simd [[simdgroup_index_in_threadgroup]],
                             uint simds [[simdgroups_per_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]]) {
    ulong number = simdgroup_number(group, groups, simd, simds);
    if (number >= args.blocks)
        return;
    constant adam_entry &entry = entry_of(table, args.entries, number, lane);
    ulong at = (number - entry.first_block) * args.block;
    ulong end = min(at + args.block, ulong(entry.count));
    float sum = entry.grad_type == 0   ? sum_of_squares<float>(entry.grad, at, end, lane)
                : entry.grad_type == 1 ? sum_of_squares<half>(entry.grad, at, end, lane)
                                       : sum_of_squares<bfloat>(entry.grad, at, end, lane);
    if (lane == 0)
        sums[number] = sum;
}

// The root of the sum of the blocks, by one threadgroup in a fixed order.
kernel void grad_norm_end(device const float *sums [[buffer(0)]], device float *norm [[buffer(1)]],
                          constant adam_args &args [[buffer(2)]],
                          uint simd [[simdgroup_index_in_threadgroup]],
                          uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float shared[32];
    const ulong step = norm_simds * 32;
    float sum = 0, others[3] = {0, 0, 0};
    ulong i = simd * 32 + lane;
    for (; norm_simds > 1 && i + 3 * step < args.blocks; i += 4 * step) {
        sum += sums[i];
        for (uint k = 0; k < 3; k++)
            others[k] += sums[i + (k + 1) * step];
    }
    for (; i < args.blocks; i += step)
        sum += sums[i];
    sum = sum_over(norm_simds, (sum + others[0]) + (others[1] + others[2]), shared, simd, lane);
    if (simd == 0 && lane == 0)
        norm[0] = sqrt(sum);
}
