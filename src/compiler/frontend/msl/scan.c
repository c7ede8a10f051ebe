/*
 * Reading token sequences: attributes, template argument lists, declarations.
 *
 * These are heuristics of a token rewriter, not a parser; each is bounded by the brackets
 * around it and by a look-ahead limit, so that any input takes linear time.
 */
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

enum { LOOK_LIMIT = 8192 }; /* tokens that one look ahead or back may step over */

bool igc_is(const struct igc_token *token, const char *text) {
    size_t size = strlen(text);
    return token->size == size && memcmp(token->text, text, size) == 0;
}

bool igc_same_text(const struct igc_tokens *tokens, size_t a, size_t b) {
    const struct igc_token *x = igc_at(tokens, a), *y = igc_at(tokens, b);
    return x->size == y->size && memcmp(x->text, y->text, x->size) == 0;
}

bool igc_is_space_word(enum igc_word word) {
    return word == IGC_W_DEVICE || word == IGC_W_THREADGROUP || word == IGC_W_CONSTANT ||
           word == IGC_W_THREAD || word == IGC_W_RAY_DATA || word == IGC_W_OBJECT_DATA;
}

size_t igc_attribute_end(const struct igc_tokens *tokens, size_t i) {
    size_t outer, inner;
    if (igc_word_at(tokens, i) != IGC_W_OPEN_SQUARE ||
        igc_word_at(tokens, i + 1) != IGC_W_OPEN_SQUARE) {
        return i;
    }
    if (!igc_closes(tokens, i, &outer) || !igc_closes(tokens, i + 1, &inner) ||
        outer != inner + 1) {
        return i;
    }
    if (igc_at(tokens, i + 2)->kind != IGC_IDENTIFIER && inner != i + 2) {
        return i;
    }
    return outer + 1;
}

size_t igc_angles_end(const struct igc_tokens *tokens, size_t i) {
    size_t depth = 0, close;
    for (size_t p = i, steps = 0; p < tokens->count && steps < LOOK_LIMIT; p++, steps++) {
        switch (igc_word_at(tokens, p)) {
        case IGC_W_LESS:
            depth++;
            break;
        case IGC_W_GREATER:
            if (--depth == 0) {
                return p + 1;
            }
            break;
        case IGC_W_OPEN_PAREN:
        case IGC_W_OPEN_SQUARE:
        case IGC_W_OPEN_BRACE:
            if (!igc_closes(tokens, p, &close)) {
                return i;
            }
            p = close;
            break;
        case IGC_W_SEMICOLON:
        case IGC_W_CLOSE_PAREN:
        case IGC_W_CLOSE_SQUARE:
        case IGC_W_CLOSE_BRACE:
            return i;
        default:
            break;
        }
    }
    return i;
}

/* The partner of a closing bracket at i, when it has one before it. */
static bool opens(const struct igc_tokens *tokens, size_t i, size_t *open) {
    if (tokens->items[i].match >= i) {
        return false;
    }
    *open = tokens->items[i].match;
    return true;
}

size_t igc_angles_start(const struct igc_tokens *tokens, size_t i) {
    size_t depth = 0, open;
    for (size_t p = i + 1, steps = 0; p-- > 0 && steps < LOOK_LIMIT; steps++) {
        switch (igc_word_at(tokens, p)) {
        case IGC_W_GREATER:
            depth++;
            break;
        case IGC_W_LESS:
            if (--depth == 0) {
                return p;
            }
            break;
        case IGC_W_CLOSE_PAREN:
        case IGC_W_CLOSE_SQUARE:
        case IGC_W_CLOSE_BRACE:
            if (!opens(tokens, p, &open)) {
                return i;
            }
            p = open;
            break;
        case IGC_W_SEMICOLON:
        case IGC_W_OPEN_PAREN:
        case IGC_W_OPEN_SQUARE:
        case IGC_W_OPEN_BRACE:
            return i;
        default:
            break;
        }
    }
    return i;
}

size_t igc_declaration_start(const struct igc_tokens *tokens, size_t i) {
    size_t p = i, open;
    for (size_t steps = 0; p > 0 && steps < LOOK_LIMIT; steps++) {
        size_t before = p - 1;
        enum igc_word word = igc_word_at(tokens, before);
        if (igc_at(tokens, before)->kind == IGC_DIRECTIVE) {
            return p;
        }
        if (word == IGC_W_CLOSE_PAREN || word == IGC_W_CLOSE_SQUARE) {
            if (!opens(tokens, before, &open)) {
                return p;
            }
            p = open;
            continue;
        }
        if (word == IGC_W_SEMICOLON || word == IGC_W_OPEN_BRACE || word == IGC_W_CLOSE_BRACE ||
            word == IGC_W_OPEN_PAREN || word == IGC_W_OPEN_SQUARE) {
            return p;
        }
        if (word == IGC_W_COLON) {
            enum igc_word label = igc_word_at(tokens, before - 1);
            if (label == IGC_W_PUBLIC || label == IGC_W_PRIVATE || label == IGC_W_PROTECTED) {
                return p;
            }
        }
        p = before;
    }
    return p;
}

size_t igc_declaration_end(const struct igc_tokens *tokens, size_t i) {
    size_t close;
    for (size_t p = i, steps = 0; p < tokens->count && steps < LOOK_LIMIT; p++, steps++) {
        switch (igc_word_at(tokens, p)) {
        case IGC_W_SEMICOLON:
            return p + 1;
        case IGC_W_OPEN_PAREN:
        case IGC_W_OPEN_SQUARE:
            if (igc_closes(tokens, p, &close)) {
                p = close;
            }
            break;
        case IGC_W_OPEN_BRACE: {
            if (!igc_closes(tokens, p, &close)) {
                return tokens->count;
            }
            enum igc_word next = igc_word_at(tokens, close + 1);
            /* a member initialiser x{…} before the body */
            if (igc_at(tokens, p - 1)->kind == IGC_IDENTIFIER &&
                (next == IGC_W_COMMA || next == IGC_W_OPEN_BRACE)) {
                p = close;
                break;
            }
            return close + 1 + (next == IGC_W_SEMICOLON);
        }
        case IGC_W_CLOSE_BRACE:
            return p;
        default:
            break;
        }
    }
    return tokens->count;
}

size_t igc_list_item_end(const struct igc_tokens *tokens, size_t i, size_t end) {
    size_t close, p = i;
    while (p < end) {
        switch (igc_word_at(tokens, p)) {
        case IGC_W_COMMA:
            return p;
        case IGC_W_LESS: {
            size_t after = igc_angles_end(tokens, p);
            if (after > p && after <= end) {
                p = after;
                continue;
            }
            break;
        }
        case IGC_W_OPEN_PAREN:
        case IGC_W_OPEN_SQUARE:
        case IGC_W_OPEN_BRACE:
            if (igc_closes(tokens, p, &close) && close < end) {
                p = close;
            }
            break;
        default:
            break;
        }
        p++;
    }
    return end;
}

const char *igc_spelling(struct igc_rewriter *rewriter, size_t from, size_t to) {
    struct ig_text text = {0};
    for (size_t i = from; i < to && i < rewriter->tokens.count; i++) {
        const struct igc_token *token = igc_at(&rewriter->tokens, i);
        if (i > from && token->space > 0) {
            ig_text_puts(&text, " ");
        }
        ig_text_append(&text, token->text, token->size);
    }
    char *copy =
        text.failed ? NULL : ig_arena_copy(rewriter->arena, ig_text_string(&text), text.size);
    ig_text_free(&text);
    if (!copy) {
        rewriter->out_of_memory = true;
    }
    return copy ? copy : "";
}

static char escaped(char c) {
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case '0':
        return ' ';
    default:
        return c;
    }
}

const char *igc_string_value(struct igc_rewriter *rewriter, size_t from, size_t to) {
    struct ig_text text = {0};
    bool any = false;
    for (size_t i = from; i < to; i++) {
        const struct igc_token *token = igc_at(&rewriter->tokens, i);
        if (token->kind != IGC_STRING) {
            continue;
        }
        any = true;
        const char *quote = memchr(token->text, '"', token->size);
        const char *end = token->text + token->size;
        for (const char *p = quote ? quote + 1 : end; p < end && *p != '"'; p++) {
            char c = *p;
            if (c == '\\' && end - p > 1) {
                c = escaped(*++p);
            }
            ig_text_append(&text, &c, 1);
        }
    }
    char *copy =
        text.failed ? NULL : ig_arena_copy(rewriter->arena, ig_text_string(&text), text.size);
    ig_text_free(&text);
    if (!copy) {
        rewriter->out_of_memory = true;
    }
    return any ? copy : NULL;
}
