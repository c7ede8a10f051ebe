/* Reports into `ingot merge`: two, with a zero byte between them, as JSON and as JUnit's XML. What
 * comes out is a report itself, with the same counts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "cli/merge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef ingot_status merge_function(struct ig_arena *arena, const struct merge_report *reports,
                                    size_t count, struct ig_text *out, struct merge_counts *counts,
                                    struct ig_error *error);

static void merge_once(merge_function *merge, const struct merge_report *reports, size_t count) {
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct ig_text text = {0}, same = {0};
    struct merge_counts counts = {0}, again = {0};
    if (!merge(&arena, reports, count, &text, &counts, &error)) {
        const struct merge_report made = {"made", ig_text_string(&text), text.size};
        if (merge(&arena, &made, 1, &same, &again, &error) || counts.passed != again.passed ||
            counts.failed != again.failed || counts.rows != again.rows) {
            abort();
        }
    } else if (!*ig_error_text(&error)) {
        abort();
    }
    ig_text_free(&text);
    ig_text_free(&same);
    ig_error_clear(&error);
    ig_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = 0;
    const size_t first = strlen(text), rest = first < size ? size - first - 1 : 0;
    const struct merge_report reports[] = {{"first", text, first},
                                           {"second", text + size - rest, rest}};
    const size_t count = first < size ? 2 : 1;
    merge_once(merge_json, reports, count);
    merge_once(merge_junit, reports, count);
    free(text);
    return 0;
}
