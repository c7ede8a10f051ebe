/* Barriers that some threads of a threadgroup miss: the words for it, and who allows it. */
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "runtime/device.h"

bool ig_lenient_barriers(const ingot_device_desc *desc) {
    const char *wish = ig_environment("INGOT_BARRIERS");
    return desc->lenient_barriers || (wish && strcmp(wish, "lenient") == 0);
}

static void append_bits(struct ig_text *text, uint32_t bits) {
    const char *separator = "";
    for (uint32_t from = 0; from < 32; from++) {
        if (!(bits >> from & 1)) {
            continue;
        }
        uint32_t to = from;
        while (to + 1 < 32 && (bits >> (to + 1) & 1)) {
            to++;
        }
        if (to > from) {
            ig_text_printf(text, "%s%u-%u", separator, from, to);
        } else {
            ig_text_printf(text, "%s%u", separator, from);
        }
        separator = ", ";
        from = to;
    }
}

void ig_say_lanes_missing(struct ig_text *text, uint32_t simdgroup, uint32_t came, uint32_t all) {
    if (!(all & ~came)) {
        ig_text_printf(text, "lanes of SIMD-group %u reached different threadgroup barriers",
                       simdgroup);
        return;
    }
    ig_text_printf(text, "SIMD-group %u reached a threadgroup barrier without its lanes ",
                   simdgroup);
    append_bits(text, all & ~came);
    ig_text_printf(text, " (lanes 0x%08x of 0x%08x came)", came, all);
}

void ig_say_simdgroups_ended(struct ig_text *text, uint32_t came, uint32_t all) {
    ig_text_puts(text, "all lanes of SIMD-groups ");
    append_bits(text, all & ~came);
    ig_text_puts(text, " ended while SIMD-groups ");
    append_bits(text, came);
    ig_text_puts(text, " wait at a threadgroup barrier");
}
