/* Modules of LLVM as a whole: reading, printing, and what they say of the CPU they were made for.
 */
#ifndef INGOT_COMPILER_IR_MODULE_H
#define INGOT_COMPILER_IR_MODULE_H

#include <llvm-c/Core.h>

#include "base/error.h"
#include "base/text.h"

ingot_status igc_module_parse(LLVMContextRef context, const void *bitcode, size_t size,
                              LLVMModuleRef *module, struct ig_error *error);
void igc_print_module(LLVMModuleRef module, struct ig_text *out);
/* The front end compiles for x86-64, whatever the target: removes what that left on functions. */
void igc_forget_cpu(LLVMModuleRef module);
/* The bytes of a constant string, with its NUL if it has one; NULL if it is none. */
const char *igc_constant_text(LLVMValueRef value, size_t *length);

#endif
