/*
 * What code that clang compiles for -fobjc-runtime=gnustep-1.9 calls, and GCC's libobjc lacks:
 * loading of modules, message sends, reference counting, weak references, properties, blocks, and
 * personalities of exceptions. The names are those of clang's interface.
 */
#ifndef INGOT_METAL_OBJC_SUPPORT_H
#define INGOT_METAL_OBJC_SUPPORT_H

#include <objc/objc.h>
#include <stdbool.h>
#include <stddef.h>

struct module;
void __objc_exec_class(struct module *module);

/* ---- reference_counting.c ---- */
id objc_retain(id object);
void objc_release(id object);
id objc_autorelease(id object);
id objc_retainAutorelease(id object);
id objc_autoreleaseReturnValue(id object);
id objc_retainAutoreleaseReturnValue(id object);
id objc_retainAutoreleasedReturnValue(id object);
id objc_unsafeClaimAutoreleasedReturnValue(id object);
void objc_storeStrong(id *place, id value);
id objc_retainBlock(id block);
void *objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void *pool);
id objc_alloc(Class class);
id objc_allocWithZone(Class class);
id objc_alloc_init(Class class);

/* ---- weak.c ---- */
id objc_initWeak(id *place, id value);
id objc_storeWeak(id *place, id value);
id objc_loadWeak(id *place);
id objc_loadWeakRetained(id *place);
void objc_destroyWeak(id *place);
void objc_copyWeak(id *to, id *from);
void objc_moveWeak(id *to, id *from);

/* ---- blocks.c ---- */
void *_Block_copy(const void *block);
void _Block_release(const void *block);
void _Block_object_assign(void *to, const void *object, int flags);
void _Block_object_dispose(const void *object, int flags);

/* A block as the compiler lays it out. */
struct block_descriptor {
    unsigned long reserved, size;
    void (*copy)(void *to, void *from); /* these two: only where BLOCK_HAS_HELPERS says so */
    void (*dispose)(void *block);
};

struct block_layout {
    void *isa;
    int flags; /* the low 16 bits count references */
    int reserved;
    void (*invoke)(void *block, ...);
    struct block_descriptor *descriptor;
};

#endif
