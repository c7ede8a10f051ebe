/*
 * Shifts of constants by the width of their type or more: `1u << 33` is 2 in Metal.
 *
 * Elsewhere a pass counts amounts modulo the width (middle/arithmetic.c). Where both operands are
 * constants clang folds the shift itself: to a wrong value in initialisers and template arguments,
 * to nothing in code, and not at all in constexpr, which is an error. Which operands are constants
 * only clang knows, and it says so: "shift count >= width of type", at the operator. So its
 * messages are read, the operators are marked, and the source is rewritten and compiled once more,
 * with the prelude's own shifts in their place. Sources without such shifts cost nothing.
 */
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

enum operator_of_shift { NO_SHIFT, LEFT, RIGHT, LEFT_ASSIGN, RIGHT_ASSIGN };

static enum operator_of_shift shift_at(const struct igc_tokens *tokens, size_t i) {
    const struct igc_token *token = igc_at(tokens, i), *next = igc_at(tokens, i + 1);
    if (igc_is(token, "<<")) {
        return LEFT;
    }
    if (igc_is(token, "<<=")) {
        return LEFT_ASSIGN;
    }
    if (igc_is(token, ">>=")) {
        return RIGHT_ASSIGN;
    }
    /* The lexer keeps the two apart, for template arguments that end there. */
    return igc_is(token, ">") && igc_is(next, ">") && next->space == 0 ? RIGHT : NO_SHIFT;
}

static bool has(const char *line, const char *end, const char *words) {
    return memmem(line, (size_t)(end - line), words, strlen(words)) != NULL;
}

/* Marks the operator; true when it was not marked. */
static bool mark(struct igc_rewriter *rewriter, size_t token, bool is_warning) {
    enum operator_of_shift shift = shift_at(&rewriter->tokens, token);
    bool assigns = shift == LEFT_ASSIGN || shift == RIGHT_ASSIGN;
    if (shift == NO_SHIFT || (assigns && is_warning)) { /* what is assigned to is no constant */
        return false;
    }
    if (!rewriter->long_shifts) {
        rewriter->long_shifts = ig_arena_array(rewriter->arena, rewriter->tokens.count + 1,
                                               sizeof *rewriter->long_shifts);
    }
    if (!rewriter->long_shifts || rewriter->long_shifts[token]) {
        return false;
    }
    rewriter->long_shifts[token] = true;
    return true;
}

bool igc_find_long_shifts(struct igc_rewriter *rewriter, const char *output, size_t output_size,
                          const char *stderr_text, struct ig_text *warnings) {
    struct ig_text kept = {0}, ignored = {0};
    bool found = false;
    for (const char *line = stderr_text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        bool is_warning = has(line, end, "warning: shift count ");
        if (!is_warning && !has(line, end, "note: shift count ") &&
            !has(line, end, "note: negative shift count ")) {
            continue;
        }
        size_t token = igc_message_token(rewriter, output, output_size, line, end);
        found |= token != IGC_NO_TOKEN && mark(rewriter, token, is_warning);
        if (is_warning) {
            ig_text_append(&kept, line, (size_t)(end - line));
            ig_text_puts(&kept, "\n");
        }
    }
    if (found) { /* the next round has no reason to warn */
        igc_translate_diagnostics(rewriter, output, output_size, "", ig_text_string(&kept),
                                  &ignored, warnings);
    }
    ig_text_free(&ignored);
    ig_text_free(&kept);
    return found;
}

void igc_rewrite_shifts(struct igc_rewriter *rewriter) {
    for (size_t i = 0; rewriter->long_shifts && i < rewriter->tokens.count; i++) {
        if (!rewriter->long_shifts[i]) {
            continue;
        }
        switch (shift_at(&rewriter->tokens, i)) {
        case LEFT:
            igc_replace(rewriter, i, "<< __ingot_left <<");
            break;
        case RIGHT:
            igc_replace(rewriter, i, "<< __ingot_right <<");
            igc_kill(rewriter, i + 1, i + 2);
            break;
        case LEFT_ASSIGN:
            igc_replace(rewriter, i, "<<= __ingot_amount =");
            break;
        case RIGHT_ASSIGN:
            igc_replace(rewriter, i, ">>= __ingot_amount =");
            break;
        case NO_SHIFT:
            break;
        }
    }
}
