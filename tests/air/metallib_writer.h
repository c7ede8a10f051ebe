/* Writes the container of base/metallib.h, as Apple's compiler lays it out, around modules of
 * bitcode. */
#ifndef INGOT_TESTS_AIR_METALLIB_WRITER_H
#define INGOT_TESTS_AIR_METALLIB_WRITER_H

#include "base/metallib.h"
#include "base/text.h"

/* Of each function: name, type, module and its size. */
void metallib_write(const struct ig_metallib_function *functions, size_t count,
                    struct ig_text *out);

#endif
