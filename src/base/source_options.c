/* See source_options.h. Does not look at what a macro means. */
#include "base/source_options.h"

#include <string.h>

const char ig_msl_versions[] = "100, 110, 120, 200, 210, 220, 230, 240, 300, 310, 320, 400 or 410";

bool ig_msl_version_is_known(unsigned version) {
    static const unsigned short known[] = {100, 110, 120, 200, 210, 220, 230,
                                           240, 300, 310, 320, 400, 410};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i] == version) {
            return true;
        }
    }
    return false;
}

static bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

static bool is_name(char c) {
    return is_name_start(c) || (c >= '0' && c <= '9');
}

bool ig_macro_name_is_good(const char *name, size_t length) {
    size_t at = 0;
    if (!length || !is_name_start(name[0])) {
        return false;
    }
    while (at < length && is_name(name[at])) {
        at++;
    }
    if (at == length) {
        return true;
    }
    if (name[at] != '(' || name[length - 1] != ')') {
        return false;
    }
    for (at++; at + 1 < length; at++) {
        if (!is_name(name[at]) && !strchr(", .", name[at])) {
            return false;
        }
    }
    return true;
}

bool ig_macro_value_is_good(const char *value) {
    for (; *value; value++) {
        if (((unsigned char)*value < ' ' && *value != '\t') || *value == 127) {
            return false;
        }
    }
    return true;
}

bool ig_is_awkward_in_name(char c) {
    return c == '"' || c == '\\' || (unsigned char)c < ' ' || c == 127;
}
