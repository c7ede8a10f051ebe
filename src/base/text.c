/* A growing byte string. Out of memory sets `failed`; nothing is lost but the appends after it. */
#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `extra` more bytes and the NUL. */
static bool reserve(struct ig_text *text, size_t extra) {
    if (text->failed || extra > SIZE_MAX / 4 - text->size) {
        text->failed = true;
        return false;
    }
    size_t needed = text->size + extra + 1;
    if (needed <= text->capacity) {
        return true;
    }
    size_t capacity = text->capacity ? text->capacity * 2 : 64;
    capacity = capacity < needed ? needed : capacity;
    char *data = realloc(text->data, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void ig_text_append(struct ig_text *text, const void *bytes, size_t size) {
    if (!reserve(text, size)) {
        return;
    }
    if (size) {
        memcpy(text->data + text->size, bytes, size);
    }
    text->size += size;
    text->data[text->size] = 0;
}

void ig_text_puts(struct ig_text *text, const char *string) {
    ig_text_append(text, string, strlen(string));
}

void ig_text_printf(struct ig_text *text, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        text->failed = true;
    } else if (reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->size, (size_t)length + 1, format, again);
        text->size += (size_t)length;
    }
    va_end(again);
}

const char *ig_text_string(const struct ig_text *text) {
    return text->data ? text->data : "";
}

void ig_text_free(struct ig_text *text) {
    free(text->data);
    *text = (struct ig_text){0};
}
