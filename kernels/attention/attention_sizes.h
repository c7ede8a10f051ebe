/* Sizes of attention_blocks.h and attention_floats.h that the host knows too: what lines have
 * besides their elements is there so that what is read together is in different banks. */
#ifndef INGOT_KERNELS_ATTENTION_SIZES_H
#define INGOT_KERNELS_ATTENTION_SIZES_H

#define ATTENTION_BLOCK_KEYS 32u
#define ATTENTION_BLOCK_PAD  8u

/* attention_warpgroups.h: keys at a time, as many as threadgroup memory and registers hold beside
 * rows of so many elements; elements to a line of threadgroup memory. */
#define ATTENTION_WARPGROUP_KEYS(depth) ((depth) <= 128u ? 128u : (depth) <= 192u ? 96u : 64u)
#define ATTENTION_WARPGROUP_LINE        64u

/* attention_units.h: keys at a time. */
#define ATTENTION_UNIT_KEYS 64u

/* Of float: queries and threads of a threadgroup, and keys that it takes at a time. */
#define FLOATS_QUERIES     128u
#define FLOATS_THREADS     256u
#define FLOATS_KEYS        64u
#define FLOATS_PAD         4u
#define FLOATS_WEIGHT_LINE (FLOATS_KEYS + 16u)

#endif
