/*
 * Warnings of words and declarations that Apple's compiler refuses: what one declaration's tokens
 * tell. `register`, the noexcept operator, integers of 128 bits and literals of long double;
 * lambdas before Metal 3.2; variadic functions; function constants that are not in the constant
 * address space or have values.
 */
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

enum { LAMBDAS = 320 }; /* from this version on */

/* 1.5L: a number with a point or an exponent, and an l behind it. */
static bool is_long_double(const struct igc_token *token) {
    if (token->kind != IGC_NUMBER || token->size < 2) {
        return false;
    }
    char last = token->text[token->size - 1];
    bool is_hex = token->text[0] == '0' && (token->text[1] == 'x' || token->text[1] == 'X');
    bool is_real = memchr(token->text, '.', token->size) ||
                   (!is_hex && (memchr(token->text, 'e', token->size) ||
                                memchr(token->text, 'E', token->size)));
    return is_real && (last == 'l' || last == 'L');
}

/* `noexcept (x)` behind anything but a parameter list is the operator. */
static bool is_noexcept_operator(const struct igc_tokens *tokens, size_t i) {
    enum igc_word before = igc_word_at(tokens, i - 1);
    return igc_word_at(tokens, i + 1) == IGC_W_OPEN_PAREN &&
           (before == IGC_W_ASSIGN || before == IGC_W_OPEN_PAREN || before == IGC_W_COMMA ||
            igc_is(igc_at(tokens, i - 1), "return"));
}

/* `[` that begins a lambda: behind what no array's name can be. */
static bool is_lambda(const struct igc_tokens *tokens, size_t i) {
    size_t close;
    enum igc_word before = igc_word_at(tokens, i - 1);
    if (igc_word_at(tokens, i) != IGC_W_OPEN_SQUARE || igc_attribute_end(tokens, i) != i ||
        !igc_closes(tokens, i, &close) ||
        !(before == IGC_W_ASSIGN || before == IGC_W_OPEN_PAREN || before == IGC_W_COMMA ||
          igc_is(igc_at(tokens, i - 1), "return"))) {
        return false;
    }
    enum igc_word after = igc_word_at(tokens, close + 1);
    return after == IGC_W_OPEN_PAREN || after == IGC_W_OPEN_BRACE;
}

/* `int f(int n, ...) {` at the dots: not `(f(packed), ...)`, which no `{` follows. */
static bool is_variadic(const struct igc_tokens *tokens, size_t i) {
    if (!igc_is(igc_at(tokens, i), "...") || igc_word_at(tokens, i + 1) != IGC_W_CLOSE_PAREN ||
        igc_word_at(tokens, i + 2) != IGC_W_OPEN_BRACE) {
        return false;
    }
    size_t open = igc_at(tokens, i + 1)->match;
    enum igc_word before = igc_word_at(tokens, i - 1);
    return (before == IGC_W_COMMA || before == IGC_W_OPEN_PAREN) && open > 1 && open < i &&
           igc_at(tokens, open - 1)->kind == IGC_IDENTIFIER &&
           igc_at(tokens, open - 2)->kind == IGC_IDENTIFIER;
}

static const char *objection(const struct igc_rewriter *rewriter, size_t i) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    const struct igc_token *token = igc_at(tokens, i);
    if (igc_is(token, "register")) {
        return "Apple's compiler has no register variables";
    }
    if (igc_is(token, "__int128") || igc_is(token, "__int128_t") || igc_is(token, "__uint128_t")) {
        return "Apple's compiler has no integers of 128 bits";
    }
    if (is_long_double(token) || igc_is(token, "__float128")) {
        return "Apple's compiler has no long double";
    }
    if (igc_is(token, "noexcept") && is_noexcept_operator(tokens, i)) {
        return "Apple's compiler has no noexcept operator";
    }
    if (is_variadic(tokens, i)) {
        return "Apple's compiler has no functions with a variable number of arguments; templates "
               "have packs";
    }
    if (rewriter->msl_version < LAMBDAS && is_lambda(tokens, i)) {
        return "Apple's compiler takes lambdas from Metal 3.2 on: --msl-version 3.2";
    }
    return NULL;
}

/* `constant bool flag [[function_constant(0)]];` and nothing more. */
static void check_function_constant(const struct igc_rewriter *rewriter, size_t attribute,
                                    struct ig_text *out) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t open = attribute;
    while (open > 1 && open + 16 > attribute && igc_attribute_end(tokens, open) == open) {
        open--;
    }
    size_t start = igc_declaration_start(tokens, open - 1);
    bool is_constant = false;
    for (size_t i = start; i < open; i++) {
        enum igc_word word = igc_word_at(tokens, i);
        if (word == IGC_W_OPEN_PAREN) {
            return; /* of a parameter */
        }
        is_constant |= word == IGC_W_CONSTANT;
    }
    size_t end = igc_attribute_end(tokens, open);
    if (!is_constant) {
        igc_warn_at(rewriter, open - 1,
                    "Apple's compiler wants a function constant to be in the constant address "
                    "space: constant",
                    out);
    } else if (igc_word_at(tokens, end) == IGC_W_ASSIGN) {
        igc_warn_at(rewriter, end,
                    "Apple's compiler takes no initial value of a function constant: "
                    "is_function_constant_defined asks for one",
                    out);
    }
}

void igc_warn_words(const struct igc_rewriter *rewriter, struct ig_text *out) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t i = 0; i < tokens->count; i++) {
        const char *message = objection(rewriter, i);
        if (message) {
            igc_warn_at(rewriter, i, message, out);
        }
        if (igc_word_at(tokens, i) == IGC_W_FUNCTION_CONSTANT &&
            igc_word_at(tokens, i + 1) == IGC_W_OPEN_PAREN &&
            igc_word_at(tokens, i - 1) == IGC_W_OPEN_SQUARE) {
            check_function_constant(rewriter, i, out);
        }
    }
}
