/* What may be said to the preprocessor: versions of Metal, macros, names of sources. */
#ifndef INGOT_BASE_SOURCE_OPTIONS_H
#define INGOT_BASE_SOURCE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* "100, 110, … or 400": the numbers that __METAL_VERSION__ can have. */
extern const char ig_msl_versions[];
bool ig_msl_version_is_known(unsigned version);
/* A macro's name, with parameters or without: NAME or NAME(a, b). */
bool ig_macro_name_is_good(const char *name, size_t length);
/* A macro's value has no line breaks and no other control characters. */
bool ig_macro_value_is_good(const char *value);
/* Would the character end or change a name between quotes? */
bool ig_is_awkward_in_name(char c);

#endif
