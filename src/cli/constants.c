/* Values of function constants as the command line spells them: NAME_OR_INDEX=VALUE. */
#include <stdlib.h>
#include <string.h>

#include "base/scalar.h"
#include "cli/cli.h"

static const ingot_constant_info *find(const char *key, size_t length,
                                       const ingot_constant_info *infos, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strlen(infos[i].name) == length && !memcmp(infos[i].name, key, length)) {
            return &infos[i];
        }
    }
    char *end;
    unsigned long index = strtoul(key, &end, 10);
    if (end == key || end != key + length) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (infos[i].index == index) {
            return &infos[i];
        }
    }
    return NULL;
}

ingot_status cli_parse_constant(const char *text, const ingot_constant_info *infos,
                                size_t info_count, struct cli_constant_value *value,
                                struct ig_error *error) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1]) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "--const %s: expected NAME=VALUE or INDEX=VALUE", text);
    }
    const ingot_constant_info *info = find(text, (size_t)(equals - text), infos, info_count);
    if (!info) {
        return ig_fail(error, INGOT_NOT_FOUND,
                       "--const %s: there is no function constant %.*s; `ingot inspect` lists the "
                       "%zu there are",
                       text, (int)(equals - text), text, info_count);
    }
    size_t width = ig_scalar_size(info->type);
    *value = (struct cli_constant_value){.index = info->index};
    const char *at = equals + 1;
    for (uint32_t i = 0;; i++) {
        size_t length = strcspn(at, ",");
        if (i == info->components || value->size + width > sizeof value->bytes) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "--const %s: %s has %u component%s, but more values were given", text,
                           info->name, info->components, info->components == 1 ? "" : "s");
        }
        ingot_status status =
            ig_scalar_parse(info->type, at, length, value->bytes + value->size, error);
        if (status) {
            ig_error_prefix(error, "--const %s", text);
            return status;
        }
        value->size += width;
        at += length;
        if (!*at) {
            if (i + 1 == info->components) {
                if (info->components == 3) { /* three components take the room of four */
                    value->size += width;
                }
                return INGOT_OK;
            }
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "--const %s: %s has %u components, but %u value%s given", text,
                           info->name, info->components, i + 1, i ? "s were" : " was");
        }
        at++;
    }
}
