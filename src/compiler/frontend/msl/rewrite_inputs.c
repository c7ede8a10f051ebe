/*
 * Positions and sizes at program scope: `const uint i [[thread_position_in_grid]];` outside of
 * any function becomes
 *   extern const uint &i __asm("__ingot_input_0"); extern "C" void __ingot_input_fill_0(…) {…}
 * middle/inputs.c gives every function that uses the reference a variable of its own, filled by
 * the function. A parameter or variable of the same name hides it, as usual.
 */
#include "compiler/frontend/msl/rewriter.h"
#include "compiler/ir/global_names.h"

/* Neither in a function nor in a class. */
static bool is_program_scope(const struct igc_tokens *tokens, size_t at) {
    for (size_t i = at; i-- > 0;) {
        enum igc_word word = igc_word_at(tokens, i);
        if (word == IGC_W_CLOSE_BRACE || word == IGC_W_CLOSE_PAREN || word == IGC_W_CLOSE_SQUARE) {
            i = igc_at(tokens, i)->match;
        } else if (word == IGC_W_OPEN_PAREN) {
            return false;
        } else if (word == IGC_W_OPEN_BRACE) {
            size_t start = igc_declaration_start(tokens, i);
            while (start < i && igc_word_at(tokens, start) == IGC_W_INLINE) {
                start++;
            }
            if (igc_word_at(tokens, start) != IGC_W_NAMESPACE) {
                return false;
            }
        }
    }
    return true;
}

static void rewrite_input(struct igc_rewriter *rewriter, size_t attribute, size_t end,
                          unsigned number) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t name = attribute - 1, first = igc_declaration_start(tokens, attribute);
    for (size_t i = first; i < name; i++) {
        enum igc_word word = igc_word_at(tokens, i);
        if (word == IGC_W_STATIC || word == IGC_W_INLINE || word == IGC_W_EXTERN ||
            word == IGC_W_CONSTANT || word == IGC_W_CONST) {
            igc_kill(rewriter, i, i + 1);
        }
    }
    while (first < name && rewriter->edits[first].dead) {
        first++;
    }
    const char *called = igc_spelling(rewriter, name, name + 1);
    igc_before(rewriter, first, "extern const ");
    igc_before(rewriter, name, "&");
    igc_kill(rewriter, attribute, end);
    igc_replace(rewriter, attribute,
                ig_arena_printf(rewriter->arena, " __asm(\"" IGI_INPUT_PREFIX "%u\")", number));
    /* The label: clang mangles the names of functions that stay in the module. */
    const char *fill = ig_arena_printf(
        rewriter->arena, "void __ingot_input_fill_%u(::metal::remove_cvref_t<decltype(%s)> *to)",
        number, called);
    igc_after(rewriter, end,
              ig_arena_printf(rewriter->arena,
                              " extern \"C\" __attribute__((used)) %s __asm(\"" IGI_INPUT_PREFIX
                              "fill_%u\"); extern \"C\" %s "
                              "{ *to = __ingot_builtin_%s<decltype(%s)>(); }",
                              fill, number, fill,
                              igc_spelling(rewriter, attribute + 2, attribute + 3), called));
}

void igc_rewrite_inputs(struct igc_rewriter *rewriter) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    unsigned count = 0;
    for (size_t i = 1; i < tokens->count; i++) {
        if (igc_word_at(tokens, i) != IGC_W_OPEN_SQUARE ||
            igc_word_at(tokens, i + 1) != IGC_W_OPEN_SQUARE ||
            !igc_is_position(igc_at(tokens, i + 2)) ||
            igc_at(tokens, i - 1)->kind != IGC_IDENTIFIER) {
            continue;
        }
        size_t end = igc_attribute_end(tokens, i);
        if (end == i + 5 && igc_word_at(tokens, end) == IGC_W_SEMICOLON &&
            is_program_scope(tokens, i)) {
            rewrite_input(rewriter, i, end, count++);
        }
    }
}
