/* Products of matrices, plain and with quantised weights. */
#include "python/torch/operators.h"

static ingot_epilogue epilogue(struct frame *frame, uint32_t argument) {
    int64_t value = frame_int(frame, argument);
    if (value < INGOT_EPILOGUE_NONE || value > INGOT_EPILOGUE_GELU_TANH) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT, "epilogue is %lld; it must be %d to %d",
                   (long long)value, INGOT_EPILOGUE_NONE, INGOT_EPILOGUE_GELU_TANH);
    }
    return (ingot_epilogue)value;
}

/* A matrix that is stored by columns is the transposed one by rows: no copy is needed. */
static const ingot_tensor *factor(struct frame *frame, uint32_t argument, bool *transposed) {
    bool turned = false;
    const ingot_tensor *tensor = frame_matrices(frame, argument, &turned);
    *transposed ^= turned;
    return tensor;
}

/* The batch of a product is that of the factor that has one. */
static const ingot_tensor *product(struct frame *frame, const ingot_tensor *a,
                                   const ingot_tensor *b, int64_t m, int64_t n) {
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t shape[INGOT_MAX_RANK] = {0};
    if (a->rank < 2 || b->rank < 2) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT,
                   "a has %u dimensions and b has %u; both must have at least 2", a->rank, b->rank);
    }
    for (uint32_t i = 0; i + 2 < rank; i++) {
        int64_t of_a = frame_extent(a, (int)i - (int)rank),
                of_b = frame_extent(b, (int)i - (int)rank);
        shape[i] = of_a == 1 ? of_b : of_a;
    }
    if (rank >= 2) {
        shape[rank - 2] = m;
        shape[rank - 1] = n;
    }
    return frame_output(frame, 0, a->type, rank, shape);
}

ingot_status torch_op_matmul(struct frame *frame) {
    ingot_matmul_desc desc = {.transpose_a = frame_bool(frame, 3),
                              .transpose_b = frame_bool(frame, 4),
                              .epilogue = epilogue(frame, 5)};
    desc.a = factor(frame, 0, &desc.transpose_a);
    desc.b = factor(frame, 1, &desc.transpose_b);
    desc.bias = frame_optional(frame, 2, LAYOUT_DENSE);
    desc.out = product(frame, desc.a, desc.b, frame_extent(desc.a, desc.transpose_a ? -1 : -2),
                       frame_extent(desc.b, desc.transpose_b ? -2 : -1));
    return FRAME_RUN(frame, ingot_op_matmul, &desc);
}

/* ---- quantised weights ----------------------------------------------------------------------- */

static ingot_quantised weights(struct frame *frame, uint32_t packed) {
    return (ingot_quantised){.packed = frame_tensor(frame, packed, LAYOUT_DENSE),
                             .scales = frame_tensor(frame, packed + 1, LAYOUT_DENSE),
                             .biases = frame_optional(frame, packed + 2, LAYOUT_DENSE),
                             .bits = frame_u32(frame, packed + 3),
                             .group = frame_u32(frame, packed + 4)};
}

/* packed is uint8; scales and biases have x's type. */
ingot_status torch_op_quantise(struct frame *frame) {
    const ingot_tensor *x = frame_tensor(frame, 0, LAYOUT_DENSE);
    uint32_t bits = frame_u32(frame, 1), group = frame_u32(frame, 2);
    if ((bits != 4 && bits != 8) || group == 0) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT,
                   "bits is %u and group %u; bits must be 4 or 8, group 32, 64 or 128", bits,
                   group);
    }
    if (frame->status) {
        return frame->status;
    }
    const int64_t rows = frame_extent(x, 0), columns = frame_extent(x, 1);
    const int64_t packed[] = {rows, columns * bits / 8}, scales[] = {rows, columns / group};
    const ingot_quantise_desc desc = {
        .x = x,
        .out = {.packed = frame_output(frame, 0, INGOT_SCALAR_U8, 2, packed),
                .scales = frame_output(frame, 1, x->type, 2, scales),
                .biases = frame_bool(frame, 3) ? frame_output(frame, 2, x->type, 2, scales)
                                               : frame_absent(frame, 2, x->type),
                .bits = bits,
                .group = group}};
    return FRAME_RUN(frame, ingot_op_quantise, &desc);
}

ingot_status torch_op_dequantise(struct frame *frame) {
    ingot_dequantise_desc desc = {.x = weights(frame, 0)};
    const int64_t shape[] = {frame_extent(desc.x.scales, 0),
                             frame_extent(desc.x.scales, 1) * desc.x.group};
    desc.out = frame_output(frame, 0, frame_dtype(frame, 5), 2, shape);
    return FRAME_RUN(frame, ingot_op_dequantise, &desc);
}

/* x's shape with the weights' rows instead of its last dimension. */
static const ingot_tensor *quantised_product(struct frame *frame, const ingot_tensor *x,
                                             const ingot_quantised *weights) {
    int64_t shape[INGOT_MAX_RANK] = {0};
    for (uint32_t i = 0; i + 1 < x->rank; i++) {
        shape[i] = x->shape[i];
    }
    if (x->rank) {
        shape[x->rank - 1] = frame_extent(weights->scales, 0);
    }
    return frame_output(frame, 0, x->type, x->rank, shape);
}

ingot_status torch_op_quantised_matvec(struct frame *frame) {
    const ingot_tensor *x = frame_tensor(frame, 0, LAYOUT_DENSE);
    ingot_quantised_matvec_desc desc = {
        .x = x, .weights = weights(frame, 1), .bias = frame_optional(frame, 6, LAYOUT_DENSE)};
    desc.out = quantised_product(frame, x, &desc.weights);
    return FRAME_RUN(frame, ingot_op_quantised_matvec, &desc);
}

ingot_status torch_op_quantised_matmul(struct frame *frame) {
    const ingot_tensor *x = frame_tensor(frame, 0, LAYOUT_ROWS);
    ingot_quantised_matmul_desc desc = {.x = x,
                                        .weights = weights(frame, 1),
                                        .bias = frame_optional(frame, 6, LAYOUT_DENSE),
                                        .epilogue = epilogue(frame, 7)};
    desc.out = quantised_product(frame, x, &desc.weights);
    return FRAME_RUN(frame, ingot_op_quantised_matmul, &desc);
}
