/* The text of a source file. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "compiler/frontend/frontend.h"

ingot_status igc_read_source(struct ig_arena *arena, const char *path, const char **text,
                             size_t *size, struct ig_error *error) {
    char *bytes = NULL;
    ingot_status status = INGOT_OK;
    struct ig_text input = {0};
    if (strcmp(path, "-")) {
        status = ig_file_read(path, 0, &bytes, size, error);
    } else {
        char block[65536];
        for (ssize_t got; (got = read(STDIN_FILENO, block, sizeof block)) > 0;) {
            ig_text_append(&input, block, (size_t)got);
        }
        *size = input.size;
    }
    if (status) {
        error->status = INGOT_IO_ERROR; /* a missing source is no missing kernel */
        return INGOT_IO_ERROR;
    }
    *text = input.failed ? NULL : ig_arena_copy(arena, bytes ? bytes : input.data, *size);
    free(bytes);
    ig_text_free(&input);
    if (*text && *size >= 3 && !memcmp(*text, "\xef\xbb\xbf", 3)) { /* UTF-8, an editor says */
        *text += 3;
        *size -= 3;
    }
    return *text ? INGOT_OK
                 : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the %zu bytes of %s", *size,
                           path);
}
