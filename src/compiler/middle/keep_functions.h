/* What keep_functions.c, kept_calls.c and kept_references.c share: a function of structs as one of
 * numbers. */
#ifndef INGOT_COMPILER_KEEP_FUNCTIONS_H
#define INGOT_COMPILER_KEEP_FUNCTIONS_H

#include "compiler/middle/middle.h"

/* ---- kept_calls.c ----
 * How the function takes and gives numbers, and how many there are. *found is NULL where not all
 * that it takes and gives are numbers, or they are too many. Before any function is kept. */
struct igc_signature;
ingot_status igc_kept_signature(struct igc_kernel *kernel, LLVMValueRef function,
                                const struct igc_signature **found, unsigned *numbers);
/* Makes a function of numbers that stays one, in which this one is to be inlined, and calls of that
 * of all calls of this one. */
void igc_keep_function(struct igc_kernel *kernel, LLVMValueRef function,
                       const struct igc_signature *signature, unsigned number);

/* ---- kept_references.c ----
 * What the parameter refers to, and how it is aligned, if it is a reference to a struct through
 * which the function and all that it calls only read; NULL otherwise. */
LLVMTypeRef igc_type_of_reference(struct igc_kernel *kernel, LLVMValueRef function,
                                  unsigned parameter, unsigned *align);

#endif
