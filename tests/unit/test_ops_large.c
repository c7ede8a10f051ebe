/* Operations on dense tensors of more than 2^31 elements. Their memory is a few megabytes that are
 * mapped again and again, between pages that may not be touched; the first and the last elements
 * have memory of their own. So an index that wraps, or a part that is left out, is seen. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "ingot/ops.h"

enum { SHARED = 8 << 20, OWN = 64 << 10, GUARD = 1 << 20 };
static const int64_t COUNT = ((int64_t)1 << 31) + 12345;

static ingot_device *device;
static ingot_ops *ops;
static ingot_stream *stream;

struct region {
    char *reserved, *memory; /* memory: `length` bytes between the guards */
    size_t length, whole;
    ingot_buffer *buffer;
};

/* Element i of the first and the last OWN bytes is its own; those between share. */
static bool region_open(struct region *r, size_t bytes) {
    const int access = PROT_READ | PROT_WRITE;
    r->length = (bytes + SHARED - 1) / SHARED * SHARED;
    r->whole = r->length + 2 * GUARD;
    r->reserved =
        mmap(NULL, r->whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->reserved == MAP_FAILED) {
        return false;
    }
    r->memory = r->reserved + GUARD;
    const int file = memfd_create("large", 0);
    bool fine = file >= 0 && !ftruncate(file, SHARED);
    for (size_t at = 0; at < r->length && fine; at += SHARED) {
        fine = mmap(r->memory + at, SHARED, access, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
    }
    close(file);
    const size_t page = 4096, last = bytes / page * page;
    const size_t places[] = {0, last - OWN}, sizes[] = {OWN, r->length - last + OWN};
    for (int i = 0; i < 2 && fine; i++) {
        fine = mmap(r->memory + places[i], sizes[i], access,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
    }
    return fine && !ingot_buffer_wrap(device, r->memory, r->length, NULL, NULL, &r->buffer);
}

static void region_close(struct region *r) {
    ingot_buffer_release(r->buffer);
    if (r->reserved != MAP_FAILED) {
        munmap(r->reserved, r->whole);
    }
}

static ingot_tensor line(const struct region *r) {
    return ingot_tensor_contiguous(r->buffer, 0, INGOT_SCALAR_F16, 1, &COUNT);
}

/* How many of the first and last 1000 elements are not `bits`; behind the end, not 0. */
static int wrong(const struct region *r, uint16_t bits) {
    const uint16_t *elements = (const uint16_t *)(const void *)r->memory;
    int count = 0;
    for (int64_t i = 0; i < 1000; i++) {
        count +=
            (elements[i] != bits) + (elements[COUNT - 1 - i] != bits) + (elements[COUNT + i] != 0);
    }
    return count;
}

enum { HALF_1_5 = 0x3e00, HALF_3 = 0x4200, HALF_SILU_3 = 0x41b7 };

static void test_lines(void) {
    struct region x = {0}, y = {0};
    CHECK(region_open(&x, (size_t)COUNT * 2) && region_open(&y, (size_t)COUNT * 2));
    const ingot_tensor tx = line(&x), ty = line(&y);
    CHECK(!ingot_op_fill(ops, stream, &(ingot_fill_desc){.out = &tx, .value = 1.5}));
    CHECK(!ingot_stream_wait(stream));
    CHECK(wrong(&x, HALF_1_5) == 0);
    /* y shares its memory, so it is added to once per share there: only its own parts are looked at
     */
    CHECK(!ingot_op_axpy(ops, stream, &(ingot_axpy_desc){.x = &tx, .y = &ty, .alpha = 2}));
    CHECK(!ingot_stream_wait(stream));
    CHECK(wrong(&y, HALF_3) == 0);
    const ingot_activation_desc silu = {.x = &ty, .out = &tx};
    CHECK(!ingot_op_silu(ops, stream, &silu));
    CHECK(!ingot_stream_wait(stream));
    CHECK(wrong(&x, HALF_SILU_3) == 0);
    region_close(&x);
    region_close(&y);
}

/* Keys and values in the last blocks of a large cache, and in those of a small one, give the same.
 */
enum { BLOCK = 16, DIM = 64, BLOCKS_USED = 3, TOKENS = BLOCK * BLOCKS_USED };

static void attend(const struct region *keys, const struct region *values, int64_t blocks,
                   uint16_t out[DIM]) {
    ingot_buffer *small = NULL;
    CHECK(!ingot_buffer_create(device, 1 << 16, &small));
    uint16_t *memory = ingot_buffer_contents(small);
    int64_t *slots = (int64_t *)(void *)(memory + 2 * TOKENS * DIM + 2 * DIM);
    int32_t *table = (int32_t *)(void *)(slots + TOKENS), *length = table + BLOCKS_USED;
    for (int i = 0; i < 2 * TOKENS * DIM + DIM; i++) { /* between 0.5 and 1, with either sign */
        memory[i] = (uint16_t)(0x3800 | ((i * 7919) & 0x3ff) | ((i * 31) & 1 ? 0x8000 : 0));
    }
    for (int i = 0; i < TOKENS; i++) {
        slots[i] = (blocks - BLOCKS_USED) * BLOCK + i;
    }
    for (int i = 0; i < BLOCKS_USED; i++) {
        table[i] = (int32_t)(blocks - BLOCKS_USED + i);
    }
    *length = TOKENS;
#define HERE(pointer, type, ...)                                                                   \
    ingot_tensor_contiguous(small, (uint64_t)((char *)(pointer) - (char *)memory), type,           \
                            sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__})
    const ingot_tensor key = HERE(memory, INGOT_SCALAR_F16, TOKENS, 1, DIM);
    const ingot_tensor value = HERE(memory + TOKENS * DIM, INGOT_SCALAR_F16, TOKENS, 1, DIM);
    const ingot_tensor q = HERE(memory + 2 * TOKENS * DIM, INGOT_SCALAR_F16, 1, 1, 1, DIM);
    const ingot_tensor result =
        HERE(memory + 2 * TOKENS * DIM + DIM, INGOT_SCALAR_F16, 1, 1, 1, DIM);
    const ingot_tensor slot = HERE(slots, INGOT_SCALAR_I64, TOKENS);
    const ingot_tensor blocks_of = HERE(table, INGOT_SCALAR_I32, 1, BLOCKS_USED);
    const ingot_tensor lengths = HERE(length, INGOT_SCALAR_I32, 1);
#undef HERE
    const int64_t shape[] = {blocks, 1, BLOCK, DIM};
    const ingot_tensor key_cache =
        ingot_tensor_contiguous(keys->buffer, 0, INGOT_SCALAR_F16, 4, shape);
    const ingot_tensor value_cache =
        ingot_tensor_contiguous(values->buffer, 0, INGOT_SCALAR_F16, 4, shape);
    const ingot_cache_write_desc write = {.key = &key,
                                          .value = &value,
                                          .slots = &slot,
                                          .key_cache = &key_cache,
                                          .value_cache = &value_cache};
    const ingot_attention_paged_desc desc = {.q = &q,
                                             .key_cache = &key_cache,
                                             .value_cache = &value_cache,
                                             .block_table = &blocks_of,
                                             .lengths = &lengths,
                                             .out = &result};
    CHECK(!ingot_op_cache_write(ops, stream, &write));
    CHECK(!ingot_op_attention_paged(ops, stream, &desc));
    CHECK(!ingot_stream_wait(stream));
    memcpy(out, memory + 2 * TOKENS * DIM + DIM, DIM * sizeof *out);
    ingot_buffer_release(small);
}

static void test_paged(void) {
    const int64_t few = 200, many = ((int64_t)1 << 31) / (BLOCK * DIM) + 5;
    uint16_t small[DIM], large[DIM];
    for (int i = 0; i < 2; i++) {
        struct region keys = {0}, values = {0};
        const int64_t blocks = i ? many : few;
        const size_t bytes = (size_t)blocks * BLOCK * DIM * 2;
        CHECK(region_open(&keys, bytes) && region_open(&values, bytes));
        attend(&keys, &values, blocks, i ? large : small);
        region_close(&keys);
        region_close(&values);
    }
    bool zero = true;
    for (int i = 0; i < DIM; i++) {
        zero = zero && !(small[i] & 0x7fff);
    }
    CHECK(!zero);
    CHECK(!memcmp(small, large, sizeof small));
}

int main(void) {
#if defined(__SANITIZE_THREAD__)
    printf("left out with ThreadSanitizer: it has no room for tensors of 4 GiB\n");
    return check_report();
#endif
    CHECK(!ingot_device_open("cpu", NULL, &device));
    CHECK(!ingot_stream_create(device, &stream));
    CHECK(!ingot_ops_create(device, NULL, &ops));
    test_lines();
    test_paged();
    ingot_ops_release(ops);
    ingot_stream_release(stream);
    ingot_device_release(device);
    return check_report();
}
