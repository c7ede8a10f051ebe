// The rows of bench/engine in OpenCL C. Where Metal sums over a SIMD-group, these use a tree in
// local memory; matmul holds 4 x 4 of C in registers per work-item.
kernel void saxpy(global const float *x, global float *y, float a) {
    uint i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}

float sum_of_group(local float *partial, float value) {
    uint i = get_local_id(0);
    partial[i] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        if (i < half_size)
            partial[i] += partial[i + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float result = partial[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return result;
}

float max_of_group(local float *partial, float value) {
    uint i = get_local_id(0);
    partial[i] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        if (i < half_size)
            partial[i] = fmax(partial[i], partial[i + half_size]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float result = partial[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return result;
}

kernel void rms_norm(global const float *x, global const float *weight, global float *out, uint n,
                     float epsilon) {
    local float partial[1024];
    x += get_group_id(0) * n;
    out += get_group_id(0) * n;
    float sum = 0.0f;
    for (uint i = get_local_id(0); i < n; i += get_local_size(0))
        sum += x[i] * x[i];
    float scale = rsqrt(sum_of_group(partial, sum) / (float)n + epsilon);
    for (uint i = get_local_id(0); i < n; i += get_local_size(0))
        out[i] = x[i] * scale * weight[i];
}

kernel void softmax(global const float *x, global float *out, uint n) {
    local float partial[1024];
    x += get_group_id(0) * n;
    out += get_group_id(0) * n;
    float largest = -INFINITY;
    for (uint i = get_local_id(0); i < n; i += get_local_size(0))
        largest = fmax(largest, x[i]);
    largest = max_of_group(partial, largest);
    float sum = 0.0f;
    for (uint i = get_local_id(0); i < n; i += get_local_size(0)) {
        float e = exp(x[i] - largest);
        out[i] = e;
        sum += e;
    }
    float scale = 1.0f / sum_of_group(partial, sum);
    for (uint i = get_local_id(0); i < n; i += get_local_size(0))
        out[i] *= scale;
}

kernel void collatz(global const uint *start, global uint *steps) {
    uint i = get_global_id(0);
    uint value = start[i], count = 0;
    while (value != 1u) {
        value = (value & 1u) ? 3u * value + 1u : value / 2u;
        count++;
    }
    steps[i] = count;
}

kernel void matvec_q4(global const uint *weights, global const float *scales,
                      global const float *biases, global const float *x, global float *out,
                      uint columns) {
    local float partial[64];
    uint lane = get_local_id(0) % 32, own = get_local_id(0) / 32;
    uint row = get_group_id(0) * (get_local_size(0) / 32) + own;
    global const uint *w = weights + row * (columns / 8);
    global const float *scale = scales + row * (columns / 64);
    global const float *bias = biases + row * (columns / 64);
    float result = 0.0f;
    for (uint word = lane; word < columns / 8; word += 32) {
        uint bits = w[word];
        float4 low = vload4(0, x + word * 8), high = vload4(1, x + word * 8);
        float dot_product = low.x * (float)(bits & 15u) + low.y * (float)((bits >> 4) & 15u) +
                            low.z * (float)((bits >> 8) & 15u) +
                            low.w * (float)((bits >> 12) & 15u) +
                            high.x * (float)((bits >> 16) & 15u) +
                            high.y * (float)((bits >> 20) & 15u) +
                            high.z * (float)((bits >> 24) & 15u) + high.w * (float)(bits >> 28);
        float sum = low.x + low.y + low.z + low.w + high.x + high.y + high.z + high.w;
        result += scale[word / 8] * dot_product + bias[word / 8] * sum;
    }
    partial[get_local_id(0)] = result;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        float total = 0.0f;
        for (uint i = 0; i < 32; i++)
            total += partial[32 * own + i];
        out[row] = total;
    }
}

// 64 x 64 of C by 16 x 16 work-items.
kernel void matmul(global const float *a, global const float *b, global float *c, uint n) {
    local float a_panel[16][64];
    local float b_panel[16][64];
    uint tx = get_local_id(0), ty = get_local_id(1), t = ty * 16 + tx;
    uint row0 = get_group_id(1) * 64, column0 = get_group_id(0) * 64;
    float sum[4][4];
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++)
            sum[i][j] = 0.0f;
    for (uint k0 = 0; k0 < n; k0 += 16) {
        for (uint i = t; i < 1024; i += 256) {
            a_panel[i % 16][i / 16] = a[(row0 + i / 16) * n + k0 + i % 16];
            b_panel[i / 64][i % 64] = b[(k0 + i / 64) * n + column0 + i % 64];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < 16; k++)
            for (uint i = 0; i < 4; i++)
                for (uint j = 0; j < 4; j++)
                    sum[i][j] = fma(a_panel[k][ty * 4 + i], b_panel[k][tx + 16 * j], sum[i][j]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++)
            c[(row0 + ty * 4 + i) * n + column0 + tx + 16 * j] = sum[i][j];
}
