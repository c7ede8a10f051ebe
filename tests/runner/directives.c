/* Reads the directives of a test file: comments that start with a known word. A directive goes
 * on in the following comment lines as long as its [ is not closed. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

struct parser {
    struct test_file *file;
    struct ig_arena *arena;
    struct test_case defaults; /* OPTIONS before the first RUN */
    struct test_case *current; /* NULL before the first RUN */
    int line, last_line;
    struct ig_error *error;
};

static ingot_status wrong(struct parser *p, const char *what, const char *text) {
    return ig_fail(p->error, INGOT_INVALID_ARGUMENT, "%s:%d: %s: \"%s\"", p->file->path, p->line,
                   what, text);
}

static bool parse_extent(const char *text, uint32_t extent[3]) {
    extent[0] = extent[1] = extent[2] = 1;
    for (int i = 0; i < 3; i++) {
        char *end;
        if (!isdigit((unsigned char)*text)) {
            return false;
        }
        extent[i] = (uint32_t)strtoul(text, &end, 10);
        if (!*end) {
            return true;
        }
        if (*end != ',') {
            return false;
        }
        text = end + 1;
    }
    return false;
}

/* Splits the next "key=value" or "word" off; both are the arena's. */
static bool next_pair(struct parser *p, const char **text, const char **key, const char **value) {
    *text += strspn(*text, " \t");
    size_t length = strcspn(*text, " \t");
    if (!length) {
        return false;
    }
    char *word = ig_arena_copy(p->arena, *text, length);
    if (!word) {
        return false;
    }
    *text += length;
    *key = word;
    char *equals = strchr(word, '=');
    *value = equals ? equals + 1 : "";
    if (equals) {
        *equals = 0;
    }
    return true;
}

static ingot_status parse_run(struct parser *p, const char *text) {
    struct test_file *file = p->file;
    const char *key, *value;
    struct test_case *test = &file->cases[file->case_count++];
    *test = p->defaults;
    test->line = p->line;
    p->current = test;
    while (next_pair(p, &text, &key, &value)) {
        bool good = true;
        if (!strcmp(key, "kernel")) {
            test->kernel = value;
        } else if (!strcmp(key, "threads")) {
            good = parse_extent(value, test->threads);
        } else if (!strcmp(key, "threadgroups")) {
            good = parse_extent(value, test->threadgroups);
        } else if (!strcmp(key, "group")) {
            good = parse_extent(value, test->group);
        } else if (!strcmp(key, "limit")) {
            test->time_limit = strtod(value, NULL);
        } else {
            good = false;
        }
        if (!good) {
            return wrong(p, "cannot be read in RUN", key);
        }
    }
    return INGOT_OK;
}

static ingot_status parse_options(struct parser *p, const char *text) {
    struct test_case *test = p->current ? p->current : &p->defaults;
    const char *key, *value;
    while (next_pair(p, &text, &key, &value)) {
        if (!strcmp(key, "fast-math")) {
            test->fast_math = true;
        } else if (!strcmp(key, "msl")) {
            test->msl_version = (uint32_t)strtoul(value, NULL, 10);
        } else if (!strcmp(key, "define") && test->define_count < MAX_OPTIONS) {
            test->defines[test->define_count++] = value;
        } else if (!strcmp(key, "include") && test->include_dir_count < MAX_OPTIONS) {
            const char *slash = strrchr(p->file->path, '/');
            int folder = slash ? (int)(slash - p->file->path) : 1;
            test->include_dirs[test->include_dir_count++] =
                ig_arena_printf(p->arena, "%.*s/%s", folder, slash ? p->file->path : ".", value);
        } else {
            return wrong(p, "there is no such option", key);
        }
    }
    return INGOT_OK;
}

static ingot_status parse_argument(struct parser *p, const char *name, const char *text) {
    char *end;
    unsigned long index = strtoul(name, &end, 10);
    if (end == name || index >= MAX_ARGUMENTS) {
        return wrong(p, "expected ARG NUMBER", name);
    }
    struct argument *argument = &p->current->arguments[index];
    if (*end == '+') {
        argument->offset = (uint32_t)strtoul(end + 1, NULL, 10);
    }
    argument->present = true;
    bool is_list;
    const char *tail;
    return test_array_parse(p->arena, text, &argument->data, argument, &is_list, &tail, p->error);
}

static ingot_status parse_constant(struct parser *p, const char *name, const char *text) {
    struct test_case *test = p->current;
    if (test->constant_count == MAX_CONSTANTS) {
        return wrong(p, "too many constants", name);
    }
    struct constant_value *constant = &test->constants[test->constant_count++];
    if (isdigit((unsigned char)*name)) {
        constant->index = (uint32_t)strtoul(name, NULL, 10);
    } else {
        constant->name = name;
    }
    bool is_list;
    const char *tail;
    return test_array_parse(p->arena, text, &constant->data, NULL, &is_list, &tail, p->error);
}

static ingot_status parse_threadgroup(struct parser *p, const char *name, const char *text) {
    unsigned long index = strtoul(name, NULL, 10);
    if (index >= MAX_ARGUMENTS) {
        return wrong(p, "expected TG NUMBER", name);
    }
    p->current->threadgroup_lengths[index] = (uint32_t)strtoul(text, NULL, 10);
    if (p->current->threadgroup_length_count <= index) {
        p->current->threadgroup_length_count = index + 1;
    }
    return INGOT_OK;
}

static ingot_status parse_expect(struct parser *p, const char *name, const char *text) {
    struct test_case *test = p->current;
    if (test->expectation_count == MAX_EXPECTATIONS) {
        return wrong(p, "too many expectations", name);
    }
    struct expectation *x = &test->expectations[test->expectation_count++];
    x->line = p->line;
    x->last_line = p->last_line;
    x->argument = (uint32_t)strtoul(name, NULL, 10);
    ingot_status status =
        test_array_parse(p->arena, text, &x->data, NULL, &x->is_list, &x->tail, p->error);
    if (status) {
        return status;
    }
    const char *at = *x->tail == ';' ? x->tail + 1 : x->tail, *key, *value;
    while (next_pair(p, &at, &key, &value)) {
        if (!strcmp(key, "tol")) {
            x->absolute = strtod(value, NULL);
        } else if (!strcmp(key, "rel")) {
            x->relative = strtod(value, NULL);
        } else if (!strcmp(key, "ulp")) {
            x->ulp = strtod(value, NULL);
        } else if (!strcmp(key, "bits")) {
            x->bits = true;
        } else {
            return wrong(p, "there is no such tolerance", key);
        }
    }
    return INGOT_OK;
}

static ingot_status add_text(struct parser *p, const char **list, size_t *count, const char *text) {
    if (*count == 4) {
        return wrong(p, "too many texts", text);
    }
    list[(*count)++] = text;
    return INGOT_OK;
}

/* `word` is RUN, ARG, …; `name` what stands between it and the colon. */
static ingot_status parse_directive(struct parser *p, const char *word, const char *name,
                                    const char *text) {
    struct test_case *test = p->current;
    if (!strcmp(word, "RUN")) {
        return parse_run(p, text);
    }
    if (!strcmp(word, "SANITIZE")) {
        p->file->sanitize = text;
        return INGOT_OK;
    }
    if (!strcmp(word, "OPTIONS")) {
        return parse_options(p, text);
    }
    if (!test) {
        return wrong(p, "stands before the first RUN", word);
    }
    ingot_status status;
    if (!strcmp(word, "ARG")) {
        status = parse_argument(p, name, text);
    } else if (!strcmp(word, "CONST")) {
        status = parse_constant(p, name, text);
    } else if (!strcmp(word, "TG")) {
        status = parse_threadgroup(p, name, text);
    } else if (!strcmp(word, "EXPECT")) {
        status = parse_expect(p, name, text);
    } else if (!strcmp(word, "EXPECT-ERROR")) {
        status = add_text(p, test->error_text, &test->error_text_count, text);
    } else if (!strcmp(word, "EXPECT-LOG")) {
        status = add_text(p, test->log_text, &test->log_text_count, text);
    } else {
        *(!strcmp(word, "DEVICE")           ? &test->devices
          : !strcmp(word, "WITHOUT-CHECKS") ? &test->without_checks
                                            : &test->status_name) = text;
        status = INGOT_OK;
    }
    if (status && !strstr(ig_error_text(p->error), p->file->path)) {
        ig_error_prefix(p->error, "%s:%d", p->file->path, p->line);
    }
    return status;
}

/* Is this comment line a directive? Copies its word and name, and finds its text. */
static bool split_directive(struct parser *p, const char *line, char **word, char **name,
                            const char **text) {
    static const char *const words[] = {
        "RUN",           "OPTIONS", "ARG",          "CONST",          "TG",
        "EXPECT",        "DEVICE",  "EXPECT-ERROR", "WITHOUT-CHECKS", "EXPECT-LOG",
        "EXPECT-STATUS", "SANITIZE"};
    size_t length = strcspn(line, " :\n");
    bool known = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        known |= strlen(words[i]) == length && !strncmp(words[i], line, length);
    }
    if (!known) {
        return false;
    }
    const char *colon = line + length + strcspn(line + length, ":\n");
    if (*colon != ':') {
        return false;
    }
    *word = ig_arena_copy(p->arena, line, length);
    const char *start = line + length + strspn(line + length, " ");
    *name = ig_arena_copy(p->arena, start, start < colon ? (size_t)(colon - start) : 0);
    *text = colon + 1 + strspn(colon + 1, " \t");
    return *word && *name;
}

/* The content of a // line, or of a ; // line of LLVM's text, or NULL. */
static const char *comment_of(const char *line) {
    line += strspn(line, " \t;");
    return line[0] == '/' && line[1] == '/' ? line + 2 + strspn(line + 2, " \t") : NULL;
}

static const char *next_line(const char *line) {
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

ingot_status test_file_parse(struct ig_arena *arena, const char *path, const char *text,
                             struct test_file *file, struct ig_error *error) {
    struct parser p = {.file = file, .arena = arena, .error = error};
    *file = (struct test_file){.arena = arena, .path = path};
    size_t lines = 1, runs = 0;
    for (const char *c = text; (c = strstr(c, "RUN:")); c++) {
        runs++;
    }
    file->cases = ig_arena_array(arena, runs + 1, sizeof *file->cases);
    if (!file->cases) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
    }
    for (const char *line = text; *line; line = next_line(line), lines++) {
        const char *comment = comment_of(line), *start;
        char *word, *name;
        if (!comment || !split_directive(&p, comment, &word, &name, &start)) {
            continue;
        }
        p.line = p.last_line = (int)lines;
        struct ig_text whole = {0};
        ig_text_append(&whole, start, strcspn(start, "\n"));
        while (strchr(ig_text_string(&whole), '[') && !strchr(ig_text_string(&whole), ']') &&
               strcmp(word, "EXPECT-ERROR") && strcmp(word, "EXPECT-LOG") &&
               (comment = comment_of(next_line(line)))) {
            line = next_line(line);
            p.last_line = (int)++lines;
            ig_text_puts(&whole, "\n");
            ig_text_append(&whole, comment, strcspn(comment, "\n"));
        }
        while (whole.size && isspace((unsigned char)whole.data[whole.size - 1])) {
            whole.data[--whole.size] = 0;
        }
        const char *copy = ig_arena_string(arena, ig_text_string(&whole));
        ig_text_free(&whole);
        ingot_status status = copy ? parse_directive(&p, word, name, copy) : INGOT_OUT_OF_MEMORY;
        if (status) {
            return status;
        }
    }
    if (!file->case_count) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "%s: has no RUN directive", path);
    }
    for (size_t i = 0; i < file->case_count; i++) {
        const struct test_case *test = &file->cases[i];
        if (!test->expectation_count && !test->error_text_count && !test->status_name &&
            !test->log_text_count && !file->sanitize) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT, "%s:%d: RUN without any EXPECT", path,
                           test->line);
        }
    }
    return INGOT_OK;
}
