#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEEP = 64 };

struct reader {
    struct ig_arena *arena;
    const char *text, *at, *end;
    struct ig_error *error;
};

/* Line and column of where the reader stands, and what it found there. */
static struct ig_json_value *fail(struct reader *r, const char *expected) {
    size_t line = 1, column = 1;
    for (const char *c = r->text; c < r->at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    if (r->at >= r->end) {
        ig_fail(r->error, INGOT_INVALID_ARGUMENT, "line %zu, column %zu: expected %s, not the end",
                line, column, expected);
    } else {
        ig_fail(r->error, INGOT_INVALID_ARGUMENT,
                "line %zu, column %zu: expected %s, not the byte 0x%02x", line, column, expected,
                (unsigned)(unsigned char)*r->at);
    }
    return NULL;
}

static void skip_space(struct reader *r) {
    while (r->at < r->end && memchr(" \t\r\n", *r->at, 4)) {
        r->at++;
    }
}

static bool take(struct reader *r, char c) {
    skip_space(r);
    if (r->at < r->end && *r->at == c) {
        r->at++;
        return true;
    }
    return false;
}

static struct ig_json_value *make(struct reader *r, enum ig_json_kind kind) {
    struct ig_json_value *value = ig_arena_alloc(r->arena, sizeof *value);
    if (!value) {
        ig_fail(r->error, INGOT_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    value->kind = kind;
    return value;
}

/* ---- strings ---- */

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool read_unit(struct reader *r, unsigned *unit) {
    *unit = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int digit = r->at < r->end ? hex_digit(*r->at) : -1;
        if (digit < 0) {
            fail(r, "four hexadecimal digits after \\u");
            return false;
        }
        *unit = *unit << 4 | (unsigned)digit;
    }
    return true;
}

static size_t put_utf8(char *out, unsigned code) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char starts[] = {0, 0xc0, 0xe0, 0xf0};
    for (size_t i = more; i > 0; i--, code >>= 6) {
        out[i] = (char)(0x80 | (code & 0x3f));
    }
    out[0] = (char)(starts[more] | code);
    return more + 1;
}

/* Behind "\u": one code point, of one unit or of a pair of surrogates. */
static bool read_code_point(struct reader *r, unsigned *code) {
    unsigned low;
    if (!read_unit(r, code)) {
        return false;
    }
    if (*code >= 0xd800 && *code < 0xdc00 && r->end - r->at > 2 && r->at[0] == '\\' &&
        r->at[1] == 'u') {
        r->at += 2;
        if (!read_unit(r, &low)) {
            return false;
        }
        *code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00)
                                              : 0xfffd;
    }
    if (*code >= 0xd800 && *code < 0xe000) {
        *code = 0xfffd;
    }
    if (!*code) {
        fail(r, "a character other than U+0000 in a string");
    }
    return *code != 0;
}

static bool read_escape(struct reader *r, char *out, size_t *size) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter = r->at < r->end && *r->at ? strchr(letters, *r->at) : NULL;
    unsigned code;
    if (letter) {
        out[(*size)++] = meanings[letter - letters];
        r->at++;
        return true;
    }
    if (r->at >= r->end || *r->at != 'u') {
        fail(r, "an escape such as \\n or \\u0041");
        return false;
    }
    r->at++;
    if (!read_code_point(r, &code)) {
        return false;
    }
    *size += put_utf8(out + *size, code);
    return true;
}

/* Behind the opening quote. A decoded string is never longer than its text. */
static const char *read_string(struct reader *r) {
    const char *close = r->at;
    while (close < r->end && *close != '"') {
        close += *close == '\\' && r->end - close > 1 ? 2 : 1;
    }
    char *out = ig_arena_alloc(r->arena, (size_t)(close - r->at) + 1);
    size_t size = 0;
    if (!out) {
        ig_fail(r->error, INGOT_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    while (r->at < r->end && *r->at != '"') {
        if ((unsigned char)*r->at < 0x20) {
            fail(r, "a string without control characters");
            return NULL;
        }
        if (*r->at != '\\') {
            out[size++] = *r->at++;
            continue;
        }
        r->at++;
        if (!read_escape(r, out, &size)) {
            return NULL;
        }
    }
    if (r->at >= r->end) {
        fail(r, "the end of a string");
        return NULL;
    }
    r->at++;
    return out;
}

/* ---- values ---- */

static size_t digits(struct reader *r) {
    const char *start = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        r->at++;
    }
    return (size_t)(r->at - start);
}

static bool scan_number(struct reader *r) {
    r->at += *r->at == '-';
    const char *whole = r->at;
    size_t count = digits(r);
    if (!count || (count > 1 && *whole == '0')) {
        return false;
    }
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        if (!digits(r)) {
            return false;
        }
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++;
        r->at += r->at < r->end && (*r->at == '+' || *r->at == '-');
        return digits(r) > 0;
    }
    return true;
}

static struct ig_json_value *read_number(struct reader *r) {
    const char *start = r->at;
    if (!scan_number(r)) {
        return fail(r, "a digit of a number");
    }
    struct ig_json_value *value = make(r, IG_JSON_NUMBER);
    if (value) {
        value->text = ig_arena_copy(r->arena, start, (size_t)(r->at - start));
    }
    return value && value->text ? value : NULL;
}

static struct ig_json_value *read_word(struct reader *r) {
    static const struct {
        const char *text;
        enum ig_json_kind kind;
    } words[] = {{"null", IG_JSON_NULL}, {"false", IG_JSON_FALSE}, {"true", IG_JSON_TRUE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].text);
        if ((size_t)(r->end - r->at) >= length && !memcmp(r->at, words[i].text, length)) {
            r->at += length;
            return make(r, words[i].kind);
        }
    }
    return fail(r, "a value");
}

void ig_json_add(struct ig_json_value *parent, struct ig_json_value *child) {
    child->next = NULL;
    *(parent->last ? &parent->last->next : &parent->first) = child;
    parent->last = child;
}

static struct ig_json_value *read_value(struct reader *r, int depth);

/* Behind the opening bracket. */
static struct ig_json_value *read_items(struct reader *r, enum ig_json_kind kind, int depth) {
    const char close = kind == IG_JSON_OBJECT ? '}' : ']';
    struct ig_json_value *parent = make(r, kind);
    if (!parent || take(r, close)) {
        return parent;
    }
    do {
        const char *key = NULL;
        if (kind == IG_JSON_OBJECT) {
            if (!take(r, '"')) {
                return fail(r, "a key in quotes");
            }
            key = read_string(r);
            if (!key) {
                return NULL;
            }
            if (!take(r, ':')) {
                return fail(r, "a colon");
            }
        }
        struct ig_json_value *item = read_value(r, depth + 1);
        if (!item) {
            return NULL;
        }
        item->key = key;
        ig_json_add(parent, item);
    } while (take(r, ','));
    return take(r, close) ? parent : fail(r, "a comma or the closing bracket");
}

static struct ig_json_value *read_value(struct reader *r, int depth) {
    if (depth > MOST_DEEP) {
        return fail(r, "at most 64 brackets inside each other");
    }
    if (take(r, '{')) {
        return read_items(r, IG_JSON_OBJECT, depth);
    }
    if (take(r, '[')) {
        return read_items(r, IG_JSON_ARRAY, depth);
    }
    if (take(r, '"')) {
        const char *text = read_string(r);
        struct ig_json_value *value = text ? make(r, IG_JSON_STRING) : NULL;
        if (value) {
            value->text = text;
        }
        return value;
    }
    bool is_number = r->at < r->end && (*r->at == '-' || (*r->at >= '0' && *r->at <= '9'));
    return is_number ? read_number(r) : read_word(r);
}

ingot_status ig_json_read(struct ig_arena *arena, const char *text, size_t size,
                          struct ig_json_value **value, struct ig_error *error) {
    struct ig_error local = {0};
    struct reader r = {.arena = arena, .text = text, .at = text, .end = text + size};
    r.error = error ? error : &local;
    *value = read_value(&r, 1);
    skip_space(&r);
    if (*value && r.at < r.end) {
        *value = fail(&r, "nothing behind the value");
    }
    ingot_status status = *value ? INGOT_OK : r.error->status;
    ig_error_clear(&local);
    return status ? status : *value ? INGOT_OK : INGOT_OUT_OF_MEMORY;
}

struct ig_json_value *ig_json_member(const struct ig_json_value *object, const char *key) {
    if (!object || object->kind != IG_JSON_OBJECT) {
        return NULL;
    }
    for (struct ig_json_value *v = object->first; v; v = v->next) {
        if (!strcmp(v->key, key)) {
            return v;
        }
    }
    return NULL;
}
