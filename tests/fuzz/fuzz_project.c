/* Any text as an ingot.toml: entries, or a message with the line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/project.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t touch(const struct cli_list *list) {
    size_t total = 0;
    for (size_t i = 0; i < list->count; i++) {
        total += strlen(list->items[i]);
    }
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = 0;
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct project project = {.arena = &arena, .path = "ingot.toml", .folder = ""};
    size_t kept = 0;
    if (project_parse(&project, text, &error)) {
        for (size_t i = 0; i < project.count; i++) {
            const struct project_entry *e = &project.entries[i];
            kept += touch(&e->files) + touch(&e->define) + touch(&e->include) + touch(&e->prepend) +
                    touch(&e->msl);
        }
    } else if (strncmp(ig_error_text(&error), "ingot.toml:", 11) != 0) {
        abort();
    }
    if (kept > size) {
        abort();
    }
    project_free(&project);
    ig_error_clear(&error);
    ig_arena_free(&arena);
    free(text);
    return 0;
}
