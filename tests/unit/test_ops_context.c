/*
 * The devices and streams of the Python extension, with GPUs of a fake driver; and scratch memory
 * from who made the operations, and the tables that operations keep on GPUs.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "context.h"
#include "ops/ops.h"
#include "runtime/objects.h"

unsigned tensor_thread_count(void) {
    return 1;
}

bool tensor_stream_is_foreign(int index, const void *stream) {
    (void)index;
    return stream != NULL;
}

static int native[3]; /* their addresses stand for streams of another library */

static void *find_again(void *expected) {
    context here;
    ingot_status status = context_cuda(0, &native[0], &here);
    return status == INGOT_OK && here.stream == expected ? expected : NULL;
}

static void test_streams(void) {
    context first, second, again, other;
    CHECK(context_cuda(0, NULL, &first) == INGOT_OK);
    CHECK(context_cuda(0, &native[0], &second) == INGOT_OK);
    CHECK(first.device == second.device && first.ops == second.ops);
    CHECK(first.stream != second.stream);
    CHECK(context_cuda(0, NULL, &again) == INGOT_OK && again.stream == first.stream);
    CHECK(context_cuda(1, &native[0], &other) == INGOT_OK);
    CHECK(other.device != first.device && other.stream != second.stream);
    ingot_device_info info;
    CHECK(!ingot_device_get_info(other.device, &info) && !strcmp(info.name, "cuda:1"));
    CHECK(context_wait() == INGOT_OK);

    /* Streams that are lent are others each time, and remembered by nobody. */
    context lent, lent_again;
    CHECK(context_lend(0, &native[1], &lent) == INGOT_OK);
    CHECK(context_lend(0, &native[1], &lent_again) == INGOT_OK);
    CHECK(lent.device == first.device && lent.stream != lent_again.stream);
    CHECK(lent.is_lent && !second.is_lent);
    context_done(&lent);
    context_done(&lent); /* nothing more to do */
    context_done(&lent_again);
    context_done(&second);
    CHECK(context_cuda(0, &native[0], &again) == INGOT_OK && again.stream == second.stream);

    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_create(&threads[i], NULL, find_again, second.stream) == 0);
    }
    for (int i = 0; i < 4; i++) {
        void *found = NULL;
        CHECK(pthread_join(threads[i], &found) == 0 && found == second.stream);
    }
}

static void test_absent_devices(void) {
    context none = {0};
    CHECK(context_cuda(7, NULL, &none) == INGOT_NOT_FOUND && !none.device);
    CHECK(strstr(ingot_error_message(), "cuda:7"));
    CHECK(context_cuda(-1, NULL, &none) != INGOT_OK);
    CHECK(context_cuda(CONTEXT_CUDA_DEVICES, NULL, &none) != INGOT_OK);
    CHECK(!context_has_cuda() && context_torch_cuda(0, &none) != INGOT_OK);
}

/* ---- scratch memory ---- */

enum { ROWS = 2, KEYS = 4096, WIDTH = 64 };

static struct {
    void *given[16];
    unsigned count;
    bool refuse;
} scratch;

static void *give_scratch(void *where, uint64_t bytes) {
    CHECK(where == &scratch && bytes > 0 && scratch.count < 16);
    if (scratch.refuse || scratch.count == 16) {
        return NULL;
    }
    return scratch.given[scratch.count++] = aligned_alloc(64, (bytes + 63) / 64 * 64);
}

/* Attention of one query over a long cache, which is split: zeros as keys, so that each row of the
 * result is the mean of the values. */
static ingot_status attend(const context *cpu, ingot_ops *ops, float *q, float *k, float *v,
                           float *out) {
    ingot_buffer *buffers[4] = {NULL};
    float *const memory[4] = {q, k, v, out};
    const int64_t shapes[4][4] = {
        {1, ROWS, 1, WIDTH}, {1, ROWS, KEYS, WIDTH}, {1, ROWS, KEYS, WIDTH}, {1, ROWS, 1, WIDTH}};
    ingot_tensor tensors[4];
    for (int i = 0; i < 4; i++) {
        uint64_t length = 4 * (uint64_t)(shapes[i][1] * shapes[i][2] * shapes[i][3]);
        CHECK(!ingot_buffer_wrap(cpu->device, memory[i], length, NULL, NULL, &buffers[i]));
        tensors[i] = ingot_tensor_contiguous(buffers[i], 0, INGOT_SCALAR_F32, 4, shapes[i]);
    }
    const ingot_attention_desc desc = {
        .q = &tensors[0], .k = &tensors[1], .v = &tensors[2], .out = &tensors[3]};
    ingot_status status = ingot_op_attention(ops, cpu->stream, &desc);
    CHECK(ingot_stream_wait(cpu->stream) == INGOT_OK);
    for (int i = 0; i < 4; i++) {
        ingot_buffer_release(buffers[i]);
    }
    return status;
}

static void test_scratch(void) {
    context cpu;
    ingot_ops *ops = NULL;
    const ingot_ops_desc desc = {.scratch = give_scratch, .scratch_context = &scratch};
    CHECK(context_cpu(&cpu) == INGOT_OK && !ingot_ops_create(cpu.device, &desc, &ops));
    float *q = calloc(ROWS * WIDTH, 4), *k = calloc(ROWS * KEYS * WIDTH, 4);
    float *v = calloc(ROWS * KEYS * WIDTH, 4), *out = calloc(ROWS * WIDTH, 4);
    CHECK(q && k && v && out);
    for (int i = 0; v && i < ROWS * KEYS * WIDTH; i++) {
        v[i] = (float)(i % WIDTH);
    }
    ingot_status status = attend(&cpu, ops, q, k, v, out);
    CHECK(status == INGOT_OK && scratch.count > 0);
    for (int i = 0; out && i < ROWS * WIDTH; i++) {
        CHECK(out[i] > (float)(i % WIDTH) - 0.01f && out[i] < (float)(i % WIDTH) + 0.01f);
    }
    scratch.refuse = true;
    CHECK(attend(&cpu, ops, q, k, v, out) == INGOT_OUT_OF_MEMORY);
    CHECK(strstr(ingot_error_message(), "scratch memory"));
    for (unsigned i = 0; i < scratch.count; i++) {
        free(scratch.given[i]);
    }
    free(q);
    free(k);
    free(v);
    free(out);
    ingot_ops_release(ops);
}

/* The address of the memory that holds the bytes, which are looked at: the fake's is the host's. */
static uint64_t table_of(const context *gpu, ingot_stream *stream, const uint64_t *bytes) {
    struct igo_call call = {.ops = gpu->ops, .stream = stream};
    ingot_buffer *buffer = igo_table(&call, bytes, 64);
    CHECK(buffer && !call.failed);
    if (!buffer) {
        return 0;
    }
    uint64_t address = ingot_buffer_address(buffer);
    CHECK(getenv("FAKE_CUDA_CAPTURING") || !ingot_stream_wait(stream)); /* not in a capture */
    CHECK(!memcmp((const void *)(uintptr_t)address, bytes, 64));
    ingot_buffer_release(buffer);
    return address;
}

/* The first time a table goes to scratch memory; from the second on it has memory of its own, the
 * same for all streams. What a graph was captured with stays, however many others there are. */
static void test_tables(void) {
    context gpu;
    ingot_stream *plain, *wrapped;
    CHECK(context_cuda(0, NULL, &gpu) == INGOT_OK);
    CHECK(!ingot_stream_create(gpu.device, &plain));
    CHECK(!ingot_stream_wrap(gpu.device, &native[2], &wrapped));
    uint64_t a[8] = {1}, b[8] = {2}, other[8] = {3};
    uint64_t first = table_of(&gpu, plain, a), kept = table_of(&gpu, plain, a);
    CHECK(first != kept && table_of(&gpu, plain, a) == kept && table_of(&gpu, wrapped, a) == kept);
    CHECK(table_of(&gpu, plain, b) == first); /* scratch memory again */
    setenv("FAKE_CUDA_CAPTURING", "1", 1);
    uint64_t captured = table_of(&gpu, wrapped, other);
    CHECK(table_of(&gpu, wrapped, a) == kept);
    unsetenv("FAKE_CUDA_CAPTURING");
    CHECK(captured != first && captured != kept);
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t many[8] = {100 + i};
        table_of(&gpu, plain, many);
        table_of(&gpu, plain, many);
    }
    CHECK(table_of(&gpu, plain, a) == kept && table_of(&gpu, plain, other) == captured);
    CHECK(gpu.ops->tables.count <= 18); /* the two, and those of the last tables */
    ingot_stream_release(plain);
    ingot_stream_release(wrapped);
}

int main(void) {
    setenv("INGOT_CUDA_LIBRARY", FAKE_CUDA_LIBRARY, 1);
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    test_streams();
    test_absent_devices();
    test_scratch();
    test_tables();
    return check_report();
}
