#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t ig_base64_size(size_t bytes) {
    return (bytes + 2) / 3 * 4 + 1;
}

void ig_base64_encode(const void *bytes, size_t size, char *text) {
    const uint8_t *from = bytes;
    for (size_t i = 0; i < size; i += 3) {
        const uint32_t word = (uint32_t)from[i] << 16 |
                              (i + 1 < size ? (uint32_t)from[i + 1] << 8 : 0) |
                              (i + 2 < size ? (uint32_t)from[i + 2] : 0);
        *text++ = alphabet[word >> 18];
        *text++ = alphabet[word >> 12 & 63];
        *text++ = i + 1 < size ? alphabet[word >> 6 & 63] : '=';
        *text++ = i + 2 < size ? alphabet[word & 63] : '=';
    }
    *text = 0;
}

static int value_of(char c) {
    const char *found = c ? strchr(alphabet, c) : NULL;
    return found ? (int)(found - alphabet) : -1;
}

bool ig_base64_decode(const char *text, size_t length, void *bytes, size_t *size) {
    uint8_t *to = bytes;
    *size = 0;
    if (length % 4) {
        return false;
    }
    for (size_t i = 0; i < length; i += 4) {
        const bool last = i + 4 == length;
        const unsigned missing =
            last ? (text[i + 3] == '=') + (text[i + 2] == '=' && text[i + 3] == '=') : 0;
        uint32_t word = 0;
        for (unsigned k = 0; k < 4; k++) {
            const int value = k >= 4 - missing ? 0 : value_of(text[i + k]);
            if (value < 0) {
                return false;
            }
            word = word << 6 | (uint32_t)value;
        }
        to[(*size)++] = (uint8_t)(word >> 16);
        if (missing < 2) {
            to[(*size)++] = (uint8_t)(word >> 8);
        }
        if (missing < 1) {
            to[(*size)++] = (uint8_t)word;
        }
    }
    return true;
}
