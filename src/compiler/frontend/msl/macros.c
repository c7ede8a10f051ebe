/*
 * A small macro expander for the arguments of unroll pragmas, such as
 * `#pragma unroll (MIN(DK / 2, 4))`: object-like and function-like macros, arguments
 * expanded before substitution. Expansion is bounded in depth, in size and in steps.
 */
#include "compiler/frontend/msl/macros.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 8, MAX_PARAMETERS = 8, MAX_OUTPUT = 4096, MAX_STEPS = 20000 };

struct span {
    const char *start, *end;
};

struct igc_macro {
    struct span name, value;
    bool has_parameters;
    size_t parameter_count;
    struct span parameters[MAX_PARAMETERS];
};

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool same(struct span a, struct span b) {
    return a.end - a.start == b.end - b.start &&
           memcmp(a.start, b.start, (size_t)(a.end - a.start)) == 0;
}

static const char *skip_word(const char *p, const char *end) {
    while (p < end && is_word(*p)) {
        p++;
    }
    return p;
}

/* Reads `(a, b)`; false when it is not a plain list of names. */
static bool read_parameters(struct igc_macro *macro, const char **at, const char *end) {
    const char *p = *at + 1;
    macro->has_parameters = true;
    while (p < end && *p != ')') {
        const char *start = p;
        p = skip_word(p, end);
        if (p == start && (*p == ' ' || *p == ',')) {
            p++;
            continue;
        }
        if (p == start || macro->parameter_count == MAX_PARAMETERS) {
            return false;
        }
        macro->parameters[macro->parameter_count++] = (struct span){start, p};
    }
    if (p >= end) {
        return false;
    }
    *at = p + 1;
    return true;
}

void igc_macro_define(struct igc_macros *macros, const char *line, const char *end) {
    struct igc_macro macro = {0};
    if ((size_t)(end - line) < strlen("#define ")) {
        return;
    }
    const char *p = line + strlen("#define ");
    macro.name.start = p;
    macro.name.end = p = skip_word(p, end);
    if (macro.name.start == macro.name.end) {
        return;
    }
    if (p < end && *p == '(' && !read_parameters(&macro, &p, end)) {
        return;
    }
    while (p < end && *p == ' ') {
        p++;
    }
    macro.value = (struct span){p, end};
    if (macros->count == macros->capacity) {
        size_t capacity = macros->capacity * 2 + 256;
        struct igc_macro *items = realloc(macros->items, capacity * sizeof *items);
        if (!items) {
            macros->failed = true;
            return;
        }
        macros->items = items;
        macros->capacity = capacity;
    }
    macros->items[macros->count++] = macro;
}

static const struct igc_macro *find(const struct igc_macros *macros, struct span name) {
    for (size_t i = macros->count; i-- > 0;) {
        if (same(macros->items[i].name, name)) {
            return &macros->items[i];
        }
    }
    return NULL;
}

struct expansion {
    const struct igc_macros *macros;
    unsigned steps; /* macros that expand to nothing may be expanded any number of times */
};

static void expand(struct expansion *e, struct span text, unsigned depth, struct ig_text *out);

/* Splits `(…)` at p into arguments; NULL when the parenthesis is not closed or the number
 * is not the macro's. */
static const char *read_arguments(const struct igc_macro *macro, const char *p, const char *end,
                                  struct span *arguments) {
    size_t count = 0, depth = 0;
    const char *start = p + 1;
    for (; p < end; p++) {
        if (*p == '(') {
            depth++;
        } else if ((*p == ',' && depth == 1) || (*p == ')' && depth == 1)) {
            if (count == macro->parameter_count) {
                return NULL;
            }
            while (start < p && *start == ' ') {
                start++;
            }
            arguments[count++] = (struct span){start, p};
            start = p + 1;
            if (*p == ')') {
                return count == macro->parameter_count ? p + 1 : NULL;
            }
        } else if (*p == ')') {
            depth--;
        }
    }
    return NULL;
}

static void substitute(struct expansion *e, const struct igc_macro *macro,
                       const struct span *arguments, unsigned depth, struct ig_text *out) {
    struct ig_text body = {0};
    for (const char *p = macro->value.start; p < macro->value.end && e->steps < MAX_STEPS;
         e->steps++) {
        const char *word = skip_word(p, macro->value.end);
        size_t i = 0;
        while (i < macro->parameter_count && !same(macro->parameters[i], (struct span){p, word})) {
            i++;
        }
        if (word == p) {
            ig_text_append(&body, p++, 1);
        } else if (i < macro->parameter_count) {
            expand(e, arguments[i], depth + 1, &body);
        } else {
            ig_text_append(&body, p, (size_t)(word - p));
        }
        p = word > p ? word : p;
    }
    const char *text = ig_text_string(&body);
    expand(e, (struct span){text, text + body.size}, depth + 1, out);
    out->failed |= body.failed;
    ig_text_free(&body);
}

static void expand(struct expansion *e, struct span text, unsigned depth, struct ig_text *out) {
    struct span arguments[MAX_PARAMETERS];
    for (const char *p = text.start; p < text.end && out->size < MAX_OUTPUT && e->steps < MAX_STEPS;
         e->steps++) {
        const char *word = skip_word(p, text.end), *after = word;
        if (word == p) {
            ig_text_append(out, p++, 1);
            continue;
        }
        const struct igc_macro *macro =
            depth < MAX_DEPTH ? find(e->macros, (struct span){p, word}) : NULL;
        if (macro && macro->has_parameters) {
            while (after < text.end && *after == ' ') {
                after++;
            }
            after = after < text.end && *after == '('
                        ? read_arguments(macro, after, text.end, arguments)
                        : NULL;
        }
        if (macro && !macro->has_parameters) {
            expand(e, macro->value, depth + 1, out);
        } else if (macro && after) {
            substitute(e, macro, arguments, depth, out);
        } else {
            ig_text_append(out, p, (size_t)(word - p));
        }
        p = macro && macro->has_parameters && after ? after : word;
    }
}

void igc_macro_expand(const struct igc_macros *macros, const char *text, const char *end,
                      struct ig_text *out) {
    struct ig_text line = {0};
    struct expansion e = {.macros = macros};
    expand(&e, (struct span){text, end}, 0, &line);
    ig_text_append(out, ig_text_string(&line), line.size);
    out->failed |= line.failed;
    ig_text_free(&line);
}

void igc_macros_free(struct igc_macros *macros) {
    free(macros->items);
    *macros = (struct igc_macros){0};
}
