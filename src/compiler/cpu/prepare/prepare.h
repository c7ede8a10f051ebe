/* What the files of cpu/prepare/ share. Each takes the kernel one step nearer to the form that
 * vectorise.h requires; cpu/passes.c has the order. */
#ifndef INGOT_COMPILER_PREPARE_H
#define INGOT_COMPILER_PREPARE_H

#include "compiler/ir/edit.h"
#include "compiler/passes/passes.h"

/* prepare.c: small helpers */
bool igv_is_aggregate(LLVMTypeRef type); /* a struct or an array */
bool igv_is_vector(LLVMTypeRef type);
/* What aliasing knows of the whole access holds for its pieces. */
void igv_copy_metadata(struct igc_kernel *kernel, LLVMValueRef from, LLVMValueRef to);
/* What the phi already takes from the block, or NULL. A switch may give a phi several entries
 * for one block, and these must agree. */
LLVMValueRef igv_earlier_incoming(LLVMValueRef phi, LLVMBasicBlockRef block);

/* ---- passes, in the order of cpu/passes.c ---- */
igc_pass_fn igv_prepare_kept;        /* calls of functions that stay functions */
igc_pass_fn igv_prepare_calls;       /* intrinsics that say nothing */
igc_pass_fn igv_prepare_check_calls; /* what cannot be run */
igc_pass_fn igv_prepare_copies;      /* memcpy, memmove, memset */
igc_pass_fn igv_prepare_aggregates;
igc_pass_fn igv_prepare_vectors;
igc_pass_fn igv_prepare_integers; /* other than 8, 16, 32, 64 bits */
igc_when_fn igv_is_scalar;        /* nothing is left for the three above */
igc_pass_fn igv_prepare_check_scalar;
igc_pass_fn igv_prepare_exchanges; /* the parts of a compare-and-exchange are taken where it is */
igc_pass_fn igv_prepare_extensions;
igc_pass_fn
    igv_prepare_threadgroup; /* places of threadgroup variables; kernel->threadgroup_bytes */

#endif
