/* The checks of arguments: each refuses what it must, in the words it must. */
#include <string.h>

#include "check.h"
#include "ops/ops.h"

static const struct ingot_ops_info operation = {.name = "op", .family = "test", .summary = ""};
static const struct igo_library library = {
    .name = "test", .operations = &operation, .operation_count = 1};
static ingot_device *device;
static ingot_ops *ops;
static ingot_stream *stream;
static ingot_buffer *buffer; /* 4096 bytes */
static struct igo_call call;

static void begin(void) {
    igo_begin(&call, ops, stream, &library, &operation, "a descriptor");
}

/* Ends the call: it must have failed with this message. */
static bool failed_with(const char *expected) {
    ingot_status status = igo_end(&call);
    const char *got = status ? ingot_error_message() : "(no failure)";
    bool same = status == INGOT_INVALID_ARGUMENT && !strcmp(got, expected);
    if (!same) {
        fprintf(stderr, "  got \"%s\"\n", got);
    }
    return same;
}

static ingot_tensor tensor(uint64_t offset, ingot_scalar_type type, uint32_t rank, int64_t a,
                           int64_t b) {
    return ingot_tensor_contiguous(buffer, offset, type, rank, (int64_t[]){a, b});
}

static void test_begin(void) {
    igo_begin(&call, NULL, stream, &library, &operation, "");
    CHECK(failed_with("op: ops is NULL"));
    igo_begin(&call, ops, NULL, &library, &operation, "");
    CHECK(failed_with("op: stream is NULL"));
    igo_begin(&call, ops, stream, &library, &operation, NULL);
    CHECK(failed_with("op: desc is NULL"));
    ingot_device *other = NULL;
    ingot_stream *other_stream = NULL;
    CHECK(!ingot_device_open("cpu", NULL, &other) && !ingot_stream_create(other, &other_stream));
    igo_begin(&call, ops, other_stream, &library, &operation, "");
    CHECK(failed_with("op: the stream belongs to another opening of device \"cpu\" than ops "
                      "(\"cpu\")"));
    ingot_stream_release(other_stream);
    ingot_device_release(other);
    begin();
    CHECK(igo_end(&call) == INGOT_OK);
    CHECK(!*ingot_ops_last_variant() && !*ingot_ops_last_launch());
}

static void test_tensor(void) {
    ingot_tensor t = tensor(0, INGOT_SCALAR_F32, 2, 3, 4);
    begin();
    CHECK(igo_tensor(&call, "x", &t, IGO_FLOATS, 1, 2) && !call.failed);
    CHECK(!igo_tensor(&call, "x", NULL, IGO_FLOATS, 1, 2));
    CHECK(!igo_tensor(&call, "y", &t, IGO_FLOATS, 1, 2)); /* the first failure sticks */
    CHECK(failed_with("op: x is missing"));
    begin();
    igo_tensor(&call, "x", &t, IGO_FLOATS, 3, 3);
    CHECK(failed_with("op: x has 2 dimensions; it must have 3"));
    begin();
    igo_tensor(&call, "x", &t, IGO_FLOATS, 3, 4);
    CHECK(failed_with("op: x has 2 dimensions; it must have 3 to 4"));
    t.rank = 9;
    begin();
    igo_tensor(&call, "x", &t, IGO_FLOATS, 0, 20);
    CHECK(failed_with("op: x has 9 dimensions; it must have 0 to 20"));
    t = tensor(0, INGOT_SCALAR_I32, 1, 3, 0);
    begin();
    igo_tensor(&call, "x", &t, IGO_FLOATS, 1, 1);
    CHECK(failed_with("op: x has type i32; it may be f16, bf16, f32"));
    t.type = (ingot_scalar_type)99;
    begin();
    igo_tensor(&call, "x", &t, IGO_INDICES, 1, 1);
    CHECK(failed_with("op: x has type none; it may be i32, i64"));
    t = tensor(0, INGOT_SCALAR_F32, 2, 3, -4);
    begin();
    igo_tensor(&call, "x", &t, IGO_FLOATS, 1, 2);
    CHECK(failed_with("op: x has extent -4 in dimension 1; it must not be negative"));
    t = tensor(0, INGOT_SCALAR_F32, 2, 3, 4);
    t.strides[0] = -4;
    begin();
    igo_tensor(&call, "x", &t, IGO_FLOATS, 1, 2);
    CHECK(failed_with("op: x has stride -4 in dimension 0; it must not be negative"));
    t = tensor(0, INGOT_SCALAR_F32, 2, INT64_MAX / 2, 4);
    begin();
    igo_tensor(&call, "x", &t, IGO_FLOATS, 1, 2);
    CHECK(failed_with("op: x has more than 2^63 elements"));
}

static void test_memory(void) {
    ingot_tensor t = tensor(16, INGOT_SCALAR_F32, 2, 32, 32);
    begin();
    igo_tensor(&call, "x", &t, IGO_FLOATS, 1, 2);
    CHECK(failed_with("op: x ends at byte 4112 of a buffer of 4096 bytes"));
    t = tensor(2, INGOT_SCALAR_F32, 2, 3, 4);
    begin();
    igo_tensor(&call, "x", &t, IGO_FLOATS, 1, 2);
    CHECK(failed_with("op: x starts at byte 2, which is no multiple of its type's 4 bytes"));
    t.buffer = NULL;
    begin();
    igo_tensor(&call, "x", &t, IGO_FLOATS, 1, 2);
    CHECK(failed_with("op: x has no buffer"));
    t.shape[1] = 0; /* empty tensors need none */
    begin();
    CHECK(igo_tensor(&call, "x", &t, IGO_FLOATS, 1, 2) && igo_end(&call) == INGOT_OK);
    t = tensor(0, INGOT_SCALAR_F32, 2, 2, 4);
    t.strides[0] = INT64_MAX / 2; /* must not wrap around */
    begin();
    CHECK(!igo_tensor(&call, "x", &t, IGO_FLOATS, 1, 2) && igo_end(&call));
}

static void test_relations(void) {
    ingot_tensor x = tensor(0, INGOT_SCALAR_F32, 2, 3, 4), y = tensor(0, INGOT_SCALAR_F16, 2, 4, 3);
    begin();
    CHECK(!igo_same_type(&call, "y", &y, "x", &x));
    CHECK(failed_with("op: y has type f16, but x has f32"));
    begin();
    CHECK(!igo_same_shape(&call, "y", &y, "x", &x));
    CHECK(failed_with("op: y has shape [4, 3], but x has [3, 4]"));
    begin();
    CHECK(igo_extent(&call, "x", &x, -1, 4, "the row") && igo_extent(&call, "x", &x, 0, 3, ""));
    CHECK(!igo_extent(&call, "x", &x, -1, 5, "the row"));
    CHECK(failed_with("op: x has shape [3, 4]; dimension 1 is 4, but must be 5 (the row)"));
    begin();
    CHECK(!igo_extent(&call, "x", &x, -3, 5, "the row"));
    CHECK(failed_with("op: x has shape [3, 4], and no dimension -3"));
    begin();
    CHECK(!IGO_REQUIRE(&call, x.shape[0] == 2, "rows is %d; it must be 2", 3));
    CHECK(failed_with("op: rows is 3; it must be 2"));
}

static void test_layout(void) {
    ingot_tensor x = tensor(0, INGOT_SCALAR_F32, 2, 3, 4);
    begin();
    CHECK(igo_dense(&call, "x", &x) && igo_dense_tail(&call, "x", &x, 1));
    x.strides[0] = 8;
    CHECK(igo_dense_tail(&call, "x", &x, 1));
    CHECK(!igo_dense(&call, "x", &x));
    CHECK(failed_with("op: x has shape [3, 4] and strides [8, 1]; it must be contiguous in "
                      "row-major order"));
    x.strides[1] = 2;
    begin();
    CHECK(!igo_dense_tail(&call, "x", &x, 1));
    CHECK(failed_with("op: x has shape [3, 4] and strides [8, 2]; its last dimension must be "
                      "contiguous"));
    begin();
    CHECK(!igo_dense_tail(&call, "x", &x, 2));
    CHECK(failed_with("op: x has shape [3, 4] and strides [8, 2]; its last dimensions must be "
                      "contiguous in row-major order"));
    x = tensor(0, INGOT_SCALAR_F32, 2, 1, 4);
    x.strides[0] = 77; /* of a dimension of one: anything */
    CHECK(igo_is_dense(&x) && igo_count(&x) == 4 && igo_rows(&x) == 1);
    int64_t stride = 0;
    x = tensor(0, INGOT_SCALAR_F32, 2, 3, 4);
    x.strides[0] = 8;
    CHECK(igo_row_stride(&x, &stride) && stride == 8);
    CHECK(igo_aligned(&x, 16) && !igo_aligned(&x, 64));
}

static void test_overlap(void) {
    ingot_tensor x = tensor(0, INGOT_SCALAR_F32, 2, 3, 4),
                 y = tensor(48, INGOT_SCALAR_F32, 2, 3, 4),
                 z = tensor(40, INGOT_SCALAR_F32, 2, 3, 4),
                 empty = tensor(0, INGOT_SCALAR_F32, 1, 0, 0);
    begin();
    CHECK(igo_no_overlap(&call, "y", &y, "x", &x, false));
    CHECK(igo_no_overlap(&call, "x", &x, "x", &x, true));
    CHECK(igo_no_overlap(&call, "y", &empty, "x", &x, false));
    CHECK(igo_no_overlap(&call, "y", NULL, "x", &x, false));
    CHECK(!igo_no_overlap(&call, "z", &z, "x", &x, true));
    CHECK(failed_with("op: z overlaps x by 8 bytes; it may be the same view, or apart from it"));
    begin();
    CHECK(!igo_no_overlap(&call, "x", &x, "x", &x, false));
    CHECK(failed_with("op: x overlaps x by 48 bytes"));
}

/* Through an operation: what was launched, and that nothing runs after a refusal. */
static void test_call(void) {
    ingot_tensor x = tensor(0, INGOT_SCALAR_F32, 1, 8, 0),
                 y = tensor(64, INGOT_SCALAR_F32, 1, 8, 0);
    float *values = ingot_buffer_contents(buffer);
    for (int i = 0; i < 32; i++) {
        values[i] = (float)i;
    }
    ingot_axpy_desc desc = {.x = &x, .y = &y, .alpha = 2};
    CHECK(!ingot_op_axpy(ops, stream, &desc) && !ingot_stream_wait(stream));
    CHECK(values[16] == 16 && values[17] == 19);
    CHECK(!strncmp(ingot_ops_last_variant(), "axpy/f32/n8/simd", 16));
    CHECK(!strncmp(ingot_ops_last_launch(), "1 groups of ", 12));
    y.shape[0] = 9;
    CHECK(ingot_op_axpy(ops, stream, &desc) == INGOT_INVALID_ARGUMENT);
    CHECK(!strcmp(ingot_error_message(), "axpy: y has shape [9], but x has [8]"));
    CHECK(!ingot_stream_wait(stream) && values[16] == 16);
    x.shape[0] = y.shape[0] = 0;
    CHECK(!ingot_op_axpy(ops, stream, &desc) && !*ingot_ops_last_launch());
}

static void test_classes(void) {
    struct igo_class c = {0};
    igo_class_size(&c, "row", 4097, 0);
    igo_class_word(&c, "causal");
    igo_class_number(&c, "head", 80);
    igo_class_size(&c, "n", 1 << 20, 1 << 16);
    igo_class_size(&c, "m", 0, 0);
    CHECK(!strcmp(c.text, "row8192/causal/head80/n65536/m1"));
}

int main(void) {
    CHECK(!ingot_device_open("cpu", NULL, &device));
    const ingot_ops_desc desc = {.policy_path = ""};
    CHECK(!ingot_ops_create(device, &desc, &ops));
    CHECK(!ingot_stream_create(device, &stream));
    CHECK(!ingot_buffer_create(device, 4096, &buffer));
    test_begin();
    test_tensor();
    test_memory();
    test_relations();
    test_layout();
    test_overlap();
    test_call();
    test_classes();
    ingot_buffer_release(buffer);
    ingot_stream_release(stream);
    ingot_ops_release(ops);
    ingot_device_release(device);
    return check_report();
}
