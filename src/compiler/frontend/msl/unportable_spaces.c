/*
 * Warnings of address spaces that Apple's compiler wants to see and this one does not need.
 *
 * - A pointer or reference names the space that it points into: `float *p` and `const S &s` are
 *   errors there ("pointer type must have explicit address space qualifier"). From Metal 4.1 on a
 *   type without one is a generic pointer.
 * - A variable in threadgroup memory has no initial value.
 *
 * Requires tokens only. A type is recognised by its name: the language's own scalars and vectors,
 * and structs, unions, classes and enums of the program. Not by names of type parameters (what they
 * stand for may have a space), nor `auto`, nor names that typedef has given a type.
 */
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

enum { GENERIC_POINTERS = 410 };

/* ---- names of types ------------------------------------------------------------------------ */
static bool is_scalar_name(const char *text, size_t size) {
    static const char *const names[] = {
        "void",     "bool",     "char",     "short",     "int",     "long",    "uchar",
        "ushort",   "uint",     "ulong",    "half",      "bfloat",  "float",   "unsigned",
        "signed",   "size_t",   "int8_t",   "int16_t",   "int32_t", "int64_t", "uint8_t",
        "uint16_t", "uint32_t", "uint64_t", "ptrdiff_t",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == size && memcmp(text, names[i], size) == 0) {
            return true;
        }
    }
    return false;
}

/* float, uint4, packed_half3, float4x4 */
static bool is_own_type(const struct igc_token *token) {
    static const char packed[] = "packed_";
    const char *text = token->text;
    size_t size = token->size, prefix = strlen(packed);
    if (token->kind != IGC_IDENTIFIER) {
        return false;
    }
    if (is_scalar_name(text, size)) {
        return true;
    }
    if (size > prefix && memcmp(text, packed, prefix) == 0) {
        text += prefix;
        size -= prefix;
    }
    if (size > 3 && text[size - 2] == 'x' && text[size - 3] >= '2' && text[size - 3] <= '4') {
        size -= 2;
    }
    return size > 1 && text[size - 1] >= '2' && text[size - 1] <= '4' &&
           is_scalar_name(text, size - 1);
}

/* Names of the program's structs, unions, classes and enums: an open-addressing set. */
struct names {
    const struct igc_token **items;
    size_t capacity; /* a power of two; 0: no memory */
};

static size_t slot_of(const struct names *names, const struct igc_token *token) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (uint32_t i = 0; i < token->size; i++) {
        hash = (hash ^ (unsigned char)token->text[i]) * 1099511628211u;
    }
    size_t slot = (size_t)hash & (names->capacity - 1);
    while (names->items[slot] &&
           (names->items[slot]->size != token->size ||
            memcmp(names->items[slot]->text, token->text, token->size) != 0)) {
        slot = (slot + 1) & (names->capacity - 1);
    }
    return slot;
}

static bool declares_type(const struct igc_tokens *tokens, size_t i) {
    enum igc_word word = igc_word_at(tokens, i);
    const struct igc_token *name = igc_at(tokens, i + 1);
    enum igc_word next = igc_word_at(tokens, i + 2), before = igc_word_at(tokens, i - 1);
    return (word == IGC_W_STRUCT || word == IGC_W_CLASS || word == IGC_W_UNION ||
            word == IGC_W_ENUM) &&
           name->kind == IGC_IDENTIFIER && name->word == IGC_W_NONE &&
           (next == IGC_W_OPEN_BRACE || next == IGC_W_COLON || next == IGC_W_SEMICOLON) &&
           (i == 0 || (before != IGC_W_GREATER && before != IGC_W_LESS && before != IGC_W_COMMA));
}

static void find_types(const struct igc_rewriter *rewriter, struct names *names) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t count = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        count += declares_type(tokens, i);
    }
    names->capacity = 16;
    while (names->capacity < 2 * count) {
        names->capacity *= 2;
    }
    names->items = ig_arena_array(rewriter->arena, names->capacity, sizeof *names->items);
    for (size_t i = 0; names->items && i < tokens->count; i++) {
        if (declares_type(tokens, i)) {
            const struct igc_token *name = igc_at(tokens, i + 1);
            names->items[slot_of(names, name)] = name;
        }
    }
}

static bool is_type(const struct igc_token *token, const struct names *names) {
    return is_own_type(token) || (token->kind == IGC_IDENTIFIER && token->word == IGC_W_NONE &&
                                  names->items && names->items[slot_of(names, token)]);
}

/* ---- pointers and references --------------------------------------------------------------- */
/* Words that may stand around a type without a space of their own. */
static bool is_specifier(const struct igc_token *token) {
    switch (token->word) {
    case IGC_W_CONST:
    case IGC_W_VOLATILE:
    case IGC_W_STATIC:
    case IGC_W_INLINE:
    case IGC_W_CONSTEXPR:
    case IGC_W_EXTERN:
        return true;
    default:
        return token->word == IGC_W_TYPEDEF || igc_is(token, "METAL_FUNC") ||
               igc_is(token, "friend");
    }
}

/* Whether a declaration, parameter, result or cast starts right behind the token before i. */
static bool starts_here(const struct igc_tokens *tokens, size_t i, bool *in_list) {
    if (i == 0 || igc_at(tokens, i - 1)->kind == IGC_DIRECTIVE) {
        return true;
    }
    switch (igc_word_at(tokens, i - 1)) {
    case IGC_W_COMMA:
    case IGC_W_OPEN_PAREN:
        *in_list = true;
        return true;
    case IGC_W_SEMICOLON:
    case IGC_W_OPEN_BRACE:
    case IGC_W_CLOSE_BRACE:
    case IGC_W_COLON:
        return true;
    default:
        return false;
    }
}

/* `using name = float *;` and `f<float *>`: the pointer at i is all that the type says. */
static bool names_a_type(const struct igc_tokens *tokens, size_t first, size_t i) {
    enum igc_word before = igc_word_at(tokens, first - 1), next = igc_word_at(tokens, i + 1);
    bool is_alias = before == IGC_W_ASSIGN && igc_word_at(tokens, first - 3) == IGC_W_USING;
    return (is_alias && next == IGC_W_SEMICOLON) ||
           (before == IGC_W_LESS && (next == IGC_W_GREATER || next == IGC_W_COMMA));
}

/* `*` or `&` at i: is it behind a type without a space, and before a name or the end of a cast? */
static bool lacks_space(const struct igc_tokens *tokens, size_t i, const struct names *names) {
    size_t first = i;
    bool typed = false, in_list = false;
    while (first > 0) {
        const struct igc_token *token = igc_at(tokens, first - 1);
        bool type = is_type(token, names);
        if (!type && !is_specifier(token)) {
            break;
        }
        typed |= type;
        first--;
    }
    if (typed && names_a_type(tokens, first, i)) {
        return true;
    }
    if (!typed || !starts_here(tokens, first, &in_list)) {
        return false;
    }
    size_t next = i + 1;
    while (igc_word_at(tokens, next) == IGC_W_CONST ||
           igc_word_at(tokens, next) == IGC_W_VOLATILE ||
           igc_is(igc_at(tokens, next), "restrict") || igc_is(igc_at(tokens, next), "__restrict")) {
        next++;
    }
    enum igc_word word = igc_word_at(tokens, next);
    bool named = igc_at(tokens, next)->kind == IGC_IDENTIFIER &&
                 (word == IGC_W_NONE || word == IGC_W_OPERATOR);
    bool cast = word == IGC_W_CLOSE_PAREN && in_list && igc_at(tokens, first - 1)->match == next;
    return named || cast;
}

static void check_pointers(const struct igc_rewriter *rewriter, struct ig_text *out) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    struct names names = {0};
    find_types(rewriter, &names);
    for (size_t i = 1; i < tokens->count; i++) {
        enum igc_word word = igc_word_at(tokens, i);
        if ((word != IGC_W_STAR && word != IGC_W_AMPERSAND) || !lacks_space(tokens, i, &names)) {
            continue;
        }
        igc_warn_at(rewriter, i,
                    word == IGC_W_STAR
                        ? "Apple's compiler wants the address space of what a pointer points to: "
                          "device, constant, threadgroup or thread"
                        : "Apple's compiler wants the address space of what a reference refers to: "
                          "device, constant, threadgroup or thread",
                    out);
    }
}

/* ---- threadgroup variables ----------------------------------------------------------------- */
/* `threadgroup int n = 0;` */
static void check_initial_values(const struct igc_rewriter *rewriter, struct ig_text *out) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t i = 1; i < tokens->count; i++) {
        bool in_list = false;
        if (igc_word_at(tokens, i) != IGC_W_THREADGROUP || !starts_here(tokens, i, &in_list) ||
            in_list) {
            continue;
        }
        size_t name = i + 1;
        while (igc_at(tokens, name)->kind == IGC_IDENTIFIER &&
               igc_at(tokens, name + 1)->kind == IGC_IDENTIFIER) {
            name++;
        }
        if (name > i + 1 && igc_at(tokens, name)->kind == IGC_IDENTIFIER &&
            igc_word_at(tokens, name + 1) == IGC_W_ASSIGN) {
            igc_warn_at(rewriter, name,
                        "Apple's compiler takes no initial value of a variable in threadgroup "
                        "memory; here every thread assigns it",
                        out);
        }
    }
}

void igc_warn_spaces(const struct igc_rewriter *rewriter, struct ig_text *out) {
    if (rewriter->msl_version < GENERIC_POINTERS) {
        check_pointers(rewriter, out);
    }
    check_initial_values(rewriter, out);
}
