/* Places where half and bfloat are mixed, from a module that clang refused. */
#ifndef INGOT_COMPILER_FRONTEND_MIXED_OPERANDS_H
#define INGOT_COMPILER_FRONTEND_MIXED_OPERANDS_H

#include "base/text.h"

/* Appends one "file:line:1: error: …" line per place; nothing when there is none. */
void igc_find_mixed_operands(const char *ir, struct ig_text *out);

#endif
