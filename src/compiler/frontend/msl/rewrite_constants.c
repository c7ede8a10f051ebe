/*
 * Function constants: `constant T name [[function_constant(i)]];` becomes
 * `extern constant T name __asm("__ingot_fc_i");`, which the driver gives a value, and
 * `is_function_constant_defined(name)` becomes `__ingot_constant_defined(i)`.
 *
 * Requires tokens; igc_rewrite_constants requires igc_find_constants. Scalars that are derived
 * from these need nothing: clang gives them dynamic initialisers (vectors: rewrite_derived.c).
 * Indices may be integer expressions, with names of constants that the source gives integer
 * values.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"
#include "compiler/ir/global_names.h"

/* ---- index expressions ------------------------------------------------------------------ */
struct evaluator {
    const struct igc_rewriter *rewriter;
    size_t at, end;
    unsigned depth;
    unsigned *lookups; /* how many names may still be looked up */
    bool failed;
};

static long evaluate(struct evaluator *evaluator, int level);

/* What follows the `=` before `from`. */
static long value_from(struct evaluator *evaluator, size_t from) {
    const struct igc_tokens *tokens = &evaluator->rewriter->tokens;
    struct evaluator inner = *evaluator;
    inner.at = from;
    for (inner.end = from; inner.end < evaluator->rewriter->tokens.count; inner.end++) {
        enum igc_word word = igc_word_at(tokens, inner.end);
        if (word == IGC_W_COMMA || word == IGC_W_SEMICOLON || word == IGC_W_CLOSE_BRACE) {
            break;
        }
        size_t partner = igc_at(tokens, inner.end)->match;
        inner.end = partner > inner.end ? partner : inner.end;
    }
    long value = evaluate(&inner, 0);
    evaluator->failed = inner.failed || inner.at != inner.end;
    return value;
}

/* True for a name without a value in the list of an enum, with the list's brace. */
static bool is_enumerator(const struct igc_tokens *tokens, size_t name, size_t *brace) {
    enum igc_word after = igc_word_at(tokens, name + 1);
    if (after != IGC_W_COMMA && after != IGC_W_CLOSE_BRACE) {
        return false;
    }
    size_t at = name;
    while (at > 0 && igc_word_at(tokens, at - 1) != IGC_W_OPEN_BRACE) {
        enum igc_word word = igc_word_at(tokens, --at);
        if (word == IGC_W_SEMICOLON || word == IGC_W_CLOSE_BRACE) {
            return false;
        }
        if (word == IGC_W_CLOSE_PAREN) {
            at = igc_at(tokens, at)->match;
        }
    }
    if (at == 0) {
        return false;
    }
    *brace = at - 1;
    for (size_t i = *brace; i-- > 0;) { /* enum class Name : type { */
        enum igc_word word = igc_word_at(tokens, i);
        if (word == IGC_W_ENUM) {
            return true;
        }
        if (igc_at(tokens, i)->kind != IGC_IDENTIFIER && word != IGC_W_COLON &&
            word != IGC_W_SCOPE) {
            return false;
        }
    }
    return false;
}

/* One more than the enumerator before it; the first is 0. */
static long enumerator_value(struct evaluator *evaluator, size_t name, size_t brace) {
    const struct igc_tokens *tokens = &evaluator->rewriter->tokens;
    long after = 0;
    for (size_t i = name; i > brace; i--) {
        enum igc_word word = igc_word_at(tokens, i);
        if (word == IGC_W_CLOSE_PAREN) {
            i = igc_at(tokens, i)->match;
        } else if (word == IGC_W_ASSIGN) {
            return value_from(evaluator, i + 1) + after;
        }
        after += word == IGC_W_COMMA;
    }
    return after;
}

/* The value of an enumerator or of `name = …` somewhere before the use. */
static long named_value(struct evaluator *evaluator, size_t name) {
    const struct igc_tokens *tokens = &evaluator->rewriter->tokens;
    const struct igc_token *wanted = igc_at(tokens, name);
    if (++evaluator->depth > 32 || *evaluator->lookups == 0) {
        evaluator->failed = true;
        return 0;
    }
    --*evaluator->lookups;
    for (size_t i = 0; i + 1 < name; i++) {
        const struct igc_token *token = igc_at(tokens, i);
        if (token->kind != IGC_IDENTIFIER || token->size != wanted->size ||
            memcmp(token->text, wanted->text, token->size) != 0) {
            continue;
        }
        size_t brace;
        if (igc_word_at(tokens, i + 1) == IGC_W_ASSIGN) {
            return value_from(evaluator, i + 2);
        }
        if (is_enumerator(tokens, i, &brace)) {
            return enumerator_value(evaluator, i, brace);
        }
    }
    evaluator->failed = true;
    return 0;
}

static long primary(struct evaluator *evaluator) {
    const struct igc_tokens *tokens = &evaluator->rewriter->tokens;
    size_t at = evaluator->at, close;
    const struct igc_token *token = igc_at(tokens, at);
    if (at >= evaluator->end) {
        evaluator->failed = true;
        return 0;
    }
    evaluator->at++;
    if (token->word == IGC_W_OPEN_PAREN && igc_closes(tokens, at, &close) &&
        close < evaluator->end) {
        struct evaluator inner = *evaluator;
        inner.at = at + 1;
        inner.end = close;
        inner.depth++;
        long value = inner.depth < 32 ? evaluate(&inner, 0) : 0;
        evaluator->failed |= inner.failed || inner.at != close || inner.depth >= 32;
        evaluator->at = close + 1;
        return value;
    }
    if (token->kind == IGC_IDENTIFIER) {
        while (igc_word_at(tokens, evaluator->at) == IGC_W_SCOPE &&
               igc_at(tokens, evaluator->at + 1)->kind == IGC_IDENTIFIER) {
            evaluator->at += 2;
        }
        return named_value(evaluator, evaluator->at - 1);
    }
    char digits[32], *end;
    if (token->kind != IGC_NUMBER || token->size >= sizeof digits) {
        evaluator->failed = true;
        return 0;
    }
    memcpy(digits, token->text, token->size);
    digits[token->size] = 0;
    long value = strtol(digits, &end, 0);
    evaluator->failed |= strspn(end, "uUlL") != strlen(end) || value < 0 || value > 0xffffffl;
    return value;
}

static bool apply(enum igc_word word, int level, long right, long *left) {
    if (level == 0 && word == IGC_W_PLUS) {
        *left += right;
    } else if (level == 0 && word == IGC_W_MINUS) {
        *left -= right;
    } else if (level == 1 && word == IGC_W_STAR) {
        *left *= right;
    } else if (level == 1 && word == IGC_W_SLASH && right != 0) {
        *left /= right;
    } else if (level == 1 && word == IGC_W_PERCENT && right != 0) {
        *left %= right;
    } else {
        return false;
    }
    return *left >= 0 && *left <= 0xffffffl;
}

/* level 0: sums; level 1: products. */
static long evaluate(struct evaluator *evaluator, int level) {
    const struct igc_tokens *tokens = &evaluator->rewriter->tokens;
    long left = level == 1 ? primary(evaluator) : evaluate(evaluator, 1);
    while (!evaluator->failed && evaluator->at < evaluator->end) {
        enum igc_word word = igc_word_at(tokens, evaluator->at);
        bool sum = word == IGC_W_PLUS || word == IGC_W_MINUS;
        bool product = word == IGC_W_STAR || word == IGC_W_SLASH || word == IGC_W_PERCENT;
        if ((level == 0 && !sum) || (level == 1 && !product)) {
            break;
        }
        evaluator->at++;
        long right = level == 1 ? primary(evaluator) : evaluate(evaluator, 1);
        if (!evaluator->failed && !apply(word, level, right, &left)) {
            evaluator->failed = true;
        }
    }
    return left;
}

/* ---- types ---------------------------------------------------------------------------------- */
static const struct {
    const char *name;
    uint32_t scalar, size;
} scalars[] = {
    {"bool", INGOT_SCALAR_BOOL, 1},    {"char", INGOT_SCALAR_I8, 1},
    {"int8_t", INGOT_SCALAR_I8, 1},    {"uchar", INGOT_SCALAR_U8, 1},
    {"uint8_t", INGOT_SCALAR_U8, 1},   {"short", INGOT_SCALAR_I16, 2},
    {"int16_t", INGOT_SCALAR_I16, 2},  {"ushort", INGOT_SCALAR_U16, 2},
    {"uint16_t", INGOT_SCALAR_U16, 2}, {"int", INGOT_SCALAR_I32, 4},
    {"int32_t", INGOT_SCALAR_I32, 4},  {"uint", INGOT_SCALAR_U32, 4},
    {"uint32_t", INGOT_SCALAR_U32, 4}, {"unsigned", INGOT_SCALAR_U32, 4},
    {"long", INGOT_SCALAR_I64, 8},     {"int64_t", INGOT_SCALAR_I64, 8},
    {"ulong", INGOT_SCALAR_U64, 8},    {"uint64_t", INGOT_SCALAR_U64, 8},
    {"size_t", INGOT_SCALAR_U64, 8},   {"half", INGOT_SCALAR_F16, 2},
    {"bfloat", INGOT_SCALAR_BF16, 2},  {"float", INGOT_SCALAR_F32, 4},
};

static void read_type(const struct igc_token *token, struct ig_constant *info) {
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        size_t size = strlen(scalars[i].name);
        if (token->size < size || token->size > size + 1 ||
            memcmp(token->text, scalars[i].name, size) != 0) {
            continue;
        }
        uint32_t components = 1;
        if (token->size == size + 1) {
            char last = token->text[size];
            if (last < '2' || last > '4') {
                continue;
            }
            components = (uint32_t)(last - '0');
        }
        info->scalar = scalars[i].scalar;
        info->components = components;
        info->size = scalars[i].size * (components == 3 ? 4 : components);
        return;
    }
}

/* A type and what may stand beside it: `static constant vec<uint, 2>`, `unsigned short`. The
 * last name that is no type of Metal's, if there is none of those, is *unknown. */
static void read_words(const struct igc_tokens *tokens, size_t first, size_t end,
                       struct ig_constant *info, size_t *unknown) {
    bool is_unsigned = false;
    uint32_t components = 0;
    for (size_t i = first; i < end; i++) {
        const struct igc_token *token = igc_at(tokens, i);
        if (token->kind == IGC_IDENTIFIER) {
            is_unsigned |= igc_is(token, "unsigned");
            *unknown = token->word == IGC_W_NONE ? i : *unknown;
            read_type(token, info);
        } else if (token->kind == IGC_NUMBER && igc_word_at(tokens, i - 1) == IGC_W_COMMA &&
                   token->size == 1 && *token->text >= '2' && *token->text <= '4') {
            components = (uint32_t)(*token->text - '0');
        }
    }
    if (info->scalar && is_unsigned && info->scalar % 2 == 0 && info->scalar < INGOT_SCALAR_F16) {
        info->scalar++;
    }
    if (info->scalar && components) {
        info->size = info->size * (components == 3 ? 4 : components);
        info->components = components;
    }
}

/* What a name stands for: `using N = …;`, `typedef … N;`, `enum N : …`. *end is 0 for an enum
 * without a type. */
static bool find_alias(const struct igc_tokens *tokens, size_t name, size_t *first, size_t *end) {
    char text[128];
    const struct igc_token *token = igc_at(tokens, name);
    if (token->size >= sizeof text) {
        return false;
    }
    memcpy(text, token->text, token->size);
    text[token->size] = 0;
    for (size_t i = 1; i < name; i++) {
        enum igc_word before = igc_word_at(tokens, i - 1), after = igc_word_at(tokens, i + 1);
        if (igc_at(tokens, i)->kind != IGC_IDENTIFIER || !igc_is(igc_at(tokens, i), text)) {
            continue;
        }
        bool is_enum = before == IGC_W_ENUM || ((before == IGC_W_CLASS || before == IGC_W_STRUCT) &&
                                                i > 1 && igc_word_at(tokens, i - 2) == IGC_W_ENUM);
        enum igc_word stop = is_enum ? IGC_W_OPEN_BRACE : IGC_W_SEMICOLON;
        *first = i + 2;
        for (*end = *first; *end < name && igc_word_at(tokens, *end) != stop;) {
            ++*end;
        }
        if (is_enum || (before == IGC_W_USING && after == IGC_W_ASSIGN)) {
            *end = is_enum && after != IGC_W_COLON ? 0 : *end;
            return true;
        }
        *first = igc_declaration_start(tokens, i);
        *end = i;
        if (after == IGC_W_SEMICOLON && igc_word_at(tokens, *first) == IGC_W_TYPEDEF) {
            return true;
        }
    }
    return false;
}

static void read_constant_type(const struct igc_tokens *tokens, size_t first, size_t end,
                               struct ig_constant *info) {
    for (int depth = 0; depth < 8; depth++) {
        size_t unknown = SIZE_MAX;
        read_words(tokens, first, end, info, &unknown);
        if (info->scalar || unknown == SIZE_MAX || !find_alias(tokens, unknown, &first, &end)) {
            return;
        }
        if (!end) {
            info->scalar = INGOT_SCALAR_I32;
            info->components = 1;
            info->size = 4;
            return;
        }
    }
}

/* ---- finding -----------------------------------------------------------------------------------
 */
static bool add_constant(struct igc_rewriter *rewriter,
                         const struct igc_function_constant *constant) {
    if (rewriter->constant_count == rewriter->constant_capacity) {
        size_t capacity = rewriter->constant_capacity * 2 + 32;
        struct igc_function_constant *constants =
            ig_arena_array(rewriter->arena, capacity, sizeof *constants);
        if (!constants) {
            return false;
        }
        if (rewriter->constant_count) {
            memcpy(constants, rewriter->constants, rewriter->constant_count * sizeof *constants);
        }
        rewriter->constants = constants;
        rewriter->constant_capacity = capacity;
    }
    rewriter->constants[rewriter->constant_count++] = *constant;
    return true;
}

static ingot_status read_constant(struct igc_rewriter *rewriter, size_t attribute, size_t end,
                                  struct ig_error *error) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t close;
    if (attribute == 0 || igc_at(tokens, attribute - 1)->kind != IGC_IDENTIFIER ||
        !igc_closes(tokens, attribute + 3, &close) || close >= end) {
        return igc_fail_at(rewriter, attribute, INGOT_COMPILE_ERROR, error,
                           "[[function_constant]] needs a name before it and an index in "
                           "parentheses");
    }
    struct igc_function_constant constant = {
        .start = igc_declaration_start(tokens, attribute),
        .name = attribute - 1,
        .attribute = attribute,
        .end = end,
    };
    unsigned lookups = 64;
    struct evaluator evaluator = {
        .rewriter = rewriter, .at = attribute + 4, .end = close, .lookups = &lookups};
    long index = evaluate(&evaluator, 0);
    if (evaluator.failed || evaluator.at != close || index > 65535) {
        return igc_fail_at(rewriter, attribute + 4, INGOT_COMPILE_ERROR, error,
                           "the index of function constant \"%s\" is \"%s\"; it must be an "
                           "integer from 0 to 65535",
                           igc_spelling(rewriter, constant.name, constant.name + 1),
                           igc_spelling(rewriter, attribute + 4, close));
    }
    constant.info.name = igc_spelling(rewriter, constant.name, constant.name + 1);
    constant.info.index = (uint32_t)index;
    constant.info.required = 1;
    read_constant_type(tokens, constant.start, constant.name, &constant.info);
    if (!add_constant(rewriter, &constant)) {
        rewriter->out_of_memory = true;
    }
    return INGOT_OK;
}

static struct igc_function_constant *find_constant(const struct igc_rewriter *rewriter,
                                                   const struct igc_token *name) {
    for (size_t i = rewriter->constant_count; i-- > 0;) {
        if (name->kind == IGC_IDENTIFIER && igc_is(name, rewriter->constants[i].info.name)) {
            return &rewriter->constants[i];
        }
    }
    return NULL;
}

static bool is_constant(const struct igc_tokens *tokens, size_t attribute) {
    size_t i = igc_declaration_start(tokens, attribute);
    while (i < attribute && igc_word_at(tokens, i) != IGC_W_CONSTANT) {
        i++;
    }
    return i < attribute;
}

ingot_status igc_find_constants(struct igc_rewriter *rewriter, struct ig_error *error) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t i = 0; i < tokens->count; i++) {
        if (igc_word_at(tokens, i) == IGC_W_CONSTANT_DEFINED &&
            igc_word_at(tokens, i + 1) == IGC_W_OPEN_PAREN) {
            struct igc_function_constant *constant = find_constant(rewriter, igc_at(tokens, i + 2));
            if (constant) {
                constant->info.required = 0;
            }
        }
        if (igc_word_at(tokens, i) != IGC_W_OPEN_SQUARE ||
            igc_word_at(tokens, i + 2) != IGC_W_FUNCTION_CONSTANT) {
            continue;
        }
        size_t end = igc_attribute_end(tokens, i);
        if (end == i || igc_word_at(tokens, end) != IGC_W_SEMICOLON || !is_constant(tokens, i)) {
            continue; /* the condition of a kernel's parameter, or of a member */
        }
        ingot_status status = read_constant(rewriter, i, end, error);
        if (status != INGOT_OK) {
            return status;
        }
    }
    if (rewriter->out_of_memory) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the constants of %s",
                       tokens->files[0]);
    }
    return INGOT_OK;
}

/* ---- rewriting
 * ----------------------------------------------------------------------------------- */
/* Names that are no built-in types may stand for one. */
static void assert_type(struct igc_rewriter *rewriter,
                        const struct igc_function_constant *constant) {
    if (!constant->info.scalar &&
        igc_word_at(&rewriter->tokens, constant->end) == IGC_W_SEMICOLON) {
        igc_after(rewriter, constant->end,
                  ig_arena_printf(rewriter->arena,
                                  " static_assert(::__ingot_shape_of<::metal::__ingot_bare_t<"
                                  "decltype(%s)>>::scalar, \"a function constant is a scalar or a "
                                  "vector\");",
                                  constant->info.name));
    }
}

void igc_rewrite_constants(struct igc_rewriter *rewriter) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t i = 0; i < rewriter->constant_count; i++) {
        const struct igc_function_constant *constant = &rewriter->constants[i];
        for (size_t p = constant->start; p < constant->name; p++) {
            enum igc_word word = igc_word_at(tokens, p);
            if (word == IGC_W_CONSTEXPR || word == IGC_W_STATIC || word == IGC_W_INLINE ||
                word == IGC_W_EXTERN) {
                igc_kill(rewriter, p, p + 1);
            }
        }
        size_t first = constant->start;
        while (first < constant->name && rewriter->edits[first].dead) {
            first++;
        }
        igc_before(rewriter, first, "extern ");
        igc_kill(rewriter, constant->attribute, constant->end);
        igc_replace(rewriter, constant->attribute,
                    ig_arena_printf(rewriter->arena, " __asm(\"" IGI_CONSTANT_PREFIX "%u\")",
                                    (unsigned)constant->info.index));
        assert_type(rewriter, constant);
    }
    for (size_t i = 0; i < tokens->count; i++) {
        size_t close;
        if (igc_word_at(tokens, i) != IGC_W_CONSTANT_DEFINED ||
            igc_word_at(tokens, i + 1) != IGC_W_OPEN_PAREN || !igc_closes(tokens, i + 1, &close) ||
            rewriter->edits[i].dead) {
            continue;
        }
        const struct igc_function_constant *constant =
            find_constant(rewriter, igc_at(tokens, close - 1));
        if (!constant) {
            continue;
        }
        igc_kill(rewriter, i, close + 1);
        igc_replace(rewriter, i,
                    ig_arena_printf(rewriter->arena, "__ingot_constant_defined(%uu)",
                                    (unsigned)constant->info.index));
    }
}
