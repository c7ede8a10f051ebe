/* Clang's words in messages, said as Metal says them. */
#ifndef INGOT_COMPILER_FRONTEND_MESSAGE_WORDS_H
#define INGOT_COMPILER_FRONTEND_MESSAGE_WORDS_H

#include "base/text.h"
#include "compiler/frontend/frontend.h" /* igc_vector_names */

void igc_message_words(const char *text, size_t size, struct ig_text *out);

#endif
