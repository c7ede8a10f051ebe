/* Writes JSON text. Requires calls to be nested properly; at most 63 levels deep. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char *utf8_next(const unsigned char *p, size_t *length) {
    *length = 1;
    if (p[0] < 0x80) {
        return p;
    }
    size_t count = p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
    if (p[0] >= 0xf5 || !count) {
        return NULL;
    }
    for (size_t i = 1; i < count; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return NULL;
        }
    }
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xed && p[1] >= 0xa0;
    bool too_large = p[0] == 0xf4 && p[1] >= 0x90;
    if (overlong || surrogate || too_large) {
        return NULL;
    }
    *length = count;
    return p;
}

void ig_json_quote(struct ig_text *out, const char *value) {
    ig_text_append(out, "\"", 1);
    for (const unsigned char *p = (const unsigned char *)value; *p;) {
        size_t length;
        if (!utf8_next(p, &length)) {
            ig_text_puts(out, "\xef\xbf\xbd");
        } else if (*p == '"' || *p == '\\') {
            ig_text_printf(out, "\\%c", *p);
        } else if (*p == '\n') {
            ig_text_puts(out, "\\n");
        } else if (*p == '\t') {
            ig_text_puts(out, "\\t");
        } else if (*p < 0x20 || *p == 0x7f) {
            ig_text_printf(out, "\\u%04x", *p);
        } else {
            ig_text_append(out, p, length);
        }
        p += length;
    }
    ig_text_append(out, "\"", 1);
}

static void new_line(struct ig_json *json) {
    ig_text_append(json->out, "\n", 1);
    for (int i = 0; i < json->depth; i++) {
        ig_text_append(json->out, "  ", 2);
    }
}

static void start_item(struct ig_json *json, const char *key) {
    if (json->depth > 0) {
        if (json->has_items[json->depth]) {
            ig_text_append(json->out, ",", 1);
        }
        json->has_items[json->depth] = true;
        new_line(json);
    }
    if (key) {
        ig_json_quote(json->out, key);
        ig_text_puts(json->out, ": ");
    }
}

static void open_scope(struct ig_json *json, const char *key, const char *bracket) {
    start_item(json, key);
    ig_text_puts(json->out, bracket);
    if (json->depth < 63) {
        json->depth++;
    }
    json->has_items[json->depth] = false;
}

static void close_scope(struct ig_json *json, const char *bracket) {
    bool had_items = json->has_items[json->depth];
    if (json->depth > 0) {
        json->depth--;
    }
    if (had_items) {
        new_line(json);
    }
    ig_text_puts(json->out, bracket);
    if (json->depth == 0) {
        ig_text_append(json->out, "\n", 1);
    }
}

void ig_json_object(struct ig_json *json, const char *key) {
    open_scope(json, key, "{");
}

void ig_json_object_end(struct ig_json *json) {
    close_scope(json, "}");
}

void ig_json_array(struct ig_json *json, const char *key) {
    open_scope(json, key, "[");
}

void ig_json_array_end(struct ig_json *json) {
    close_scope(json, "]");
}

void ig_json_string(struct ig_json *json, const char *key, const char *value) {
    start_item(json, key);
    if (value) {
        ig_json_quote(json->out, value);
    } else {
        ig_text_puts(json->out, "null");
    }
}

void ig_json_u64(struct ig_json *json, const char *key, uint64_t value) {
    start_item(json, key);
    ig_text_printf(json->out, "%" PRIu64, value);
}

void ig_json_number(struct ig_json *json, const char *key, const char *text) {
    start_item(json, key);
    ig_text_puts(json->out, text);
}

void ig_json_i64(struct ig_json *json, const char *key, int64_t value) {
    start_item(json, key);
    ig_text_printf(json->out, "%" PRId64, value);
}

void ig_json_double(struct ig_json *json, const char *key, double value) {
    start_item(json, key);
    if (!isfinite(value)) {
        ig_text_puts(json->out, "null");
        return;
    }
    char text[40];
    for (int digits = 6; digits <= 17; digits++) { /* the shortest that reads back the same */
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    ig_text_puts(json->out, text);
}

void ig_json_bool(struct ig_json *json, const char *key, bool value) {
    start_item(json, key);
    ig_text_puts(json->out, value ? "true" : "false");
}
