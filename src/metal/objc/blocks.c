/*
 * Blocks: copies, references, and captured variables, by the blocks' published binary interface.
 * Blocks are Objective-C objects (block_classes.m); captured objects are retained.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "metal/objc/objc_support.h"

extern void *_NSConcreteMallocBlock[];

enum {
    COUNT_MASK = 0xffff,
    BLOCK_IS_ALLOCATED = 1 << 24,
    BLOCK_HAS_HELPERS = 1 << 25,
    BLOCK_IS_GLOBAL = 1 << 28,
};

enum { FIELD_IS_OBJECT = 3, FIELD_IS_BLOCK = 7, FIELD_IS_BYREF = 8, FIELD_IS_WEAK = 16 };
enum { BYREF_CALLER = 128 };

/* A variable declared __block. */
struct shared_variable {
    void *isa;
    struct shared_variable *forwarding;
    int flags;
    unsigned size;
    void (*keep)(struct shared_variable *to, struct shared_variable *from);
    void (*destroy)(struct shared_variable *variable);
};

static int add_reference(int *flags) {
    return __atomic_add_fetch(flags, 1, __ATOMIC_RELAXED);
}

/* Is it the last? */
static bool drop_reference(int *flags) {
    return (__atomic_sub_fetch(flags, 1, __ATOMIC_ACQ_REL) & COUNT_MASK) == 0;
}

void *_Block_copy(const void *argument) {
    struct block_layout *block = (struct block_layout *)(uintptr_t)argument;
    if (!block || (block->flags & BLOCK_IS_GLOBAL)) {
        return block;
    }
    if (block->flags & BLOCK_IS_ALLOCATED) {
        add_reference(&block->flags);
        return block;
    }
    struct block_layout *copy = malloc(block->descriptor->size);
    if (!copy) {
        return NULL;
    }
    memcpy(copy, block, block->descriptor->size);
    copy->flags = (block->flags & ~COUNT_MASK) | BLOCK_IS_ALLOCATED | 1;
    copy->isa = _NSConcreteMallocBlock;
    if (copy->flags & BLOCK_HAS_HELPERS) {
        copy->descriptor->copy(copy, block);
    }
    return copy;
}

void _Block_release(const void *argument) {
    struct block_layout *block = (struct block_layout *)(uintptr_t)argument;
    if (!block || (block->flags & BLOCK_IS_GLOBAL) || !(block->flags & BLOCK_IS_ALLOCATED)) {
        return;
    }
    if (drop_reference(&block->flags)) {
        if (block->flags & BLOCK_HAS_HELPERS) {
            block->descriptor->dispose(block);
        }
        free(block);
    }
}

static struct shared_variable *share(struct shared_variable *variable) {
    struct shared_variable *there = variable->forwarding;
    if (there->flags & BLOCK_IS_ALLOCATED) {
        add_reference(&there->flags);
        return there;
    }
    struct shared_variable *copy = malloc(variable->size);
    if (!copy) {
        return variable;
    }
    memcpy(copy, variable, variable->size);
    /* one reference is the block's, one that of the function whose variable it is */
    copy->flags = (variable->flags & ~COUNT_MASK) | BLOCK_IS_ALLOCATED | 2;
    copy->forwarding = copy;
    variable->forwarding = copy;
    if (variable->flags & BLOCK_HAS_HELPERS) {
        variable->keep(copy, variable);
    }
    return copy;
}

void _Block_object_assign(void *to, const void *object, int flags) {
    void *value = (void *)(uintptr_t)object;
    if (flags & BYREF_CALLER) { /* without ARC, a __block variable does not retain */
        memcpy(to, &value, sizeof value);
        return;
    }
    if (flags & FIELD_IS_BYREF) {
        value = share(value);
    } else if ((flags & FIELD_IS_BLOCK) == FIELD_IS_BLOCK) {
        value = _Block_copy(value);
    } else if ((flags & FIELD_IS_OBJECT) == FIELD_IS_OBJECT) {
        value = objc_retain(value);
    }
    memcpy(to, &value, sizeof value);
}

void _Block_object_dispose(const void *object, int flags) {
    void *value = (void *)(uintptr_t)object;
    if (!value || (flags & BYREF_CALLER)) {
        return;
    }
    if (flags & FIELD_IS_BYREF) {
        struct shared_variable *variable = ((struct shared_variable *)value)->forwarding;
        if ((variable->flags & BLOCK_IS_ALLOCATED) && drop_reference(&variable->flags)) {
            if (variable->flags & BLOCK_HAS_HELPERS) {
                variable->destroy(variable);
            }
            free(variable);
        }
    } else if ((flags & FIELD_IS_BLOCK) == FIELD_IS_BLOCK) {
        _Block_release(value);
    } else if ((flags & FIELD_IS_OBJECT) == FIELD_IS_OBJECT) {
        objc_release(value);
    }
}
