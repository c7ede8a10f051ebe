/* Any bytes into the reader of profiles: a profile that is written again and read again is the
 * same, or a message. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ig_profile profile = {0}, again = {0};
    struct ig_error error = {0};
    struct ig_text text = {0}, same = {0};
    if (!ig_profile_read(&profile, (const char *)data, size, &error)) {
        ig_profile_write(&profile, &text);
        if (ig_profile_read(&again, ig_text_string(&text), text.size, &error)) {
            abort();
        }
        ig_profile_write(&again, &same);
        if (same.size != text.size || memcmp(same.data, text.data, text.size) != 0) {
            abort();
        }
    } else if (!*ig_error_text(&error)) {
        abort();
    }
    ig_error_clear(&error);
    ig_text_free(&text);
    ig_text_free(&same);
    ig_profile_free(&profile);
    ig_profile_free(&again);
    return 0;
}
