/*
 * Scratch memory of operations on a device with unified memory that is no CPU: queued work holds no
 * references there, so a buffer that a call has given back may still be read. usage: test_scratch
 * (with $INGOT_METAL_BRIDGE)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/check.h"
#include "ops/ops.h"
#include "runtime/objects.h"

enum { ELEMENTS = 1 << 18, CALLS = 48 };

static void check_ok(ingot_status status, int line) {
    CHECK(status == INGOT_OK);
    if (status) {
        fprintf(stderr, "  line %d: %s\n", line, ingot_error_message());
    }
}
#define OK(call) check_ok(call, __LINE__)

/* What a call would get that needs 10,000 bytes, and gives them back. */
static const ingot_buffer *lent(ingot_ops *ops, ingot_stream *stream) {
    struct igo_call call = {.ops = ops, .stream = stream};
    ingot_buffer *buffer = igo_scratch(&call, 10000);
    CHECK(buffer && !call.failed);
    igo_scratch_release(&call, buffer);
    return buffer;
}

static void test_pool(ingot_ops *ops, ingot_stream *a, ingot_stream *b, bool is_cpu) {
    const ingot_buffer *first = lent(ops, a);
    CHECK(lent(ops, a) == first); /* of one stream, whose work runs in order */
    const ingot_buffer *second = lent(ops, b);
    CHECK((second == first) == is_cpu);
    CHECK(lent(ops, a) == first);
    CHECK(lent(ops, b) == second);
}

struct grads {
    ingot_buffer *values, *norms;
    float each; /* all elements */
};

static struct grads make_grads(ingot_device *device, float each) {
    struct grads made = {.each = each};
    OK(ingot_buffer_create(device, sizeof(float) * ELEMENTS, &made.values));
    OK(ingot_buffer_create(device, sizeof(float) * CALLS, &made.norms));
    float *values = ingot_buffer_contents(made.values);
    for (int i = 0; values && i < ELEMENTS; i++) {
        values[i] = each;
    }
    return made;
}

/* Two launches: sums of blocks go to scratch memory, and the second adds them up. */
static void encode(ingot_ops *ops, ingot_stream *stream, const struct grads *grads, int at) {
    const int64_t count = ELEMENTS, one = 1;
    const ingot_tensor values =
        ingot_tensor_contiguous(grads->values, 0, INGOT_SCALAR_F32, 1, &count);
    const ingot_tensor norm = ingot_tensor_contiguous(grads->norms, sizeof(float) * (uint64_t)at,
                                                      INGOT_SCALAR_F32, 1, &one);
    const ingot_tensor *list[] = {&values};
    OK(ingot_op_grad_norm(ops, stream,
                          &(ingot_grad_norm_desc){.grads = list, .count = 1, .norm = &norm}));
}

static int wrong_norms(const struct grads *grads) {
    const float *norms = ingot_buffer_contents(grads->norms);
    const float expected = grads->each * sqrtf(ELEMENTS);
    int wrong = 0;
    for (int i = 0; i < CALLS; i++) {
        if (!(fabsf(norms[i] - expected) <= expected * 1e-5f)) {
            wrong++;
            fprintf(stderr, "  call %d: %g, expected %g\n", i, (double)norms[i], (double)expected);
        }
    }
    return wrong;
}

/* Calls of two streams in turns, with nothing that orders one stream's work before the other's. */
static void test_results(ingot_device *device, ingot_ops *ops, ingot_stream *a, ingot_stream *b) {
    struct grads first = make_grads(device, 1), second = make_grads(device, 3);
    for (int i = 0; i < CALLS; i++) {
        encode(ops, a, &first, i);
        encode(ops, b, &second, i);
    }
    OK(ingot_stream_wait(a));
    OK(ingot_stream_wait(b));
    CHECK(wrong_norms(&first) == 0);
    CHECK(wrong_norms(&second) == 0);
    ingot_buffer_release(first.values);
    ingot_buffer_release(first.norms);
    ingot_buffer_release(second.values);
    ingot_buffer_release(second.norms);
}

static void test_device(const char *name) {
    ingot_device *device = NULL;
    ingot_stream *a = NULL, *b = NULL;
    ingot_ops *ops = NULL;
    ingot_device_info info;
    OK(ingot_device_open(name, NULL, &device));
    if (!device) {
        return;
    }
    OK(ingot_device_get_info(device, &info));
    CHECK(info.unified_memory);
    OK(ingot_stream_create(device, &a));
    OK(ingot_stream_create(device, &b));
    OK(ingot_ops_create(device, NULL, &ops));
    test_pool(ops, a, b, !strcmp(name, "cpu"));
    test_results(device, ops, a, b);
    ingot_ops_release(ops);
    ingot_stream_release(a);
    ingot_stream_release(b);
    ingot_device_release(device);
}

int main(void) {
    test_device("cpu");
    test_device("metal");
    return check_report();
}
