/*
 * Which address spaces the program's member functions are for: `T get() const device`. What the
 * rewriter makes of them no longer says it.
 *
 * Requires tokens. Members are known by their last name only, and all operators, conversions and
 * constructors count as one: an object may be taken for one that has such a member, never the other
 * way round.
 */
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "compiler/frontend/msl/rewriter.h"
#include "compiler/ir/builtins.h"

enum { LOOK_BACK = 16 };

/* The function whose qualifier is at i. */
static bool is_member_of_name(const struct igc_tokens *tokens, size_t i, const char *name,
                              size_t size) {
    while (i > 0 && igc_word_at(tokens, i) != IGC_W_CLOSE_PAREN) {
        i--;
    }
    size_t open = igc_at(tokens, i)->match;
    if (open == 0 || open >= i) {
        return false;
    }
    const struct igc_token *last = igc_at(tokens, open - 1);
    if (size) {
        return last->size == size && !memcmp(last->text, name, size);
    }
    for (size_t p = open; p > 0 && p + LOOK_BACK > open; p--) {
        if (igc_word_at(tokens, p - 1) == IGC_W_OPERATOR) {
            return true;
        }
    }
    return false;
}

bool igc_source_has_member(const struct igc_source *source, const char *name, size_t size,
                           unsigned space) {
    const struct igc_tokens *tokens = &source->rewriter->tokens;
    enum igc_word wanted = space == INGOT_SPACE_DEVICE        ? IGC_W_DEVICE
                           : space == INGOT_SPACE_THREADGROUP ? IGC_W_THREADGROUP
                                                              : IGC_W_CONSTANT;
    for (size_t i = 0; i < tokens->count; i++) {
        if (igc_word_at(tokens, i) == wanted && igc_is_function_qualifier(tokens, i) &&
            is_member_of_name(tokens, i, name, size)) {
            return true;
        }
    }
    return false;
}
