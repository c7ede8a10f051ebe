/* What keep_functions.c and kept_calls.c share: a function of structs as one of numbers. */
#ifndef INGOT_COMPILER_KEEP_FUNCTIONS_H
#define INGOT_COMPILER_KEEP_FUNCTIONS_H

#include "compiler/middle/middle.h"

/* The numbers that go in and out of the function; 0: not all that it takes and gives are numbers,
 * or they are too many. */
unsigned igc_kept_numbers(struct igc_kernel *kernel, LLVMValueRef function);
/* Makes a function of numbers that stays one, in which this one is to be inlined, and calls of that
 * of all calls of this one. */
ingot_status igc_keep_function(struct igc_kernel *kernel, LLVMValueRef function, unsigned number);

#endif
