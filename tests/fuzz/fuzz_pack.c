/* Any bytes into the unpacker, as the packed form of so many bytes as the first two say; and what
 * is packed is unpacked to the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void unpack(const uint8_t *packed, size_t packed_size, size_t size) {
    uint8_t *bytes = malloc(size); /* exactly as many as they are, so that writes past them show */
    if (bytes && ig_unpack(packed, packed_size, bytes, size)) {
        volatile uint8_t sum = 0;
        for (size_t i = 0; i < size; i++) { /* each of them was written */
            sum = (uint8_t)(sum + bytes[i]);
        }
    }
    free(bytes);
}

static void round_trip(const uint8_t *data, size_t size) {
    struct ig_text packed = {0};
    uint8_t *bytes = malloc(size + 1);
    ig_pack(data, size, &packed);
    if (bytes && !packed.failed &&
        (!ig_unpack(packed.data, packed.size, bytes, size) || memcmp(bytes, data, size) != 0 ||
         ig_unpack(packed.data, packed.size, bytes, size + 1))) {
        abort();
    }
    free(bytes);
    ig_text_free(&packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) {
        return 0;
    }
    unpack(data + 2, size - 2, (size_t)data[0] | (size_t)data[1] << 8);
    round_trip(data + 2, size - 2);
    return 0;
}
