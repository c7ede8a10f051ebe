/* numeric: what is said of an operation that makes a NaN or an infinity of finite operands. A
 * report's value has the bits of two floats: the operands, or the only one and the result. */
#include <math.h>
#include <string.h>

#include "runtime/sanitize/kinds.h"

static const char *result_of(char operator, float a, float b) {
    float result = operator== '+'   ? a + b
                   : operator== '-' ? a - b
                   : operator== '*' ? a * b
                   : operator== '/' ? a / b
                                    : NAN;
    return isnan(result) ? "NaN" : result < 0 ? "-infinity" : "infinity";
}

void ig_numeric_describe(const struct ig_check *check, struct ig_lane_finding *finding,
                         struct ig_text *message) {
    const char *name = check->place->message;
    uint32_t low = (uint32_t)check->first[finding->lane];
    uint32_t high = (uint32_t)(check->first[finding->lane] >> 32);
    float a, b;
    memcpy(&a, &low, sizeof a);
    memcpy(&b, &high, sizeof b);
    bool is_operator = strlen(name) == 1;
    if (is_operator) {
        ig_text_printf(message, "%.9g %s %.9g is %s", (double)a, name, (double)b,
                       result_of(name[0], a, b));
    } else if (check->place->detail == 1) {
        ig_text_printf(message, "%s of %.9g is %s", name, (double)a,
                       isnan(b) ? "NaN"
                       : b < 0  ? "-infinity"
                                : "infinity");
    } else {
        ig_text_printf(message, "%s of %.9g and %.9g%s is a NaN or an infinity", name, (double)a,
                       (double)b, check->place->detail > 2 ? " and another" : "");
    }
}
