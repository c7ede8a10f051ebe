/* A growing byte string; always NUL-terminated once it holds anything. */
#ifndef INGOT_BASE_TEXT_H
#define INGOT_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct ig_text {
    char *data; /* NULL while empty */
    size_t size;
    size_t capacity;
    bool failed; /* memory ran out; later appends do nothing */
};

void ig_text_append(struct ig_text *text, const void *bytes, size_t size);
void ig_text_puts(struct ig_text *text, const char *string);
void ig_text_printf(struct ig_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *ig_text_string(const struct ig_text *text); /* "" while empty */
void ig_text_free(struct ig_text *text);

#endif
