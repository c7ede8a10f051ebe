/*
 * Vector constants that are computed from function constants, and swizzles in templates.
 *
 * - `constant uint2 k = uint2(fc, 3) * 2;` becomes
 *   `… k = uint2(::metal::__ingot_raw(), uint2(uint2(fc, 3) * 2).v);`. Without that, clang has the
 *   result of a function written straight into a global of another address space than the
 *   function believes, which is no valid module.
 * - Where the program declares operators of its own, clang keeps `v.xy * v.zw` in a template for
 *   later, in a form that forgets that v.xy is a property. A swizzle that is read there becomes
 *   `v.xy.__ingot_self()`. Words that the program also uses for names of its own are left alone.
 *
 * Requires igc_find_constants.
 */
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

/* ---- vector constants -------------------------------------------------------------------------
 */
static bool is_vector_name(const struct igc_token *token) {
    static const char *const scalars[] = {"bool", "char", "uchar", "short", "ushort", "int",
                                          "uint", "long", "ulong", "half",  "bfloat", "float"};
    if (token->kind != IGC_IDENTIFIER || token->size < 4) {
        return false;
    }
    char last = token->text[token->size - 1];
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        if (strlen(scalars[i]) == token->size - 1 &&
            !memcmp(token->text, scalars[i], token->size - 1)) {
            return last >= '2' && last <= '4';
        }
    }
    return false;
}

static bool same_name(const struct igc_token *a, const struct igc_token *b) {
    return a->size == b->size && !memcmp(a->text, b->text, a->size);
}

/* Does [from, to) use a function constant, or one of `derived` (token numbers of names)? */
static bool uses_constants(const struct igc_rewriter *rewriter, const size_t *derived,
                           size_t derived_count, size_t from, size_t to) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t i = from; i < to; i++) {
        const struct igc_token *token = igc_at(tokens, i);
        if (token->kind != IGC_IDENTIFIER) {
            continue;
        }
        for (size_t c = 0; c < rewriter->constant_count; c++) {
            if (same_name(token, igc_at(tokens, rewriter->constants[c].name))) {
                return true;
            }
        }
        for (size_t d = 0; d < derived_count; d++) {
            if (same_name(token, igc_at(tokens, derived[d]))) {
                return true;
            }
        }
    }
    return false;
}

static void wrap_initialiser(struct igc_rewriter *rewriter, size_t name, size_t from, size_t to) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    const char *type = igc_spelling(rewriter, name - 1, name);
    bool braces = igc_word_at(tokens, from) == IGC_W_OPEN_BRACE;
    igc_before(rewriter, from,
               ig_arena_printf(rewriter->arena, "::metal::%s(::metal::__ingot_raw(), ::metal::%s%s",
                               type ? type : "", type ? type : "", braces ? "" : "("));
    igc_after(rewriter, to - 1, braces ? ".v)" : ").v)");
}

static void rewrite_vector_constants(struct igc_rewriter *rewriter) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    enum { MOST = 256 };
    size_t derived[MOST], count = 0;
    for (size_t i = 2; rewriter->constant_count && i + 2 < tokens->count; i++) {
        if (igc_at(tokens, i)->kind != IGC_IDENTIFIER ||
            igc_word_at(tokens, i + 1) != IGC_W_ASSIGN || rewriter->edits[i].dead) {
            continue;
        }
        bool in_constant = false;
        for (size_t p = igc_declaration_start(tokens, i); p < i && i - p < 16; p++) {
            in_constant |= igc_word_at(tokens, p) == IGC_W_CONSTANT;
        }
        if (!in_constant) {
            continue;
        }
        size_t end = igc_declaration_end(tokens, i);
        end = igc_list_item_end(tokens, i + 2, end ? end - 1 : end);
        if (end <= i + 2 || !uses_constants(rewriter, derived, count, i + 2, end)) {
            continue;
        }
        if (count < MOST) {
            derived[count++] = i;
        }
        if (is_vector_name(igc_at(tokens, i - 1))) {
            wrap_initialiser(rewriter, i, i + 2, end);
        }
    }
}

/* ---- swizzles
 * ------------------------------------------------------------------------------------
 */
enum { SWIZZLES = 2 * 4 * 256 };

/* A number for each word of two to four letters out of xyzw, or out of rgba; -1 for others. */
static int swizzle_number(const struct igc_token *token) {
    static const char *const letters[] = {"xyzw", "rgba"};
    if (token->kind != IGC_IDENTIFIER || token->size < 2 || token->size > 4) {
        return -1;
    }
    for (int set = 0; set < 2; set++) {
        int number = 0;
        size_t i = 0;
        for (const char *letter; i < token->size; i++) {
            letter = strchr(letters[set], token->text[i]);
            if (!letter) {
                break;
            }
            number = 4 * number + (int)(letter - letters[set]);
        }
        if (i == token->size) {
            return (set * 4 + (int)token->size - 1) * 256 + number;
        }
    }
    return -1;
}

static bool is_member(const struct igc_tokens *tokens, size_t i) {
    enum igc_word before = i ? igc_word_at(tokens, i - 1) : IGC_W_NONE;
    return before == IGC_W_DOT || before == IGC_W_ARROW;
}

/* Assignments put, and whatever is called is no swizzle. */
static bool is_read(const struct igc_tokens *tokens, size_t i) {
    const struct igc_token *next = igc_at(tokens, i + 1);
    if (next->word == IGC_W_ASSIGN || next->word == IGC_W_OPEN_PAREN) {
        return false;
    }
    bool ends_in_assign = next->size >= 2 && next->text[next->size - 1] == '=';
    bool compares = next->size == 2 && strchr("=!<>", next->text[0]);
    bool steps = next->size == 2 && (!memcmp(next->text, "++", 2) || !memcmp(next->text, "--", 2));
    return !steps && (!ends_in_assign || compares);
}

/* Whether the program declares operators; and which swizzle words it uses as names. */
static bool read_program(const struct igc_tokens *tokens, bool own_names[SWIZZLES]) {
    bool operators = false;
    for (size_t i = 0; i < tokens->count; i++) {
        const struct igc_token *token = igc_at(tokens, i);
        int number = is_member(tokens, i) ? -1 : swizzle_number(token);
        if (number >= 0) {
            own_names[number] = true;
        }
        operators |= token->word == IGC_W_OPERATOR;
    }
    return operators;
}

static void rewrite_swizzles(struct igc_rewriter *rewriter) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    bool own_names[SWIZZLES] = {false};
    if (!read_program(tokens, own_names)) {
        return;
    }
    for (size_t i = 0, end = 0; i < tokens->count; i++) {
        if (i >= end && igc_word_at(tokens, i) == IGC_W_TEMPLATE) {
            end = igc_declaration_end(tokens, i);
        }
        int number = i < end && is_member(tokens, i) ? swizzle_number(igc_at(tokens, i)) : -1;
        if (number >= 0 && !own_names[number] && is_read(tokens, i) && !rewriter->edits[i].dead) {
            igc_after(rewriter, i, ".__ingot_self()");
        }
    }
}

void igc_rewrite_derived(struct igc_rewriter *rewriter) {
    rewrite_vector_constants(rewriter);
    rewrite_swizzles(rewriter);
}
