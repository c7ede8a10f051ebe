/* Errors as a pinned code and a sentence. Requires nothing; never fails itself. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char out_of_memory[] = "out of memory";

static void set_message(struct ig_error *error, char *message) {
    if (error->message != out_of_memory) {
        free(error->message);
    }
    error->message = message ? message : out_of_memory;
}

static char *format_text(const char *format, va_list args) {
    char *text = NULL;
    return vasprintf(&text, format, args) < 0 ? NULL : text;
}

ingot_status ig_fail(struct ig_error *error, ingot_status status, const char *format, ...) {
    if (!error) {
        return status;
    }
    va_list args;
    va_start(args, format);
    char *message = format_text(format, args);
    va_end(args);
    set_message(error, message);
    error->status = status;
    return status;
}

void ig_error_prefix(struct ig_error *error, const char *format, ...) {
    if (!error || error->status == INGOT_OK) {
        return;
    }
    va_list args;
    va_start(args, format);
    char *prefix = format_text(format, args);
    va_end(args);
    char *message = NULL;
    if (prefix && asprintf(&message, "%s: %s", prefix, ig_error_text(error)) < 0) {
        message = NULL;
    }
    free(prefix);
    if (message) {
        set_message(error, message);
    }
}

const char *ig_error_text(const struct ig_error *error) {
    return error && error->message ? error->message : "";
}

void ig_error_clear(struct ig_error *error) {
    if (!error) {
        return;
    }
    if (error->message != out_of_memory) {
        free(error->message);
    }
    error->message = NULL;
    error->status = INGOT_OK;
}
