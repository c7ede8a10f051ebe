// The rows of bench/engine, written as one would for an Apple GPU.
#include <metal_stdlib>
using namespace metal;

kernel void saxpy(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                  constant float &a [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    y[i] = a * x[i] + y[i];
}

// One threadgroup to a row.
kernel void rms_norm(device const float *x [[buffer(0)]], device const float *weight [[buffer(1)]],
                     device float *out [[buffer(2)]], constant uint &n [[buffer(3)]],
                     constant float &epsilon [[buffer(4)]],
                     uint row [[threadgroup_position_in_grid]],
                     uint thread_index [[thread_position_in_threadgroup]],
                     uint threads [[threads_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]],
                     uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup float partial[32];
    x += row * n;
    out += row * n;
    float sum = 0.0f;
    for (uint i = thread_index; i < n; i += threads)
        sum += x[i] * x[i];
    sum = simd_sum(sum);
    if (lane == 0)
        partial[simdgroup] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = simd_sum(lane < simdgroups ? partial[lane] : 0.0f);
    float scale = rsqrt(sum / float(n) + epsilon);
    for (uint i = thread_index; i < n; i += threads)
        out[i] = x[i] * scale * weight[i];
}

kernel void softmax(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                    constant uint &n [[buffer(2)]], uint row [[threadgroup_position_in_grid]],
                    uint thread_index [[thread_position_in_threadgroup]],
                    uint threads [[threads_per_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]],
                    uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup float maxima[32];
    threadgroup float sums[32];
    x += row * n;
    out += row * n;
    float largest = -INFINITY;
    for (uint i = thread_index; i < n; i += threads)
        largest = max(largest, x[i]);
    largest = simd_max(largest);
    if (lane == 0)
        maxima[simdgroup] = largest;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    largest = simd_max(lane < simdgroups ? maxima[lane] : -INFINITY);
    float sum = 0.0f;
    for (uint i = thread_index; i < n; i += threads) {
        float e = exp(x[i] - largest);
        out[i] = e;
        sum += e;
    }
    sum = simd_sum(sum);
    if (lane == 0)
        sums[simdgroup] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = simd_sum(lane < simdgroups ? sums[lane] : 0.0f);
    float scale = 1.0f / sum;
    for (uint i = thread_index; i < n; i += threads)
        out[i] *= scale;
}

kernel void collatz(device const uint *start [[buffer(0)]], device uint *steps [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    uint value = start[i], count = 0;
    while (value != 1u) {
        value = (value & 1u) ? 3u * value + 1u : value / 2u;
        count++;
    }
    steps[i] = count;
}

// 4-bit weights in groups of 64 with a scale and a bias; one SIMD-group to a row of `columns`.
kernel void matvec_q4(device const uint *weights [[buffer(0)]],
                      device const float *scales [[buffer(1)]],
                      device const float *biases [[buffer(2)]],
                      device const float *x [[buffer(3)]], device float *out [[buffer(4)]],
                      constant uint &columns [[buffer(5)]],
                      uint group [[threadgroup_position_in_grid]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]],
                      uint simdgroups [[simdgroups_per_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]]) {
    uint row = group * simdgroups + simdgroup;
    device const uint *w = weights + row * (columns / 8);
    device const float *scale = scales + row * (columns / 64);
    device const float *bias = biases + row * (columns / 64);
    float result = 0.0f;
    for (uint word = lane; word < columns / 8; word += 32) {
        uint bits = w[word];
        device const float4 *v = (device const float4 *)(x + word * 8);
        float4 low = v[0], high = v[1];
        float dot_product = low.x * float(bits & 15u) + low.y * float((bits >> 4) & 15u) +
                            low.z * float((bits >> 8) & 15u) + low.w * float((bits >> 12) & 15u) +
                            high.x * float((bits >> 16) & 15u) +
                            high.y * float((bits >> 20) & 15u) +
                            high.z * float((bits >> 24) & 15u) + high.w * float(bits >> 28);
        float sum = low.x + low.y + low.z + low.w + high.x + high.y + high.z + high.w;
        result += scale[word / 8] * dot_product + bias[word / 8] * sum;
    }
    result = simd_sum(result);
    if (lane == 0)
        out[row] = result;
}

// C = A B, square and row-major, n a multiple of 64: threadgroups of 2 x 2 SIMD-groups make
// 64 x 64 of C from staged panels 32 deep; a SIMD-group holds 32 x 32 as 4 x 4 tiles.
constant constexpr uint BLOCK = 64, DEPTH = 32, PAD = 4;

kernel void matmul(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                   device float *c [[buffer(2)]], constant uint &n [[buffer(3)]],
                   uint2 block [[threadgroup_position_in_grid]],
                   uint thread_index [[thread_index_in_threadgroup]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float a_panel[BLOCK * (DEPTH + PAD)];
    threadgroup float b_panel[DEPTH * (BLOCK + PAD)];
    uint first_row = (simdgroup / 2) * 32, first_column = (simdgroup % 2) * 32;
    simdgroup_float8x8 sum[4][4];
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++)
            sum[i][j] = simdgroup_float8x8(0.0f);
    a += block.y * BLOCK * n;
    b += block.x * BLOCK;
    for (uint k0 = 0; k0 < n; k0 += DEPTH) {
        for (uint i = thread_index; i < BLOCK * DEPTH / 4; i += 128) {
            uint row = i / (DEPTH / 4), column = i % (DEPTH / 4) * 4;
            *(threadgroup float4 *)(a_panel + row * (DEPTH + PAD) + column) =
                *(device const float4 *)(a + row * n + k0 + column);
        }
        for (uint i = thread_index; i < BLOCK * DEPTH / 4; i += 128) {
            uint row = i / (BLOCK / 4), column = i % (BLOCK / 4) * 4;
            *(threadgroup float4 *)(b_panel + row * (BLOCK + PAD) + column) =
                *(device const float4 *)(b + (k0 + row) * n + column);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < DEPTH; k += 8) {
            simdgroup_float8x8 left[4], right[4];
            for (uint i = 0; i < 4; i++) {
                simdgroup_load(left[i], a_panel + (first_row + 8 * i) * (DEPTH + PAD) + k,
                               DEPTH + PAD);
                simdgroup_load(right[i], b_panel + k * (BLOCK + PAD) + first_column + 8 * i,
                               BLOCK + PAD);
            }
            for (uint i = 0; i < 4; i++)
                for (uint j = 0; j < 4; j++)
                    simdgroup_multiply_accumulate(sum[i][j], left[i], right[j], sum[i][j]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c += (block.y * BLOCK + first_row) * n + block.x * BLOCK + first_column;
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++)
            simdgroup_store(sum[i][j], c + 8 * i * n + 8 * j, n);
}
