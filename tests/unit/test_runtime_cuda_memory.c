/*
 * Buffers of the CUDA device against a fake driver (tests/fake_cuda): the card's, shared ones, and
 * the host's memory where it is.
 */
#include <unistd.h>

#include "runtime_cuda_support.h"

static void released(void *context) {
    ++*(int *)context;
}

static void memory(void) {
    load_fake();
    open_with(NULL);
    ingot_buffer *a, *b, *wrapped, *none;
    unsigned char bytes[256], host[64] = {0};
    OK(ingot_buffer_create(device, 256, &a));
    OK(ingot_buffer_create(device, 256, &b));
    OK(ingot_stream_download(stream, a, 0, bytes, 256));
    bool zeroed = true;
    for (int i = 0; i < 256; i++) {
        zeroed &= bytes[i] == 0;
    }
    CHECK(zeroed);
    OK(ingot_stream_fill(stream, a, 16, 32, 7));
    OK(ingot_stream_copy(stream, a, 16, b, 100, 32));
    OK(ingot_stream_download(stream, b, 99, bytes, 34));
    CHECK(bytes[0] == 0 && bytes[1] == 7 && bytes[32] == 7 && bytes[33] == 0);
    FAILS(ingot_stream_upload(stream, a, 250, bytes, 7), INGOT_INVALID_ARGUMENT, "250", "256");
    FAILS(ingot_stream_download(stream, a, 0, NULL, 7), INGOT_INVALID_ARGUMENT, "host is NULL");
    fake->fail("cuMemcpyHtoDAsync", 1, 1);
    FAILS(ingot_stream_upload(stream, a, 0, bytes, 7), INGOT_LAUNCH_ERROR, "ingot_stream_upload");

    int releases = 0;
    void *address = (void *)(uintptr_t)ingot_buffer_address(a);
    OK(ingot_buffer_wrap(device, address, 128, released, &releases, &wrapped));
    CHECK(ingot_buffer_contents(wrapped) == NULL);
    CHECK(ingot_buffer_address(wrapped) == (uintptr_t)address);
    ingot_buffer_release(wrapped);
    CHECK(releases == 1);
    FAILS(ingot_buffer_wrap(device, host, sizeof host, NULL, NULL, &none), INGOT_INVALID_ARGUMENT,
          "cuda:0", "can reach");
    fake->clear_log();
    OK(ingot_buffer_wrap_address(device, ingot_buffer_address(a), 128, released, &releases,
                                 &wrapped));
    CHECK(!*fake->log()); /* the driver is not asked */
    CHECK(ingot_buffer_contents(wrapped) == NULL);
    CHECK(ingot_buffer_address(wrapped) == (uintptr_t)address);
    ingot_buffer_release(wrapped);
    CHECK(releases == 2);
    FAILS(ingot_buffer_wrap_address(device, 0, 128, NULL, NULL, &none), INGOT_INVALID_ARGUMENT,
          "ingot_buffer_wrap_address", "NULL");

    FAILS(ingot_buffer_create(device, (uint64_t)3 << 30, &none), INGOT_OUT_OF_MEMORY, "3221225472",
          "1073741824");
    fake->fail("cuMemAlloc", 1, 2);
    FAILS(ingot_buffer_create(device, 64, &none), INGOT_OUT_OF_MEMORY, "64 bytes", "cuda:0");
    size_t before = fake->live();
    fake->fail("cuMemsetD8Async", 1, 1);
    CHECK(ingot_buffer_create(device, 64, &none) != INGOT_OK);
    CHECK(fake->live() == before);

    ingot_device *other;
    ingot_buffer *foreign;
    OK(ingot_device_open("cpu", NULL, &other));
    OK(ingot_buffer_create(other, 256, &foreign));
    ingot_kernel *kernel = kernel_named("mark");
    FAILS(run_one(kernel, foreign, 0), INGOT_LAUNCH_ERROR, "mark", "\"cpu\"", "\"cuda:0\"");
    FAILS(ingot_stream_copy(stream, foreign, 0, a, 0, 4), INGOT_INVALID_ARGUMENT, "another");
    ingot_kernel_release(kernel);
    ingot_buffer_release(foreign);
    ingot_device_release(other);
    ingot_buffer_release(a);
    ingot_buffer_release(b);
    close_all();
    CHECK(fake->live() == 0);
}

/* Memory that the host sees too, and parts of buffers. */
static void shared_memory(void) {
    load_fake();
    open_with(NULL);
    ingot_buffer *shared, *part, *plain, *part_of_plain;
    OK(ingot_buffer_create_shared(device, 512, &shared));
    uint32_t *words = ingot_buffer_contents(shared);
    CHECK(words && words[0] == 0 && words[127] == 0);
    OK(ingot_buffer_create_view(shared, 256, 256, &part));
    CHECK(ingot_buffer_contents(part) == words + 64 && ingot_buffer_length(part) == 256);
    CHECK(ingot_buffer_address(part) == ingot_buffer_address(shared) + 256);
    ingot_buffer_release(shared); /* the part keeps it */
    ingot_kernel *kernel = kernel_named("mark");
    OK(run_one(kernel, part, 0));
    OK(ingot_stream_wait(stream));
    CHECK(words[63] == 0 && words[64] == 1 && words[127] == 64);
    OK(ingot_buffer_create(device, 512, &plain));
    OK(ingot_buffer_create_view(plain, 4, 8, &part_of_plain));
    CHECK(ingot_buffer_contents(part_of_plain) == NULL);
    FAILS(ingot_buffer_create_view(plain, 508, 8, &shared), INGOT_INVALID_ARGUMENT, "508", "512");
    ingot_buffer_release(part_of_plain);
    ingot_buffer_release(plain);
    ingot_buffer_release(part);
    ingot_kernel_release(kernel);
    close_all();
    CHECK(fake->live() == 0);
}

/* The host's own memory: two buffers that share a page, and a third behind them. */
static void host_memory(void) {
    load_fake();
    open_with(NULL);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t *words = aligned_alloc(page, 4 * page);
    memset(words, 0, 4 * page);
    int releases = 0;
    ingot_buffer *first, *second, *third, *plain;
    ingot_kernel *kernel = kernel_named("mark");
    OK(ingot_buffer_create(device, 512, &plain));
    OK(run_one(kernel, plain, 0));
    OK(ingot_stream_wait(stream));
    size_t before = fake->live();
    OK(ingot_buffer_wrap_host(device, words, 256, released, &releases, &first));
    OK(ingot_buffer_wrap_host(device, words + 64, page, NULL, NULL, &second));
    OK(ingot_buffer_wrap_host(device, words, 3 * page, NULL, NULL, &third));
    CHECK(ingot_buffer_contents(second) == words + 64 && fake->live() == before);
    OK(run_one(kernel, first, 0));
    OK(ingot_stream_wait(stream));
    CHECK(words[0] == 1 && words[63] == 64 && words[64] == 0);
    CHECK(fake->live() == before + 1);
    ingot_buffer *part, *part_of_part;
    OK(ingot_buffer_create_view(second, 64, 256, &part));
    OK(ingot_buffer_create_view(part, 64, 64, &part_of_part));
    CHECK(ingot_buffer_address(part_of_part) == (uintptr_t)(words + 96)); /* all of second */
    ingot_buffer_release(part);
    ingot_buffer_release(part_of_part);
    CHECK(fake->live() == before + 2);
    ingot_buffer_release(first);
    CHECK(releases == 1 && fake->live() == before + 2);
    OK(run_one(kernel, second, 0)); /* its first page is still registered */
    OK(ingot_stream_copy(stream, third, 256, plain, 0, 256));
    OK(ingot_stream_fill(stream, third, 0, 256, 0));
    OK(ingot_stream_copy(stream, plain, 0, third, 3 * page - 256, 256));
    OK(ingot_stream_copy(stream, third, 256, third, 512, 256));
    OK(ingot_stream_wait(stream));
    CHECK(words[0] == 0 && words[64] == 1 && words[128] == 1 && words[191] == 64);
    CHECK(words[3 * page / 4 - 64] == 1 && words[3 * page / 4 - 1] == 64);
    ingot_buffer_release(third); /* no kernel has used it */
    CHECK(fake->live() == before + 2);
    ingot_buffer_release(second);
    CHECK(fake->live() == before);
    /* a copy over registered pages and others */
    OK(ingot_buffer_wrap_host(device, words, 256, NULL, NULL, &first));
    OK(ingot_buffer_wrap_host(device, words + page / 4 - 32, 256, NULL, NULL, &second));
    CHECK(ingot_buffer_address(first) != 0);
    OK(ingot_stream_copy(stream, plain, 0, second, 0, 256));
    OK(ingot_stream_wait(stream));
    CHECK(words[page / 4 - 32] == 1 && words[page / 4 + 31] == 64);
    ingot_buffer_release(first);
    ingot_buffer_release(second);
    OK(ingot_buffer_wrap_host(device, words, 256, released, &releases, &first));
    fake->fail("cuMemHostRegister", 1, 2);
    FAILS(run_one(kernel, first, 0), INGOT_OUT_OF_MEMORY, "256 bytes of the host's", "cuda:0");
    ingot_buffer_release(first);
    CHECK(releases == 2 && fake->live() == before);
    ingot_buffer_release(plain);
    ingot_kernel_release(kernel);
    close_all();
    CHECK(fake->live() == 0);
    free(words);
}

int main(void) {
    static const test_group groups[] = {memory, shared_memory, host_memory};
    return run_groups(groups, sizeof groups / sizeof groups[0]);
}
