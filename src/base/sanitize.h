/* The kinds of the sanitizer (sanitize_kinds.def) by number, as a set of bits, and as text. */
#ifndef INGOT_BASE_SANITIZE_H
#define INGOT_BASE_SANITIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

enum ig_sanitize_kind {
#define SANITIZE_KIND(id, by_default, about) IG_SANITIZE_##id,
#include "base/sanitize_kinds.def"
    IG_SANITIZE_COUNT
};

/* The word "sources" of a list: no kind, but which code the checks are for. Only what a device
 * compiles from source has them; the code of archives runs as it is. */
#define IG_SANITIZE_SOURCES ((uint32_t)1 << 31)
#define IG_SANITIZE_KINDS   (((uint32_t)1 << IG_SANITIZE_COUNT) - 1)
/* Beside the kinds: counters instead of checks (docs/design/profiling.md). Code has the one or the
 * other. The compiler calls it "profile"; to users it is no kind. */
#define IG_SANITIZE_PROFILE      ((uint32_t)1 << 30)
#define IG_SANITIZE_PROFILE_NAME "profile"

static inline uint32_t ig_sanitize_bit(enum ig_sanitize_kind kind) {
    return (uint32_t)1 << kind;
}

/* "bounds"; never NULL. */
const char *ig_sanitize_name(uint32_t kind);
const char *ig_sanitize_about(uint32_t kind);
/* A list "bounds,race" as bits. "" and "default" are those that are on by default, "all" is all,
 * "none" none; "-race" takes one out of what is before it, or of the default. "sources" is the bit
 * IG_SANITIZE_SOURCES. */
ingot_status ig_sanitize_parse(const char *text, uint32_t *kinds, struct ig_error *error);
/* The list of these bits, in the order of the table. */
void ig_sanitize_print(uint32_t kinds, struct ig_text *out);

#endif
