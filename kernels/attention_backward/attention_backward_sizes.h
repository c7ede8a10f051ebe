/* Sizes of attention_backward_blocks.h and attention_backward_floats.h that the host knows too. */
#ifndef INGOT_KERNELS_ATTENTION_BACKWARD_SIZES_H
#define INGOT_KERNELS_ATTENTION_BACKWARD_SIZES_H

/* SIMD-groups of a threadgroup, of 16 rows each, or 8 of float; elements of a line of threadgroup
 * memory; rows of the other side at a time, half as many of more than 192 elements. */
#define GRADIENT_SIMDS  8u
#define GRADIENT_LINE   64u
#define GRADIENT_OTHERS 64u
/* Statistics of a head's queries are rounded up to so many; rows of up to so many elements have dk
 * and dv from one threadgroup. */
#define GRADIENT_STATS    128u
#define GRADIENT_TOGETHER 128u

/* Of attention_backward_floats.h: rows of a threadgroup and others at a time, and threads. What
 * lines have besides their elements is there so that what is read together is in different banks.
 */
#define GRADIENT_FLOATS_SIDE        64u
#define GRADIENT_FLOATS_THREADS     256u
#define GRADIENT_FLOATS_PAD         4u
#define GRADIENT_FLOATS_WEIGHT_LINE (GRADIENT_FLOATS_SIDE + 16u)

#endif
