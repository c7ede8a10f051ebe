/* Sizes of attention_floats.h that the host knows too: queries and threads of a threadgroup, keys
 * that it takes at a time, and what lines have besides their elements, so that what threads read
 * together is in different banks. */
#ifndef INGOT_KERNELS_ATTENTION_FLOATS_ARGS_H
#define INGOT_KERNELS_ATTENTION_FLOATS_ARGS_H

#define FLOATS_QUERIES     128u
#define FLOATS_THREADS     256u
#define FLOATS_KEYS        64u
#define FLOATS_PAD         4u
#define FLOATS_WEIGHT_LINE (FLOATS_KEYS + 16u)

#endif
