/* Attention and its gradients in double precision, by plain loops. */
#include "attention/attention_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct row { /* one query of one head */
    const double *q, *k, *v;
    int64_t b, h, i, index;
};

static struct row row_at(const struct attention_reference *r, int64_t index) {
    int64_t i = index % r->queries, h = index / r->queries % r->heads,
            b = index / r->queries / r->heads;
    int64_t key_head = b * r->key_heads + h / (r->heads / r->key_heads);
    return (struct row){.q = r->q + index * r->depth,
                        .k = r->k + key_head * r->keys * r->depth,
                        .v = r->v + key_head * r->keys * r->value_depth,
                        .b = b,
                        .h = h,
                        .i = i,
                        .index = index};
}

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static double score(const struct attention_reference *r, const struct row *row, int64_t j) {
    int64_t position = row->i + r->keys - r->queries, distance = llabs(position - j);
    if ((r->causal && j > position) || (r->window && distance >= r->window)) {
        return -INFINITY;
    }
    double s = r->scale * dot(row->q, row->k + j * r->depth, r->depth);
    if (r->slopes) {
        s -= r->slopes[(r->slopes_by_batch ? row->b * r->heads : 0) + row->h] * (double)distance;
    }
    if (r->mask) {
        const int64_t at[4] = {row->b, row->h, row->i, j};
        int64_t index = 0;
        for (int d = 0; d < 4; d++) {
            index = index * r->mask_shape[d] + (r->mask_shape[d] == 1 ? 0 : at[d]);
        }
        double mask = r->mask[index];
        s = r->mask_is_bool ? (mask != 0 ? s : -INFINITY) : s + mask;
    }
    return s;
}

/* Probabilities of a row's keys; all 0 when none is seen. Returns the log of the sum. */
static double probabilities(const struct attention_reference *r, const struct row *row, double *p) {
    double largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < r->keys; j++) {
        p[j] = score(r, row, j);
        largest = fmax(largest, p[j]);
    }
    double base = largest == -INFINITY ? 0 : largest;
    for (int64_t j = 0; j < r->keys; j++) {
        p[j] = exp(p[j] - base);
        sum += p[j];
    }
    for (int64_t j = 0; j < r->keys && sum != 0; j++) {
        p[j] /= sum;
    }
    return sum == 0 ? -INFINITY : base + log(sum);
}

bool attention_reference_forward(const struct attention_reference *r, double *out, double *lse) {
    double *p = malloc(((size_t)r->keys + 1) * sizeof *p);
    for (int64_t n = 0; p && n < r->batches * r->heads * r->queries; n++) {
        struct row row = row_at(r, n);
        double sum = probabilities(r, &row, p);
        if (lse) {
            lse[n] = sum;
        }
        if (!out) {
            continue;
        }
        double *to = out + n * r->value_depth;
        memset(to, 0, (size_t)r->value_depth * sizeof *to);
        for (int64_t j = 0; j < r->keys; j++) {
            for (int64_t d = 0; d < r->value_depth; d++) {
                to[d] += p[j] * row.v[j * r->value_depth + d];
            }
        }
    }
    free(p);
    return p != NULL;
}

static void add_scaled(double *to, double factor, const double *from, int64_t n) {
    for (int64_t i = 0; to && i < n; i++) {
        to[i] += factor * from[i];
    }
}

struct gradients { /* of one row's query and of all keys and values; each or NULL */
    double *dq, *dk, *dv;
};

/* `p` has room for two numbers per key. */
static void backward_row(const struct attention_reference *r, const struct row *row,
                         const double *dout, double *p, const struct gradients *to) {
    double *dp = p + r->keys, *dk = to->dk, *dv = to->dv, delta = 0;
    probabilities(r, row, p);
    for (int64_t j = 0; j < r->keys; j++) {
        dp[j] = dot(dout, row->v + j * r->value_depth, r->value_depth);
        delta += p[j] * dp[j];
    }
    for (int64_t j = 0; j < r->keys; j++) {
        double ds = p[j] * (dp[j] - delta) * r->scale;
        add_scaled(to->dq, ds, row->k + j * r->depth, r->depth);
        add_scaled(dk ? dk + (row->k - r->k) + j * r->depth : NULL, ds, row->q, r->depth);
        add_scaled(dv ? dv + (row->v - r->v) + j * r->value_depth : NULL, p[j], dout,
                   r->value_depth);
    }
}

bool attention_reference_backward(const struct attention_reference *r, const double *dout,
                                  double *dq, double *dk, double *dv) {
    size_t keys = (size_t)(r->batches * r->key_heads * r->keys);
    double *p = malloc(((size_t)r->keys + 1) * 2 * sizeof *p);
    if (!p) {
        return false;
    }
    if (dq) {
        memset(dq, 0, (size_t)(r->batches * r->heads * r->queries * r->depth) * sizeof *dq);
    }
    if (dk) {
        memset(dk, 0, keys * (size_t)r->depth * sizeof *dk);
    }
    if (dv) {
        memset(dv, 0, keys * (size_t)r->value_depth * sizeof *dv);
    }
    for (int64_t n = 0; n < r->batches * r->heads * r->queries; n++) {
        struct row row = row_at(r, n);
        const struct gradients to = {dq ? dq + n * r->depth : NULL, dk, dv};
        backward_row(r, &row, dout + n * r->value_depth, p, &to);
    }
    free(p);
    return true;
}
