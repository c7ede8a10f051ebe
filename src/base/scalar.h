/* The scalar types of arguments and constants: names ("f32"), sizes, and conversion of numbers
 * to and from their bytes. half and bfloat are converted by integer arithmetic, so the results
 * are the same on every machine. */
#ifndef INGOT_BASE_SCALAR_H
#define INGOT_BASE_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Bytes of one value; 0 for INGOT_SCALAR_NONE and unknown values. */
size_t ig_scalar_size(ingot_scalar_type type);
/* "f32", "u16", "bool", …; "none" for the rest. */
const char *ig_scalar_name(ingot_scalar_type type);
/* The inverse, for the first `length` bytes of name; INGOT_SCALAR_NONE if unknown. */
ingot_scalar_type ig_scalar_find(const char *name, size_t length);

/* To nearest, ties to even; overflow gives infinity; a NaN stays one. */
uint16_t ig_half_bits(double value);
uint16_t ig_bfloat_bits(double value);
double ig_half_value(uint16_t bits);
double ig_bfloat_value(uint16_t bits);

/* Reads one number ("7", "-1.5", "0x10", "inf", "nan", "true") and writes its bytes. Fails
 * with a sentence when it is not a number or does not fit the type. */
ingot_status ig_scalar_parse(ingot_scalar_type type, const char *text, size_t length, void *out,
                             struct ig_error *error);
/* The value as it is shown to people; returns what snprintf returns. */
int ig_scalar_print(ingot_scalar_type type, const void *bytes, char *out, size_t size);

#endif
