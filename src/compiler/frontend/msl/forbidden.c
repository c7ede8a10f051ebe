/*
 * What Metal leaves out of C++ and clang would accept here: each use that is left after
 * the other passes is an error at its place.
 */
#include "compiler/frontend/msl/rewriter.h"

static const char *const forbidden[] = {
    "double", "dynamic_cast", "typeid", "new",     "delete",       "goto",
    "try",    "catch",        "throw",  "virtual", "thread_local",
};

static bool is_forbidden(const struct igc_tokens *tokens, size_t i) {
    enum igc_word before = igc_word_at(tokens, i - 1);
    if (before == IGC_W_DOT || before == IGC_W_ARROW || before == IGC_W_SCOPE ||
        before == IGC_W_OPERATOR ||
        (before == IGC_W_ASSIGN && igc_word_at(tokens, i) == IGC_W_DELETE)) {
        return false; /* x.new, = delete */
    }
    for (size_t k = 0; k < sizeof forbidden / sizeof *forbidden; k++) {
        if (igc_is(igc_at(tokens, i), forbidden[k])) {
            return true;
        }
    }
    return false;
}

/* `{0}` and `{}` say nothing that a kernel could rely on, and programs have them. */
static bool are_zeros(const struct igc_tokens *tokens, size_t i) {
    size_t close;
    if (igc_word_at(tokens, i) != IGC_W_OPEN_BRACE || !igc_closes(tokens, i, &close)) {
        return false;
    }
    for (i++; i < close; i++) {
        if (!igc_is(igc_at(tokens, i), "0") && igc_word_at(tokens, i) != IGC_W_COMMA) {
            return false;
        }
    }
    return true;
}

/* For `threadgroup T x[N] = …` at i: the `=`, or IGC_NO_TOKEN. */
static size_t initial_values(const struct igc_tokens *tokens, size_t i) {
    bool array = false;
    for (size_t end = i + 64; i < tokens->count && i < end; i++) {
        size_t close;
        switch (igc_word_at(tokens, i)) {
        case IGC_W_OPEN_SQUARE:
            if (!igc_closes(tokens, i, &close)) {
                return IGC_NO_TOKEN;
            }
            i = close;
            array = true;
            break;
        case IGC_W_ASSIGN:
            return array && !are_zeros(tokens, i + 1) ? i : IGC_NO_TOKEN;
        case IGC_W_STAR:
        case IGC_W_AMPERSAND:
        case IGC_W_AND:
        case IGC_W_OPEN_PAREN:
        case IGC_W_CLOSE_PAREN:
        case IGC_W_OPEN_BRACE:
        case IGC_W_CLOSE_BRACE:
        case IGC_W_SEMICOLON:
            return IGC_NO_TOKEN;
        default:
            break;
        }
    }
    return IGC_NO_TOKEN;
}

ingot_status igc_check_forbidden(struct igc_rewriter *rewriter, struct ig_error *error) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t i = 0; i < tokens->count; i++) {
        const struct igc_token *token = &tokens->items[i];
        size_t values = token->word == IGC_W_THREADGROUP ? initial_values(tokens, i) : IGC_NO_TOKEN;
        if (values != IGC_NO_TOKEN) {
            return igc_fail_at(rewriter, values, INGOT_COMPILE_ERROR, error,
                               "an array in threadgroup memory cannot have initial values: "
                               "let threads store them, and a barrier follow");
        }
        if (token->kind == IGC_IDENTIFIER &&
            (token->word == IGC_W_NONE || token->word == IGC_W_DELETE) &&
            !rewriter->edits[i].dead && is_forbidden(tokens, i)) {
            return igc_fail_at(rewriter, i, INGOT_COMPILE_ERROR, error,
                               "'%.*s' is not part of the Metal language", (int)token->size,
                               token->text);
        }
    }
    return INGOT_OK;
}
