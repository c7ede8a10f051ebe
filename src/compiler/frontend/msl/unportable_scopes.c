/*
 * Warnings of declarations that Apple's compiler refuses where they stand: threadgroup variables
 * outside of kernels, variables declared with their struct outside of functions, function constants
 * inside of functions, kernels that are static or members; and of pointers and references to a
 * vector's component.
 *
 * Requires the kernels and tokens. Scopes are told by braces. A vector is known by its declaration
 * a little before, with the name of its type: what `auto` or a parameter of a template makes one is
 * not seen.
 */
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

enum scope { PROGRAM, RECORD, FUNCTION, KERNEL };
enum { MOST_SCOPES = 64, LOOK_BACK = 4096 };

struct opened {
    size_t close;
    enum scope scope;
    bool is_instance_of; /* a struct outside of functions, which may have a variable behind it */
};

struct walk {
    const struct igc_rewriter *rewriter;
    struct opened stack[MOST_SCOPES];
    size_t depth; /* what is deeper than there is room for counts as the last one */
};

static struct opened *top(struct walk *walk) {
    return walk->depth ? &walk->stack[walk->depth - 1] : NULL;
}

static enum scope scope_of(struct walk *walk) {
    return top(walk) ? top(walk)->scope : PROGRAM;
}

static bool is_kernels_body(const struct igc_rewriter *rewriter, size_t brace) {
    size_t low = 0, high = rewriter->kernel_count; /* in the order of the source */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rewriter->kernels[middle].start <= brace) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (size_t k = low; k > 0 && k + 8 > low; k--) {
        if (rewriter->kernels[k - 1].body == brace) {
            return true;
        }
    }
    return false;
}

/* `[…] {` or `[…](…) {`, with what may stand between. */
static bool opens_lambda(const struct igc_tokens *tokens, size_t brace) {
    size_t p = brace - 1;
    if (igc_word_at(tokens, p) == IGC_W_CLOSE_PAREN && igc_at(tokens, p)->match > 0) {
        p = igc_at(tokens, p)->match - 1;
    }
    size_t open = igc_at(tokens, p)->match;
    return igc_word_at(tokens, p) == IGC_W_CLOSE_SQUARE && open < p && open > 0 &&
           igc_at(tokens, open - 1)->kind != IGC_IDENTIFIER &&
           igc_word_at(tokens, open - 1) != IGC_W_CLOSE_SQUARE &&
           igc_word_at(tokens, open - 1) != IGC_W_CLOSE_PAREN &&
           igc_attribute_end(tokens, open) == open;
}

/* What the brace at i opens. */
static struct opened classify(struct walk *walk, size_t i, size_t close) {
    const struct igc_tokens *tokens = &walk->rewriter->tokens;
    struct opened opened = {.close = close, .scope = scope_of(walk)};
    if (is_kernels_body(walk->rewriter, i)) {
        opened.scope = KERNEL;
        return opened;
    }
    if (opened.scope == KERNEL && opens_lambda(tokens, i)) {
        opened.scope = FUNCTION;
        return opened;
    }
    bool is_outside = opened.scope == PROGRAM || opened.scope == RECORD;
    bool is_record = false, is_namespace = false, is_named = false;
    for (size_t p = igc_declaration_start(tokens, i); p < i; p++) {
        switch (igc_word_at(tokens, p)) {
        case IGC_W_STRUCT:
        case IGC_W_CLASS:
        case IGC_W_UNION:
        case IGC_W_ENUM:
            is_record = true;
            break;
        case IGC_W_NAMESPACE:
        case IGC_W_EXTERN:
            is_namespace = true;
            break;
        case IGC_W_LESS: { /* template <class T> is no class */
            size_t end = igc_angles_end(tokens, p);
            p = end > p ? end - 1 : p;
            break;
        }
        case IGC_W_OPEN_PAREN:
            if (igc_word_at(tokens, p - 1) != IGC_W_ATTRIBUTE &&
                igc_word_at(tokens, p - 1) != IGC_W_ALIGNAS) {
                is_record = false; /* a function that returns one */
                p = i;
                break;
            }
            if (igc_closes(tokens, p, &close)) {
                p = close;
            }
            break;
        case IGC_W_TYPEDEF:
        case IGC_W_CONSTANT:
            is_named = true;
            break;
        default:
            break;
        }
    }
    if (is_record) {
        opened.is_instance_of = opened.scope == PROGRAM && !is_named;
        opened.scope = RECORD;
    } else if (is_outside && !is_namespace) {
        opened.scope = FUNCTION;
    }
    return opened;
}

/* `threadgroup float tile[4];` at i: the name; or IGC_NO_TOKEN: a pointer, a reference, none. */
static size_t variable_name(const struct igc_tokens *tokens, size_t i) {
    size_t name = IGC_NO_TOKEN;
    for (;; i++) {
        const struct igc_token *token = igc_at(tokens, i);
        size_t end;
        switch (token->word) {
        case IGC_W_LESS:
            end = igc_angles_end(tokens, i);
            if (end == i) {
                return IGC_NO_TOKEN;
            }
            i = end - 1;
            break;
        case IGC_W_OPEN_SQUARE:
        case IGC_W_SEMICOLON:
        case IGC_W_ASSIGN:
        case IGC_W_COMMA:
            return name;
        case IGC_W_SCOPE:
            break;
        default:
            if (token->kind != IGC_IDENTIFIER) {
                return IGC_NO_TOKEN;
            }
            name = i;
        }
    }
}

static void check_threadgroup(struct walk *walk, size_t i, struct ig_text *out) {
    const struct igc_tokens *tokens = &walk->rewriter->tokens;
    size_t first = igc_word_at(tokens, i - 1) == IGC_W_STATIC ? i - 1 : i;
    enum igc_word before = igc_word_at(tokens, first - 1);
    enum scope scope = scope_of(walk);
    if ((scope != FUNCTION && scope != RECORD) ||
        (before != IGC_W_SEMICOLON && before != IGC_W_OPEN_BRACE && before != IGC_W_CLOSE_BRACE)) {
        return;
    }
    size_t name = variable_name(tokens, i + 1);
    if (name != IGC_NO_TOKEN) {
        igc_warn_at(walk->rewriter, name,
                    scope == RECORD
                        ? "Apple's compiler takes no member that is in threadgroup memory by itself"
                        : "Apple's compiler takes variables in threadgroup memory in kernels only: "
                          "a function is handed a pointer",
                    out);
    }
}

/* `struct s { … } all;` */
static void check_instance(struct walk *walk, size_t close, struct ig_text *out) {
    const struct igc_token *token = igc_at(&walk->rewriter->tokens, close + 1);
    if (token->kind == IGC_IDENTIFIER && token->word == IGC_W_NONE &&
        (token->size < 2 || memcmp(token->text, "__", 2) != 0)) {
        igc_warn_at(walk->rewriter, close + 1,
                    "Apple's compiler wants a variable outside of functions to be in the constant "
                    "address space: constant, or constexpr constant",
                    out);
    }
}

/* ---- components of vectors ---- */
static bool is_vector_type(const struct igc_token *token) {
    static const char *const scalars[] = {"bool", "char",  "short", "int",    "long",  "uchar",
                                          "uint", "ulong", "half",  "ushort", "float", "bfloat"};
    size_t size = token->size;
    if (token->kind != IGC_IDENTIFIER || size < 4 || token->text[size - 1] < '2' ||
        token->text[size - 1] > '4') {
        return false;
    }
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        if (strlen(scalars[i]) == size - 1 && !memcmp(scalars[i], token->text, size - 1)) {
            return true;
        }
    }
    return false;
}

/* Is the nearest declaration of the name at i one of a vector, `float4 v`, or (`through`) of a
 * pointer to one, `float4 *v`? Arrays of vectors are neither. */
static bool is_vector(const struct igc_tokens *tokens, size_t i, bool through) {
    for (size_t p = i; p > 2 && p + LOOK_BACK > i; p--) {
        const struct igc_token *before = igc_at(tokens, p - 2);
        bool is_pointer = before->word == IGC_W_STAR;
        const struct igc_token *type = is_pointer ? igc_at(tokens, p - 3) : before;
        if (igc_same_text(tokens, p - 1, i) && type->kind == IGC_IDENTIFIER &&
            type->word == IGC_W_NONE && (!is_pointer || is_vector_type(type))) {
            return is_pointer == through && is_vector_type(type) &&
                   (igc_word_at(tokens, p) != IGC_W_OPEN_SQUARE ||
                    igc_attribute_end(tokens, p) > p);
        }
    }
    return false;
}

static bool are_components(const struct igc_token *letters) {
    return letters->kind == IGC_IDENTIFIER && letters->size <= 4 &&
           (strspn(letters->text, "xyzw") >= letters->size ||
            strspn(letters->text, "rgba") >= letters->size);
}

/* `v.x`, `v.xy`, `p->x`, `p[1].x` or `v[1]` at i, and nothing behind it. */
static bool is_component(const struct igc_tokens *tokens, size_t i) {
    const struct igc_token *name = igc_at(tokens, i), *letter = igc_at(tokens, i + 2);
    enum igc_word how = igc_word_at(tokens, i + 1);
    size_t end = i + 2;
    if (name->kind != IGC_IDENTIFIER || name->word != IGC_W_NONE) {
        return false;
    }
    bool through = how == IGC_W_ARROW;
    if (how == IGC_W_OPEN_SQUARE) {
        if (!igc_closes(tokens, i + 1, &end)) {
            return false;
        }
        if (igc_word_at(tokens, end + 1) == IGC_W_DOT) { /* p[1].x */
            through = true;
            end += 2;
            if (!are_components(igc_at(tokens, end))) {
                return false;
            }
        }
    } else if ((how != IGC_W_DOT && how != IGC_W_ARROW) || !are_components(letter)) {
        return false;
    }
    enum igc_word after = igc_word_at(tokens, end + 1);
    return after != IGC_W_DOT && after != IGC_W_ARROW && after != IGC_W_OPEN_PAREN &&
           after != IGC_W_OPEN_SQUARE && is_vector(tokens, i, through);
}

static void check_ampersand(const struct igc_rewriter *rewriter, size_t i, struct ig_text *out) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    switch (igc_word_at(tokens, i - 1)) {
    case IGC_W_ASSIGN:
    case IGC_W_OPEN_PAREN:
    case IGC_W_COMMA:
    case IGC_W_RETURN:
    case IGC_W_OPEN_BRACE:
    case IGC_W_CLOSE_PAREN: /* of a cast, or it is no vector */
        if (is_component(tokens, i + 1)) {
            igc_warn_at(rewriter, i, "Apple's compiler takes no address of a vector's component",
                        out);
        }
        break;
    default: /* `thread float &r = v.x;` */
        if (igc_word_at(tokens, i + 2) == IGC_W_ASSIGN &&
            igc_word_at(tokens, i + 6) == IGC_W_SEMICOLON && is_component(tokens, i + 3)) {
            igc_warn_at(rewriter, i, "Apple's compiler takes no reference to a vector's component",
                        out);
        }
    }
}

/* ---- kernels ---- */
static void check_kernels(const struct igc_rewriter *rewriter, struct ig_text *out) {
    for (size_t k = 0; k < rewriter->kernel_count; k++) {
        const struct igc_kernel *kernel = &rewriter->kernels[k];
        for (size_t i = kernel->start; i < kernel->name; i++) {
            if (igc_word_at(&rewriter->tokens, i) == IGC_W_STATIC) {
                igc_warn_at(rewriter, i, "Apple's compiler takes no static kernel", out);
                break;
            }
        }
    }
}

static void check_token(struct walk *walk, size_t i, struct ig_text *out) {
    const struct igc_tokens *tokens = &walk->rewriter->tokens;
    enum scope scope = scope_of(walk);
    switch (igc_word_at(tokens, i)) {
    case IGC_W_THREADGROUP:
        check_threadgroup(walk, i, out);
        break;
    case IGC_W_AMPERSAND:
        check_ampersand(walk->rewriter, i, out);
        break;
    case IGC_W_KERNEL:
        if (scope == RECORD && igc_at(tokens, i + 1)->kind == IGC_IDENTIFIER) {
            igc_warn_at(walk->rewriter, i, "Apple's compiler takes no kernel that is a member",
                        out);
        }
        break;
    case IGC_W_FUNCTION_CONSTANT:
        if ((scope == FUNCTION || scope == KERNEL) &&
            igc_word_at(tokens, i - 1) == IGC_W_OPEN_SQUARE &&
            igc_word_at(tokens, i - 2) == IGC_W_OPEN_SQUARE) {
            igc_warn_at(walk->rewriter, i,
                        "Apple's compiler takes function constants outside of functions only", out);
        }
        break;
    default:
        break;
    }
}

void igc_warn_scopes(const struct igc_rewriter *rewriter, struct ig_text *out) {
    struct walk walk = {.rewriter = rewriter};
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t i = 0; i < tokens->count; i++) {
        size_t close;
        while (top(&walk) && i >= top(&walk)->close) {
            if (top(&walk)->is_instance_of) {
                check_instance(&walk, top(&walk)->close, out);
            }
            walk.depth--;
        }
        if (igc_word_at(tokens, i) == IGC_W_OPEN_BRACE && igc_closes(tokens, i, &close)) {
            struct opened opened = classify(&walk, i, close);
            if (walk.depth < MOST_SCOPES) {
                walk.stack[walk.depth++] = opened;
            }
        }
        check_token(&walk, i, out);
    }
    check_kernels(rewriter, out);
}
