/* Clang's words in messages, said as Metal says them. */
#ifndef INGOT_COMPILER_FRONTEND_MESSAGE_WORDS_H
#define INGOT_COMPILER_FRONTEND_MESSAGE_WORDS_H

#include "base/text.h"

/* Vector types as the prelude's users write them: vec<float, 4>, not the class behind it. */
void igc_vector_names(const char *text, size_t size, struct ig_text *out);

void igc_message_words(const char *text, size_t size, struct ig_text *out);

#endif
