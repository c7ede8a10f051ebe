/* The checks that attention operations share, and the argument struct from a descriptor. */
#include "attention/attention_problem.h"

#include <math.h> /* isfinite; the library does not link libm */
#include <string.h>

enum { MAX_LENGTH = ATTENTION_NO_LIMIT / 2, MAX_DEPTH = 256, MAX_HEADS = 65535 };

void igo_attention_strides(int64_t strides[3], const ingot_tensor *tensor) {
    for (int i = 0; i < 3; i++) {
        strides[i] = tensor->shape[i] == 1 ? 0 : tensor->strides[i];
    }
}

void igo_attention_bind(struct igo_launch *launch, const ingot_tensor *tensor) {
    igo_launch_optional(launch, tensor && igo_count(tensor) > 0 ? tensor : NULL);
}

uint32_t igo_attention_depth_class(const struct attention_args *args) {
    uint32_t depth = args->depth > args->value_depth ? args->depth : args->value_depth;
    return depth <= 64 ? 64 : depth <= 128 ? 128 : 256;
}

static bool check_sizes(struct igo_call *call, const struct attention_problem *p) {
    const int64_t heads = p->q->shape[1], key_heads = p->k->shape[1];
    IGO_REQUIRE(call, heads > 0 && key_heads > 0 && heads % key_heads == 0,
                "the heads of q, %lld, are not a multiple of those of k, %lld", (long long)heads,
                (long long)key_heads);
    IGO_REQUIRE(call, p->q->shape[0] <= MAX_HEADS && heads <= MAX_HEADS,
                "q has %lld batches of %lld heads; at most %d of each are taken",
                (long long)p->q->shape[0], (long long)heads, (int)MAX_HEADS);
    IGO_REQUIRE(call, p->q->shape[2] <= MAX_LENGTH && p->k->shape[2] <= MAX_LENGTH,
                "there are %lld queries and %lld keys; at most %d of each are taken",
                (long long)p->q->shape[2], (long long)p->k->shape[2], (int)MAX_LENGTH);
    return IGO_REQUIRE(call, p->q->shape[3] <= MAX_DEPTH && p->v->shape[3] <= MAX_DEPTH,
                       "the head size of q is %lld and that of v %lld; at most %d is taken",
                       (long long)p->q->shape[3], (long long)p->v->shape[3], (int)MAX_DEPTH);
}

static bool check_tensors(struct igo_call *call, const struct attention_problem *p) {
    igo_tensor(call, "q", p->q, IGO_FLOATS, 4, 4);
    igo_tensor(call, "k", p->k, IGO_FLOATS, 4, 4);
    igo_tensor(call, "v", p->v, IGO_FLOATS, 4, 4);
    igo_tensor(call, "out", p->out, IGO_FLOATS, 4, 4);
    if (call->failed) {
        return false;
    }
    const ingot_tensor *tensors[] = {p->q, p->k, p->v, p->out};
    static const char *const names[] = {"q", "k", "v", "out"};
    for (int i = 0; i < 4; i++) {
        igo_same_type(call, names[i], tensors[i], "q", p->q);
        igo_dense_tail(call, names[i], tensors[i], 1);
        igo_extent(call, names[i], tensors[i], 0, p->q->shape[0], "the batches of q");
    }
    igo_extent(call, "k", p->k, 3, p->q->shape[3], "the head size of q");
    igo_extent(call, "v", p->v, 1, p->k->shape[1], "the heads of k");
    igo_extent(call, "v", p->v, 2, p->k->shape[2], "the keys of k");
    igo_extent(call, "out", p->out, 1, p->q->shape[1], "the heads of q");
    igo_extent(call, "out", p->out, 2, p->q->shape[2], "the queries of q");
    igo_extent(call, "out", p->out, 3, p->v->shape[3], "the head size of v");
    return !call->failed && check_sizes(call, p);
}

bool igo_attention_lse(struct igo_call *call, struct attention_problem *p) {
    if (!p->lse) {
        return !call->failed;
    }
    if (!igo_tensor(call, "lse", p->lse, IGO_TYPE(INGOT_SCALAR_F32), 3, 3)) {
        return false;
    }
    igo_extent(call, "lse", p->lse, 0, p->q->shape[0], "the batches of q");
    igo_extent(call, "lse", p->lse, 1, p->q->shape[1], "the heads of q");
    igo_extent(call, "lse", p->lse, 2, p->q->shape[2], "the queries of q");
    igo_dense(call, "lse", p->lse);
    p->args.flags |= ATTENTION_LSE;
    return !call->failed;
}

bool igo_attention_slopes(struct igo_call *call, struct attention_problem *p) {
    if (!p->slopes) {
        return !call->failed;
    }
    if (!igo_tensor(call, "slopes", p->slopes, IGO_TYPE(INGOT_SCALAR_F32), 1, 2)) {
        return false;
    }
    igo_extent(call, "slopes", p->slopes, -1, p->q->shape[1], "the heads of q");
    if (p->slopes->rank == 2) {
        igo_extent(call, "slopes", p->slopes, 0, p->q->shape[0], "the batches of q");
    }
    igo_dense(call, "slopes", p->slopes);
    p->args.slope_stride = p->slopes->rank == 2 ? p->q->shape[1] : 0;
    p->args.flags |= ATTENTION_ALIBI;
    return !call->failed;
}

/* Newton's method: there is no libm. */
static float default_scale(uint32_t depth) {
    double root = 16;
    for (int i = 0; i < 12; i++) {
        root = (root + depth / root) / 2;
    }
    return (float)(1 / root);
}

bool igo_attention_sight(struct igo_call *call, struct attention_problem *p) {
    uint32_t reach = p->window && p->window <= MAX_LENGTH ? p->window - 1 : ATTENTION_NO_LIMIT;
    p->args.left = (int32_t)reach;
    p->args.right = p->causal ? 0 : (int32_t)reach;
    p->args.scale = p->scale == 0 ? default_scale(p->args.depth) : p->scale;
    return IGO_REQUIRE(call, isfinite(p->args.scale) || p->args.depth == 0,
                       "scale is %g; it must be finite", (double)p->scale);
}

static bool check_mask(struct igo_call *call, struct attention_problem *p) {
    const ingot_tensor *mask = p->mask;
    const int64_t full[4] = {p->q->shape[0], p->q->shape[1], p->q->shape[2], p->k->shape[2]};
    char text[160];
    if (!mask) {
        return !call->failed;
    }
    if (!igo_tensor(call, "mask", mask,
                    IGO_TYPE(INGOT_SCALAR_BOOL) | IGO_TYPE(INGOT_SCALAR_F32) | IGO_TYPE(p->q->type),
                    1, 4)) {
        return false;
    }
    for (uint32_t i = 0; i < mask->rank; i++) {
        uint32_t d = 4 - mask->rank + i;
        IGO_REQUIRE(
            call, mask->shape[i] == full[d] || mask->shape[i] == 1,
            "mask %s does not go with [%lld, %lld, %lld, %lld]: dimension %u must be %lld or 1",
            igo_shape_text(mask, text), (long long)full[0], (long long)full[1], (long long)full[2],
            (long long)full[3], i, (long long)full[d]);
        p->args.mask_stride[d] = mask->shape[i] == 1 ? 0 : mask->strides[i];
    }
    p->args.flags |= mask->type == INGOT_SCALAR_BOOL  ? ATTENTION_MASK_BOOL
                     : mask->type == INGOT_SCALAR_F32 ? ATTENTION_MASK_F32
                                                      : ATTENTION_MASK_SAME;
    return !call->failed;
}

bool igo_attention_check(struct igo_call *call, struct attention_problem *p) {
    if (call->failed || !check_tensors(call, p)) {
        return false;
    }
    struct attention_args *args = &p->args;
    memset(args, 0, sizeof *args);
    args->heads = (uint32_t)p->q->shape[1];
    args->group = (uint32_t)(p->q->shape[1] / p->k->shape[1]);
    args->queries = (uint32_t)p->q->shape[2];
    args->keys = (uint32_t)p->k->shape[2];
    args->depth = (uint32_t)p->q->shape[3];
    args->value_depth = (uint32_t)p->v->shape[3];
    p->batches = (uint32_t)p->q->shape[0];
    p->key_heads = (uint32_t)p->k->shape[1];
    igo_attention_strides(args->q_stride, p->q);
    igo_attention_strides(args->k_stride, p->k);
    igo_attention_strides(args->v_stride, p->v);
    igo_attention_strides(args->out_stride, p->out);
    igo_attention_lse(call, p);
    igo_attention_slopes(call, p);
    igo_attention_sight(call, p);
    check_mask(call, p);
    p->nothing = p->batches == 0 || args->queries == 0 || (args->value_depth == 0 && !p->lse);
    return !call->failed;
}

bool igo_attention_apart(struct igo_call *call, const struct attention_problem *p,
                         const struct attention_input *inputs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        igo_no_overlap(call, "out", p->out, inputs[i].name, inputs[i].tensor, i == 0);
        igo_no_overlap(call, "lse", p->lse, inputs[i].name, inputs[i].tensor, false);
    }
    return igo_no_overlap(call, "lse", p->lse, "out", p->out, false);
}

bool igo_attention_policy(struct igo_call *call, const struct attention_problem *p) {
    struct igo_class shape = {0};
    igo_class_number(&shape, "d", igo_attention_depth_class(&p->args));
    igo_class_size(&shape, "s", p->args.queries, 1u << 16);
    igo_class_size(&shape, "t", p->args.keys, 1u << 20);
    return igo_policy(call, p->q->type, &shape);
}
