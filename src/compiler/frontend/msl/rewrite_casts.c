/*
 * Casts: clang refuses conversions between half and bfloat, so casts that could be one go
 * through the prelude's `__ingot_cast<T>(x)` and `__ingot_c_cast<T>(x)`.
 *
 * `static_cast<T>(x)` always does; `T(x)` and `(T)x` when T is half, bfloat, an alias of one,
 * or a type parameter of a template around it. Casts of plain numbers are left alone, as is
 * anything that may be a declaration.
 */
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

enum { MAX_TYPES = 64 };

struct types { /* type parameters in scope */
    struct {
        size_t name; /* its token */
        size_t end;  /* of the template's declaration */
    } items[MAX_TYPES];
    size_t count;
};

/* Reads the parameters of the template header at i. */
static void enter_template(const struct igc_tokens *tokens, size_t i, struct types *types) {
    size_t end = igc_angles_end(tokens, i + 1);
    if (end == i + 1) {
        return;
    }
    size_t scope = igc_declaration_end(tokens, end);
    for (size_t p = i + 2; p + 1 < end; p++) {
        enum igc_word word = igc_word_at(tokens, p);
        enum igc_word before = igc_word_at(tokens, p - 1);
        if ((word != IGC_W_TYPENAME && word != IGC_W_CLASS) ||
            (before != IGC_W_LESS && before != IGC_W_COMMA)) {
            continue;
        }
        if (igc_at(tokens, p + 1)->kind == IGC_IDENTIFIER && types->count < MAX_TYPES) {
            types->items[types->count].name = p + 1;
            types->items[types->count++].end = scope;
        }
    }
}

static void leave_templates(struct types *types, size_t i) {
    size_t kept = 0;
    for (size_t k = 0; k < types->count; k++) {
        if (types->items[k].end > i) {
            types->items[kept++] = types->items[k];
        }
    }
    types->count = kept;
}

static bool is_castable(const struct igc_tokens *tokens, const struct types *types, size_t i) {
    const struct igc_token *token = igc_at(tokens, i);
    if (token->kind != IGC_IDENTIFIER) {
        return false;
    }
    if (igc_is(token, "half") || igc_is(token, "bfloat")) {
        return true;
    }
    for (size_t k = 0; k < types->count; k++) {
        const struct igc_token *type = igc_at(tokens, types->items[k].name);
        if (types->items[k].name != i && type->size == token->size &&
            memcmp(type->text, token->text, token->size) == 0) {
            return true;
        }
    }
    return false;
}

/* `typedef half NAME;` and `using NAME = half;` at i: NAME is as castable as half is. */
static void read_alias(const struct igc_tokens *tokens, size_t i, struct types *types) {
    size_t from, name;
    if (igc_word_at(tokens, i) == IGC_W_TYPEDEF) {
        from = i + 1;
        name = i + 2;
    } else if (igc_word_at(tokens, i + 2) == IGC_W_ASSIGN) {
        from = i + 3;
        name = i + 1;
    } else {
        return;
    }
    if (is_castable(tokens, types, from) && igc_at(tokens, name)->kind == IGC_IDENTIFIER &&
        igc_word_at(tokens, (from > name ? from : name) + 1) == IGC_W_SEMICOLON &&
        types->count < MAX_TYPES) {
        types->items[types->count].name = name;
        types->items[types->count++].end = SIZE_MAX;
    }
}

/* Does a `?` come before the `:` at i, within its statement? */
static bool is_conditional_colon(const struct igc_tokens *tokens, size_t i) {
    for (size_t p = i, steps = 0; p-- > 0 && steps < 64; steps++) {
        enum igc_word word = igc_word_at(tokens, p);
        if (word == IGC_W_QUESTION) {
            return true;
        }
        if (word == IGC_W_SEMICOLON || word == IGC_W_OPEN_BRACE || word == IGC_W_CLOSE_BRACE) {
            return false;
        }
    }
    return false;
}

/* Can an operand start at i, so that `T(x)` there is no declaration? */
static bool starts_operand(const struct igc_tokens *tokens, size_t i) {
    const struct igc_token *before = igc_at(tokens, i - 1);
    if (i == 0 || before->kind == IGC_IDENTIFIER) {
        return i > 0 && before->word == IGC_W_RETURN;
    }
    if (before->kind != IGC_PUNCTUATOR) {
        return false;
    }
    switch (before->word) {
    case IGC_W_CLOSE_PAREN:
    case IGC_W_CLOSE_SQUARE:
    case IGC_W_OPEN_BRACE:
    case IGC_W_CLOSE_BRACE:
    case IGC_W_SEMICOLON:
    case IGC_W_LESS:
    case IGC_W_GREATER:
    case IGC_W_SCOPE:
    case IGC_W_DOT:
    case IGC_W_ARROW:
    case IGC_W_TILDE:
    case IGC_W_AND:
        return false;
    case IGC_W_COLON:
        return is_conditional_colon(tokens, i - 1);
    default:
        return true;
    }
}

static bool is_number(const struct igc_tokens *tokens, size_t from, size_t to) {
    if (igc_word_at(tokens, from) == IGC_W_MINUS) {
        from++;
    }
    return to == from + 1 && igc_at(tokens, from)->kind == IGC_NUMBER;
}

/* `T(x)` with T at i. */
static void functional_cast(struct igc_rewriter *rewriter, size_t i) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t close;
    if (!igc_closes(tokens, i + 1, &close) || close == i + 2 || !starts_operand(tokens, i) ||
        igc_list_item_end(tokens, i + 2, close) != close || is_number(tokens, i + 2, close)) {
        return;
    }
    enum igc_word last = igc_word_at(tokens, close - 1);
    if (last == IGC_W_STAR || last == IGC_W_AMPERSAND || last == IGC_W_ELLIPSIS) {
        return;
    }
    if (igc_word_at(tokens, i + 2) == IGC_W_STAR &&
        igc_word_at(tokens, close + 1) == IGC_W_OPEN_PAREN) {
        return; /* `T (*f)(A)`: a pointer to a function */
    }
    igc_before(rewriter, i, "__ingot_c_cast<");
    igc_after(rewriter, i, ">");
}

/* Past the operand of a cast at i: unary operators, a name, literal or parenthesis, and
 * what follows it closely. i itself when it is not clear. */
static size_t operand_end(const struct igc_tokens *tokens, size_t i, bool sure) {
    size_t p = i, close, after;
    while (sure && (igc_word_at(tokens, p) == IGC_W_MINUS || igc_word_at(tokens, p) == IGC_W_STAR ||
                    igc_word_at(tokens, p) == IGC_W_TILDE)) {
        p++;
    }
    const struct igc_token *first = igc_at(tokens, p);
    if (first->word == IGC_W_OPEN_PAREN) {
        if (!igc_closes(tokens, p, &close)) {
            return i;
        }
        p = close + 1;
        const struct igc_token *next = igc_at(tokens, p);
        if (next->kind == IGC_IDENTIFIER || next->kind == IGC_NUMBER) {
            return i; /* another cast */
        }
    } else if (first->kind == IGC_IDENTIFIER) {
        p++;
    } else {
        return i;
    }
    for (;;) {
        switch (igc_word_at(tokens, p)) {
        case IGC_W_SCOPE:
        case IGC_W_DOT:
        case IGC_W_ARROW:
            if (igc_at(tokens, p + 1)->kind != IGC_IDENTIFIER) {
                return i;
            }
            p += 2;
            continue;
        case IGC_W_OPEN_PAREN:
        case IGC_W_OPEN_SQUARE:
            if (!igc_closes(tokens, p, &close)) {
                return i;
            }
            p = close + 1;
            continue;
        case IGC_W_LESS: /* f<T>(x), not a < b */
            after = igc_angles_end(tokens, p);
            if (after > p && igc_word_at(tokens, after) == IGC_W_OPEN_PAREN) {
                p = after;
                continue;
            }
            return p;
        default:
            return p;
        }
    }
}

/* `(T)x` with the parenthesis at i. */
static void c_cast(struct igc_rewriter *rewriter, size_t i) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    const struct igc_token *before = igc_at(tokens, i - 1);
    if (i > 0 && before->kind == IGC_IDENTIFIER && before->word != IGC_W_RETURN) {
        return; /* a call, or sizeof(T) */
    }
    if (i > 0 && (before->word == IGC_W_GREATER || before->word == IGC_W_CLOSE_PAREN ||
                  before->word == IGC_W_CLOSE_SQUARE)) {
        return;
    }
    bool sure = igc_is(igc_at(tokens, i + 1), "half") || igc_is(igc_at(tokens, i + 1), "bfloat");
    size_t end = operand_end(tokens, i + 3, sure);
    if (end == i + 3 || rewriter->edits[end - 1].dead) {
        return;
    }
    igc_replace(rewriter, i, "__ingot_c_cast<");
    igc_replace(rewriter, i + 2, ">(");
    igc_after(rewriter, end - 1, ")");
}

void igc_rewrite_casts(struct igc_rewriter *rewriter) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    struct types types = {0};
    for (size_t i = 0; i < tokens->count; i++) {
        const struct igc_token *token = &tokens->items[i];
        if (rewriter->edits[i].dead || rewriter->edits[i].replacement) {
            continue;
        }
        if (types.count > 0 &&
            (token->word == IGC_W_CLOSE_BRACE || token->word == IGC_W_TEMPLATE)) {
            leave_templates(&types, i);
        }
        if (token->word == IGC_W_TEMPLATE && igc_word_at(tokens, i + 1) == IGC_W_LESS) {
            enter_template(tokens, i, &types);
        } else if (token->word == IGC_W_TYPEDEF || token->word == IGC_W_USING) {
            read_alias(tokens, i, &types);
        } else if (token->word == IGC_W_STATIC_CAST && igc_word_at(tokens, i + 1) == IGC_W_LESS) {
            igc_replace(rewriter, i, "__ingot_cast");
        } else if (token->kind == IGC_IDENTIFIER &&
                   igc_word_at(tokens, i + 1) == IGC_W_OPEN_PAREN &&
                   is_castable(tokens, &types, i)) {
            functional_cast(rewriter, i);
        } else if (token->word == IGC_W_OPEN_PAREN &&
                   igc_word_at(tokens, i + 2) == IGC_W_CLOSE_PAREN &&
                   is_castable(tokens, &types, i + 1)) {
            c_cast(rewriter, i);
        }
    }
}
