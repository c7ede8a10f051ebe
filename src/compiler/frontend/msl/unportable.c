/*
 * Warnings of what Apple's compiler refuses and this one takes, so that a kernel which passes here
 * passes there too.
 *
 * Requires the kernels, with `keep` set. Only what can be told from tokens: an attribute behind a
 * kernel's parameters, positions of different widths or other types, variables outside of functions
 * without `constant`, names that are types there, and kernels of one name.
 */
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

/* [[max_total_threads_per_threadgroup(n)]] between the parameters and the body. */
static void check_attributes(const struct igc_rewriter *rewriter, const struct igc_kernel *kernel,
                             struct ig_text *out) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t i = kernel->close; i < kernel->body; i++) {
        for (size_t end = igc_attribute_end(tokens, i); i < end; i++) {
            if (igc_word_at(tokens, i) == IGC_W_MAX_THREADS) {
                igc_warn_at(rewriter, i,
                            "Apple's compiler takes [[max_total_threads_per_threadgroup]] before a "
                            "kernel only, not behind its parameters",
                            out);
            }
        }
    }
}

/* Components of a built-in type by its name: 1 for uint, 3 for ushort3; 0 for other names. */
static unsigned width_of(const struct igc_token *token) {
    static const char *const scalars[] = {"uint", "ushort", "int", "short", "uint32_t", "uint16_t"};
    static const char *const vectors[] = {"uint", "ushort", "int", "short"};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        if (igc_is(token, scalars[i])) {
            return 1;
        }
    }
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        size_t size = strlen(vectors[i]);
        if (token->size == size + 1 && !memcmp(token->text, vectors[i], size) &&
            token->text[size] >= '2' && token->text[size] <= '4') {
            return (unsigned)(token->text[size] - '0');
        }
    }
    return 0;
}

static bool is_position(const struct igc_token *token) {
    static const char *const positions[] = {
        "thread_position_in_grid",          "thread_position_in_threadgroup",
        "threadgroup_position_in_grid",     "threads_per_grid",
        "threads_per_threadgroup",          "threadgroups_per_grid",
        "dispatch_threads_per_threadgroup",
    };
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
        if (igc_is(token, positions[i])) {
            return true;
        }
    }
    return false;
}

/* An integer type that Apple's compiler does not take for a position. */
static bool is_other_integer(const struct igc_token *token) {
    static const char *const types[] = {"int",   "short", "long",   "char",
                                        "ulong", "uchar", "size_t", "bool"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t size = strlen(types[i]);
        if (token->size >= size && !memcmp(token->text, types[i], size) &&
            (token->size == size ||
             (token->size == size + 1 && token->text[size] >= '2' && token->text[size] <= '4'))) {
            return true;
        }
    }
    return false;
}

static void check_type(const struct igc_rewriter *rewriter, size_t from, size_t end,
                       struct ig_text *out) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t other = IGC_NO_TOKEN;
    for (size_t i = from; i < end; i++) {
        const struct igc_token *token = igc_at(tokens, i);
        if (igc_is(token, "unsigned")) {
            return;
        }
        if (other == IGC_NO_TOKEN && is_other_integer(token)) {
            other = i;
        }
        if (other != IGC_NO_TOKEN && igc_is_position(token)) {
            igc_warn_at(rewriter, other,
                        "Apple's compiler takes positions, indices and sizes as ushort or uint, or "
                        "vectors of them",
                        out);
            return;
        }
    }
}

/* Positions and sizes of a kernel are all scalars, or all vectors of one length. */
static void check_positions(const struct igc_rewriter *rewriter, const struct igc_kernel *kernel,
                            struct ig_text *out) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    unsigned common = 0;
    bool told = false;
    for (size_t p = kernel->open + 1; p < kernel->close;) {
        size_t end = igc_list_item_end(tokens, p, kernel->close);
        unsigned width = 0;
        bool position = false;
        check_type(rewriter, p, end, out);
        for (size_t i = p; i < end; i++) {
            width = width ? width : width_of(igc_at(tokens, i));
            position |= is_position(igc_at(tokens, i));
        }
        if (position && width) {
            if (common && width != common && !told) {
                igc_warn_at(rewriter, p,
                            "Apple's compiler wants the positions and sizes of a kernel to be all "
                            "scalars, or all vectors of one length",
                            out);
                told = true;
            }
            common = width;
        }
        p = end + 1;
    }
}

/* `constexpr int n = 4;`, `int n;` at the declaration that starts at i: its name, or IGC_NO_TOKEN
 * where it is none, or in an address space. */
static size_t plain_variable(const struct igc_tokens *tokens, size_t i) {
    unsigned names = 0;
    size_t last = IGC_NO_TOKEN;
    for (;; i++) {
        const struct igc_token *token = igc_at(tokens, i);
        switch (token->word) {
        case IGC_W_CONST:
        case IGC_W_CONSTEXPR:
        case IGC_W_STATIC:
        case IGC_W_INLINE:
        case IGC_W_VOLATILE:
        case IGC_W_SCOPE:
            break;
        case IGC_W_LESS: {
            size_t after = igc_angles_end(tokens, i);
            if (after == i) {
                return IGC_NO_TOKEN;
            }
            i = after - 1;
            break;
        }
        case IGC_W_ASSIGN:
        case IGC_W_OPEN_SQUARE:
        case IGC_W_SEMICOLON:
        case IGC_W_OPEN_BRACE:
            return names > 1 && igc_attribute_end(tokens, i) == i ? last : IGC_NO_TOKEN;
        default:
            if (token->kind != IGC_IDENTIFIER ||
                (token->word != IGC_W_NONE && token->word != IGC_W_CHAR)) {
                return IGC_NO_TOKEN;
            }
            last = i;
            names++;
        }
    }
}

/* `device float x;`, `threadgroup int n[4];`, and `device float *p;`, whose own space comes behind
 * the star: the name of the variable that is declared at i, or IGC_NO_TOKEN. */
static size_t memory_variable(const struct igc_tokens *tokens, size_t i) {
    bool in_memory = false, is_constant = false;
    for (size_t last = IGC_NO_TOKEN;; i++) {
        const struct igc_token *token = igc_at(tokens, i);
        switch (token->word) {
        case IGC_W_DEVICE:
        case IGC_W_THREADGROUP:
        case IGC_W_THREAD:
            in_memory = true;
            break;
        case IGC_W_CONSTANT:
            is_constant = true;
            break;
        case IGC_W_STAR:
            is_constant = false;
            in_memory = true;
            break;
        case IGC_W_TYPEDEF:
            return IGC_NO_TOKEN;
        case IGC_W_CONST:
        case IGC_W_STATIC:
        case IGC_W_VOLATILE:
        case IGC_W_CHAR:
        case IGC_W_SCOPE:
        case IGC_W_NONE:
            if (token->kind == IGC_IDENTIFIER) {
                last = i;
            }
            break;
        case IGC_W_ASSIGN:
        case IGC_W_OPEN_SQUARE:
        case IGC_W_SEMICOLON:
            return in_memory && !is_constant && igc_attribute_end(tokens, i) == i ? last
                                                                                  : IGC_NO_TOKEN;
        default:
            return IGC_NO_TOKEN;
        }
        if (token->kind != IGC_IDENTIFIER && token->word != IGC_W_SCOPE &&
            token->word != IGC_W_STAR) {
            return IGC_NO_TOKEN;
        }
    }
}

static bool opens_namespace(const struct igc_tokens *tokens, size_t brace) {
    size_t start = igc_declaration_start(tokens, brace);
    return igc_is(igc_at(tokens, start), "namespace") ||
           (igc_is(igc_at(tokens, start), "inline") &&
            igc_is(igc_at(tokens, start + 1), "namespace"));
}

/* Declarations outside of functions and classes. */
static void check_program_scope(const struct igc_rewriter *rewriter, struct ig_text *out) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t i = 0; i < tokens->count;) {
        enum igc_word word = igc_word_at(tokens, i);
        if (igc_at(tokens, i)->kind == IGC_DIRECTIVE || word == IGC_W_SEMICOLON ||
            word == IGC_W_CLOSE_BRACE) {
            i++;
            continue;
        }
        size_t brace = i;
        while (brace < tokens->count && brace < i + 4 &&
               igc_word_at(tokens, brace) != IGC_W_OPEN_BRACE) {
            brace++;
        }
        if (igc_word_at(tokens, brace) == IGC_W_OPEN_BRACE && opens_namespace(tokens, brace)) {
            i = brace + 1;
            continue;
        }
        size_t name = plain_variable(tokens, i);
        name = name == IGC_NO_TOKEN ? memory_variable(tokens, i) : name;
        if (name != IGC_NO_TOKEN) {
            igc_warn_at(
                rewriter, name,
                "Apple's compiler wants a variable outside of functions to be in the constant "
                "address space: constant, or constexpr constant",
                out);
        }
        size_t end = igc_declaration_end(tokens, i);
        i = end > i ? end : i + 1;
    }
}

/* Static members and variables: in the constant address space too. */
static void check_statics(const struct igc_rewriter *rewriter, struct ig_text *out) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t inside = 0, close; /* a class or function that ends there */
    for (size_t i = 0; i < tokens->count; i++) {
        enum igc_word word = igc_word_at(tokens, i);
        if (word == IGC_W_OPEN_BRACE && i >= inside && !opens_namespace(tokens, i) &&
            igc_closes(tokens, i, &close)) {
            inside = close;
        }
        if (word != IGC_W_STATIC || i >= inside) {
            continue;
        }
        size_t name = plain_variable(tokens, igc_declaration_start(tokens, i));
        if (name != IGC_NO_TOKEN) {
            igc_warn_at(rewriter, name,
                        "Apple's compiler wants a static variable to be in the constant address "
                        "space: static constant, or static constexpr constant",
                        out);
        }
    }
}

/* Integers that Metal's specification leaves out. */
static void check_long_long(const struct igc_rewriter *rewriter, struct ig_text *out) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t i = 0; i + 1 < tokens->count; i++) {
        if (igc_is(igc_at(tokens, i), "long") && igc_is(igc_at(tokens, i + 1), "long")) {
            igc_warn_at(rewriter, i++,
                        "Apple's compiler has no long long; long has 64 bits there too", out);
        }
    }
}

/* `uint half = …`: half is a type there, not a name that can be hidden; kernel is a keyword. */
static void check_names(const struct igc_rewriter *rewriter, struct ig_text *out) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t i = 1; i + 1 < tokens->count; i++) {
        enum igc_word word = igc_word_at(tokens, i);
        bool is_type = igc_is(igc_at(tokens, i), "half");
        bool is_keyword = word == IGC_W_KERNEL || word == IGC_W_VERTEX || word == IGC_W_FRAGMENT;
        if ((!is_type && !is_keyword) || !width_of(igc_at(tokens, i - 1))) {
            continue;
        }
        enum igc_word next = igc_word_at(tokens, i + 1);
        if (next == IGC_W_ASSIGN || next == IGC_W_SEMICOLON || next == IGC_W_COMMA ||
            next == IGC_W_CLOSE_PAREN || next == IGC_W_OPEN_SQUARE) {
            igc_warn_at(rewriter, i,
                        is_type
                            ? "Apple's compiler takes half as a type, not as the name of a variable"
                            : "Apple's compiler takes this word as a keyword, not as the name of a "
                              "variable",
                        out);
        }
    }
}

void igc_warn_unportable(const struct igc_rewriter *rewriter, struct ig_text *out) {
    bool first = true, whole_file = false; /* told once: with the first kernel of the file */
    for (size_t k = 0; k < rewriter->kernel_count; k++) {
        const struct igc_kernel *kernel = &rewriter->kernels[k];
        whole_file |= first && kernel->keep;
        first &= !kernel->host_name || kernel->is_graphics;
        if (kernel->keep && kernel->is_again) {
            igc_warn_at(rewriter, kernel->name,
                        "another kernel before this one has its name, and is the one that runs; "
                        "Apple's compiler wants different names",
                        out);
        }
        if (kernel->keep && igc_is(igc_at(&rewriter->tokens, kernel->name), "main")) {
            igc_warn_at(rewriter, kernel->name, "Apple's compiler takes no kernel of the name main",
                        out);
        }
        if (!kernel->keep || kernel->open == IGC_NO_TOKEN || kernel->body == IGC_NO_TOKEN) {
            continue;
        }
        check_attributes(rewriter, kernel, out);
        check_positions(rewriter, kernel, out);
    }
    if (whole_file) {
        check_program_scope(rewriter, out);
        check_names(rewriter, out);
        check_statics(rewriter, out);
        check_long_long(rewriter, out);
        igc_warn_spaces(rewriter, out);
        igc_warn_scopes(rewriter, out);
        igc_warn_words(rewriter, out);
        igc_warn_buffers(rewriter, out);
        igc_warn_structs(rewriter, out);
    }
}
