/* The archive: what is written is read back; anything cut or changed is refused. */
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/archive_format.h"
#include "base/hash.h"
#include "check.h"

static const struct ig_argument arguments[] = {
    {"x", "float", INGOT_ARGUMENT_BUFFER, INGOT_SPACE_DEVICE, 0, 0, 4, 4, INGOT_SCALAR_F32, 1, 0, 1,
     1, 0, 0},
    {"params", "Params", INGOT_ARGUMENT_BUFFER, INGOT_SPACE_CONSTANT, 3, 1, 48, 16,
     INGOT_SCALAR_NONE, 0, 1, 0, 0, 0, 1},
    {"scratch", "half4", INGOT_ARGUMENT_THREADGROUP, INGOT_SPACE_THREADGROUP, 0, 0, 8, 8,
     INGOT_SCALAR_F16, 4, 0, 1, 1, 1, 0},
};
static const struct ig_code codes[] = {
    {.target = "x86-64-v3", .bytes = "abc\0def", .size = 7},
    {.target = "x86-64-v4", .bytes = "some other bytes", .size = 16}};
static const struct ig_variant variants[] = {
    {"scale", "", 1024, 512, 3, 2, arguments, codes},
    {"scale", "0:01;7:00008040", 256, 0, 1, 1, arguments + 2, codes + 1},
    {"empty", "", 1024, 0, 0, 0, NULL, NULL},
};
static const char *const kernels[] = {"scale", "empty", "never_compiled"};
static const struct ig_constant constants[] = {{"flag", 0, INGOT_SCALAR_BOOL, 1, 1, 1},
                                               {"v", 7, INGOT_SCALAR_F32, 3, 16, 0}};
static const struct ig_dependency dependencies[] = {{"dir/common.h", 1234, {1, 2, 3}}};

static const struct ig_archive sample = {
    .compiler = "ingotc 0.1.0",
    .source_name = "scale.metal",
    .source = "kernel void scale() {}\n",
    .options = "--fast-math",
    .kernel_count = 3,
    .constant_count = 2,
    .variant_count = 3,
    .dependency_count = 1,
    .kernels = kernels,
    .constants = constants,
    .variants = variants,
    .dependencies = dependencies,
};

static void test_round_trip(const void *bytes, size_t size) {
    struct ig_arena arena = {0};
    struct ig_archive a;
    struct ig_error error = {0};
    CHECK(!ig_archive_read(&arena, bytes, size, &a, &error));
    CHECK(!strcmp(a.source, sample.source) && !strcmp(a.warnings, ""));
    CHECK(!strcmp(a.source_name, "scale.metal") && !strcmp(a.options, "--fast-math"));
    CHECK(a.kernel_count == 3 && !strcmp(a.kernels[2], "never_compiled"));
    CHECK(a.constant_count == 2 && a.constants[1].index == 7 && a.constants[1].size == 16 &&
          a.constants[1].components == 3 && !a.constants[1].required);
    CHECK(a.dependency_count == 1 && a.dependencies[0].size == 1234 &&
          a.dependencies[0].digest[2] == 3);
    const struct ig_variant *v = ig_archive_find(&a, "scale", "");
    CHECK(v && v->argument_count == 3 && v->static_threadgroup_bytes == 512);
    CHECK(v && !strcmp(v->arguments[1].type_name, "Params") && v->arguments[1].is_reference &&
          !v->arguments[1].active && v->arguments[1].type_align == 16 && v->arguments[1].slot == 1);
    const struct ig_code *code = v ? ig_variant_code(v, "x86-64-v4") : NULL;
    CHECK(code && code->size == 16 && !memcmp(code->bytes, "some other bytes", 16));
    CHECK(code && ((const char *)code->bytes - (const char *)bytes) % 64 == 0);
    CHECK(v && !ig_variant_code(v, "sm_90"));
    v = ig_archive_find(&a, "scale", "0:01;7:00008040");
    CHECK(v && v->max_threads == 256 && !strcmp(v->arguments[0].name, "scratch"));
    CHECK(!ig_archive_find(&a, "scale", "0:00") && !ig_archive_find(&a, "never_compiled", ""));
    ig_arena_free(&arena);
}

static bool is_spelled(const char *given, const char *expected) {
    struct ig_text text = {0};
    ig_archive_spell_constants(&sample, given, &text);
    bool good = !strcmp(ig_text_string(&text), expected);
    ig_text_free(&text);
    return good;
}

static void test_spelled_constants(void) {
    CHECK(is_spelled("", ""));
    CHECK(is_spelled("0:01;7:0000803f000000400000404000000000", "flag=true, v=1,2,3"));
    CHECK(is_spelled("0:00", "flag=false"));
    CHECK(is_spelled("1:08000000;0:0100", "1:08000000, 0:0100")); /* not of this archive */
    CHECK(is_spelled("what", "what") && is_spelled("0:", "0:") && is_spelled(";", ""));
}

/* Every proper prefix, in a block of exactly its size so that a sanitizer sees an overrun. */
static void test_cut(const char *bytes, size_t size) {
    for (size_t cut = 0; cut < size; cut++) {
        struct ig_arena arena = {0};
        struct ig_archive a;
        struct ig_error error = {0};
        char *copy = malloc(cut ? cut : 1);
        memcpy(copy, bytes, cut);
        CHECK(ig_archive_read(&arena, copy, cut, &a, &error) == INGOT_BAD_ARCHIVE);
        CHECK(*ig_error_text(&error));
        ig_error_clear(&error);
        free(copy);
        ig_arena_free(&arena);
    }
}

static void sign(uint8_t *bytes, size_t size) {
    struct ig_hash hash;
    ig_hash_begin(&hash);
    ig_hash_bytes(&hash, bytes, IG_HEADER_DIGEST);
    ig_hash_bytes(&hash, bytes + IG_HEADER_DIGEST + 32, size - IG_HEADER_DIGEST - 32);
    ig_hash_end(&hash, bytes + IG_HEADER_DIGEST);
}

/* A changed byte is refused; with the checksum made right again it must at least be safe. */
static void test_changed(const uint8_t *bytes, size_t size) {
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    uint8_t *copy = malloc(size);
    for (size_t at = 0; at < size; at++) {
        for (size_t k = 0; k < sizeof changes; k++) {
            struct ig_arena arena = {0};
            struct ig_archive a;
            struct ig_error error = {0};
            memcpy(copy, bytes, size);
            copy[at] ^= changes[k];
            CHECK(ig_archive_read(&arena, copy, size, &a, &error) == INGOT_BAD_ARCHIVE);
            sign(copy, size);
            ingot_status status = ig_archive_read(&arena, copy, size, &a, &error);
            CHECK(status == INGOT_OK || status == INGOT_BAD_ARCHIVE);
            for (uint32_t i = 0; !status && i < a.variant_count; i++) {
                for (uint32_t j = 0; j < a.variants[i].code_count; j++) {
                    const struct ig_code *code = &a.variants[i].codes[j];
                    struct ig_code plain;
                    struct ig_hash hash; /* reads every byte of it */
                    ig_hash_begin(&hash);
                    if (!ig_code_open(code, &plain, NULL)) {
                        ig_hash_bytes(&hash, plain.bytes, plain.size);
                        ig_code_close(code, &plain);
                    }
                }
                (void)ig_archive_find(&a, "nothing", "nothing");
            }
            ig_error_clear(&error);
            ig_arena_free(&arena);
        }
    }
    free(copy);
}

static void test_message(const uint8_t *bytes, size_t size) {
    struct ig_arena arena = {0};
    struct ig_archive a;
    struct ig_error error = {0};
    uint8_t *copy = malloc(size);
    memcpy(copy, bytes, size);
    copy[8] = 9;
    CHECK(ig_archive_read(&arena, copy, size, &a, &error) == INGOT_BAD_ARCHIVE);
    CHECK(strstr(ig_error_text(&error), "format version 9, this ingot reads versions 1 to 2"));
    CHECK(ig_archive_read(&arena, "hello", 5, &a, &error) == INGOT_BAD_ARCHIVE);
    CHECK(strstr(ig_error_text(&error), "not an ingot archive"));
    free(copy);
    ig_error_clear(&error);
    ig_arena_free(&arena);
}

/* Packed code: smaller in the file, the same when it is opened; what is not made smaller stays. */
static void test_packed(void) {
    char *text = malloc(5000);
    for (int i = 0; i < 5000; i++) {
        text[i] = "ld.global.v4.f32 %f"[i % 19];
    }
    const struct ig_code both[] = {{.target = "sm_90", .bytes = text, .size = 5000},
                                   {.target = "x86-64-v3", .bytes = "abc\0def", .size = 7}};
    const struct ig_variant packed = {
        .kernel = "k", .constants = "", .code_count = 2, .codes = both};
    struct ig_archive archive = {.variant_count = 1, .variants = &packed, .packs_code = true};
    void *bytes, *again;
    size_t size, again_size;
    struct ig_error error = {0};
    CHECK(!ig_archive_write(&archive, &bytes, &size, &error));
    CHECK(size < 1000 && ((const uint8_t *)bytes)[8] == 2);
    struct ig_arena arena = {0};
    struct ig_archive a;
    CHECK(!ig_archive_read(&arena, bytes, size, &a, &error));
    for (int i = 0; i < 2; i++) {
        const struct ig_code *code = &a.variants[0].codes[i];
        struct ig_code plain;
        CHECK(code->size == both[i].size && !code->packed_size == (i == 1));
        CHECK(!ig_code_open(code, &plain, &error));
        CHECK(plain.size == both[i].size && !memcmp(plain.bytes, both[i].bytes, plain.size));
        ig_code_close(code, &plain);
    }
    /* what is packed already stays as it is */
    CHECK(!ig_archive_write(&a, &again, &again_size, &error));
    CHECK(again_size == size && !memcmp(again, bytes, size));
    free(again);
    /* a size that is not that of what is packed */
    struct ig_code wrong = a.variants[0].codes[0], plain;
    wrong.size--;
    CHECK(ig_code_open(&wrong, &plain, &error) == INGOT_BAD_ARCHIVE);
    CHECK(strstr(ig_error_text(&error), "does not unpack to 4999 bytes"));
    ig_error_clear(&error);
    ig_arena_free(&arena);
    free(bytes);
    free(text);
}

/* Nothing is packed, and yet it is said to become something. */
static void test_nothing_packed(void) {
    const struct ig_code nothing = {.target = "sm_90", .bytes = "", .size = 0};
    const struct ig_variant variant = {
        .kernel = "k", .constants = "", .code_count = 1, .codes = &nothing};
    const struct ig_archive archive = {.variant_count = 1, .variants = &variant};
    const size_t record = IG_HEADER_BYTES + IG_ROOT_BYTES + IG_VARIANT_BYTES;
    struct ig_arena arena = {0};
    struct ig_archive a;
    struct ig_error error = {0};
    void *bytes;
    size_t size;
    CHECK(!ig_archive_write(&archive, &bytes, &size, &error));
    CHECK(!ig_archive_read(&arena, bytes, size, &a, &error) && !a.variants[0].codes[0].size);
    ((uint8_t *)bytes)[record + 4] = 38; /* bytes once unpacked */
    sign(bytes, size);
    CHECK(ig_archive_read(&arena, bytes, size, &a, &error) == INGOT_BAD_ARCHIVE);
    CHECK(strstr(ig_error_text(&error), "sm_90 is said to have 38 bytes, more than 0 packed"));
    ig_error_clear(&error);
    ig_arena_free(&arena);
    free(bytes);
}

int main(void) {
    void *bytes, *again;
    size_t size, again_size;
    struct ig_error error = {0};
    CHECK(!ig_archive_write(&sample, &bytes, &size, &error));
    CHECK(!ig_archive_write(&sample, &again, &again_size, &error));
    CHECK(size == again_size && !memcmp(bytes, again, size));
    free(again);
    test_round_trip(bytes, size);
    test_cut(bytes, size);
    test_changed(bytes, size);
    test_message(bytes, size);
    test_spelled_constants();
    test_packed();
    test_nothing_packed();
    struct ig_archive nothing = {0};
    CHECK(!ig_archive_write(&nothing, &again, &again_size, &error));
    struct ig_arena arena = {0};
    struct ig_archive read;
    CHECK(!ig_archive_read(&arena, again, again_size, &read, &error) && !*read.source);
    ig_arena_free(&arena);
    free(again);
    free(bytes);
    return check_report();
}
