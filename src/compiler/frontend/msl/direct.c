/*
 * Decides whether a source can go to the rewriter as it is, so that clang runs once and
 * not twice. That is so when preprocessing would change nothing the rewriter looks at: the
 * only directives are includes of Metal's own headers (the prelude is there anyhow),
 * pragmas, and macros that stand for one number.
 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compiler/frontend/msl/clang.h"

static bool has(const char *text, size_t size, const char *word) {
    return memmem(text, size, word, strlen(word)) != NULL;
}

static const char *skip_blanks(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    return p;
}

static const char *skip_word(const char *p, const char *end, const char *word) {
    size_t size = strlen(word);
    if ((size_t)(end - p) < size || memcmp(p, word, size) != 0) {
        return NULL;
    }
    return skip_blanks(p + size, end);
}

/* <metal_math>: one that the prelude has. clang reports the others; <simd/simd.h> has names that
 * the precompiled prelude does not have. */
static bool is_metal_header(const struct igc_options *options, const char *p, const char *end) {
    if (!options->prelude_dir || !skip_word(p, end, "<metal_")) {
        return false;
    }
    const char *close = memchr(p, '>', (size_t)(end - p));
    char path[PATH_MAX];
    int size = close ? snprintf(path, sizeof path, "%s/%.*s", options->prelude_dir,
                                (int)(close - p - 1), p + 1)
                     : -1;
    return size > 0 && (size_t)size < sizeof path && access(path, R_OK) == 0;
}

/* NAME and one number, nothing else. */
static bool is_number_macro(const char *p, const char *end) {
    while (p < end && (isalnum((unsigned char)*p) || *p == '_')) {
        p++;
    }
    if (p >= end || (*p != ' ' && *p != '\t')) {
        return false;
    }
    p = skip_blanks(p, end);
    if (p >= end || !isdigit((unsigned char)*p)) {
        return false;
    }
    while (p < end && isdigit((unsigned char)*p)) {
        p++;
    }
    p = skip_blanks(p + (p < end && (*p == 'u' || *p == 'U')), end);
    return p >= end || *p == '\r';
}

static bool is_harmless(const struct igc_options *options, const char *line, const char *end,
                        bool *defines) {
    const char *rest, *p = skip_blanks(line + 1, end);
    if ((rest = skip_word(p, end, "include"))) {
        return is_metal_header(options, rest, end);
    }
    if ((rest = skip_word(p, end, "define"))) {
        *defines = true;
        return is_number_macro(rest, end);
    }
    return skip_word(p, end, "pragma") != NULL;
}

bool igc_is_direct(const struct igc_options *options, const char *text, size_t size) {
    bool defines = false;
    if (options->define_count > 0 || memchr(text, 0, size) || has(text, size, "\\\n") ||
        has(text, size, "\\\r\n") || has(text, size, "__METAL") ||
        has(text, size, "__FAST_MATH__") || has(text, size, "??") || has(text, size, "R\"")) {
        return false;
    }
    const char *end = text + size;
    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        const char *first = skip_blanks(line, stop);
        if (first < stop && *first == '#' && !is_harmless(options, first, stop, &defines)) {
            return false;
        }
        line = newline ? newline + 1 : end;
    }
    /* indices and names that the rewriter reads itself */
    return !defines || (!has(text, size, "function_constant") && !has(text, size, "host_name"));
}
