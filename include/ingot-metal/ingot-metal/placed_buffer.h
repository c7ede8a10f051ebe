/*
 * For programs that know of ingot: MTLBuffer objects in memory of the caller's, over memory of the caller's, whose
 * references the caller counts. An allocator whose pointers have to be such objects (PyTorch's on mps) needs them.
 */
#ifndef INGOT_METAL_PLACED_BUFFER_H
#define INGOT_METAL_PLACED_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All are called with the place, from any thread. */
struct ingot_metal_counts {
    void (*retain)(void *place);
    void (*release)(void *place);
    uint32_t (*references)(const void *place);
    /* The last command that uses the memory is done, and the object was removed. */
    void (*release_memory)(void *place);
};

/* Makes the object at `place`, of `room` zero bytes: 1, or 0 where there is no memory or too little room. It belongs to
 * the device of the host's memory (MTLCreateSystemDefaultDevice() without INGOT_DEVICE). */
int ingot_metal_place_buffer(void *place, size_t room, void *memory, size_t length,
                             const struct ingot_metal_counts *counts);
/* The object is gone; what uses its memory ends with release_memory. */
void ingot_metal_remove_buffer(void *place);
/* What the sanitizer (INGOT_SANITIZE) found on that device since the last call, one report per line; NULL where there is
 * nothing. To be freed. Nothing may run on the device. */
char *ingot_metal_take_findings(void);

#ifdef __cplusplus
}
#endif
#endif
