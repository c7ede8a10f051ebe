// Kernels whose counters are known by hand: run.py says what the lines with a tag (// @tag) must have.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

kernel void coalesced(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
    out[i] = fma(in[i], 2.0f, 1.0f); // @coalesced
}

kernel void strided(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    float x = in[i * 32]; // @strided
    out[i] = x;
}

kernel void halves(device const half *in [[buffer(0)]], device float4 *out [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
    half x = in[i];              // @halves
    out[i] = float4(float(x)); // @vectors
}

kernel void banks(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                  uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile[32 * 33];
    threadgroup float4 wide[32];
    tile[t] = i;                // @one-way
    tile[t * 2 + 64] = i;       // @two-way
    tile[t * 4 + 128] = i;      // @four-way
    tile[t * 32] = i;           // @all-ways
    tile[t * 33] = i;           // @padded
    tile[7] = i;                // @same-word
    wide[t] = float4(float(i)); // @wide
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[31 - t] + wide[31 - t].x;
}

kernel void divergent(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
    float x = in[i]; // @all-lanes
    if (i & 1) {
        x = x * 3 + 1; // @odd-lanes
    }
    for (uint k = 0; k < 5; k++) {
        x += in[(i + k) & 1023]; // @five-times
    }
    if (i < 32) {
        x += 1; // @first-group
    }
    out[i] = x;
}

kernel void atomics(device atomic_uint *total [[buffer(0)]], device atomic_uint *apart [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(&total[0], 1u, memory_order_relaxed); // @together
    atomic_fetch_add_explicit(&apart[i], 1u, memory_order_relaxed); // @apart
}

kernel void barriers(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                     uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                     uint s [[simdgroup_index_in_threadgroup]]) {
    threadgroup float tile[128];
    for (uint k = 0; k < 3; k++) {
        tile[t] = in[i] + k;
        threadgroup_barrier(mem_flags::mem_threadgroup); // @even
        if (s == 0) {
            for (uint n = 0; n < 50; n++) {
                tile[t] += in[(i + n) & 1023];
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup); // @uneven
    }
    out[i] = tile[127 - t];
}

kernel void spills(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
    float rest[64];
    for (uint k = 0; k < 64; k++) {
        rest[(k * 7 + uint(in[k])) & 63] = in[(i + k) & 1023];
    }
    out[i] = rest[uint(in[i]) & 63]; // @private
}

kernel void products(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    simdgroup_float8x8 a, b;
    simdgroup_float8x8 c = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    simdgroup_load(a, in, 8);      // @tile
    simdgroup_load(b, in + 64, 32); // @tile-rows
    simdgroup_multiply_accumulate(c, a, b, c); // @product
    simdgroup_store(c, out + i / 32 * 64, 8);
}
