/* What the profiler makes of an access, of words that move, and of its files. */
#include <stdlib.h>
#include <string.h>

#include "base/profile.h"
#include "check.h"
#include "runtime/profile/counters.h"

static uint64_t addresses[32], sizes[32];

static void fill(uint64_t start, uint64_t stride, uint64_t size) {
    for (uint64_t lane = 0; lane < 32; lane++) {
        addresses[lane] = start + lane * stride;
        sizes[lane] = size;
    }
}

static uint32_t lines(uint32_t mask) {
    return ig_access_lines(mask, addresses, sizes);
}

static void test_lines(void) {
    const uint32_t all = UINT32_MAX;
    fill(4096, 4, 4);
    CHECK(lines(all) == 1 && lines(1) == 1 && lines(0x80000001) == 1);
    fill(4096 + 64, 4, 4); /* misaligned: it spans two */
    CHECK(lines(all) == 2 && lines(0xffff) == 1);
    fill(4096, 128, 4);
    CHECK(lines(all) == 32 && lines(0xff) == 8);
    fill(4096, 16, 16);
    CHECK(lines(all) == 4);
    fill(4096, 0, 4);
    CHECK(lines(all) == 1);
    fill(4096 + 126, 0, 4); /* one word across two lines */
    CHECK(lines(1) == 2);
    fill(4096, 1024, 512); /* more than a set holds */
    CHECK(lines(all) == 128);
}

static uint32_t passes(uint32_t mask, uint32_t *least) {
    return ig_access_passes(mask, addresses, sizes, 4096, least);
}

static void test_banks(void) {
    const uint32_t all = UINT32_MAX;
    uint32_t least;
    static const struct {
        uint64_t stride;
        uint32_t ways;
    } strides[] = {{4, 1},    {8, 2},   {16, 4}, {32, 8}, {64, 16},
                   {128, 32}, {132, 1}, {12, 1}, {0, 1}};
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        fill(4096, strides[i].stride, 4);
        CHECK(passes(all, &least) == strides[i].ways && least == 1);
    }
    fill(4096, 128, 4);
    CHECK(passes(0xf, &least) == 4 && least == 1); /* of the active lanes */
    fill(4096, 2, 2);                              /* halves share words */
    CHECK(passes(all, &least) == 1 && least == 1);
    fill(4096, 8, 8); /* in two halves */
    CHECK(passes(all, &least) == 2 && least == 2);
    CHECK(passes(0xffff, &least) == 1 && least == 1);
    fill(4096, 16, 16); /* in quarters */
    CHECK(passes(all, &least) == 4 && least == 4);
    fill(4096, 32, 16);
    CHECK(passes(all, &least) == 8 && least == 4);
}

static void test_collisions(void) {
    fill(4096, 0, 4);
    CHECK(ig_access_collisions(UINT32_MAX, addresses) == 31);
    CHECK(ig_access_collisions(1, addresses) == 0);
    fill(4096, 4, 4);
    CHECK(ig_access_collisions(UINT32_MAX, addresses) == 0);
    for (uint64_t lane = 0; lane < 32; lane++) {
        addresses[lane] = 4096 + lane % 4 * 4;
    }
    CHECK(ig_access_collisions(UINT32_MAX, addresses) == 28);
}

static void test_moved(void) {
    struct ig_moved moved = {0}, other = {0};
    uint64_t bytes_read, bytes_written;
    for (uint64_t i = 0; i < 100000; i++) {
        ig_moved_add(&moved, 8192 + i * 4, 4, true, false);
        ig_moved_add(&moved, 8192 + i * 4, 4, true, false); /* again: counts once */
    }
    ig_moved_count(&moved, &bytes_read, &bytes_written);
    CHECK(bytes_read == 400000 && bytes_written == 0);
    ig_moved_add(&other, 8192, 16, false, true);
    ig_moved_add(&other, 8190, 4, false, true); /* across a page, and in two words */
    ig_moved_add(&other, 8192 + 399996, 8, true, false);
    ig_moved_join(&moved, &other);
    ig_moved_count(&moved, &bytes_read, &bytes_written);
    CHECK(bytes_read == 400004 && bytes_written == 20);
    CHECK(!moved.failed);
    ig_moved_free(&moved);
    ig_moved_free(&other);
}

static bool reads(const char *text) {
    struct ig_profile profile = {0};
    struct ig_error error = {0};
    bool good = ig_profile_read(&profile, text, strlen(text), &error) == INGOT_OK;
    ig_error_clear(&error);
    ig_profile_free(&profile);
    return good;
}

static void test_files(void) {
    struct ig_profile profile = {0}, again = {0};
    struct ig_error error = {0};
    struct ig_text text = {0};
    struct ig_profile_kernel *kernel = ig_profile_kernel(
        &profile,
        &(struct ig_profile_kernel){
            .name = "a\tb", .source = "x\\y\n", .constants = "", .device = "cpu", .target = "t"});
    kernel->launches = 3;
    kernel->total_ns = 30;
    kernel->median_ns = 10;
    for (uint32_t line = 50; line > 0; line--) { /* not in order */
        ig_profile_line(&profile, kernel, "file", line)->counts[IG_COUNTER_lanes] = line;
    }
    ig_profile_add_source(&profile, "file", 7, "\tx = \"\\n\";");
    ig_profile_write(&profile, &text);
    /* twice: what two processes wrote is added up */
    CHECK(!ig_profile_read(&again, text.data, text.size, &error));
    CHECK(!ig_profile_read(&again, text.data, text.size, &error));
    CHECK(again.kernel_count == 1 && again.processes == 2);
    CHECK(!strcmp(again.kernels[0].name, "a\tb") && !strcmp(again.kernels[0].source, "x\\y\n"));
    CHECK(again.kernels[0].launches == 6 && again.kernels[0].total_ns == 60);
    CHECK(again.kernels[0].line_count == 50 && again.kernels[0].lines[6].line == 7);
    CHECK(again.kernels[0].lines[6].counts[IG_COUNTER_lanes] == 14);
    CHECK(!strcmp(again.sources[0].text, "\tx = \"\\n\";"));
    /* cut anywhere it is refused, but at the end of a line */
    for (size_t size = 0; size < text.size; size++) {
        struct ig_profile part = {0};
        ingot_status status = ig_profile_read(&part, text.data, size, &error);
        CHECK((status == INGOT_OK) == (size >= 16 && text.data[size - 1] == '\n'));
        ig_error_clear(&error);
        ig_profile_free(&part);
    }
    ig_text_free(&text);
    ig_profile_free(&profile);
    ig_profile_free(&again);
    CHECK(reads("ingot-profile 2\n") && !reads("ingot-profile 1\n") && !reads(""));
    CHECK(!reads("ingot-profile 2\nline\tf\t1\n") && !reads("ingot-profile 2\nwhat\n"));
    CHECK(!reads("ingot-profile 2\nmove\t9\t1\t1\t1\n") &&
          !reads("ingot-profile 2\nmove\t0\t-1\t1\t1\n"));
    CHECK(!reads("ingot-profile 2\nmove\t0\t99999999999999999999\t1\t1\n"));
}

int main(void) {
    test_lines();
    test_banks();
    test_collisions();
    test_moved();
    test_files();
    return check_report();
}
