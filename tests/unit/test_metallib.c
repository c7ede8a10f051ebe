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
    starts();
    ig_arena_free(&arena);
    ig_text_free(&good);
    return check_report();
}
