/*
 * Type names as MSL spells them, from what clang prints for the C++ that the front end makes.
 * Only for people to read: nothing is decided by these names.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/middle/middle.h"

/* Longer spellings first where one starts another. */
static const struct {
    const char *from, *to;
} words[] = {
    {"unsigned char", "uchar"},
    {"unsigned short", "ushort"},
    {"unsigned int", "uint"},
    {"unsigned long", "ulong"},
    {"signed char", "char"},
    {"_Float16", "half"},
    {"__bf16", "bfloat"},
    {"_Bool", "bool"},
    {"const ", ""},
    {"volatile ", ""},
    {"struct ", ""},
    {"class ", ""},
    {"enum ", ""},
    {"metal::", ""},
    {"18446744073709551615", "dynamic_extent"},
    {"(anonymous namespace)::", ""},
    {"__global ", ""},
    {"__local ", ""},
    {"__constant ", ""},
};

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* "…[T = X]" or "…[with T = X; …]" → "X" */
static void cut_template(const char **start, size_t *length) {
    const char *text = *start;
    const char *equals = strstr(text, "T = ");
    size_t size = strlen(text);
    if (equals && strchr(text, '[') && text[size - 1] == ']') {
        const char *from = equals + 4, *end = text + size - 1;
        int depth = 0;
        for (const char *p = from; p < end; p++) {
            depth += (*p == '<' || *p == '(' || *p == '[') - (*p == '>' || *p == ')' || *p == ']');
            if (depth == 0 && (*p == ';' || *p == ',')) {
                end = p;
            }
        }
        *start = from;
        *length = (size_t)(end - from);
    } else {
        *length = size;
    }
}

/* Skips "__attribute__((…))" and the blanks after it. */
static size_t attribute_length(const char *p, const char *end) {
    static const char word[] = "__attribute__";
    if ((size_t)(end - p) < sizeof word - 1 || memcmp(p, word, sizeof word - 1)) {
        return 0;
    }
    const char *q = p + sizeof word - 1;
    int depth = 0;
    while (q < end) {
        depth += (*q == '(') - (*q == ')');
        q++;
        if (depth == 0) {
            break;
        }
    }
    while (q < end && *q == ' ') {
        q++;
    }
    return (size_t)(q - p);
}

static void replace_words(const char *p, const char *end, struct ig_text *out) {
    while (p < end) {
        size_t skipped = attribute_length(p, end);
        if (skipped) {
            p += skipped;
            continue;
        }
        bool at_start = !out->size || !is_word(out->data[out->size - 1]);
        size_t i = 0, count = at_start ? sizeof words / sizeof *words : 0;
        for (; i < count; i++) {
            size_t n = strlen(words[i].from);
            bool ends = (size_t)(end - p) == n || !is_word(words[i].from[n - 1]) ||
                        ((size_t)(end - p) > n && !is_word(p[n]));
            if ((size_t)(end - p) >= n && ends && !memcmp(p, words[i].from, n)) {
                break;
            }
        }
        if (i < count) {
            ig_text_puts(out, words[i].to);
            p += strlen(words[i].from);
        } else {
            ig_text_append(out, p++, 1);
        }
    }
    while (out->size && out->data[out->size - 1] == ' ') {
        out->data[--out->size] = 0;
    }
}

/* "NAME<E, N>" and "NAME<E, N, M>" in MSL's short form; false if it is something else. */
static bool shorten(const char *text, struct ig_text *out) {
    static const struct {
        const char *name, *prefix;
        int numbers;
    } forms[] = {
        {"vec<", "", 1},           {"packed_vec<", "packed_", 1}, {"matrix<", "", 2},
        {"atomic<", "atomic_", 0}, {"_atomic<", "atomic_", 0},
    };
    size_t length = strlen(text);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t n = strlen(forms[i].name);
        if (strncmp(text, forms[i].name, n) || text[length - 1] != '>') {
            continue;
        }
        const char *p = text + n;
        size_t element = strcspn(p, ",>");
        char *end;
        const char *rest = p + element;
        unsigned long dims[2] = {0, 0};
        for (int k = 0; k < forms[i].numbers; k++) {
            if (*rest != ',') {
                return false;
            }
            dims[k] = strtoul(rest + 1, &end, 10);
            rest = end;
        }
        for (size_t k = 0; k < element; k++) {
            if (!is_word(p[k])) {
                return false;
            }
        }
        ig_text_puts(out, forms[i].prefix);
        ig_text_append(out, p, element);
        if (forms[i].numbers == 1) {
            ig_text_printf(out, "%lu", dims[0]);
        } else if (forms[i].numbers == 2) {
            ig_text_printf(out, "%lux%lu", dims[0], dims[1]);
        }
        return true;
    }
    return false;
}

const char *igc_clean_type(struct ig_arena *arena, const char *spelling) {
    size_t length;
    const char *start = spelling;
    cut_template(&start, &length);
    struct ig_text named = {0}, text = {0}, shorter = {0};
    igc_vector_names(start, length, &named);
    const char *whole = ig_text_string(&named);
    replace_words(whole, whole + named.size, &text);
    bool short_form = shorten(ig_text_string(&text), &shorter);
    const struct ig_text *result = short_form ? &shorter : &text;
    char *copy = named.failed || result->failed
                     ? NULL
                     : ig_arena_copy(arena, ig_text_string(result), result->size);
    ig_text_free(&named);
    ig_text_free(&text);
    ig_text_free(&shorter);
    return copy;
}
