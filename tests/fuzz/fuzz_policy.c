/* The reader of launch policies: any text is a policy or an error, and matching ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = 0;
    struct igo_policy policy = {0};
    struct ig_error error = {0};
    if (!igo_policy_add(&policy, "fuzz", text, &error)) {
        const struct igo_policy_device device = {ig_device_kinds[0], "x86-64-v4"};
        uint32_t values[IGO_MAX_KNOBS];
        igo_policy_resolve(&policy, &device, igo_operation_find("axpy", 4), "f32/n4096", values);
    }
    (void)igo_policy_matches(text, "bf16/row4096/causal");
    (void)igo_policy_matches("bf16/row<=4096/*", text);
    igo_policy_free(&policy);
    ig_error_clear(&error);
    free(text);
    return 0;
}
