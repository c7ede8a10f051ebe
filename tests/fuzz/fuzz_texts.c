/*
 * Small texts: arguments of `ingot run`, values of function constants, kinds of the sanitizer,
 * formats of messages, and a source as one text. What is read as a number is the same number when
 * it is printed and read again.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/sanitize.h"
#include "base/scalar.h"
#include "base/source_text.h"
#include "cli/cli.h"
#include "runtime/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need_message(ingot_status status, struct ig_error *error) {
    if (status && !*ig_error_text(error)) {
        abort();
    }
    ig_error_clear(error);
}

static void read_number(ingot_scalar_type type, const char *text, size_t length) {
    uint8_t bytes[8] = {0}, again[8] = {0};
    char printed[64];
    struct ig_error error = {0};
    ingot_status status = ig_scalar_parse(type, text, length, bytes, &error);
    if (!status) {
        ig_scalar_print(type, bytes, printed, sizeof printed);
        if (!strstr(printed, "nan") &&
            (ig_scalar_parse(type, printed, strlen(printed), again, &error) ||
             memcmp(bytes, again, sizeof bytes) != 0)) {
            abort();
        }
    }
    need_message(status, &error);
}

static void read_arguments(const char *text) {
    static const ingot_constant_info constants[] = {
        {.name = "n", .index = 0, .type = INGOT_SCALAR_I32, .components = 1},
        {.name = "h", .index = 7, .type = INGOT_SCALAR_F16, .components = 3},
        {.name = "yes", .index = 65535, .type = INGOT_SCALAR_BOOL, .components = 4},
    };
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct cli_argument argument;
    struct cli_constant_value value;
    if (!strstr(text, ".npy")) { /* files are fuzz_npy's */
        need_message(cli_parse_argument(&arena, text, &argument, &error), &error);
    }
    need_message(
        cli_parse_constant(text, constants, sizeof constants / sizeof *constants, &value, &error),
        &error);
    ig_arena_free(&arena);
}

static const char *string_at(void *context, uint64_t address) {
    (void)address;
    return context;
}

static void print_message(const char *format, const uint8_t *data, size_t size) {
    uint64_t values[4] = {0, 1, UINT64_MAX, 0x7fefffffffffffff}; /* the largest double */
    char word[] = "word";
    struct ig_text out = {0};
    memcpy(values, data, size < 8 ? size : 8);
    ig_log_format(&out, format, sizeof values / sizeof *values, values, string_at, word);
    ig_text_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = 0;
    struct ig_error error = {0};
    uint32_t kinds;
    for (int type = INGOT_SCALAR_NONE; type <= INGOT_SCALAR_F32; type++) {
        read_number((ingot_scalar_type)type, text, strlen(text));
    }
    read_arguments(text);
    need_message(ig_sanitize_parse(text, &kinds, &error), &error);
    print_message(text, data, size);
    const struct ig_source_text source = {.name = "fuzz.metal", .source = text, .length = size};
    struct ig_text expanded = {0};
    need_message(ig_source_expand(&source, &expanded, &error), &error);
    ig_text_free(&expanded);
    free(text);
    return 0;
}
