/* Bump allocation from a list of zeroed blocks. Large requests get a block of their own. */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ig_arena_block {
    struct ig_arena_block *next;
    size_t used, size;
    size_t padding; /* keeps the payload 16-byte aligned */
};

enum { BLOCK_BYTES = 64 * 1024, ALIGNMENT = 16 };

_Static_assert(sizeof(struct ig_arena_block) % ALIGNMENT == 0, "the payload must stay aligned");

static struct ig_arena_block *add_block(struct ig_arena *arena, size_t size) {
    if (size > SIZE_MAX - sizeof(struct ig_arena_block)) {
        return NULL;
    }
    struct ig_arena_block *block = calloc(1, sizeof *block + size);
    if (!block) {
        return NULL;
    }
    block->size = size;
    struct ig_arena_block *first = arena->blocks;
    if (first && first->size - first->used > size) {
        /* keep the block with the most room in front */
        block->next = first->next;
        first->next = block;
    } else {
        block->next = first;
        arena->blocks = block;
    }
    return block;
}

void *ig_arena_alloc(struct ig_arena *arena, size_t size) {
    if (size > SIZE_MAX - ALIGNMENT) {
        return NULL;
    }
    size = size ? (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    struct ig_arena_block *block = arena->blocks;
    if (!block || block->size - block->used < size) {
        block = add_block(arena, size > BLOCK_BYTES / 4 ? size : BLOCK_BYTES);
        if (!block) {
            return NULL;
        }
    }
    char *memory = (char *)(block + 1) + block->used;
    block->used += size;
    arena->used += size;
    return memory;
}

void *ig_arena_array(struct ig_arena *arena, size_t count, size_t size) {
    if (size && count > SIZE_MAX / size) {
        return NULL;
    }
    return ig_arena_alloc(arena, count * size);
}

char *ig_arena_copy(struct ig_arena *arena, const void *bytes, size_t size) {
    if (size == SIZE_MAX) {
        return NULL;
    }
    char *copy = ig_arena_alloc(arena, size + 1);
    if (copy && size) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

char *ig_arena_string(struct ig_arena *arena, const char *text) {
    return ig_arena_copy(arena, text, strlen(text));
}

char *ig_arena_printf(struct ig_arena *arena, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = length < 0 ? NULL : ig_arena_alloc(arena, (size_t)length + 1);
    if (text) {
        vsnprintf(text, (size_t)length + 1, format, again);
    }
    va_end(again);
    return text;
}

void ig_arena_free(struct ig_arena *arena) {
    struct ig_arena_block *block = arena->blocks;
    while (block) {
        struct ig_arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena->blocks = NULL;
    arena->used = 0;
}
