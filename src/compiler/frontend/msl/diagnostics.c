/*
 * Diagnostics: clang's messages in the user's terms.
 *
 * Each becomes `file:line:col: error: message`, the user's source line and a caret. Places
 * in rewritten source go back through the table of rewrite.c; names that only ingot uses
 * are said in Metal's words (message_words.c). An error inside the prelude is reported
 * where the user's code led to it; notes inside the prelude are left out.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "compiler/frontend/frontend.h"
#include "compiler/frontend/msl/message_words.h"
#include "compiler/frontend/msl/rewriter.h"

struct message {
    const char *file;
    size_t file_size;
    unsigned line, column; /* 0: no place */
    const char *severity;  /* "error", "warning", "note" */
    const char *text;
    size_t text_size;
};

/* The severity that stands at `at`, and the size of its words with the colon behind; NULL: none. */
static const char *severity_at(const char *at, const char *end, size_t *size) {
    static const char *const words[] = {"fatal error: ", "error: ", "warning: ", "note: "};
    static const char *const names[] = {"error", "error", "warning", "note"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        *size = strlen(words[i]);
        if ((size_t)(end - at) >= *size && memcmp(at, words[i], *size) == 0) {
            return names[i];
        }
    }
    return NULL;
}

/* "FILE:LINE:COLUMN" before `end`; without a line and a column it is no place. */
static void read_place(const char *line, const char *end, struct message *message) {
    const char *column = end, *number;
    while (column > line && column[-1] != ':') {
        column--;
    }
    number = column > line ? column - 1 : line;
    while (number > line && number[-1] != ':') {
        number--;
    }
    if (number > line) {
        message->file = line;
        message->file_size = (size_t)(number - 1 - line);
        message->line = (unsigned)strtoul(number, NULL, 10);
        message->column = (unsigned)strtoul(column, NULL, 10);
    }
}

/* Reads "PLACE: severity: text" from one line of clang's stderr. The first severity is clang's: the
 * text, which may be the user's, can have others. */
static bool read_message(const char *line, const char *end, struct message *message) {
    const char *severity = NULL, *at = line;
    size_t size;
    while (!(severity = severity_at(at, end, &size))) {
        const char *colon = memmem(at, (size_t)(end - at), ": ", 2);
        if (!colon) {
            return false;
        }
        at = colon + 2;
    }
    *message = (struct message){
        .severity = severity, .text = at + size, .text_size = (size_t)(end - at) - size};
    if (at > line) {
        read_place(line, at - 2, message);
    }
    return true;
}

/* ---- source lines -----------------------------------------------------------------------------
 */
static const char *nth_line(const char *text, size_t size, unsigned line, size_t *line_size) {
    const char *end = text + size;
    for (unsigned i = 1; text < end; i++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        if (i == line) {
            *line_size = (size_t)(stop - text);
            return text;
        }
        text = newline ? newline + 1 : end;
    }
    return NULL;
}

static void print_source_line(struct ig_text *out, const char *line, size_t size, unsigned column) {
    if (column > size + 1) { /* a place that the user's text only looks like */
        column = (unsigned)size + 1;
    }
    while (size > 0 && (line[size - 1] == '\r' || line[size - 1] == ' ')) {
        size--;
    }
    if (size > 400) {
        return;
    }
    ig_text_append(out, line, size);
    ig_text_puts(out, "\n");
    for (unsigned i = 1; i < column; i++) {
        ig_text_append(out, i <= size && line[i - 1] == '\t' ? "\t" : " ", 1);
    }
    ig_text_puts(out, "^\n");
}

static bool word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The token's column in the text that was lexed. */
static unsigned lexed_column(const struct igc_rewriter *rewriter, const struct igc_token *token) {
    const char *p = token->text;
    while (p > rewriter->tokens.text && p[-1] != '\n') {
        p--;
    }
    return (unsigned)(token->text - p) + 1;
}

/* Does the text of the token stand at `at`, as a word of its own? */
static bool is_token_at(const char *line, size_t size, size_t at, const struct igc_token *token) {
    size_t end = at + token->size;
    return token->size > 0 && end <= size && memcmp(line + at, token->text, token->size) == 0 &&
           !(at > 0 && word_byte(line[at - 1]) && word_byte(token->text[0])) &&
           !(end < size && word_byte(line[end]) && word_byte(token->text[token->size - 1]));
}

/* Where the token stands in the user's line: at its column in the lexed one if it is there. Behind
 * macros columns differ: then it is the first, second, … of such tokens in either line. Where there
 * is none it came out of a macro: where the line starts. */
static unsigned find_column(const struct igc_rewriter *rewriter, const char *line, size_t size,
                            const struct igc_token *token) {
    size_t guess = lexed_column(rewriter, token) - 1, before = 0, found = size;
    if (is_token_at(line, size, guess, token)) {
        return (unsigned)guess + 1;
    }
    const char *lexed = token->text - guess;
    for (size_t i = 0; i < guess; i++) {
        before += is_token_at(lexed, guess + token->size, i, token);
    }
    for (size_t i = 0; i < size; i++) {
        if (is_token_at(line, size, i, token)) {
            found = i;
            if (before-- == 0) {
                break;
            }
        }
    }
    if (found < size) {
        return (unsigned)found + 1;
    }
    size_t start = 0;
    while (start < size && (line[start] == ' ' || line[start] == '\t')) {
        start++;
    }
    return start < size ? (unsigned)start + 1 : 1;
}

/* The start and the size of the line of the text that was lexed. */
static const char *lexed_line(const struct igc_rewriter *rewriter, const struct igc_token *token,
                              size_t *size) {
    const char *start = token->text - (lexed_column(rewriter, token) - 1);
    *size = strcspn(start, "\n");
    return start;
}

bool igc_place_of_token(const struct igc_rewriter *rewriter, size_t index,
                        struct igc_user_place *place) {
    const struct igc_token *token = igc_at(&rewriter->tokens, index);
    place->text =
        token->file == 0 && rewriter->main_text
            ? nth_line(rewriter->main_text, rewriter->main_size, token->line, &place->text_size)
            : NULL;
    if (!place->text) {
        place->text = lexed_line(rewriter, token, &place->text_size);
    }
    place->column = find_column(rewriter, place->text, place->text_size, token);
    return true;
}

/* "file:line:col: severity: text" and the source line, for a token or the place behind it. */
static void print_at(const struct igc_rewriter *rewriter, size_t index, bool behind,
                     const char *severity, const char *text, size_t text_size,
                     struct ig_text *out) {
    const struct igc_token *token = igc_at(&rewriter->tokens, index);
    const char *file = rewriter->tokens.files[token->file];
    const char *contents = rewriter->main_text, *line = NULL;
    size_t size = rewriter->main_size, line_size = 0;
    char *loaded = NULL;
    struct ig_error ignored = {0};
    if (token->file != 0 || !contents) {
        contents = NULL;
        if (ig_file_read(file, 0, &loaded, &size, &ignored) == INGOT_OK) {
            contents = loaded;
        }
        ig_error_clear(&ignored);
    }
    if (contents) {
        line = nth_line(contents, size, token->line, &line_size);
    }
    unsigned column = lexed_column(rewriter, token);
    if (line) {
        column = find_column(rewriter, line, line_size, token);
    }
    if (behind) {
        column += token->size;
    }
    ig_text_printf(out, "%s:%u:%u: %s: ", file, (unsigned)token->line, column, severity);
    ig_text_append(out, text, text_size);
    ig_text_puts(out, "\n");
    if (line) {
        print_source_line(out, line, line_size, column);
    }
    free(loaded);
}

ingot_status igc_fail_at(const struct igc_rewriter *rewriter, size_t token, ingot_status status,
                         struct ig_error *error, const char *format, ...) {
    char *message;
    va_list arguments;
    va_start(arguments, format);
    int size = vasprintf(&message, format, arguments);
    va_end(arguments);
    if (size < 0) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for an error message");
    }
    struct ig_text out = {0};
    print_at(rewriter, token, false, "error", message, (size_t)size, &out);
    free(message);
    if (out.size > 0 && !out.failed) {
        out.data[--out.size] = 0;
    }
    ig_fail(error, status, "%s", ig_text_string(&out));
    ig_text_free(&out);
    return status;
}

void igc_warn_at(const struct igc_rewriter *rewriter, size_t token, const char *message,
                 struct ig_text *out) {
    print_at(rewriter, token, false, "warning", message, strlen(message), out);
}

/* ---- clang's stderr
 * ------------------------------------------------------------------------------- */
struct translation {
    const struct igc_rewriter *rewriter;
    const char *output;
    size_t output_size;
    const char *prelude_dir;
    struct message pending; /* an error inside the prelude that waits for the user's place */
    bool has_pending;
    struct message held; /* an error that a note inside the prelude may explain */
    size_t held_token;
    bool has_held, held_behind;
    struct message reason; /* that note's; no text when there was none */
    bool in_warning;       /* the last message was one, or is left out: notes go with it */
};

/* *behind: clang means the place right behind the token, as for a missing ';'. */
static size_t token_of_place(const struct translation *translation, const struct message *message,
                             bool *behind) {
    size_t size;
    const char *line =
        nth_line(translation->output, translation->output_size, message->line, &size);
    if (!line) {
        return IGC_NO_TOKEN;
    }
    size_t column = message->column > 0 ? message->column - 1 : 0;
    size_t within = 0, token = igc_token_of_offset(translation->rewriter,
                                                   (size_t)(line - translation->output) +
                                                       (column < size ? column : size),
                                                   &within);
    *behind =
        token != IGC_NO_TOKEN && within == igc_at(&translation->rewriter->tokens, token)->size;
    return token;
}

size_t igc_message_token(const struct igc_rewriter *rewriter, const char *output,
                         size_t output_size, const char *line, const char *end) {
    struct translation translation = {
        .rewriter = rewriter, .output = output, .output_size = output_size};
    struct message message;
    bool behind;
    if (!read_message(line, end, &message) || message.file_size != 7 ||
        memcmp(message.file, "<stdin>", 7) != 0) {
        return IGC_NO_TOKEN;
    }
    return token_of_place(&translation, &message, &behind);
}

/* clang does not know a kernel that is not being compiled. */
static bool names_kernel(const struct igc_rewriter *rewriter, const struct message *message,
                         size_t token) {
    static const char unknown[] = "use of undeclared identifier";
    if (token == IGC_NO_TOKEN || message->text_size < sizeof unknown ||
        memcmp(message->text, unknown, sizeof unknown - 1) != 0) {
        return false;
    }
    const struct igc_token *used = igc_at(&rewriter->tokens, token);
    for (size_t i = 0; i < rewriter->kernel_count; i++) {
        const struct igc_token *name = igc_at(&rewriter->tokens, rewriter->kernels[i].name);
        if (name->size == used->size && memcmp(name->text, used->text, used->size) == 0) {
            return true;
        }
    }
    return false;
}

/* Parameters stand twice in what clang gets: one message of the same place is enough. */
static void append_once(struct ig_text *out, const struct ig_text *text) {
    if (!out->size || !strstr(out->data, ig_text_string(text))) {
        ig_text_append(out, ig_text_string(text), text->size);
    }
    out->failed |= text->failed;
}

static void print_message(const struct translation *translation, const struct message *message,
                          size_t token, bool behind, struct ig_text *all) {
    struct ig_text text = {0}, whole = {0}, *out = &whole;
    if (names_kernel(translation->rewriter, message, token)) {
        ig_text_printf(&text, "'%.*s': a kernel cannot be called like a function",
                       (int)igc_at(&translation->rewriter->tokens, token)->size,
                       igc_at(&translation->rewriter->tokens, token)->text);
    } else {
        igc_message_words(message->text, message->text_size, &text);
    }
    if (token != IGC_NO_TOKEN) {
        print_at(translation->rewriter, token, behind, message->severity, ig_text_string(&text),
                 text.size, out);
    } else if (message->line > 0) { /* in the prelude, and nothing in the user's file led there */
        ig_text_printf(out, "%s: %s: %s (at %.*s:%u)\n", translation->rewriter->tokens.files[0],
                       message->severity, ig_text_string(&text), (int)message->file_size,
                       message->file, message->line);
    } else {
        ig_text_printf(out, "%s: %s: %s\n", translation->rewriter->tokens.files[0],
                       message->severity, ig_text_string(&text));
    }
    if (strcmp(message->severity, "note") == 0) { /* says more of the message before it */
        ig_text_append(all, ig_text_string(out), out->size);
    } else {
        append_once(all, out);
    }
    all->failed |= text.failed;
    ig_text_free(&text);
    ig_text_free(&whole);
}

/* ---- errors whose reason clang says in notes about the prelude's functions ---- */
static bool starts_with(const struct message *message, const char *words) {
    size_t size = strlen(words);
    return message->text_size >= size && memcmp(message->text, words, size) == 0;
}

static bool wants_reason(const struct message *message) {
    return starts_with(message, "no viable overloaded '") ||
           starts_with(message, "no matching function for call");
}

/* "candidate function not viable: REASON", in words that users know. */
static bool read_reason(const struct message *note, struct message *reason) {
    const char *colon = memmem(note->text, note->text_size, ": ", 2);
    if (!starts_with(note, "candidate ") || !colon) {
        return false;
    }
    *reason = (struct message){.text = colon + 2,
                               .text_size = (size_t)(note->text + note->text_size - colon) - 2};
    struct ig_text named = {0};
    igc_vector_names(reason->text, reason->text_size, &named);
    bool ours = strstr(ig_text_string(&named), "__ingot") != NULL;
    ig_text_free(&named);
    return !ours;
}

static void print_held(struct translation *translation, struct ig_text *errors) {
    if (!translation->has_held) {
        return;
    }
    translation->has_held = false;
    struct message whole = translation->held;
    struct ig_text text = {0};
    ig_text_append(&text, whole.text, whole.text_size);
    if (translation->reason.text) {
        ig_text_puts(&text, ": ");
        ig_text_append(&text, translation->reason.text, translation->reason.text_size);
    }
    whole.text = ig_text_string(&text);
    whole.text_size = text.size;
    print_message(translation, &whole, translation->held_token, translation->held_behind, errors);
    errors->failed |= text.failed;
    ig_text_free(&text);
}

/* ---- warnings that the prelude gives ---- */
/* Is what the token names, with its scope and template arguments, followed by '('? */
static bool is_called(const struct igc_tokens *tokens, size_t token) {
    size_t next = token + 1;
    while (igc_word_at(tokens, next) == IGC_W_SCOPE) {
        next += 2;
    }
    if (igc_word_at(tokens, next) == IGC_W_LESS) {
        next = igc_angles_end(tokens, next);
    }
    return igc_word_at(tokens, next) == IGC_W_OPEN_PAREN;
}

/* Variables that would be computed when the program starts. */
static bool keep_global_warning(const struct igc_rewriter *rewriter, struct message *message,
                                size_t token) {
    static const char text[] =
        "Apple's compiler wants the value of a variable outside of functions to be a constant "
        "expression: literals, constexpr functions, function constants";
    message->text = text;
    message->text_size = strlen(text);
    return token != IGC_NO_TOKEN && !igc_is_of_function_constants(rewriter, token);
}

/* Takes clang's name for them off the text; false: the warning is not meant for this place. */
static bool keep_warning(const struct igc_rewriter *rewriter, struct message *message,
                         size_t token) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    static const char flag[] = " [-Wuser-defined-warnings]";
    static const char vector[] = "Apple's compiler refuses a vector of too few components";
    size_t size = strlen(flag);
    if (starts_with(message, "declaration requires a global constructor")) {
        return keep_global_warning(rewriter, message, token);
    }
    if (message->text_size < size ||
        memcmp(message->text + message->text_size - size, flag, size) != 0) {
        return true;
    }
    message->text_size -= size;
    return token != IGC_NO_TOKEN && (!starts_with(message, vector) || is_called(tokens, token));
}

static void translate_line(struct translation *translation, const char *line, const char *end,
                           struct ig_text *errors, struct ig_text *warnings) {
    struct message message;
    size_t token = IGC_NO_TOKEN;
    bool behind = false;
    if (!read_message(line, end, &message)) {
        return;
    }
    bool in_user = message.file_size == 7 && memcmp(message.file, "<stdin>", 7) == 0;
    bool is_note = strcmp(message.severity, "note") == 0;
    bool is_warning = strcmp(message.severity, "warning") == 0;
    if (!is_note) {
        translation->in_warning = is_warning;
    }
    struct ig_text *out = translation->in_warning ? warnings : errors;
    if (in_user) {
        token = token_of_place(translation, &message, &behind);
    }
    if (is_warning && !keep_warning(translation->rewriter, &message, token)) {
        return;
    }
    if (!is_note && translation->has_pending) {
        print_message(translation, &translation->pending, IGC_NO_TOKEN, false, errors);
        translation->has_pending = false;
    }
    bool hidden_note = is_note && !in_user && message.line > 0;
    if (hidden_note && translation->has_held && !translation->reason.text &&
        !read_reason(&message, &translation->reason)) {
        translation->reason = (struct message){0};
    }
    if (!hidden_note) {
        print_held(translation, errors);
    }
    if (!in_user && message.line > 0) {
        if (!is_note && !is_warning) {
            translation->pending = message;
            translation->has_pending = true;
        }
        return;
    }
    if (is_note && translation->has_pending) {
        translation->has_pending = false;
        print_message(translation, &translation->pending, token, behind, errors);
        return;
    }
    if (is_note && (!in_user || translation->in_warning)) {
        return;
    }
    if (out == errors && !is_note && token != IGC_NO_TOKEN && wants_reason(&message)) {
        translation->held = message;
        translation->held_token = token;
        translation->held_behind = behind;
        translation->has_held = true;
        translation->reason = (struct message){0};
        return;
    }
    print_message(translation, &message, token, behind, out);
}

void igc_translate_diagnostics(const struct igc_rewriter *rewriter, const char *output,
                               size_t output_size, const char *prelude_dir, const char *stderr_text,
                               struct ig_text *errors, struct ig_text *warnings) {
    struct translation translation = {.rewriter = rewriter,
                                      .output = output,
                                      .output_size = output_size,
                                      .prelude_dir = prelude_dir};
    for (const char *line = stderr_text; *line;) {
        const char *end = line + strcspn(line, "\n");
        translate_line(&translation, line, end, errors, warnings);
        line = *end ? end + 1 : end;
    }
    print_held(&translation, errors);
    if (translation.has_pending) {
        print_message(&translation, &translation.pending, IGC_NO_TOKEN, false, errors);
    }
}

ingot_status igc_fail_for_warnings(const char *warnings, struct ig_error *error) {
    static const char severity[] = ": warning: ";
    struct ig_text out = {0};
    for (const char *line = warnings; *line;) {
        size_t size = strcspn(line, "\n");
        const char *found = memmem(line, size, severity, strlen(severity));
        size_t place = found ? (size_t)(found - line) : 0;
        ig_text_append(&out, line, place);
        if (found) {
            ig_text_puts(&out, ": error: ");
            place += strlen(severity);
        }
        ig_text_append(&out, line + place, size - place);
        line += size;
        if (*line && *++line) {
            ig_text_puts(&out, "\n");
        }
    }
    ig_fail(error, INGOT_COMPILE_ERROR, "%s", ig_text_string(&out));
    ig_text_free(&out);
    return INGOT_COMPILE_ERROR;
}

void igc_format_diagnostics(const char *main_file, const char *main_text, size_t main_size,
                            const char *stderr_text, struct ig_text *out) {
    for (const char *line = stderr_text; *line;) {
        const char *end = line + strcspn(line, "\n");
        struct message message;
        if (read_message(line, end, &message)) {
            size_t size;
            if (message.line > 0) {
                ig_text_printf(out, "%.*s:%u:%u: ", (int)message.file_size, message.file,
                               message.line, message.column);
            }
            struct ig_text text = {0};
            igc_message_words(message.text, message.text_size, &text);
            out->failed |= text.failed;
            ig_text_printf(out, "%s: %s\n", message.severity, ig_text_string(&text));
            ig_text_free(&text);
            const char *source = NULL;
            if (main_text && message.file_size == strlen(main_file) &&
                memcmp(message.file, main_file, message.file_size) == 0) {
                source = nth_line(main_text, main_size, message.line, &size);
            }
            if (source) {
                print_source_line(out, source, size, message.column);
            }
        }
        line = *end ? end + 1 : end;
    }
}
