/* The limits of the overrides: numbers of elements by operation and type. */
#ifndef INGOT_PYTHON_TORCH_OVERRIDE_LIMITS_H
#define INGOT_PYTHON_TORCH_OVERRIDE_LIMITS_H

#include "python/torch/override.h"

enum { LIMIT_TYPES = 3 }; /* float32, float16, bfloat16 */

struct limit_span { /* least > most: never */
    int64_t least, most;
};

extern struct limit_span limits[][LIMIT_TYPES]; /* by enum limit */
extern const char *const limit_names[];         /* by enum limit; NULL at the end */

#endif
