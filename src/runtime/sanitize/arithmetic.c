/* alignment and arithmetic: what is said of them. A report's value is the rest of the address, or
 * the operand: an integer, or the bits of a double for a conversion. */
#include <string.h>

#include "runtime/sanitize/kinds.h"

void ig_alignment_describe(const struct ig_check *check, struct ig_lane_finding *finding,
                           struct ig_text *message) {
    const struct ingot_cpu_place *place = check->place;
    ig_text_printf(message, "%s of %u byte%s of ", ig_access_name(place->access), place->bytes,
                   place->bytes == 1 ? "" : "s");
    ig_say_object(check, message);
    ig_text_printf(message, " at an address that is %llu byte%s past a multiple of %u",
                   (unsigned long long)check->first[finding->lane],
                   check->first[finding->lane] == 1 ? "" : "s", place->detail);
}

void ig_arithmetic_describe(const struct ig_check *check, struct ig_lane_finding *finding,
                            struct ig_text *message) {
    const struct ingot_cpu_place *place = check->place;
    uint64_t bits = check->first[finding->lane];
    ig_text_puts(message, place->message);
    if (strstr(place->message, "conversion")) {
        double value;
        memcpy(&value, &bits, sizeof value);
        ig_text_printf(message, ": %g, to %u bits", value, place->detail);
    } else if (strstr(place->message, "shift")) {
        ig_text_printf(message, ": %u bits by %lld", place->detail, (long long)bits);
    }
}
