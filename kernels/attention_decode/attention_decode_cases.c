/* The cases of these kernels are those of attention and attention_paged. */
#include "harness/harness.h"

const struct igh_suites igh_suites_attention_decode = {NULL, 0};
