/* How every fallible internal function reports: a pinned code and a whole sentence. */
#ifndef INGOT_BASE_ERROR_H
#define INGOT_BASE_ERROR_H

#include "ingot/ingot.h"

struct ig_error {
    ingot_status status;
    char *message; /* owned; NULL when status is INGOT_OK */
};

/* Sets *error (replacing what it held) and returns status, so that callers can write
 * `return ig_fail(error, INGOT_IO_ERROR, "cannot open %s: %s", path, strerror(errno));`.
 * error may be NULL. Never fails: out of memory leaves a static message. */
ingot_status ig_fail(struct ig_error *error, ingot_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts "prefix: " before the message. */
void ig_error_prefix(struct ig_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *ig_error_text(const struct ig_error *error); /* never NULL */
void ig_error_clear(struct ig_error *error);

#endif
