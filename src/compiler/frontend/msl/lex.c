/*
 * The lexer: preprocessed C++ (or raw Metal source) into tokens.
 *
 * Requires nothing of its input: unterminated strings end at the line, unknown bytes are
 * punctuators, brackets without partner match themselves. Line markers are white space
 * that sets the place of what follows. `>` is always a token of its own, also in `>>`, so
 * that template argument lists can be followed; printing puts them side by side again.
 */
#include "compiler/frontend/msl/tokens.h"

#include <string.h>

static const struct {
    const char *text;
    uint32_t size;
} words[IGC_W_COUNT] = {{"", 0},
#define X(name, text) {text, sizeof text - 1},
                        IGC_WORDS(X)
#undef X
};

struct lexer {
    struct ig_arena *arena;
    struct igc_tokens *tokens;
    size_t capacity;
    size_t file_capacity;
    const char *at, *end;
    uint32_t line, file;
    uint8_t first_word[256]; /* words by first byte: where to start looking */
    uint8_t next_word[IGC_W_COUNT];
    bool failed;
};

static bool is_identifier_start(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c >= 0x80;
}

static bool is_digit(unsigned char c) {
    return c >= '0' && c <= '9';
}

static bool is_identifier(unsigned char c) {
    return is_identifier_start(c) || is_digit(c);
}

static bool is_blank(unsigned char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static void index_words(struct lexer *lexer) {
    for (size_t i = IGC_W_COUNT - 1; i > 0; i--) {
        unsigned char first = (unsigned char)words[i].text[0];
        lexer->next_word[i] = lexer->first_word[first];
        lexer->first_word[first] = (uint8_t)i;
    }
}

static enum igc_word find_word(const struct lexer *lexer, const char *text, size_t size) {
    for (uint8_t i = lexer->first_word[(unsigned char)text[0]]; i; i = lexer->next_word[i]) {
        if (words[i].size == size && memcmp(words[i].text, text, size) == 0) {
            return (enum igc_word)i;
        }
    }
    return IGC_W_NONE;
}

bool igc_line_marker(const char *text, const char *end, size_t *line_size, unsigned *line,
                     const char **name, size_t *name_size) {
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    const char *stop = newline ? newline : end;
    const char *p = text;
    if (p >= stop || *p != '#') {
        return false;
    }
    p++;
    while (p < stop && is_blank((unsigned char)*p)) {
        p++;
    }
    if (stop - p > 4 && memcmp(p, "line", 4) == 0 && is_blank((unsigned char)p[4])) {
        p += 4;
    }
    while (p < stop && is_blank((unsigned char)*p)) {
        p++;
    }
    if (p >= stop || !is_digit((unsigned char)*p)) {
        return false;
    }
    unsigned value = 0;
    for (; p < stop && is_digit((unsigned char)*p); p++) {
        value = value < 100000000u ? value * 10 + (unsigned)(*p - '0') : value;
    }
    while (p < stop && is_blank((unsigned char)*p)) {
        p++;
    }
    *line = value;
    *line_size = (size_t)(stop - text);
    *name = NULL;
    *name_size = 0;
    if (p < stop && *p == '"') {
        const char *quote = ++p;
        while (quote < stop && *quote != '"') {
            quote += *quote == '\\' && quote + 1 < stop ? 2 : 1;
        }
        if (quote >= stop) {
            return false;
        }
        *name = p;
        *name_size = (size_t)(quote - p);
    }
    return true;
}

static uint32_t find_file(struct lexer *lexer, const char *name, size_t size) {
    struct igc_tokens *tokens = lexer->tokens;
    for (size_t i = tokens->file_count; i-- > 0;) {
        if (strlen(tokens->files[i]) == size && memcmp(tokens->files[i], name, size) == 0) {
            return (uint32_t)i;
        }
    }
    if (tokens->file_count == lexer->file_capacity) {
        size_t capacity = lexer->file_capacity * 2;
        const char **files = ig_arena_array(lexer->arena, capacity, sizeof *files);
        if (!files) {
            lexer->failed = true;
            return 0;
        }
        memcpy(files, tokens->files, tokens->file_count * sizeof *files);
        tokens->files = files;
        lexer->file_capacity = capacity;
    }
    char *copy = ig_arena_copy(lexer->arena, name, size);
    if (!copy) {
        lexer->failed = true;
        return 0;
    }
    tokens->files[tokens->file_count] = copy;
    return (uint32_t)tokens->file_count++;
}

/* Skips a comment at p (which starts with '/'); NULL when there is none. */
static const char *skip_comment(struct lexer *lexer, const char *p) {
    const char *end = lexer->end;
    if (end - p < 2) {
        return NULL;
    }
    if (p[1] == '/') {
        while (p < end && *p != '\n') {
            if (*p == '\\' && end - p > 1 && p[1] == '\n') {
                lexer->line++;
                p++;
            }
            p++;
        }
        return p;
    }
    if (p[1] != '*') {
        return NULL;
    }
    for (p += 2; p < end; p++) {
        if (*p == '\n') {
            lexer->line++;
        }
        if (*p == '*' && end - p > 1 && p[1] == '/') {
            return p + 2;
        }
    }
    return end;
}

/* Moves over white space, comments, line continuations and line markers. Sets *fresh when
 * the next token is the first of its line. */
static void skip_space(struct lexer *lexer, bool *fresh) {
    const char *p = lexer->at, *end = lexer->end;
    while (p < end) {
        if (is_blank((unsigned char)*p)) {
            p++;
        } else if (*p == '\n') {
            lexer->line++;
            *fresh = true;
            p++;
        } else if (*p == '\\' && end - p > 1 && p[1] == '\n') {
            lexer->line++;
            p += 2;
        } else if (*p == '/') {
            const char *after = skip_comment(lexer, p);
            if (!after) {
                break;
            }
            p = after;
        } else if (*p == '#' && *fresh) {
            size_t line_size, name_size;
            unsigned line;
            const char *name;
            if (!igc_line_marker(p, end, &line_size, &line, &name, &name_size)) {
                break;
            }
            p += line_size;
            lexer->line = line ? line - 1 : 0; /* the newline that follows adds one */
            if (name) {
                lexer->file = find_file(lexer, name, name_size);
            }
        } else {
            break;
        }
    }
    lexer->at = p;
}

static const char *end_of_directive(struct lexer *lexer, const char *p) {
    while (p < lexer->end && *p != '\n') {
        if (*p == '\\' && lexer->end - p > 1 && p[1] == '\n') {
            lexer->line++;
            p++;
        }
        p++;
    }
    return p;
}

static const char *end_of_number(const char *p, const char *end) {
    while (p < end) {
        unsigned char c = (unsigned char)*p;
        if ((c == '+' || c == '-') &&
            (p[-1] == 'e' || p[-1] == 'E' || p[-1] == 'p' || p[-1] == 'P')) {
            p++;
        } else if (is_identifier(c) || c == '.') {
            p++;
        } else if (c == '\'' && end - p > 1 && is_identifier((unsigned char)p[1])) {
            p += 2;
        } else {
            break;
        }
    }
    return p;
}

static const char *end_of_quoted(const char *p, const char *end, char quote) {
    for (p++; p < end && *p != '\n'; p++) {
        if (*p == '\\' && end - p > 1 && p[1] != '\n') {
            p++;
        } else if (*p == quote) {
            return p + 1;
        }
    }
    return p;
}

/* R"delimiter( … )delimiter" with p at the quote. NULL when it is not well formed. */
static const char *end_of_raw(struct lexer *lexer, const char *p) {
    const char *delimiter = p + 1, *open = delimiter;
    while (open < lexer->end && *open != '(' && *open != '\n' && open - delimiter < 17) {
        open++;
    }
    if (open >= lexer->end || *open != '(') {
        return NULL;
    }
    size_t size = (size_t)(open - delimiter);
    uint32_t lines = 0;
    for (const char *q = open + 1; q < lexer->end; q++) {
        if (*q == '\n') {
            lines++;
        }
        if (*q == ')' && (size_t)(lexer->end - q) >= size + 2 &&
            memcmp(q + 1, delimiter, size) == 0 && q[size + 1] == '"') {
            lexer->line += lines;
            return q + size + 2;
        }
    }
    return NULL;
}

static const char *end_of_punctuator(const char *p, const char *end) {
    static const char *const longer[] = {
        "...", "<<=", ">>=", "->*", "::", "->", "<<", "<=", ">=", "==", "!=", "+=",
        "-=",  "*=",  "/=",  "%=",  "&=", "|=", "^=", "&&", "||", "++", "--"};
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        size_t size = strlen(longer[i]);
        if ((size_t)(end - p) >= size && memcmp(p, longer[i], size) == 0) {
            return p + size;
        }
    }
    return p + 1;
}

static const char *scan_token(struct lexer *lexer, bool fresh, uint8_t *kind) {
    const char *p = lexer->at, *end = lexer->end;
    unsigned char c = (unsigned char)*p;
    if (c == '#' && fresh) {
        *kind = IGC_DIRECTIVE;
        return end_of_directive(lexer, p);
    }
    if (is_digit(c) || (c == '.' && end - p > 1 && is_digit((unsigned char)p[1]))) {
        *kind = IGC_NUMBER;
        return end_of_number(p + 1, end);
    }
    if (is_identifier_start(c)) {
        const char *q = p + 1;
        while (q < end && is_identifier((unsigned char)*q)) {
            q++;
        }
        if (q < end && *q == '"' && q - p <= 3) {
            const char *raw = q[-1] == 'R' ? end_of_raw(lexer, q) : NULL;
            *kind = IGC_STRING;
            return raw ? raw : end_of_quoted(q, end, '"');
        }
        *kind = IGC_IDENTIFIER;
        return q;
    }
    if (c == '"' || c == '\'') {
        *kind = c == '"' ? IGC_STRING : IGC_CHARACTER;
        return end_of_quoted(p, end, (char)c);
    }
    *kind = IGC_PUNCTUATOR;
    return end_of_punctuator(p, end);
}

static bool add_token(struct lexer *lexer, const struct igc_token *token) {
    struct igc_tokens *tokens = lexer->tokens;
    if (tokens->count + 1 >= lexer->capacity) {
        size_t capacity = lexer->capacity * 2;
        struct igc_token *items = ig_arena_array(lexer->arena, capacity, sizeof *items);
        if (!items) {
            return false;
        }
        memcpy(items, tokens->items, tokens->count * sizeof *items);
        tokens->items = items;
        lexer->capacity = capacity;
    }
    tokens->items[tokens->count++] = *token;
    return true;
}

static bool match_brackets(struct ig_arena *arena, struct igc_tokens *tokens) {
    uint32_t *stack = ig_arena_array(arena, tokens->count + 1, sizeof *stack);
    if (!stack) {
        return false;
    }
    size_t depth = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        struct igc_token *token = &tokens->items[i];
        enum igc_word wanted = IGC_W_NONE;
        if (token->word == IGC_W_OPEN_PAREN || token->word == IGC_W_OPEN_SQUARE ||
            token->word == IGC_W_OPEN_BRACE) {
            stack[depth++] = (uint32_t)i;
        } else if (token->word == IGC_W_CLOSE_PAREN) {
            wanted = IGC_W_OPEN_PAREN;
        } else if (token->word == IGC_W_CLOSE_SQUARE) {
            wanted = IGC_W_OPEN_SQUARE;
        } else if (token->word == IGC_W_CLOSE_BRACE) {
            wanted = IGC_W_OPEN_BRACE;
        }
        if (wanted == IGC_W_NONE) {
            continue;
        }
        while (depth > 0 && tokens->items[stack[depth - 1]].word != wanted) {
            depth--;
        }
        if (depth > 0) {
            uint32_t open = stack[--depth];
            tokens->items[open].match = (uint32_t)i;
            token->match = open;
        }
    }
    return true;
}

ingot_status igc_lex(struct ig_arena *arena, const char *text, size_t size, const char *main_file,
                     struct igc_tokens *tokens, struct ig_error *error) {
    struct lexer lexer = {.arena = arena, .tokens = tokens, .at = text, .end = text + size};
    *tokens = (struct igc_tokens){.text = text, .size = size};
    if (size >= UINT32_MAX) {
        return ig_fail(error, INGOT_COMPILE_ERROR,
                       "%s has %zu bytes after preprocessing; at most 4294967294 can be compiled",
                       main_file, size);
    }
    index_words(&lexer);
    lexer.capacity = size / 4 + 16;
    lexer.file_capacity = 16;
    lexer.line = 1;
    tokens->items = ig_arena_array(arena, lexer.capacity, sizeof *tokens->items);
    tokens->files = ig_arena_array(arena, lexer.file_capacity, sizeof *tokens->files);
    if (!tokens->items || !tokens->files) {
        goto no_memory;
    }
    lexer.file = find_file(&lexer, main_file, strlen(main_file));
    bool fresh = true;
    for (;;) {
        const char *before = lexer.at;
        skip_space(&lexer, &fresh);
        struct igc_token token = {.text = lexer.at,
                                  .space = (uint32_t)(lexer.at - before),
                                  .match = (uint32_t)tokens->count,
                                  .file = lexer.file,
                                  .line = lexer.line,
                                  .kind = IGC_END};
        if (lexer.failed) {
            goto no_memory;
        }
        if (lexer.at == lexer.end) {
            if (!add_token(&lexer, &token)) {
                goto no_memory;
            }
            tokens->count--;
            break;
        }
        const char *after = scan_token(&lexer, fresh, &token.kind);
        token.size = (uint32_t)(after - token.text);
        if (token.kind == IGC_IDENTIFIER || token.kind == IGC_PUNCTUATOR) {
            token.word = (uint8_t)find_word(&lexer, token.text, token.size);
        }
        fresh = false;
        lexer.at = after;
        if (!add_token(&lexer, &token)) {
            goto no_memory;
        }
    }
    if (match_brackets(arena, tokens)) {
        return INGOT_OK;
    }
no_memory:
    return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the tokens of %s", main_file);
}
