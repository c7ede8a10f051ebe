/* The reader of `ingot bench`'s baselines: any bytes are a table or an error. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/baseline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = 0;
    struct baseline baseline;
    struct ig_error error = {0};
    if (!baseline_read(&baseline, "fuzz", text, size, &error)) {
        (void)baseline_find(&baseline, "axpy", "f32", "1M");
    }
    baseline_free(&baseline);
    ig_error_clear(&error);
    return 0;
}
