/*
 * The name that the source has for a symbol of clang's: "_ZN2ns4combI2MDEET_S1_" is comb.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/middle/middle.h"

const char igc_texture_class[] = "15__ingot_texture";

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* What follows a name with its length, "4comb…"; NULL: that is none. */
static const char *read_name(const char *p, const char **name, size_t *length) {
    char *end;
    if (*p < '1' || *p > '9') {
        return NULL;
    }
    size_t size = strtoul(p, &end, 10);
    if (size > strlen(end)) {
        return NULL;
    }
    *name = end;
    *length = size;
    return end + size;
}

/* Behind the value of a template argument, "Lj16E" or "L4Mode1E". */
static const char *skip_literal(const char *p) {
    const char *ignored;
    size_t length;
    p++;
    const char *behind_type = read_name(p, &ignored, &length);
    const char *end = strchr(behind_type ? behind_type : p, 'E');
    return end ? end + 1 : "";
}

/* Behind template arguments, "I…E", which may hold others. */
static const char *skip_arguments(const char *p) {
    int depth = 0;
    do {
        const char *ignored;
        size_t length;
        const char *behind = read_name(p, &ignored, &length);
        if (behind) {
            p = behind;
        } else if (*p == 'L' && p[1] != 'N' && p[1] != '_') {
            p = skip_literal(p);
        } else if (*p == 'S' || *p == 'T' || !strncmp(p, "Dv", 2)) { /* S1_, T_, Dv4_f */
            const char *end = strchr(p, '_');
            p = p[0] == 'S' && p[1] >= 'a' && p[1] <= 'z' ? p + 2 : end ? end + 1 : "";
        } else {
            depth += *p == 'I' || *p == 'N' || *p == 'X' || *p == 'J' || *p == 'F' || *p == 'L';
            depth -= *p == 'E';
            p += *p != 0;
        }
    } while (*p && depth > 0);
    return p;
}

/* The last name of "N2ns4combI…E…E", from behind the N. */
static void read_nested(const char *p, const char **name, size_t *length) {
    while (*p && *p != 'E') {
        const char *behind = read_name(p, name, length);
        if (behind) {
            p = behind;
        } else if (*p == 'K' || *p == 'L' || *p == 'V' || *p == 'r') {
            p++;
        } else if (*p == 'I') {
            p = skip_arguments(p);
        } else {
            return; /* an operator, a constructor: of the class that was named */
        }
    }
}

const char *igc_plain_name(const char *mangled, size_t *length) {
    const char *name = mangled, *p = mangled + 2;
    *length = strlen(mangled);
    if (strncmp(mangled, "_Z", 2) != 0) {
        return name;
    }
    if (*p == 'Z') { /* a variable of a function: _ZZ…E4name */
        const char *last = strrchr(mangled, 'E');
        p = last && last[1] >= '1' && last[1] <= '9' ? last + 1 : p + 1;
    }
    const char *texture = strstr(mangled, igc_texture_class);
    while (texture && *texture && !(texture[0] == 'E' && is_digit(texture[1]))) {
        texture++; /* past the template arguments: …IfE4readI… */
    }
    if (texture && *texture) {
        p = texture + 1;
    }
    if (*p == 'N') {
        read_nested(p + 1, &name, length);
    } else {
        read_name(p + (*p == 'L'), &name, length);
    }
    return name;
}
