/* Writes JSON (two-space indentation, keys in call order). */
#ifndef INGOT_BASE_JSON_H
#define INGOT_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct ig_json {
    struct ig_text *out;
    int depth;
    bool has_items[64];
};

/* key is NULL inside arrays and at the top. Strings are escaped; invalid UTF-8 becomes
 * U+FFFD; a double that is not finite becomes null. */
void ig_json_object(struct ig_json *json, const char *key);
void ig_json_object_end(struct ig_json *json);
void ig_json_array(struct ig_json *json, const char *key);
void ig_json_array_end(struct ig_json *json);
void ig_json_string(struct ig_json *json, const char *key, const char *value); /* NULL → null */
void ig_json_u64(struct ig_json *json, const char *key, uint64_t value);
void ig_json_i64(struct ig_json *json, const char *key, int64_t value);
void ig_json_double(struct ig_json *json, const char *key, double value);
/* A number as it is written. */
void ig_json_number(struct ig_json *json, const char *key, const char *text);
void ig_json_bool(struct ig_json *json, const char *key, bool value);
/* The string alone, with its quotes, for who writes JSON by hand. */
void ig_json_quote(struct ig_text *out, const char *value);

#endif
