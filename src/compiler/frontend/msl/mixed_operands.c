/*
 * Finds where a source mixes half and bfloat, which clang does not diagnose: it emits a
 * conversion between the two that no LLVM instruction can do, and then refuses its own
 * module without saying where.
 *
 * Requires the module as text, not verified, with line tables. Provides messages of the
 * form "file:line:1: error: …", one per line of source.
 */
#include "compiler/frontend/msl/mixed_operands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLACES = 20 };

static const char *line_end(const char *p) {
    return p + strcspn(p, "\n");
}

/* "fptrunc bfloat %x to half" and its kind. */
static bool is_bad_cast(const char *line, const char *end) {
    char text[256];
    size_t size = (size_t)(end - line) < sizeof text - 1 ? (size_t)(end - line) : sizeof text - 1;
    memcpy(text, line, size);
    text[size] = 0;
    if (!strstr(text, "fptrunc ") && !strstr(text, "fpext ")) {
        return false;
    }
    bool from_bfloat = strstr(text, " bfloat ") != NULL, from_half = strstr(text, " half ") != NULL;
    return (from_bfloat && strstr(text, " to half")) || (from_half && strstr(text, " to bfloat"));
}

/* The definition of metadata !number, e.g. " !DILocation(line: 4, …)"; NULL when absent. */
static const char *metadata(const char *ir, unsigned long number) {
    char name[40];
    snprintf(name, sizeof name, "\n!%lu = ", number);
    const char *found = strstr(ir, name);
    return found ? found + strlen(name) : NULL;
}

/* The number after `key` (such as "line: " or "scope: !") in a definition. */
static bool field(const char *definition, const char *key, unsigned long *value) {
    const char *end = line_end(definition);
    const char *found = memmem(definition, (size_t)(end - definition), key, strlen(key));
    if (!found) {
        return false;
    }
    *value = strtoul(found + strlen(key), NULL, 10);
    return true;
}

static bool file_of(const char *ir, const char *location, const char **name, size_t *size) {
    unsigned long scope, file;
    const char *definition;
    if (!field(location, "scope: !", &scope) || !(definition = metadata(ir, scope)) ||
        !field(definition, "file: !", &file) || !(definition = metadata(ir, file))) {
        return false;
    }
    const char *found = strstr(definition, "filename: \"");
    if (!found || found > line_end(definition)) {
        return false;
    }
    *name = found + strlen("filename: \"");
    *size = strcspn(*name, "\"\n");
    return true;
}

void igc_find_mixed_operands(const char *ir, struct ig_text *out) {
    unsigned long seen[MAX_PLACES];
    size_t count = 0;
    for (const char *line = ir; *line && count < MAX_PLACES;) {
        const char *end = line_end(line), *name, *location = NULL;
        const char *debug =
            is_bad_cast(line, end) ? memmem(line, (size_t)(end - line), "!dbg !", 6) : NULL;
        unsigned long number;
        size_t size;
        if (debug) {
            location = metadata(ir, strtoul(debug + 6, NULL, 10));
        }
        if (location && field(location, "line: ", &number) && file_of(ir, location, &name, &size)) {
            bool again = false;
            for (size_t i = 0; i < count; i++) {
                again |= seen[i] == number;
            }
            seen[count] = number;
            if (!again) {
                count++;
                ig_text_printf(out,
                               "%.*s:%lu:1: error: one operand is half and the other bfloat; "
                               "convert one of them\n",
                               (int)size, name, number);
            }
        }
        line = *end ? end + 1 : end;
    }
}
