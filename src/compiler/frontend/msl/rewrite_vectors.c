/*
 * Vector types that a program makes by clang's attribute.
 *
 * `typedef half half8 __attribute__((ext_vector_type(8)));` becomes
 * `typedef ::metal::vec<half , 8> half8;`, and so do the other places where the attribute may stand
 * and `using half8 = …;`. In Metal these are the types that vec<> names, and a cast from one to
 * another converts the components, which in plain C++ it would not.
 */
#include "compiler/frontend/msl/rewriter.h"

struct attribute {
    size_t start, end;     /* from __attribute__ on, past its last parenthesis */
    size_t size, size_end; /* how many components */
};

/* __attribute__((ext_vector_type(N))) at i, with nothing else in it. */
static bool read_attribute(const struct igc_tokens *tokens, size_t i, struct attribute *found) {
    size_t outer, inner, close;
    if (igc_word_at(tokens, i) != IGC_W_ATTRIBUTE || !igc_closes(tokens, i + 1, &outer) ||
        !igc_closes(tokens, i + 2, &inner) || inner + 1 != outer) {
        return false;
    }
    const struct igc_token *name = igc_at(tokens, i + 3);
    if ((!igc_is(name, "ext_vector_type") && !igc_is(name, "__ext_vector_type__")) ||
        !igc_closes(tokens, i + 4, &close) || close + 1 != inner) {
        return false;
    }
    *found = (struct attribute){i, outer + 1, i + 5, close};
    return found->size < found->size_end;
}

/* [*from, *to) without the attribute at one of its ends. */
static void strip(const struct attribute *attribute, size_t *from, size_t *to) {
    if (attribute->end == *to) {
        *to = attribute->start;
    }
    if (attribute->start == *from) {
        *from = attribute->end;
    }
}

/* The tokens [*from, *to) of the type that the attribute makes a vector of. */
static bool find_type(const struct igc_tokens *tokens, const struct attribute *attribute,
                      size_t *from, size_t *to) {
    size_t start = igc_declaration_start(tokens, attribute->start), end = attribute->end;
    while (igc_word_at(tokens, start) == IGC_W_TEMPLATE) {
        size_t past = igc_angles_end(tokens, start + 1);
        if (past == start + 1) {
            return false;
        }
        start = past;
    }
    while (end < tokens->count && igc_word_at(tokens, end) != IGC_W_SEMICOLON &&
           igc_at(tokens, end)->kind == IGC_IDENTIFIER) {
        end++;
    }
    if (igc_word_at(tokens, end) != IGC_W_SEMICOLON) {
        return false;
    }
    bool is_typedef = igc_word_at(tokens, start) == IGC_W_TYPEDEF;
    if (!is_typedef && (igc_word_at(tokens, start) != IGC_W_USING ||
                        igc_word_at(tokens, start + 2) != IGC_W_ASSIGN)) {
        return false;
    }
    *from = start + (is_typedef ? 1 : 3);
    *to = end;
    strip(attribute, from, to);
    if (is_typedef) { /* the name stands last */
        if (*to <= *from || igc_at(tokens, *to - 1)->kind != IGC_IDENTIFIER) {
            return false;
        }
        --*to;
        strip(attribute, from, to);
    }
    return *from < *to && (attribute->end <= *from || attribute->start >= *to);
}

void igc_rewrite_vectors(struct igc_rewriter *rewriter) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    struct attribute attribute;
    for (size_t i = 0; i < tokens->count; i++) {
        size_t from, to;
        if (rewriter->edits[i].dead || !read_attribute(tokens, i, &attribute) ||
            !find_type(tokens, &attribute, &from, &to)) {
            continue;
        }
        const char *size = igc_spelling(rewriter, attribute.size, attribute.size_end);
        igc_before(rewriter, from, "::metal::vec<");
        igc_after(rewriter, to - 1, ig_arena_printf(rewriter->arena, ", %s>", size ? size : ""));
        igc_kill(rewriter, attribute.start, attribute.end);
    }
}
