/*
 * From pointers to numbers, and sets of pointers: open addressing that grows, in an arena. Walks
 * never depend on the order in which a map holds its keys, since addresses differ from run to run.
 */
#ifndef INGOT_COMPILER_IR_MAP_H
#define INGOT_COMPILER_IR_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

#define IGI_NONE (~0u) /* no number */

struct igi_map {
    struct ig_arena *arena;
    size_t capacity, count; /* capacity: a power of two, or 0 */
    const void **keys;
    unsigned *numbers; /* IGI_NONE in free places */
    bool failed;       /* memory ran out, and something is missing */
};

/* An empty map with room for so many keys; it grows. Zero is fine. */
void igi_map_start(struct igi_map *map, struct ig_arena *arena, size_t keys);
/* The number must not be IGI_NONE. A key that is there gets the new number. */
void igi_map_put(struct igi_map *map, const void *key, unsigned number);
unsigned igi_map_get(const struct igi_map *map, const void *key); /* or IGI_NONE */

/* A set is a map whose numbers do not matter. True: it was not there. */
bool igi_set_add(struct igi_map *set, const void *key);
static inline bool igi_set_has(const struct igi_map *set, const void *key) {
    return igi_map_get(set, key) != IGI_NONE;
}

#endif
