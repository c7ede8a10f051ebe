/* Reads JSON into a tree. For files of strangers: depth is limited, every error has its place. */
#ifndef INGOT_BASE_JSON_READ_H
#define INGOT_BASE_JSON_READ_H

#include "base/arena.h"
#include "base/error.h"

enum ig_json_kind {
    IG_JSON_NULL,
    IG_JSON_FALSE,
    IG_JSON_TRUE,
    IG_JSON_NUMBER,
    IG_JSON_STRING,
    IG_JSON_ARRAY,
    IG_JSON_OBJECT,
};

struct ig_json_value {
    enum ig_json_kind kind;
    const char *key;                    /* of a member of an object, else NULL */
    const char *text;                   /* NUMBER: as it was written; STRING: decoded, UTF-8 */
    struct ig_json_value *first, *last; /* ARRAY and OBJECT, in the order of the text */
    struct ig_json_value *next;
};

/* The tree and its texts are the arena's; `text` may go. Strings with U+0000 are refused. */
ingot_status ig_json_read(struct ig_arena *arena, const char *text, size_t size,
                          struct ig_json_value **value, struct ig_error *error);
/* NULL when `object` is none, or has no such member. */
struct ig_json_value *ig_json_member(const struct ig_json_value *object, const char *key);
void ig_json_add(struct ig_json_value *parent, struct ig_json_value *child);

#endif
