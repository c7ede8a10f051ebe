/* The container of compiled Metal libraries: what is read, and that a cut or altered one is refused
 * with a reason. */
#include <stdlib.h>
#include <string.h>

#include "base/metallib.h"
#include "check.h"
#include "metallib_writer.h"

static const char first[] = "BC\xc0\xde first module", second[] = "BC\xc0\xde second";

static struct ig_text library(void) {
    const struct ig_metallib_function functions[] = {
        {.name = "add", .type = IG_METALLIB_KERNEL, .module = first, .module_size = sizeof first},
        {.name = "shade", .type = IG_METALLIB_FRAGMENT, .module = second, .module_size = 9},
        {.name = "ns::mul",
         .type = IG_METALLIB_KERNEL,
         .module = second,
         .module_size = sizeof second},
    };
    struct ig_text out = {0};
    metallib_write(functions, 3, &out);
    return out;
}

static void check_content(const struct ig_metallib *read) {
    CHECK(read->function_count == 3 && read->os_major == 26 && read->file_minor == 9);
    const struct ig_metallib_function *add = ig_metallib_function(read, "add");
    const struct ig_metallib_function *mul = ig_metallib_function(read, "ns::mul");
    CHECK(add && add->type == IG_METALLIB_KERNEL && add->module_size == sizeof first);
    CHECK(add && !memcmp(add->module, first, sizeof first) && add->air_major == 2);
    CHECK(mul && mul->module_size == sizeof second && !memcmp(mul->module, second, sizeof second));
    CHECK(!ig_metallib_function(read, "sub"));
    CHECK(!strcmp(ig_metallib_type_name(read->functions[1].type), "fragment"));
    CHECK(!strcmp(ig_metallib_type_name(77), "unknown"));
}

static bool reads(const void *bytes, size_t size, struct ig_error *error) {
    struct ig_arena arena = {0};
    struct ig_metallib read;
    bool good = !ig_metallib_read(&arena, bytes, size, &read, error);
    if (good && size) {
        for (size_t i = 0; i < read.function_count; i++) { /* every byte may be looked at */
            const char *module = read.functions[i].module;
            good &= strlen(read.functions[i].name) > 0 && read.functions[i].module_size < size &&
                    module >= (const char *)bytes &&
                    module + read.functions[i].module_size <= (const char *)bytes + size;
        }
    }
    ig_arena_free(&arena);
    return good;
}

static void refuses(const struct ig_text *good, size_t at, char byte, const char *reason) {
    char *copy = malloc(good->size);
    struct ig_error error = {0};
    memcpy(copy, good->data, good->size);
    copy[at] = byte;
    CHECK(!reads(copy, good->size, &error));
    if (!strstr(ig_error_text(&error), reason)) {
        fprintf(stderr, "the message lacks \"%s\": %s\n", reason, ig_error_text(&error));
        check_failed++;
    }
    ig_error_clear(&error);
    free(copy);
}

/* Bytes in which no library is found, and what is said of them. */
static void says_none(const void *bytes, size_t size, const char *reason) {
    struct ig_error error = {0};
    size_t at = 0, length;
    CHECK(!ig_metallib_find(bytes, size, &at, &length));
    CHECK(ig_metallib_none(bytes, size, &error) == INGOT_BAD_ARCHIVE);
    CHECK(strstr(ig_error_text(&error), reason));
    ig_error_clear(&error);
}

/* Cut anywhere, it is refused; altered anywhere, it is refused or still within its bytes. */
static void cut_and_alter(const struct ig_text *good) {
    size_t refused = 0, survived = 0;
    for (size_t size = 0; size < good->size; size++) {
        char *copy = malloc(size + 1); /* of just that size, for the address sanitizer */
        memcpy(copy, good->data, size);
        refused += !reads(copy, size, NULL);
        free(copy);
    }
    CHECK(refused == good->size);
    char said[64];
    snprintf(said, sizeof said, "it has %zu bytes, its header says %zu", good->size - 1,
             good->size);
    says_none(good->data, good->size - 1, said);
    says_none(good->data, 30, "it has 30 bytes, its header has 88");
    says_none(good->data, 3, "there is no whole Metal library in its 3 bytes");
    says_none("\xcf\xfa\xed\xfe and MTLB", 13, "there is no whole Metal library in its 13 bytes");
    char *copy = malloc(good->size);
    for (size_t at = 0; at < good->size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, good->data, good->size);
            copy[at] = (char)(copy[at] ^ 1 << bit);
            struct ig_error error = {0};
            survived += reads(copy, good->size, &error) || *ig_error_text(&error);
            ig_error_clear(&error);
        }
    }
    free(copy);
    CHECK(survived == good->size * 8);
}

/* Libraries inside another file, and bytes that only look like one. */
static void find_inside(const struct ig_text *good) {
    struct ig_text image = {0};
    ig_text_puts(&image, "\xcf\xfa\xed\xfe and MTLB, which is none");
    const size_t one = image.size;
    ig_text_append(&image, good->data, good->size);
    ig_text_puts(&image, "between");
    const size_t two = image.size;
    ig_text_append(&image, good->data, good->size);
    size_t at = 0, length = 0;
    CHECK(ig_metallib_find(image.data, image.size, &at, &length));
    CHECK(at == one && length == good->size);
    at += length;
    CHECK(ig_metallib_find(image.data, image.size, &at, &length));
    CHECK(at == two && length == good->size);
    at += length;
    CHECK(!ig_metallib_find(image.data, image.size, &at, &length));
    ig_text_free(&image);
}

static void put_little(char *p, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++) {
        p[i] = (char)(value >> 8 * i);
    }
}

static void put_big(char *p, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++) {
        p[size - 1 - i] = (char)(value >> 8 * i);
    }
}

enum { IMAGE_LIBRARY = 1024, IMAGE_BYTES = 4096 };

/* An image with a library in a section at IMAGE_LIBRARY, whose flags are given, and with a segment
 * that may be __LINKEDIT and has the second half. */
static void make_image(char *image, const struct ig_text *good, uint32_t flags, const char *name) {
    memset(image, 0, IMAGE_BYTES);
    memcpy(image, "\xcf\xfa\xed\xfe", 4);
    put_little(image + 16, 2, 4); /* commands */
    char *segment = image + 32, *section = segment + 72, *linked = section + 80;
    put_little(segment, 0x19, 4);
    put_little(segment + 4, 72 + 80, 4);
    put_little(segment + 64, 1, 4);
    put_little(section + 40, good->size, 8);
    put_little(section + 48, IMAGE_LIBRARY, 4);
    put_little(section + 64, flags, 4);
    put_little(linked, 0x19, 4);
    put_little(linked + 4, 72, 4);
    memcpy(linked + 8, name, strlen(name));
    put_little(linked + 40, IMAGE_BYTES / 2, 8);
    put_little(linked + 48, IMAGE_BYTES / 2, 8);
    memcpy(image + IMAGE_LIBRARY, good->data, good->size);
    memcpy(image + IMAGE_BYTES / 2 + 512, good->data, good->size);
}

static size_t count_inside(const char *bytes, size_t size) {
    size_t at = 0, length = 0, count = 0;
    for (; ig_metallib_find(bytes, size, &at, &length); at += length) {
        count++;
    }
    return count;
}

/* Instructions and the linker's symbols are passed over, all else is searched; an image that is cut
 * or altered is searched too. */
static void find_in_sections(const struct ig_text *good) {
    const uint32_t instructions = 0x80000400;
    CHECK(good->size < IMAGE_BYTES / 2 - IMAGE_LIBRARY);
    char *image = malloc(IMAGE_BYTES);
    make_image(image, good, 0, "__DATA");
    CHECK(count_inside(image, IMAGE_BYTES) == 2);
    make_image(image, good, instructions, "__DATA");
    CHECK(count_inside(image, IMAGE_BYTES) == 1);
    make_image(image, good, 0, "__LINKEDIT");
    CHECK(count_inside(image, IMAGE_BYTES) == 1);
    make_image(image, good, instructions, "__LINKEDIT");
    CHECK(count_inside(image, IMAGE_BYTES) == 0);
    put_little(image + 32 + 72 + 40, IMAGE_BYTES, 8); /* a section that its image cannot hold */
    CHECK(count_inside(image, IMAGE_BYTES) == 1);

    make_image(image, good, instructions, "__LINKEDIT");
    char *fat = calloc(2, IMAGE_BYTES);
    memcpy(fat, "\xca\xfe\xba\xbe", 4);
    put_big(fat + 4, 1, 4);
    put_big(fat + 8 + 8, IMAGE_BYTES, 4);
    put_big(fat + 8 + 12, IMAGE_BYTES, 4);
    memcpy(fat + IMAGE_BYTES, image, IMAGE_BYTES);
    CHECK(count_inside(fat, 2 * IMAGE_BYTES) == 0);
    memcpy(fat + 256, good->data, good->size);
    CHECK(count_inside(fat, 2 * IMAGE_BYTES) == 1);
    free(fat);

    make_image(image, good, 0, "__LINKEDIT");
    for (size_t size = 0; size < IMAGE_BYTES; size++) {
        char *copy = malloc(size + 1); /* of just that size, for the address sanitizer */
        memcpy(copy, image, size);
        CHECK(count_inside(copy, size) <= 2);
        free(copy);
    }
    for (size_t at = 0; at < 32 + 72 + 80 + 72; at++) {
        char kept = image[at];
        image[at] = (char)~kept;
        CHECK(count_inside(image, IMAGE_BYTES) <= 2);
        image[at] = kept;
    }
    free(image);
}

/* The first bytes tell a library, what may hold libraries, and a module from all else. */
static void starts(void) {
    static const char images[][5] = {"\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe", "\xca\xfe\xba\xbf",
                                     "\xcb\xfe\xba\xbe"};
    static const char modules[][5] = {"\xde\xc0\x17\x0b", "BC\xc0\xde"};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        CHECK(ig_metallib_is_image(images[i], 4) && !ig_metallib_is_image(images[i], 3));
        CHECK(!ig_metallib_is_bitcode(images[i], 4) && !ig_metallib_is(images[i], 4));
    }
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        CHECK(ig_metallib_is_bitcode(modules[i], 4) && !ig_metallib_is_bitcode(modules[i], 3));
        CHECK(!ig_metallib_is_image(modules[i], 4) && !ig_metallib_is(modules[i], 4));
    }
    CHECK(ig_metallib_is("MTLB", 4) && !ig_metallib_is("MTLB", 3) && !ig_metallib_is("INGOT", 5));
    CHECK(!ig_metallib_is_image("MTLB", 4) && !ig_metallib_is_bitcode("#inc", 4));
}

int main(void) {
    struct ig_text good = library();
    struct ig_arena arena = {0};
    struct ig_metallib read;
    struct ig_error error = {0};
    CHECK(ig_metallib_is(good.data, good.size) && !ig_metallib_is("MTL", 3));
    CHECK(!ig_metallib_read(&arena, good.data, good.size, &read, &error));
    check_content(&read);
    refuses(&good, 0, 'X', "does not begin with \"MTLB\"");
    refuses(&good, 23, 1, "cut short or damaged");
    refuses(&good, 30, 1, "list of functions begins at byte");
    refuses(&good, 78, 1, "bitcode begins at byte");
    refuses(&good, 91, 1, "functions do not fit");
    refuses(&good, 95, 1, "the entry at byte 92 says");
    refuses(&good, 101, 1, "more than its entry");
    refuses(&good, 100, 90, "a name that ends in a NUL");
    refuses(&good, 96, 'M', "has no name");
    cut_and_alter(&good);
    find_inside(&good);
    find_in_sections(&good);
    starts();
    ig_arena_free(&arena);
    ig_text_free(&good);
    return check_report();
}
