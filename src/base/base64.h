/* Bytes as text of the alphabet A-Z a-z 0-9 + / with = at the end (RFC 4648), and back. */
#ifndef INGOT_BASE_BASE64_H
#define INGOT_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* Of the text of so many bytes, with a NUL. */
size_t ig_base64_size(size_t bytes);
void ig_base64_encode(const void *bytes, size_t size, char *text);
/* False for text that is none. `bytes` has room for three of four characters. */
bool ig_base64_decode(const char *text, size_t length, void *bytes, size_t *size);

#endif
