// Activations and their gradients, alone and times a second input. The arithmetic is in float, and
// results are rounded once. A SIMD-group walks its block of a row in steps of 128 elements, and the
// rest of it 32 at a time.
#include <metal_stdlib>
using namespace metal;
#include "common/activation.h"
#include "common/instantiate.h"
#include "common/elementwise.h"
#include "pointwise/pointwise_args.h"

// Of a threadgroup; they leave a thread 64 or 80 registers on GPUs that share them out, enough for
// all its loads to be under way at once.
constant constexpr uint MOST_THREADS = 992, MOST_THREADS_MUL = 768;

// Of an activation alone: steps that are loaded at once, 1, 2 or 4.
constant uint line_steps [[function_constant(1)]];
constant bool line_dense [[function_constant(2)]]; // there is one row

struct pointwise_block {
    ulong row, start, end;
};

static pointwise_block block_of(constant pointwise_args &args, ulong number) {
    pointwise_block b;
    if (line_dense) {
        b.row = 0;
        b.start = number * args.block;
        b.end = min(b.start + args.block, ulong(args.row));
        return b;
    }
    b.row = args.blocks == 1 ? number : args.rows == 1 ? 0 : number / args.blocks;
    b.start = (number - b.row * args.blocks) * args.block;
    b.end = b.row < args.rows ? min(b.start + args.block, ulong(args.row)) : 0;
    return b;
}

#define POSITIONS                                                                                  \
    uint2 group [[threadgroup_position_in_grid]], uint2 groups [[threadgroups_per_grid]],          \
        uint simd [[simdgroup_index_in_threadgroup]],                                              \
        uint simds [[simdgroups_per_threadgroup]], uint lane [[thread_index_in_simdgroup]]

// N steps of 128 elements: all of them are loaded before the first is stored.
template <uint N, typename F, typename T>
static void forward_steps(device const T *x, device T *out, uint lane, uint past_caches) {
    float4 v[N];
#pragma unroll
    for (uint i = 0; i < N; i++)
        v[i] = elements_load(x + i * ELEMENTS_STEP, lane);
#pragma unroll
    for (uint i = 0; i < N; i++)
        elements_store(out + i * ELEMENTS_STEP, lane, F::value(v[i]), past_caches);
}

// The same of a 16-bit type whose memory is aligned to 16 bytes, two steps to a load.
template <uint N, typename F, typename T>
static void forward_eights(device const T *x, device T *out, uint lane) {
    float4 v[2 * N];
#pragma unroll
    for (uint i = 0; i < N; i++)
        elements_load_eight(x + i * 2 * ELEMENTS_STEP, lane, v + 2 * i);
#pragma unroll
    for (uint i = 0; i < N; i++)
        elements_store_eight(out + i * 2 * ELEMENTS_STEP, lane, F::value(v[2 * i]),
                         F::value(v[2 * i + 1]));
}

// All steps of N at a time.
template <uint N, typename F, typename T>
static void forward_all(device const T *x, device T *out, thread ulong &at, ulong end, uint lane,
                        constant pointwise_args &args) {
    constexpr uint eights = 2 * N * ELEMENTS_STEP, fours = N * ELEMENTS_STEP;
    if constexpr (sizeof(T) == 2) {
        for (; args.eights && at + eights <= end; at += eights)
            forward_eights<N, F>(x + at, out + at, lane);
    }
    for (; at + fours <= end; at += fours)
        forward_steps<N, F>(x + at, out + at, lane, args.past_caches);
}

template <typename T, typename F>
[[max_total_threads_per_threadgroup(MOST_THREADS)]]
kernel void forward(device const T *x [[buffer(0)]], device T *out [[buffer(1)]],
                    constant pointwise_args &args [[buffer(2)]], POSITIONS) {
    threads_at_once(sizeof(T) == 4 && line_wide && line_steps == 2 ? 1632 : 0);
    pointwise_block b = block_of(args, simdgroup_number(group, groups, simd, simds));
    x += b.row * args.strides[0];
    out += b.row * args.strides[1];
    ulong at = b.start;
    if (line_wide && line_steps == 4)
        forward_all<4, F>(x, out, at, b.end, lane, args);
    if (line_wide && line_steps == 2)
        forward_all<2, F>(x, out, at, b.end, lane, args);
    if (line_wide && line_steps == 1)
        forward_all<1, F>(x, out, at, b.end, lane, args);
    for (; at + ELEMENTS_STEP <= b.end; at += ELEMENTS_STEP)
        forward_steps<1, F>(x + at, out + at, lane, args.past_caches);
    for (at += lane; at < b.end; at += 32)
        out[at] = T(F::value(float(x[at])));
}

template <typename F, typename V> static V gradient(V x, V d_out) {
    V value, slope;
    F::both(x, value, slope);
    return d_out * slope;
}

template <uint N, typename F, typename T>
static void backward_steps(device const T *x, device const T *d_out, device T *d_x, uint lane,
                           uint past_caches) {
    float4 v[N], d[N];
#pragma unroll
    for (uint i = 0; i < N; i++) {
        v[i] = elements_load(x + i * ELEMENTS_STEP, lane);
        d[i] = elements_load(d_out + i * ELEMENTS_STEP, lane);
    }
#pragma unroll
    for (uint i = 0; i < N; i++)
        elements_store(d_x + i * ELEMENTS_STEP, lane, gradient<F>(v[i], d[i]), past_caches);
}

template <typename T, typename F>
kernel void backward(device const T *x [[buffer(0)]], device const T *d_out [[buffer(1)]],
                     device T *d_x [[buffer(2)]], constant pointwise_args &args [[buffer(3)]],
                     POSITIONS) {
    pointwise_block b = block_of(args, simdgroup_number(group, groups, simd, simds));
    x += b.row * args.strides[0];
    d_out += b.row * args.strides[1];
    d_x += b.row * args.strides[2];
    ulong at = b.start;
    for (; line_wide && at + 4 * ELEMENTS_STEP <= b.end; at += 4 * ELEMENTS_STEP)
        backward_steps<4, F>(x + at, d_out + at, d_x + at, lane, args.past_caches);
    for (; at + ELEMENTS_STEP <= b.end; at += ELEMENTS_STEP)
        backward_steps<1, F>(x + at, d_out + at, d_x + at, lane, args.past_caches);
    for (at += lane; at < b.end; at += 32)
        d_x[at] = T(gradient<F>(float(x[at]), float(d_out[at])));
}

template <uint N, typename F, typename T>
static void mul_forward_steps(device const T *gate, device const T *up, device T *out, uint lane,
                              uint past_caches) {
    float4 g[N], u[N];
#pragma unroll
    for (uint i = 0; i < N; i++) {
        g[i] = elements_load(gate + i * ELEMENTS_STEP, lane);
        u[i] = elements_load(up + i * ELEMENTS_STEP, lane);
    }
#pragma unroll
    for (uint i = 0; i < N; i++)
        elements_store(out + i * ELEMENTS_STEP, lane, F::value(g[i]) * u[i], past_caches);
}

template <uint N, typename F, typename T>
static void mul_forward_eights(device const T *gate, device const T *up, device T *out, uint lane) {
    float4 g[2 * N], u[2 * N];
#pragma unroll
    for (uint i = 0; i < N; i++) {
        elements_load_eight(gate + i * 2 * ELEMENTS_STEP, lane, g + 2 * i);
        elements_load_eight(up + i * 2 * ELEMENTS_STEP, lane, u + 2 * i);
    }
#pragma unroll
    for (uint i = 0; i < N; i++)
        elements_store_eight(out + i * 2 * ELEMENTS_STEP, lane, F::value(g[2 * i]) * u[2 * i],
                         F::value(g[2 * i + 1]) * u[2 * i + 1]);
}

template <typename T, typename F>
[[max_total_threads_per_threadgroup(MOST_THREADS_MUL)]]
kernel void mul_forward(device const T *gate [[buffer(0)]], device const T *up [[buffer(1)]],
                        device T *out [[buffer(2)]], constant pointwise_args &args [[buffer(3)]],
                        POSITIONS) {
    pointwise_block b = block_of(args, simdgroup_number(group, groups, simd, simds));
    gate += b.row * args.strides[0];
    up += b.row * args.strides[1];
    out += b.row * args.strides[2];
    ulong at = b.start;
    if constexpr (sizeof(T) == 2) {
        for (; line_wide && args.eights && at + 4 * ELEMENTS_STEP <= b.end; at += 4 * ELEMENTS_STEP)
            mul_forward_eights<2, F>(gate + at, up + at, out + at, lane);
    }
    for (; line_wide && at + 4 * ELEMENTS_STEP <= b.end; at += 4 * ELEMENTS_STEP)
        mul_forward_steps<4, F>(gate + at, up + at, out + at, lane, args.past_caches);
    for (; at + ELEMENTS_STEP <= b.end; at += ELEMENTS_STEP)
        mul_forward_steps<1, F>(gate + at, up + at, out + at, lane, args.past_caches);
    for (at += lane; at < b.end; at += 32)
        out[at] = T(F::value(float(gate[at])) * float(up[at]));
}

template <typename F, typename V>
static void mul_gradient(V gate, V up, V d_out, thread V &d_gate, thread V &d_up) {
    V value, slope;
    F::both(gate, value, slope);
    d_gate = d_out * up * slope;
    d_up = d_out * value;
}

template <typename T, typename F>
kernel void mul_backward(device const T *gate [[buffer(0)]], device const T *up [[buffer(1)]],
                         device const T *d_out [[buffer(2)]], device T *d_gate [[buffer(3)]],
                         device T *d_up [[buffer(4)]], constant pointwise_args &args [[buffer(5)]],
                         POSITIONS) {
    pointwise_block b = block_of(args, simdgroup_number(group, groups, simd, simds));
    gate += b.row * args.strides[0];
    up += b.row * args.strides[1];
    d_out += b.row * args.strides[2];
    d_gate += b.row * args.strides[3];
    d_up += b.row * args.strides[4];
    ulong at = b.start;
    for (; at + ELEMENTS_STEP <= b.end; at += ELEMENTS_STEP) {
        float4 by_gate, by_up;
        mul_gradient<F>(elements_load(gate + at, lane), elements_load(up + at, lane),
                        elements_load(d_out + at, lane), by_gate, by_up);
        elements_store(d_gate + at, lane, by_gate, args.past_caches);
        elements_store(d_up + at, lane, by_up, args.past_caches);
    }
    for (at += lane; at < b.end; at += 32) {
        float by_gate, by_up;
        mul_gradient<F>(float(gate[at]), float(up[at]), float(d_out[at]), by_gate, by_up);
        d_gate[at] = T(by_gate);
        d_up[at] = T(by_up);
    }
}

// Values: devices that do not want vectors are CPUs
template <typename WIDE, typename PLAIN> struct value_by_device {
    template <typename V> static V value(V x) {
        return line_wide ? WIDE::value(x) : PLAIN::value(x);
    }
};
using silu_single_value = value_by_device<silu_refined_function, silu_function>;
using gelu_single_value = value_by_device<gelu_refined_function, gelu_function>;
using gelu_half_value = value_by_device<gelu_half_function, gelu_half_plain_function>;
using gelu_bfloat_value = value_by_device<gelu_bfloat_function, gelu_bfloat_plain_function>;

#define ACTIVATION(name, value, both, type, suffix)                                                \
    INSTANTIATE_KERNEL(#name "_" #suffix, forward<type, value>)                                    \
    INSTANTIATE_KERNEL(#name "_backward_" #suffix, backward<type, both>)                           \
    INSTANTIATE_KERNEL(#name "_mul_" #suffix, mul_forward<type, value>)                            \
    INSTANTIATE_KERNEL(#name "_mul_backward_" #suffix, mul_backward<type, both>)
#define HALF_ACTIVATIONS(gelu_value, type, suffix)                                                 \
    ACTIVATION(silu, silu_half_function, silu_half_function, type, suffix)                         \
    ACTIVATION(gelu, gelu_value, gelu_half_slope_function, type, suffix)                           \
    ACTIVATION(gelu_tanh, gelu_tanh_half_function, gelu_tanh_half_function, type, suffix)
ACTIVATION(silu, silu_single_value, silu_function, float, f32)
ACTIVATION(gelu, gelu_single_value, gelu_function, float, f32)
ACTIVATION(gelu_tanh, gelu_tanh_function, gelu_tanh_function, float, f32)
HALF_ACTIVATIONS(gelu_half_value, half, f16)
HALF_ACTIVATIONS(gelu_bfloat_value, bfloat, bf16)
