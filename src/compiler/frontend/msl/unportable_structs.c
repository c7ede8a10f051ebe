/*
 * Warnings of threadgroup variables that something would have to run for: Apple's compiler refuses
 * structs whose members have initial values, or whose constructor is not for threadgroup memory,
 * `S() threadgroup`.
 *
 * Requires tokens. A struct is known by its name: what a type parameter or a typedef stands for is
 * not seen, nor what the members' own structs hold. What nothing could run for at all is an error
 * (rewrite_spaces.c).
 */
#include "compiler/frontend/msl/rewriter.h"

enum { MOST_STRUCTS = 256 };

struct found {
    bool runs;            /* an initial value, a default constructor or a destructor */
    bool for_threadgroup; /* a constructor for such memory */
};

/* Past the member that starts at i, and its `{` or `;`. */
static size_t member_end(const struct igc_tokens *tokens, size_t i, size_t close, size_t *stop) {
    size_t end;
    while (i < close && igc_word_at(tokens, i) != IGC_W_SEMICOLON &&
           igc_word_at(tokens, i) != IGC_W_OPEN_BRACE) {
        i++;
    }
    *stop = i;
    return igc_closes(tokens, i, &end) ? end + 1 : i + 1;
}

/* `S()` or `~S()` at i, with what stands behind it up to `stop`. */
static void read_special(const struct igc_tokens *tokens, size_t i, size_t stop,
                         struct found *found) {
    for (size_t p = i; p < stop; p++) {
        found->for_threadgroup |= igc_word_at(tokens, p) == IGC_W_THREADGROUP;
        if (igc_word_at(tokens, p) == IGC_W_DEFAULT || igc_word_at(tokens, p) == IGC_W_DELETE) {
            return;
        }
    }
    found->runs = true;
}

static void read_member(const struct igc_tokens *tokens, size_t name, size_t from, size_t stop,
                        struct found *found) {
    for (size_t i = from; i < stop; i++) {
        switch (igc_word_at(tokens, i)) {
        case IGC_W_STATIC:
        case IGC_W_USING:
        case IGC_W_TYPEDEF:
        case IGC_W_ENUM:
        case IGC_W_TEMPLATE:
            return;
        case IGC_W_OPEN_PAREN:
            if (igc_word_at(tokens, i + 1) == IGC_W_CLOSE_PAREN && i > from &&
                igc_same_text(tokens, i - 1, name)) {
                read_special(tokens, i, stop, found);
            }
            return; /* a function */
        case IGC_W_ASSIGN:
            found->runs = true;
            return;
        default:
            break;
        }
    }
}

static bool is_refused(const struct igc_tokens *tokens, size_t name, size_t open, size_t close) {
    struct found found = {0};
    for (size_t i = open + 1; i < close;) {
        size_t stop, end = member_end(tokens, i, close, &stop);
        read_member(tokens, name, i, stop, &found);
        i = end;
    }
    return found.runs && !found.for_threadgroup;
}

static size_t find_refused(const struct igc_tokens *tokens, size_t names[MOST_STRUCTS]) {
    size_t count = 0;
    for (size_t i = 0; i + 2 < tokens->count && count < MOST_STRUCTS; i++) {
        enum igc_word word = igc_word_at(tokens, i);
        size_t open = i + 2, close;
        if ((word != IGC_W_STRUCT && word != IGC_W_CLASS) ||
            igc_at(tokens, i + 1)->kind != IGC_IDENTIFIER) {
            continue;
        }
        while (open < i + 32 && igc_word_at(tokens, open) != IGC_W_OPEN_BRACE &&
               igc_word_at(tokens, open) != IGC_W_SEMICOLON &&
               igc_word_at(tokens, open) != IGC_W_OPEN_PAREN) {
            open++;
        }
        if (igc_word_at(tokens, open) == IGC_W_OPEN_BRACE && igc_closes(tokens, open, &close) &&
            is_refused(tokens, i + 1, open, close)) {
            names[count++] = i + 1;
        }
    }
    return count;
}

/* `threadgroup S x;`, `threadgroup S<T> x[4];` at i: a variable, no pointer? */
static bool is_variable(const struct igc_tokens *tokens, size_t i) {
    size_t name = i + 2;
    if (igc_word_at(tokens, name) == IGC_W_LESS) {
        name = igc_angles_end(tokens, name);
    }
    enum igc_word after = igc_word_at(tokens, name + 1);
    return igc_at(tokens, name)->kind == IGC_IDENTIFIER &&
           (after == IGC_W_SEMICOLON || after == IGC_W_OPEN_SQUARE || after == IGC_W_COMMA);
}

void igc_warn_structs(const struct igc_rewriter *rewriter, struct ig_text *out) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t names[MOST_STRUCTS], count = find_refused(tokens, names);
    for (size_t i = 0; count && i < tokens->count; i++) {
        if (igc_word_at(tokens, i) != IGC_W_THREADGROUP || !is_variable(tokens, i)) {
            continue;
        }
        for (size_t k = 0; k < count; k++) {
            if (igc_same_text(tokens, i + 1, names[k])) {
                igc_warn_at(rewriter, i + 1,
                            "Apple's compiler takes no threadgroup variable of a struct whose "
                            "members have initial values, or whose constructor is not for "
                            "threadgroup memory",
                            out);
                break;
            }
        }
    }
}
