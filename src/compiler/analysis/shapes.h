/* Facts about one value while shapes.c and shapes_integer.c work; see analysis.h. */
#ifndef INGOT_COMPILER_SHAPES_H
#define INGOT_COMPILER_SHAPES_H

#include "compiler/analysis/analysis_internal.h"

#define IGV_MAX_ALIGN 62u /* of zero */

struct igv_fact {
    enum igv_value_shape shape;
    long stride;
    unsigned align; /* log2; of lane 0's scalar */
    bool no_wrap;   /* LINEAR: exact as an unsigned number */
    bool no_signed_wrap;
    bool unknown; /* not computed yet: a back edge in the first round */
};

/* The lanes' numbers are base + lane * stride with base a multiple of 2^align. When all
 * lane * stride fit below 2^align, they are base | lane * stride: nothing carries. */
struct igv_span {
    bool known;
    uint64_t bits;  /* every bit that a lane * stride may have set */
    unsigned width; /* bits fit below 2^width */
};

struct igv_fact igv_uniform(unsigned align);
struct igv_fact igv_varying(void);
/* Brings the stride into the width's range; stride 0 makes it UNIFORM. */
struct igv_fact igv_linear(unsigned width, long stride, unsigned align, bool no_wrap);
struct igv_span igv_span_of(const struct igv_fact *fact);
unsigned igv_integer_width(LLVMTypeRef type); /* 64 for pointers, 0 for all else */

/* shapes_integer.c: binary operators, casts and comparisons of integers. */
struct igv_fact igv_binary_fact(LLVMValueRef instruction, const struct igv_fact *left,
                                const struct igv_fact *right);
struct igv_fact igv_cast_fact(LLVMValueRef instruction, const struct igv_fact *source);
struct igv_fact igv_compare_fact(LLVMValueRef instruction, const struct igv_fact *left,
                                 const struct igv_fact *right);
/* a < b is b > a. */
LLVMIntPredicate igv_mirrored(LLVMIntPredicate predicate);
/* How an index of type `type` looks once sign-extended to 64 bits. */
struct igv_fact igv_sign_extended(LLVMValueRef value, const struct igv_fact *fact);

#endif
