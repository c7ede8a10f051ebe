/* Any bytes into the .npy reader: an array whose data lies inside the bytes, or an error. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/npy.h"
#include "base/scalar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ig_npy array;
    struct ig_error error = {0};
    if (!ig_npy_parse(data, size, "input.npy", &array, &error)) {
        const uint8_t *start = array.data;
        char shape[64];
        if (array.data_size != array.count * ig_scalar_size(array.scalar) || start < data ||
            start + array.data_size > data + size) {
            abort();
        }
        volatile uint8_t sum = 0;
        for (size_t i = 0; i < array.data_size; i++) {
            sum = (uint8_t)(sum + start[i]);
        }
        ig_npy_shape_text(&array, shape, sizeof shape);
        if (strlen(shape) >= sizeof shape) {
            abort();
        }
    } else if (!*ig_error_text(&error)) {
        abort();
    }
    ig_error_clear(&error);
    return 0;
}
