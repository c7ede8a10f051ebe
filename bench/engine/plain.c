/* The rows of bench/engine as plain C loops: clang -O3 -march=native, no fast-math. Each works on
 * items first … last-1 of the row, so that threads can share it. */
#include "plain.h"

#include <math.h>

void plain_saxpy(const struct bench_row *row, size_t first, size_t last) {
    const float *restrict x = row->buffers[0].data;
    float *restrict y = row->buffers[1].data;
    const float a = row->scalars[0].f;
    for (size_t i = first; i < last; i++) {
        y[i] = a * x[i] + y[i];
    }
}

void plain_rms_norm(const struct bench_row *row, size_t first, size_t last) {
    const float *restrict weight = row->buffers[1].data;
    const size_t n = row->scalars[0].u;
    for (size_t r = first; r < last; r++) {
        const float *restrict x = (const float *)row->buffers[0].data + r * n;
        float *restrict out = (float *)row->buffers[2].data + r * n;
        float sum = 0.0f;
        for (size_t i = 0; i < n; i++) {
            sum += x[i] * x[i];
        }
        float scale = 1.0f / sqrtf(sum / (float)n + row->scalars[1].f);
        for (size_t i = 0; i < n; i++) {
            out[i] = x[i] * scale * weight[i];
        }
    }
}

void plain_softmax(const struct bench_row *row, size_t first, size_t last) {
    const size_t n = row->scalars[0].u;
    for (size_t r = first; r < last; r++) {
        const float *restrict x = (const float *)row->buffers[0].data + r * n;
        float *restrict out = (float *)row->buffers[1].data + r * n;
        float largest = -INFINITY, sum = 0.0f;
        for (size_t i = 0; i < n; i++) {
            largest = x[i] > largest ? x[i] : largest;
        }
        for (size_t i = 0; i < n; i++) {
            out[i] = expf(x[i] - largest);
            sum += out[i];
        }
        float scale = 1.0f / sum;
        for (size_t i = 0; i < n; i++) {
            out[i] *= scale;
        }
    }
}

void plain_collatz(const struct bench_row *row, size_t first, size_t last) {
    const uint32_t *restrict start = row->buffers[0].data;
    uint32_t *restrict steps = row->buffers[1].data;
    for (size_t i = first; i < last; i++) {
        uint32_t value = start[i], count = 0;
        while (value != 1) {
            value = (value & 1) ? 3 * value + 1 : value / 2;
            count++;
        }
        steps[i] = count;
    }
}

void plain_matvec_q4(const struct bench_row *row, size_t first, size_t last) {
    const float *restrict x = row->buffers[3].data;
    float *restrict out = row->buffers[4].data;
    const size_t columns = row->scalars[0].u;
    for (size_t r = first; r < last; r++) {
        const uint32_t *restrict w = (const uint32_t *)row->buffers[0].data + r * (columns / 8);
        const float *restrict scale = (const float *)row->buffers[1].data + r * (columns / 64);
        const float *restrict bias = (const float *)row->buffers[2].data + r * (columns / 64);
        float result = 0.0f;
        for (size_t group = 0; group < columns / 64; group++) {
            float dot = 0.0f, sum = 0.0f;
            for (size_t i = 0; i < 64; i++) {
                float v = x[group * 64 + i];
                dot += v * (float)((w[group * 8 + i / 8] >> (4 * (i % 8))) & 15u);
                sum += v;
            }
            result += scale[group] * dot + bias[group] * sum;
        }
        out[r] = result;
    }
}

void plain_matmul(const struct bench_row *row, size_t first, size_t last) {
    const size_t n = row->scalars[0].u;
    const float *restrict a = row->buffers[0].data, *restrict b = row->buffers[1].data;
    for (size_t i = first; i < last; i++) {
        float *restrict c = (float *)row->buffers[2].data + i * n;
        for (size_t j = 0; j < n; j++) {
            c[j] = 0.0f;
        }
        for (size_t k = 0; k < n; k++) {
            for (size_t j = 0; j < n; j++) {
                c[j] += a[i * n + k] * b[k * n + j];
            }
        }
    }
}
