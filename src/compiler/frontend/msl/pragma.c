/*
 * Pragmas: `#pragma METAL fp …` becomes `#pragma clang fp …`; other METAL pragmas go.
 *
 * math_mode(safe) turns reassociation, reciprocals and contraction across statements off;
 * relaxed and fast turn them on; contract(off|on|fast) is clang's own. Unroll pragmas are
 * clang's already (preprocess.c has put values for macros in their arguments); one that has
 * text before it on its line becomes a _Pragma.
 */
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

/* The word after `name(` in a directive; NULL when it is not there. */
static bool has_option(const struct igc_token *token, const char *name, const char *value) {
    char line[160];
    size_t size = 0;
    for (uint32_t i = 0; i < token->size && size + 1 < sizeof line; i++) {
        if (token->text[i] != ' ' && token->text[i] != '\t') {
            line[size++] = token->text[i];
        }
    }
    line[size] = 0;
    char wanted[48];
    size_t name_size = strlen(name), value_size = strlen(value);
    if (name_size + value_size + 3 > sizeof wanted) {
        return false;
    }
    memcpy(wanted, name, name_size);
    wanted[name_size] = '(';
    memcpy(wanted + name_size + 1, value, value_size);
    memcpy(wanted + name_size + 1 + value_size, ")", 2);
    return strstr(line, wanted) != NULL;
}

/* Past the `count` words that the directive starts with; NULL when it does not. */
static const char *leading_words(const struct igc_token *token, const char *const *wanted,
                                 size_t count) {
    const char *p = token->text, *end = p + token->size;
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(wanted[i]);
        while (p < end && (*p == ' ' || *p == '\t')) {
            p++;
        }
        if ((size_t)(end - p) < size || memcmp(p, wanted[i], size) != 0) {
            return NULL;
        }
        p += size;
    }
    return p;
}

static const char *directive_word(const struct igc_token *token, const char *word) {
    const char *const wanted[] = {"#", word};
    return leading_words(token, wanted, 2);
}

static const char *pragma_word(const struct igc_token *token, const char *word) {
    const char *const wanted[] = {"#", "pragma", word};
    return leading_words(token, wanted, 3);
}

static const char *translate(const struct igc_token *token) {
    if (has_option(token, "math_mode", "safe")) {
        return "#pragma clang fp reassociate(off) reciprocal(off) contract(on)";
    }
    if (has_option(token, "math_mode", "relaxed") || has_option(token, "math_mode", "fast")) {
        return "#pragma clang fp reassociate(on) reciprocal(on) contract(fast)";
    }
    if (has_option(token, "contract", "off")) {
        return "#pragma clang fp contract(off)";
    }
    if (has_option(token, "contract", "on")) {
        return "#pragma clang fp contract(on)";
    }
    if (has_option(token, "contract", "fast")) {
        return "#pragma clang fp contract(fast)";
    }
    return "";
}

bool igc_is_fp_pragma(const struct igc_token *token) {
    const char *after = pragma_word(token, "METAL");
    if (!after) {
        after = pragma_word(token, "clang");
    }
    if (!after) {
        return false;
    }
    const char *end = token->text + token->size;
    while (after < end && (*after == ' ' || *after == '\t')) {
        after++;
    }
    return end - after > 2 && memcmp(after, "fp", 2) == 0;
}

/* The same as an operator, which can stand behind other tokens: _Pragma("unroll(4)"). */
static const char *as_operator(struct igc_rewriter *rewriter, const struct igc_token *token) {
    const char *text = pragma_word(token, "");
    if (!text) {
        return "";
    }
    struct ig_text quoted = {0};
    for (const char *end = token->text + token->size; text < end; text++) {
        if (*text == '"' || *text == '\\') {
            ig_text_append(&quoted, "\\", 1);
        }
        if (*text != '\n') {
            ig_text_append(&quoted, text, 1);
        }
    }
    const char *result = quoted.failed ? NULL
                                       : ig_arena_printf(rewriter->arena, "_Pragma(\"%s\")",
                                                         ig_text_string(&quoted));
    ig_text_free(&quoted);
    return result;
}

void igc_rewrite_pragmas(struct igc_rewriter *rewriter) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t i = 0; i < tokens->count; i++) {
        const struct igc_token *token = &tokens->items[i];
        if (token->kind != IGC_DIRECTIVE || rewriter->edits[i].dead) {
            continue;
        }
        if (directive_word(token, "include")) {
            igc_replace(rewriter, i, ""); /* one of Metal's headers: see direct.c */
        } else if (pragma_word(token, "METAL")) {
            igc_replace(rewriter, i, translate(token));
        } else if (rewriter->edits[i].before) {
            igc_replace(rewriter, i, as_operator(rewriter, token));
        }
    }
}
