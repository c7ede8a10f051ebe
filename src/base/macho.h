/*
 * Mach-O images of 64 bits and fat binaries, as far as it takes to leave out what cannot hold data:
 * instructions, and the symbols of the linker (__LINKEDIT). An image of 400 MB may have 70 MB left.
 *
 * Nothing is trusted: what is no image, or is damaged, has nothing to leave out.
 */
#ifndef INGOT_BASE_MACHO_H
#define INGOT_BASE_MACHO_H

#include <stdbool.h>
#include <stddef.h>

/* The next bytes from `at` on that may hold data: true with where they begin and end. */
bool ig_macho_data(const void *bytes, size_t size, size_t at, size_t *begin, size_t *end);

#endif
