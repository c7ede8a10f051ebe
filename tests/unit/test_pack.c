/* Packing: what is packed is unpacked to the same bytes; damaged bytes are refused, or give others
 * within bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/pack.h"
#include "check.h"

static uint32_t state = 1;

static uint32_t any(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* Letters: few kinds of them repeat much, 256 do not. */
static uint8_t *make(size_t size, uint32_t kinds) {
    uint8_t *bytes = malloc(size + 1);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(any() % kinds);
    }
    return bytes;
}

static void check_bytes(const uint8_t *bytes, size_t size) {
    struct ig_text packed = {0};
    ig_pack(bytes, size, &packed);
    CHECK(!packed.failed && packed.size <= size + size / 255 + 16);
    uint8_t *back = malloc(size + 1);
    back[size] = 77;
    CHECK(ig_unpack(packed.data, packed.size, back, size));
    CHECK(!memcmp(bytes, back, size) && back[size] == 77);
    CHECK(!ig_unpack(packed.data, packed.size, back, size + 1));
    CHECK(!size || !ig_unpack(packed.data, packed.size, back, size - 1));
    CHECK(!ig_unpack(packed.data, packed.size - 1, back, size) || !size);
    free(back);
    ig_text_free(&packed);
}

static void test_round_trips(void) {
    static const uint32_t kinds[] = {1, 2, 4, 256};
    static const size_t large[] = {1000, 65535, 65536, 65537, 200000};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t size = 0; size < 300; size++) {
            uint8_t *bytes = make(size, kinds[k]);
            check_bytes(bytes, size);
            free(bytes);
        }
        for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
            uint8_t *bytes = make(large[i], kinds[k]);
            check_bytes(bytes, large[i]);
            free(bytes);
        }
    }
}

/* What repeats just inside the window, and just outside. */
static void test_window(void) {
    for (size_t distance = 65530; distance < 65542; distance++) {
        uint8_t *bytes = make(distance + 400, 256);
        memcpy(bytes + distance, bytes, 300);
        check_bytes(bytes, distance + 400);
        free(bytes);
    }
}

static void test_smaller(void) {
    struct ig_text packed = {0};
    char text[4000];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = "fma.rn.f32 "[i % 11];
    }
    ig_pack(text, sizeof text, &packed);
    CHECK(packed.size < 60);
    ig_text_free(&packed);
}

/* Bytes as LZ4's description gives them: five literals, none behind them; a run. */
static void test_known(void) {
    uint8_t back[32];
    CHECK(ig_unpack("\x50hello", 6, back, 5) && !memcmp(back, "hello", 5));
    CHECK(ig_unpack("\x1f"
                    "a\x01\x00\x00\x50"
                    "bcdef",
                    11, back, 25) &&
          !memcmp(back, "aaaaaaaaaaaaaaaaaaaabcdef", 25));
    CHECK(ig_unpack("\x16"
                    "a\x01\x00\x50"
                    "bcdef",
                    10, back, 16) &&
          !memcmp(back, "aaaaaaaaaaabcdef", 16));
    CHECK(!ig_unpack("\x16"
                     "a\x02\x00\x50"
                     "bcdef",
                     10, back, 16)); /* before the beginning */
    CHECK(!ig_unpack("\x16"
                     "a\x00\x00\x50"
                     "bcdef",
                     10, back, 16)); /* no distance */
    CHECK(!ig_unpack("", 0, back, 5));
    CHECK(!ig_unpack("\xf0\xff\xff\xff", 4, back, 20));
}

static void test_damaged(void) {
    uint8_t *bytes = make(600, 3);
    struct ig_text packed = {0};
    ig_pack(bytes, 600, &packed);
    for (size_t at = 0; at < packed.size; at++) {
        for (int change = 1; change < 256; change += 36) {
            uint8_t *copy = malloc(packed.size), *back = malloc(600); /* sanitizers see overruns */
            memcpy(copy, packed.data, packed.size);
            copy[at] ^= (uint8_t)change;
            (void)ig_unpack(copy, packed.size, back, 600);
            (void)ig_unpack(copy, at, back, 600);
            free(copy);
            free(back);
        }
    }
    ig_text_free(&packed);
    free(bytes);
}

int main(void) {
    test_round_trips();
    test_window();
    test_smaller();
    test_known();
    test_damaged();
    return check_report();
}
