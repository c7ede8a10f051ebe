/*
 * Tokens of a preprocessed Metal source, with their places in the user's files.
 *
 * The lexer keeps everything: a token's white space (with comments and line markers) lies
 * right before its text, so that printing all tokens gives the source back byte for byte.
 */
#ifndef INGOT_COMPILER_FRONTEND_TOKENS_H
#define INGOT_COMPILER_FRONTEND_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum igc_token_kind {
    IGC_END,
    IGC_IDENTIFIER,
    IGC_NUMBER,
    IGC_STRING,
    IGC_CHARACTER,
    IGC_PUNCTUATOR,
    IGC_DIRECTIVE, /* a whole line that starts with '#', line markers excepted */
};

/* Words and punctuators that the rewriter looks at; everything else is IGC_W_NONE. */
#define IGC_WORDS(X)                                                                               \
    X(KERNEL, "kernel")                                                                            \
    X(VERTEX, "vertex")                                                                            \
    X(FRAGMENT, "fragment")                                                                        \
    X(DEVICE, "device")                                                                            \
    X(THREADGROUP, "threadgroup")                                                                  \
    X(CONSTANT, "constant")                                                                        \
    X(THREAD, "thread")                                                                            \
    X(RAY_DATA, "ray_data")                                                                        \
    X(OBJECT_DATA, "object_data")                                                                  \
    X(COHERENT, "coherent")                                                                        \
    X(TEMPLATE, "template")                                                                        \
    X(TYPENAME, "typename")                                                                        \
    X(STRUCT, "struct")                                                                            \
    X(CLASS, "class")                                                                              \
    X(UNION, "union")                                                                              \
    X(ENUM, "enum")                                                                                \
    X(NAMESPACE, "namespace")                                                                      \
    X(CONST, "const")                                                                              \
    X(VOLATILE, "volatile")                                                                        \
    X(NOEXCEPT, "noexcept")                                                                        \
    X(STATIC, "static")                                                                            \
    X(INLINE, "inline")                                                                            \
    X(CONSTEXPR, "constexpr")                                                                      \
    X(EXTERN, "extern")                                                                            \
    X(VOID, "void")                                                                                \
    X(CHAR, "char")                                                                                \
    X(TRUE, "true")                                                                                \
    X(FALSE, "false")                                                                              \
    X(NULLPTR, "nullptr")                                                                          \
    X(THIS, "this")                                                                                \
    X(DECLTYPE, "decltype")                                                                        \
    X(ALIGNAS, "alignas")                                                                          \
    X(ATTRIBUTE, "__attribute__")                                                                  \
    X(OPERATOR, "operator")                                                                        \
    X(RETURN, "return")                                                                            \
    X(TYPEDEF, "typedef")                                                                          \
    X(USING, "using")                                                                              \
    X(PUBLIC, "public")                                                                            \
    X(PRIVATE, "private")                                                                          \
    X(PROTECTED, "protected")                                                                      \
    X(DEFAULT, "default")                                                                          \
    X(DELETE, "delete")                                                                            \
    X(STATIC_CAST, "static_cast")                                                                  \
    X(HOST_NAME, "host_name")                                                                      \
    X(BUFFER, "buffer")                                                                            \
    X(FUNCTION_CONSTANT, "function_constant")                                                      \
    X(MAX_THREADS, "max_total_threads_per_threadgroup")                                            \
    X(CONSTANT_DEFINED, "is_function_constant_defined")                                            \
    X(OPEN_PAREN, "(")                                                                             \
    X(CLOSE_PAREN, ")")                                                                            \
    X(OPEN_SQUARE, "[")                                                                            \
    X(CLOSE_SQUARE, "]")                                                                           \
    X(OPEN_BRACE, "{")                                                                             \
    X(CLOSE_BRACE, "}")                                                                            \
    X(LESS, "<")                                                                                   \
    X(GREATER, ">")                                                                                \
    X(COMMA, ",")                                                                                  \
    X(SEMICOLON, ";")                                                                              \
    X(COLON, ":")                                                                                  \
    X(SCOPE, "::")                                                                                 \
    X(QUESTION, "?")                                                                               \
    X(STAR, "*")                                                                                   \
    X(AMPERSAND, "&")                                                                              \
    X(AND, "&&")                                                                                   \
    X(ASSIGN, "=")                                                                                 \
    X(DOT, ".")                                                                                    \
    X(ARROW, "->")                                                                                 \
    X(TILDE, "~")                                                                                  \
    X(ELLIPSIS, "...")                                                                             \
    X(PLUS, "+")                                                                                   \
    X(MINUS, "-")                                                                                  \
    X(SLASH, "/")                                                                                  \
    X(PERCENT, "%")                                                                                \
    X(PIPE, "|")

enum igc_word {
    IGC_W_NONE,
#define X(name, text) IGC_W_##name,
    IGC_WORDS(X)
#undef X
        IGC_W_COUNT
};

struct igc_token {
    const char *text;
    uint32_t size;
    uint32_t space; /* bytes of white space, comments and line markers before text */
    uint32_t match; /* index of the bracket partner; the token's own when it has none */
    uint32_t file;  /* index into igc_tokens.files */
    uint32_t line;  /* in the user's file */
    uint8_t kind;   /* igc_token_kind */
    uint8_t word;   /* igc_word */
};

struct igc_tokens {
    struct igc_token *items;
    size_t count; /* items[count] is the END token */
    const char *text;
    size_t size;
    const char **files; /* names from line markers; files[0] is the main file */
    size_t file_count;
};

/* Lexes any bytes. `main_file` names lines before the first marker. The text must outlive
 * the tokens; fails only when memory is out or the text has 4 GiB or more. */
ingot_status igc_lex(struct ig_arena *arena, const char *text, size_t size, const char *main_file,
                     struct igc_tokens *tokens, struct ig_error *error);

/* Parses `# LINE "FILE" FLAGS` at `text`; *line_size covers the line without its newline. */
bool igc_line_marker(const char *text, const char *end, size_t *line_size, unsigned *line,
                     const char **name, size_t *name_size);

/* The token at i, or END for an index outside (also one below 0). */
static inline const struct igc_token *igc_at(const struct igc_tokens *tokens, size_t i) {
    return &tokens->items[i < tokens->count ? i : tokens->count];
}

static inline enum igc_word igc_word_at(const struct igc_tokens *tokens, size_t i) {
    return (enum igc_word)igc_at(tokens, i)->word;
}

/* The partner of an opening bracket at i, when it has one behind it. */
static inline bool igc_closes(const struct igc_tokens *tokens, size_t i, size_t *close) {
    const struct igc_token *token = igc_at(tokens, i);
    if (token->kind != IGC_PUNCTUATOR || token->match <= i) {
        return false;
    }
    *close = token->match;
    return true;
}

#endif
