/*
 * Expressions: literals and the operands of `?:`.
 *
 * - `1.5` is a float in Metal: it gets an `f`; `1.5h` is a half, `1.5bf` a bfloat.
 * - An operand of `?:` that looks like an lvalue becomes `__ingot_rvalue(x)`, because
 *   objects in different address spaces have no common type, nor has a packed vector with a
 *   vector. Not where the result is bound to a reference, nor around anything with an operator
 *   in it.
 */
#include <ctype.h>
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

/* ---- literals ------------------------------------------------------------------------------ */
static bool ends_with(const char *text, size_t size, const char *suffix) {
    size_t length = strlen(suffix);
    if (size <= length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (tolower((unsigned char)text[size - length + i]) != suffix[i]) {
            return false;
        }
    }
    return true;
}

/* What a decimal or hexadecimal number is made of, without its suffix. */
static size_t digits_size(const char *text, size_t size, bool *is_float) {
    bool hex = size > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    size_t i = hex ? 2 : 0;
    bool exponent = false;
    *is_float = false;
    for (; i < size; i++) {
        char c = (char)tolower((unsigned char)text[i]);
        if (c == '.') {
            *is_float = true;
        } else if (!exponent && i > 0 && c == (hex ? 'p' : 'e')) {
            exponent = *is_float = true;
            if (i + 1 < size && (text[i + 1] == '+' || text[i + 1] == '-')) {
                i++;
            }
        } else if (!isdigit((unsigned char)c) && c != '\'' &&
                   !(hex && !exponent && isxdigit((unsigned char)c))) {
            break;
        }
    }
    return i;
}

static void rewrite_number(struct igc_rewriter *rewriter, size_t i) {
    const struct igc_token *token = igc_at(&rewriter->tokens, i);
    bool is_float;
    size_t digits = digits_size(token->text, token->size, &is_float);
    size_t suffix = token->size - digits;
    int length = (int)digits;
    if (!is_float && token->size > 1 && (token->text[1] == 'x' || token->text[1] == 'X')) {
        return;
    }
    const char *point = is_float ? "" : ".0";
    if (suffix == 0 && is_float) {
        igc_replace(rewriter, i, ig_arena_printf(rewriter->arena, "%.*sf", length, token->text));
    } else if (suffix == 1 && ends_with(token->text, token->size, "h")) {
        igc_replace(rewriter, i,
                    ig_arena_printf(rewriter->arena, "%.*s%sf16", length, token->text, point));
    } else if (suffix == 2 && ends_with(token->text, token->size, "bf")) {
        igc_replace(
            rewriter, i,
            ig_arena_printf(rewriter->arena, "((__bf16)%.*s%sf)", length, token->text, point));
    }
}

/* ---- ?: ---------------------------------------------------------------------------------------
 */
/* Names, members, calls, casts in angles and subscripts only, and something that can be an lvalue.
 */
static bool looks_like_lvalue(const struct igc_rewriter *rewriter, size_t from, size_t to) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t close, start = from;
    while (start < to && igc_word_at(tokens, start) == IGC_W_STAR) {
        start++;
    }
    if (start >= to) {
        return false;
    }
    for (size_t p = start; p < to; p++) {
        const struct igc_token *token = igc_at(tokens, p);
        if (rewriter->edits[p].dead) {
            return false;
        }
        switch (token->word) {
        case IGC_W_OPEN_PAREN:
        case IGC_W_OPEN_SQUARE:
            if (!igc_closes(tokens, p, &close) || close >= to) {
                return false;
            }
            p = close;
            break;
        case IGC_W_LESS: /* f<T>(x), not a < b */
            close = igc_angles_end(tokens, p);
            if (close == p || close >= to || igc_word_at(tokens, close) != IGC_W_OPEN_PAREN) {
                return false;
            }
            p = close - 1;
            break;
        case IGC_W_SCOPE:
        case IGC_W_DOT:
        case IGC_W_ARROW:
        case IGC_W_THIS:
            break;
        default:
            if (token->kind != IGC_IDENTIFIER || (token->word != IGC_W_NONE && to - from == 1)) {
                return false;
            }
        }
    }
    const struct igc_token *last = igc_at(tokens, to - 1);
    return start > from || last->word == IGC_W_CLOSE_SQUARE || last->kind == IGC_IDENTIFIER;
}

/* `packed_float3(…)`, all of it. */
static bool is_packed_value(const struct igc_rewriter *rewriter, size_t from, size_t to) {
    static const char prefix[] = "packed_";
    const struct igc_token *token = igc_at(&rewriter->tokens, from);
    size_t close;
    return token->kind == IGC_IDENTIFIER && token->size > strlen(prefix) &&
           memcmp(token->text, prefix, strlen(prefix)) == 0 &&
           igc_word_at(&rewriter->tokens, from + 1) == IGC_W_OPEN_PAREN &&
           igc_closes(&rewriter->tokens, from + 1, &close) && close == to - 1;
}

static void wrap(struct igc_rewriter *rewriter, size_t from, size_t to) {
    size_t close;
    while (from < to && igc_word_at(&rewriter->tokens, from) == IGC_W_OPEN_PAREN &&
           igc_closes(&rewriter->tokens, from, &close) && close == to - 1) {
        from++;
        to--;
    }
    if (from >= to ||
        (!looks_like_lvalue(rewriter, from, to) && !is_packed_value(rewriter, from, to))) {
        return;
    }
    igc_before(rewriter, from, "__ingot_rvalue(");
    igc_after(rewriter, to - 1, ")");
}

/* The `:` of the `?` at i, or i. */
static size_t find_colon(const struct igc_tokens *tokens, size_t i) {
    size_t nested = 0, close;
    for (size_t p = i + 1, steps = 0; p < tokens->count && steps < 4096; p++, steps++) {
        switch (igc_word_at(tokens, p)) {
        case IGC_W_OPEN_PAREN:
        case IGC_W_OPEN_SQUARE:
        case IGC_W_OPEN_BRACE:
            if (!igc_closes(tokens, p, &close)) {
                return i;
            }
            p = close;
            break;
        case IGC_W_QUESTION:
            nested++;
            break;
        case IGC_W_COLON:
            if (nested == 0) {
                return p;
            }
            nested--;
            break;
        case IGC_W_CLOSE_PAREN:
        case IGC_W_CLOSE_SQUARE:
        case IGC_W_CLOSE_BRACE:
        case IGC_W_SEMICOLON:
            return i;
        default:
            break;
        }
    }
    return i;
}

static size_t operand_end(const struct igc_tokens *tokens, size_t i) {
    size_t close;
    for (size_t p = i, steps = 0; p < tokens->count && steps < 4096; p++, steps++) {
        switch (igc_word_at(tokens, p)) {
        case IGC_W_OPEN_PAREN:
        case IGC_W_OPEN_SQUARE:
        case IGC_W_OPEN_BRACE:
            if (!igc_closes(tokens, p, &close)) {
                return i;
            }
            p = close;
            break;
        case IGC_W_QUESTION: /* the condition of another one */
            return i;
        case IGC_W_COMMA:
        case IGC_W_COLON:
        case IGC_W_CLOSE_PAREN:
        case IGC_W_CLOSE_SQUARE:
        case IGC_W_CLOSE_BRACE:
        case IGC_W_SEMICOLON:
            return p;
        default:
            break;
        }
    }
    return i;
}

/* `T &x = c ? a : b` must stay an lvalue. */
static bool binds_reference(const struct igc_tokens *tokens, size_t question) {
    for (size_t p = question, steps = 0; p-- > 2 && steps < 64; steps++) {
        enum igc_word word = igc_word_at(tokens, p);
        if (word == IGC_W_SEMICOLON || word == IGC_W_OPEN_BRACE || word == IGC_W_CLOSE_BRACE) {
            return false;
        }
        if (word == IGC_W_ASSIGN) {
            return igc_word_at(tokens, p - 2) == IGC_W_AMPERSAND;
        }
    }
    return false;
}

static void rewrite_conditional(struct igc_rewriter *rewriter, size_t i) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t colon = find_colon(tokens, i);
    if (colon == i || binds_reference(tokens, i)) {
        return;
    }
    wrap(rewriter, i + 1, colon);
    wrap(rewriter, colon + 1, operand_end(tokens, colon + 1));
}

void igc_rewrite_expressions(struct igc_rewriter *rewriter) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t i = 0; i < tokens->count; i++) {
        const struct igc_token *token = &tokens->items[i];
        if (rewriter->edits[i].dead) {
            continue;
        }
        if (token->kind == IGC_NUMBER) {
            rewrite_number(rewriter, i);
        } else if (token->word == IGC_W_QUESTION) {
            rewrite_conditional(rewriter, i);
        }
    }
}
