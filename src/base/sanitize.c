/* Lists of the sanitizer's kinds: text to bits and back. */
#include "base/sanitize.h"

#include <string.h>

static const struct {
    const char *name, *about;
    bool by_default;
} kinds_table[IG_SANITIZE_COUNT] = {
#define SANITIZE_KIND(id, is_default, text)                                                        \
    [IG_SANITIZE_##id] = {.name = #id, .about = (text), .by_default = (is_default)},
#include "base/sanitize_kinds.def"
};

const char *ig_sanitize_name(uint32_t kind) {
    return kind < IG_SANITIZE_COUNT ? kinds_table[kind].name : "unknown";
}

const char *ig_sanitize_about(uint32_t kind) {
    return kind < IG_SANITIZE_COUNT ? kinds_table[kind].about : "";
}

static uint32_t default_kinds(void) {
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < IG_SANITIZE_COUNT; i++) {
        kinds |= kinds_table[i].by_default ? (uint32_t)1 << i : 0;
    }
    return kinds;
}

static bool is_word(const char *word, size_t length, const char *name) {
    return strlen(name) == length && !memcmp(word, name, length);
}

/* The bits that one word of a list means; false: there is no such kind. */
static bool find_word(const char *word, size_t length, uint32_t *bits) {
    if (is_word(word, length, "default") || is_word(word, length, "all") ||
        is_word(word, length, "none")) {
        *bits = word[0] == 'd' ? default_kinds() : word[0] == 'a' ? IG_SANITIZE_KINDS : 0;
        return true;
    }
    if (is_word(word, length, "sources")) {
        *bits = IG_SANITIZE_SOURCES;
        return true;
    }
    for (uint32_t i = 0; i < IG_SANITIZE_COUNT; i++) {
        if (is_word(word, length, kinds_table[i].name)) {
            *bits = (uint32_t)1 << i;
            return true;
        }
    }
    return false;
}

ingot_status ig_sanitize_parse(const char *text, uint32_t *kinds, struct ig_error *error) {
    uint32_t result = 0;
    bool is_first = true;
    for (const char *at = text;; is_first = false) {
        size_t length = strcspn(at, ",");
        bool is_without = length > 1 && at[0] == '-';
        uint32_t bits = 0;
        if (!length && is_first && !at[0]) {
            bits = default_kinds();
        } else if (!find_word(at + is_without, length - is_without, &bits)) {
            struct ig_text known = {0};
            ig_sanitize_print(IG_SANITIZE_KINDS, &known);
            ig_fail(error, INGOT_INVALID_ARGUMENT,
                    "the sanitizer has no kind \"%.*s\"; it has %s, and default, all, none and "
                    "sources",
                    (int)length, at, ig_text_string(&known));
            ig_text_free(&known);
            return INGOT_INVALID_ARGUMENT;
        }
        result = is_without ? (is_first ? default_kinds() : result) & ~bits : result | bits;
        if (!at[length]) {
            break;
        }
        at += length + 1;
    }
    *kinds = result;
    return INGOT_OK;
}

void ig_sanitize_print(uint32_t kinds, struct ig_text *out) {
    bool any = kinds & IG_SANITIZE_PROFILE;
    if (any) {
        ig_text_puts(out, IG_SANITIZE_PROFILE_NAME);
    }
    for (uint32_t i = 0; i < IG_SANITIZE_COUNT; i++) {
        if (kinds >> i & 1) {
            ig_text_printf(out, "%s%s", any ? "," : "", kinds_table[i].name);
            any = true;
        }
    }
}
