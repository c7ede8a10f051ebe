/* One arena per compilation, archive or command: allocate freely, free once. */
#ifndef INGOT_BASE_ARENA_H
#define INGOT_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct ig_arena_block;
struct ig_arena {
    struct ig_arena_block *blocks;
    size_t used; /* bytes handed out, for statistics */
};

/* Zeroed, 16-byte aligned memory that lives until ig_arena_free. NULL when memory is out. */
void *ig_arena_alloc(struct ig_arena *arena, size_t size);
/* count * size with the overflow checked. */
void *ig_arena_array(struct ig_arena *arena, size_t count, size_t size);
char *ig_arena_copy(struct ig_arena *arena, const void *bytes, size_t size); /* + a NUL */
char *ig_arena_string(struct ig_arena *arena, const char *text);
char *ig_arena_printf(struct ig_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ig_arena_free(struct ig_arena *arena);

#endif
