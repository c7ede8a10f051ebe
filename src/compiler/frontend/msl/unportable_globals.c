/*
 * Variables outside of functions whose values are not known when Apple's compiler compiles: it
 * takes no initialiser that is no constant expression. clang tells them apart; those that are
 * computed from function constants are right, and this file finds them.
 *
 * Requires igc_find_constants. A variable is derived from a function constant where its declaration
 * names one, or another derived one before it; what a function that it calls names does not count.
 */
#include "compiler/frontend/msl/rewriter.h"

enum { MOST_DERIVED = 1024 };

struct derived {
    const struct igc_rewriter *rewriter;
    size_t names[MOST_DERIVED];
    size_t count;
};

static bool is_derived_name(const struct derived *derived, size_t i) {
    const struct igc_rewriter *rewriter = derived->rewriter;
    for (size_t c = 0; c < rewriter->constant_count; c++) {
        if (igc_same_text(&rewriter->tokens, i, rewriter->constants[c].name)) {
            return true;
        }
    }
    for (size_t d = 0; d < derived->count; d++) {
        if (igc_same_text(&rewriter->tokens, i, derived->names[d])) {
            return true;
        }
    }
    return false;
}

static bool names_derived(const struct derived *derived, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        if (igc_at(&derived->rewriter->tokens, i)->kind == IGC_IDENTIFIER &&
            is_derived_name(derived, i)) {
            return true;
        }
    }
    return false;
}

/* `constant int a = …, b = …;` in [from, to): every name before a `=`, or the only one there is
 * before an array's bounds or an initialiser in brackets. */
static void add_names(struct derived *derived, size_t from, size_t to) {
    const struct igc_tokens *tokens = &derived->rewriter->tokens;
    for (size_t i = from; i < to; i++) {
        size_t after, close;
        switch (igc_word_at(tokens, i + 1)) {
        case IGC_W_ASSIGN:
        case IGC_W_OPEN_SQUARE:
        case IGC_W_OPEN_PAREN:
        case IGC_W_OPEN_BRACE:
            if (igc_at(tokens, i)->kind == IGC_IDENTIFIER && derived->count < MOST_DERIVED) {
                derived->names[derived->count++] = i;
            }
            break;
        default:
            break;
        }
        after = igc_word_at(tokens, i) == IGC_W_LESS ? igc_angles_end(tokens, i) : i;
        i = after > i ? after - 1 : i;
        i = igc_closes(tokens, i, &close) ? close : i;
        if (igc_word_at(tokens, i) == IGC_W_ASSIGN) { /* on to the next of the list */
            i = igc_list_item_end(tokens, i, to);
        }
    }
}

/* A declaration that starts with `constant`, `static constant`, `constexpr constant`, … */
static bool starts_constant(const struct igc_tokens *tokens, size_t i) {
    for (;; i++) {
        switch (igc_word_at(tokens, i)) {
        case IGC_W_CONSTANT:
            return true;
        case IGC_W_STATIC:
        case IGC_W_CONST:
        case IGC_W_CONSTEXPR:
        case IGC_W_INLINE:
            break;
        default:
            return false;
        }
    }
}

bool igc_is_of_function_constants(const struct igc_rewriter *rewriter, size_t name) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    struct derived derived = {.rewriter = rewriter};
    for (size_t i = 0; rewriter->constant_count && i < name; i++) {
        if (igc_word_at(tokens, i) != IGC_W_CONSTANT) {
            continue;
        }
        size_t start = igc_declaration_start(tokens, i);
        size_t end = igc_declaration_end(tokens, start);
        if (starts_constant(tokens, start) && start <= i && end > i) {
            if (names_derived(&derived, start, end)) {
                add_names(&derived, start, end);
            }
            i = end - 1;
        }
    }
    size_t start = igc_declaration_start(tokens, name);
    return names_derived(&derived, start, igc_declaration_end(tokens, start));
}
