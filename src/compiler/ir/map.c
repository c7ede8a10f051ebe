/* From pointers to numbers: see map.h. */
#include "compiler/ir/map.h"

#include <stdint.h>
#include <string.h>

/* Where the key is, or the free place where it belongs. */
static size_t place_of(const struct igi_map *map, const void *key) {
    uint64_t bits = (uint64_t)(uintptr_t)key;
    bits ^= bits >> 17;
    bits *= 0x9E3779B97F4A7C15u;
    size_t at = (size_t)(bits >> 32) & (map->capacity - 1);
    while (map->numbers[at] != IGI_NONE && map->keys[at] != key) {
        at = (at + 1) & (map->capacity - 1);
    }
    return at;
}

static void resize(struct igi_map *map, size_t capacity) {
    struct igi_map larger = {.arena = map->arena, .capacity = capacity, .count = map->count};
    larger.keys = ig_arena_array(map->arena, capacity, sizeof *larger.keys);
    larger.numbers = ig_arena_array(map->arena, capacity, sizeof *larger.numbers);
    if (!larger.keys || !larger.numbers) {
        map->failed = true;
        return;
    }
    memset(larger.numbers, 0xff, capacity * sizeof *larger.numbers);
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->numbers[i] != IGI_NONE) {
            size_t at = place_of(&larger, map->keys[i]);
            larger.keys[at] = map->keys[i];
            larger.numbers[at] = map->numbers[i];
        }
    }
    *map = larger;
}

void igi_map_start(struct igi_map *map, struct ig_arena *arena, size_t keys) {
    size_t capacity = 16;
    while (capacity < 2 * keys) {
        capacity *= 2;
    }
    *map = (struct igi_map){.arena = arena};
    resize(map, capacity);
}

void igi_map_put(struct igi_map *map, const void *key, unsigned number) {
    if (!map->failed && 2 * map->count >= map->capacity) {
        resize(map, 2 * map->capacity);
    }
    if (map->failed) {
        return;
    }
    size_t at = place_of(map, key);
    map->count += map->numbers[at] == IGI_NONE;
    map->keys[at] = key;
    map->numbers[at] = number;
}

unsigned igi_map_get(const struct igi_map *map, const void *key) {
    return map->capacity ? map->numbers[place_of(map, key)] : IGI_NONE;
}

bool igi_set_add(struct igi_map *set, const void *key) {
    if (igi_set_has(set, key)) {
        return false;
    }
    igi_map_put(set, key, 1);
    return !set->failed;
}
