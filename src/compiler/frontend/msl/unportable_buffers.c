/*
 * Warnings of buffers whose structs hold pointers or references to threadgroup or thread memory,
 * which Apple's compiler refuses.
 *
 * Requires the kernels and tokens. A struct is known by its name; it holds what its members by
 * value hold. What a pointer member points to is not looked at, nor names that typedef has given.
 */
#include "compiler/frontend/msl/rewriter.h"

enum { MOST_HOLDERS = 256 };

struct holders {
    const struct igc_rewriter *rewriter;
    size_t names[MOST_HOLDERS]; /* of structs that hold such a pointer */
    size_t count;
};

static bool is_holder(const struct holders *holders, size_t i) {
    for (size_t k = 0; k < holders->count; k++) {
        if (igc_same_text(&holders->rewriter->tokens, i, holders->names[k])) {
            return true;
        }
    }
    return false;
}

/* The member in [from, to), which is no function: does it hold one? */
static bool member_holds(const struct holders *holders, size_t from, size_t to) {
    const struct igc_tokens *tokens = &holders->rewriter->tokens;
    bool local = false, by_value = true, named = false;
    for (size_t i = from; i < to; i++) {
        switch (igc_word_at(tokens, i)) {
        case IGC_W_THREADGROUP:
        case IGC_W_THREAD:
            local |= by_value; /* what is behind a pointer is the pointer's own space */
            break;
        case IGC_W_STAR:
        case IGC_W_AMPERSAND:
            by_value = false;
            break;
        case IGC_W_OPEN_PAREN:
        case IGC_W_OPEN_BRACE:
        case IGC_W_STATIC:
        case IGC_W_TYPEDEF:
        case IGC_W_USING:
            return false;
        case IGC_W_ASSIGN:
            to = i;
            break;
        default:
            named |= igc_at(tokens, i)->kind == IGC_IDENTIFIER && is_holder(holders, i);
        }
    }
    return by_value ? named : local;
}

/* The members between the braces. */
static bool record_holds(const struct holders *holders, size_t open, size_t close) {
    const struct igc_tokens *tokens = &holders->rewriter->tokens;
    for (size_t i = open + 1; i < close;) {
        size_t end = i, brace;
        while (end < close && igc_word_at(tokens, end) != IGC_W_SEMICOLON &&
               igc_word_at(tokens, end) != IGC_W_OPEN_BRACE) {
            end++;
        }
        if (igc_word_at(tokens, end) == IGC_W_OPEN_BRACE && igc_closes(tokens, end, &brace)) {
            i = brace + 1; /* a function, or a record of its own */
            continue;
        }
        if (member_holds(holders, i, end)) {
            return true;
        }
        i = end + 1;
    }
    return false;
}

static void find_holders(struct holders *holders) {
    const struct igc_tokens *tokens = &holders->rewriter->tokens;
    for (size_t i = 0; i + 2 < tokens->count; i++) {
        enum igc_word word = igc_word_at(tokens, i);
        size_t open = i + 2, close;
        if ((word != IGC_W_STRUCT && word != IGC_W_CLASS && word != IGC_W_UNION) ||
            igc_at(tokens, i + 1)->kind != IGC_IDENTIFIER) {
            continue;
        }
        while (open < i + 32 && igc_word_at(tokens, open) != IGC_W_OPEN_BRACE &&
               igc_word_at(tokens, open) != IGC_W_SEMICOLON &&
               igc_word_at(tokens, open) != IGC_W_OPEN_PAREN) {
            open++;
        }
        if (igc_word_at(tokens, open) == IGC_W_OPEN_BRACE && igc_closes(tokens, open, &close) &&
            holders->count < MOST_HOLDERS && record_holds(holders, open, close)) {
            holders->names[holders->count++] = i + 1;
        }
    }
}

/* The parameter in [from, to), where it is in device or constant memory. */
static void check_parameter(const struct holders *holders, size_t from, size_t to,
                            struct ig_text *out) {
    const struct igc_tokens *tokens = &holders->rewriter->tokens;
    size_t name = IGC_NO_TOKEN;
    bool is_buffer = false;
    for (size_t i = from; i < to && igc_attribute_end(tokens, i) == i; i++) {
        enum igc_word word = igc_word_at(tokens, i);
        is_buffer |= word == IGC_W_DEVICE || word == IGC_W_CONSTANT;
        if (name == IGC_NO_TOKEN && igc_at(tokens, i)->kind == IGC_IDENTIFIER &&
            is_holder(holders, i)) {
            name = i;
        }
        if ((word == IGC_W_STAR || word == IGC_W_AMPERSAND) && is_buffer && name != IGC_NO_TOKEN) {
            igc_warn_at(holders->rewriter, name,
                        "Apple's compiler takes no buffer of structs that hold pointers or "
                        "references to threadgroup or thread memory",
                        out);
            return;
        }
    }
}

void igc_warn_buffers(const struct igc_rewriter *rewriter, struct ig_text *out) {
    struct holders holders = {.rewriter = rewriter};
    find_holders(&holders);
    for (size_t k = 0; holders.count && k < rewriter->kernel_count; k++) {
        const struct igc_kernel *kernel = &rewriter->kernels[k];
        if (kernel->open == IGC_NO_TOKEN || kernel->is_instantiation || kernel->is_graphics) {
            continue;
        }
        for (size_t p = kernel->open + 1; p < kernel->close;) {
            size_t end = igc_list_item_end(&rewriter->tokens, p, kernel->close);
            check_parameter(&holders, p, end, out);
            p = end + 1;
        }
    }
}
