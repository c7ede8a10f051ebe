/*
 * Bytes packed by repetition: what stood in the last 64 KiB is referred to instead of written
 * again. The packed form is that of LZ4's blocks (its "Block Format Description"): a sequence is a
 * token, literals, and the distance and length of a repetition. Machine code shrinks to a half, PTX
 * to a fifth, and unpacking takes about as long as reading the result.
 */
#ifndef INGOT_BASE_PACK_H
#define INGOT_BASE_PACK_H

#include <stdbool.h>

#include "base/text.h"

/* Appends the packed form; the same bytes always give the same. */
void ig_pack(const void *bytes, size_t size, struct ig_text *packed);
/* False where `packed` is not the packed form of exactly `size` bytes. Reads and writes nothing
 * else, whatever `packed` holds. */
bool ig_unpack(const void *packed, size_t packed_size, void *bytes, size_t size);

#endif
