/* Clang's words in messages, said as Metal says them. */
#ifndef INGOT_COMPILER_FRONTEND_MESSAGE_WORDS_H
#define INGOT_COMPILER_FRONTEND_MESSAGE_WORDS_H

#include "base/error.h"
#include "base/text.h"

/* Vector types as the prelude's users write them: vec<float, 4>, not the class behind it. */
void igc_vector_names(const char *text, size_t size, struct ig_text *out);

/* The kernel calls a function of this (mangled) name that has no body. */
ingot_status igc_fail_undefined(const char *name, struct ig_error *error);

void igc_message_words(const char *text, size_t size, struct ig_text *out);

#endif
