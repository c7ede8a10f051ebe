// Sums of rows, one right and four wrong in the ways that kernels are wrong: a tail that is left
// out, a NaN that is swallowed, a result that depends on what ran before, a store far outside for rows of
// 33. `ingot health` must see each of them.
#include <metal_stdlib>
using namespace metal;

struct sizes {
    uint rows, row;
};

static float sum_to(device const float *x, uint end) {
    float sum = 0;
    for (uint k = 0; k < end; k++)
        sum += x[k];
    return sum;
}

kernel void row_sum(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                    constant sizes &n [[buffer(2)]], device uint *runs [[buffer(3)]],
                    uint i [[thread_position_in_grid]]) {
    out[i] = sum_to(x + i * n.row, n.row);
}

kernel void row_sum_no_tail(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                            constant sizes &n [[buffer(2)]], device uint *runs [[buffer(3)]],
                            uint i [[thread_position_in_grid]]) {
    out[i] = sum_to(x + i * n.row, n.row / 32 * 32);
}

kernel void row_sum_no_nan(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                           constant sizes &n [[buffer(2)]], device uint *runs [[buffer(3)]],
                           uint i [[thread_position_in_grid]]) {
    float sum = sum_to(x + i * n.row, n.row);
    out[i] = isfinite(sum) ? sum : 0;
}

kernel void row_sum_unsteady(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                             constant sizes &n [[buffer(2)]], device uint *runs [[buffer(3)]],
                             uint i [[thread_position_in_grid]]) {
    float sum = sum_to(x + i * n.row, n.row);
    out[i] = runs[i]++ == 0 ? sum : as_type<float>(as_type<uint>(sum) ^ 1);
}

kernel void strays(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                   constant sizes &n [[buffer(2)]], device uint *runs [[buffer(3)]],
                   uint i [[thread_position_in_grid]]) {
    out[n.row == 33 ? i + 0x4000000000ul : i] = sum_to(x + i * n.row, n.row);
}
