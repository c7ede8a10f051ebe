/* The frequencies of rope as fractions of a turn in 64 bits. Powers are computed here, since the
 * library does without libm. */
#include "rope/rope_frequencies.h"

/* 2^x for |x| < 1000, to about 1e-15 of its value. */
static double power_of_two(double x) {
    int whole = (int)(x < 0 ? x - 0.5 : x + 0.5);
    double f = (x - whole) * 0.69314718055994530942, sum = 1;
    for (int n = 16; n > 0; n--) {
        sum = 1 + sum * f / n;
    }
    double factor = whole < 0 ? 0.5 : 2;
    for (int n = whole < 0 ? -whole : whole; n; n >>= 1, factor *= factor) {
        if (n & 1) {
            sum *= factor;
        }
    }
    return sum;
}

/* log2 of a positive, finite number: halve or double it to around 1, then the series of atanh. */
static double log_of_two(double x) {
    int whole = 0;
    for (; x > 1.41421356; whole++) {
        x *= 0.5;
    }
    for (; x < 0.70710678; whole--) {
        x *= 2;
    }
    double z = (x - 1) / (x + 1), square = z * z, sum = 0;
    for (int n = 25; n > 0; n -= 2) {
        sum = sum * square + 1.0 / n;
    }
    return whole + 2 * z * sum * 1.44269504088896340736;
}

void rope_frequencies(double base, double scale, uint32_t pairs, uint64_t *out) {
    double exponent = log_of_two(base);
    for (uint32_t i = 0; i < pairs; i++) {
        double turns = scale * 0.15915494309189533577 * power_of_two(-exponent * i / pairs);
        turns -= (double)(int64_t)turns;
        uint64_t fraction = (uint64_t)((turns < 0 ? -turns : turns) * 0x1p64);
        out[i] = turns < 0 ? 0 - fraction : fraction;
    }
}
