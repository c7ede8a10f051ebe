/*
 * Address spaces: device, threadgroup, constant and thread become what clang calls them.
 *
 * Requires the kernel, constant and member passes (dead tokens are left alone). Also turns
 * threadgroup variables in function bodies into statics, array parameters in an address
 * space into pointers, `constant char *` (what string literals are in Metal) into plain
 * `const char *` outside kernel parameters, and drops `coherent(…)` and the attributes
 * that mean nothing to clang.
 */
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

/* Attributes that clang knows, or that do no harm. */
static const char *const kept_attributes[] = {
    "maybe_unused", "nodiscard", "fallthrough", "likely",
    "unlikely",     "noreturn",  "deprecated",  "no_unique_address",
};

const char *igc_space_text(enum igc_word word) {
    switch (word) {
    case IGC_W_DEVICE:
        return "__attribute__((opencl_global))";
    case IGC_W_THREADGROUP:
        return "__attribute__((opencl_local))";
    case IGC_W_CONSTANT:
        return "const __attribute__((opencl_global_host))";
    default:
        return "";
    }
}

static bool is_edited(const struct igc_rewriter *rewriter, size_t i) {
    return rewriter->edits[i].dead || rewriter->edits[i].replacement;
}

/* First token of the qualifiers that i stands in: const, volatile, alignas(…). */
static size_t qualifiers_start(const struct igc_tokens *tokens, size_t i) {
    while (i > 0) {
        const struct igc_token *before = igc_at(tokens, i - 1);
        if (before->word == IGC_W_CONST || before->word == IGC_W_VOLATILE) {
            i--;
        } else if (before->word == IGC_W_CLOSE_PAREN && before->match < i - 1 &&
                   before->match > 0 && igc_word_at(tokens, before->match - 1) == IGC_W_ALIGNAS) {
            i = before->match - 1;
        } else {
            break;
        }
    }
    return i;
}

/* Past the type and name that start at i: the token that ends the declarator, skipping
 * template arguments. */
static size_t declarator_stop(const struct igc_tokens *tokens, size_t i) {
    for (size_t steps = 0; i < tokens->count && steps < 256; steps++) {
        size_t after, close;
        switch (igc_word_at(tokens, i)) {
        case IGC_W_STRUCT: /* struct { … } x */
        case IGC_W_UNION:
            if (igc_word_at(tokens, i + 1) == IGC_W_OPEN_BRACE &&
                igc_closes(tokens, i + 1, &close)) {
                i = close;
            }
            break;
        case IGC_W_LESS:
            after = igc_angles_end(tokens, i);
            if (after == i) {
                return i;
            }
            i = after;
            continue;
        case IGC_W_STAR:
        case IGC_W_AMPERSAND:
        case IGC_W_AND:
        case IGC_W_OPEN_PAREN:
        case IGC_W_CLOSE_PAREN:
        case IGC_W_OPEN_SQUARE:
        case IGC_W_OPEN_BRACE:
        case IGC_W_CLOSE_BRACE:
        case IGC_W_COMMA:
        case IGC_W_SEMICOLON:
        case IGC_W_ASSIGN:
        case IGC_W_GREATER:
            return i;
        case IGC_W_ALIGNAS:
        case IGC_W_DECLTYPE:
            if (igc_closes(tokens, i + 1, &after)) {
                i = after;
            }
            break;
        default:
            break;
        }
        i++;
    }
    return tokens->count;
}

/* `device T *threadgroup x`, with the space at i: where the statement that declares x starts;
 * IGC_NO_TOKEN when it is none, or another variable comes first in it. */
static size_t pointer_statement(const struct igc_tokens *tokens, size_t i) {
    size_t start = igc_declaration_start(tokens, i);
    enum igc_word before = igc_word_at(tokens, start - 1);
    if (start > 0 && (before == IGC_W_OPEN_PAREN || before == IGC_W_OPEN_SQUARE)) {
        return IGC_NO_TOKEN;
    }
    for (size_t p = start; p < i; p++) {
        enum igc_word word = igc_word_at(tokens, p);
        size_t after = word == IGC_W_LESS ? igc_angles_end(tokens, p) : p;
        if (after > p) {
            p = after - 1;
        } else if (word == IGC_W_COMMA || word == IGC_W_ASSIGN || word == IGC_W_OPEN_PAREN ||
                   word == IGC_W_USING || word == IGC_W_TYPEDEF) {
            return IGC_NO_TOKEN;
        }
    }
    return start;
}

/* Behind the statement with the variable's name: that nothing has to run when it comes to be. */
static void assert_plain(struct igc_rewriter *rewriter, size_t name) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t end = name, close;
    while (end < tokens->count && igc_word_at(tokens, end) != IGC_W_SEMICOLON) {
        end = igc_closes(tokens, end, &close) ? close + 1 : end + 1;
    }
    if (end < tokens->count && igc_at(tokens, name)->kind == IGC_IDENTIFIER) {
        igc_after(
            rewriter, end,
            ig_arena_printf(rewriter->arena,
                            " static_assert(::__ingot_is_plain<decltype(%s)>, \"a variable in "
                            "threadgroup memory has no constructor, and its members have no "
                            "initial values\");",
                            igc_spelling(rewriter, name, name + 1)));
    }
}

/* `threadgroup T x[N], y;` and `device T *threadgroup x` as statements become static; an initial
 * value is assigned by every thread. */
static void make_static(struct igc_rewriter *rewriter, size_t i) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t pointed = qualifiers_start(tokens, i), start = i;
    bool is_pointer = pointed > 0 && igc_word_at(tokens, pointed - 1) == IGC_W_STAR;
    if (is_pointer) {
        start = pointer_statement(tokens, i);
        if (start == IGC_NO_TOKEN) {
            return;
        }
    }
    size_t first = qualifiers_start(tokens, i);
    enum igc_word before = igc_word_at(tokens, first - 1);
    bool statement = is_pointer || first == 0 || before == IGC_W_SEMICOLON ||
                     before == IGC_W_OPEN_BRACE || before == IGC_W_CLOSE_BRACE ||
                     before == IGC_W_COLON || igc_at(tokens, first - 1)->kind == IGC_DIRECTIVE;
    if (!statement) {
        return;
    }
    size_t at = declarator_stop(tokens, i + 1);
    enum igc_word stop = igc_word_at(tokens, at);
    if (stop == IGC_W_ASSIGN && at > i + (is_pointer ? 1 : 2) &&
        igc_at(tokens, at - 1)->kind == IGC_IDENTIFIER) {
        const char *name = igc_spelling(rewriter, at - 1, at);
        igc_replace(rewriter, at, ig_arena_printf(rewriter->arena, "; %s =", name));
        stop = IGC_W_SEMICOLON;
    }
    if (stop == IGC_W_OPEN_SQUARE || stop == IGC_W_SEMICOLON || stop == IGC_W_COMMA) {
        igc_before(rewriter, start, "static ");
        if (!is_pointer) {
            assert_plain(rewriter, at - 1);
        }
    }
}

/* `device T x[N]` as a parameter becomes `device T *x`; `T x[A][B]` becomes `T (*x)[B]`. */
static void make_pointer(struct igc_rewriter *rewriter, size_t i) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t first = qualifiers_start(tokens, i), close;
    enum igc_word before = igc_word_at(tokens, first - 1);
    bool attribute = before == IGC_W_CLOSE_SQUARE && rewriter->edits[first - 1].dead;
    if (first == 0 || (before != IGC_W_OPEN_PAREN && before != IGC_W_COMMA && !attribute)) {
        return;
    }
    size_t bound = declarator_stop(tokens, i + 1);
    if (igc_word_at(tokens, bound) != IGC_W_OPEN_SQUARE ||
        igc_at(tokens, bound - 1)->kind != IGC_IDENTIFIER || bound - 1 <= i ||
        igc_attribute_end(tokens, bound) > bound || !igc_closes(tokens, bound, &close)) {
        return;
    }
    size_t after = close + 1;
    enum igc_word next = igc_word_at(tokens, after);
    bool is_attribute = igc_attribute_end(tokens, after) > after;
    if (next == IGC_W_OPEN_SQUARE && !is_attribute) {
        igc_before(rewriter, bound - 1, "(*");
        igc_kill(rewriter, bound, after);
        igc_replace(rewriter, bound, ")");
    } else if (next == IGC_W_COMMA || next == IGC_W_CLOSE_PAREN || is_attribute) {
        igc_before(rewriter, bound - 1, "*");
        igc_kill(rewriter, bound, after);
    }
}

static bool in_kernel_parameters(const struct igc_rewriter *rewriter, size_t i) {
    size_t low = 0, high = rewriter->kernel_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rewriter->kernels[middle].start <= i) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return false;
    }
    const struct igc_kernel *kernel = &rewriter->kernels[low - 1];
    return kernel->open != IGC_NO_TOKEN && i > kernel->open && i < kernel->close;
}

/* `constant char *`, with or without const, not in a cast's angle brackets. */
static bool is_string_pointer(const struct igc_rewriter *rewriter, size_t i) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t p = i + 1;
    if (igc_word_at(tokens, i) != IGC_W_CONSTANT || igc_word_at(tokens, i - 1) == IGC_W_LESS) {
        return false;
    }
    while (igc_word_at(tokens, p) == IGC_W_CONST) {
        p++;
    }
    return igc_word_at(tokens, p) == IGC_W_CHAR && igc_word_at(tokens, p + 1) == IGC_W_STAR &&
           !in_kernel_parameters(rewriter, i);
}

static void drop_attribute(struct igc_rewriter *rewriter, size_t i, size_t end) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    bool keep = igc_word_at(tokens, i + 3) == IGC_W_SCOPE;
    for (size_t k = 0; k < sizeof kept_attributes / sizeof *kept_attributes; k++) {
        keep |= igc_is(igc_at(tokens, i + 2), kept_attributes[k]);
    }
    if (!keep) {
        igc_kill(rewriter, i, end);
    }
}

static void drop_coherent(struct igc_rewriter *rewriter, size_t i) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t close;
    if (igc_word_at(tokens, i + 1) == IGC_W_OPEN_PAREN && igc_closes(tokens, i + 1, &close) &&
        close == i + 3) {
        igc_kill(rewriter, i, close + 1);
    } else if (igc_is_space_word(igc_word_at(tokens, i + 1))) {
        igc_kill(rewriter, i, i + 1);
    }
}

void igc_rewrite_spaces(struct igc_rewriter *rewriter) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t i = 0; i < tokens->count; i++) {
        enum igc_word word = igc_word_at(tokens, i);
        if (word == IGC_W_NONE || is_edited(rewriter, i)) {
            continue;
        }
        if (word == IGC_W_OPEN_SQUARE) {
            size_t end = igc_attribute_end(tokens, i);
            if (end > i) {
                drop_attribute(rewriter, i, end);
                i = end - 1;
            }
            continue;
        }
        if (word == IGC_W_COHERENT) {
            drop_coherent(rewriter, i);
            continue;
        }
        if (!igc_is_space_word(word)) {
            continue;
        }
        enum igc_word before = igc_word_at(tokens, i - 1);
        bool result = before == IGC_W_ARROW && igc_at(tokens, i + 1)->kind == IGC_IDENTIFIER;
        if (before == IGC_W_DOT || before == IGC_W_SCOPE || (before == IGC_W_ARROW && !result)) {
            continue; /* a member; but `-> device T &` is a result's type */
        }
        if (word == IGC_W_THREADGROUP) {
            make_static(rewriter, i);
        }
        if (word != IGC_W_THREAD) {
            make_pointer(rewriter, i);
        }
        igc_replace(rewriter, i, is_string_pointer(rewriter, i) ? "const" : igc_space_text(word));
    }
}
